//! Faults do what they say.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use hearth_capabilities::containers::NewContainer;
use hearth_capabilities::{Containers, Events, Fault, Happening, Images, Networks, Proxy, Volumes};
use hearth_engine::{Clock, ManualClock};
use hearth_meta::Timestamp;
use hearth_pretend::{Latency, Machine, Op};
use tempfile::TempDir;

pub(super) fn machine() -> (Machine, ManualClock) {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let machine = Machine::new(Arc::new(clock.clone()));
    machine.set_latency(Latency::NONE);
    (machine, clock)
}

pub(super) async fn wanted(machine: &Machine, name: &str) -> NewContainer {
    Images::pull(machine, "app:1", &|_| ()).await.unwrap();
    let image = Images::inspect(machine, "app:1").await.unwrap().unwrap();
    NewContainer {
        env: [("PASSWORD".to_owned(), "secret".to_owned())].into(),
        labels: [(hearth_meta::labels::UID.to_owned(), format!("uid-{name}"))].into(),
        ..NewContainer::of(name, image.id, "app:1")
    }
}

pub(super) async fn run(machine: &Machine, name: &str) -> String {
    let id = Containers::create(machine, &wanted(machine, name).await).await.unwrap();
    machine.start(&id).await.unwrap();
    id
}

pub(super) async fn status(machine: &Machine, name: &str) -> String {
    match Containers::inspect(machine, name).await.unwrap() {
        Some(facts) => facts.state.status,
        None => "gone".into(),
    }
}

#[tokio::test]
async fn a_planned_fault_comes_once_and_does_nothing() {
    let (machine, _) = machine();
    let wanted = wanted(&machine, "web").await;
    machine.fail_next(Op::CreateContainer, Fault::Failed("full".into()));
    assert_eq!(Containers::create(&machine, &wanted).await, Err(Fault::Failed("full".into())));
    assert_eq!(status(&machine, "web").await, "gone");
    Containers::create(&machine, &wanted).await.unwrap();
}

#[tokio::test]
async fn a_lost_answer_leaves_the_work_done() {
    let (machine, _) = machine();
    let wanted = wanted(&machine, "web").await;
    machine.fail_after_next(Op::CreateContainer);
    assert!(matches!(Containers::create(&machine, &wanted).await, Err(Fault::Blind(_))));
    assert_eq!(status(&machine, "web").await, "created");
}

#[tokio::test]
async fn a_hung_call_goes_on_when_released_and_others_are_not_held() {
    let (machine, _) = machine();
    let wanted = wanted(&machine, "web").await;
    machine.hang(Op::CreateContainer);
    let mut create = Box::pin(Containers::create(&machine, &wanted));
    assert!(futures::poll!(create.as_mut()).is_pending());
    assert_eq!(Containers::list(&machine).await, Ok(Vec::new()));
    assert!(futures::poll!(create.as_mut()).is_pending());
    machine.release(Op::CreateContainer);
    create.await.unwrap();
}

#[tokio::test]
async fn an_unreachable_machine_is_blind_and_runs_on() {
    let (machine, clock) = machine();
    run(&machine, "web").await;
    let mut events = machine.subscribe();
    assert_eq!(events.next().await, Some(Ok(Happening::Listening)));
    machine.unreachable(true);
    assert!(matches!(events.next().await, Some(Err(Fault::Blind(_)))));
    assert_eq!(events.next().await, None);
    assert!(matches!(machine.subscribe().next().await, Some(Err(Fault::Blind(_)))));
    assert!(matches!(Containers::list(&machine).await, Err(Fault::Blind(_))));
    assert!(matches!(Networks::list(&machine).await, Err(Fault::Blind(_))));
    assert!(matches!(machine.read().await, Err(Fault::Blind(_))));
    assert!(matches!(Volumes::list(&machine).await, Err(Fault::Blind(_))));
    machine.kill("web");
    clock.advance(Duration::from_secs(1));
    machine.unreachable(false);
    assert_eq!(status(&machine, "web").await, "running");
    assert_eq!(Containers::inspect(&machine, "web").await.unwrap().unwrap().state.restarts, 1);
}

