//! From one admitted service to its Container, with the sandbox every app gets (AL-26 to AL-33): its own network,
//! no capabilities, no new privileges, a forced restart except for jobs, an image by digest.

use std::time::Duration;

use hearth_charts::admit::{
    Condition, EnvPart as AdmittedPart, EnvVar as AdmittedVar, Health, Restart as AdmittedRestart, Service,
};
use hearth_kinds::container::{
    ContainerType, Dependency, DependencyCondition, EnvPart, EnvSource, EnvVar, HealthCheck, ImagePin, Mount,
    NetworkLink, Restart, Stop, Tmpfs,
};
use hearth_kinds::shared::{Label, Limits, SecretKeyRef};
use hearth_kinds::{App, Container, ContainerSpec};

use super::given;
use super::render::Rendering;

/// Docker's own, where a compose file says nothing.
const DEFAULT_SECONDS: i64 = 30;
const DEFAULT_RETRIES: i64 = 3;

/// The Container of a service, pinned to an image.
pub(super) fn container(rendering: &Rendering<'_>, service: &Service, pin: String) -> Container {
    let app = rendering.app();
    let spec = ContainerSpec {
        image: ImagePin { image: rendering.image_name(service), digest: pin },
        command: service.command.clone(),
        entrypoint: service.entrypoint.clone(),
        working_dir: service.working_dir.clone(),
        user: service.user.clone(),
        env: service.environment.iter().map(|variable| env(app, variable)).collect(),
        mounts: mounts(rendering, service),
        tmpfs: service
            .tmpfs
            .iter()
            .map(|t| Tmpfs {
                path: t.target.clone(),
                size_limit: t.size.map(|size| size.to_string()),
                mode: t.mode.map(|mode| format!("{mode:o}")),
            })
            .collect(),
        files: service.files.iter().map(|file| given::file(rendering, file)).collect(),
        surroundings: given::surroundings(service),
        read_only_root: service.read_only,
        networks: vec![NetworkLink { name: rendering.wanted.name().to_owned(), aliases: aliases(service) }],
        health: service.health.as_ref().and_then(health),
        depends_on: depends_on(rendering, service),
        r#type: if service.job { ContainerType::Job } else { ContainerType::Service },
        restart: match service.restart {
            AdmittedRestart::UnlessStopped => Restart::UnlessStopped,
            AdmittedRestart::OnFailure => Restart::OnFailure,
            AdmittedRestart::Never => Restart::Never,
        },
        power: app.spec.state,
        stop: Stop {
            grace_seconds: service.stop_grace.map_or(10, seconds),
            signal: service.stop_signal.clone(),
        },
        resources: limits(app, service),
        devices: service.devices.iter().map(|device| device.source.clone()).collect(),
        labels: service
            .labels
            .iter()
            .map(|(name, value)| Label { name: name.clone(), value: value.clone() })
            .collect(),
        init: service.init.unwrap_or(false),
        hostname: service.hostname.clone(),
        health_deadline_seconds: app.spec.health_deadline_seconds,
        drift_policy: app.spec.drift_policy,
        ..ContainerSpec::default()
    };
    Container::new(&rendering.container_name(&service.name), spec)
}

/// What of a service has no effect yet, one sentence each.
pub(super) fn without_effect(service: &Service) -> Vec<String> {
    let own_test = matches!(service.health, Some(Health::Check { test: None, .. }));
    [(own_test, "healthcheck without a test of its own")]
        .into_iter()
        .filter(|(given, _)| *given)
        .map(|(_, what)| format!("services.{}: {what} has no effect", service.name))
        .collect()
}

fn aliases(service: &Service) -> Vec<String> {
    let mut aliases = vec![service.name.clone()];
    aliases.extend(service.aliases.iter().filter(|alias| **alias != service.name).cloned());
    aliases
}

fn mounts(rendering: &Rendering<'_>, service: &Service) -> Vec<Mount> {
    let mount = |mount: &hearth_charts::admit::Mount| Mount {
        volume: rendering.volume_name(&mount.source),
        path: mount.target.clone(),
        read_only: mount.read_only,
    };
    service.mounts.iter().map(mount).collect()
}

