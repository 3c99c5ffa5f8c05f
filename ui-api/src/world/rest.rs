//! What holds of every home at rest, whatever it was asked for: a look moves nothing, and neither does a restart.

use std::time::Duration;

use super::settle::QUIET;
use super::snapshot::differences;
use super::{Trouble, TroubleKind, World};

/// Kinds that say nothing of how they stand.
const SILENT: &[&str] = &["Namespace", "Secret", "Revision"];

impl World {
    /// Everything is as it is wanted, as the objects themselves say.
    ///
    /// # Errors
    /// What is not.
    pub fn all_is_well(&self) -> Result<(), Trouble> {
        for object in self.store().all() {
            let status = object.status();
            let is_well = status["summary"] == "Ready"
                && status["differences"].as_array().is_none_or(|differences| differences.is_empty())
                && status["observedGeneration"].as_i64() == object.metadata.generation
                && !object.is_going();
            if !is_well && !SILENT.contains(&object.kind.as_str()) {
                let said = format!("{} is not well: {status}\n{}", object.key(), self.everything());
                return Err(self.trouble(TroubleKind::Broken, said));
            }
        }
        Ok(())
    }

    /// A home at rest is looked at anew, and nothing is written or changed for it.
    ///
    /// # Errors
    /// Where something moves.
    pub fn is_steady(&mut self) -> Result<(), Trouble> {
        let before = self.moved();
        self.engine().wake_all();
        self.settle()?;
        if before == self.moved() {
            Ok(())
        } else {
            Err(self.trouble(TroubleKind::Broken, "a home at rest moved"))
        }
    }

    /// A restart changes nothing.
    ///
    /// # Errors
    /// What it changed.
    pub fn restarts_the_same(&mut self) -> Result<(), Trouble> {
        self.restarts_the_same_by(QUIET)
    }

    /// The same, where it is taken to be at rest once nothing has moved for so long.
    ///
    /// # Errors
    /// What it changed.
    pub fn restarts_the_same_by(&mut self, quiet: Duration) -> Result<(), Trouble> {
        let before = self.snapshot();
        let changes = self.happened.changes;
        self.crash();
        self.start()?;
        self.quiet_for(quiet)?;
        let differences = differences(&before, &self.snapshot());
        if !differences.is_empty() {
            let said = format!("after a restart:\n{}", differences.join("\n"));
            return Err(self.trouble(TroubleKind::Broken, said));
        }
        if self.happened.changes != changes {
            return Err(self.trouble(TroubleKind::Broken, "a restart changed the machine"));
        }
        Ok(())
    }
}
