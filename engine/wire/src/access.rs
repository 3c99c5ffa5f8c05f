//! Who may do what: decided here, for every request, and nowhere else.
//!
//! A [`Gate`] holds the store and whatever else a request may lead to. It hands it out only as [`Granted`], once the
//! right that is asked for was found among what the asker was granted; nothing but a gate makes one. So a place that
//! forgets to ask cannot reach anything.
//!
//! Rights are rules of verbs, groups and resources, granted for one namespace or for the whole machine, as RBAC has
//! them, and a refusal names the right that is missing in the same words. It is made before anything is looked up, so
//! that what is there and what is not is answered alike.

use std::sync::Arc;

use axum::http::StatusCode;
use hearth_engine::store::Reach;
use hearth_engine::{Clock, Key, Store, WriteOptions};
use hearth_meta::{KindInfo, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// Everything of its sort.
pub const ALL: &str = "*";
/// The resource whose objects are themselves the place they are in.
const NAMESPACES: &str = "namespaces";

/// What may be done with what. Empty lists allow nothing, but for `names`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The verbs, such as `get`; [`ALL`] for every one.
    pub verbs: Vec<&'static str>,
    /// The API groups; the core group is empty.
    pub groups: Vec<&'static str>,
    /// The resources by their plural, a part of one as `apps/status`; [`ALL`] for all and their parts.
    pub resources: Vec<&'static str>,
    /// Only objects of these names; empty for all.
    pub names: Vec<String>,
    /// Places that are no resources, such as `/metrics`; a `*` at the end stands for the rest.
    pub paths: Vec<&'static str>,
}

/// Rules, and where they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The namespace; `None` for all of them and for what lies in none.
    pub namespace: Option<String>,
    /// What may be done there.
    pub rules: Vec<Rule>,
}

/// What is asked for, in the words rules have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The verb, such as `list`.
    pub verb: String,
    /// With what.
    pub what: What,
}

/// What something is done with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An object, a part of one, or a collection.
    Resource {
        /// The API group.
        group: String,
        /// The plural.
        resource: String,
        /// The part, such as `status`; empty for the whole.
        subresource: String,
        /// The namespace; `None` for all of them, or for a resource that lies in none.
        namespace: Option<String>,
        /// The name; empty for a collection.
        name: String,
    },
    /// A place that is no resource.
    Path(String),
}

impl Asked {
    /// A verb on objects of a kind; an empty namespace stands for all, an empty name for a collection.
    pub fn of(verb: &str, kind: &KindInfo, namespace: &str, name: &str) -> Self {
        Self::resource(verb, (kind.group, kind.plural, ""), namespace, name)
    }

    /// A verb on a resource, given by its group, its plural and its part.
    pub fn resource(
        verb: &str,
        (group, resource, subresource): (&str, &str, &str),
        namespace: &str,
        name: &str,
    ) -> Self {
        // A namespace lies in itself, so that who may see into it may read it.
        let is_place = group.is_empty() && resource == NAMESPACES && !name.is_empty();
        let namespace = if is_place { name } else { namespace };
        let what = What::Resource {
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            name: name.to_owned(),
        };
        Self { verb: verb.to_owned(), what }
    }

    /// The same of a part of it.
    #[must_use]
    pub fn part(mut self, part: &str) -> Self {
        if let What::Resource { subresource, .. } = &mut self.what {
            *subresource = part.to_owned();
        }
        self
    }

    /// A verb on a place that is no resource.
    pub fn path(verb: &str, path: &str) -> Self {
        Self { verb: verb.to_owned(), what: What::Path(path.to_owned()) }
    }

    /// The right in a sentence that ends a refusal, without the one who lacks it.
    fn told(&self) -> String {
        let verb = &self.verb;
        match &self.what {
            What::Path(path) => format!("cannot {verb} path {path:?}"),
            What::Resource { group, subresource, namespace, resource, .. } => {
                let part = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
                let place = match namespace {
                    Some(namespace) => format!("in the namespace {namespace:?}"),
                    None => "at the cluster scope".to_owned(),
                };
                format!("cannot {verb} resource \"{resource}{part}\" in API group {group:?} {place}")
            }
        }
    }
}

