//! A change from outside that stands: what people are told of it, and what they answered.
//!
//! It stands where the policy is to report, where it is fought over, and while its object is paused. It has an id,
//! so that whoever answers says what they saw, and an answer to one change is never taken for an answer to another.

use hearth_meta::condition::DatedCondition;
use hearth_meta::labels::PUT_BACK_AT;
use hearth_meta::{
    CommonStatus, Condition, ConditionStatus, Drift, HasCommon, MicroTime, Reason, Resource, Time, Timestamp,
};
use sha2::{Digest, Sha256};

use super::Runner;
use super::classify::Class;
use super::hold::annotation;
use super::turn::Look;
use crate::controller::{Controller, Outcome, Seen, Wait, Wanted};
use crate::store::{EventKind, hex};

/// The condition that says whether a change from outside stands.
const DRIFTED: &str = "Drifted";

/// Names exactly what is seen: the same fields with the same values, and nothing else, have the same id.
pub(super) fn id_of(look: &Look) -> String {
    let mut found: Vec<_> = look
        .differences()
        .iter()
        .map(|d| (d.field.as_str(), d.wanted.as_deref(), d.seen.as_deref()))
        .collect();
    found.sort_unstable();
    hex(&Sha256::digest(format!("{found:?}"))[..6])
}

/// What is seen, in words for people.
pub(super) fn words(look: &Look) -> String {
    match &look.seen {
        Seen::Ours(differences) => differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        _ => "it was gone".to_owned(),
    }
}

/// Whether a person asked to put back just what is seen now: once, since what comes later is another change.
pub(super) fn is_put_back<K: Resource>(wanted: &Wanted<K>, look: &Look) -> bool {
    let Some(order) = annotation(wanted, PUT_BACK_AT) else { return false };
    let mut parts = order.split_whitespace();
    let Some(at) = parts.next().and_then(|at| at.parse::<Timestamp>().ok()) else { return false };
    let Some(drift) = wanted.object.status().and_then(|status| status.common().drift.clone()) else {
        return false;
    };
    let id = id_of(look);
    drift.id == id && drift.since.0 <= at && at <= wanted.now && parts.next().is_none_or(|meant| meant == id)
}

/// The change from outside that stands now, if one does.
pub(super) fn standing(look: &Look, before: Option<&Drift>, repairs: usize, now: &Time) -> Option<Drift> {
    if look.class != Class::Drifted {
        return None;
    }
    let id = id_of(look);
    let same = before.filter(|before| before.id == id);
    let since = same.map_or_else(|| MicroTime(now.0), |before| before.since.clone());
    let told = before.map_or(0, |before| before.count) + i64::from(same.is_none());
    let count = told.max(i64::try_from(repairs).unwrap_or(i64::MAX));
    Some(Drift { id, since, count })
}

/// The condition that goes with it. One who never had it needs none to say that nothing stands.
pub(super) fn condition<S>(
    drift: Option<&Drift>,
    look: Option<&Look>,
    outcome: &Outcome<S>,
    before: &[DatedCondition],
) -> Option<Condition> {
    let had = before.iter().any(|condition| condition.type_ == DRIFTED);
    match (drift, look) {
        (_, None) if had => Some(Condition::new(DRIFTED, ConditionStatus::Unknown, Reason::CannotSee, "")),
        (Some(_), Some(look)) => Some(Condition::new(DRIFTED, true, reason(outcome), words(look))),
        (None, Some(_)) if had => Some(Condition::new(DRIFTED, false, Reason::InSync, "")),
        _ => None,
    }
}

fn reason<S>(outcome: &Outcome<S>) -> Reason {
    match outcome {
        Outcome::Waiting(Wait { reason: Reason::Contested, .. }) => Reason::Contested,
        _ => Reason::Drifted,
    }
}

fn stood(before: &CommonStatus) -> Option<&DatedCondition> {
    before.conditions.iter().find(|condition| condition.type_ == DRIFTED && condition.status == "True")
}

impl<C: Controller> Runner<C> {
    /// Notes that a change from outside stands, that it has become a fight, and that it stands no more. Told before
    /// the status is written: twice after a crash is better than never, and equal events are one.
    pub(super) async fn tell_drift(
        &self,
        wanted: &Wanted<C::Kind>,
        look: &Look,
        outcome: &Outcome<C::Step>,
        (before, now): (&CommonStatus, Option<&Drift>),
    ) {
        let is_new = now.is_some_and(|now| before.drift.as_ref().is_none_or(|before| before.id != now.id));
        let was_fought_over = stood(before).is_some_and(|stood| stood.reason == Reason::Contested.as_str());
        match outcome {
            Outcome::Reported if is_new => {
                let message = format!(
                    "Was changed from outside, and is left so until somebody answers: {}",
                    words(look)
                );
                self.note(wanted, EventKind::Warning, "DriftReported", message).await;
            }
            Outcome::Waiting(wait) if wait.reason == Reason::Contested && !was_fought_over => {
                self.note(wanted, EventKind::Warning, "Contested", wait.message.clone()).await;
            }
            _ if stood(before).is_some() && look.class == Class::InSync && !wanted.gone => {
                let message = "What is seen is what is wanted again".to_owned();
                self.note(wanted, EventKind::Normal, "DriftEnded", message).await;
            }
            _ => {}
        }
    }
}
