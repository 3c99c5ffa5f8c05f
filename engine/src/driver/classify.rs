//! Tells a change of ours that was interrupted from a wish not carried out yet, and both from somebody else's
//! change (DESIGN section 4; hazards 3.4). The first row that matches wins.

use crate::controller::Seen;
use crate::store::Intent;

/// Why what is seen differs from what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It does not differ.
    InSync,
    /// Something is there that was never ours.
    Unowned,
    /// A process of ours died half way.
    Interrupted,
    /// The wish is newer than what was applied.
    Pending,
    /// Somebody changed it.
    Drifted,
}

impl Class {
    /// Every class, in the order of the table.
    pub const ALL: [Self; 5] = [Self::InSync, Self::Unowned, Self::Interrupted, Self::Pending, Self::Drifted];
}

/// Classifies one object. Blind never comes here.
pub fn classify(seen: &Seen, gone: bool, intent: Option<&Intent>, target: &str, epoch: i64) -> Class {
    let in_sync = match seen {
        Seen::Foreign(_) if gone => true,
        Seen::Foreign(_) => return Class::Unowned,
        Seen::Absent => gone,
        Seen::Ours(differences) => !gone && differences.is_empty(),
    };
    if in_sync {
        return Class::InSync;
    }
    if gone {
        return Class::Pending;
    }
    match intent {
        // A newer wish supersedes what was interrupted.
        Some(intent) if intent.is_open() && intent.epoch != epoch && intent.target == target => {
            Class::Interrupted
        }
        Some(intent) if intent.last_applied.as_deref() == Some(target) && !intent.is_open() => Class::Drifted,
        _ => Class::Pending,
    }
}

#[cfg(test)]
mod tests {
    use hearth_meta::{FieldDiff, Timestamp};

    use super::{Class, classify};
    use crate::controller::Seen;
    use crate::store::Intent;

    fn intent(open: bool, epoch: i64, target: &str, applied: Option<&str>) -> Intent {
        Intent {
            uid: "u".into(),
            epoch,
            target: target.into(),
            step: String::new(),
            dangerous: false,
            opened_at: Timestamp::UNIX_EPOCH,
            closed_at: (!open).then_some(Timestamp::UNIX_EPOCH),
            last_applied: applied.map(str::to_owned),
        }
    }

    #[test]
    fn every_row_of_the_table() {
        let differs = Seen::Ours(vec![FieldDiff::new("spec.x", None, None)]);
        let equal = Seen::Ours(Vec::new());
        let check = |seen: &Seen, intent: Option<Intent>, expected: Class| {
            assert_eq!(classify(seen, false, intent.as_ref(), "t", 2), expected, "{seen:?} {intent:?}");
        };
        check(&Seen::Foreign("x".into()), None, Class::Unowned);
        check(&equal, Some(intent(true, 1, "t", None)), Class::InSync);
        check(&differs, Some(intent(true, 1, "t", Some("t"))), Class::Interrupted);
        check(&differs, Some(intent(true, 1, "old", Some("old"))), Class::Pending);
        check(&differs, Some(intent(true, 2, "t", None)), Class::Pending);
        check(&differs, None, Class::Pending);
        check(&differs, Some(intent(false, 1, "old", Some("old"))), Class::Pending);
        check(&differs, Some(intent(false, 1, "t", Some("t"))), Class::Drifted);
        check(&Seen::Absent, Some(intent(false, 1, "t", Some("t"))), Class::Drifted);
    }

    #[test]
    fn what_should_go_is_in_sync_once_nothing_of_ours_is_there() {
        assert_eq!(classify(&Seen::Absent, true, None, "t", 1), Class::InSync);
        assert_eq!(classify(&Seen::Foreign("x".into()), true, None, "t", 1), Class::InSync);
        assert_eq!(classify(&Seen::Ours(Vec::new()), true, None, "t", 1), Class::Pending);
    }
}
