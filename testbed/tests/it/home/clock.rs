//! The machine's own time, with jumps ahead: an hour of looks takes a moment.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hearth_engine::{Clock, SystemClock};
use hearth_meta::Timestamp;
use tokio::sync::Notify;

/// A clock that goes by itself and can jump ahead. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct JumpingClock {
    own: SystemClock,
    ahead: Arc<Mutex<Duration>>,
    jumped: Arc<Notify>,
}

impl JumpingClock {
    pub(super) fn start() -> Self {
        Self { own: SystemClock::start(), ahead: Arc::default(), jumped: Arc::default() }
    }

    /// Whoever sleeps for as long as this, or less, wakes.
    pub(super) fn jump(&self, by: Duration) {
        *self.ahead.lock().unwrap() += by;
        self.jumped.notify_waiters();
    }

    fn ahead(&self) -> Duration {
        *self.ahead.lock().unwrap()
    }
}

#[async_trait]
impl Clock for JumpingClock {
    fn now(&self) -> Timestamp {
        self.own.now().saturating_add(self.ahead()).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.own.elapsed() + self.ahead()
    }

    async fn sleep_until(&self, until: Duration) {
        loop {
            let jumped = self.jumped.notified();
            tokio::pin!(jumped);
            // Heard from here on, so that a jump between the look and the wait is not lost.
            jumped.as_mut().enable();
            let left = until.saturating_sub(self.elapsed());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = jumped => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}
