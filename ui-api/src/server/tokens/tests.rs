//! Tokens that change in the very moment they are used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hearth_engine::clock::ManualClock;
use hearth_engine::store::{Deletion, OpenOptions, Preconditions};
use hearth_engine::{Clock, Key, Object, Store, WriteOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::super::credential::Credential;
use super::Tokens;
use crate::access;

const TOKEN: &str = "hearth_anna";

struct Home {
    tokens: Tokens,
    store: Store,
    clock: ManualClock,
    _folder: TempDir,
}

fn credential(folder: &Path) -> Credential {
    let address = "127.0.0.1:1".parse().unwrap();
    Credential::settle(folder, &folder.join("admin.kubeconfig"), "", address).unwrap()
}

async fn home() -> Home {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap());
    let kinds = hearth_kinds::all(&hearth_kinds::Settings::default());
    let data_dir = folder.path().to_owned();
    let options = OpenOptions { data_dir, kinds, clock: Arc::new(clock.clone()) };
    let store = Store::open(options).await.unwrap();
    let token = json!({
        "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": "anna" },
        "spec": { "role": "Viewer", "namespaces": ["anna"], "sha256": access::hash(TOKEN) },
    });
    store.create(Object::from_value(token).unwrap(), &WriteOptions::controller("test")).await.unwrap();
    let tokens = Tokens::new(store.clone(), credential(folder.path()), CancellationToken::new());
    Home { tokens, store, clock, _folder: folder }
}

impl Home {
    async fn change(&self, field: &'static str, value: Value) {
        let change = move |old: &Object| {
            let mut new = old.clone();
            new.body["spec"][field] = value;
            Ok(new)
        };
        let key = Key::new("Token", "", "anna");
        self.store.update(&key, &WriteOptions::controller("test"), change).await.unwrap();
    }

    fn sweep(&self) -> Duration {
        self.tokens.sweep(self.clock.now())
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_while_it_is_looked_up_lets_nobody_in() {
    let home = home().await;
    let found = home.tokens.having(TOKEN).unwrap();
    let deletion = Deletion { key: Key::new("Token", "", "anna"), preconditions: Preconditions::default() };
    home.store.delete(deletion, &WriteOptions::controller("test")).await.unwrap();
    home.sweep();
    assert!(home.tokens.admit(&found).is_none(), "what it opened would never be ended");
}

#[tokio::test]
async fn a_token_that_is_prolonged_while_it_is_looked_up_ends_nothing_that_goes_by_the_new_one() {
    let home = home().await;
    let found = home.tokens.having(TOKEN).unwrap();
    home.change("expiresAt", json!("2030-01-02T00:00:00Z")).await;
    let (new, _) = home.tokens.find(TOKEN).unwrap();
    let (old, _) = home.tokens.admit(&found).unwrap();
    home.sweep();
    assert!(!new.until.is_cancelled(), "it goes by what stands");
    assert!(!old.until.is_cancelled(), "and so does the one that was looked up before");
}

#[tokio::test]
async fn a_token_that_is_given_another_word_while_it_is_looked_up_lets_nobody_in_by_the_old_one() {
    let home = home().await;
    let found = home.tokens.having(TOKEN).unwrap();
    home.change("sha256", access::hash("hearth_other").into()).await;
    assert!(home.tokens.admit(&found).is_none());
}

#[tokio::test]
async fn the_end_of_a_token_that_was_first_used_after_a_look_is_not_waited_for_until_the_next() {
    let home = home().await;
    home.change("expiresAt", json!("2030-01-01T00:00:05Z")).await;
    // Its use is on record, so that no write of it wakes anybody.
    let object = home.tokens.having(TOKEN).unwrap();
    let status = json!({ "lastUsedAt": "2030-01-01T00:00:00Z" });
    home.store.update_status(&object.key(), object.uid(), status).await.unwrap();
    let keeping = tokio::spawn(home.tokens.clone().keep());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (actor, _) = home.tokens.find(TOKEN).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    home.clock.advance(Duration::from_secs(6));
    let ended = tokio::time::timeout(Duration::from_secs(10), actor.until.cancelled()).await;
    assert!(ended.is_ok(), "it goes on past its end");
    keeping.abort();
}
