//! Prepares writes: what each asks for against what stands, plus what the batch before it holds already.
//!
//! This is the one door into the store. Defaults, schema, rules, claims, identity and generations are settled
//! here, inside the write, so that no race can get past them.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use hearth_meta::{KindInfo, ObjectMeta, Problem, Time, Timestamp};
use serde_json::Value;

use super::disk::HistoryEntry;
use super::error::WriteError;
use super::history;
use super::state::State;
use super::watch::Change;
use super::{Inner, Reach, WriteOptions};
use crate::object::{Key, Object};

mod admit;
mod delete;
mod restore;

pub use delete::{Cascade, Deletion, Preconditions};

use admit::{add_finalizers, check_orders, is_small, keep_identity, same_but_for_version, want_the_same};

/// How many generated names are tried before the client hears that one is taken.
const NAMES_TRIED: usize = 8;

/// The longest prefix of a generated name: with five characters more it is as long as a name may be.
const LONGEST_PREFIX: usize = 58;

/// From how an object stands to how it should.
pub type Edit = Box<dyn FnOnce(&Object) -> Result<Object, WriteError> + Send>;

/// From how an object stands to the whole status it should have.
pub type StatusEdit = Box<dyn FnOnce(&Object) -> Result<Value, WriteError> + Send>;

/// What a caller asks for.
pub enum Write {
    /// Make an object.
    Create(Box<Object>),
    /// Bring an object back as it was, with its uid, its generation and its status.
    Restore(Box<Object>),
    /// Change an object, given how it stands.
    Update {
        /// Which.
        key: Key,
        /// From how it stands to how it should.
        change: Edit,
    },
    /// Replace a status, given how the object stands.
    Status {
        /// Which.
        key: Key,
        /// From how it stands to the whole status it should have.
        change: StatusEdit,
    },
    /// Delete an object.
    Delete {
        /// Which, and what must hold of it.
        deletion: Deletion,
        /// What becomes of what it owns; where nothing is said, what was said before.
        cascade: Option<Cascade>,
    },
    /// Drop a finalizer.
    DropFinalizer {
        /// Which.
        key: Key,
        /// Only if it is still this one.
        uid: String,
        /// The finalizer.
        finalizer: String,
    },
}

impl Write {
    /// Whose status it replaces, if that is what it does.
    pub(super) fn status_of(&self) -> Option<Key> {
        if let Self::Status { key, .. } = self { Some(key.clone()) } else { None }
    }
}

/// A change that is ready to be put down.
pub(super) struct Prepared {
    pub(super) change: Arc<Change>,
    pub(super) history: Option<HistoryEntry>,
}

