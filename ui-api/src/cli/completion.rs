//! `hearth completion`: a script that lets a shell complete verbs and flags.

use clap::Args;
use clap_complete::Shell;

use super::exit::{Exit, Outcome};
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

/// Carries out `hearth completion`.
///
/// # Errors
/// None; the form is that of the other verbs.
pub(super) fn run(args: &Completion, mut command: clap::Command, out: &Output) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "hearth", &mut script);
    out.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
