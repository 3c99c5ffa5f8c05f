//! The person's own editor.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::exit::{Exit, Failure};

/// What is used where nothing is said.
const USUAL: &str = "vi";

static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether an editor is open: then an interruption from the terminal is meant for it, as with git.
pub(in super::super) fn is_open() -> bool {
    IS_OPEN.load(Ordering::SeqCst)
}

/// Opens a file and waits until the editor is left.
///
/// # Errors
/// An editor that cannot be started, or ended badly.
pub(super) async fn open(command: Option<String>, file: PathBuf) -> Result<(), Failure> {
    // A thread of its own: what is under way beside it goes on.
    IS_OPEN.store(true, Ordering::SeqCst);
    let left = tokio::task::spawn_blocking(move || wait(command, &file)).await;
    IS_OPEN.store(false, Ordering::SeqCst);
    left.unwrap_or_else(|error| Err(Failure::new(Exit::Bug, format!("the editor was lost: {error}"))))
}

fn wait(command: Option<String>, file: &Path) -> Result<(), Failure> {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let command =
        command.or_else(|| said("VISUAL")).or_else(|| said("EDITOR")).unwrap_or_else(|| USUAL.to_owned());
    // Through a shell, since people write `code --wait`; the file is an argument of its own, whatever is in its name.
    let mut shell = shell();
    let ended = shell.arg("-c").arg(format!("{command} \"$1\"")).arg("sh").arg(file).status();
    let failed = |why: String| {
        Failure::new(Exit::Rejected, format!("the editor {command:?} {why}; nothing was changed"))
            .next("name another with --editor COMMAND, VISUAL or EDITOR")
    };
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("ended with {status}"))),
        Err(error) => Err(failed(format!("cannot be started: {error}"))),
    }
}

#[expect(clippy::disallowed_methods, reason = "a person's own editor, on their own machine")]
fn shell() -> std::process::Command {
    std::process::Command::new("sh")
}