/// A batch in the making.
pub(super) struct Stage<'a> {
    inner: &'a Inner,
    state: &'a State,
    now: Timestamp,
    resource_version: u64,
    objects: HashMap<Key, Option<Arc<Object>>>,
    claims: HashMap<(&'static str, String), Option<String>>,
    /// How far the one may go whose write is being prepared.
    pub(super) reach: Option<Arc<dyn Reach>>,
    /// Why new wishes of people are refused, once it was asked.
    refusal: OnceCell<Option<String>>,
    pub(super) prepared: Vec<Prepared>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(inner: &'a Inner, state: &'a State) -> Self {
        Self {
            inner,
            state,
            now: inner.clock.now(),
            resource_version: state.resource_version.max(state.trust.floor),
            objects: HashMap::new(),
            claims: HashMap::new(),
            reach: None,
            refusal: OnceCell::new(),
            prepared: Vec::new(),
        }
    }

    /// Whether an object of this uid stands, counting what this batch did before.
    pub(super) fn stands(&self, uid: &str) -> bool {
        match self.state.by_uid.get(uid) {
            Some(key) => self.look_up(key).is_some_and(|object| object.uid() == uid),
            None => self.objects.values().flatten().any(|object| object.uid() == uid),
        }
    }

    /// Statuses that stand in memory alone go down before anything else.
    pub(super) fn write_unsaved(&mut self) {
        for key in &self.state.unsaved {
            if let Some(seen) = self.state.objects.get(key) {
                // Without `dry_run` this cannot be refused.
                let _ = self.put(Some(seen), Object::clone(seen), None, &WriteOptions::default());
            }
        }
    }

    /// Prepares one write; what it answers holds once the batch is down.
    pub(super) fn prepare(
        &mut self,
        write: Write,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        match write {
            Write::Create(object) => self.create(*object, options),
            Write::Restore(object) => self.restore(*object, options),
            Write::Update { key, change } => {
                let old = self.find(&key)?;
                let new = change(&old)?;
                self.update(&old, new, options)
            }
            Write::Status { key, change } => self.status(&key, change, options),
            Write::Delete { deletion, cascade } => self.delete(&deletion, cascade, options),
            Write::DropFinalizer { key, uid, finalizer } => {
                self.drop_finalizer(&key, &uid, &finalizer, options)
            }
        }
    }

    fn create(&mut self, mut object: Object, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        let kind = self.kind(&object.kind)?;
        if object.metadata.name.is_none() && object.metadata.generate_name.is_some() {
            self.generate_name(&mut object);
        }
        let mut problems = self.check_place(&object, kind);
        problems.extend(self.check_owners(&object, None));
        problems.extend(self.check_made_for(&object, None));
        problems.extend(check_orders(&object, None));
        let key = object.key();
        if self.look_up(&key).is_some() {
            return Err(WriteError::AlreadyExists(key));
        }
        add_finalizers(&mut object.metadata, kind);
        object.metadata = ObjectMeta {
            uid: Some(self.uid_for(&key)),
            creation_timestamp: Some(Time(self.now)),
            generation: Some(1),
            resource_version: None,
            deletion_timestamp: None,
            deletion_grace_period_seconds: None,
            finalizers: object.metadata.finalizers.take().filter(|f| !f.is_empty()),
            ..object.metadata
        };
        object.api_version = kind.api_version();
        if kind.has_status {
            object.body.remove("status");
        }
        let object = self.admit(object, None, kind, problems)?;
        self.check_room(options)?;
        self.put(None, object, Some("create"), options)
    }

    /// A name that nobody has, if one is found soon: the client did not choose it, so it should not hear that it is
    /// taken. A prefix that leaves no room is cut, as upstream.
    fn generate_name(&self, object: &mut Object) {
        let prefix: String = object
            .metadata
            .generate_name
            .iter()
            .flat_map(|prefix| prefix.chars())
            .take(LONGEST_PREFIX)
            .collect();
        for _ in 0..NAMES_TRIED {
            let random = self.inner.beneath.new_uid().simple().to_string();
            object.metadata.name = Some(format!("{prefix}{}", &random[..5]));
            if self.look_up(&object.key()).is_none() {
                return;
            }
        }
    }

    fn update(
        &mut self,
        old: &Arc<Object>,
        mut new: Object,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let kind = self.kind(&old.kind)?;
        if new.metadata.uid.as_ref().is_some_and(|uid| uid != old.uid()) {
            return Err(WriteError::Conflict(format!(
                "{} was deleted and made anew in the meantime",
                old.key()
            )));
        }
        keep_identity(&mut new, old, kind);
        let mut problems = self.check_owners(&new, Some(old));
        problems.extend(self.check_made_for(&new, Some(old)));
        problems.extend(check_orders(&new, Some(old)));
        if old.is_going() {
            let before = old.metadata.finalizers.clone().unwrap_or_default();
            if let Some(finalizers) = &mut new.metadata.finalizers {
                finalizers.retain(|finalizer| before.contains(finalizer));
            }
        } else {
            add_finalizers(&mut new.metadata, kind);
        }
        new.metadata.finalizers = new.metadata.finalizers.take().filter(|f| !f.is_empty());
        let mut new = self.admit(new, Some(old), kind, problems)?;
        if same_but_for_version(&new, old) {
            return Ok(old.clone());
        }
        let spec_changed = !want_the_same(&new, old, kind);
        if spec_changed {
            match self.check_room(options) {
                Err(error) if !is_small(old, &new) => return Err(error),
                _ => {}
            }
            new.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
        }
        if new.is_going() && new.metadata.finalizers.is_none() {
            return self.remove(old, new, options);
        }
        // What a person orders by an annotation is on record as a wish is, and whatever else people write.
        let is_recorded = spec_changed
            || !history::orders(old, &new).is_empty()
            || options.is_of_people() && !history::marks(old, &new).is_empty();
        self.put(Some(old), new, is_recorded.then_some("update"), options)
    }

    fn status(
        &mut self,
        key: &Key,
        change: StatusEdit,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let old = self.find(key)?;
        let status = change(&old)?;
        if old.status() == &status {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        new.body.insert("status".into(), status);
        self.put(Some(&old), new, None, options)
    }

    fn put(
        &mut self,
        old: Option<&Arc<Object>>,
        mut new: Object,
        verb: Option<&str>,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        if options.dry_run {
            return Ok(Arc::new(new));
        }
        let resource_version = self.resource_version + 1;
        new.metadata.resource_version = Some(resource_version.to_string());
        let new = Arc::new(new);
        let change = Change {
            resource_version,
            key: new.key(),
            old: old.cloned(),
            old_known: true,
            new: Some(new.clone()),
            last: None,
        };
        self.record(change, &new, verb, options);
        Ok(new)
    }

    fn remove(
        &mut self,
        old: &Arc<Object>,
        mut last: Object,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        if options.dry_run {
            return Ok(Arc::new(last));
        }
        let resource_version = self.resource_version + 1;
        last.metadata.resource_version = Some(resource_version.to_string());
        let last = Arc::new(last);
        // A deletion that was marked before is in the history since then.
        let verb = (!old.is_going()).then_some("delete");
        let change = Change {
            resource_version,
            key: last.key(),
            old: Some(old.clone()),
            old_known: true,
            new: None,
            last: Some(last.clone()),
        };
        self.record(change, &last, verb, options);
        Ok(last)
    }

    /// Everything that may fail comes first, so that a write is in the batch whole or not at all.
    fn record(&mut self, change: Change, subject: &Arc<Object>, verb: Option<&str>, options: &WriteOptions) {
        let kind = self.inner.kinds.get(subject.kind.as_str());
        let claims = |object: Option<&Arc<Object>>| match (kind, object) {
            (Some(kind), Some(object)) => kind.claims_of(|| object.to_value()),
            _ => Vec::new(),
        };
        let (given_up, taken) = (claims(change.old.as_ref()), claims(change.new.as_ref()));
        let version = change.resource_version;
        let history =
            verb.map(|verb| self.history_entry(version, verb, change.old.as_ref(), subject, options));
        for claim in given_up {
            if self.holder(&claim).is_some_and(|holder| holder == subject.uid()) {
                self.claims.insert((claim.space, claim.name), None);
            }
        }
        for claim in taken {
            self.claims.insert((claim.space, claim.name), Some(subject.uid().to_owned()));
        }
        self.objects.insert(change.key.clone(), change.new.clone());
        self.resource_version = version;
        self.prepared.push(Prepared { change: Arc::new(change), history });
    }

    fn history_entry(
        &self,
        resource_version: u64,
        verb: &str,
        old: Option<&Arc<Object>>,
        new: &Object,
        options: &WriteOptions,
    ) -> HistoryEntry {
        let secret = self.inner.kinds.get(new.kind.as_str()).is_some_and(|kind| kind.is_secret);
        let mut differences = if secret {
            history::secret_differences(old.map(AsRef::as_ref), new, &self.inner.cipher)
        } else {
            history::differences(old.map(|old| old.spec()), Some(new.spec()))
        };
        differences.extend(old.map(|old| history::orders(old, new)).unwrap_or_default());
        if options.is_of_people() {
            differences.extend(old.map(|old| history::marks(old, new)).unwrap_or_default());
        }
        HistoryEntry {
            resource_version,
            at: self.now,
            object: new.key(),
            uid: new.uid().to_owned(),
            generation: new.metadata.generation.unwrap_or(0),
            verb: verb.to_owned(),
            actor: options.actor.clone(),
            source: options.source.clone(),
            differences,
            spec: if secret { Value::Null } else { new.spec().clone() },
        }
    }

    /// Whether anything is in a namespace, counting what this batch has put there or taken out.
    fn is_used(&self, namespace: &str) -> bool {
        let staged = self.objects.iter().filter(|(key, _)| key.namespace == namespace);
        let mut kept = self.state.objects.keys().filter(|key| key.namespace == namespace);
        staged.clone().any(|(_, object)| object.is_some()) || kept.any(|key| !self.objects.contains_key(key))
    }

    fn kind(&self, kind: &str) -> Result<&'a KindInfo, WriteError> {
        self.inner.kinds.get(kind).ok_or_else(|| {
            WriteError::Invalid(vec![Problem::new("kind", format!("{kind:?} is not a kind of this server"))])
        })
    }

    fn find(&self, key: &Key) -> Result<Arc<Object>, WriteError> {
        self.look_up(key).ok_or_else(|| WriteError::NotFound(key.clone()))
    }

    fn look_up(&self, key: &Key) -> Option<Arc<Object>> {
        match self.objects.get(key) {
            Some(staged) => staged.clone(),
            None => self.state.objects.get(key).cloned(),
        }
    }
}
