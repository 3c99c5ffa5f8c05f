//! Asking before something is done that a person should have looked at first.

use std::io::{BufRead, IsTerminal};

use super::exit::Failure;
use super::output::Output;

/// Asks on a terminal; where there is none, `flags` says what to add to the command.
///
/// # Errors
/// The answer was not yes, or nobody could be asked.
pub(super) fn ask(what: &str, flags: &str, out: &Output) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage(format!("{what}, and nobody can be asked whether that is meant")).next(flags)
        );
    }
    out.say(&format!("{what}. Type yes to go on:"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && answer.trim() == "yes" { Ok(()) } else { Err(Failure::usage("nothing was changed")) }
}
