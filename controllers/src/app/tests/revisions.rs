//! Which revisions of an app stay: the ten newest, and whatever it is made of now.

use hearth_engine::Object;
use serde_json::json;

use super::{converge, ready, wanted};

/// A revision as an earlier wish has left it.
fn older(number: i64) -> Object {
    let revision = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Revision",
        "metadata": { "name": format!("photos-{number:08}"), "namespace": "household", "uid": format!("r{number}") },
        "spec": { "app": "photos", "number": number },
    });
    Object::from_value(revision).unwrap()
}

/// The numbers of the revisions that are left of those there were.
fn left(revisions: Vec<Object>) -> Vec<i64> {
    let wanted = wanted(|_| {});
    let (mut children, ..) = converge(&wanted, Vec::new(), ready);
    let own = children.iter().position(|child| child.kind == "Revision").expect("it is made of something");
    // What it is made of now is only told by its name.
    let own = children.remove(own);
    let with_name_of_own = |mut revision: Object| {
        if revision.spec()["own"] == true {
            revision.metadata.name = own.metadata.name.clone();
        }
        revision
    };
    children.extend(revisions.into_iter().map(with_name_of_own));
    let (children, ..) = converge(&wanted, children, ready);
    let revisions = children.iter().filter(|child| child.kind == "Revision");
    let mut numbers: Vec<i64> =
        revisions.map(|revision| revision.spec()["number"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

/// The revision that it is made of now, whatever its number.
fn own(number: i64) -> Object {
    let mut revision = older(number);
    if let Some(spec) = revision.body.get_mut("spec") {
        spec["own"] = json!(true);
    }
    revision
}

#[test]
fn the_ten_newest_revisions_stay_and_the_one_in_use_whatever_its_age() {
    let check = |revisions: Vec<Object>, expected: Vec<i64>| assert_eq!(left(revisions), expected);
    let of = |numbers: std::ops::RangeInclusive<i64>| numbers.map(older).collect::<Vec<_>>();
    let and = |one: Vec<Object>, other: Vec<Object>| [one, other].concat();
    // A first one, and as many as are kept.
    check(Vec::new(), vec![1]);
    check(and(of(1..=9), vec![own(10)]), (1..=10).collect());
    // With one more the oldest goes; what is made of a new wish is the newest.
    check(of(1..=10), (2..=11).collect());
    check(of(1..=12), (4..=13).collect());
    check(and(of(1..=11), vec![own(12)]), (3..=12).collect());
    // Whoever went back to the oldest, or to one in the middle, still has it.
    check(and(vec![own(1)], of(2..=12)), [1].into_iter().chain(3..=12).collect());
    check(and(and(of(1..=5), vec![own(6)]), of(7..=12)), (3..=12).collect());
    // In whatever order they are told.
    check(and(vec![own(12)], of(1..=11).into_iter().rev().collect()), (3..=12).collect());
}
