//! The pure beats: what differs, what is planned, what is told. Each case changes one thing of a container that is
//! exactly as wanted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hearth_capabilities::containers::{
    BoundFolder, ContainerFacts, Health, ImageDefaults, ListedContainer, NetworkPlace, RunState,
};
use hearth_capabilities::images::ImageFacts;
use hearth_engine::controller::{Outcome, Plan, Seen, Wanted};
use hearth_kinds::container::{
    ContainerType, DependencyCondition, EnvVar, HealthCheck, ImagePin, Mount, NetworkLink, Restart,
};
use hearth_kinds::{Container, ContainerSpec, ContainerStatus, Power};
use hearth_meta::{Reason, Time, Timestamp, Verdict, labels};

use super::crashes::Crashes;
use super::given::GivenSeen;
use super::observe::{ContainerSeen, EnvValue, NetworkSeen, Unmet};
use super::plan::{ContainerStep, plan};
use super::{diff, status};
use crate::jobs::Completion;
use crate::naming::Ownership;

mod given;

const UID: &str = "uid-1";

pub(super) fn spec() -> ContainerSpec {
    ContainerSpec {
        image: ImagePin { image: "web".into(), digest: "sha256:d".into() },
        env: vec![
            EnvVar { name: "TZ".into(), value: Some("UTC".into()), value_from: None },
            EnvVar { name: "PW".into(), value: None, value_from: Some(Default::default()) },
        ],
        mounts: vec![Mount { volume: "data".into(), path: "/data".into(), read_only: false }],
        networks: vec![NetworkLink { name: "photos".into(), aliases: vec!["web".into()] }],
        health_deadline_seconds: 60,
        ..ContainerSpec::default()
    }
}

pub(super) fn wanted(spec: ContainerSpec) -> Wanted<Container> {
    let mut container = Container::new("photos-web", spec);
    container.metadata.namespace = Some("household".into());
    container.metadata.uid = Some(UID.into());
    container.metadata.generation = Some(1);
    Wanted { object: Arc::new(container), gone: false, now: Timestamp::UNIX_EPOCH }
}

/// What is seen when everything is as wanted and healthy.
pub(super) fn seen() -> ContainerSeen {
    let env = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
    let image = ImageDefaults { command: vec!["serve".into()], env: env.clone(), ..ImageDefaults::default() };
    let labels = BTreeMap::from([
        (labels::OWNER_UID.to_owned(), UID.to_owned()),
        (labels::UID.to_owned(), UID.to_owned()),
    ]);
    let container = ContainerFacts {
        id: "c1".into(),
        name: "hearth_household_photos-web".into(),
        image_id: "sha256:i".into(),
        command: image.command.clone(),
        entrypoint: Vec::new(),
        working_dir: String::new(),
        user: String::new(),
        env: env.into_iter().chain([("TZ".into(), "UTC".into()), ("PW".into(), "hash".into())]).collect(),
        mounts: vec![BoundFolder { host_path: "/d".into(), path: "/data".into(), read_only: false }],
        tmpfs: Vec::new(),
        read_only_root: false,
        networks: vec![NetworkPlace {
            name: "hearth_household_photos".into(),
            network_id: "n1".into(),
            aliases: vec!["web".into()],
            ip: "10.0.0.2".into(),
        }],
        health_check: None,
        restart: Some(Restart::UnlessStopped),
        stop_grace: Some(Duration::from_secs(10)),
        stop_signal: String::new(),
        memory_bytes: None,
        millicpus: None,
        surroundings: Default::default(),
        devices: Vec::new(),
        capabilities: Vec::new(),
        drops_all: true,
        no_new_privileges: true,
        ports: Vec::new(),
        labels,
        init: false,
        hostname: None,
        foreign: Vec::new(),
        state: RunState { status: "running".into(), running: true, ..RunState::default() },
        image: image.clone(),
    };
    ContainerSeen {
        container: Some(container),
        ownership: Ownership::Mine,
        image: Some(ImageFacts {
            id: "sha256:i".into(),
            digest: Some("sha256:d".into()),
            size_bytes: 1,
            volumes: Vec::new(),
        }),
        image_reference: "example/web:1".into(),
        image_defaults: Some(image),
        env: BTreeMap::from([
            ("TZ".into(), Ok(EnvValue::Plain("UTC".into()))),
            ("PW".into(), Ok(EnvValue::Secret("hash".into()))),
        ]),
        volumes: BTreeMap::from([("data".into(), Ok("/d".into()))]),
        files: Ok(GivenSeen { paths: Some(Vec::new()), hash: String::new() }),
        still_holds: false,
        networks: BTreeMap::from([(
            "photos".into(),
            NetworkSeen { engine_name: "hearth_household_photos".into(), id: Some("n1".into()) },
        )]),
        unmet: Vec::new(),
        hidden: ["PW".to_owned()].into(),
        strays: Vec::new(),
        crashes: Crashes::default(),
        log_tail: None,
        recorded: None,
    }
}

