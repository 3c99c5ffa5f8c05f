//! How a call to the machine can fail.

/// Why a call did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No answer, or one that makes no sense. Nothing is known, and the call may have been carried out.
    #[error("could not tell: {0}")]
    Blind(String),
    /// The backend understood and said no, for a reason that trying again will not change by itself.
    #[error("refused: {0}")]
    Refused(String),
    /// It changed in the meantime, or something of that name is in the way.
    #[error("conflict: {0}")]
    Conflict(String),
    /// A thing the call needs is not there, such as the image of a container to be made.
    #[error("missing: {0}")]
    Missing(String),
    /// The work was tried and did not succeed; it may the next time.
    #[error("failed: {0}")]
    Failed(String),
}
