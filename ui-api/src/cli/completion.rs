//! `hearth completion`: a script that lets a shell complete verbs, flags, kinds, and the names there are.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::exit::{Exit, Failure, Outcome};
use super::output::Output;

/// Print a script for a shell's completion.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth completion bash > /etc/bash_completion.d/hearth\n  hearth completion zsh > \"${fpath[1]}/_hearth\""
)]
pub(super) struct Completion {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The variable by which the script asks this program.
pub(super) const ASKED_BY: &str = "COMPLETE";

/// Carries out `hearth completion`.
///
/// # Errors
/// A shell for which there is none.
pub(super) fn run(args: &Completion, out: &Output) -> Outcome {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let mut script = Vec::new();
    let written = shells
        .completer(&name)
        .map(|shell| shell.write_registration(ASKED_BY, "hearth", "hearth", "hearth", &mut script));
    match written {
        Some(Ok(())) => out.data(&String::from_utf8_lossy(&script)),
        _ => return Err(Failure::usage(format!("there is no script for {name}"))),
    }
    Ok(Exit::Done)
}
