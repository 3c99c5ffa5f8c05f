//! Who comes in with which token, and for how long.
//!
//! Tokens are objects, so whoever makes or revokes one is on record, and a change of one holds from its commit on: each
//! request goes by what stands. What somebody already hears ends when their token goes, changes, or runs out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_engine::{Object, Query, Store};
use hearth_kinds::Token;
use hearth_meta::{SignedDuration, Timestamp};
use hearth_wire::{Actor, Users};
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::credential::Credential;
use super::roles;
use crate::access;

/// The user of the admin's own credential.
pub(super) const ADMIN: &str = "admin";
/// How exactly it is told when a token was last used: a use writes no more often.
const USE_NOTED_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// How long at most until the ends of tokens are looked at again: the wall clock may jump.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The tokens of a home. Clones are the same.
#[derive(Clone)]
pub(super) struct Tokens {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    credential: Credential,
    closing: CancellationToken,
    /// By uid, those that were used.
    used: Mutex<HashMap<String, Used>>,
    /// One more is used.
    came: Notify,
}

/// A token that was used, as it stood then.
struct Used {
    generation: Option<i64>,
    actor: Actor,
    noted_at: Option<Timestamp>,
}

impl Tokens {
    pub(super) fn new(store: Store, credential: Credential, closing: CancellationToken) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                credential,
                closing,
                used: Mutex::default(),
                came: Notify::new(),
            }),
        }
    }

    /// Who has a token, and its uid where it is not the admin's own; `None` where nobody has, or nobody any more.
    pub(super) fn find(&self, token: &str) -> Option<(Actor, Option<String>)> {
        if self.inner.credential.is(token) {
            return Some((self.admin(ADMIN), None));
        }
        if self.are_held_back() {
            return None;
        }
        let found = self.having(token)?;
        self.admit(&found)
    }

    /// The object of a token, as it stands.
    fn having(&self, token: &str) -> Option<Arc<Object>> {
        let hash = access::hash(token);
        let tokens = self.inner.store.list(&Query::of("Token")).items;
        // Each is compared, so that the time tells nothing of which one it was.
        tokens.into_iter().fold(None, |found, object| {
            let known = object.spec()["sha256"].as_str().unwrap_or_default();
            if bool::from(known.as_bytes().ct_eq(hash.as_bytes())) { Some(object) } else { found }
        })
    }

    /// Whether no token is taken: the store was put back, and holds again what was revoked since. The admin's own
    /// credential and root's socket are the ways in until a person says go.
    pub(super) fn are_held_back(&self) -> bool {
        self.inner.store.observe_only().is_some()
    }

    /// Somebody who may do everything, for as long as the server runs.
    pub(super) fn admin(&self, name: &str) -> Actor {
        let mut actor = Actor::of_everything(name);
        actor.groups.insert(0, "system:masters".to_owned());
        actor.until = self.inner.closing.child_token();
        actor.facts = vec![("hearth.dev/role", vec!["Admin".to_owned()])];
        actor
    }

    /// Who comes in with a token that was found a moment ago, and its uid; `None` where it went meanwhile.
    fn admit(&self, found: &Object) -> Option<(Actor, Option<String>)> {
        let now = self.inner.store.clock().now();
        let mut used = self.used();
        // It is looked at again while nothing is swept: a change before this shows here, and one after it is swept.
        let object = self.inner.store.by_uid(found.uid())?;
        if object.spec()["sha256"] != found.spec()["sha256"] {
            return None;
        }
        let (token, uid) = (standing(&object, now)?, object.uid());
        let is_same = |known: &Used| {
            known.generation == object.metadata.generation && !known.actor.until.is_cancelled()
        };
        if !used.get(uid).is_some_and(is_same) {
            let actor = actor_of(&token, self.inner.closing.child_token());
            let new = Used { generation: object.metadata.generation, actor, noted_at: noted_at(&object) };
            if let Some(old) = used.insert(uid.to_owned(), new) {
                old.actor.until.cancel();
            }
            // Its end may come before the next look.
            self.inner.came.notify_one();
        }
        let known = used.get_mut(uid)?;
        let is_due = known.noted_at.is_none_or(|at| now.duration_since(at) >= USE_NOTED_EVERY || at > now);
        if is_due {
            known.noted_at = Some(now);
            self.note_use(&object, now);
        }
        Some((known.actor.clone(), Some(uid.to_owned())))
    }

    /// Writes down that a token was used; nobody waits for it, and if it is lost the next use tells it.
    fn note_use(&self, object: &Arc<Object>, now: Timestamp) {
        let (store, key) = (self.inner.store.clone(), object.key());
        let (uid, mut status) = (object.uid().to_owned(), object.status().clone());
        if !status.is_object() {
            status = json!({});
        }
        status["lastUsedAt"] = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string().into();
        tokio::spawn(async move {
            if let Err(error) = store.update_status(&key, &uid, status).await {
                tracing::debug!(error = %error, "the use of a token was not written down");
            }
        });
    }

    /// Ends what is heard with tokens that went, changed or ran out, until the server stops.
    pub(super) async fn keep(self) {
        let clock = self.inner.store.clock().clone();
        while !self.inner.closing.is_cancelled() {
            let Ok(mut watch) = self.inner.store.watch(Query::of("Token"), None) else { return };
            loop {
                let next = self.sweep(clock.now());
                tokio::select! {
                    () = self.inner.closing.cancelled() => return,
                    change = watch.next() => if change.is_none() { break },
                    () = self.inner.came.notified() => {}
                    () = clock.sleep(next) => {}
                }
            }
            if self.inner.store.is_closed() {
                return;
            }
        }
    }

    /// Ends what must end now, and says how long until the next look.
    fn sweep(&self, now: Timestamp) -> Duration {
        let mut next = LOOK_AGAIN;
        self.used().retain(|uid, used| {
            let object = self.inner.store.by_uid(uid);
            let object = object.filter(|object| object.metadata.generation == used.generation);
            let Some(token) = object.and_then(|object| standing(&object, now)) else {
                used.actor.until.cancel();
                return false;
            };
            if let Some(end) = &token.spec.expires_at {
                next = next.min(end.0.duration_since(now).unsigned_abs());
            }
            true
        });
        next
    }

    fn used(&self) -> MutexGuard<'_, HashMap<String, Used>> {
        self.inner.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Users for Tokens {
    fn find(&self, name: &str) -> Actor {
        if name == ADMIN {
            return self.admin(ADMIN);
        }
        let now = self.inner.store.clock().now();
        let tokens = self.inner.store.list(&Query::of("Token")).items;
        let of_them =
            tokens.iter().filter_map(|object| standing(object, now)).filter(|token| token.user() == name);
        let grants = of_them.flat_map(|token| roles::grants(token.spec.role, &token.spec.namespaces));
        Actor::new(name, grants.collect())
    }
}

