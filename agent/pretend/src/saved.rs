//! Keeping a machine in a file, so that it outlives the process as a real one does.

use std::path::{Path, PathBuf};

use hearth_capabilities::Fault;

use crate::machine::Machine;
use crate::state::State;

impl Machine {
    /// Takes over the machine that is kept in a file, if there is one, and keeps this one there from now on.
    ///
    /// It is written after each change. A write that does not succeed is left out: this is a simulation.
    ///
    /// # Errors
    ///
    /// [`Fault::Failed`] where the file is there and cannot be read: it is not taken for an empty machine.
    pub fn persist_to(&self, path: impl Into<PathBuf>) -> Result<(), Fault> {
        let path = path.into();
        let wrong =
            |what: String| Fault::Failed(format!("the pretend machine in {}: {what}", path.display()));
        let saved = match std::fs::read(&path) {
            Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(wrong(error.to_string())),
        };
        self.take_over(saved, path);
        Ok(())
    }

    /// Everything there is on the machine, as it is kept in a file.
    pub fn as_value(&self) -> serde_json::Value {
        serde_json::to_value(self.snapshot()).unwrap_or_default()
    }
}

/// Writes beside and moves, so that there is never half a machine. Readable by its owner alone, since variables of
/// containers may be secret.
pub(crate) fn save(state: &State, path: &Path) {
    let Ok(bytes) = serde_json::to_vec(state) else { return };
    // Best effort, as said above.
    let _ = hearth_engine::private_file::write(path, &bytes);
}
