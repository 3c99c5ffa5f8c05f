//! The `hearth` program: the server and the command line in one.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    hearth::cli::run(std::env::args_os())
}
