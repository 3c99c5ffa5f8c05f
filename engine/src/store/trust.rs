//! How far the store may be trusted, and whose work it takes for its own.
//!
//! - *Observe-only*: it is an older copy, or of another home. Everything is looked at and told, nothing is done.
//! - *Remembered uids*: things stand in the world whose objects are gone. An object that is declared under such a
//!   name takes up the uid it had, and with it what was made for it; until then the things are nobody's orphans.
//! - *Adopted lineages*: what another store made is taken for ours where its object was taken over, and only there.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use super::error::WriteError;
use super::state::State;
use super::writer::Request;
use super::{Inner, Store, meta};
use crate::object::Key;

/// What the keys of remembered uids begin with.
const UID_OF: &str = "uid of ";
/// What the keys of adopted lineages begin with.
const ADOPTED: &str = "adopted ";

/// What is past every version that a lost history may have given out, where only its things tell how far it had come:
/// it went on after it made the last of them.
pub const LOST_HISTORY: u64 = 1_000_000;

/// What the store keeps of this, in memory as in the file.
#[derive(Default)]
pub(super) struct Trust {
    /// The uid that an object of this key had.
    pub(super) remembered: BTreeMap<Key, String>,
    /// Lineages of other stores some of whose objects were taken over.
    pub(super) adopted: BTreeSet<String>,
    /// Versions up to this one were given out by a history that is lost; none is given out again.
    pub(super) floor: u64,
}

/// A change of it, to be put down.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// A person says go.
    Accept,
    /// The world has seen a later version than this store.
    Distrust { why: String, seen: u64 },
    /// An object of this key had this uid.
    Remember(Key, String),
    /// What had this uid is nobody's any more.
    Forget(String),
    /// Things of this lineage may be ours.
    Adopt(String),
}

impl Note {
    pub(super) async fn put(&self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        match self {
            Self::Accept => remove(connection, meta::OBSERVE_ONLY).await,
            Self::Distrust { why, seen } => {
                let word = |name: &'static str| {
                    sqlx::query_scalar::<_, String>("SELECT value FROM meta WHERE key = ?").bind(name)
                };
                // The first reason stays, and the version never goes back.
                if word(meta::OBSERVE_ONLY).fetch_optional(&mut *connection).await?.is_none() {
                    meta::put(connection, meta::OBSERVE_ONLY, why).await?;
                }
                let from = word(meta::WATCHED_FROM).fetch_optional(&mut *connection).await?;
                let from = from.and_then(|from| from.parse().ok()).unwrap_or(0);
                meta::put(connection, meta::WATCHED_FROM, &past(*seen).max(from).to_string()).await
            }
            Self::Remember(key, uid) => meta::put(connection, &row_of(key), uid).await,
            Self::Forget(uid) => {
                let sql = "DELETE FROM meta WHERE substr(key, 1, length(?1)) = ?1 AND value = ?2";
                sqlx::query(sql).bind(UID_OF).bind(uid).execute(connection).await.map(|_| ())
            }
            Self::Adopt(lineage) => meta::put(connection, &format!("{ADOPTED}{lineage}"), "yes").await,
        }
    }

    pub(super) fn apply(self, state: &mut State, inner: &Inner) {
        let trust = &mut state.trust;
        match self {
            Self::Accept => *inner.observe_only.write().expect("nobody panics while holding it") = None,
            // The reason stands already, since nothing may be done from the moment it is known.
            Self::Distrust { seen, .. } => trust.floor = trust.floor.max(past(seen)),
            Self::Remember(key, uid) => drop(trust.remembered.insert(key, uid)),
            Self::Forget(uid) => trust.remembered.retain(|_, remembered| *remembered != uid),
            Self::Adopt(lineage) => drop(trust.adopted.insert(lineage)),
        }
    }
}

/// The version a history goes on from that comes after one whose things tell of `seen`; 0 where none do.
fn past(seen: u64) -> u64 {
    if seen == 0 { 0 } else { seen + LOST_HISTORY }
}

/// The row a remembered uid is in.
fn row_of(key: &Key) -> String {
    format!("{UID_OF}{}/{}/{}", key.kind, key.namespace, key.name)
}

async fn remove(connection: &mut SqliteConnection, key: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM meta WHERE key = ?1").bind(key).execute(connection).await.map(|_| ())
}

