//! The pure beats: what differs, what is planned, what is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_capabilities::networks::NetworkFacts;
use hearth_engine::controller::{Blind, Outcome, Plan, Seen, Wanted};
use hearth_kinds::network::Guest;
use hearth_kinds::{Network, NetworkSpec};
use hearth_meta::Timestamp;
use hearth_meta::condition::ConditionStatus;

use super::{NetworkSeen, NetworkStep, differences, plan, status, strangers};
use crate::naming::{Naming, Ownership};

const PROXY: &str = "hearth-system_caddy";

fn wanted(namespace: &str, guests: &[&str]) -> Wanted<Network> {
    let guests = guests.iter().map(|name| Guest { container: (*name).to_owned() }).collect();
    let spec = NetworkSpec { subnet: Some("10.89.4.0/24".into()), guests, ..NetworkSpec::default() };
    let mut network = Network::new("photos", spec);
    network.metadata.namespace = Some(namespace.into());
    network.metadata.uid = Some("uid-1".into());
    Wanted { object: Arc::new(network), gone: false, now: Timestamp::UNIX_EPOCH }
}

fn network(attached: &[&str]) -> NetworkFacts {
    NetworkFacts {
        id: "n1".into(),
        name: "hearth_household_photos".into(),
        driver: "bridge".into(),
        subnet: "10.89.4.0/24".into(),
        internal: false,
        labels: BTreeMap::new(),
        attached: attached.iter().map(|name| (*name).to_owned()).collect(),
        foreign: Vec::new(),
    }
}

fn seen(wanted: &Wanted<Network>, ownership: Ownership, attached: &[&str]) -> NetworkSeen {
    let network = network(attached);
    let strangers = strangers(&Naming::new("hearth"), &wanted.object, &network);
    NetworkSeen { network: Some(network), ownership, guests: Vec::new(), strangers }
}

#[test]
fn hearths_own_container_is_detached_once_it_is_no_guest_and_nobody_elses_is() {
    let cases: [(&str, &[&str], bool); 4] = [
        ("household", &[], true),
        ("household", &["system/caddy"], false),
        ("household", &["system/other"], true),
        ("system", &[], false),
    ];
    for (namespace, guests, goes) in cases {
        let wanted = wanted(namespace, guests);
        let facts = seen(&wanted, Ownership::Mine, &["hearth_household_photos-web", PROXY, "by-hand"]);
        let steps = if goes { vec![NetworkStep::Detach(PROXY.into())] } else { Vec::new() };
        assert_eq!(plan(&wanted, &facts), Plan::steps(steps), "{namespace} {guests:?}");
        let Seen::Ours(found) = differences(&wanted, &facts) else { panic!("it is ours") };
        assert_eq!(!found.is_empty(), goes, "{found:?}");
    }
}

#[test]
fn only_of_its_own_network_the_id_is_told() {
    let wanted = wanted("household", &[]);
    for (whose, told) in [
        (Ownership::Mine, Some("n1")),
        (Ownership::Predecessor, None),
        (Ownership::OtherHome, None),
        (Ownership::Foreign, None),
    ] {
        let facts = seen(&wanted, whose, &["hearth_household_photos-web"]);
        let status = status(&wanted, Ok(&facts), &Outcome::Steady).status;
        assert_eq!(status.network_id.as_deref(), told, "{whose:?}");
        assert_eq!(status.attached.is_empty(), told.is_none(), "{whose:?}");
    }
}

#[test]
fn in_the_dark_it_is_not_known_whether_it_is_ready() {
    let blind = Blind("no answer".into());
    let outcome = Outcome::Blind { next_try: Timestamp::UNIX_EPOCH };
    let report = status(&wanted("household", &[]), Err(&blind), &outcome);
    assert_eq!(report.conditions[0].status, ConditionStatus::Unknown);
}
