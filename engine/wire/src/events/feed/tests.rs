//! What a watch of events reads and shows, look by look.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, Uri};
use hearth_engine::store::{Beneath, Commit, EventKind, EventNote, EventQuery, Gate, Refusal};
use hearth_engine::{ManualClock, OpenOptions, Store};
use hearth_meta::ObjectRef;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::Feed;
use crate::accept::Form;
use crate::events::{Asked, kind, note};
use crate::parameters::Parameters;
use crate::target::Target;

struct Home {
    store: Store,
    clock: ManualClock,
    _folder: TempDir,
}

impl Home {
    async fn over(beneath: Beneath) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
        let options = OpenOptions {
            data_dir: folder.path().to_owned(),
            kinds: Vec::new(),
            clock: Arc::new(clock.clone()),
        };
        let store = Store::open_over(options, beneath).await.unwrap();
        Self { store, clock, _folder: folder }
    }

    async fn note(&self, message: String) {
        let note = EventNote {
            about: ObjectRef { kind: "Card".into(), namespace: Some("den".into()), name: "a".into() },
            uid: "u".into(),
            kind: EventKind::Normal,
            reason: "Tried".into(),
            message,
            reporter: "test".into(),
        };
        self.store.note(note).await;
    }

    fn asked(&self) -> Asked {
        Asked {
            store: self.store.clone(),
            kind: kind(""),
            target: Target::parse("namespaces/den/events").unwrap(),
            parameters: Parameters::parse(&Uri::from_static("/?watch=true")).unwrap(),
            form: Form::wanted(&HeaderMap::new()),
        }
    }

    async fn feed(&self) -> Feed {
        Feed::new(self.asked(), CancellationToken::new()).await.unwrap()
    }
}

/// `type message count` of each line that is shown now.
fn shown(feed: &mut Feed) -> Vec<String> {
    let frame = feed.show();
    let lines = std::str::from_utf8(&frame).unwrap().lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = lines.map(|line| {
        let object = &line["object"];
        format!("{} {} {}", text(&line["type"]), text(&object["message"]), object["count"])
    });
    told.collect()
}

#[tokio::test]
async fn a_look_at_many_events_reads_only_those_that_went_down_since_the_last() {
    let home = Home::over(Beneath::default()).await;
    for number in 0..6_000 {
        home.clock.advance(Duration::from_millis(10));
        home.note(format!("event-{number}")).await;
    }
    let mut feed = home.feed().await;
    assert_eq!(shown(&mut feed).len(), 6_000);
    for _ in 0..3 {
        assert_eq!(feed.look().await.unwrap(), 0, "nothing is new, and nothing is read");
        assert!(shown(&mut feed).is_empty());
    }
    home.clock.advance(Duration::from_secs(1));
    home.note("event-17".into()).await;
    home.note("new".into()).await;
    assert_eq!(feed.look().await.unwrap(), 2);
    assert_eq!(shown(&mut feed), ["MODIFIED event-17 2", "ADDED new 1"]);
    // Within the same moment, where only the count tells.
    home.note("new".into()).await;
    assert_eq!(feed.look().await.unwrap(), 2, "those of the same moment are read again");
    assert_eq!(shown(&mut feed), ["MODIFIED new 2"]);
}

#[tokio::test]
async fn none_is_missed_and_none_told_twice_also_where_what_is_gone_is_forgotten() {
    let home = Home::over(Beneath::default()).await;
    let mut feed = home.feed().await;
    let mut told: BTreeMap<String, i64> = BTreeMap::new();
    for round in 0..60_u64 {
        for number in 0..=round % 5 {
            home.note(format!("event-{}", round * number % 37)).await;
        }
        match round % 7 {
            3 => home.clock.set_wall("2026-11-29T11:59:59.5Z".parse().unwrap()),
            5 => feed.prune_at = 0,
            _ => home.clock.advance(Duration::from_millis(300)),
        }
        feed.look().await.unwrap();
        for line in shown(&mut feed) {
            let words: Vec<&str> = line.split(' ').collect();
            let count = words[2].parse().unwrap();
            let before = told.insert(words[1].to_owned(), count);
            assert_eq!(words[0], if before.is_none() { "ADDED" } else { "MODIFIED" }, "{line}");
            assert!(before.is_none_or(|before| before < count), "told twice: {line}");
        }
    }
    let rows = home.store.events(&EventQuery::default()).await.unwrap();
    let stand: BTreeMap<String, i64> = rows.into_iter().map(|row| (row.note.message, row.count)).collect();
    assert_eq!(told, stand);
}

/// A disk without room.
struct Full;

#[async_trait]
impl Gate for Full {
    async fn enter(&self) -> Result<(), Refusal> {
        Err(Refusal::Full("there is no room".into()))
    }

    async fn committed(&self, _commit: &Commit) {}

    fn leave(&self) {}
}

#[tokio::test]
async fn what_other_programs_tell_is_refused_while_the_disk_has_no_room() {
    let sent =
        json!({"involvedObject": {"kind": "Card", "namespace": "den", "name": "a"}, "reason": "Tried"});
    let home = Home::over(Beneath::default()).await;
    assert!(note::answer(&home.asked(), &sent, "ana").await.is_ok());
    let full = Home::over(Beneath { gate: Some(Arc::new(Full)), bits: None }).await;
    // One of our own, by which the store comes to know.
    full.note("one".into()).await;
    assert_eq!(full.store.events(&EventQuery::default()).await.unwrap(), []);
    let refused = note::answer(&full.asked(), &sent, "ana").await.unwrap_err();
    assert_eq!(refused.code().as_u16(), 507);
}
