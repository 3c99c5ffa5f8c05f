//! What each role may do, kind by kind: the one table of rights.
//!
//! A member writes apps and secrets. The parts of an app are read only: whoever could write a Container or a Volume
//! could mount what is another's. Images and tokens are of the whole machine and tell what others run and who they
//! are, so only an admin sees them, and, images, whoever sees every namespace.

use hearth_kinds::token::EVERY_NAMESPACE;
use hearth_kinds::{HOUSEHOLD, Role};
use hearth_wire::{Grant, Rule};

const OWN: &str = "hearth.dev";
const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// Kinds of a namespace that whoever may look into it may read.
const SEEN: [&str; 6] = ["apps", "containers", "networks", "revisions", "routes", "volumes"];
/// Their statuses.
const SEEN_STATUS: [&str; 6] = [
    "apps/status",
    "containers/status",
    "networks/status",
    "revisions/status",
    "routes/status",
    "volumes/status",
];
/// What they write as they run, and who changed them: for whoever they are bound to, not for all who see them.
const RECORDS: [&str; 7] = [
    "apps/history",
    "containers/history",
    "containers/log",
    "networks/history",
    "revisions/history",
    "routes/history",
    "volumes/history",
];
/// Where somebody answers a change from outside.
const ANSWERED: [&str; 5] =
    ["apps/drift", "containers/drift", "networks/drift", "routes/drift", "volumes/drift"];
/// Places that tell of the machine, for whoever may look into every namespace.
const PLACES: [&str; 3] = ["/metrics", "/hearth/v1/controllers", "/hearth/v1/doctor"];

/// What a role may do in these namespaces.
pub(super) fn grants(role: Role, namespaces: &[String]) -> Vec<Grant> {
    if role == Role::Admin {
        return vec![Grant::everything()];
    }
    let sees_all = namespaces.iter().any(|namespace| namespace == EVERY_NAMESPACE);
    let bound = || match role {
        Role::Member => [seen(), records(), own()].concat(),
        Role::Admin | Role::Viewer => [seen(), records()].concat(),
    };
    if sees_all {
        return vec![Grant { namespace: None, rules: [bound(), of_machine()].concat() }];
    }
    let mut grants: Vec<Grant> = namespaces
        .iter()
        .map(|namespace| Grant { namespace: Some(namespace.clone()), rules: bound() })
        .collect();
    if role == Role::Member && !namespaces.iter().any(|namespace| namespace == HOUSEHOLD) {
        grants.push(Grant { namespace: Some(HOUSEHOLD.to_owned()), rules: seen() });
    }
    grants
}

/// The namespaces somebody may look into; `*` stands for all.
pub(super) fn seen_by(role: Role, namespaces: &[String]) -> Vec<String> {
    match role {
        Role::Admin => vec![EVERY_NAMESPACE.to_owned()],
        _ => {
            let granted = grants(role, namespaces);
            granted
                .into_iter()
                .map(|grant| grant.namespace.unwrap_or_else(|| EVERY_NAMESPACE.to_owned()))
                .collect()
        }
    }
}