/// The tokens that may be used now, by name: who is let in, and who is again where the store was put back.
pub(super) fn names(store: &Store) -> Vec<String> {
    let now = store.clock().now();
    let tokens = store.list(&Query::of("Token")).items;
    tokens
        .iter()
        .filter(|object| standing(object, now).is_some())
        .map(|object| object.name().to_owned())
        .collect()
}

/// A token that may be used now.
fn standing(object: &Arc<Object>, now: Timestamp) -> Option<Token> {
    let token: Token = object.typed().ok().filter(|_| !object.is_going())?;
    let is_over = token.spec.expires_at.as_ref().is_some_and(|end| end.0 <= now);
    (!is_over).then_some(token)
}

fn actor_of(token: &Token, until: CancellationToken) -> Actor {
    let mut actor = Actor::new(token.user(), roles::grants(token.spec.role, &token.spec.namespaces));
    actor.token = token.metadata.name.clone().filter(|name| name != token.user());
    actor.until = until;
    actor.facts = vec![
        ("hearth.dev/role", vec![format!("{:?}", token.spec.role)]),
        ("hearth.dev/namespaces", roles::seen_by(token.spec.role, &token.spec.namespaces)),
    ];
    actor
}

fn noted_at(object: &Object) -> Option<Timestamp> {
    object.status()["lastUsedAt"].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests;