/// Forgets the uid of a key that has its object again; in the transaction that makes the object.
pub(super) async fn taken_up(connection: &mut SqliteConnection, key: &Key) -> Result<(), sqlx::Error> {
    remove(connection, &row_of(key)).await
}

/// Reads it from what the store says of itself.
pub(super) fn load(words: &BTreeMap<String, String>) -> Trust {
    let mut trust = Trust::default();
    for (key, value) in words {
        if let Some(lineage) = key.strip_prefix(ADOPTED) {
            trust.adopted.insert(lineage.to_owned());
        } else if let Some(of) = key.strip_prefix(UID_OF) {
            let mut parts = of.splitn(3, '/').map(str::to_owned);
            if let (Some(kind), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) {
                trust.remembered.insert(Key::new(kind, namespace, name), value.clone());
            }
        }
    }
    trust
}

impl Store {
    /// Why nothing may be changed in the world by what this store says, if so: it is an older copy, or of another
    /// home. Everything is looked at and told; only [`Store::accept`] ends it.
    pub fn observe_only(&self) -> Option<String> {
        self.inner.observe_only.read().expect("nobody panics while holding it").clone()
    }

    /// A person has looked and says go: from now on the world is made what this store says.
    ///
    /// # Errors
    /// A storage error; it then stays as it was.
    pub async fn accept(&self, actor: &str) -> Result<(), WriteError> {
        self.put_notes(vec![Note::Accept]).await?;
        tracing::warn!(actor, "the store was accepted: the world is made what it says");
        Ok(())
    }

    /// The world holds something that was made at version `seen`, which this store has not come to: from now on it
    /// is observe-only, and its next version lies past that one.
    ///
    /// # Errors
    /// A storage error; this process is observe-only all the same.
    pub async fn distrust(&self, why: &str, seen: u64) -> Result<(), WriteError> {
        self.inner
            .observe_only
            .write()
            .expect("nobody panics while holding it")
            .get_or_insert_with(|| why.to_owned());
        self.put_notes(vec![Note::Distrust { why: why.to_owned(), seen }]).await
    }

    /// The version this store had come to when it was opened: nothing in the world can be of a later one, unless
    /// the store is an older copy.
    pub fn opened_at(&self) -> u64 {
        self.inner.opened_at
    }

    /// Versions up to this one were given out by a history that is known to be lost; that something was made at one of
    /// them is no news.
    pub fn lost_until(&self) -> u64 {
        self.state().trust.floor
    }

    /// Keeps in mind which uids objects had: whoever declares one of them again gets that uid, and with it what was
    /// made for it.
    ///
    /// # Errors
    /// A storage error; then none is kept.
    pub async fn remember(&self, uids: Vec<(Key, String)>) -> Result<(), WriteError> {
        self.put_notes(uids.into_iter().map(|(key, uid)| Note::Remember(key, uid)).collect()).await
    }

    /// Lets go of a uid that was remembered: what was made for it is an orphan from now on.
    ///
    /// # Errors
    /// A storage error.
    pub async fn forget(&self, uid: &str) -> Result<(), WriteError> {
        self.put_notes(vec![Note::Forget(uid.to_owned())]).await
    }

    /// The uids that are remembered, by whose they were.
    pub fn remembered(&self) -> Vec<(Key, String)> {
        self.state().trust.remembered.iter().map(|(key, uid)| (key.clone(), uid.clone())).collect()
    }

    /// Whether what was made for this uid waits for its object.
    pub fn is_remembered(&self, uid: &str) -> bool {
        self.state().trust.remembered.values().any(|remembered| remembered == uid)
    }

    /// Takes what a store of this lineage made for ours, where the object it was made for was taken over with its
    /// uid. Nothing else of that lineage is ever touched.
    ///
    /// # Errors
    /// A storage error.
    pub async fn adopt_lineage(&self, lineage: &str) -> Result<(), WriteError> {
        self.put_notes(vec![Note::Adopt(lineage.to_owned())]).await
    }

    /// Whether objects of a store of this lineage were taken over.
    pub fn is_adopted(&self, lineage: &str) -> bool {
        self.state().trust.adopted.contains(lineage)
    }

    async fn put_notes(&self, notes: Vec<Note>) -> Result<(), WriteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Trust(notes, answer)).await?;
        answered.await.unwrap_or(Err(WriteError::Closed))
    }
}
