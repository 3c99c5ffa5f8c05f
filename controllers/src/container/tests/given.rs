//! Files a container is given: what differs, what is waited for, and what counts as another wish.

use hearth_capabilities::containers::BoundFolder;
use hearth_engine::controller::{Plan, Seen, Wanted};
use hearth_kinds::container::{EnvPart, GivenFile};
use hearth_kinds::{Container, ContainerSpec, Power};
use hearth_meta::Reason;

use super::{fields, first_step, job, spec, stop, wanted, with};
use crate::container::diff;
use crate::container::given::GivenSeen;
use crate::container::observe::ContainerSeen;
use crate::container::plan::{ContainerStep, plan};
use crate::jobs::Completion;
use crate::naming::Ownership;

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

fn job_with_file() -> ContainerSpec {
    ContainerSpec { files: with_file().0.files, ..job() }
}

/// The same without a container, and with files that are still given to it.
fn left_behind() -> ContainerSeen {
    ContainerSeen { container: None, ownership: Ownership::Foreign, still_holds: true, ..with_file().1 }
}

#[test]
fn files_go_after_their_container_and_never_before_it() {
    let (spec, seen) = with_file();
    let gone = Wanted { gone: true, ..wanted(spec) };
    assert_eq!(plan(&gone, &seen).steps, [stop("c1"), ContainerStep::Remove("c1".into())]);
    assert_eq!(plan(&gone, &left_behind()).steps, [ContainerStep::TakeBack]);
    let nothing = ContainerSeen { still_holds: false, ..left_behind() };
    assert_eq!((plan(&gone, &nothing), diff::seen(&gone, &nothing)), (Plan::nothing(), Seen::Absent));
}

/// As where people removed the container themselves, or its container engine forgot everything.
#[test]
fn what_is_gone_has_not_gone_while_files_are_given_to_it() {
    for ownership in [Ownership::Foreign, Ownership::OtherHome] {
        let in_its_place = ContainerSeen { ownership, still_holds: true, ..with_file().1 };
        for seen in [left_behind(), in_its_place] {
            // Also where the wish that declared them is no longer known.
            for spec in [with_file().0, spec()] {
                let gone = Wanted { gone: true, ..wanted(spec) };
                assert_eq!(first_step(&gone, &seen), Some(ContainerStep::TakeBack));
                assert_eq!(diff::seen(&gone, &seen), Seen::Ours(Vec::new()), "which keeps the finalizer");
            }
        }
    }
}

#[test]
fn files_that_no_container_is_made_for_are_taken_back() {
    let check = |expected: ContainerStep, wanted: Wanted<Container>, change: fn(&mut ContainerSeen)| {
        let mut seen = left_behind();
        change(&mut seen);
        assert_eq!(first_step(&wanted, &seen), Some(expected));
    };
    let service = || with_file().0;
    check(ContainerStep::TakeBack, wanted(ContainerSpec { power: Power::Stopped, ..service() }), |_| {});
    check(ContainerStep::TakeBack, wanted(service()), |seen| seen.image = None);
    check(ContainerStep::TakeBack, wanted(spec()), |_| {});
    check(ContainerStep::TakeBack, wanted(job_with_file()), |seen| {
        let completed_for = diff::job_hash(&job_with_file());
        seen.recorded = Some(Completion { completed_for, completed_at: None });
    });
    check(ContainerStep::Create, wanted(service()), |_| {});
}
