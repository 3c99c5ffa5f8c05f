//! What things are called in the container engine, and the labels everything made there carries.

use std::collections::BTreeMap;

use hearth_engine::controller::Wanted;
use hearth_engine::{Key, Store};
use hearth_kinds::SYSTEM;
use hearth_meta::{Resource, labels};

/// How names in the engine are made. Clones are alike.
#[derive(Clone, Debug)]
pub struct Naming {
    prefix: String,
}

impl Naming {
    /// Names that begin with `prefix`, so that two homes on one engine stay apart.
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The engine's name of an object's container or network: `hearth_household_photos-web`.
    ///
    /// Object names hold no `_`, so no two objects share one. What is Hearth's own reads `hearth-system_caddy` and
    /// sorts before everything else, since Docker publishes ports through a container's first network (DESIGN 2).
    pub fn of(&self, namespace: &str, name: &str) -> String {
        if namespace == SYSTEM {
            format!("{}-{SYSTEM}_{name}", self.prefix)
        } else {
            format!("{}_{namespace}_{name}", self.prefix)
        }
    }

    /// The object a name in the engine stands for, if it is one of ours.
    pub fn key(&self, kind: &str, name: &str) -> Option<Key> {
        let rest = name.strip_prefix(&self.prefix)?;
        if let Some(name) = rest.strip_prefix(&format!("-{SYSTEM}_")) {
            return Some(Key::new(kind, SYSTEM, name));
        }
        let (namespace, name) = rest.strip_prefix('_')?.split_once('_')?;
        Some(Key::new(kind, namespace, name))
    }

    /// The labels of what is made for an object. Those of Compose let people's tools group an app's containers.
    pub fn labels<K: Resource>(
        &self,
        wanted: &Wanted<K>,
        store: &Store,
        applied: &str,
    ) -> BTreeMap<String, String> {
        let own = wanted.object.meta().labels.clone().unwrap_or_default();
        let mut made = BTreeMap::from([
            (labels::UID.to_owned(), wanted.uid().to_owned()),
            (labels::OWNER_UID.to_owned(), wanted.owner_uid().to_owned()),
            (labels::LINEAGE.to_owned(), store.lineage().to_owned()),
            (labels::APPLIED.to_owned(), applied.to_owned()),
        ]);
        if let Some(app) = own.get(labels::APP) {
            made.insert(labels::APP.to_owned(), app.clone());
            made.insert(
                "com.docker.compose.project".to_owned(),
                format!("{}-{}-{app}", self.prefix, wanted.namespace()),
            );
        }
        if let Some(service) = own.get(labels::SERVICE) {
            made.insert(labels::SERVICE.to_owned(), service.clone());
            made.insert("com.docker.compose.service".to_owned(), service.clone());
        }
        made
    }
}

/// Whose a thing in the engine is, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Made for this very object.
    Mine,
    /// Made by this store for an object that had the name before.
    Predecessor,
    /// Made by another store.
    OtherHome,
    /// Not made by Hearth.
    Foreign,
}

/// Whose a thing with these labels is, for the object of `uid`.
pub fn ownership(labels_seen: &BTreeMap<String, String>, uid: &str, lineage: &str) -> Ownership {
    match (labels_seen.get(labels::LINEAGE), labels_seen.get(labels::UID)) {
        (Some(of), Some(made_for)) if of == lineage && made_for == uid => Ownership::Mine,
        (Some(of), Some(_)) if of == lineage => Ownership::Predecessor,
        (Some(_), Some(_)) => Ownership::OtherHome,
        _ => Ownership::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::Naming;

    #[test]
    fn names_lead_back_to_their_objects_and_the_systems_own_sort_first() {
        let naming = Naming::new("hearth");
        for (namespace, name) in [("household", "photos-web"), ("system", "caddy"), ("a-b", "c")] {
            let key = naming.key("Container", &naming.of(namespace, name)).unwrap();
            assert_eq!((key.namespace.as_str(), key.name.as_str()), (namespace, name));
        }
        assert!(naming.of("system", "control") < naming.of("a", "a"));
        assert!(naming.key("Container", "somebody-elses").is_none());
    }
}
