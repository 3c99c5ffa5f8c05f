//! The pure beats: what differs, and what is planned.

use std::sync::Arc;

use hearth_capabilities::volumes::{LeafFacts, LeafState};
use hearth_engine::controller::{Plan, Seen, Wanted};
use hearth_kinds::{DataPolicy, Volume, VolumeSpec, VolumeStatus};
use hearth_meta::{Reason, Time, Timestamp};

use super::{VolumeStep, plan, seen};

const UID: &str = "uid-1";

fn wanted(data_policy: DataPolicy, was_made: bool) -> Wanted<Volume> {
    let spec =
        VolumeSpec { instance: "uid-app".into(), path: "db".into(), data_policy, ..VolumeSpec::default() };
    let mut volume = Volume::new("photos-db", spec);
    volume.metadata.uid = Some(UID.into());
    volume.status = Some(VolumeStatus {
        made_at: was_made.then_some(Time(Timestamp::UNIX_EPOCH)),
        ..VolumeStatus::default()
    });
    Wanted { object: Arc::new(volume), gone: false, now: Timestamp::UNIX_EPOCH }
}

fn gone(data_policy: DataPolicy) -> Wanted<Volume> {
    Wanted { gone: true, ..wanted(data_policy, true) }
}

fn folder(marker: Option<&str>) -> LeafState {
    LeafState::Present(LeafFacts {
        marker: marker.map(str::to_owned),
        host_path: "/srv/db".into(),
        uid: 0,
        gid: 0,
        mode: 0o755,
    })
}

fn stuck(plan: &Plan<VolumeStep>) -> Option<Reason> {
    plan.stuck.as_ref().filter(|_| plan.steps.is_empty()).map(|stuck| stuck.reason)
}

#[test]
fn a_folder_is_made_once_and_never_again() {
    let new = wanted(DataPolicy::Retain, false);
    assert_eq!(plan(&new, &LeafState::Absent), Plan::steps(vec![VolumeStep::Make]));
    let made = wanted(DataPolicy::Retain, true);
    assert_eq!(plan(&made, &folder(Some(UID))), Plan::nothing());
    assert_eq!(stuck(&plan(&made, &LeafState::Absent)), Some(Reason::MarkerMissing));
    assert_eq!(stuck(&plan(&made, &folder(None))), Some(Reason::MarkerMissing), "another one in its place");
}

#[test]
fn a_folder_of_another_is_never_taken() {
    let new = wanted(DataPolicy::Delete, false);
    for marker in [None, Some("uid-2")] {
        assert_eq!(stuck(&plan(&new, &folder(marker))), Some(Reason::NotOurs));
        assert!(matches!(seen(&new, &folder(marker)), Seen::Foreign(_)));
    }
}

#[test]
fn data_goes_only_where_it_is_ours_and_its_policy_says_so() {
    let deletes = gone(DataPolicy::Delete);
    assert_eq!(plan(&deletes, &folder(Some(UID))), Plan::steps(vec![VolumeStep::Remove]));
    let stays = [
        (gone(DataPolicy::Retain), folder(Some(UID))),
        (gone(DataPolicy::Delete), folder(Some("uid-2"))),
        (gone(DataPolicy::Delete), folder(None)),
        (gone(DataPolicy::Delete), LeafState::Unsafe("a link".into())),
    ];
    for (wanted, facts) in stays {
        assert_eq!(plan(&wanted, &facts), Plan::nothing(), "{facts:?}");
        assert_eq!(seen(&wanted, &facts), Seen::Absent, "{facts:?}");
    }
}
