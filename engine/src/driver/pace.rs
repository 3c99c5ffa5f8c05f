//! How long the changes of a set are gathered before it is written.
//!
//! A change after a quiet time is written almost at once, since somebody waits for it. While changes keep coming
//! each write would be followed by the next, so they are gathered for longer.

use std::collections::VecDeque;
use std::time::Duration;

/// How long changes are gathered at the least (DESIGN section 4).
const GATHER: Duration = Duration::from_millis(300);
/// So many writes within [`WINDOW`] are a person's, or an app that comes up; more are a rush.
const CALM: usize = 4;
const WINDOW: Duration = Duration::from_secs(10);
/// The least time between two writes in a rush.
const APART: Duration = Duration::from_millis(2500);

/// When a set was written lately.
#[derive(Default)]
pub(super) struct Pace {
    written: VecDeque<Duration>,
    turned: Duration,
}

impl Pace {
    /// A turn begins: what changes from here on may not be in it.
    pub(super) fn turned(&mut self, now: Duration) {
        self.turned = now;
    }

    /// Takes note of a write.
    pub(super) fn wrote(&mut self, now: Duration) {
        self.written.push_back(now);
        if self.written.len() > CALM {
            self.written.pop_front();
        }
    }

    /// How long from now a change is gathered.
    pub(super) fn gather(&self, now: Duration) -> Duration {
        let is_rush = self.written.len() == CALM
            && self.written.front().is_some_and(|first| now.saturating_sub(*first) < WINDOW);
        let next = if is_rush { self.turned.saturating_add(APART) } else { now };
        next.saturating_sub(now).max(GATHER)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{APART, CALM, GATHER, Pace, WINDOW};

    #[test]
    fn a_few_writes_follow_at_once_and_a_rush_is_gathered_for_longer() {
        let mut pace = Pace::default();
        let mut now = Duration::ZERO;
        for _ in 0..CALM {
            assert_eq!(pace.gather(now), GATHER);
            pace.turned(now);
            pace.wrote(now);
            now += Duration::from_millis(500);
        }
        assert_eq!(pace.gather(now), APART - Duration::from_millis(500));
        now += APART;
        assert_eq!(pace.gather(now), GATHER, "enough has been gathered");
        assert_eq!(pace.gather(now + WINDOW), GATHER, "the rush is over");
    }
}
