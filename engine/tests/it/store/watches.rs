//! Watching: in order, without gaps, from any version that is still kept.

use std::collections::BTreeMap;

use futures::FutureExt;
use hearth_engine::store::{ChangeKind, Watch, parse_selector};
use hearth_engine::{Object, Query};
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::toys::{Home, card, key};

type Seen = BTreeMap<String, u64>;

fn red() -> Query {
    Query { labels: parse_selector("color=red").unwrap(), ..Query::of("Card") }
}

fn listed(home: &Home, query: &Query) -> (Seen, u64) {
    let listing = home.store.list(query);
    let seen = listing.items.iter().map(|o| (o.name().to_owned(), o.resource_version())).collect();
    (seen, listing.resource_version)
}

/// Plays everything the watch has to tell onto what was listed.
fn follow(watch: &mut Watch, seen: &mut Seen) -> Vec<(ChangeKind, u64)> {
    let mut told = Vec::new();
    while let Some(Some((kind, object))) = watch.next().now_or_never() {
        let (name, version) = (object.name().to_owned(), object.resource_version());
        let before =
            if kind == ChangeKind::Deleted { seen.remove(&name) } else { seen.insert(name, version) };
        match kind {
            ChangeKind::Added => assert_eq!(before, None),
            ChangeKind::Modified => assert!(before.is_some_and(|old| old < version)),
            ChangeKind::Deleted => assert!(before.is_some()),
        }
        told.push((kind, version));
    }
    told
}

#[derive(Clone, Debug)]
enum Deed {
    Make(u8),
    Paint(u8, bool),
    Count(u8),
    Tell(u8),
    Remove(u8),
    Lamp(u8),
    Together(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        4 => (0..5u8).prop_map(Deed::Make),
        4 => (0..5u8, any::<bool>()).prop_map(|(n, red)| Deed::Paint(n, red)),
        2 => (0..5u8).prop_map(Deed::Count),
        2 => (0..5u8).prop_map(Deed::Tell),
        3 => (0..5u8).prop_map(Deed::Remove),
        1 => (0..5u8).prop_map(Deed::Lamp),
        2 => (0..5u8).prop_map(Deed::Together),
    ];
    proptest::collection::vec(deed, 1..40)
}

async fn carry_out(home: &Home, deed: &Deed) {
    let card_key = |n: u8| key("Card", &format!("c{n}"));
    // Each may be refused where the card is there already, or is not; that is no write.
    match *deed {
        Deed::Make(n) => drop(home.create(card(&format!("c{n}"))).await),
        Deed::Paint(n, red) => {
            let color = if red { "red" } else { "blue" };
            drop(home.patch(card_key(n), json!({"metadata": {"labels": {"color": color}}})).await);
        }
        Deed::Count(n) => drop(home.patch(card_key(n), json!({"spec": {"n": home.store.resource_version()}})).await),
        Deed::Tell(n) => {
            let uid = home.store.get(&card_key(n)).map(|o| o.uid().to_owned()).unwrap_or_default();
            drop(home.store.update_status(&card_key(n), &uid, json!({"n": home.store.resource_version()})).await);
        }
        Deed::Remove(n) => drop(home.delete(card_key(n)).await),
        Deed::Lamp(n) => drop(home.create(json!({"kind": "Lamp", "metadata": {"name": format!("l{n}"), "namespace": "den"}, "spec": {"color": "red"}})).await),
        Deed::Together(n) => {
            let paint = json!({"metadata": {"labels": {"color": "red"}}});
            drop(tokio::join!(
                home.delete(card_key(n)),
                home.create(card(&format!("c{n}"))),
                home.patch(card_key(n), paint),
                home.patch(card_key(n), json!({"spec": {"n": -1}})),
            ));
        }
    }
}

/// After some deeds, from every version there was: what was listed then, and the watch from there, is what is
/// listed now. Versions have no gaps. After a restart, too.
#[test]
fn a_list_and_the_watch_from_it_are_the_list_of_now() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&deeds(), |deeds| {
        runtime.block_on(async {
            let home = Home::new().await;
            let mut every = home.store.watch(Query::of(Query::EVERY_KIND), None).unwrap();
            let queries = [Query::of("Card"), red(), Query::of("Card").within("den"), Query::of("Lamp")];
            let mut listings = Vec::new();
            for deed in &deeds {
                listings.push(queries.clone().map(|query| listed(&home, &query)));
                carry_out(&home, deed).await;
            }
            let mut expected = 1;
            while let Some(Some(change)) = every.next_change().now_or_never() {
                expected += 1;
                assert_eq!(change.resource_version, expected, "no gap, no double");
            }
            assert_eq!(expected, home.store.resource_version());
            check(&home, &queries, &listings);
            let home = home.reopened().await;
            check(&home, &queries, &listings);
        });
        Ok(())
    });
    outcome.unwrap();
}

fn check(home: &Home, queries: &[Query; 4], listings: &[[(Seen, u64); 4]]) {
    for listing in listings {
        for (query, (seen, from)) in queries.iter().zip(listing) {
            let mut seen = seen.clone();
            let mut watch = home.store.watch(query.clone(), Some(*from)).unwrap();
            let told = follow(&mut watch, &mut seen);
            assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].1));
            assert_eq!(seen, listed(home, query).0, "{query:?} from {from}");
            assert_eq!(watch.resource_version(), home.store.resource_version());
        }
    }
}