fn with(change: impl FnOnce(&mut ContainerFacts)) -> ContainerSeen {
    let mut seen = seen();
    change(seen.container.as_mut().unwrap());
    seen
}

fn fields(wanted: &Wanted<Container>, seen: &ContainerSeen) -> Vec<String> {
    match diff::seen(wanted, seen) {
        Seen::Ours(differences) => differences.into_iter().map(|difference| difference.field).collect(),
        other => panic!("{other:?}"),
    }
}

fn stop(id: &str) -> ContainerStep {
    ContainerStep::Stop { id: id.into(), grace: Duration::from_secs(10) }
}

fn first_step(wanted: &Wanted<Container>, seen: &ContainerSeen) -> Option<ContainerStep> {
    plan(wanted, seen).steps.into_iter().next()
}

#[test]
fn what_is_as_wanted_has_no_difference_and_no_step() {
    let wanted = wanted(spec());
    assert_eq!(diff::seen(&wanted, &seen()), Seen::Ours(Vec::new()));
    assert_eq!(plan(&wanted, &seen()), Plan::nothing());
}

#[test]
fn every_field_that_differs_is_named_and_mended_by_making_the_container_anew() {
    let check = |field: &str, change: fn(&mut ContainerFacts)| {
        let (wanted, seen) = (wanted(spec()), with(change));
        assert_eq!(fields(&wanted, &seen), [field]);
        assert_eq!(first_step(&wanted, &seen), Some(stop("c1")), "{field}");
    };
    check("spec.image", |seen| seen.image_id = "sha256:other".into());
    check("spec.command", |seen| seen.command = vec!["sh".into()]);
    check("spec.entrypoint", |seen| seen.entrypoint = vec!["sh".into()]);
    check("spec.user", |seen| seen.user = "0".into());
    check("spec.workingDir", |seen| seen.working_dir = "/tmp".into());
    check("spec.env[TZ]", |seen| drop(seen.env.insert("TZ".into(), "CET".into())));
    check("spec.env[PW]", |seen| drop(seen.env.insert("PW".into(), "another".into())));
    check("spec.env[EXTRA]", |seen| drop(seen.env.insert("EXTRA".into(), "1".into())));
    check("spec.env[PATH]", |seen| drop(seen.env.remove("PATH")));
    check("spec.mounts", |seen| seen.mounts[0].host_path = "/etc".into());
    check("spec.readOnlyRoot", |seen| seen.read_only_root = true);
    check("spec.restart", |seen| seen.restart = None);
    check("spec.stop.graceSeconds", |seen| seen.stop_grace = None);
    check("spec.stop.signal", |seen| seen.stop_signal = "SIGINT".into());
    check("spec.capabilities", |seen| seen.capabilities = vec!["NET_ADMIN".into()]);
    check("sandbox.dropsAllCapabilities", |seen| seen.drops_all = false);
    check("sandbox.noNewPrivileges", |seen| seen.no_new_privileges = false);
    check("sandbox", |seen| seen.foreign = vec!["privileged".into()]);
    check("spec.resources.memoryLimit", |seen| seen.memory_bytes = Some(1));
    check("spec.devices", |seen| seen.devices = vec!["/dev/mem".into()]);
    check("spec.surroundings", |seen| seen.surroundings.tty = true);
    check("spec.init", |seen| seen.init = true);
    check("metadata.labels", |seen| drop(seen.labels.remove(labels::OWNER_UID)));
}

/// The engine tells `[NONE]` back as it was told.
#[test]
fn a_check_that_is_turned_off_is_none_wherever_it_is_said() {
    let check = |test: &str| HealthCheck {
        test: vec![test.to_owned()],
        interval_seconds: 30,
        timeout_seconds: 30,
        retries: 3,
        start_period_seconds: 0,
    };
    let off = wanted(ContainerSpec { health: Some(check("NONE")), ..spec() });
    let seen_as = |seen: Option<HealthCheck>| with(|container| container.health_check = seen);
    assert!(fields(&off, &seen_as(Some(check("NONE")))).is_empty());
    assert!(fields(&off, &seen_as(None)).is_empty());
    assert_eq!(fields(&off, &seen_as(Some(check("CMD")))), ["spec.health"]);
    let on = wanted(ContainerSpec { health: Some(check("CMD")), ..spec() });
    assert_eq!(fields(&on, &seen_as(Some(check("NONE")))), ["spec.health"]);
}

