//! What objects and things in the container engine are called, and the labels everything made there carries.

use std::collections::BTreeMap;

use hearth_engine::controller::{Wanted, spec_hash};
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
            (labels::MADE_AT.to_owned(), store.resource_version().to_string()),
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

/// Whose a thing with these labels is, for the object of `uid`. What another store made is ours only where its object
/// was taken over with its uid; everything else of it stays that home's.
pub fn ownership(labels_seen: &BTreeMap<String, String>, uid: &str, store: &Store) -> Ownership {
    whose(labels_seen, uid, store.lineage(), |of| store.is_adopted(of))
}

fn whose(
    labels_seen: &BTreeMap<String, String>,
    uid: &str,
    lineage: &str,
    is_adopted: impl Fn(&str) -> bool,
) -> Ownership {
    match (labels_seen.get(labels::LINEAGE), labels_seen.get(labels::UID)) {
        (Some(of), Some(made_for)) if made_for == uid && (of == lineage || is_adopted(of)) => Ownership::Mine,
        (Some(of), Some(_)) if of == lineage => Ownership::Predecessor,
        (Some(_), Some(_)) => Ownership::OtherHome,
        _ => Ownership::Foreign,
    }
}

/// The version the store had come to when a thing with these labels was made; 0 where it does not tell.
pub fn made_at(labels_seen: &BTreeMap<String, String>) -> u64 {
    labels_seen.get(labels::MADE_AT).and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// The longest name an object may have.
const LONGEST: usize = 63;

/// A DNS label as near to `text` as can be, at most `longest` long: another one for another text.
pub fn dns_label(text: &str, longest: usize) -> String {
    let label = readable(text);
    if label == text && label.len() <= longest {
        return label;
    }
    with_hash(&label, &spec_hash(&text), longest)
}

/// The name of an object that stands for `part` of `whole`, both as people wrote them: `photos-web`.
///
/// Where the part holds a `-` itself, a hash tells `photos-ai` and `web` from `photos` and `ai-web`.
pub fn part_name(whole: &str, part: &str) -> String {
    let text = format!("{whole}-{part}");
    if part.contains('-') {
        with_hash(&readable(&text), &spec_hash(&(whole, part)), LONGEST)
    } else {
        dns_label(&text, LONGEST)
    }
}

/// The name of the Image of a service: readable, and another one for another service or reference.
pub fn image_name(namespace: &str, app: &str, service: &str, reference: &str) -> String {
    let hash = spec_hash(&(namespace, app, service, reference));
    let readable = dns_label(&format!("{namespace}-{app}-{service}"), 50);
    format!("{readable}-{}", &hash[..8])
}

fn readable(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let label: String = text.to_ascii_lowercase().chars().map(plain).collect();
    label.trim_matches('-').to_owned()
}

fn with_hash(label: &str, hash: &str, longest: usize) -> String {
    let kept: String = label.chars().take(longest - 7).collect();
    format!("{}-{}", kept.trim_matches('-'), &hash[..6]).trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hearth_meta::labels;

    use super::{Naming, Ownership, dns_label, image_name, part_name, whose};

    #[test]
    fn a_thing_is_ours_only_where_this_store_or_one_taken_over_made_it_for_this_object() {
        let whose = |of: Option<&str>, made_for: Option<&str>| {
            let of = of.map(|of| (labels::LINEAGE.to_owned(), of.to_owned()));
            let made_for = made_for.map(|uid| (labels::UID.to_owned(), uid.to_owned()));
            let seen: BTreeMap<String, String> = of.into_iter().chain(made_for).collect();
            whose(&seen, "u", "home", |of| of == "taken-over")
        };
        assert_eq!(whose(Some("home"), Some("u")), Ownership::Mine);
        assert_eq!(whose(Some("taken-over"), Some("u")), Ownership::Mine);
        assert_eq!(whose(Some("home"), Some("older")), Ownership::Predecessor);
        assert_eq!(whose(Some("taken-over"), Some("older")), Ownership::OtherHome);
        assert_eq!(whose(Some("other"), Some("u")), Ownership::OtherHome, "a label alone is no proof");
        assert_eq!(whose(Some("home"), None), Ownership::Foreign);
        assert_eq!(whose(None, Some("u")), Ownership::Foreign);
        assert_eq!(whose(None, None), Ownership::Foreign);
    }

    #[test]
    fn labels_stay_readable_and_differ_where_the_text_does() {
        assert_eq!(dns_label("photos-web", 63), "photos-web");
        let (one, other) = (dns_label("photos-my_db", 63), dns_label("photos-my.db", 63));
        assert!(one.starts_with("photos-my-db-") && one != other, "{one} {other}");
        assert!(dns_label(&"a".repeat(100), 63).len() <= 63);
        assert!(hearth_meta::name::check_label(&dns_label("__", 63)).is_ok());
    }

    #[test]
    fn no_two_apps_share_the_name_of_a_part_or_of_an_image() {
        assert_eq!(part_name("photos-ai", "web"), "photos-ai-web");
        for (app, part) in [("photos", "ai-web"), ("photos-ai", "web"), ("photos", "ai/web")] {
            let others = [("photos", "ai-web"), ("photos-ai", "web"), ("photos", "ai/web")];
            for other in others.iter().filter(|other| **other != (app, part)) {
                assert_ne!(part_name(app, part), part_name(other.0, other.1));
            }
            assert!(part_name(app, part).starts_with("photos-ai-web"), "it stays readable");
        }
        assert_ne!(image_name("a-b", "c", "d", "x:1"), image_name("a", "b-c", "d", "x:1"));
        assert_ne!(image_name("a", "b-c", "d", "x:1"), image_name("a", "b", "c-d", "x:1"));
        assert_ne!(image_name("a", "b", "c", "x:1"), image_name("a", "b", "c", "x:2"));
    }

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
