//! The queue's promises.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use hearth_meta::Timestamp;

use super::Queue;
use crate::clock::ManualClock;
use crate::object::Key;

fn queue() -> (Queue, ManualClock) {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    (Queue::new(Arc::new(clock.clone())), clock)
}

fn key(name: &str) -> Key {
    Key::new("App", "household", name)
}

fn taken(queue: &Queue) -> Option<String> {
    queue.take().now_or_never().map(|key| key.name)
}

#[test]
fn keeps_one_copy_of_a_key() {
    let (queue, _) = queue();
    queue.add(key("a"));
    queue.add(key("a"));
    assert_eq!(taken(&queue).as_deref(), Some("a"));
    queue.done(&key("a"));
    assert_eq!(taken(&queue), None);
}

#[test]
fn never_gives_one_key_to_two_workers_and_never_loses_what_came_meanwhile() {
    let (queue, _) = queue();
    queue.add(key("a"));
    assert_eq!(taken(&queue).as_deref(), Some("a"));
    queue.add(key("a"));
    assert_eq!(taken(&queue), None);
    queue.done(&key("a"));
    assert_eq!(taken(&queue).as_deref(), Some("a"));
}

#[test]
fn the_earliest_due_time_wins() {
    let (queue, clock) = queue();
    queue.add_after(key("a"), Duration::from_secs(60));
    queue.add_after(key("a"), Duration::from_secs(10));
    queue.add_after(key("a"), Duration::from_secs(90));
    clock.advance(Duration::from_secs(9));
    assert_eq!(taken(&queue), None);
    clock.advance(Duration::from_secs(1));
    assert_eq!(taken(&queue).as_deref(), Some("a"));
}

#[test]
fn what_a_person_did_goes_ahead_but_starves_nobody() {
    let (queue, clock) = queue();
    queue.add(key("resync"));
    clock.advance(Duration::from_secs(1));
    queue.add_urgent(key("person"));
    assert_eq!(taken(&queue).as_deref(), Some("person"));
    queue.done(&key("person"));
    clock.advance(Duration::from_secs(60));
    queue.add_urgent(key("person"));
    assert_eq!(taken(&queue).as_deref(), Some("resync"), "due a minute ago, longer than a person's lead");
}

#[test]
fn no_key_starves_when_every_key_comes_back_at_once() {
    let (queue, clock) = queue();
    for n in 0..100 {
        queue.add(key(&n.to_string()));
    }
    let mut turns = std::collections::BTreeMap::new();
    for _ in 0..1000 {
        let name = taken(&queue).unwrap();
        clock.advance(Duration::from_millis(1));
        queue.add(key(&name));
        queue.done(&key(&name));
        *turns.entry(name).or_insert(0) += 1;
    }
    assert_eq!(turns.len(), 100);
    assert!(turns.values().all(|n| *n == 10), "{turns:?}");
}
