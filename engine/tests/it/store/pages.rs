//! Lists in pages: what belongs together is shown together, or it is said that it cannot be.

use hearth_engine::store::{Page, PageError, parse_selector};
use hearth_engine::{Key, Query};
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use crate::toys::{Home, card, key};

/// The names on the pages of a list, and after each page something happens.
async fn read(
    home: &Home,
    query: &Query,
    limit: usize,
    mut meanwhile: impl AsyncFnMut(usize),
) -> Vec<String> {
    let mut page = Page { limit: Some(limit), ..Page::default() };
    let (mut names, mut number) = (Vec::new(), 0);
    loop {
        let paged = home.store.page(query, &page).unwrap();
        assert!(paged.items.len() <= limit);
        names.extend(
            paged.items.iter().map(|object| format!("{} {}", object.key(), object.resource_version())),
        );
        if !paged.has_more {
            assert_eq!(paged.left, Some(0));
            return names;
        }
        let after = paged.items.last().map(|object| object.key());
        page = Page { at: Some(paged.resource_version), after, limit: Some(limit), left: paged.left };
        meanwhile(number).await;
        number += 1;
    }
}

fn shown(home: &Home, query: &Query) -> Vec<String> {
    let listing = home.store.list(query);
    listing.items.iter().map(|object| format!("{} {}", object.key(), object.resource_version())).collect()
}

#[tokio::test]
async fn a_page_tells_how_many_are_left_unless_it_selects() {
    let home = Home::new().await;
    home.create(json!({"kind": "Namespace", "metadata": {"name": "attic"}})).await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        home.card(name).await;
    }
    home.create(json!({"kind": "Card", "metadata": {"name": "a", "namespace": "attic"}})).await.unwrap();
    let left = |query: &Query, limit| {
        let paged = home.store.page(query, &Page { limit: Some(limit), ..Page::default() }).unwrap();
        (paged.items.len(), paged.has_more, paged.left)
    };
    let cards = Query::of("Card");
    assert_eq!(left(&cards, 2), (2, true, Some(4)));
    assert_eq!(left(&cards, 6), (6, false, Some(0)));
    assert_eq!(left(&cards.clone().within("den"), 2), (2, true, Some(3)));
    assert_eq!(left(&cards.clone().within("den"), 5), (5, false, Some(0)));
    let selected = Query { labels: parse_selector("!color").unwrap(), ..cards };
    assert_eq!(left(&selected, 2), (2, true, None));
    assert_eq!(left(&Query::of("Lamp"), 2), (0, false, Some(0)));
}

#[derive(Clone, Debug)]
enum Deed {
    Make(u8),
    Paint(u8),
    Remove(u8),
    Lamp(u8),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (0..12u8).prop_map(Deed::Make),
        (0..12u8).prop_map(Deed::Paint),
        (0..12u8).prop_map(Deed::Remove),
        (0..4u8).prop_map(Deed::Lamp),
    ];
    proptest::collection::vec(deed, 0..40)
}

async fn carry_out(home: &Home, deed: &Deed) {
    let name = |n: u8| format!("c{n:02}");
    // Each may be refused where the card is there already, or is not; that is no write.
    match *deed {
        Deed::Make(n) => drop(home.create(card(&name(n))).await),
        Deed::Paint(n) => {
            let color = json!({"metadata": {"labels": {"color": home.store.resource_version().to_string()}}});
            drop(home.patch(key("Card", &name(n)), color).await);
        }
        Deed::Remove(n) => drop(home.delete(key("Card", &name(n))).await),
        Deed::Lamp(n) => {
            let lamp = json!({"kind": "Lamp", "metadata": {"name": format!("l{n}"), "namespace": "den"}, "spec": {"color": "red"}});
            drop(home.create(lamp).await);
        }
    }
}

