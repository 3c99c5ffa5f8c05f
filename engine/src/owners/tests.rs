//! What only the sweep finds is found however much else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hearth_meta::{KindInfo, Scope, Timestamp};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::collect;
use crate::clock::Clock;
use crate::followed::Followed;
use crate::object::{Key, Object};
use crate::store::{Deletion, Founding, OpenOptions, Preconditions, Store, WriteOptions, found};

/// Time goes on with each look at it, and who waits for it is never the first to run.
#[derive(Default)]
struct Hurried(AtomicU64);

#[async_trait]
impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }

    async fn sleep_until(&self, _until: Duration) {
        std::future::pending().await
    }
}

fn card(name: &str, owner: Option<&Object>) -> Object {
    let owners: Vec<_> = owner
        .map(|owner| json!({"apiVersion": "test.dev/v1", "kind": "Card", "name": owner.name(), "uid": owner.uid()}))
        .into_iter()
        .collect();
    let card = json!({
        "apiVersion": "test.dev/v1", "kind": "Card", "metadata": {"name": name, "ownerReferences": owners},
    });
    Object::from_value(card).unwrap()
}

#[tokio::test]
async fn what_only_the_sweep_finds_goes_though_one_change_follows_on_the_other() {
    let folder = TempDir::new().unwrap();
    let founding = Founding {
        lineage: "home".into(),
        resource_version: 500,
        observe_only: "It was rebuilt".into(),
        uids: Vec::new(),
    };
    found(folder.path(), &founding).await.unwrap();
    let card_kind = KindInfo::plain("test.dev", "Card", ("cards", "card"), Scope::Cluster);
    let kinds = vec![KindInfo { has_status: true, ..card_kind }];
    let clock = Arc::new(Hurried::default());
    let options = OpenOptions { data_dir: folder.path().to_owned(), kinds, clock };
    let store = Store::open(options).await.unwrap();
    let write = WriteOptions { actor: "admin".into(), source: "api".into(), dry_run: false };
    let (stop, followed) = (CancellationToken::new(), Followed::default());
    tokio::spawn(collect(store.clone(), followed.clone(), stop.clone()));

    let owner = store.create(card("owner", None), &write).await.unwrap();
    store.create(card("owned", Some(&owner)), &write).await.unwrap();
    let busy = store.create(card("busy", None), &write).await.unwrap();
    let deletion = Deletion { key: owner.key(), preconditions: Preconditions::default() };
    store.delete(deletion, &write).await.unwrap();
    while !followed.has_reached(store.resource_version()) {
        tokio::task::yield_now().await;
    }
    let owned = Key::new("Card", "", "owned");
    assert!(store.get(&owned).is_some(), "nothing is collected before the store is accepted");
    store.accept("admin").await.unwrap();
    for round in 0..300 {
        store.update_status(&busy.key(), busy.uid(), json!({"round": round})).await.unwrap();
        if store.get(&owned).is_none() {
            break;
        }
    }
    assert!(store.get(&owned).is_none(), "the sweep never came");
    stop.cancel();
}
