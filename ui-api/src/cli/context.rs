//! `hearth context`: which servers are remembered, and which is meant where none is named.

use clap::{Args, Subcommand};
use hearth_meta::problem::nearest;

use super::client::Reach;
use super::exit::{Exit, Failure, Outcome};
use super::kubeconfig;
use super::kubeconfig::file::File;
use super::output::Output;
use super::table::Table;

/// Choose among the servers that are remembered.
///
/// They are in a kubeconfig file, which `hearth login` writes.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth context list\n  hearth context use cabin\n  hearth context delete cabin"
)]
pub(super) struct Context {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List them; a star stands before the one that is used.
    List,
    /// Use one from now on.
    Use {
        /// The context.
        name: String,
    },
    /// Forget one; its token stays good until it is revoked.
    Delete {
        /// The context.
        name: String,
    },
}

/// Carries out `hearth context`.
///
/// # Errors
/// No such context, or a file that cannot be read or written.
pub(super) fn run(args: &Context, reach: &Reach<'_>, out: &Output) -> Outcome {
    let path = kubeconfig::find(reach.kubeconfig);
    if kubeconfig::is_socket(&path) {
        out.note(&format!("{} is used, the socket of the server on this machine", path.display()));
        return match args.what {
            None | Some(What::List) => Ok(Exit::Done),
            _ => {
                Err(Failure::usage("it holds no contexts")
                    .next("name a kubeconfig file with --kubeconfig FILE"))
            }
        };
    }
    let mut file = File::read(&path)?;
    match &args.what {
        None | Some(What::List) => Ok(list(&file, out)),
        Some(What::Use { name }) => {
            let server = known(&file, name)?;
            file.choose(name);
            file.write()?;
            out.note(&format!("{name} is used from now on: {server}"));
            Ok(Exit::Done)
        }
        Some(What::Delete { name }) => {
            known(&file, name)?;
            let was_used = file.contexts().iter().any(|context| context.name == *name && context.is_current);
            file.take_out(name);
            file.write()?;
            out.note(&format!("{name} is forgotten; end its token with `hearth token revoke` at its server"));
            if was_used && !file.contexts().is_empty() {
                out.note("none is used now; choose one with `hearth context use NAME`");
            }
            Ok(Exit::Done)
        }
    }
}

/// The server of a context that must be there.
fn known(file: &File, name: &str) -> Result<String, Failure> {
    let contexts = file.contexts();
    if let Some(found) = contexts.iter().find(|context| context.name == name) {
        return Ok(found.server.clone());
    }
    let names: Vec<&str> = contexts.iter().map(|context| context.name.as_str()).collect();
    let failure =
        Failure::new(Exit::NotFound, format!("there is no context {name:?} in {}", file.path().display()));
    Err(match nearest(name, names.iter().copied()) {
        Some(meant) => failure.next(format!("did you mean {meant:?}?")),
        None if names.is_empty() => failure.next("there is none at all; `hearth login SERVER` makes one"),
        None => failure.next(format!("there are {}", names.join(", "))),
    })
}

fn list(file: &File, out: &Output) -> Exit {
    let contexts = file.contexts();
    if contexts.is_empty() {
        out.note(&format!("no contexts in {}; `hearth login SERVER` makes one", file.path().display()));
        return Exit::Done;
    }
    let mut table = Table::new(&["used", "name", "server", "user", "namespace"]);
    for context in contexts {
        let used = if context.is_current { "*" } else { "" };
        table.push(vec![used.into(), context.name, context.server, context.user, context.namespace]);
    }
    table.lines(out).iter().for_each(|line| out.line(line));
    Exit::Done
}