impl Rule {
    pub(crate) fn allows(&self, asked: &Asked) -> bool {
        let has = |list: &[&str], word: &str| list.iter().any(|known| *known == ALL || *known == word);
        has(&self.verbs, &asked.verb)
            && match &asked.what {
                What::Path(path) => self.paths.iter().any(|known| match known.strip_suffix('*') {
                    Some(start) => path.starts_with(start),
                    None => known == path,
                }),
                What::Resource { group, resource, subresource, name, .. } => {
                    let whole = if subresource.is_empty() {
                        resource.clone()
                    } else {
                        format!("{resource}/{subresource}")
                    };
                    has(&self.groups, group)
                        && has(&self.resources, &whole)
                        && (self.names.is_empty() || self.names.contains(name))
                }
            }
    }
}

impl Grant {
    /// Everything.
    pub fn everything() -> Self {
        let all = || vec![ALL];
        let rule = Rule { verbs: all(), groups: all(), resources: all(), names: Vec::new(), paths: all() };
        Self { namespace: None, rules: vec![rule] }
    }

    /// Whether it holds in a namespace; `None` for what lies in none, or in all.
    pub(crate) fn holds_in(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none() || self.namespace.as_deref() == namespace
    }

    fn allows(&self, asked: &Asked) -> bool {
        let holds = match &asked.what {
            What::Path(_) => self.namespace.is_none(),
            What::Resource { namespace, .. } => self.holds_in(namespace.as_deref()),
        };
        holds && self.rules.iter().any(|rule| rule.allows(asked))
    }
}

/// Who asks; sign-in puts one into the request's extensions. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The name they are known by, and refused by.
    pub name: String,
    /// Who really asks, where somebody acts as another.
    pub behind: Option<String>,
    /// The token they signed in with, where it has another name.
    pub token: Option<String>,
    /// Through what they ask, as the history tells it, such as `api/kubectl`.
    pub source: String,
    /// What they may do.
    pub grants: Arc<[Grant]>,
    /// The groups they are in, as they are told to themselves.
    pub groups: Vec<String>,
    /// What else they are told of themselves: names, each with its values.
    pub facts: Vec<(&'static str, Vec<String>)>,
    /// Cancelled once they may no longer ask: what they still hear ends then.
    pub until: CancellationToken,
}

impl Actor {
    /// Somebody with these rights.
    pub fn new(name: impl Into<String>, grants: Vec<Grant>) -> Self {
        Self {
            name: name.into(),
            behind: None,
            token: None,
            source: "api".to_owned(),
            grants: grants.into(),
            groups: vec!["system:authenticated".to_owned()],
            facts: Vec::new(),
            until: CancellationToken::new(),
        }
    }

    /// Somebody who may do everything.
    pub fn of_everything(name: impl Into<String>) -> Self {
        Self::new(name, vec![Grant::everything()])
    }

    /// Whether they may.
    pub fn may(&self, asked: &Asked) -> bool {
        self.grants.iter().any(|grant| grant.allows(asked))
    }

    /// As the history tells who it was.
    pub fn told(&self) -> String {
        match (&self.behind, &self.token) {
            (Some(behind), _) => format!("{} (by {behind})", self.name),
            (None, Some(token)) => format!("{} (token {token})", self.name),
            (None, None) => self.name.clone(),
        }
    }

    /// Refuses what they may not.
    ///
    /// # Errors
    /// The right that is missing.
    pub fn check(&self, asked: &Asked) -> Result<(), Failure> {
        if self.may(asked) { Ok(()) } else { Err(self.refusal(asked)) }
    }

    /// Why they may not, as a sentence without its subject.
    pub(crate) fn why_not(&self, asked: &Asked) -> String {
        format!("User {:?} {}", self.name, asked.told())
    }

