//! Asking before something is done that a person should have looked at first, or that cannot be taken back.

use std::io::{BufRead, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::{Exit, Failure};
use super::output::Output;

/// Whether a person is being asked, so that an interruption is an answer: no.
static IS_ASKING: AtomicBool = AtomicBool::new(false);

/// Whether a person is being asked right now.
pub(super) fn is_asking() -> bool {
    IS_ASKING.load(Ordering::SeqCst)
}

/// Asks on a terminal; where there is none, or `--no-input` was said, `flags` says what to add to the command.
///
/// # Errors
/// The answer was not yes, or nobody could be asked.
pub(super) async fn ask(what: &str, flags: &str, out: &Output) -> Result<(), Failure> {
    if !can_ask(out) {
        return Err(
            Failure::usage(format!("{what}, and nobody can be asked whether that is meant")).next(flags)
        );
    }
    out.say(&format!("{what}. Type yes to go on:"));
    if line().await?.trim() == "yes" { Ok(()) } else { Err(Failure::usage("nothing was changed")) }
}

/// Whether somebody is there to answer.
pub(super) fn can_ask(out: &Output) -> bool {
    out.takes_input() && std::io::stdin().is_terminal()
}

/// What a person types. It is read beside everything else, so that they can be interrupted in it.
///
/// # Errors
/// Where the terminal is gone.
pub(super) async fn line() -> Result<String, Failure> {
    IS_ASKING.store(true, Ordering::SeqCst);
    let read = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let read = read.await;
    IS_ASKING.store(false, Ordering::SeqCst);
    match read {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Failure::usage(format!("no answer could be read: {error}"))),
        Err(error) => Err(Failure::new(Exit::Bug, format!("the question was lost: {error}"))),
    }
}
