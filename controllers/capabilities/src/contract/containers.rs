//! What every hand that reaches containers promises.

use super::Scene;

pub(super) async fn what_is_not_there_is_none(scene: &Scene<'_>) {
    assert_eq!(scene.containers().inspect(&scene.name("nobody")).await, Ok(None));
}
