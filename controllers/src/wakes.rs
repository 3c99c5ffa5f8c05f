//! Whom an event of the container engine wakes. The engine subscribes again whenever the stream ends.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use hearth_capabilities::{Events, Happening};
use hearth_engine::controller::Wake;

/// The wakes in what happens, as `towards` picks them; listening again wakes everything, since what happened
/// meanwhile was missed.
pub(crate) fn wakes(
    events: &Arc<dyn Events>,
    towards: impl Fn(Happening) -> Vec<Wake> + Send + 'static,
) -> BoxStream<'static, Wake> {
    events
        .subscribe()
        // A stream that fails ends: the engine subscribes again, and then looks at everything.
        .take_while(|happening| std::future::ready(happening.is_ok()))
        .flat_map(move |happening| {
            let woken = match happening {
                Ok(Happening::Listening) => vec![Wake::All],
                Ok(happening) => towards(happening),
                Err(_) => Vec::new(),
            };
            futures::stream::iter(woken)
        })
        .boxed()
}
