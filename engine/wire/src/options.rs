//! What may be asked of a list and of a watch together. Each problem is named; what contradicts itself is not guessed.

use hearth_meta::{KindInfo, Problem, Scope};

use crate::failure::Failure;
use crate::parameters::{Match, Parameters};

/// Whether a list can be given as it is asked for.
pub(crate) fn check_list(parameters: &Parameters) -> Result<(), Failure> {
    let mut problems = Vec::new();
    if let Some(matching) = parameters.resource_version_match {
        let mut refuse = |why: &str| problems.push(Problem::new("resourceVersionMatch", why));
        if parameters.next.is_some() {
            refuse("must not be set together with continue, which says the version itself");
        }
        match parameters.resource_version {
            None => refuse("must not be set without resourceVersion"),
            Some(0) if matching == Match::Exact => refuse("Exact needs a resourceVersion other than 0"),
            Some(_) => {}
        }
    }
    if parameters.initial_events.is_some() {
        problems.push(Problem::new("sendInitialEvents", "is for watches; leave it out in a list"));
    }
    settle(problems)?;
    if parameters.next.is_some() && parameters.resource_version.is_some_and(|version| version > 0) {
        let message = "resourceVersion must not be set together with continue, which says the version itself";
        return Err(Failure::bad_request(message));
    }
    Ok(())
}

/// Whether a watch can be given as it is asked for.
pub(crate) fn check_watch(parameters: &Parameters) -> Result<(), Failure> {
    let problem = match (parameters.initial_events, parameters.resource_version_match) {
        (Some(_), Some(Match::NotOlderThan)) | (None, None) => None,
        (Some(_), _) => Some("must be NotOlderThan where sendInitialEvents is set"),
        (None, Some(_)) => Some("must not be set in a watch without sendInitialEvents"),
    };
    settle(problem.map(|problem| Problem::new("resourceVersionMatch", problem)).into_iter().collect())
}

fn settle(problems: Vec<Problem>) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let options =
        KindInfo::plain("meta.k8s.io", "ListOptions", ("listoptions", "listoptions"), Scope::Cluster);
    Err(Failure::invalid(&options, "", &problems))
}