    fn refusal(&self, asked: &Asked) -> Failure {
        let why = self.why_not(asked);
        match &asked.what {
            What::Path(_) => Failure::new(StatusCode::FORBIDDEN, "Forbidden", format!("forbidden: {why}")),
            What::Resource { group, resource, name, .. } => {
                let dot = if group.is_empty() { "" } else { "." };
                let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
                let message = format!("{resource}{dot}{group}{named} is forbidden: {why}");
                let details = json!({ "name": name, "group": group, "kind": resource });
                Failure::new(StatusCode::FORBIDDEN, "Forbidden", message).with_details(details)
            }
        }
    }
}

/// Knows the rights of users who are not asking themselves.
pub trait Users: Send + Sync {
    /// A user as they would be if they asked; one nobody knows may do nothing.
    fn find(&self, name: &str) -> Actor;
}

/// Users of whom nothing is known: nobody who is not asking may do anything.
pub struct Strangers;

impl Users for Strangers {
    fn find(&self, name: &str) -> Actor {
        Actor::new(name, Vec::new())
    }
}

/// Holds what requests lead to, and lets through only what was granted. Clones are the same.
///
/// A refusal cannot depend on what is there: [`Actor::check`] knows no store, and there is no way to the store of a gate
/// but to open it.
///
/// ```compile_fail,E0616
/// fn look_without_asking(gate: &hearth_wire::Gate) -> u64 {
///     gate.store.resource_version()
/// }
/// ```
///
/// ```
/// fn ask_and_look(
///     gate: &hearth_wire::Gate,
///     actor: &hearth_wire::Actor,
///     asked: &hearth_wire::Asked,
/// ) -> Result<u64, hearth_wire::Failure> {
///     Ok(gate.open(actor, asked)?.store().resource_version())
/// }
/// ```
#[derive(Clone)]
pub struct Gate<B = ()> {
    store: Store,
    behind: B,
}

impl<B> Gate<B> {
    /// Puts a store, and what else lies behind, under lock.
    pub fn new(store: Store, behind: B) -> Self {
        Self { store, behind }
    }

    /// Every kind; what there is to ask for is no secret.
    pub fn kinds(&self) -> impl Iterator<Item = &KindInfo> {
        self.store.kinds()
    }

    /// The clock, which is no secret either.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.store.clock()
    }
}

impl<B: Clone> Gate<B> {
    /// Lets whoever asks through to what they ask for.
    ///
    /// # Errors
    /// The right that is missing.
    pub fn open(&self, actor: &Actor, asked: &Asked) -> Result<Granted<B>, Failure> {
        actor.check(asked)?;
        let store = self.store.within(Arc::new(OfActor(actor.clone())));
        Ok(Granted { store, actor: actor.clone(), behind: self.behind.clone() })
    }
}

/// What lies behind a gate, for somebody who may.
#[derive(Clone)]
pub struct Granted<B = ()> {
    store: Store,
    actor: Actor,
    behind: B,
}

impl<B> Granted<B> {
    /// The store, which tells and takes only what they may know and set.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What else lies behind.
    pub fn behind(&self) -> &B {
        &self.behind
    }

    /// Who asks.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// How they write.
    pub fn write_options(&self, dry_run: bool) -> WriteOptions {
        WriteOptions { actor: self.actor.told(), source: self.actor.source.clone(), dry_run }
    }
}

struct OfActor(Actor);

impl Reach for OfActor {
    fn sees(&self, kind: &KindInfo, key: &Key) -> bool {
        self.0.may(&Asked::of("get", kind, &key.namespace, &key.name))
    }

    fn may_set(&self, kind: &KindInfo, key: &Key, field: &str) -> Result<(), String> {
        let namespace = if kind.scope == Scope::Namespaced { key.namespace.as_str() } else { "" };
        let asked = Asked::of("grant", kind, namespace, &key.name);
        if self.0.may(&asked) { Ok(()) } else { Err(format!("{}: {field}", self.0.why_not(&asked))) }
    }
}

#[cfg(test)]
mod tests;
