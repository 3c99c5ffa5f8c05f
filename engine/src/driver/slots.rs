//! At most so many installs and updates at once, from their start until they settle (AL-59).
//!
//! Who waits is served in order. A place in the line is kept only while its key still waits for a slot: one that
//! was paused, deleted or cannot be seen must not keep the others from theirs.

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

    /// What is under way already, as after a restart, counts, and is not stopped where too much is.
    pub(super) fn count_in(&mut self, key: &Key) {
        if self.held.len() < self.count && self.held.insert(key.clone()) {
            self.waiting.retain(|waiting| waiting != key);
        }
    }

    /// Gives a slot back and leaves the line; returns whose turn it is now.
    pub(super) fn release(&mut self, key: &Key) -> Vec<Key> {
        let held = self.held.remove(key);
        if self.leave_line(key) || held { self.next() } else { Vec::new() }
    }

    /// Leaves the line, but keeps a slot that is held; returns whose turn it is now.
    pub(super) fn wait_no_more(&mut self, key: &Key) -> Vec<Key> {
        if self.leave_line(key) { self.next() } else { Vec::new() }
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    fn leave_line(&mut self, key: &Key) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting != key);
        self.waiting.len() < before
    }

    /// As many of the line as there are free slots.
    fn next(&self) -> Vec<Key> {
        self.waiting.iter().take(self.count.saturating_sub(self.held.len())).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use crate::object::Key;

    fn key(name: &str) -> Key {
        Key::new("App", "household", name)
    }

    #[test]
    fn serves_the_line_in_order() {
        let mut slots = Slots::new(1);
        assert!(slots.take(&key("a")));
        assert!(slots.take(&key("a")));
        assert!(!slots.take(&key("c")));
        assert!(!slots.take(&key("b")));
        assert_eq!(slots.release(&key("a")), [key("c")]);
        assert!(!slots.take(&key("b")), "c has waited longer");
        assert!(slots.take(&key("c")));
    }

    #[test]
    fn wakes_as_many_as_there_are_free_slots() {
        let mut slots = Slots::new(2);
        assert!(slots.take(&key("a")) && slots.take(&key("b")));
        assert!(!slots.take(&key("c")) && !slots.take(&key("d")));
        assert_eq!(slots.release(&key("a")), [key("c")]);
        assert_eq!(slots.release(&key("b")), [key("c"), key("d")]);
        assert!(slots.take(&key("d")), "there is one for each of them");
    }

    #[test]
    fn whoever_leaves_the_line_hands_its_turn_on() {
        let mut slots = Slots::new(1);
        assert!(slots.take(&key("a")));
        assert!(!slots.take(&key("b")) && !slots.take(&key("c")));
        assert_eq!(slots.release(&key("a")), [key("b")]);
        assert_eq!(slots.wait_no_more(&key("b")), [key("c")], "b was woken and no longer wants it");
        assert!(slots.take(&key("c")));
        assert_eq!(slots.wait_no_more(&key("c")), [], "a slot that is held is kept");
        assert_eq!(slots.held(), 1);
    }
}