#[test]
fn a_secret_is_never_shown() {
    let seen = with(|seen| drop(seen.env.insert("PW".into(), "another".into())));
    let Seen::Ours(differences) = diff::seen(&wanted(spec()), &seen) else { panic!("it is ours") };
    let shown = format!("{differences:?}");
    assert!(shown.contains("(secret)") && !shown.contains("another\""), "{shown}");
}

#[test]
fn a_value_that_was_secret_stays_hidden_when_the_spec_no_longer_calls_it_so() {
    let check = |field: &str, change: fn(&mut ContainerSpec, &mut ContainerSeen)| {
        let (mut spec, mut seen) = (spec(), seen());
        change(&mut spec, &mut seen);
        let Seen::Ours(differences) = diff::seen(&wanted(spec), &seen) else { panic!("it is ours") };
        assert_eq!(differences.iter().map(|d| d.field.as_str()).collect::<Vec<_>>(), [field]);
        assert!(differences[0].seen.as_ref().unwrap().contains("(secret)"), "{differences:?}");
    };
    check("spec.env[PW]", |spec, seen| {
        spec.env.retain(|variable| variable.name != "PW");
        seen.env.remove("PW");
    });
    check("spec.env[PW]", |_, seen| drop(seen.env.insert("PW".into(), Ok(EnvValue::Plain("open".into())))));
}

#[test]
fn a_renamed_container_goes_before_another_is_made() {
    let stray = ListedContainer {
        id: "c0".into(),
        name: "old-db".into(),
        labels: BTreeMap::new(),
        state: "running".into(),
    };
    let seen = ContainerSeen { container: None, strays: vec![stray], ..seen() };
    assert_eq!(plan(&wanted(spec()), &seen).steps, [stop("c0"), ContainerStep::Remove("c0".into())]);
    let gone = Wanted { gone: true, ..wanted(spec()) };
    assert_eq!(first_step(&gone, &seen), Some(stop("c0")));
    assert_eq!(fields(&gone, &seen), ["metadata.name"]);
}

#[test]
fn a_network_nobody_asked_for_is_left() {
    let extra = NetworkPlace {
        name: "hearth-system_control".into(),
        network_id: "n9".into(),
        aliases: vec![],
        ip: String::new(),
    };
    let seen = with(|seen| seen.networks.push(extra));
    assert_eq!(fields(&wanted(spec()), &seen), ["spec.networks"]);
    assert_eq!(
        first_step(&wanted(spec()), &seen),
        Some(ContainerStep::Detach("hearth-system_control".into()))
    );
}

#[test]
fn an_author_s_label_that_is_no_longer_wanted_is_a_difference_and_the_image_s_own_is_not() {
    let left = with(|seen| drop(seen.labels.insert("team".into(), "a".into())));
    assert_eq!(fields(&wanted(spec()), &left), ["spec.labels[team]"]);
    let own = with(|seen| drop(seen.image.labels.insert("team".into(), "a".into())));
    let label = hearth_kinds::shared::Label { name: "team".into(), value: "a".into() };
    let same = ContainerSpec { labels: vec![label], ..spec() };
    assert!(fields(&wanted(same), &own).is_empty());
    assert!(fields(&wanted(spec()), &own).is_empty());
}

#[test]
fn a_lost_place_on_a_network_is_mended_while_it_runs() {
    let check = |change: fn(&mut ContainerFacts)| {
        let (wanted, seen) = (wanted(spec()), with(change));
        assert_eq!(first_step(&wanted, &seen), Some(ContainerStep::Attach("photos".into())));
    };
    check(|seen| seen.networks.clear());
    check(|seen| seen.networks[0].network_id = "n0".into());
    check(|seen| seen.networks[0].aliases.clear());
    let mut no_network = with(|seen| seen.networks.clear());
    no_network.networks.get_mut("photos").unwrap().id = None;
    assert_eq!(plan(&wanted(spec()), &no_network).wait.unwrap().on[0].kind, "Network");
}

