//! What a path names: `[namespaces/NAMESPACE/]PLURAL[/NAME[/SUBRESOURCE]]`.

use std::sync::{Arc, Mutex};

use hearth_engine::store::Requirement;
use hearth_engine::{Key, Query, Store, WriteOptions};
use hearth_meta::{KindInfo, Problem, Scope};
use serde_json::Value;

use crate::accept::Form;
use crate::access::{Asked, Granted};
use crate::failure::Failure;
use crate::ownership::{self, Author};
use crate::parameters::Parameters;
use crate::router::Wire;
use crate::views::{Choice, Source, is_of_both};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// One request, read.
pub(crate) struct Call<'a> {
    pub(crate) wire: &'a Wire,
    pub(crate) kind: &'a KindInfo,
    /// What its objects are made of, where nobody stores them.
    pub(crate) source: Option<Source>,
    pub(crate) target: Target,
    pub(crate) parameters: Parameters,
    pub(crate) form: Form,
    pub(crate) granted: Granted,
    pub(crate) agent: String,
    /// What was said twice in its body, to be warned of.
    pub(crate) doubled: Mutex<Vec<String>>,
}

impl Target {
    /// Reads a path; `None` where it has no such shape.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        // `namespaces/x` is the namespace itself and `namespaces/x/status` its status; anything longer, or
        // named otherwise, lies within it.
        let (namespace, rest) = match parts.as_slice() {
            ["namespaces", _, "status" | "finalize"] => (None, &parts[..]),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            _ => (None, &parts[..]),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(name), None),
            [plural, name, subresource] => (plural, Some(name), Some(subresource)),
            _ => return None,
        };
        let owned = |part: Option<&&str>| part.map(|part| (*part).to_owned());
        Some(Self {
            namespace,
            plural: (*plural).to_owned(),
            name: owned(name),
            subresource: owned(subresource),
        })
    }

    /// What is asked for. A collection of which one object is selected by its name is that object, as a right.
    pub(crate) fn asked(&self, verb: &str, kind: &KindInfo, parameters: &Parameters) -> Asked {
        let selected = parameters.fields.iter().find_map(|field| match field {
            Requirement::In(field, names) if field == "metadata.name" => match names.as_slice() {
                [name] => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        });
        let reads = ["list", "watch"].contains(&verb);
        let name = self.name.as_deref().or(selected.filter(|_| reads)).unwrap_or_default();
        let asked = Asked::of(verb, kind, self.namespace.as_deref().unwrap_or_default(), name);
        asked.part(self.subresource.as_deref().unwrap_or_default())
    }

    /// A kind of the whole machine lies in no namespace, and one object of a namespaced kind needs one.
    pub(crate) fn check_scope(&self, kind: &KindInfo) -> Result<(), Failure> {
        let fits = match kind.scope {
            Scope::Cluster => self.namespace.is_none(),
            Scope::Namespaced => self.namespace.is_some() || self.name.is_none(),
        };
        if fits { Ok(()) } else { Err(Failure::no_such_place()) }
    }
}

impl Call<'_> {
    /// The store, for what was granted.
    pub(crate) fn store(&self) -> &Store {
        self.granted.store()
    }

    /// The name in the path; empty where it names a collection.
    pub(crate) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// The kind that is stored of it.
    pub(crate) fn stored(&self) -> &'static str {
        self.source.map_or(self.kind.kind, |source| source.kind)
    }

    /// What is asked for that only shows once an object is shown.
    pub(crate) fn choice(&self) -> Option<Choice> {
        Choice::of(self.kind, self.source?, &self.parameters.fields)
    }

    /// The key of the object the path names.
    pub(crate) fn key(&self) -> Key {
        Key::new(self.stored(), self.target.namespace.clone().unwrap_or_default(), self.name())
    }

    /// The objects the path and the selectors ask for.
    pub(crate) fn query(&self) -> Query {
        let mut query = Query {
            kind: self.stored().to_owned(),
            namespace: self.target.namespace.clone(),
            labels: self.parameters.labels.clone(),
            fields: self.parameters.fields.clone(),
        };
        if self.source.is_some() {
            query.fields.retain(is_of_both);
        }
        if let Some(name) = &self.target.name {
            let named = Requirement::In("metadata.name".into(), vec![name.clone()]);
            query.fields.push(named);
        }
        query
    }

    /// Who sets fields by it.
    pub(crate) fn manager(&self) -> Author {
        let said = self.parameters.field_manager.as_ref().unwrap_or(&self.agent);
        // A program that merely calls itself so has not asked to be it.
        let name = if self.wire.reserved.contains(&said.as_str()) { "unknown" } else { said };
        Author {
            name: name.to_owned(),
            api_version: self.kind.api_version(),
            now: self.store().clock().now(),
        }
    }

    /// Refuses whoever says to be a manager that is the server's own.
    pub(crate) fn check_manager(&self) -> Result<(), Failure> {
        let said = self.parameters.field_manager.as_deref().filter(|said| self.wire.reserved.contains(said));
        said.map_or(Ok(()), |said| {
            let problem = Problem::new("fieldManager", ownership::reserved::refusal(said));
            Err(Failure::invalid(self.kind, self.name(), &[problem]))
        })
    }

    /// The schema of its kind, to be kept beyond the request.
    pub(crate) fn schema(&self) -> Option<Arc<Value>> {
        self.wire.schemas.get(self.kind.kind).cloned()
    }

    /// How its writes are made.
    pub(crate) fn write_options(&self) -> WriteOptions {
        self.granted.write_options(self.parameters.dry_run)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn shown(path: &str) -> Option<String> {
        let target = Target::parse(path)?;
        let or_dash = |part: Option<String>| part.unwrap_or_else(|| "-".into());
        Some(format!(
            "{} {} {} {}",
            or_dash(target.namespace),
            target.plural,
            or_dash(target.name),
            or_dash(target.subresource)
        ))
    }

    #[test]
    fn paths_name_a_collection_an_object_or_a_part_of_one() {
        for (path, wanted) in [
            ("things", Some("- things - -")),
            ("things/a", Some("- things a -")),
            ("things/a/status", Some("- things a status")),
            ("namespaces", Some("- namespaces - -")),
            ("namespaces/home", Some("- namespaces home -")),
            ("namespaces/home/status", Some("- namespaces home status")),
            ("namespaces/home/things", Some("home things - -")),
            ("namespaces/home/things/a", Some("home things a -")),
            ("namespaces/home/things/a/status", Some("home things a status")),
            ("namespaces/home/things/a/b/c", None),
            ("things//a", None),
        ] {
            assert_eq!(shown(path).as_deref(), wanted, "{path}");
        }
    }
}