/// However the list is cut and whatever is written between its pages, together they are the list as it stood when
/// the first was read; after a restart, too.
#[test]
fn pages_together_are_the_list_as_it_stood_at_the_first() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 32, failure_persistence: None, ..Config::default() });
    let cases = (deeds(), deeds(), 1..5usize, any::<bool>());
    let outcome = runner.run(&cases, |(before, between, limit, selects)| {
        runtime.block_on(async {
            let home = Home::new().await;
            for deed in &before {
                carry_out(&home, deed).await;
            }
            let labels = parse_selector(if selects { "color" } else { "" }).unwrap();
            let query = Query { labels, ..Query::of("Card") };
            let (stood, at) = (shown(&home, &query), home.store.resource_version());
            let chunks: Vec<_> = between.chunks(3).collect();
            let told = read(&home, &query, limit, async |number| {
                for deed in chunks.get(number).copied().unwrap_or_default() {
                    carry_out(&home, deed).await;
                }
            });
            assert_eq!(told.await, stood);
            let home = home.reopened().await;
            let again = home.store.page(&query, &Page { at: Some(at), ..Page::default() }).unwrap();
            let again: Vec<String> =
                again.items.iter().map(|o| format!("{} {}", o.key(), o.resource_version())).collect();
            assert_eq!(again, stood);
        });
        Ok(())
    });
    outcome.unwrap();
}

#[tokio::test]
async fn what_stood_before_the_changes_that_are_kept_is_not_made_up() {
    let home = Home::new().await;
    for n in 0..4 {
        home.card(&format!("c{n}")).await;
    }
    let cards = Query::of("Card");
    let at = |at| Page { at: Some(at), ..Page::default() };
    let early = home.store.resource_version();
    for n in 0..1030 {
        home.patch(key("Card", "c0"), json!({"spec": {"n": n + 1}})).await.unwrap();
    }
    home.delete(key("Card", "c1")).await.unwrap();
    let newest = home.store.resource_version();
    let expired =
        |home: &Home, version| matches!(home.store.page(&cards, &at(version)), Err(PageError::Expired(_)));
    assert!(expired(&home, early) && expired(&home, newest - 1025));
    assert_eq!(home.store.page(&cards, &at(newest - 1)).unwrap().items.len(), 4);
    let not_yet = home.store.page(&cards, &at(newest + 1)).unwrap_err();
    assert_eq!(not_yet, PageError::NotYet { asked: newest + 1, newest });
    let home = home.reopened().await;
    // What the card was before it went lies before the changes that were read back.
    assert!(expired(&home, newest - 1));
    assert_eq!(home.store.page(&cards, &at(newest)).unwrap().items.len(), 3);
    assert_eq!(home.store.page(&Query::of("Lamp"), &at(newest - 1)).unwrap().items.len(), 0);
    let after = Page { after: Some(Key::new("Card", "den", "c2")), ..Page::default() };
    assert_eq!(home.store.page(&cards, &after).unwrap().items.len(), 1);
}

#[tokio::test]
async fn changes_that_nobody_can_ask_for_any_more_leave_the_file_and_what_is_left_is_told_after_a_restart() {
    let home = Home::new().await;
    for name in ["a", "b"] {
        home.card(name).await;
    }
    let old = home.store.resource_version();
    // What was left by an earlier process is dropped at the start, then every few thousand changes.
    for round in 0..60 {
        let patch = |n: usize| home.patch(key("Card", "a"), json!({"spec": {"n": round * 256 + n + 1}}));
        for written in futures::future::join_all((0..256).map(patch)).await {
            written.unwrap();
        }
    }
    let (newest, seen) = (home.store.resource_version(), home.store.list(&Query::of("Card")).items);
    home.store.close().await;
    let file = home.folder.path().join("store.db");
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    let sql = "SELECT count(*), min(rv) FROM changes WHERE rv NOT IN (SELECT rv FROM standing)";
    let (kept, oldest): (i64, i64) = sqlx::query_as(sql).fetch_one(&mut connection).await.unwrap();
    assert!((1_000..1_024 + 4_096 + 256).contains(&kept), "{kept} changes are kept");
    assert!(u64::try_from(oldest).unwrap() > old);
    connection.close().await.unwrap();
    let home = home.reopened().await;
    assert_eq!(home.store.list(&Query::of("Card")).items, seen, "also what was written long before");
    assert!(home.store.watch(Query::of("Card"), Some(old)).is_err());
    let page = |at| home.store.page(&Query::of("Card"), &Page { at: Some(at), ..Page::default() });
    assert!(matches!(page(old), Err(PageError::Expired(_))));
    assert_eq!(page(newest - 500).unwrap().items[0].resource_version(), newest - 500);
    let mut watch = home.store.watch(Query::of("Card"), Some(newest - 500)).unwrap();
    let mut told = 0;
    while let Some(Some(_)) = futures::FutureExt::now_or_never(watch.next()) {
        told += 1;
    }
    assert_eq!(told, 500);
}
