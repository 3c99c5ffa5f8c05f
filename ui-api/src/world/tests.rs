use std::time::Duration;

use futures::FutureExt;
use hearth_capabilities::Containers;
use hearth_engine::Clock;
use hearth_pretend::Backend;

use super::World;

#[test]
fn a_fork_is_as_the_home_is_with_what_goes_wrong_and_what_is_yet_to_happen() {
    let mut world = World::new(1).unwrap();
    world.start().unwrap();
    world.machine.unreachable_backend(Backend::Engine, true);
    world.store_is_full = true;
    world.after(Duration::from_secs(60), |world| {
        world.machine.unreachable_backend(Backend::Engine, false);
        world.store_is_full = false;
    });
    let mut fork = world.fork(2).unwrap();
    let answers = |world: &World| Containers::list(&world.machine).now_or_never().unwrap().is_ok();
    assert!(fork.is_more_to_come() && fork.store_is_full && !answers(&fork));
    let until = world.clock.elapsed() + Duration::from_secs(61);
    fork.stay_down(Duration::from_secs(61));
    assert_eq!(fork.clock.elapsed(), until);
    assert!(answers(&fork) && !fork.store_is_full && !fork.is_more_to_come());
    // Each has it for itself.
    assert!(!answers(&world) && world.store_is_full && world.is_more_to_come());
}
