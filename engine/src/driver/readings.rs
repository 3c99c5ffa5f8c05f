//! What stored objects were last read as. A turn finds most of them as the turn before did, and to type one and to hash
//! its wish anew was half of a turn.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use hearth_meta::Resource;
use kube::core::object::HasSpec;

use super::{Runner, lock};
use crate::controller::{Controller, Wanted, spec_hash};
use crate::object::{Key, Object};

/// The readings of one kind, by key. What is gone is forgotten with its last turn.
pub(super) struct Readings<K>(HashMap<Key, Reading<K>>);

struct Reading<K> {
    /// What was read. It is not kept by this, only told from what came after it.
    of: Weak<Object>,
    object: Arc<K>,
    spec_hash: Option<String>,
}

impl<K> Default for Readings<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K> Readings<K> {
    fn object(&self, key: &Key, of: &Arc<Object>) -> Option<Arc<K>> {
        let reading = self.0.get(key)?;
        std::ptr::eq(reading.of.as_ptr(), Arc::as_ptr(of)).then(|| reading.object.clone())
    }

    /// What is read of an object, where it is still that.
    fn of(&mut self, key: &Key, object: &Arc<K>) -> Option<&mut Reading<K>> {
        self.0.get_mut(key).filter(|reading| Arc::ptr_eq(&reading.object, object))
    }

    /// Forgets an object.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Forgets all but these.
    pub(super) fn keep(&mut self, objects: &[Arc<Object>]) {
        if self.0.len() > objects.len() {
            let there: HashSet<Key> = objects.iter().map(|object| object.key()).collect();
            self.0.retain(|key, _| there.contains(key));
        }
    }
}

/// An object as a controller reads it: who set which field is the server's to know, and is often the larger half.
pub(super) fn typed<K: Resource>(object: &Object) -> Result<K, String> {
    let mut typed = object.typed::<K>()?;
    typed.meta_mut().managed_fields = None;
    Ok(typed)
}

impl<C: Controller> Runner<C> {
    /// An object as its kind's type.
    ///
    /// # Errors
    /// It does not fit its kind.
    pub(super) fn read(&self, object: &Arc<Object>) -> Result<Arc<C::Kind>, String> {
        let key = object.key();
        if let Some(read) = lock(&self.readings).object(&key, object) {
            return Ok(read);
        }
        let typed = Arc::new(typed::<C::Kind>(object)?);
        let reading = Reading { of: Arc::downgrade(object), object: typed.clone(), spec_hash: None };
        lock(&self.readings).0.insert(key, reading);
        Ok(typed)
    }

    /// What is wanted of the backend, hashed.
    pub(super) fn target(&self, wanted: &Wanted<C::Kind>, facts: &C::Facts) -> String {
        if let Some(target) = self.controller.target(wanted, facts) {
            return target;
        }
        let key = Key::new(self.kind.kind, wanted.namespace(), wanted.name());
        let known = |readings: &mut Readings<C::Kind>| readings.of(&key, &wanted.object)?.spec_hash.clone();
        if let Some(hash) = known(&mut lock(&self.readings)) {
            return hash;
        }
        let hash = spec_hash(wanted.object.spec());
        if let Some(reading) = lock(&self.readings).of(&key, &wanted.object) {
            reading.spec_hash = Some(hash.clone());
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{Reading, Readings};
    use crate::object::Object;

    fn object(name: &str) -> Arc<Object> {
        let object = json!({ "apiVersion": "test.dev/v1", "kind": "Lamp", "metadata": { "name": name } });
        Arc::new(Object::from_value(object).unwrap())
    }

    fn readings(objects: &[Arc<Object>]) -> Readings<usize> {
        let reading = |index: usize| Reading {
            of: Arc::downgrade(&objects[index]),
            object: Arc::new(index),
            spec_hash: None,
        };
        Readings((0..objects.len()).map(|index| (objects[index].key(), reading(index))).collect())
    }

    #[test]
    fn a_reading_is_of_the_very_object_that_was_read() {
        let mut objects = [object("desk"), object("bed")];
        let mut readings = readings(&objects);
        let bed = readings.object(&objects[1].key(), &objects[1]).unwrap();
        assert_eq!(*bed, 1);
        assert!(readings.of(&objects[1].key(), &bed).is_some());
        assert!(readings.of(&objects[0].key(), &bed).is_none(), "its hash is not that of another");
        // The same words written once more are another version all the same.
        objects[1] = object("bed");
        assert!(readings.object(&objects[1].key(), &objects[1]).is_none());
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let objects = [object("desk"), object("bed"), object("door")];
        let mut readings = readings(&objects);
        readings.forget(&objects[0].key());
        readings.keep(&objects[1..]);
        assert_eq!(readings.0.len(), 2);
        readings.keep(&objects[2..]);
        assert!(readings.object(&objects[2].key(), &objects[2]).is_some() && readings.0.len() == 1);
    }
}
