//! Pauses: until when a person wants nothing repaired, of one object, of a namespace, or of the whole home.
//!
//! A pause is an annotation with a time, so it outlives a restart, ends by the clock, and can be made with any
//! client. Meanwhile everything is still looked at, and told as it is.

use hearth_meta::Timestamp;
use hearth_meta::labels::{PAUSED_UNTIL, SYSTEM};

use crate::object::{Key, Object};
use crate::store::{Query, Store};

/// A Namespace that is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its name.
    pub namespace: String,
    /// Whether it stands for the whole home.
    pub is_home: bool,
    /// Until when.
    pub until: Timestamp,
}

/// Until when an object says that it is paused itself, if that is still to come.
pub fn of_object(object: &Object, now: Timestamp) -> Option<Timestamp> {
    until(object.annotation(PAUSED_UNTIL)?, now)
}

/// Until when everything in a namespace is paused, by its own Namespace or with the whole home. What lives in no
/// namespace is paused with the home alone.
pub fn of_namespace(store: &Store, namespace: &str, now: Timestamp) -> Option<Timestamp> {
    let paused = |name: &str| of_object(&*store.get(&Key::new("Namespace", "", name))?, now);
    let own = (!namespace.is_empty()).then(|| paused(namespace)).flatten();
    own.max(paused(SYSTEM))
}

/// Every Namespace that is paused now.
pub fn standing(store: &Store) -> Vec<Pause> {
    let now = store.clock().now();
    let paused = |namespace: &std::sync::Arc<Object>| {
        let until = of_object(namespace, now)?;
        Some(Pause { namespace: namespace.name().to_owned(), is_home: namespace.name() == SYSTEM, until })
    };
    store.list(&Query::of("Namespace")).items.iter().filter_map(paused).collect()
}

pub(crate) fn until(said: &str, now: Timestamp) -> Option<Timestamp> {
    said.parse().ok().filter(|until| *until > now)
}
