//! Notices when two writers fight over the same fields, and then repairs them ever more slowly (hazards 3.4).

use std::collections::HashMap;
use std::time::Duration;

use hearth_meta::FieldDiff;

/// So many repairs of one object within [`WINDOW`] are not a fight yet.
const BUDGET: usize = 3;
const WINDOW: Duration = Duration::from_secs(3600);
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(600);

/// The repairs of the last hour, by object and field.
#[derive(Default)]
pub(super) struct Fights {
    repairs: HashMap<(String, String), Vec<Duration>>,
}

impl Fights {
    /// Counts a repair of these fields; whether one of them has become a fight with it.
    pub(super) fn repaired(&mut self, uid: &str, differences: &[FieldDiff], now: Duration) -> bool {
        let mut is_fight = false;
        for difference in differences {
            let repairs = self.repairs.entry((uid.to_owned(), difference.field.clone())).or_default();
            repairs.retain(|at| now.saturating_sub(*at) < WINDOW);
            repairs.push(now);
            is_fight |= repairs.len() > BUDGET;
        }
        is_fight
    }

    /// How often the field that is repaired most was repaired within the window.
    pub(super) fn most(&self, uid: &str, now: Duration) -> usize {
        let of_object = self.repairs.iter().filter(|((of, _), _)| of == uid);
        let lately = of_object
            .map(|(_, repairs)| repairs.iter().filter(|at| now.saturating_sub(**at) < WINDOW).count());
        lately.max().unwrap_or(0)
    }

    /// How much longer to hold back, and the fields that are fought over; `None` means repair now.
    pub(super) fn hold(
        &mut self,
        uid: &str,
        differences: &[FieldDiff],
        now: Duration,
    ) -> Option<(Duration, Vec<String>)> {
        let mut held = Duration::ZERO;
        let mut fields = Vec::new();
        for difference in differences {
            let repairs = self.repairs.get_mut(&(uid.to_owned(), difference.field.clone()))?;
            repairs.retain(|at| now.saturating_sub(*at) < WINDOW);
            let (count, last) = (repairs.len(), repairs.last()?);
            if count <= BUDGET {
                // A field that is not fought over is repaired at once, and the rest with it.
                return None;
            }
            let exponent = u32::try_from(count - BUDGET - 1).unwrap_or(u32::MAX).min(10);
            let hold = FIRST_HOLD.saturating_mul(1 << exponent).min(LONGEST_HOLD);
            held = held.max(last.saturating_add(hold).saturating_sub(now));
            fields.push(difference.field.clone());
        }
        (!held.is_zero()).then_some((held, fields))
    }

    /// Forgets an object.
    pub(super) fn forget(&mut self, uid: &str) {
        self.repairs.retain(|(of, _), _| of != uid);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hearth_meta::FieldDiff;

    use super::Fights;

    #[test]
    fn the_fourth_repair_of_a_field_within_an_hour_is_held_back_ever_longer() {
        let mut fights = Fights::default();
        let fields = [FieldDiff::new("spec.env[TZ]", None, None)];
        let mut now = Duration::ZERO;
        for _ in 0..4 {
            assert_eq!(fights.hold("u", &fields, now), None);
            fights.repaired("u", &fields, now);
            now += Duration::from_secs(1);
        }
        let (first, named) = fights.hold("u", &fields, now).unwrap();
        assert_eq!(named, ["spec.env[TZ]"]);
        now += first;
        assert_eq!(fights.hold("u", &fields, now), None);
        fights.repaired("u", &fields, now);
        let (second, _) = fights.hold("u", &fields, now).unwrap();
        assert!(second > first);
        let other = [FieldDiff::new("spec.user", None, None)];
        assert_eq!(fights.hold("u", &other, now), None);
        assert_eq!(fights.hold("u", &fields, now + Duration::from_secs(3600)), None);
    }
}
