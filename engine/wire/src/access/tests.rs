//! Rules, grants and refusals.

use super::{ALL, Actor, Asked, Grant, Rule};

fn anna() -> Actor {
    let rule = |verbs: &[&'static str], resources: &[&'static str]| Rule {
        verbs: verbs.to_vec(),
        groups: vec![ALL],
        resources: resources.to_vec(),
        ..Rule::default()
    };
    let own = Grant {
        namespace: Some("anna".into()),
        rules: vec![rule(&["get", "list"], &[ALL]), rule(&["create"], &["things", "things/log"])],
    };
    Actor::new("anna", vec![own])
}

fn asked(verb: &str, resource: &str, namespace: &str, name: &str) -> Asked {
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    Asked::resource(verb, ("hearth.dev", resource, part), namespace, name)
}

#[test]
fn a_grant_holds_in_its_namespace_and_nowhere_else() {
    let anna = anna();
    for (verb, resource, namespace, wanted) in [
        ("get", "things", "anna", true),
        ("get", "things/status", "anna", true),
        ("list", "others", "anna", true),
        ("create", "things", "anna", true),
        ("create", "things/log", "anna", true),
        ("create", "things/status", "anna", false),
        ("create", "others", "anna", false),
        ("delete", "things", "anna", false),
        ("get", "things", "ben", false),
        ("get", "things", "", false),
        ("get", "things", "ann", false),
    ] {
        assert_eq!(anna.may(&asked(verb, resource, namespace, "x")), wanted, "{verb} {resource} {namespace}");
    }
    assert!(!anna.may(&Asked::path("get", "/metrics")));
    let admin = Actor::of_everything("admin");
    assert!(admin.may(&asked("get", "things", "ben", "x")) && admin.may(&Asked::path("get", "/metrics")));
}

#[test]
fn a_namespace_lies_in_itself_and_the_list_of_them_in_none() {
    let anna = anna();
    let of = |verb: &str, name: &str| Asked::resource(verb, ("", "namespaces", ""), "", name);
    assert!(anna.may(&of("get", "anna")));
    assert!(!anna.may(&of("get", "ben")));
    assert!(!anna.may(&of("list", "")));
}

#[test]
fn a_refusal_names_the_missing_right_in_the_words_of_kubernetes() {
    let anna = anna();
    let said =
        |asked: &Asked| anna.check(asked).unwrap_err().to_value()["message"].as_str().unwrap().to_owned();
    assert_eq!(
        said(&asked("list", "apps", "ben", "")),
        "apps.hearth.dev is forbidden: User \"anna\" cannot list resource \"apps\" in API group \"hearth.dev\" in the namespace \"ben\""
    );
    assert_eq!(
        said(&asked("get", "containers/log", "", "web")),
        "containers.hearth.dev \"web\" is forbidden: User \"anna\" cannot get resource \"containers/log\" in API group \"hearth.dev\" at the cluster scope"
    );
    assert_eq!(
        said(&Asked::resource("get", ("", "namespaces", ""), "", "ben")),
        "namespaces \"ben\" is forbidden: User \"anna\" cannot get resource \"namespaces\" in API group \"\" in the namespace \"ben\""
    );
    assert_eq!(
        said(&Asked::path("get", "/metrics")),
        "forbidden: User \"anna\" cannot get path \"/metrics\""
    );
}

#[test]
fn a_rule_can_be_for_names_and_for_places_below_one() {
    let rule = Rule {
        verbs: vec!["get"],
        groups: vec![""],
        resources: vec!["things"],
        names: vec!["a".into()],
        paths: vec!["/hearth/*"],
    };
    let some = Actor::new("some", vec![Grant { namespace: None, rules: vec![rule] }]);
    let of = |name: &str| Asked::resource("get", ("", "things", ""), "home", name);
    assert!(some.may(&of("a")) && !some.may(&of("b")) && !some.may(&of("")));
    assert!(some.may(&Asked::path("get", "/hearth/x")) && !some.may(&Asked::path("get", "/metrics")));
}
