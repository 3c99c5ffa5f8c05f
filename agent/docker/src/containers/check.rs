//! What is refused before Docker is asked.
//!
//! Mostly words Docker takes for "as the image says" or "the default": it would make another container than the one
//! that was asked for, and that container would differ for ever after.

use hearth_capabilities::Fault;
use hearth_capabilities::containers::NewContainer;
use hearth_kinds::container::HealthCheck;

use crate::names::check_name;

/// Sees whether Docker can make exactly this.
///
/// # Errors
/// [`Fault::Refused`] with every problem at once, none of which repeats a variable's value.
pub(super) fn check(wanted: &NewContainer) -> Result<(), Fault> {
    let mut problems = Vec::new();
    if let Err(fault) = check_name(&wanted.name) {
        problems.push(format!("name: {fault}"));
    }
    if !wanted.image_id.starts_with("sha256:") {
        problems.push(format!("image id: {:?} is not an id", wanted.image_id));
    }
    // Docker would repeat the variable in its answer, and its value may be a secret.
    for (index, name) in wanted.env.keys().enumerate() {
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.push(format!("env: the name of variable {} must not be empty or hold '='", index + 1));
        }
    }
    for (field, word) in [
        ("user", &wanted.user),
        ("workingDir", &wanted.working_dir),
        ("stop.signal", &wanted.stop_signal),
        ("hostname", &wanted.hostname),
    ] {
        if word.as_deref() == Some("") {
            problems.push(format!("{field}: is empty; leave it out for the image's own"));
        }
    }
    problems.extend(wanted.health.as_ref().map(of_health).unwrap_or_default());
    let mounts = wanted.mounts.iter().map(|mount| ("mounts", &mount.path));
    let tmpfs = wanted.tmpfs.iter().map(|tmpfs| ("tmpfs", &tmpfs.path));
    for (field, path) in mounts.chain(tmpfs).filter(|(_, path)| !path.starts_with('/')) {
        problems.push(format!("{field}: {path:?} must be an absolute path"));
    }
    if problems.is_empty() { Ok(()) } else { Err(Fault::Refused(problems.join("; "))) }
}

/// The entry point to say for a container whose command is empty: Docker takes an empty command for the image's own,
/// unless an entry point is said too.
///
/// # Errors
/// [`Fault::Refused`] where nothing would be left to run.
pub(super) fn entrypoint_alone(wanted: &NewContainer, of_image: &[String]) -> Result<Vec<String>, Fault> {
    let entrypoint = wanted.entrypoint.as_deref().unwrap_or(of_image);
    if entrypoint.is_empty() {
        let problem = "command: is empty and there is no entrypoint; leave command out for the image's own";
        return Err(Fault::Refused(problem.to_owned()));
    }
    Ok(entrypoint.to_vec())
}

fn of_health(health: &HealthCheck) -> Vec<String> {
    let mut problems = Vec::new();
    if health.test.is_empty() {
        problems
            .push("health.test: is empty; leave health out for the image's own, or say [NONE]".to_owned());
    }
    for (field, number) in [
        ("intervalSeconds", health.interval_seconds),
        ("timeoutSeconds", health.timeout_seconds),
        ("retries", health.retries),
    ] {
        if number < 1 {
            problems.push(format!("health.{field}: {number} must be at least 1"));
        }
    }
    if health.start_period_seconds < 0 {
        problems
            .push(format!("health.startPeriodSeconds: {} must not be negative", health.start_period_seconds));
    }
    problems
}