#[test]
fn two_supervisors_never_fight() {
    let state =
        |status: &str, code: i64| RunState { status: status.into(), exit_code: code, ..RunState::default() };
    let restarting = with(|seen| seen.state = state("restarting", 1));
    assert_eq!(plan(&wanted(spec()), &restarting).wait.map(|wait| wait.reason), Some(Reason::Restarting));
    let stopped_by_hand = with(|seen| seen.state = state("exited", 137));
    assert_eq!(fields(&wanted(spec()), &stopped_by_hand), ["spec.power"]);
    assert_eq!(first_step(&wanted(spec()), &stopped_by_hand), Some(ContainerStep::Start("c1".into())));
}

#[test]
fn the_old_container_stays_until_everything_the_new_one_needs_is_here() {
    let check = |expected: &str, change: fn(&mut ContainerSeen)| {
        let mut seen = with(|seen| seen.user = "old".into());
        change(&mut seen);
        let plan = plan(&wanted(spec()), &seen);
        assert!(plan.steps.is_empty(), "{plan:?}");
        let said = plan.wait.map(|wait| wait.message).or(plan.stuck.map(|stuck| stuck.message)).unwrap();
        assert!(said.contains(expected), "{said}");
    };
    check("image example/web:1", |seen| seen.image = None);
    check("no key", |seen| drop(seen.env.insert("PW".into(), Err("Secret photos has no key pw".into()))));
    check("is not there", |seen| {
        drop(seen.volumes.insert("data".into(), Err("Volume data is not there".into())))
    });
    check("network photos", |seen| seen.networks.get_mut("photos").unwrap().id = None);
    fn unmet(has_no_check: bool) -> Unmet {
        Unmet { container: "db".into(), condition: DependencyCondition::Healthy, has_no_check }
    }
    check("db to become healthy", |seen| seen.unmet = vec![unmet(false)]);
    check("never becomes healthy", |seen| seen.unmet = vec![unmet(true)]);
}

#[test]
fn what_runs_is_left_alone_when_a_dependency_falls_ill() {
    let mut seen = seen();
    seen.unmet =
        vec![Unmet { container: "db".into(), condition: DependencyCondition::Healthy, has_no_check: false }];
    assert_eq!(plan(&wanted(spec()), &seen), Plan::nothing());
}

#[test]
fn a_container_that_is_not_ours_is_named_and_left_alone() {
    for (whose, said) in [(Ownership::Foreign, "did not make"), (Ownership::OtherHome, "another Hearth")] {
        let seen = ContainerSeen { ownership: whose, ..seen() };
        let Seen::Foreign(message) = diff::seen(&wanted(spec()), &seen) else { panic!("it is foreign") };
        assert!(message.contains(said), "{message}");
        let gone = Wanted { gone: true, ..wanted(spec()) };
        assert_eq!(plan(&gone, &seen), Plan::nothing());
    }
    let predecessor = ContainerSeen { ownership: Ownership::Predecessor, ..seen() };
    assert_eq!(first_step(&wanted(spec()), &predecessor), Some(stop("c1")));
}

