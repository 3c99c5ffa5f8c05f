//! How Docker's errors become a [`Fault`]; the one place where that is decided.
//!
//! The status alone is not enough: Docker answers 403 for a network that still has containers, 404 for a container
//! whose network is gone and 500 both when it is broken and when a start did not work out. So the status gives the
//! class, and a few sentences that have stood unchanged since Docker 20.10 refine it.

use std::fmt::Write;

use bollard::errors::Error;
use hearth_capabilities::Fault;

/// What kind of call it was: a server error while telling means that nothing is known, while changing that the
/// change did not work out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It reads.
    Tell,
    /// It changes something.
    Change,
}

/// Sentences that mean another thing than their status.
const CONFLICTS: &[&str] = &["has active endpoints", "Pool overlaps with other one", "invalid pool request"];
const MISSING: &[&str] = &["bind source path does not exist"];
/// What a registry says of a name it does not know, or does not show to us.
const UNKNOWN_NAMES: &[&str] = &[
    "manifest unknown",
    "not found",
    "name unknown",
    "access denied",
    "access to the resource is denied",
    "unauthorized",
    "no matching manifest",
];

impl Call {
    /// The fault an error means.
    pub(crate) fn fault(self, error: Error) -> Fault {
        match error {
            Error::DockerResponseServerError { status_code, message } => self.answered(status_code, message),
            Error::DockerStreamError { error } => Fault::Failed(one_line(&error)),
            other => Fault::Blind(format!("Docker: {}", chain(&other))),
        }
    }

    fn answered(self, status: u16, message: String) -> Fault {
        let message = one_line(&message);
        let says = |sentences: &[&str]| sentences.iter().any(|&sentence| message.contains(sentence));
        match status {
            _ if says(CONFLICTS) => Fault::Conflict(message),
            _ if says(MISSING) => Fault::Missing(message),
            404 => Fault::Missing(message),
            409 => Fault::Conflict(message),
            400 | 401 | 403 => Fault::Refused(message),
            500 if self == Self::Change && !message.is_empty() => Fault::Failed(message),
            500.. => Fault::Blind(format!("Docker answered {status}: {message}")),
            _ => Fault::Failed(format!("Docker answered {status}: {message}")),
        }
    }
}

/// The fault of a pull: a name its registry does not know is refused, everything else may work the next time.
pub(crate) fn pull_fault(error: Error) -> Fault {
    let unknown = |message: &str| UNKNOWN_NAMES.iter().any(|&sentence| message.contains(sentence));
    match error {
        Error::DockerResponseServerError { message, .. } | Error::DockerStreamError { error: message }
            if unknown(&message) =>
        {
            Fault::Refused(one_line(&message))
        }
        Error::DockerResponseServerError { status_code: 404, message } => Fault::Refused(one_line(&message)),
        other => Call::Change.fault(other),
    }
}

/// Whether Docker says that a thing is not there.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// Whether Docker says this, in these words.
pub(crate) fn says(error: &Error, words: &str) -> bool {
    matches!(error, Error::DockerResponseServerError { message, .. } if message.contains(words))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            // Writing to a text cannot fail.
            let _ = write!(text, ": {said}");
        }
        source = cause.source();
    }
    text
}
