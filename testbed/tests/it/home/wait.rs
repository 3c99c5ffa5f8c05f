//! Waiting for what must come, by looking again and again.

use std::time::{Duration, Instant};

use super::Home;

/// Much more than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(100);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(40);

impl Home {
    /// Looks until there is an answer.
    ///
    /// # Panics
    /// Where none comes in time, with everything that is known.
    pub(crate) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(answer) = look().await {
                return answer;
            }
            if began.elapsed() > DEADLINE {
                panic!("it never came that {what}:\n{}", self.everything().await);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until an object stands like this by its newest spec.
    pub(crate) async fn until_verdict(&self, kind: &str, name: &str, verdict: &str) {
        let what = format!("{kind} {name} is {verdict}");
        self.until(&what, async || (self.verdict(kind, name) == verdict).then_some(())).await;
    }

    /// Waits until an app is ready and nothing is under way any more.
    pub(crate) async fn until_ready(&self, app: &str) {
        self.until_verdict("App", app, "Ready").await;
        self.settle().await;
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, kind: &str, name: &str) {
        self.until(&format!("{kind} {name} is gone"), async || self.find(kind, name).is_none().then_some(()))
            .await;
    }

    /// Waits until `hearth why` says something of an object.
    pub(crate) async fn until_why(&self, object: &str, part: &str) -> String {
        let what = format!("why {object} says {part:?}");
        self.until(&what, async || Some(self.why(object).await).filter(|said| said.contains(part))).await
    }

    /// Waits until something has happened to an object more often than before.
    pub(crate) async fn until_told(&self, kind: &str, name: &str, reason: &str, part: &str, before: i64) {
        let what = format!("{reason} {part:?} is told of {kind} {name}");
        self.until(&what, async || (self.count(kind, name, reason, part).await > before).then_some(())).await;
    }

    /// Waits until a host is answered by its app.
    pub(crate) async fn until_served(&self, slug: &str) {
        let what = format!("{slug}.local is answered by its app");
        self.until(&what, async || self.page(slug).await.is_the_apps().then_some(())).await;
    }

    /// Waits until nothing is under way.
    pub(crate) async fn settle(&self) {
        let mut calm = 0;
        self.until("the home is at rest", async || {
            // What a backend has to tell may be on its way yet, so it has to stay at rest for a moment.
            calm = if self.engine().is_idle() { calm + 1 } else { 0 };
            (calm > 5).then_some(())
        })
        .await;
    }

    /// A full look at everything: every key of every controller takes its turn.
    pub(crate) async fn look_again(&self) {
        self.engine().wake_all();
        self.until("every turn is over", async || self.engine().is_idle().then_some(())).await;
    }

    /// Lets so much time pass in a moment, whatever is under way.
    pub(crate) fn pass_on(&self, time: Duration) {
        self.clock.jump(time);
    }

    /// Lets so much time pass in a moment: looks that are due by then are taken.
    pub(crate) async fn pass(&self, minutes: u64) {
        for _ in 0..minutes {
            self.clock.jump(Duration::from_secs(60));
            self.settle().await;
        }
    }
}
