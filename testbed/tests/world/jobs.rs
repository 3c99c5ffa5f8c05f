//! A migration runs once, whatever is lost of what is known of it.

use std::time::Duration;

use hearth::world::settle::key;
use hearth_capabilities::Volumes;

use crate::given::with_shop;
use crate::strangers::now;
use crate::world::World;

const MIGRATE: &str = "hearth_household_shop-migrate";
/// Where an instance remembers what is done.
const RECORD: &str = ".hearth/jobs.json";

fn runs(world: &World) -> u64 {
    world.machine.writes().get(&format!("start container {MIGRATE}")).copied().unwrap_or(0)
}

/// What the instance remembers from now on; says what it did before.
fn remember(world: &World, record: &[u8]) -> Vec<u8> {
    let app = world.store().get(&key("App", "shop")).unwrap();
    let mut files = now(Volumes::load_files(&world.machine, app.uid())).unwrap();
    let before = files.insert(RECORD.to_owned(), record.to_vec()).expect("what is done is on record");
    now(world.machine.save_files(app.uid(), &files));
    before
}

#[test]
fn a_migration_whose_record_is_damaged_is_not_run_again_and_people_are_told() {
    let mut world = with_shop(91);
    assert_eq!(runs(&world), 1);
    let whole = remember(&world, b"{ half");
    // Nothing else knows that it was done: its container is pruned, and its object is lost.
    world.machine.remove_by_hand(MIGRATE);
    world.delete("Container", "shop-migrate");
    // It is looked at again and again, so the home does not come to rest.
    world.wait(Duration::from_secs(2 * 3600)).unwrap_or_else(|trouble| panic!("{trouble}"));
    assert_eq!(runs(&world), 1);
    let migrate = world.store().get(&key("Container", "shop-migrate")).unwrap();
    let said = migrate.status()["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains(RECORD), "{}", migrate.status());
    assert_ne!(migrate.status()["summary"], "Ready");
    // Put back, it says what it did.
    remember(&world, &whole);
    world.settle();
    world.all_is_well();
    assert_eq!(runs(&world), 1);
}
