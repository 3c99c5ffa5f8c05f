//! What an instance's folder says of its app, for a store that is lost.

use std::sync::Arc;

use hearth_engine::Object;
use hearth_engine::controller::{Seen, Wanted};
use hearth_kinds::App;
use serde_json::json;

use super::super::observe::{Files, inline, settle};
use super::super::plan::{AppStep, plan, seen as differences};
use super::super::record::{RECORD, Record, is_live, record, retired};
use super::{COMPOSE, converge, ready, wanted};

fn arcs(children: Vec<Object>) -> Vec<Arc<Object>> {
    children.into_iter().map(Arc::new).collect()
}

/// An app that is up, as the store has it.
fn up() -> (Wanted<App>, Vec<Arc<Object>>) {
    let wanted = wanted(|_| {});
    let (mut children, ..) = converge(&wanted, Vec::new(), ready);
    for child in &mut children {
        child.body["status"]["madeAt"] = json!("2026-11-29T12:00:00Z");
    }
    (wanted, arcs(children))
}

#[test]
fn a_record_brings_every_part_back_with_its_uid_and_names_no_secret() {
    let (wanted, children) = up();
    let done = |child: &Arc<Object>| {
        let mut child = Object::clone(child);
        child.body["status"]["completedFor"] = json!("a-hash");
        child
    };
    let children = arcs(children.iter().map(done).collect());
    let bytes = record(&wanted.object, "home", &children);
    let read = Record::parse(&bytes).unwrap();
    assert_eq!((read.app.uid(), read.lineage.as_deref(), read.is_retired), ("uid-app", Some("home"), false));
    let mut recorded = children.iter().filter(|child| child.kind != "Revision").peekable();
    assert!(recorded.peek().is_some());
    for child in recorded {
        let part = read.parts.iter().find(|part| part.key() == child.key()).unwrap();
        assert_eq!((part.uid(), part.spec()), (child.uid(), child.spec()));
        assert_eq!(part.metadata.labels, child.metadata.labels, "{}", part.key());
        assert_eq!(part.metadata.owner_references, child.metadata.owner_references, "{}", part.key());
        let lasting = match part.kind.as_str() {
            "Volume" => json!({"madeAt": "2026-11-29T12:00:00Z"}),
            "Container" => json!({"completedFor": "a-hash"}),
            _ => json!(null),
        };
        assert_eq!(part.status(), &lasting, "what cannot be seen again, and nothing else");
    }
    assert!(read.parts.iter().all(|part| part.kind != "Revision"));
    assert_eq!(read.secrets(), [("photos".to_owned(), "pw".to_owned())], "named, to be asked for");
    assert_eq!(record(&wanted.object, "home", &children), bytes, "equal apps give equal records");
}

#[test]
fn records_of_older_programs_are_read_and_what_is_none_is_told() {
    let old = json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": {"name": "photos", "namespace": "household", "uid": "u", "labels": null, "generation": 3},
        "spec": {"compose": COMPOSE},
    });
    let read = Record::parse(old.to_string().as_bytes()).unwrap();
    assert_eq!((read.app.uid(), read.lineage, read.is_retired, read.parts.len()), ("u", None, false, 0));
    for broken in ["", "{", "[]", "{}", r#"{"apiVersion":"v1","kind":"App","metadata":{"name":"x"}}"#] {
        assert!(Record::parse(broken.as_bytes()).is_err(), "{broken}");
    }
}

#[test]
fn the_record_follows_the_parts_once_nothing_else_is_to_be_done() {
    let (wanted, children) = up();
    let mut files = inline(COMPOSE);
    files.insert(RECORD.to_owned(), record(&wanted.object, "home", &children));
    let mut older = inline(COMPOSE);
    older.insert(RECORD.to_owned(), record(&wanted.object, "home", &[]));
    let with_older =
        |children: &[Arc<Object>]| settle(&wanted, Ok(files.clone()), Some(older.clone()), children.to_vec());
    let facts = settle(&wanted, Ok(files.clone()), Some(files.clone()), children.clone());
    assert!(plan(&wanted, &facts).steps.is_empty());
    let stale = with_older(&children);
    assert!(matches!(plan(&wanted, &stale).steps.as_slice(), [AppStep::SaveRecord { .. }]));
    let nothing_saved = settle(&wanted, Ok(files.clone()), None, children.clone());
    assert_eq!(plan(&wanted, &nothing_saved).steps, [AppStep::SaveFiles]);
    let missing = with_older(&children[1..]);
    assert!(!matches!(plan(&wanted, &missing).steps[0], AppStep::SaveRecord { .. }), "parts first");
}

#[test]
fn a_deleted_app_is_retired_before_anything_of_it_goes() {
    let (wanted, children) = up();
    let gone = Wanted { gone: true, ..wanted };
    let files = |record: Vec<u8>| Files::from([(RECORD.to_owned(), record)]);
    let live = files(record(&gone.object, "home", &children));
    let facts = settle(&gone, Ok(Files::new()), Some(live.clone()), children.clone());
    assert_eq!(plan(&gone, &facts).steps, [AppStep::Retire]);
    let after = files(retired(&gone.object, "home", &children));
    assert!(is_live(&live) && !is_live(&after));
    let read = Record::parse(&after[RECORD]).unwrap();
    assert!(
        read.is_retired && read.parts.iter().any(|part| part.kind == "Volume"),
        "its data can be taken up"
    );
    let facts = settle(&gone, Ok(Files::new()), Some(after), children);
    assert!(!plan(&gone, &facts).steps.contains(&AppStep::Retire));
    let alone = settle(&gone, Ok(Files::new()), Some(live), Vec::new());
    assert_ne!(differences(&gone, &alone), Seen::Absent, "it does not go before that is written down");
}
