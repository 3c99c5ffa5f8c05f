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
const CONFLICTS: &[&str] =
    &["has active endpoints", "Pool overlaps with other one", "networks have overlapping"];
const MISSING: &[&str] = &["bind source path does not exist"];
/// What a registry says of a name it does not know, or does not show to us.
const UNKNOWN_NAMES: &[&str] = &[
    "manifest unknown",
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
            // Docker was replaced by another version while we ran; the next call asks which one.
            400 if message.starts_with("client version") => Fault::Blind(message),
            404 => Fault::Missing(message),
            409 => Fault::Conflict(message),
            400 | 401 | 403 | 501 => Fault::Refused(message),
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

#[cfg(test)]
mod tests {
    use super::{Call, Error, Fault, pull_fault};

    fn said(status_code: u16, message: &str) -> Error {
        Error::DockerResponseServerError { status_code, message: message.to_owned() }
    }

    /// The word for a fault, as these bodies of Docker 20.10 are told.
    fn word(fault: &Fault) -> &'static str {
        match fault {
            Fault::Blind(_) => "blind",
            Fault::Refused(_) => "refused",
            Fault::Conflict(_) => "conflict",
            Fault::Missing(_) => "missing",
            Fault::Failed(_) => "failed",
        }
    }

    #[test]
    fn captured_errors_are_told_as_what_they_are() {
        for (status, message, expected) in [
            (409, "Conflict. The container name \"/a\" is already in use by container \"2a\".", "conflict"),
            (409, "network with name a already exists", "conflict"),
            (403, "Pool overlaps with other one on this address space", "conflict"),
            (403, "error while removing network: network a id c0 has active endpoints", "conflict"),
            (409, "conflict: unable to remove repository reference \"a:1\" (must force)", "conflict"),
            (404, "No such image: sha256:11", "missing"),
            (404, "network a not found", "missing"),
            (400, "invalid mount config for type \"bind\": bind source path does not exist: /a", "missing"),
            (
                400,
                "failed to create shim task: exec: \"/nope\": no such file or directory: unknown",
                "refused",
            ),
            (400, "client version 1.41 is too old. Minimum supported API version is 1.44", "blind"),
            (501, "configured logging driver does not support reading", "refused"),
            (500, "driver failed programming external connectivity on endpoint a", "failed"),
            (500, "", "blind"),
            (503, "starting", "blind"),
        ] {
            assert_eq!(word(&Call::Change.fault(said(status, message))), expected, "{status} {message}");
        }
        assert_eq!(word(&Call::Tell.fault(said(500, "database is locked"))), "blind");
        assert_eq!(word(&Call::Tell.fault(Error::RequestTimeoutError)), "blind");
    }

    #[test]
    fn captured_pull_errors_are_told_as_what_they_are() {
        for (error, expected) in [
            (said(404, "manifest for a:1 not found: manifest unknown: manifest unknown"), "refused"),
            (
                said(
                    404,
                    "pull access denied for a, repository does not exist or may require 'docker login'",
                ),
                "refused",
            ),
            (
                said(
                    500,
                    "Get \"http://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused",
                ),
                "failed",
            ),
            (said(500, "unauthorized: authentication required"), "refused"),
            (said(500, "toomanyrequests: You have reached your pull rate limit"), "failed"),
            (Error::DockerStreamError { error: "no space left on device".to_owned() }, "failed"),
            (Error::DockerStreamError { error: "manifest unknown".to_owned() }, "refused"),
            (Error::RequestTimeoutError, "blind"),
        ] {
            let text = error.to_string();
            assert_eq!(word(&pull_fault(error)), expected, "{text}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        let fault = Call::Change.fault(said(500, "one\n  two\n"));
        assert_eq!(fault, Fault::Failed("one two".to_owned()));
    }
}