/// A stretch of a value as it stands in the Container.
pub(super) fn part(app: &App, part: &AdmittedPart) -> EnvPart {
    match part {
        AdmittedPart::Text(text) => EnvPart { text: Some(text.clone()), secret_key_ref: None },
        AdmittedPart::Secret(name) => EnvPart { text: None, secret_key_ref: Some(secret(app, name)) },
    }
}

/// A plain value stays plain; one that holds a secret says where the secret is kept.
fn env(app: &App, variable: &AdmittedVar) -> EnvVar {
    let has_secret = variable.parts.iter().any(|part| matches!(part, AdmittedPart::Secret(_)));
    let (value, value_from) = match variable.parts.as_slice() {
        [AdmittedPart::Secret(name)] => {
            (None, Some(EnvSource { secret_key_ref: Some(secret(app, name)), parts: Vec::new() }))
        }
        parts if has_secret => (
            None,
            Some(EnvSource {
                secret_key_ref: None,
                parts: parts.iter().map(|each| part(app, each)).collect(),
            }),
        ),
        parts => {
            let texts =
                parts.iter().map(|part| if let AdmittedPart::Text(text) = part { text.as_str() } else { "" });
            (Some(texts.collect()), None)
        }
    };
    EnvVar { name: variable.name.clone(), value, value_from }
}

fn secret(app: &App, name: &str) -> SecretKeyRef {
    let value = app.spec.values.iter().find(|value| value.name == name);
    let source = value.and_then(|value| value.value_from.as_ref());
    source
        .map(|source| source.secret_key_ref.clone())
        .expect("only values kept in a secret are given as secret")
}

/// `None` leaves it to the image.
fn health(health: &Health) -> Option<HealthCheck> {
    let duration = |given: &Option<Duration>| given.map_or(DEFAULT_SECONDS, seconds);
    match health {
        Health::Disabled => Some(HealthCheck {
            test: vec!["NONE".into()],
            interval_seconds: DEFAULT_SECONDS,
            timeout_seconds: DEFAULT_SECONDS,
            retries: DEFAULT_RETRIES,
            start_period_seconds: 0,
        }),
        Health::Check { test: None, .. } => None,
        Health::Check { test: Some(test), interval, timeout, start_period, retries, .. } => {
            Some(HealthCheck {
                test: test.clone(),
                interval_seconds: duration(interval),
                timeout_seconds: duration(timeout),
                retries: retries
                    .map_or(DEFAULT_RETRIES, |retries| i64::try_from(retries).unwrap_or(DEFAULT_RETRIES)),
                start_period_seconds: start_period.map_or(0, seconds),
            })
        }
    }
}

/// Whole seconds, never none of a time that is some: the engine takes zero for its default.
fn seconds(duration: Duration) -> i64 {
    let up = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i64::try_from(up).unwrap_or(i64::MAX)
}

/// A dependency that may fail is one on its start alone, and only where the service is there at all.
fn depends_on(rendering: &Rendering<'_>, service: &Service) -> Vec<Dependency> {
    let is_there = |name: &str| rendering.services().iter().any(|service| service.name == name);
    let dependencies = service.depends_on.iter().filter(|dependency| is_there(&dependency.service));
    dependencies
        .map(|dependency| Dependency {
            container: rendering.container_name(&dependency.service),
            condition: match dependency.condition {
                _ if !dependency.required => DependencyCondition::Started,
                Condition::Started => DependencyCondition::Started,
                Condition::Healthy => DependencyCondition::Healthy,
                Condition::Completed => DependencyCondition::Completed,
            },
        })
        .collect()
}

/// The person's limits count before the author's.
fn limits(app: &App, service: &Service) -> Limits {
    let own = &app.spec.resources;
    Limits {
        memory_limit: own
            .memory_limit
            .clone()
            .or_else(|| service.memory_limit.map(|bytes| bytes.to_string())),
        cpu_limit: own
            .cpu_limit
            .clone()
            .or_else(|| service.cpu_limit_millis.map(|millis| format!("{millis}m"))),
    }
}
