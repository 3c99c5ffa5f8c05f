//! The condition `Ready`, the same for every kind that has it.

use hearth_engine::controller::Blind;
use hearth_meta::condition::ConditionStatus;
use hearth_meta::{CommonStatus, Condition, Reason};

/// Whether it is ready, as far as that could be seen, with the reason its status gives. Where nothing could be seen
/// nothing is known, whatever held before.
pub(crate) fn ready(holds: Result<bool, &Blind>, common: &CommonStatus) -> Condition {
    let holds = holds.map_or(ConditionStatus::Unknown, ConditionStatus::from);
    let reason = common.reason.unwrap_or(Reason::InSync);
    Condition::new("Ready", holds, reason, common.message.clone().unwrap_or_default())
}