fn job() -> ContainerSpec {
    ContainerSpec { r#type: ContainerType::Job, restart: Restart::Never, ..spec() }
}

fn exited(code: i64) -> ContainerSeen {
    with(|seen| {
        seen.restart = Some(Restart::Never);
        let (status, at) = ("exited".to_owned(), Some(Timestamp::UNIX_EPOCH));
        seen.state = RunState { status, exit_code: code, finished_at: at, ..RunState::default() };
    })
}

#[test]
fn a_finished_job_is_satisfied_for_ever_for_its_own_spec() {
    let fresh = wanted(job());
    assert_eq!(plan(&fresh, &exited(0)), Plan::nothing());
    let report = status::report(&fresh, Ok(&exited(0)), &Outcome::Steady);
    assert_eq!(
        (report.status.common.summary, report.status.common.reason),
        (Some(Verdict::Ready), Some(Reason::Completed))
    );
    let after = |spec: ContainerSpec| {
        let mut wanted = wanted(spec);
        Arc::get_mut(&mut wanted.object).unwrap().status = Some(report.status.clone());
        wanted
    };
    let pruned = ContainerSeen { container: None, ..seen() };
    assert_eq!(diff::seen(&after(job()), &pruned), Seen::Ours(Vec::new()));
    assert_eq!(plan(&after(job()), &pruned), Plan::nothing());
    // What it waits for, and when it should run, is not its own work.
    let rewired =
        ContainerSpec { depends_on: vec![], power: Power::Running, health_deadline_seconds: 5, ..job() };
    assert_eq!(plan(&after(rewired), &pruned), Plan::nothing());
    let changed = ContainerSpec { command: Some(vec!["again".into()]), ..job() };
    assert_eq!(first_step(&after(changed), &pruned), Some(ContainerStep::Create));
}

#[test]
fn a_failed_job_is_told_and_not_run_again_by_itself() {
    let plan = plan(&wanted(job()), &exited(3));
    assert_eq!(plan.stuck.map(|stuck| stuck.reason), Some(Reason::JobFailed));
}

#[test]
fn health_is_waited_for_with_a_deadline_and_never_blamed_on_the_start() {
    let unwell = |health| with(|seen| seen.state.health = Some(health));
    let waits =
        |wanted: &Wanted<Container>, health| plan(wanted, &unwell(health)).wait.map(|wait| wait.reason);
    let fresh = wanted(spec());
    assert_eq!(waits(&fresh, Health::Starting), Some(Reason::Starting));
    assert_eq!(waits(&fresh, Health::Healthy), None);
    let status = |health: &str, since: Option<Timestamp>| {
        let mut wanted = wanted(spec());
        let status = ContainerStatus {
            health: Some(health.into()),
            waiting_since: since.map(Time),
            ..ContainerStatus::default()
        };
        Arc::get_mut(&mut wanted.object).unwrap().status = Some(status);
        wanted
    };
    assert_eq!(waits(&status("healthy", None), Health::Unhealthy), Some(Reason::Unhealthy));
    let mut late = status("starting", Some(Timestamp::UNIX_EPOCH));
    late.now = Timestamp::from_second(61).unwrap();
    assert_eq!(waits(&late, Health::Starting), Some(Reason::HealthDeadlineExceeded));
}

#[test]
fn what_should_be_stopped_is_stopped_and_needs_no_container() {
    let stopped = ContainerSpec { power: Power::Stopped, ..spec() };
    assert_eq!(first_step(&wanted(stopped.clone()), &seen()), Some(stop("c1")));
    let absent = ContainerSeen { container: None, ..seen() };
    assert_eq!(plan(&wanted(stopped.clone()), &absent), Plan::nothing());
    assert_eq!(diff::seen(&wanted(stopped), &absent), Seen::Ours(Vec::new()));
}

#[test]
fn deletion_stops_first_and_then_removes() {
    let gone = Wanted { gone: true, ..wanted(spec()) };
    let steps = plan(&gone, &seen()).steps;
    assert_eq!(steps, [stop("c1"), ContainerStep::Remove("c1".into())]);
    let absent = ContainerSeen { container: None, ..seen() };
    assert_eq!(diff::seen(&gone, &absent), Seen::Absent);
}

#[test]
fn one_that_dies_again_and_again_is_left_to_the_engine_and_shown_with_its_last_lines() {
    let mut seen = with(|container| {
        (container.state.status, container.state.running) = ("restarting".into(), false);
        container.state.exit_code = 3;
    });
    seen.crashes.looping = Some(Timestamp::UNIX_EPOCH);
    seen.log_tail = Some(vec!["no database".into()]);
    let wanted = wanted(spec());
    let planned = plan(&wanted, &seen);
    assert!(planned.steps.is_empty(), "{planned:?}");
    let outcome = Outcome::Waiting(planned.wait.unwrap());
    let status = status::report(&wanted, Ok(&seen), &outcome).status;
    assert_eq!(
        (status.common.summary, status.common.reason),
        (Some(Verdict::Degraded), Some(Reason::CrashLooping))
    );
    assert!(status.common.message.unwrap().contains("exit code 3"));
    assert_eq!(status.crash_loop.unwrap().log_tail, ["no database"]);
}

#[test]
fn a_job_that_its_instance_remembers_as_done_is_not_run_again() {
    let job = wanted(ContainerSpec { r#type: ContainerType::Job, ..spec() });
    let mut seen = ContainerSeen { container: None, ownership: Ownership::Foreign, ..seen() };
    assert_eq!(first_step(&job, &seen), Some(ContainerStep::Create));
    let completed_at = Some(Time(Timestamp::UNIX_EPOCH));
    let recorded =
        |hash: String| Some(Completion { completed_for: hash, completed_at: completed_at.clone() });
    seen.recorded = recorded("of another spec".into());
    assert_eq!(first_step(&job, &seen), Some(ContainerStep::Create));
    seen.recorded = recorded(diff::job_hash(&job.object.spec));
    assert_eq!((plan(&job, &seen), diff::seen(&job, &seen)), (Plan::nothing(), Seen::Ours(Vec::new())));
    let status = status::report(&job, Ok(&seen), &Outcome::Steady).status;
    assert_eq!((status.completed_at, status.common.summary), (completed_at, Some(Verdict::Ready)));
}
