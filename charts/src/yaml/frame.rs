//! A list or mapping that is still being read.

use std::collections::HashMap;

use crate::node::{At, Map, Node, Value};

/// How a value stands in its parent.
pub(crate) enum Open {
    List(Vec<Node>),
    Map(OpenMap),
}

/// One level of nesting while its events arrive.
pub(crate) struct Frame {
    pub open: Open,
    pub at: At,
    pub anchor: usize,
    /// Where the values under the frame started to count, to know its own weight at the end.
    pub weight_before: usize,
    /// Whether this level, or one around it, replaces instead of merging: tags below mean nothing.
    pub overriding: bool,
    /// The whole level is dropped at its end.
    pub reset: bool,
    /// This level, or one around it, is dropped: nobody reads what it says, so nothing there is wrong.
    pub dropped: bool,
}

/// A mapping whose next event is a key, or the value of the key in hand.
#[derive(Default)]
pub(crate) struct OpenMap {
    /// In the order written, so that the first merge wins.
    entries: Vec<(String, Node)>,
    merges: Vec<Node>,
    seen: HashMap<String, u32>,
    pub key: Option<Key>,
}

/// The key whose value comes next.
pub(crate) struct Key {
    pub text: String,
    pub at: At,
    pub merge: bool,
}

/// Merge keys are allowed more than once in a mapping; every other key once.
impl OpenMap {
    /// Takes a key; gives the line of its first use when it was there already. Its value is read
    /// all the same, so that what else is wrong there can be told too.
    pub(crate) fn take_key(&mut self, key: Key) -> Result<(), u32> {
        let before = if key.merge { None } else { self.seen.insert(key.text.clone(), key.at.line) };
        self.key = Some(key);
        before.map_or(Ok(()), Err)
    }

    /// Takes the value of the key in hand.
    ///
    /// # Errors
    /// A sentence when a merge key has something else than mappings to merge.
    pub(crate) fn take_value(&mut self, value: Node) -> Result<(), &'static str> {
        let Some(key) = self.key.take() else { return Ok(()) };
        if !key.merge {
            self.entries.push((key.text, Node { at: key.at, ..value }));
            return Ok(());
        }
        match value.value {
            Value::Map(_) => self.merges.push(value),
            Value::List(items) if items.iter().all(|item| item.as_map().is_some()) => {
                self.merges.extend(items)
            }
            _ => return Err("a merge key (`<<`) takes a mapping or a list of mappings"),
        }
        Ok(())
    }

    /// The mapping with its merges applied: what is written here wins, then the first merge.
    pub(crate) fn finish(self) -> Map {
        let mut map: Map = self.entries.into_iter().collect();
        for merge in self.merges {
            let Value::Map(entries) = merge.value else { continue };
            for (key, value) in entries {
                map.entry(key).or_insert(value);
            }
        }
        map
    }
}
