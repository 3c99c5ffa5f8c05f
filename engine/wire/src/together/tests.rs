//! What a stream of many kinds tells, change by change and list by list.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue};
use hearth_engine::Object;
use hearth_engine::store::ChangeKind::{Added, Deleted, Modified};
use serde_json::json;

use super::part::once_each;
use super::{come_to, places};

fn object(uid: &str, version: u64) -> Arc<Object> {
    let value = json!({
        "apiVersion": "t/v1", "kind": "Lamp",
        "metadata": { "name": uid, "uid": uid, "resourceVersion": version.to_string() },
    });
    Arc::new(Object::from_value(value).unwrap())
}

#[test]
fn what_changed_several_times_is_told_once_as_it_is_by_the_last() {
    for (changes, wanted) in [
        (vec![(Modified, "a"), (Modified, "b"), (Modified, "a")], "Modified b 2, Modified a 3"),
        (vec![(Added, "a"), (Modified, "a")], "Added a 2"),
        (vec![(Added, "a"), (Modified, "b"), (Deleted, "a")], "Modified b 2"),
        (vec![(Modified, "a"), (Deleted, "a")], "Deleted a 2"),
        (vec![(Deleted, "a"), (Added, "a")], "Modified a 2"),
        (vec![(Deleted, "a"), (Added, "a of the same name")], "Deleted a 1, Added a of the same name 2"),
        (vec![(Added, "a"), (Deleted, "a"), (Added, "a")], "Added a 3"),
        (vec![], ""),
    ] {
        let changes = changes.into_iter().zip(1..).map(|((kind, uid), version)| (kind, object(uid, version)));
        let told = once_each(changes.collect()).into_iter();
        let told: Vec<String> = told
            .map(|(kind, object)| format!("{kind:?} {} {}", object.uid(), object.resource_version()))
            .collect();
        assert_eq!(told.join(", "), wanted);
    }
}

#[test]
fn each_part_is_named_as_it_was_asked_for_and_may_say_where_it_goes_on() {
    let read = |query: &str| {
        let uri = format!("/x?{query}").parse().unwrap();
        let told = |place: &super::Place| format!("{} {:?}", place.name(), place.version);
        match places(&uri) {
            Ok(places) => places.iter().map(told).collect::<Vec<_>>().join("; "),
            Err(failure) => failure.to_value()["message"].as_str().unwrap().to_owned(),
        }
    };
    assert_eq!(read("of=apps&of=secrets/anna@12&x=y"), "apps None; secrets/anna Some(12)");
    assert_eq!(
        read("of=apps.hearth.dev%2Fanna%400"),
        "apps.hearth.dev/anna None",
        "no version is the beginning"
    );
    assert!(read("").starts_with("of: is required"));
    let told = read("of=apps@x&of=a/b/c&of=ok&of=ok@7");
    for problem in
        ["of=apps@x: \"x\" is not a resourceVersion", "of=a/b/c: write it as", "of=ok@7: is asked for twice"]
    {
        assert!(told.contains(problem), "{problem} in {told}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("of=k{number}")).collect();
    assert!(read(&many.join("&")).contains("65 are too many"));
}

#[test]
fn an_id_brings_every_part_back_to_where_it_was() {
    let read = |id: &'static str, parts| {
        let head = HeaderMap::from_iter([("last-event-id".parse().unwrap(), HeaderValue::from_static(id))]);
        come_to(&head, parts).ok()
    };
    assert_eq!(read("12,-,7", 3), Some(vec![Some(12), None, Some(7)]));
    assert_eq!(read("", 2), Some(vec![None, None]));
    for wrong in ["12", "12,x", "1,2,3"] {
        assert_eq!(read(wrong, 2), None, "{wrong}");
    }
}
