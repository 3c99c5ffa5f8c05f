//! Listing in pages that belong together: each shows what stood at one version, however much changed since.
//!
//! Nothing is kept for a client between two pages. How objects stood a while ago follows from how they stand now and
//! from the changes that are still kept for watches, undone; older than those, a page can no longer be made.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Store;
use super::selector::Query;
use super::state::State;
use super::watch::Expired;
use crate::object::{Key, Object};

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// As things stood at this version; where none is named, as they stand now.
    pub at: Option<u64>,
    /// Only what comes after this key.
    pub after: Option<Key>,
    /// At most so many objects.
    pub limit: Option<usize>,
    /// How many were left after the page before, where that is known: then they need not be counted again.
    pub left: Option<usize>,
}

/// A part of a list.
#[derive(Clone, Debug)]
pub struct Paged {
    /// The objects, by namespace and name.
    pub items: Vec<Arc<Object>>,
    /// The resourceVersion the list stands for.
    pub resource_version: u64,
    /// Whether more comes after these.
    pub has_more: bool,
    /// How many come after these; not known where the query selects, since that would mean to look at all of them.
    pub left: Option<usize>,
}

/// Why a page cannot be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// How things stood then is no longer known.
    #[error(transparent)]
    Expired(#[from] Expired),
    /// The store has not come to that version.
    #[error("resourceVersion {asked} is larger than the newest one, {newest}")]
    NotYet {
        /// What was asked for.
        asked: u64,
        /// What the store has come to.
        newest: u64,
    },
}

impl Store {
    /// A part of what a query asks for.
    ///
    /// # Errors
    /// [`PageError`] where the version asked for is too old, or was never given out.
    pub fn page(&self, query: &Query, page: &Page) -> Result<Paged, PageError> {
        let state = self.state();
        let resource_version = page.at.unwrap_or(state.resource_version);
        let first = match &page.after {
            Some(after) => after.clone(),
            None => Key::new(&query.kind, query.namespace.clone().unwrap_or_default(), ""),
        };
        let is_asked = |key: &Key| {
            key.kind == query.kind && query.namespace.as_ref().is_none_or(|wanted| key.namespace == *wanted)
        };
        let past = state.past(resource_version, |key| *key >= first && is_asked(key))?;
        let mut asked = state
            .standing(&past, &first)
            .take_while(|(key, _)| is_asked(key))
            .filter(|(key, object)| Some(*key) != page.after.as_ref() && query.matches(object))
            .map(|(_, object)| object.clone());
        let items: Vec<_> = asked.by_ref().take(page.limit.unwrap_or(usize::MAX)).collect();
        let has_more = asked.next().is_some();
        let left = match page.left {
            _ if !has_more => Some(0),
            _ if query.selects() => None,
            Some(before) => Some(before.saturating_sub(items.len()).max(1)),
            None => Some(1 + asked.count()),
        };
        Ok(Paged { items, resource_version, has_more, left })
    }
}

/// Objects of one kind that have changed since some version, as they stood then; `None` where there was none.
type Past = BTreeMap<Key, Option<Arc<Object>>>;

impl State {
    fn past(&self, at: u64, is_asked: impl Fn(&Key) -> bool) -> Result<Past, PageError> {
        let newest = self.resource_version;
        if at > newest {
            return Err(PageError::NotYet { asked: at, newest });
        }
        if at < self.kept_from() {
            return Err(Expired { asked: at }.into());
        }
        let mut past = Past::new();
        for kept in self.recent.since(at).filter(|kept| is_asked(&kept.key)) {
            if !past.contains_key(&kept.key) {
                let before = kept.before().ok_or(Expired { asked: at })?;
                past.insert(kept.key.clone(), before);
            }
        }
        Ok(past)
    }

    /// The objects from a key on, in their order, those of the past in the place of those of now.
    fn standing<'a>(
        &'a self,
        past: &'a Past,
        first: &Key,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Object>)> {
        let mut now = self.objects.range(first..).peekable();
        let mut then = past.range(first..).peekable();
        std::iter::from_fn(move || {
            loop {
                let order = match (now.peek(), then.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((now, _)), Some((then, _))) => now.cmp(then),
                };
                if order == Ordering::Less {
                    return now.next();
                }
                if order == Ordering::Equal {
                    now.next();
                }
                if let Some((key, Some(object))) = then.next() {
                    return Some((key, object));
                }
            }
        })
    }
}
