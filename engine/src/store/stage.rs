//! Prepares writes: what each asks for against what stands, plus what the batch before it holds already.
//!
//! This is the one door into the store. Defaults, schema, rules, claims, identity and generations are settled
//! here, inside the write, so that no race can get past them.

use std::collections::HashMap;
use std::sync::Arc;

use hearth_meta::{Claim, KindInfo, ObjectMeta, Problem, Scope, Time, Timestamp, schema};
use serde_json::Value;

use super::disk::HistoryEntry;
use super::error::WriteError;
use super::history;
use super::state::State;
use super::watch::Change;
use super::{Inner, WriteOptions};
use crate::object::{Key, Object};

/// From how an object stands to how it should.
pub type Edit = Box<dyn FnOnce(&Object) -> Result<Object, WriteError> + Send>;

/// What a caller asks for.
pub enum Write {
    /// Make an object.
    Create(Box<Object>),
    /// Change an object, given how it stands.
    Update {
        /// Which.
        key: Key,
        /// From how it stands to how it should.
        change: Edit,
    },
    /// Replace a status.
    Status {
        /// Which.
        key: Key,
        /// Only if it is still this one.
        uid: String,
        /// The whole status.
        status: Value,
    },
    /// Delete an object.
    Delete(Deletion),
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

/// Asks for a deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Which object.
    pub key: Key,
    /// What must hold of it.
    pub preconditions: Preconditions,
}

