//! What Docker 20.10 really said had happened, and what it means.

use bollard::models::EventMessage;
use hearth_capabilities::Happening;

use super::{WORTH_TELLING, happening_from};

fn captured() -> Vec<Happening> {
    let lines = include_str!("captured/events.jsonl").lines();
    lines.filter_map(|line| happening_from(serde_json::from_str::<EventMessage>(line).unwrap())).collect()
}

#[test]
fn every_kind_of_event_is_understood() {
    let all = captured();
    assert_eq!(all.len(), include_str!("captured/events.jsonl").lines().count());
    let oom = Happening::Container {
        name: "home-oom".to_owned(),
        uid: Some("u-1".to_owned()),
        action: "oom".to_owned(),
    };
    assert!(all.contains(&oom));
    assert!(all.iter().any(
        |told| matches!(told, Happening::Container { action, .. } if action == "health_status: healthy")
    ));
    assert!(all.contains(&Happening::Network {
        name: "home-net5".to_owned(),
        container: None,
        action: "create".to_owned()
    }));
    assert!(all.iter().any(|told| matches!(told, Happening::Image { reference, .. } if reference == "127.0.0.1:39315/sample/db:1")));
}

#[test]
fn what_is_not_understood_is_left_out() {
    let check = |line: &str| assert_eq!(happening_from(serde_json::from_str(line).unwrap()), None, "{line}");
    check("{}");
    check(r#"{"Type":"container","Action":"die"}"#);
    check(r#"{"Type":"daemon","Action":"reload","Actor":{"ID":"x","Attributes":{"name":"vm"}}}"#);
}

#[test]
fn what_docker_is_asked_to_tell_is_sorted_and_said_once() {
    assert!(WORTH_TELLING.is_sorted());
}
