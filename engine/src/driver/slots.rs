//! At most so many installs and updates at once, from their start until they settle (AL-59).

use std::collections::{BTreeSet, VecDeque};

use crate::object::Key;

/// The slots and who waits for one.
pub(super) struct Slots {
    count: usize,
    held: BTreeSet<Key>,
    waiting: VecDeque<Key>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { count, held: BTreeSet::new(), waiting: VecDeque::new() }
    }

    /// Whether the key has a slot now; if not it is in the line.
    pub(super) fn take(&mut self, key: &Key) -> bool {
        if self.held.contains(key) {
            return true;
        }
        // Whoever has waited longest is woken for a free slot; nobody may slip in ahead of it.
        let turn = self.waiting.iter().position(|waiting| waiting == key).unwrap_or(self.waiting.len());
        if self.held.len() + turn < self.count {
            self.waiting.retain(|waiting| waiting != key);
            self.held.insert(key.clone());
            return true;
        }
        if !self.waiting.contains(key) {
            self.waiting.push_back(key.clone());
        }
        false
    }

    /// Gives a slot back, or leaves the line; returns who is next.
    pub(super) fn release(&mut self, key: &Key) -> Option<Key> {
        self.waiting.retain(|waiting| waiting != key);
        if self.held.remove(key) { self.waiting.front().cloned() } else { None }
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}
