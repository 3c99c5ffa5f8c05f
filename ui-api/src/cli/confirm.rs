//! Asks a person before something that cannot be taken back.

use std::io::{BufRead, IsTerminal};

use super::exit::Failure;
use super::output::Output;

/// Goes on if `--yes` was said, or a person at a terminal types yes; `left` says what was not done otherwise.
///
/// # Errors
/// Nobody said yes.
pub(super) fn ask(what: &str, yes: bool, left: &str, out: &Output) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(what).next("add --yes if that is meant"));
    }
    out.say(&format!("{what}. Type yes to go on:"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && answer.trim() == "yes" { Ok(()) } else { Err(Failure::usage(left)) }
}