#[tokio::test]
async fn a_stale_machine_does_not_show_what_is_made_after() {
    let (machine, _) = machine();
    let wanted = wanted(&machine, "web").await;
    machine.answer_stale(true);
    let id = Containers::create(&machine, &wanted).await.unwrap();
    assert_eq!(Containers::list(&machine).await, Ok(Vec::new()));
    assert_eq!(Containers::inspect(&machine, "web").await, Ok(None));
    machine.start(&id).await.unwrap();
    machine.answer_stale(false);
    assert_eq!(status(&machine, "web").await, "running");
}

#[tokio::test]
async fn an_empty_machine_shows_nothing_and_keeps_everything() {
    let (machine, _) = machine();
    run(&machine, "web").await;
    machine.answer_empty(true);
    assert_eq!(Containers::list(&machine).await, Ok(Vec::new()));
    assert_eq!(Images::inspect(&machine, "app:1").await, Ok(None));
    machine.answer_empty(false);
    assert_eq!(status(&machine, "web").await, "running");
}

#[tokio::test]
async fn dropped_events_are_lost() {
    let (machine, _) = machine();
    let mut events = machine.subscribe();
    assert_eq!(events.next().await, Some(Ok(Happening::Listening)));
    machine.drop_events(true);
    run(&machine, "one").await;
    machine.drop_events(false);
    run(&machine, "two").await;
    loop {
        if let Some(Ok(Happening::Container { name, action, .. })) = events.next().await {
            assert_eq!((name.as_str(), action.as_str()), ("two", "create"));
            break;
        }
    }
}

#[tokio::test]
async fn what_was_forgotten_is_gone() {
    let (machine, _) = machine();
    run(&machine, "web").await;
    machine.forget();
    assert_eq!(status(&machine, "web").await, "gone");
}

#[tokio::test]
async fn changes_are_counted_by_object_and_looks_are_not() {
    let (machine, _) = machine();
    let id = run(&machine, "web").await;
    machine.start(&id).await.unwrap();
    let before = machine.write_count();
    Containers::list(&machine).await.unwrap();
    Containers::inspect(&machine, "web").await.unwrap();
    machine.kill("web");
    assert_eq!(machine.write_count(), before);
    let writes = machine.writes();
    assert_eq!(writes["create container web"], 1);
    assert_eq!(writes["start container web"], 2);
    assert_eq!(writes["pull image app:1"], 1);
}

#[tokio::test]
async fn calls_take_their_time() {
    let (machine, clock) = machine();
    machine.set_latency(Latency { look: Duration::from_secs(1), ..Latency::NONE });
    let mut list = Box::pin(Containers::list(&machine));
    assert!(futures::poll!(list.as_mut()).is_pending());
    assert_eq!(clock.advance_to_next(), Some(Duration::from_secs(1)));
    assert_eq!(list.await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_kept_machine_goes_on_where_it_was() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("machine.json");
    let (first, clock) = machine();
    clock.advance(Duration::from_secs(1000));
    first.persist_to(&file).unwrap();
    run(&first, "web").await;
    first.reset(&[]).await.unwrap();
    first.kill("web");
    let kept = std::fs::metadata(&file).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&kept.permissions()) & 0o777, 0o600);
    drop(first);

    let (second, clock) = machine();
    second.persist_to(&file).unwrap();
    assert_eq!(status(&second, "web").await, "restarting");
    assert_eq!(second.read().await.unwrap().base_problem, None);
    clock.advance(Duration::from_millis(99));
    assert_eq!(status(&second, "web").await, "restarting");
    clock.advance(Duration::from_millis(1));
    assert_eq!(status(&second, "web").await, "running");
    assert_eq!(clock.elapsed(), Duration::from_millis(100));
}

#[tokio::test]
async fn a_kept_machine_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("machine.json");
    std::fs::write(&file, "{ half").unwrap();
    let (machine, _) = machine();
    assert!(matches!(machine.persist_to(&file), Err(Fault::Failed(_))));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ half");
}