/// What must hold of an object for a deletion to be carried out.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// It is still the one of this uid.
    pub uid: Option<String>,
    /// It has not changed since this resourceVersion.
    pub resource_version: Option<String>,
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
    pub(super) prepared: Vec<Prepared>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(inner: &'a Inner, state: &'a State) -> Self {
        Self {
            inner,
            state,
            now: inner.clock.now(),
            resource_version: state.resource_version,
            objects: HashMap::new(),
            claims: HashMap::new(),
            prepared: Vec::new(),
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
            Write::Update { key, change } => {
                let old = self.find(&key)?;
                let new = change(&old)?;
                self.update(&old, new, options)
            }
            Write::Status { key, uid, status } => self.status(&key, &uid, status),
            Write::Delete(deletion) => self.delete(&deletion, options),
            Write::DropFinalizer { key, uid, finalizer } => {
                self.drop_finalizer(&key, &uid, &finalizer, options)
            }
        }
    }

    fn create(&mut self, mut object: Object, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        let kind = self.kind(&object.kind)?;
        if object.metadata.name.is_none()
            && let Some(prefix) = &object.metadata.generate_name
        {
            object.metadata.name =
                Some(format!("{prefix}{}", &uuid::Uuid::new_v4().simple().to_string()[..5]));
        }
        let mut problems = self.check_place(&object, kind);
        problems.extend(self.check_owners(&object));
        let key = object.key();
        if self.look_up(&key).is_some() {
            return Err(WriteError::AlreadyExists(key));
        }
        let finalizers = object.metadata.finalizers.get_or_insert_default();
        finalizers
            .extend(kind.finalizers.iter().filter(|f| !finalizers.contains(f)).cloned().collect::<Vec<_>>());
        object.metadata = ObjectMeta {
            uid: Some(uuid::Uuid::new_v4().to_string()),
            creation_timestamp: Some(Time(self.now)),
            generation: Some(1),
            deletion_timestamp: None,
            finalizers: object.metadata.finalizers.take().filter(|f| !f.is_empty()),
            ..object.metadata
        };
        object.api_version = kind.api_version();
        if kind.has_status {
            object.body.remove("status");
        }
        let object = self.admit(object, None, kind, problems)?;
        self.put(None, object, Some("create"), options)
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
        let problems = self.check_owners(&new);
        if old.is_going() {
            let before = old.metadata.finalizers.clone().unwrap_or_default();
            if let Some(finalizers) = &mut new.metadata.finalizers {
                finalizers.retain(|finalizer| before.contains(finalizer));
            }
        }
        new.metadata.finalizers = new.metadata.finalizers.take().filter(|f| !f.is_empty());
        let mut new = self.admit(new, Some(old), kind, problems)?;
        if same_but_for_version(&new, old) {
            return Ok(old.clone());
        }
        let spec_changed = without_status(&new, kind) != without_status(old, kind);
        if spec_changed {
            new.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
        }
        if new.is_going() && new.metadata.finalizers.is_none() {
            return self.remove(old, new, options);
        }
        self.put(Some(old), new, spec_changed.then_some("update"), options)
    }

    fn status(&mut self, key: &Key, uid: &str, status: Value) -> Result<Arc<Object>, WriteError> {
        let old = self.find(key)?;
        if old.uid() != uid {
            return Err(WriteError::NotFound(key.clone()));
        }
        if old.status() == &status {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        new.body.insert("status".into(), status);
        self.put(Some(&old), new, None, &WriteOptions::default())
    }

    fn delete(&mut self, deletion: &Deletion, options: &WriteOptions) -> Result<Arc<Object>, WriteError> {
        let old = self.find(&deletion.key)?;
        let Preconditions { uid, resource_version } = &deletion.preconditions;
        if uid.as_ref().is_some_and(|uid| uid != old.uid()) {
            return Err(WriteError::Conflict(format!(
                "{} is not the one of uid {}",
                old.key(),
                uid.as_deref().unwrap_or("")
            )));
        }
        if resource_version.as_ref().is_some_and(|rv| Some(rv) != old.metadata.resource_version.as_ref()) {
            return Err(WriteError::Conflict(format!(
                "{} has changed in the meantime; read it again",
                old.key()
            )));
        }
        if old.kind == "Namespace" && self.state.objects.keys().any(|key| key.namespace == old.name()) {
            return Err(WriteError::Conflict(format!(
                "{} is not empty; delete what is in it first",
                old.key()
            )));
        }
        if old.is_going() {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        new.metadata.generation = Some(old.metadata.generation.unwrap_or(0) + 1);
        new.metadata.deletion_timestamp = Some(Time(self.now));
        if old.metadata.finalizers.as_ref().is_none_or(Vec::is_empty) {
            return self.remove(&old, new, options);
        }
        new.metadata.deletion_grace_period_seconds = Some(0);
        self.put(Some(&old), new, Some("delete"), options)
    }

    fn drop_finalizer(
        &mut self,
        key: &Key,
        uid: &str,
        finalizer: &str,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, WriteError> {
        let old = self.find(key)?;
        let has = old.metadata.finalizers.iter().flatten().any(|f| f == finalizer);
        if old.uid() != uid || !has {
            return Ok(old);
        }
        let mut new = Object::clone(&old);
        new.metadata.finalizers = new.metadata.finalizers.map(|mut f| {
            f.retain(|f| f != finalizer);
            f
        });
        new.metadata.finalizers = new.metadata.finalizers.take().filter(|f| !f.is_empty());
        if new.is_going() && new.metadata.finalizers.is_none() {
            return self.remove(&old, new, options);
        }
        self.put(Some(&old), new, None, options)
    }

    /// Defaults, schema, rules, choices and claims, in this order; every problem at once.
    fn admit(
        &self,
        object: Object,
        old: Option<&Arc<Object>>,
        kind: &KindInfo,
        mut problems: Vec<Problem>,
    ) -> Result<Object, WriteError> {
        let old_value = old.map(|old| old.to_value());
        let mut value = object.to_value();
        (kind.default)(&mut value, old_value.as_ref());
        // What stood before and is not touched must not stop a change elsewhere, however the rules have grown.
        let untouched = old_value
            .as_ref()
            .is_some_and(|old| old["spec"] == value["spec"] && old["data"] == value["data"]);
        if !untouched {
            let misshapen = kind.schema.as_ref().map(|schema| check_spec(&value, schema)).unwrap_or_default();
            if misshapen.is_empty() {
                problems.extend((kind.validate)(&value, old_value.as_ref()));
                problems.extend(self.claim(&mut value, kind));
            }
            problems.extend(misshapen);
        }
        if !problems.is_empty() {
            return Err(WriteError::Invalid(problems));
        }
        Object::from_value(value).map_err(|message| WriteError::Invalid(vec![Problem::new("", message)]))
    }

    fn claim(&self, value: &mut Value, kind: &KindInfo) -> Vec<Problem> {
        let own = value["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let held = |claim: &Claim| self.holder(claim).is_some_and(|uid| uid != own);
        let mut problems = (kind.choose)(value, &held);
        for claim in (kind.claims)(value) {
            if let Some(uid) = self.holder(&claim).filter(|uid| *uid != own) {
                let holder = self.name_of(&uid);
                problems.push(Problem::new(
                    claim.field,
                    format!("{:?} is taken by {holder}; choose another", claim.name),
                ));
            }
        }
        problems
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
        self.resource_version += 1;
        new.metadata.resource_version = Some(self.resource_version.to_string());
        let new = Arc::new(new);
        self.record(old, Some(new.clone()), None, verb, options);
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
        self.resource_version += 1;
        last.metadata.resource_version = Some(self.resource_version.to_string());
        let last = Arc::new(last);
        // A deletion that was marked before is in the history since then.
        let verb = (!old.is_going()).then_some("delete");
        self.record(Some(old), None, Some(last.clone()), verb, options);
        Ok(last)
    }

    fn record(
        &mut self,
        old: Option<&Arc<Object>>,
        new: Option<Arc<Object>>,
        last: Option<Arc<Object>>,
        verb: Option<&str>,
        options: &WriteOptions,
    ) {
        let Some(subject) = new.as_ref().or(last.as_ref()).cloned() else { return };
        let kind = self.inner.kinds.get(subject.kind.as_str());
        let claims =
            |object: &Arc<Object>| kind.map(|kind| (kind.claims)(&object.to_value())).unwrap_or_default();
        for claim in old.map(claims).unwrap_or_default() {
            self.claims.insert((claim.space, claim.name), None);
        }
        for claim in new.as_ref().map(claims).unwrap_or_default() {
            self.claims.insert((claim.space, claim.name), Some(subject.uid().to_owned()));
        }
        let history = verb.map(|verb| self.history_entry(verb, old, &subject, options));
        let key = subject.key();
        self.objects.insert(key.clone(), new.clone());
        let change = Change { resource_version: self.resource_version, key, old: old.cloned(), new, last };
        self.prepared.push(Prepared { change: Arc::new(change), history });
    }

    fn history_entry(
        &self,
        verb: &str,
        old: Option<&Arc<Object>>,
        new: &Object,
        options: &WriteOptions,
    ) -> HistoryEntry {
        let secret = self.inner.kinds.get(new.kind.as_str()).is_some_and(|kind| kind.is_secret);
        let differences = if secret {
            history::secret_differences(old.map(AsRef::as_ref), new, &self.inner.cipher)
        } else {
            history::differences(old.map(|old| old.spec()), Some(new.spec()))
        };
        HistoryEntry {
            resource_version: self.resource_version,
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

    fn check_place(&self, object: &Object, kind: &KindInfo) -> Vec<Problem> {
        let mut problems = Vec::new();
        if object.name().is_empty() {
            problems.push(Problem::new("metadata.name", "is required"));
        }
        match (kind.scope, object.metadata.namespace.as_deref()) {
            (Scope::Namespaced, None | Some("")) => {
                problems.push(Problem::new("metadata.namespace", "is required"))
            }
            (Scope::Namespaced, Some(namespace))
                if self.look_up(&Key::new("Namespace", "", namespace)).is_none() =>
            {
                problems.push(Problem::new(
                    "metadata.namespace",
                    format!("namespace {namespace:?} does not exist; make it first"),
                ));
            }
            (Scope::Cluster, Some(namespace)) if !namespace.is_empty() => {
                problems.push(Problem::new(
                    "metadata.namespace",
                    format!("{} belongs to no namespace; leave it out", kind.kind),
                ));
            }
            _ => {}
        }
        problems
    }

    /// An owner must exist, and be cluster-scoped or in the same namespace: collection goes by these.
    fn check_owners(&self, object: &Object) -> Vec<Problem> {
        let owners = object.metadata.owner_references.iter().flatten().enumerate();
        owners
            .filter_map(|(index, owner)| {
                let namespaces = [object.metadata.namespace.clone().unwrap_or_default(), String::new()];
                let found = namespaces.iter().any(|namespace| {
                    self.look_up(&Key::new(&owner.kind, namespace, &owner.name))
                        .is_some_and(|o| o.uid() == owner.uid)
                });
                let message = format!("{} {:?} of uid {} does not exist", owner.kind, owner.name, owner.uid);
                (!found).then(|| Problem::new(format!("metadata.ownerReferences[{index}]"), message))
            })
            .collect()
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

    fn holder(&self, claim: &Claim) -> Option<String> {
        let place = (claim.space, claim.name.clone());
        match self.claims.get(&place) {
            Some(staged) => staged.clone(),
            None => self.state.claims.get(&place).cloned(),
        }
    }

    fn name_of(&self, uid: &str) -> String {
        let staged =
            self.objects.values().flatten().find(|object| object.uid() == uid).map(|object| object.key());
        staged
            .or_else(|| self.state.by_uid.get(uid).cloned())
            .map_or_else(|| format!("uid {uid}"), |key| key.to_string())
    }
}

/// What a writer may not change: who the object is, when it came, whether it goes, and its status.
fn keep_identity(new: &mut Object, old: &Object, kind: &KindInfo) {
    new.api_version = old.api_version.clone();
    new.kind = old.kind.clone();
    new.metadata = ObjectMeta {
        name: old.metadata.name.clone(),
        namespace: old.metadata.namespace.clone(),
        uid: old.metadata.uid.clone(),
        creation_timestamp: old.metadata.creation_timestamp.clone(),
        deletion_timestamp: old.metadata.deletion_timestamp.clone(),
        deletion_grace_period_seconds: old.metadata.deletion_grace_period_seconds,
        generation: old.metadata.generation,
        resource_version: old.metadata.resource_version.clone(),
        ..std::mem::take(&mut new.metadata)
    };
    if kind.has_status {
        match old.body.get("status") {
            Some(status) => new.body.insert("status".into(), status.clone()),
            None => new.body.remove("status"),
        };
    }
}

fn without_status(object: &Object, kind: &KindInfo) -> serde_json::Map<String, Value> {
    let mut body = object.body.clone();
    if kind.has_status {
        body.remove("status");
    }
    body
}

fn same_but_for_version(new: &Object, old: &Object) -> bool {
    let mut metadata = new.metadata.clone();
    metadata.resource_version = old.metadata.resource_version.clone();
    metadata == old.metadata && new.body == old.body
}

/// The schema's word on everything but metadata, which `k8s-openapi` has typed, and status, which is ours.
fn check_spec(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut value = value.clone();
    if let Some(object) = value.as_object_mut() {
        for other in ["apiVersion", "kind", "metadata", "status"] {
            object.remove(other);
        }
    }
    schema::check(&value, schema)
}
