//! What a write must satisfy: place, owners, defaults, schema, rules, choices and claims. Every problem at once.

use std::sync::Arc;

use hearth_meta::labels::{OWNER_UID, PAUSED_UNTIL, PUT_BACK_AT};
use hearth_meta::{Claim, KindInfo, ObjectMeta, Problem, Scope, Timestamp, schema};
use serde_json::Value;

use super::Stage;
use crate::object::{Key, Object};
use crate::store::error::WriteError;
use crate::store::{WriteOptions, history};

impl Stage<'_> {
    /// Defaults, schema, rules, choices and claims, in this order.
    pub(super) fn admit(
        &self,
        object: Object,
        old: Option<&Arc<Object>>,
        kind: &KindInfo,
        mut problems: Vec<Problem>,
    ) -> Result<Object, WriteError> {
        let old_value = old.map(|old| old.to_value());
        let mut value = object.to_value();
        (kind.default)(&mut value, old_value.as_ref());
        self.check_guarded(&object.key(), kind, &value, old_value.as_ref())?;
        // What stood before and is not touched must not stop a change elsewhere, however the rules have grown.
        let untouched = old_value.as_ref().is_some_and(|old| wish(old).eq(wish(&value)));
        if !untouched {
            let misshapen =
                kind.schema.as_ref().map(|schema| check_spec(&mut value, schema)).unwrap_or_default();
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
        for claim in kind.claims.map(|claims| claims(value)).unwrap_or_default() {
            if let Some(uid) = self.holder(&claim).filter(|uid| *uid != own) {
                // Whoever may not know the holder learns only that there is one.
                let by = self.seen_name_of(&uid).map(|holder| format!(" by {holder}")).unwrap_or_default();
                let message = format!("{:?} is taken{by}; choose another", claim.name);
                problems.push(Problem::new(claim.field, message));
            }
        }
        problems
    }

    pub(super) fn check_place(&self, object: &Object, kind: &KindInfo) -> Vec<Problem> {
        let mut problems = Vec::new();
        if object.name().is_empty() {
            problems.push(Problem::new("metadata.name", "is required"));
        }
        match (kind.scope, object.metadata.namespace.as_deref()) {
            (Scope::Namespaced, None | Some("")) => {
                problems.push(Problem::new("metadata.namespace", "is required"));
            }
            (Scope::Namespaced, Some(namespace)) => {
                let message = match self.look_up(&Key::new("Namespace", "", namespace)) {
                    None => format!("namespace {namespace:?} does not exist; make it first"),
                    Some(found) if found.is_going() => {
                        format!("namespace {namespace:?} is being deleted; choose another")
                    }
                    Some(_) => return problems,
                };
                problems.push(Problem::new("metadata.namespace", message));
            }
            (Scope::Cluster, Some(namespace)) if !namespace.is_empty() => {
                problems.push(Problem::new(
                    "metadata.namespace",
                    format!("{} belongs to no namespace; leave it out", kind.kind),
                ));
            }
            (Scope::Cluster, _) => {}
        }
        problems
    }

    /// An owner must exist, and be cluster-scoped or in the same namespace: collection goes by these. One that
    /// was named before may have gone since; that must not stop a change elsewhere.
    pub(super) fn check_owners(&self, object: &Object, old: Option<&Object>) -> Vec<Problem> {
        let owners = object.metadata.owner_references.iter().flatten().enumerate();
        owners
            .filter(|(_, owner)| !old.is_some_and(|old| old.owners().any(|uid| uid == owner.uid)))
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

    /// The label that names whose something is gives it that one's folder, so it may only be said where the same could
    /// be said by an owner reference, or where it was said before: of what was orphaned it is all that is left.
    pub(super) fn check_made_for(&self, object: &Object, old: Option<&Object>) -> Option<Problem> {
        let label = |object: &Object| object.metadata.labels.as_ref()?.get(OWNER_UID).cloned();
        let said = label(object)?;
        let namespace = object.metadata.namespace.as_deref().filter(|namespace| !namespace.is_empty())?;
        let is_near = |key: &Key| key.namespace.is_empty() || key.namespace == namespace;
        let staged = || self.objects.iter().find(|(_, at)| at.as_ref().is_some_and(|at| at.uid() == said));
        let stands =
            || self.state.by_uid.get(&said).or_else(|| staged().map(|(key, _)| key)).is_some_and(is_near);
        if old.and_then(label).as_ref() == Some(&said) || object.owners().any(|uid| uid == said) || stands() {
            return None;
        }
        let message = format!("nothing of uid {said} is in namespace {namespace:?}; leave the label out");
        Some(Problem::new(format!("metadata.labels[{OWNER_UID}]"), message))
    }

    /// A person's new wish is refused where the disk is nearly full, while there is still room to recover with.
    /// What controllers write follows from wishes that were taken before.
    pub(super) fn check_room(&self, options: &WriteOptions) -> Result<(), WriteError> {
        if !options.is_of_people() {
            return Ok(());
        }
        let refusal = self.refusal.get_or_init(|| self.inner.room.refusal());
        refusal.clone().map_or(Ok(()), |why| Err(WriteError::NoRoom(why)))
    }

    pub(super) fn holder(&self, claim: &Claim) -> Option<String> {
        let place = (claim.space, claim.name.clone());
        match self.claims.get(&place) {
            Some(staged) => staged.clone(),
            None => self.state.claims.get(&place).cloned(),
        }
    }

    /// What an object is called, where whoever asks may know of it.
    fn seen_name_of(&self, uid: &str) -> Option<String> {
        let staged =
            self.objects.values().flatten().find(|object| object.uid() == uid).map(|object| object.key());
        let key = staged.or_else(|| self.state.by_uid.get(uid).cloned());
        let Some(reach) = &self.reach else {
            return Some(key.map_or_else(|| format!("uid {uid}"), |key| key.to_string()));
        };
        let key = key?;
        let kind = self.inner.kinds.get(key.kind.as_str())?;
        reach.sees(kind, &key).then(|| key.to_string())
    }

    /// Fields that reach beyond the object are set and changed only by whoever may. What stands is left alone, and
    /// taking away is always allowed.
    fn check_guarded(
        &self,
        key: &Key,
        kind: &KindInfo,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), WriteError> {
        let Some(reach) = &self.reach else { return Ok(()) };
        for field in kind.guarded {
            let of = |value: &Value| field.split('.').fold(value.clone(), |value, part| value[part].clone());
            let (wanted, stands) = (of(new), old.map(of).unwrap_or_default());
            let is_within = match (&wanted, &stands) {
                (Value::Null, _) => true,
                (Value::Array(wanted), Value::Array(stands)) => {
                    wanted.iter().all(|item| stands.contains(item))
                }
                (Value::Array(wanted), _) => wanted.is_empty(),
                (wanted, stands) => wanted == stands,
            };
            if !is_within {
                reach.may_set(kind, key, field).map_err(WriteError::Forbidden)?;
            }
        }
        Ok(())
    }
}

/// The finalizers of the kind that are missing: an object that stays always has them, whoever left them out of
/// a manifest, so that no moment exists in which it could go without its teardown.
pub(super) fn add_finalizers(metadata: &mut ObjectMeta, kind: &KindInfo) {
    let finalizers = metadata.finalizers.get_or_insert_default();
    for finalizer in &kind.finalizers {
        if !finalizers.contains(finalizer) {
            finalizers.push(finalizer.clone());
        }
    }
}

/// An order that cannot be read would be no order, and whoever gave it would rely on it.
pub(super) fn check_orders(new: &Object, old: Option<&Object>) -> Vec<Problem> {
    let is_time =
        |said: &str| said.split_whitespace().next().is_some_and(|at| at.parse::<Timestamp>().is_ok());
    let is_unread = |name: &&str| {
        let said = new.annotation(name);
        said.is_some_and(|said| !is_time(said)) && said != old.and_then(|old| old.annotation(name))
    };
    let problem = |name: &str| {
        let message = format!(
            "{:?} is not a time; write it as 2026-11-29T18:00:00Z",
            new.annotation(name).unwrap_or_default()
        );
        Problem::new(format!("metadata.annotations[{name}]"), message)
    };
    [PAUSED_UNTIL, PUT_BACK_AT].into_iter().filter(is_unread).map(problem).collect()
}

/// What a writer may not change: who the object is, when it came, whether it goes, and its status.
pub(super) fn keep_identity(new: &mut Object, old: &Object, kind: &KindInfo) {
    new.api_version = old.api_version.clone();
    new.kind = old.kind.clone();
    new.metadata = ObjectMeta {
        name: old.metadata.name.clone(),
        generate_name: old.metadata.generate_name.clone(),
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

/// Whether two objects want the same, whatever is seen of them.
pub(super) fn want_the_same(new: &Object, old: &Object, kind: &KindInfo) -> bool {
    let is_wish = |(name, _): &(&String, &Value)| !(kind.has_status && name.as_str() == "status");
    new.body.iter().filter(is_wish).eq(old.body.iter().filter(is_wish))
}

/// Up to so many characters of changed values a change counts as small.
const SMALL: usize = 64;

/// Whether a change of a wish is a few words, such as stopping an app: what a person does to get room again must not
/// fail for want of it.
pub(super) fn is_small(old: &Object, new: &Object) -> bool {
    let without_status = |object: &Object| {
        let mut body = Value::Object(object.body.clone());
        body.as_object_mut().map(|fields| fields.remove("status"));
        body
    };
    let differences = history::differences(Some(&without_status(old)), Some(&without_status(new)));
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    differences.iter().map(|one| length(&one.wanted)).sum::<usize>() <= SMALL
}

pub(super) fn same_but_for_version(new: &Object, old: &Object) -> bool {
    let same_metadata = || {
        let mut metadata = new.metadata.clone();
        metadata.resource_version.clone_from(&old.metadata.resource_version);
        metadata == old.metadata
    };
    new.body == old.body && same_metadata()
}

/// What of an object is no wish of a person.
const NO_WISH: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// All of an object that a person wishes: everything but its metadata and its status.
fn wish(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten().filter(|(name, _)| !NO_WISH.contains(&name.as_str()))
}

/// The schema's word on everything but metadata, which `k8s-openapi` has typed, and status, which is ours. They are
/// laid aside for as long.
fn check_spec(value: &mut Value, schema: &Value) -> Vec<Problem> {
    let aside: Vec<(&str, Value)> = match value.as_object_mut() {
        Some(fields) => NO_WISH.iter().filter_map(|name| Some((*name, fields.remove(*name)?))).collect(),
        None => Vec::new(),
    };
    let problems = schema::check(value, schema);
    if let Some(fields) = value.as_object_mut() {
        fields.extend(aside.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    problems
}
