//! The breaker: how much may be removed at once without a named actor having asked for it (DESIGN section 4).
//!
//! A wish that was deleted by somebody is no concern of it: twelve apps deleted by hand go without a question. What
//! goes because something is missing (a row, a file, an owner) is counted, and too much of it is a question to a
//! person, since a store or a folder that shrank looks just the same.

/// Fewer removals than this never trip the breaker.
pub const LEAST: usize = 3;
/// More removals than this always do.
pub const MOST: usize = 10;
/// So do more than this share of all there is, in percent.
pub const PERCENT: usize = 30;

/// Whether removing so many of so many, without an explicit delete by a named actor, must be asked about first.
pub fn trips(removed: usize, of: usize) -> bool {
    removed >= LEAST && (removed > MOST || removed * 100 > of * PERCENT)
}

#[cfg(test)]
mod tests {
    use super::trips;

    #[test]
    fn the_breaker_trips_on_many_or_on_a_large_share() {
        assert!(!trips(2, 2));
        assert!(!trips(3, 100));
        assert!(trips(3, 9));
        assert!(!trips(3, 10));
        assert!(!trips(10, 100));
        assert!(trips(11, 1000));
    }
}
