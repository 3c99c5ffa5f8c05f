//! The three histories, and what never enters them.
#![expect(clippy::disallowed_methods, reason = "these tests look into the store's files")]

use std::time::Duration;

use hearth_engine::store::{EventKind, EventNote, EventQuery, Intent};
use hearth_meta::{ObjectRef, Timestamp};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::toys::{Home, key};

async fn sql(home: &Home) -> SqliteConnection {
    let file = home.folder.path().join("store.db");
    SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap()
}

#[tokio::test]
async fn every_write_of_people_is_kept_with_who_made_it_and_what_it_changed() {
    let home = Home::new().await;
    let lamp = home.lamp("a", json!({"color": "red"})).await;
    home.patch(key("Lamp", "a"), json!({"spec": {"color": "blue", "room": "hall"}})).await.unwrap();
    home.patch(key("Lamp", "a"), json!({"metadata": {"labels": {"x": "y"}}})).await.unwrap();
    home.store.update_status(&key("Lamp", "a"), lamp.uid(), json!({"summary": "Ready"})).await.unwrap();
    home.delete(key("Lamp", "a")).await.unwrap();
    home.store.drop_finalizer(&key("Lamp", "a"), lamp.uid(), "hearth.dev/lamp").await.unwrap();
    let rows = home.store.history(&key("Lamp", "a")).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.verb.as_str(), row.generation)).collect();
    let wanted = [("create", 1), ("update", 2), ("update", 2), ("delete", 3)];
    assert_eq!(told, wanted, "neither what was seen nor the end");
    assert!(rows.iter().all(|row| row.actor == "admin" && row.source == "api"));
    let differences: Vec<_> = rows[1].differences.iter().map(ToString::to_string).collect();
    assert_eq!(differences, ["spec.color: seen red, wanted blue", "spec.room: seen (absent), wanted hall"]);
    assert_eq!(rows[1].spec, json!({"color": "blue", "room": "hall"}));
    let marked: Vec<_> = rows[2].differences.iter().map(ToString::to_string).collect();
    assert_eq!(marked, ["metadata.labels[x]: seen (absent), wanted y"]);
}

#[tokio::test]
async fn a_long_value_is_whole_in_the_spec_and_cut_in_the_difference() {
    let home = Home::new().await;
    let long = "é".repeat(5000);
    home.lamp("a", json!({"color": long})).await;
    let rows = home.store.history(&key("Lamp", "a")).await.unwrap();
    assert_eq!(rows[0].spec["color"], long);
    let wanted = rows[0].differences[0].wanted.clone().unwrap();
    assert_eq!(wanted, format!("{} ...", "é".repeat(200)));
}

#[tokio::test]
async fn the_history_cannot_be_rewritten() {
    let home = Home::new().await;
    home.card("a").await;
    let mut connection = sql(&home).await;
    for statement in ["UPDATE history SET actor = 'nobody'", "DELETE FROM history"] {
        let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
}

#[tokio::test]
async fn a_secret_is_nowhere_to_be_read() {
    let home = Home::new().await;
    let secret = |value: &str| json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "den"}, "data": {"password": value}});
    home.create(secret("hunter2hunter2")).await.unwrap();
    home.patch(key("Secret", "s"), json!({"data": {"password": "correcthorsebattery"}})).await.unwrap();
    let rows = home.store.history(&key("Secret", "s")).await.unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.spec == Value::Null));
    assert_eq!(rows[1].differences[0].field, "data.password");
    assert!(rows[1].differences[0].wanted.as_ref().unwrap().starts_with("(secret) "));
    assert_eq!(rows[1].differences[0].seen, rows[0].differences[0].wanted, "equal values, equal hashes");
    for path in std::fs::read_dir(home.folder.path()).unwrap() {
        let path = path.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for word in ["hunter2hunter2", "correcthorsebattery"] {
            let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!found, "{word} lies open in {}", path.display());
        }
    }
    let home = home.reopened().await;
    let read = home.store.get(&key("Secret", "s")).unwrap();
    assert_eq!(read.body["data"]["password"], "correcthorsebattery");
    home.delete(key("Secret", "s")).await.unwrap();
    assert!(home.reopened().await.store.get(&key("Secret", "s")).is_none());
}