#[tokio::test]
async fn what_leaves_the_selector_is_deleted_and_what_comes_back_added() {
    let home = Home::new().await;
    let mut watch = home.store.watch(red(), None).unwrap();
    home.card("a").await;
    for color in ["red", "red", "blue", "red"] {
        home.patch(key("Card", "a"), json!({"metadata": {"labels": {"color": color, "n": color.len().to_string()}}, "spec": {"n": color}}))
            .await
            .unwrap();
        home.patch(key("Card", "a"), json!({"spec": {"n": 1}})).await.unwrap();
    }
    home.delete(key("Card", "a")).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(Some((kind, _))) = watch.next().now_or_never() {
        kinds.push(kind);
    }
    use ChangeKind::{Added, Deleted, Modified};
    assert_eq!(kinds, [Added, Modified, Modified, Modified, Deleted, Added, Modified, Deleted]);
}

#[tokio::test]
async fn a_watch_of_every_kind_tells_of_every_kind_and_one_of_a_kind_of_no_other() {
    let home = Home::new().await;
    let from = home.store.resource_version();
    home.card("a").await;
    home.lamp("l", json!({"color": "red"})).await;
    let names = |mut watch: Watch| {
        let mut names = Vec::new();
        while let Some(Some((_, object))) = watch.next().now_or_never() {
            names.push(Object::clone(&object).name().to_owned());
        }
        names
    };
    assert_eq!(names(home.store.watch(Query::of(Query::EVERY_KIND), Some(from)).unwrap()), ["a", "l"]);
    assert_eq!(names(home.store.watch(Query::of("Lamp"), Some(from)).unwrap()), ["l"]);
    let mut lamps = home.store.watch(Query::of("Lamp"), Some(from)).unwrap();
    assert_eq!(lamps.next_change().await.unwrap().key, key("Lamp", "l"), "not even unasked for");
}

#[tokio::test]
async fn a_quiet_watch_still_knows_how_far_it_has_come() {
    let home = Home::new().await;
    let mut watch = home.store.watch(Query::of("Lamp"), None).unwrap();
    home.card("a").await;
    assert_eq!(watch.resource_version(), 2);
    home.lamp("l", json!({"color": "red"})).await;
    home.card("b").await;
    assert_eq!(watch.resource_version(), 2, "the lamp is not told yet");
    watch.next().await.unwrap();
    assert_eq!(watch.resource_version(), 4);
}

#[tokio::test]
async fn versions_that_are_not_kept_or_were_never_given_out_have_expired() {
    let home = Home::new().await;
    home.card("a").await;
    assert!(home.store.watch(Query::of("Card"), Some(3)).is_err(), "from the future of another store");
    for n in 0..1030 {
        home.patch(key("Card", "a"), json!({"spec": {"n": n + 1}})).await.unwrap();
    }
    assert!(home.store.watch(Query::of("Card"), Some(2)).is_err());
    assert!(home.store.watch(Query::of("Card"), Some(1000)).is_ok());
    let home = home.reopened().await;
    assert!(home.store.watch(Query::of("Card"), Some(2)).is_err());
    assert!(home.store.watch(Query::of("Card"), Some(1000)).is_ok());
}

#[tokio::test]
async fn whoever_does_not_keep_up_is_dropped_and_never_told_a_gap() {
    let home = Home::new().await;
    home.card("a").await;
    let mut slow = home.store.watch(Query::of("Card"), None).unwrap();
    for n in 0..1100 {
        home.patch(key("Card", "a"), json!({"spec": {"n": n + 1}})).await.unwrap();
    }
    let mut last = slow.resource_version();
    while let Some((_, object)) = slow.next().await {
        assert_eq!(object.resource_version(), last + 1);
        last = object.resource_version();
    }
    assert!(last < home.store.resource_version());
    assert_eq!(slow.resource_version(), last, "it does not claim what it missed");
    assert!(home.store.watch(Query::of("Card"), Some(last)).is_ok(), "and goes on from there");
}

#[tokio::test]
async fn watches_end_when_the_store_does() {
    let home = Home::new().await;
    let mut watch = home.store.watch(Query::of("Card"), None).unwrap();
    home.card("a").await;
    home.store.close().await;
    assert!(home.store.is_closed());
    assert!(watch.next().await.is_some());
    assert!(watch.next().await.is_none());
    assert!(home.store.watch(Query::of("Card"), None).unwrap().next().await.is_none());
    let mut watch = home.store.watch(Query::of("Card"), None).unwrap();
    drop(home);
    assert!(watch.next().await.is_none());
}

#[test]
fn selectors_are_understood_or_refused() {
    let holds = |selector: &str, labels: serde_json::Value| {
        let mut value = card("a");
        value["metadata"]["labels"] = labels;
        let query = Query { labels: parse_selector(selector).unwrap(), ..Query::of("Card") };
        query.matches(&crate::toys::object(value))
    };
    let labels = json!({"a": "1", "b": "2"});
    for selector in ["a=1", "a==1,b=2", "a in (0,1)", "a notin (2,3)", "c!=1", "!c", "b", "", "c notin (1)"] {
        assert!(holds(selector, labels.clone()), "{selector}");
    }
    for selector in ["a=2", "a!=1", "c", "!a", "a in (2)", "a notin (1)", "a=1,c"] {
        assert!(!holds(selector, labels.clone()), "{selector}");
    }
    for selector in ["a in 1", "a b", "a notin (1", "!", "!=x", "=x", ",", "a=1,,b", "a=1,", "a>1", "in (1)"]
    {
        parse_selector(selector).unwrap_err();
    }
}
