//! What the container engine says has happened. It only wakes keys: events may be lost, doubled, late or out
//! of order, and nothing may go wrong but latency.

use futures::stream::BoxStream;

use crate::Fault;

/// A stream of what happens in the container engine.
pub trait Events: Send + Sync {
    /// Subscribes. The first item is [`Happening::Listening`], once the engine has accepted: whoever lists after
    /// it misses nothing. The stream ends, or yields a fault and ends, when the connection is lost; subscribe
    /// again, then list again.
    fn subscribe(&self) -> BoxStream<'static, Result<Happening, Fault>>;
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// From here on nothing is missed.
    Listening,
    /// Something happened to a container.
    Container {
        /// The container's name.
        name: String,
        /// The uid of the object it was made for, where it carries one.
        uid: Option<String>,
        /// What happened, in the engine's word, such as `die`.
        action: String,
    },
    /// Something happened to a network, or a container joined or left it.
    Network {
        /// The network's name.
        name: String,
        /// The id of the container that joined or left it, where it was that.
        container: Option<String>,
        /// What happened, in the engine's word, such as `disconnect`.
        action: String,
    },
    /// Something happened to an image.
    Image {
        /// The reference or id.
        reference: String,
        /// What happened, in the engine's word, such as `untag`.
        action: String,
    },
}
