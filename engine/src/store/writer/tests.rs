//! What shares a commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hearth_meta::{KindInfo, Scope};
use serde_json::json;
use tempfile::TempDir;

use crate::clock::SystemClock;
use crate::object::{Key, Object};
use crate::store::{OpenOptions, Store, WriteOptions};

const WRITERS: usize = 8;
const ROUNDS: usize = 10;

async fn open(folder: &TempDir) -> Store {
    let lamp = KindInfo::plain("test.dev", "Lamp", ("Lamp", "Lamp"), Scope::Cluster);
    let kinds = vec![KindInfo { has_status: true, ..lamp }];
    let clock = Arc::new(SystemClock::start());
    Store::open(OpenOptions { data_dir: folder.path().to_owned(), kinds, clock }).await.unwrap()
}

/// With one thread, whoever is answered first asks again before the others have run: the hardest case.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn those_who_were_answered_together_share_the_next_commit() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await;
    let write = |writer: usize| {
        let store = store.clone();
        async move {
            let lamp = json!({"apiVersion": "test.dev/v1", "kind": "Lamp", "metadata": {"name": format!("l{writer}")}});
            let made =
                store.create(Object::from_value(lamp).unwrap(), &WriteOptions::default()).await.unwrap();
            let key = Key::new("Lamp", "", made.name());
            for round in 0..ROUNDS {
                store.update_status(&key, made.uid(), json!({"round": round})).await.unwrap();
            }
        }
    };
    let before = store.inner.commits.load(Ordering::Relaxed);
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(writer))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let commits = store.inner.commits.load(Ordering::Relaxed) - before;
    let rounds = u64::try_from(ROUNDS).unwrap() + 1;
    assert!(commits <= rounds + rounds / 2, "{commits} commits for {rounds} rounds of {WRITERS} writers");
    store.close().await;
}
