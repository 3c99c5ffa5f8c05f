//! What Docker 20.10 really said of a network, and what it means.

use std::collections::{BTreeMap, HashMap};

use bollard::models::NetworkInspect;
use hearth_capabilities::networks::NewNetwork;

use super::{facts_from, is_subnet, request_for};

fn seen() -> NetworkInspect {
    serde_json::from_str(include_str!("captured/network.json")).unwrap()
}

#[test]
fn a_network_is_read_whole() {
    let facts = facts_from(seen());
    assert_eq!((facts.name.as_str(), facts.driver.as_str()), ("home-net5", "bridge"));
    assert_eq!((facts.subnet.as_str(), facts.internal), ("10.213.90.0/24", false));
    assert!(facts.attached.contains(&"home-h".to_owned()), "{:?}", facts.attached);
    assert_eq!(facts.foreign, Vec::<String>::new());
}

#[test]
fn all_that_is_set_by_hand_is_told() {
    let mut seen = seen();
    seen.enable_ipv6 = Some(true);
    seen.attachable = Some(true);
    let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    seen.options = Some(HashMap::from([
        option("com.docker.network.bridge.enable_icc", "false"),
        option("com.docker.network.enable_ipv4", "true"),
    ]));
    let second = seen.ipam.as_mut().unwrap().config.as_mut().unwrap();
    second.push(second[0].clone());
    let told =
        ["IPv6", "attachable", "more than one subnet", "option com.docker.network.bridge.enable_icc=false"];
    assert_eq!(facts_from(seen).foreign, told);
}

#[test]
fn docker_is_asked_to_look_for_the_name_first() {
    let wanted = NewNetwork {
        name: "net".to_owned(),
        subnet: "10.89.4.0/24".to_owned(),
        internal: true,
        labels: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
    };
    let request: serde_json::Value = serde_json::from_slice(&request_for(&wanted).unwrap()).unwrap();
    let expected = serde_json::json!({
        "Name": "net", "Driver": "bridge", "Internal": true, "CheckDuplicate": true,
        "IPAM": { "Config": [{ "Subnet": "10.89.4.0/24" }] }, "Labels": { "a": "b" },
    });
    assert_eq!(request, expected);
}

#[test]
fn subnets_are_told_from_other_words() {
    for subnet in ["10.89.4.0/24", "172.16.0.0/12"] {
        assert!(is_subnet(subnet), "{subnet}");
    }
    for subnet in ["", "10.89.4.0", "10.89.4/24", "10.89.4.0/31", "10.89.4.0/0", "fd00::/64", "x/24"] {
        assert!(!is_subnet(subnet), "{subnet}");
    }
}