fn note(message: &str) -> EventNote {
    EventNote {
        about: ObjectRef { kind: "Card".into(), namespace: Some("den".into()), name: "a".into() },
        uid: "u".into(),
        kind: EventKind::Warning,
        reason: "Tried".into(),
        message: message.into(),
        reporter: "controller/card".into(),
    }
}

#[tokio::test]
async fn events_of_two_places_are_apart_whatever_uid_they_say() {
    let home = Home::new().await;
    let in_namespace = |namespace: &str| EventNote {
        about: ObjectRef { namespace: Some(namespace.into()), ..note("").about },
        ..note("one")
    };
    for namespace in ["den", "attic", "attic"] {
        home.store.note(in_namespace(namespace)).await;
    }
    for (namespace, count) in [("den", 1), ("attic", 2)] {
        let query = EventQuery { namespace: Some(namespace.into()), ..Default::default() };
        let rows = home.store.events(&query).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.count).collect::<Vec<_>>(), [count], "{namespace}");
    }
}

#[tokio::test]
async fn events_that_say_the_same_are_merged_and_the_old_ones_dropped() {
    let home = Home::new().await;
    for _ in 0..3 {
        home.store.note(note("one")).await;
    }
    home.clock.advance(Duration::from_secs(3600));
    home.store.note(note("one")).await;
    home.store.note(note("two")).await;
    home.card("flush").await;
    let rows = home.store.events(&EventQuery { uid: Some("u".into()), ..Default::default() }).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.note.message.as_str(), row.count)).collect();
    assert_eq!(told, [("one", 4), ("two", 1)]);
    assert_eq!((rows[0].last_at - rows[0].first_at).get_seconds(), 3600);
    assert_eq!(rows[0].note, note("one"));
    let none = EventQuery { namespace: Some("elsewhere".into()), ..Default::default() };
    assert!(home.store.events(&none).await.unwrap().is_empty());
    home.clock.advance(Duration::from_secs(31 * 24 * 3600));
    // Whatever a process finds old is dropped with its first write.
    let home = home.reopened().await;
    home.card("later").await;
    // It is dropped after the answer; the next write comes after that.
    home.card("later still").await;
    assert!(home.store.events(&EventQuery::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn events_alone_wait_a_moment_for_more_and_not_for_who_reads_them() {
    let home = Home::new().await;
    let mut file = sql(&home).await;
    let mut are_down = async || -> i64 {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        sqlx::query_scalar("SELECT count(*) FROM events").fetch_one(&mut file).await.unwrap()
    };
    home.store.note(note("one")).await;
    assert_eq!(are_down().await, 0);
    home.clock.advance(Duration::from_millis(150));
    home.store.note(note("two")).await;
    assert_eq!(are_down().await, 0);
    // The writer may have come to wait only now.
    while are_down().await == 0 {
        home.clock.advance(Duration::from_millis(50));
    }
    assert_eq!(are_down().await, 2, "both in one write");
    home.store.note(note("three")).await;
    assert_eq!(home.store.events(&EventQuery::default()).await.unwrap().len(), 3, "who reads does not wait");
    home.store.note(note("four")).await;
    home.card("other").await;
    assert_eq!(are_down().await, 4, "they go down with what others wait for");
}

fn intent(uid: &str) -> Intent {
    Intent {
        uid: uid.into(),
        epoch: 1,
        target: "t".into(),
        step: "Paint".into(),
        dangerous: true,
        opened_at: Timestamp::UNIX_EPOCH,
        closed_at: None,
        last_applied: None,
    }
}

#[tokio::test]
async fn an_intent_outlives_its_process_and_goes_with_its_object() {
    let home = Home::new().await;
    let made = home.card("a").await;
    home.store.put_intent(intent(made.uid())).await.unwrap();
    let first = home.store.epoch();
    let home = home.reopened().await;
    assert_eq!(home.store.epoch(), first + 1);
    assert_eq!(home.store.intent(made.uid()), Some(intent(made.uid())));
    let (gone, late) = tokio::join!(home.delete(key("Card", "a")), home.store.put_intent(intent(made.uid())));
    gone.unwrap();
    late.unwrap_err();
    home.store.put_intent(intent(made.uid())).await.unwrap_err();
    let home = home.reopened().await;
    assert_eq!(home.store.intent(made.uid()), None);
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM intents").fetch_one(&mut sql(&home).await).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn so_many_events_are_kept_and_no_more_and_the_newest_stay() {
    let home = Home::new().await;
    let elsewhere = ObjectRef { namespace: Some("attic".into()), ..note("").about };
    home.store.note(EventNote { about: elsewhere, ..note("the first of all") }).await;
    for number in 0..15_000 {
        home.clock.advance(Duration::from_secs(1));
        home.store.note(note(&format!("the {number}th"))).await;
    }
    let told = |rows: Vec<hearth_engine::store::EventRow>| -> Vec<String> {
        rows.into_iter().map(|row| row.note.message).collect()
    };
    home.store.events(&EventQuery::default()).await.unwrap();
    let home = home.reopened().await;
    // A process drops what is too much with its first write, after the answer; the next write comes after that.
    home.card("first").await;
    home.card("second").await;
    let kept = told(home.store.events(&EventQuery::default()).await.unwrap());
    assert_eq!(
        (kept.len(), kept[0].as_str()),
        (10_001, "the first of all"),
        "no namespace pushes out another's"
    );
    assert_eq!((kept[1].as_str(), kept[10_000].as_str()), ("the 5000th", "the 14999th"));
}

#[tokio::test]
async fn an_event_of_ours_is_cut_rather_than_refused() {
    let home = Home::new().await;
    let long = EventNote { reason: "R".repeat(3000), reporter: "r".repeat(3000), ..note(&"é".repeat(3000)) };
    home.store.note(long.clone()).await;
    home.store.note(long).await;
    let rows = home.store.events(&EventQuery::default()).await.unwrap();
    let note = &rows[0].note;
    assert_eq!((rows.len(), rows[0].count), (1, 2), "what is cut alike is merged");
    assert!((1020..=EventNote::LONGEST_MESSAGE).contains(&note.message.len()), "{}", note.message.len());
    assert!(note.message.ends_with("é ..."), "{}", note.message);
    assert_eq!((note.reason.len(), note.reporter.len()), (EventNote::LONGEST_WORD, EventNote::LONGEST_WORD));
}

#[tokio::test]
async fn whoever_looks_on_reads_only_what_is_new_and_misses_nothing() {
    let home = Home::new().await;
    for number in 0..9_000 {
        home.clock.advance(Duration::from_millis(10));
        home.store.note(note(&format!("the {number}th"))).await;
    }
    let all = EventQuery::default();
    let (rows, seen) = home.store.events_since(&all, None).await.unwrap();
    assert_eq!(rows.len(), 9_000);
    let (rows, seen) = home.store.events_since(&all, Some(seen)).await.unwrap();
    assert_eq!(rows, [], "nothing is read where nothing is new");
    home.clock.advance(Duration::from_secs(1));
    home.store.note(note("the 17th")).await;
    let (rows, seen) = home.store.events_since(&all, Some(seen)).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.note.message.as_str(), row.count)).collect();
    assert_eq!(told, [("the 17th", 2)]);
    // A clock that is set back, and a moment within a second that is written with fewer digits.
    home.clock.set_wall("2026-11-29T11:00:00.5Z".parse().unwrap());
    home.store.note(note("earlier")).await;
    home.clock.set_wall("2026-11-29T11:00:00Z".parse().unwrap());
    home.store.note(note("earlier still")).await;
    let (rows, seen) = home.store.events_since(&all, Some(seen)).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| row.note.message.as_str()).collect();
    assert!(told.contains(&"earlier") && told.contains(&"earlier still"), "{} rows", told.len());
    assert_eq!(home.store.events_since(&all, Some(seen)).await.unwrap().0, []);
}
