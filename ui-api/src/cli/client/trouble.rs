//! Why the server did not do what was asked, and what a person is told of it.

use std::error::Error;

use hearth_meta::Problem;

use crate::cli::exit::{Exit, Failure};

/// What is said of a server that takes requests and gives no answer.
pub(super) const SILENT: &str = "it takes requests and does not answer them";

/// Why the server did not do what was asked.
#[derive(Debug)]
pub(in crate::cli) enum Trouble {
    /// It does not answer.
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What the system says.
        why: String,
    },
    /// It answered no.
    Refused(Refusal),
}

/// A refusal as the server words it.
#[derive(Debug, Default)]
pub(in crate::cli) struct Refusal {
    /// The HTTP status code.
    pub(in crate::cli) code: u16,
    /// One sentence.
    pub(in crate::cli) message: String,
    /// What is wrong field by field.
    pub(in crate::cli) problems: Vec<Problem>,
}

/// The innermost error says what happened; those around it only that something did.
pub(super) fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl Trouble {
    /// Whether there is no such object.
    pub(in crate::cli) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 404)
    }

    /// Whether one may not.
    pub(in crate::cli) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 403)
    }

    /// Whether the server could not be reached.
    pub(in crate::cli) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unreachable { address, why } if why.contains("certificate") => {
                Self::new(Exit::Unreachable, format!("the server at {address} cannot be trusted: {why}"))
                    .next("the kubeconfig file is of another server; take the admin.kubeconfig of this one")
            }
            Trouble::Unreachable { address, why } if why.starts_with(SILENT) => {
                let message =
                    format!("the server at {address} hangs: {why}; what was asked for may yet be done");
                Self::new(Exit::Unreachable, message)
                    .next("see what is wrong with `hearth doctor --data-dir DIR`, then restart it")
            }
            Trouble::Unreachable { address, why } => {
                Self::new(Exit::Unreachable, format!("no server answers at {address}: {why}"))
                    .next("start it with `hearth serve`, or name another one with --kubeconfig FILE")
            }
            Trouble::Refused(refusal) => refusal.into(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let exit = match refusal.code {
            401 | 403 => Exit::NotAllowed,
            404 => Exit::NotFound,
            409 => Exit::Conflict,
            429 | 503 => Exit::Unreachable,
            // A disk without room refuses; nothing is wrong with either program.
            400..=499 | 507 => Exit::Rejected,
            _ => Exit::Bug,
        };
        let listed = refusal.problems.iter().map(|problem| format!("  {problem}")).collect();
        let failure = Self::new(exit, refusal.message);
        match exit {
            Exit::NotAllowed if refusal.code == 401 => failure.next(
                "the token in the kubeconfig file is not one of this server; read its admin.kubeconfig again",
            ),
            // The message of a refusal lists its problems in one line; several are easier to read one a line.
            _ if refusal.problems.len() > 1 => {
                Self { message: "the server refuses this".into(), ..failure }.after(listed)
            }
            _ => failure,
        }
    }
}
