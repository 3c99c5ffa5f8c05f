//! How a turn ended, and what a controller says of it: the status, its conditions, and what is news.

use hearth_meta::{Class, CommonStatus, Condition, Progress, Reason, Resource, Timestamp, Verdict};

use super::{Blind, Step, StepError, Stuck, Wait};
use crate::store::EventKind;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<S> {
    /// There was nothing to do, or what there was is done and verified.
    Steady,
    /// It waits.
    Waiting(Wait),
    /// It cannot go on by itself.
    Stuck(Stuck),
    /// A slow step is under way.
    Working {
        /// The step.
        step: S,
        /// How far it has come.
        progress: Option<Progress>,
    },
    /// A step failed; it is tried again.
    Failed {
        /// The step.
        step: S,
        /// Why.
        error: StepError,
        /// How often in a row.
        attempts: u32,
        /// When it is tried again.
        next_try: Timestamp,
    },
    /// It differs, and the policy is to report.
    Reported,
    /// A person paused it.
    Paused {
        /// Until when.
        until: Timestamp,
    },
    /// The backend could not be read.
    Blind {
        /// When it is tried again.
        next_try: Timestamp,
    },
}

/// What a controller says of an object; the engine adds generation, times and differences.
#[derive(Clone, Debug)]
pub struct Report<K: Resource> {
    /// The status, its common part as far as the controller knows it.
    pub status: K::Status,
    /// The conditions, not dated yet.
    pub conditions: Vec<Condition>,
}

/// Something that happened, as a change of a status tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Whether it calls for attention.
    pub kind: EventKind,
    /// Why, in one CamelCase word.
    pub reason: &'static str,
    /// What happened, in the past tense, without times and without ids that change.
    pub message: String,
}

impl<S: Step> Outcome<S> {
    /// The common part of a status as most controllers want it: `ready` is said when nothing is to be done.
    pub fn common(&self, gone: bool, seen: Result<(), &Blind>, ready: Reason) -> CommonStatus {
        let (summary, reason, message) = match (self, seen) {
            (_, Err(blind)) => (Verdict::Degraded, Reason::CannotSee, blind.0.clone()),
            (Self::Paused { until }, _) => (Verdict::Paused, Reason::Paused, format!("Paused until {until}")),
            (Self::Failed { step, error, attempts, .. }, _) => {
                let message = format!("{} failed: {}", step.doing(), error.message);
                let otherwise =
                    if is_passing(error.reason, *attempts) { Verdict::Progressing } else { Verdict::Failed };
                (verdict_for(error.reason, otherwise), error.reason, message)
            }
            (Self::Stuck(stuck), _) => {
                (verdict_for(stuck.reason, Verdict::Failed), stuck.reason, stuck.message.clone())
            }
            (Self::Reported, _) => (Verdict::NeedsYou, Reason::Drifted, "It was changed from outside".into()),
            (Self::Working { step, .. }, _) => (Verdict::Progressing, Reason::Applying, step.doing()),
            (Self::Waiting(wait), _) => {
                (verdict_for(wait.reason, Verdict::Waiting), wait.reason, wait.message.clone())
            }
            (Self::Blind { .. } | Self::Steady, _) => (Verdict::Ready, ready, String::new()),
        };
        let blocked_by = if let Self::Waiting(wait) = self { wait.on.clone() } else { Vec::new() };
        let progress = if let Self::Working { progress, .. } = self { progress.clone() } else { None };
        CommonStatus {
            summary: Some(if gone && summary != Verdict::NeedsYou { Verdict::Removing } else { summary }),
            reason: Some(if gone && reason == ready { Reason::Removing } else { reason }),
            message: (!message.is_empty()).then_some(message),
            blocked_by,
            progress,
            ..CommonStatus::default()
        }
    }
}

/// So many failures in a row may pass by themselves before people are told that it failed.
const PASSING_FAILURES: u32 = 3;

/// Whether a failure may well pass with the next tries. A stall does not count: it was waited for already.
fn is_passing(reason: Reason, attempts: u32) -> bool {
    attempts <= PASSING_FAILURES && reason.class() == Class::Retrying && reason != Reason::Stalled
}

/// A reason that only a person can settle is NeedsYou wherever it comes up, and work under way is Progressing.
fn verdict_for(reason: Reason, otherwise: Verdict) -> Verdict {
    match (reason.class(), reason) {
        (Class::NeedsInput, _) => Verdict::NeedsYou,
        (_, Reason::Applying | Reason::Pulling | Reason::Starting) => Verdict::Progressing,
        _ => otherwise,
    }
}
