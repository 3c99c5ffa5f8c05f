//! What the command of a pretend container does. A few words are understood; every other program is the usual one.

use crate::containers::record::Settings;

/// What a container does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Runs on where it is always started again, and otherwise does its work and ends with 0.
    Usual,
    /// Runs on, and ends with 0 when told to stop.
    Serve,
    /// Runs on, and has to be killed.
    Stubborn,
    /// Ends at once.
    Exit(i64),
    /// Writes three lines and runs on.
    Write,
    /// Writes a line and ends at once, as `sh -c "echo LINE; exit CODE"` does.
    Says {
        /// The line, with its variables filled in.
        line: String,
        /// The code it ends with.
        code: i64,
    },
    /// There is no such program.
    Nonsense(String),
}

/// What a container's command does.
pub(crate) fn program_of(settings: &Settings) -> Program {
    let words: Vec<&str> = settings.entrypoint.iter().chain(&settings.command).map(String::as_str).collect();
    match words.as_slice() {
        ["true"] => Program::Exit(0),
        ["false"] => Program::Exit(1),
        ["exit", code] => code.parse().map_or(Program::Usual, Program::Exit),
        ["serve"] => Program::Serve,
        ["stubborn"] => Program::Stubborn,
        ["write"] => Program::Write,
        ["sh", "-c", script] => says(script, settings).unwrap_or(Program::Usual),
        [word, ..] if *word == "no-such-program" => Program::Nonsense((*word).to_owned()),
        _ => Program::Usual,
    }
}

/// The one script that is understood: `echo LINE; exit CODE`. Other shells' arts are not.
fn says(script: &str, settings: &Settings) -> Option<Program> {
    let (line, code) = script.strip_prefix("echo ")?.split_once("; exit ")?;
    let filled_in = settings
        .env
        .iter()
        .fold(line.to_owned(), |line, (name, value)| line.replace(&format!("${name}"), value));
    Some(Program::Says { line: filled_in, code: code.trim().parse().ok()? })
}
