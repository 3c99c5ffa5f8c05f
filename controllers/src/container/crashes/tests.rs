//! A loop is raised once, from what the engine counts alone, and is over once.

use std::sync::Arc;

use hearth_capabilities::containers::{ContainerFacts, Health};
use hearth_engine::controller::Wanted;
use hearth_kinds::container::CrashLoop;
use hearth_kinds::{Container, ContainerStatus, Power};
use hearth_meta::{SignedDuration, Time, Timestamp};

use super::{Crashes, crashes, news};
use crate::container::tests::{seen, spec, wanted};

fn at(seconds: f64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs_f64(1_000_000.0 + seconds)
}

/// A container that is looked at from time to time, and what its status remembers.
struct Watched {
    wanted: Wanted<Container>,
    container: ContainerFacts,
}

impl Watched {
    fn new() -> Self {
        let mut container = seen().container.unwrap();
        container.state.started_at = Some(at(0.0));
        Self { wanted: wanted(spec()), container }
    }

    /// It died then, so that the engine has counted so many, and waits.
    fn dies(&mut self, seconds: f64, restarts: i64) -> &mut Self {
        let state = &mut self.container.state;
        (state.running, state.status) = (false, "restarting".into());
        (state.finished_at, state.restarts) = (Some(at(seconds)), restarts);
        self
    }

    fn runs(&mut self, seconds: f64) -> &mut Self {
        let state = &mut self.container.state;
        (state.running, state.status) = (true, "running".into());
        state.started_at = Some(at(seconds));
        self
    }

    /// A look, after which the status says what was found.
    fn look(&mut self, seconds: f64) -> Crashes {
        self.wanted.now = at(seconds);
        let found = crashes(&self.wanted, &self.container);
        let status = ContainerStatus {
            container_id: Some(self.container.id.clone()),
            restarts: Some(self.container.state.restarts),
            started_at: self.container.state.started_at.map(Time),
            recent_deaths: found.recent_deaths(),
            crash_loop: found
                .looping
                .map(|since| CrashLoop { since: Some(Time(since)), ..CrashLoop::default() }),
            ..ContainerStatus::default()
        };
        let mut object = Container::clone(&self.wanted.object);
        object.status = Some(status);
        self.wanted.object = Arc::new(object);
        found
    }
}

#[test]
fn the_sixth_death_within_a_minute_is_a_loop_and_the_fifth_is_none() {
    let mut watched = Watched::new();
    watched.look(0.0);
    for death in 1..=5 {
        assert_eq!(
            watched.dies(f64::from(death) * 11.0, death.into()).look(f64::from(death) * 11.0).looping,
            None
        );
    }
    let sixth = watched.dies(60.0, 6).look(60.1);
    assert_eq!(sixth.looping, Some(at(60.0)));
    assert_eq!(sixth.recent.len(), 6);
}

#[test]
fn deaths_that_are_further_apart_are_no_loop_however_many() {
    let mut watched = Watched::new();
    watched.look(0.0);
    for death in 1..=50 {
        let now = f64::from(death) * 13.0;
        assert_eq!(watched.dies(now, death.into()).runs(now + 0.1).look(now + 0.2).looping, None, "{death}");
    }
    // The same where each look comes only after many of them.
    let mut watched = Watched::new();
    watched.look(0.0);
    for death in (10..=50).step_by(10) {
        let now = f64::from(death) * 13.0;
        assert_eq!(watched.dies(now, death.into()).runs(now + 0.1).look(now + 0.2).looping, None, "{death}");
    }
}

#[test]
fn deaths_that_nobody_saw_are_counted_all_the_same() {
    let mut watched = Watched::new();
    watched.look(0.0);
    assert_eq!(watched.dies(25.0, 8).look(26.0).looping, Some(at(25.0)));
}

#[test]
fn the_engines_long_wait_tells_a_loop_that_began_while_nobody_looked() {
    // A week of running well, then a loop without a single event; and the very first look at it.
    for knows_it in [true, false] {
        let mut watched = Watched::new();
        if knows_it {
            watched.look(0.0);
        }
        let week = 604_800.0;
        let soon = watched.dies(week, 8).look(week + 1.0);
        assert!(soon.looping.is_none(), "the wait may be short yet");
        watched.dies(week + 14.0, 9);
        assert!(watched.look(week + 18.0).looping.is_some(), "{knows_it}");
    }
    // Few deaths, or a quick start after each, are none.
    let mut watched = Watched::new();
    watched.dies(100.0, 4);
    assert_eq!(watched.look(160.0).looping, None);
    assert_eq!(watched.dies(900.0, 9).runs(900.1).look(901.0).looping, None);
}

#[test]
fn a_loop_is_over_after_five_minutes_of_running_or_once_it_is_made_anew_or_stopped() {
    let looping = || {
        let mut watched = Watched::new();
        watched.look(0.0);
        assert!(watched.dies(10.0, 6).look(10.1).looping.is_some());
        watched
    };
    let mut watched = looping();
    // The engine's waits make deaths rare; it goes on being a loop.
    for (number, now) in [60.0, 130.0, 200.0, 400.0].into_iter().enumerate() {
        watched.dies(now, 7 + i64::try_from(number).unwrap()).look(now);
        assert_eq!(watched.runs(now + 55.0).look(now + 56.0).looping, Some(at(10.0)));
    }
    assert!(watched.look(455.0 + 299.0).looping.is_some());
    assert_eq!(watched.look(455.0 + 300.0).looping, None);
    assert_eq!(watched.dies(800.0, 11).look(800.0).looping, None, "one more death is no loop");

    let mut watched = looping();
    watched.container.id = "c2".into();
    watched.container.state.restarts = 0;
    assert_eq!(watched.look(11.0).looping, None);

    let mut watched = looping();
    let mut object = Container::clone(&watched.wanted.object);
    object.spec.power = Power::Stopped;
    watched.wanted.object = Arc::new(object);
    assert_eq!(watched.look(11.0).looping, None);
}

#[test]
fn a_start_by_hand_begins_a_new_count_and_ends_no_loop() {
    let mut watched = Watched::new();
    watched.look(0.0);
    watched.dies(10.0, 6).look(10.1);
    let found = watched.dies(12.0, 1).look(12.0);
    assert_eq!((found.fresh, found.looping), (1, Some(at(10.0))));
}

#[test]
fn what_runs_again_serves_once_it_is_healthy_or_has_run_for_a_moment() {
    let mut watched = Watched::new();
    watched.look(0.0);
    watched.dies(10.0, 6).look(10.1);
    assert!(!watched.runs(20.0).look(25.0).recovering);
    assert!(watched.look(30.0).recovering);
    for (health, serves) in [(Health::Starting, false), (Health::Unhealthy, false), (Health::Healthy, true)] {
        watched.container.state.health = Some(health);
        assert_eq!(watched.look(31.0).recovering, serves, "{health:?}");
    }
}

#[test]
fn a_loop_is_told_once_when_it_begins_and_once_when_it_is_over() {
    let calm = ContainerStatus::default();
    let looping = ContainerStatus { crash_loop: Some(CrashLoop::default()), ..calm.clone() };
    let reasons = |before: Option<&ContainerStatus>, after: &ContainerStatus| {
        news(before, after).into_iter().map(|news| news.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(None, &calm), Vec::<&str>::new());
    assert_eq!(reasons(Some(&calm), &looping), ["CrashLooping"]);
    assert_eq!(reasons(Some(&looping), &looping), Vec::<&str>::new());
    assert_eq!(reasons(Some(&looping), &calm), ["CrashLoopOver"]);
}