fn rule(verbs: &[&'static str], group: &'static str, resources: &[&'static str]) -> Rule {
    Rule { verbs: verbs.to_vec(), groups: vec![group], resources: resources.to_vec(), ..Rule::default() }
}

/// What everybody sees who may look into a namespace.
fn seen() -> Vec<Rule> {
    vec![
        rule(&READ, OWN, &[SEEN, SEEN_STATUS].concat()),
        rule(&READ, "", &["events", "namespaces", "pods"]),
        rule(&["get", "list"], "metrics.k8s.io", &["pods"]),
        rule(&READ, "events.k8s.io", &["events"]),
    ]
}

fn records() -> Vec<Rule> {
    vec![rule(&["get"], OWN, &RECORDS), rule(&["get"], "", &["pods/log"])]
}

/// What a member writes.
fn own() -> Vec<Rule> {
    vec![
        rule(&WRITE, OWN, &["apps"]),
        rule(&["update"], OWN, &ANSWERED),
        rule(&[&READ[..], &WRITE[..]].concat(), "", &["secrets"]),
        rule(&["get"], "", &["secrets/history"]),
        rule(&["create"], "", &["events"]),
        rule(&["create"], "events.k8s.io", &["events"]),
    ]
}

fn of_machine() -> Vec<Rule> {
    let places = Rule { verbs: vec!["get"], paths: PLACES.to_vec(), ..Rule::default() };
    vec![
        rule(&READ, OWN, &["images", "images/status"]),
        rule(&["get"], OWN, &["images/history"]),
        rule(&READ, "", &["nodes"]),
        rule(&["get", "list"], "metrics.k8s.io", &["nodes"]),
        places,
    ]
}

#[cfg(test)]
mod tests {
    use hearth_kinds::{Role, Settings};
    use hearth_meta::Scope;
    use hearth_wire::{Actor, Asked};

    use super::{SEEN, grants};

    fn of(role: Role, namespaces: &[&str]) -> Actor {
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        Actor::new("anna", grants(role, &namespaces))
    }

    #[test]
    fn every_kind_is_decided() {
        // Secrets are for members of their namespace, images and tokens for whoever sees the whole machine.
        let apart = ["secrets", "namespaces", "images", "tokens"];
        for kind in hearth_kinds::all(&Settings::default()) {
            let is_seen = SEEN.contains(&kind.plural);
            assert!(
                is_seen != apart.contains(&kind.plural),
                "{} is in both lists or in neither",
                kind.plural
            );
            assert!(!is_seen || kind.scope == Scope::Namespaced, "{}", kind.plural);
        }
    }

    #[test]
    fn the_table_of_rights() {
        let (member, viewer) = (of(Role::Member, &["anna"]), of(Role::Viewer, &["anna"]));
        let watcher = of(Role::Viewer, &["*"]);
        let own = "hearth.dev";
        for (verb, group, resource, namespace, wanted) in [
            // Who: member, viewer, viewer of all.
            ("get", own, "apps", "anna", [true, true, true]),
            ("create", own, "apps", "anna", [true, false, false]),
            ("grant", own, "apps", "anna", [false, false, false]),
            ("update", own, "apps/status", "anna", [false, false, false]),
            ("watch", own, "containers", "anna", [true, true, true]),
            ("create", own, "containers", "anna", [false, false, false]),
            ("patch", own, "volumes", "anna", [false, false, false]),
            ("get", own, "containers/log", "anna", [true, true, true]),
            ("get", own, "apps/history", "anna", [true, true, true]),
            ("update", own, "containers/drift", "anna", [true, false, false]),
            ("list", "", "pods", "anna", [true, true, true]),
            ("get", "", "pods/log", "anna", [true, true, true]),
            ("get", "", "pods/log", "household", [false, false, true]),
            ("list", "metrics.k8s.io", "pods", "ben", [false, false, true]),
            ("get", "", "nodes", "", [false, false, true]),
            ("get", "", "secrets", "anna", [true, false, false]),
            ("list", "", "events", "anna", [true, true, true]),
            ("create", "", "events", "anna", [true, false, false]),
            ("get", own, "apps", "household", [true, false, true]),
            ("patch", own, "apps", "household", [false, false, false]),
            ("get", "", "secrets", "household", [false, false, false]),
            ("get", own, "containers/log", "household", [false, false, true]),
            ("get", own, "apps/history", "household", [false, false, true]),
            ("get", own, "apps", "ben", [false, false, true]),
            ("list", own, "apps", "", [false, false, true]),
            ("list", own, "images", "", [false, false, true]),
            ("list", own, "tokens", "", [false, false, false]),
            ("list", "", "namespaces", "", [false, false, true]),
        ] {
            let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
            let asked = Asked::resource(verb, (group, resource, part), namespace, "");
            let found = [member.may(&asked), viewer.may(&asked), watcher.may(&asked)];
            assert_eq!(found, wanted, "{verb} {resource}/{part} in {namespace}");
        }
        let metrics = Asked::path("get", "/metrics");
        assert_eq!([&member, &viewer, &watcher].map(|who| who.may(&metrics)), [false, false, true]);
        let backup = Asked::path("get", "/hearth/v1/backup");
        assert_eq!([&member, &watcher].map(|who| who.may(&backup)), [false, false]);
        assert!(of(Role::Admin, &[]).may(&backup));
    }

    #[test]
    fn who_is_bound_to_the_household_writes_there() {
        let member = of(Role::Member, &["household"]);
        assert!(member.may(&Asked::resource("create", ("hearth.dev", "apps", ""), "household", "")));
        assert!(member.may(&Asked::resource("get", ("hearth.dev", "containers", "log"), "household", "web")));
    }
}
