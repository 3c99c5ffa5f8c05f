//! What the schema cannot say of a container.

use hearth_meta::Problem;

use super::{Container, ContainerSpec, ContainerType, EnvVar, Restart};
use crate::shared::check_unique;

pub(crate) fn validate(new: &Container, _old: Option<&Container>) -> Vec<Problem> {
    let spec = &new.spec;
    let mut problems = check_unique("spec.env", spec.env.iter().map(|e| e.name.as_str()));
    problems.extend(check_unique("spec.mounts", spec.mounts.iter().map(|m| m.path.as_str())));
    problems.extend(check_unique("spec.networks", spec.networks.iter().map(|n| n.name.as_str())));
    problems.extend(spec.resources.check("spec.resources"));
    let absolute =
        spec.mounts.iter().map(|m| ("mounts", &m.path)).chain(spec.tmpfs.iter().map(|t| ("tmpfs", &t.path)));
    for (list, path) in absolute.filter(|(_, path)| !path.starts_with('/')) {
        problems.push(Problem::new(
            format!("spec.{list}"),
            format!("{path:?} must be an absolute path in the container"),
        ));
    }
    if new.metadata.namespace.as_deref() != Some(crate::SYSTEM) {
        let only_system = "is only allowed in namespace system; leave it out";
        if !spec.capabilities.is_empty() {
            problems.push(Problem::new("spec.capabilities", only_system));
        }
        if !spec.ports.is_empty() {
            problems.push(Problem::new("spec.ports", only_system));
        }
    }
    if spec.r#type == ContainerType::Service && spec.restart != Restart::UnlessStopped {
        problems.push(Problem::new("spec.restart", "only a Job may have another restart than UnlessStopped"));
    }
    problems.extend(check_words(spec));
    problems.extend(spec.surroundings.check("spec.surroundings"));
    for (index, tmpfs) in spec.tmpfs.iter().enumerate().filter(|(_, tmpfs)| tmpfs.has_no_mode()) {
        let message = format!("{:?} is not a mode in octal such as \"1777\"", tmpfs.mode);
        problems.push(Problem::new(format!("spec.tmpfs[{index}].mode"), message));
    }
    for (index, file) in spec.files.iter().enumerate() {
        problems.extend(file.check(&format!("spec.files[{index}]")));
    }
    for (index, label) in spec.labels.iter().enumerate().filter(|(_, label)| is_reserved(&label.name)) {
        problems.push(Problem::new(
            format!("spec.labels[{index}].name"),
            format!("{:?} is kept for Hearth", label.name),
        ));
    }
    for (index, env) in spec.env.iter().enumerate() {
        problems.extend(check_env(env, &format!("spec.env[{index}]")));
    }
    problems
}

/// An empty word would be read as "the image's own", and a check without figures as none.
fn check_words(spec: &ContainerSpec) -> Vec<Problem> {
    let words = [
        ("user", spec.user.as_deref()),
        ("workingDir", spec.working_dir.as_deref()),
        ("hostname", spec.hostname.as_deref()),
        ("stop.signal", spec.stop.signal.as_deref()),
    ];
    let empty = words.iter().filter(|(_, word)| *word == Some(""));
    let mut problems: Vec<Problem> = empty
        .map(|(name, _)| {
            Problem::new(format!("spec.{name}"), "must not be empty; leave it out for the image's own")
        })
        .collect();
    if let Some(health) = &spec.health {
        if health.test.is_empty() {
            problems.push(Problem::new(
                "spec.health.test",
                "must not be empty; leave health out for the image's own check",
            ));
        }
        let figures = [
            ("intervalSeconds", health.interval_seconds),
            ("timeoutSeconds", health.timeout_seconds),
            ("retries", health.retries),
        ];
        for (name, _) in figures.iter().filter(|(_, figure)| *figure < 1) {
            problems.push(Problem::new(format!("spec.health.{name}"), "must be at least 1"));
        }
    }
    problems
}

/// Whether a label's name is kept for Hearth, or for what lets people's tools group its containers.
pub fn is_reserved(label: &str) -> bool {
    ["hearth.dev/", "com.docker.compose."].iter().any(|prefix| label.starts_with(prefix))
}

fn check_env(env: &EnvVar, field: &str) -> Option<Problem> {
    let one_source = env.value_from.as_ref().is_none_or(|s| s.secret_key_ref.is_some() == s.parts.is_empty());
    let one_part = env
        .value_from
        .iter()
        .flat_map(|source| &source.parts)
        .all(|part| part.text.is_some() != part.secret_key_ref.is_some());
    if env.name.contains('=') {
        Some(Problem::new(format!("{field}.name"), "may not hold ="))
    } else if env.value.is_some() && env.value_from.is_some() {
        Some(Problem::new(field, "has both value and valueFrom; keep one"))
    } else if !one_source || !one_part {
        Some(Problem::new(format!("{field}.valueFrom"), "needs exactly one of its fields"))
    } else {
        None
    }
}
