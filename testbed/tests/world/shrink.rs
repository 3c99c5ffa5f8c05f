//! Failures, and what it takes at least to make them.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many lines of a failure are told.
const TOLD_LINES: usize = 8;

/// How something fails, if it does, in its first lines.
pub(crate) fn failure(work: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(work)).err()?;
    let said = panic
        .downcast_ref::<String>()
        .cloned()
        .unwrap_or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()).unwrap_or_default());
    Some(said.lines().take(TOLD_LINES).collect::<Vec<_>>().join("\n"))
}

/// The part of a list that still fails.
pub(crate) fn cut_down<T: Clone>(fails: impl Fn(&[T]) -> bool, mut list: Vec<T>) -> Vec<T> {
    let mut at = 0;
    while at < list.len() {
        let mut shorter = list.clone();
        shorter.remove(at);
        if fails(&shorter) {
            list = shorter;
            at = 0;
        } else {
            at += 1;
        }
    }
    list
}
