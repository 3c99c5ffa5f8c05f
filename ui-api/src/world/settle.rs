//! Settling: the world goes on until nothing moves any more, and says what still does. What people ask for.

use std::time::Duration;

use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Clock, Key, Object, Store, WriteError, WriteOptions};
use hearth_meta::Problem;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Trouble, TroubleKind, World};

/// Everything is looked at again within 12 minutes (10, and a fifth of it), and surveyed each minute: what has not
/// moved for so long is at rest.
pub(crate) const QUIET: Duration = Duration::from_secs(13 * 60);
/// Everything is surveyed each minute: what has not moved for so long has come to rest but for the full look.
pub(crate) const CALM: Duration = Duration::from_secs(150);
/// Whatever is still failing by then is failing for good.
const LIMIT: Duration = Duration::from_secs(6 * 3600);

impl World {
    /// Goes on until nothing was written and nothing changed for a while.
    ///
    /// # Errors
    /// Where it never comes to rest, with what still moves; where something that must always hold does not.
    pub fn settle(&mut self) -> Result<(), Trouble> {
        self.quiet_for(QUIET)
    }

    /// Goes on until nothing was written and nothing changed for so long; says what still moves.
    ///
    /// # Errors
    /// As for [`World::settle`].
    pub fn quiet_for(&mut self, quiet: Duration) -> Result<(), Trouble> {
        let limit = self.clock.elapsed() + LIMIT;
        // What the machine does by itself may set something moving as well.
        let standing = |world: &Self| (world.moved(), world.is_more_to_come());
        let (mut moved, mut since) = (standing(self), self.clock.elapsed());
        loop {
            self.step_or_restart()?;
            let now = self.clock.elapsed();
            if standing(self) != moved {
                (moved, since) = (standing(self), now);
            } else if now.saturating_sub(since) >= quiet && !self.waits() && !self.is_more_to_come() {
                return Ok(());
            }
            if now > limit {
                let said = format!("it does not come to rest:\n{}", self.everything());
                return Err(self.trouble(TroubleKind::Unrest, said));
            }
        }
    }

    /// Goes on for so long, whatever happens.
    ///
    /// # Errors
    /// Where something that must always hold does not.
    pub fn wait(&mut self, time: Duration) -> Result<(), Trouble> {
        let until = self.clock.elapsed() + time;
        // A clock of its own is woken then, so that time does not jump past it.
        self.after(time, |_| {});
        while self.clock.elapsed() < until {
            self.step_or_restart()?;
        }
        Ok(())
    }

    /// Goes on until a question is answered: who asks may have to wait for what others do.
    ///
    /// # Errors
    /// Where something that must always hold does not.
    pub fn answer<T: Send + 'static>(
        &mut self,
        question: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Trouble> {
        let asked = self.spawn(question);
        self.until_over(asked)
    }

    /// What has moved so far: commits, and changes that were asked of the machine.
    pub(crate) fn moved(&self) -> (u64, u64) {
        (self.happened.commits, self.happened.changes)
    }

    /// Declares an object as a person does, and goes on until the store has answered.
    ///
    /// # Errors
    /// Where it is refused; where something that must always hold does not.
    pub fn apply(&mut self, object: &Value) -> Result<(), Trouble> {
        let written = self.apply_soon(object);
        self.until_over(written)?.map_err(|error| self.trouble(TroubleKind::Refused, error.to_string()))
    }

    /// Declares an object; it is written when the seed lets it be.
    pub fn apply_soon(&self, object: &Value) -> JoinHandle<Result<(), WriteError>> {
        let (store, object) = (self.store(), object.clone());
        self.spawn(async move { declare(&store, object).await })
    }

    /// Deletes an object as a person does, and goes on until the store has answered; one that is not there is well.
    ///
    /// # Errors
    /// Where it is refused; where something that must always hold does not.
    pub fn delete(&mut self, kind: &str, name: &str) -> Result<(), Trouble> {
        let deleted = self.delete_soon(kind, name);
        match self.until_over(deleted)? {
            Ok(()) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(error) => Err(self.trouble(TroubleKind::Refused, error.to_string())),
        }
    }

    /// Deletes an object; it is written when the seed lets it be.
    pub fn delete_soon(&self, kind: &str, name: &str) -> JoinHandle<Result<(), WriteError>> {
        let (store, key) = (self.store(), key(kind, name));
        self.spawn(async move { remove(&store, key).await })
    }

    /// Every object with its verdict: for when something fails.
    pub fn everything(&self) -> String {
        let line = |object: &std::sync::Arc<Object>| {
            let word = |field: &str| object.status()[field].as_str().unwrap_or_default().to_owned();
            let going = if object.is_going() { " (going)" } else { "" };
            format!("{}{going}: {} {} {}", object.key(), word("summary"), word("reason"), word("message"))
        };
        self.store()
            .all()
            .iter()
            .filter(|object| !object.status().is_null())
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Makes an object what a person declares.
pub(crate) async fn declare(store: &Store, object: Value) -> Result<(), WriteError> {
    let object =
        Object::from_value(object).map_err(|problem| WriteError::Invalid(vec![Problem::new("", problem)]))?;
    let (key, wanted) = (object.key(), object.clone());
    match store.create(object, &person()).await {
        Err(WriteError::AlreadyExists(_)) => {}
        other => return other.map(drop),
    }
    let change = move |old: &Object| Ok(as_applied(old, &wanted));
    store.update(&key, &person(), change).await.map(drop)
}

/// Deletes an object as a person does.
pub(crate) async fn remove(store: &Store, key: Key) -> Result<(), WriteError> {
    store.delete(Deletion { key, preconditions: Preconditions::default() }, &person()).await.map(drop)
}

/// What an apply by hand replaces.
fn as_applied(old: &Object, wanted: &Object) -> Object {
    let mut new = old.clone();
    for (field, value) in &wanted.body {
        if field != "status" {
            new.body.insert(field.clone(), value.clone());
        }
    }
    if wanted.metadata.annotations.is_some() {
        new.metadata.annotations = wanted.metadata.annotations.clone();
    }
    new
}

fn person() -> WriteOptions {
    WriteOptions { actor: "admin".into(), source: "api".into(), dry_run: false }
}

/// `name` of the household, `namespace/name`, or `/name` of the machine.
pub fn key(kind: &str, name: &str) -> Key {
    match name.split_once('/') {
        Some((namespace, name)) => Key::new(kind, namespace, name),
        None => Key::new(kind, "household", name),
    }
}
