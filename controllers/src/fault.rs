//! What a failed call to the machine means for a turn.

use hearth_capabilities::Fault;
use hearth_engine::controller::{Blind, StepError};
use hearth_meta::Reason;

/// In an observation, whatever went wrong means that nothing is known.
pub(crate) fn blind(fault: Fault) -> Blind {
    Blind(fault.to_string())
}

/// In a step, the fault says what helps.
pub(crate) fn failed(fault: Fault) -> StepError {
    let reason = match &fault {
        Fault::Blind(_) => Reason::CannotSee,
        Fault::Refused(_) | Fault::Conflict(_) | Fault::Missing(_) | Fault::Failed(_) => Reason::StepFailed,
    };
    StepError::new(reason, fault.to_string())
}
