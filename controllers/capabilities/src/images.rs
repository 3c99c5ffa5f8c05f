//! Images: which are here, and getting them.

use async_trait::async_trait;

use crate::Fault;

/// What a container engine can do with images.
#[async_trait]
pub trait Images: Send + Sync {
    /// The image a reference means on this machine (tag, `name@digest` or id); `None` means it is not here.
    async fn inspect(&self, reference: &str) -> Result<Option<ImageFacts>, Fault>;

    /// Gets an image from its registry. Long: it reports progress as it goes, may be dropped at any moment,
    /// and has no time limit of its own.
    ///
    /// A name the registry does not know is [`Fault::Refused`], no registry [`Fault::Failed`].
    async fn pull(
        &self,
        reference: &str,
        progress: &(dyn Fn(PullProgress) + Send + Sync),
    ) -> Result<(), Fault>;

    /// Takes a reference off this machine, and the image with its last reference; gone already is success,
    /// in use a [`Fault::Conflict`].
    async fn remove(&self, reference: &str) -> Result<(), Fault>;
}

/// An image on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Docker's id, `sha256:` and hex.
    pub id: String,
    /// The manifest digest under the reference's own name; `None` where it was never pushed or pulled.
    pub digest: Option<String>,
    /// Its size, in bytes.
    pub size_bytes: i64,
    /// The paths it declares to hold data, sorted. What is written there goes with the container.
    pub volumes: Vec<String>,
}

/// How far a pull has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullProgress {
    /// Bytes that are here.
    pub done_bytes: i64,
    /// Bytes there are, as far as known.
    pub total_bytes: i64,
}
