//! Files a container is given: what differs, what is waited for, and what counts as another wish.

use hearth_capabilities::containers::BoundFolder;
use hearth_engine::controller::{Plan, Seen};
use hearth_kinds::ContainerSpec;
use hearth_kinds::container::{EnvPart, GivenFile};
use hearth_meta::Reason;

use super::{fields, first_step, spec, stop, wanted, with};
use crate::container::given::GivenSeen;
use crate::container::observe::ContainerSeen;
use crate::container::{diff, plan::plan};

/// A container with one file, and it is there.
fn with_file() -> (ContainerSpec, ContainerSeen) {
    let part = EnvPart { text: Some("x".into()), secret_key_ref: None };
    let file = GivenFile {
        path: "/run/secrets/door".into(),
        mode: "0400".into(),
        uid: 0,
        gid: 0,
        parts: vec![part],
        of_app: None,
    };
    let spec = ContainerSpec { files: vec![file], ..spec() };
    let mut seen = with(|seen| {
        let given = BoundFolder {
            host_path: "/i/given/0-7".into(),
            path: "/run/secrets/door".into(),
            read_only: true,
        };
        seen.mounts.push(given);
    });
    seen.files = Ok(GivenSeen { paths: Some(vec!["/i/given/0-7".into()]), hash: "h1".into() });
    (spec, seen)
}

#[test]
fn a_given_file_that_is_there_and_mounted_is_no_difference() {
    let (spec, seen) = with_file();
    assert_eq!(diff::seen(&wanted(spec), &seen), Seen::Ours(Vec::new()));
}

#[test]
fn a_given_file_that_was_changed_or_put_elsewhere_makes_the_container_anew() {
    let check = |field: &str, change: fn(&mut ContainerSeen)| {
        let (spec, mut seen) = with_file();
        change(&mut seen);
        let wanted = wanted(spec);
        assert_eq!(fields(&wanted, &seen), [field]);
        assert_eq!(first_step(&wanted, &seen), Some(stop("c1")), "{field}");
    };
    check("spec.files", |seen| seen.files = Ok(GivenSeen { paths: None, hash: "h1".into() }));
    check("spec.mounts", |seen| {
        seen.files = Ok(GivenSeen { paths: Some(vec!["/i/given/0-8".into()]), hash: "h1".into() });
    });
    check("spec.mounts", |seen| drop(seen.container.as_mut().unwrap().mounts.pop()));
}

#[test]
fn a_given_file_whose_secret_is_missing_is_waited_for_and_what_runs_is_left() {
    let (spec, mut seen) = with_file();
    seen.files = Err((Reason::SecretMissing, "Secret door does not exist".into()));
    let wanted = wanted(spec);
    assert_eq!(fields(&wanted, &seen), [""; 0]);
    assert_eq!(plan(&wanted, &seen), Plan::nothing());
    seen.container = None;
    let plan = plan(&wanted, &seen);
    assert_eq!((plan.steps.len(), plan.wait.unwrap().reason), (0, Reason::SecretMissing));
}

#[test]
fn another_content_of_a_given_file_is_another_wish() {
    let (spec, mut seen) = with_file();
    let wanted = wanted(spec);
    let before = diff::target(&wanted, &seen);
    assert_eq!(diff::target(&wanted, &seen), before);
    seen.files = Ok(GivenSeen { paths: None, hash: "h2".into() });
    assert_ne!(diff::target(&wanted, &seen), before);
}
