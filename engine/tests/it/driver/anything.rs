//! From anything: random wishes, faults, hands from outside and deaths; then the faults end, and all must be as wanted.

use hearth_engine::Query;
use serde_json::json;

use crate::running::Running;
use crate::toys::key;

/// xorshift64, so that a seed tells a story that can be told again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const COLORS: [&str; 3] = ["red", "blue", "green"];
const WAYS: [&[&str]; 4] = [&[], &["slow"], &["slotted"], &["slow", "slotted"]];

async fn disturb(engine: &Running, dice: &mut Dice) {
    let (name, color) = (dice.pick(&NAMES), dice.pick(&COLORS));
    // What is refused, because it is there already or is not, is no disturbance.
    match dice.roll(12) {
        0..=2 => {
            let ways = WAYS[usize::try_from(dice.roll(4)).unwrap()];
            let spec = json!({"color": color, "ways": ways});
            let lamp = json!({"kind": "Lamp", "metadata": {"name": name, "namespace": "den"}, "spec": spec});
            drop(engine.home.create(lamp).await);
        }
        3 | 4 => drop(engine.home.patch(key("Lamp", name), json!({"spec": {"color": color}})).await),
        5 => drop(engine.home.delete(key("Lamp", name)).await),
        6 => {
            let sign = json!({"kind": "Sign", "metadata": {"name": name, "namespace": "den"}, "spec": {"text": color}});
            drop(engine.home.create(sign).await);
        }
        7 => drop(engine.home.delete(key("Sign", name)).await),
        8 => {
            if let Some(bulb) = engine.world.lock().bulbs.get_mut(name) {
                bulb.color = "grey".into();
            }
            engine.world.lock().signs.remove(name);
        }
        9 => {
            engine.world.lock().bulbs.remove(name);
        }
        10 => {
            let mut state = engine.world.lock();
            match dice.roll(4) {
                0 => state.failing.push(dice.pick(&["Install", "Paint", "Remove", "Write"]).into()),
                1 => state.idle.push(dice.pick(&["Install", "Paint", "Remove", "Write"]).into()),
                2 => state.blind = true,
                _ => state.panics.push(dice.pick(&["observe", "plan", "act"])),
            }
        }
        _ => mend(engine),
    }
    engine.home.clock.advance(std::time::Duration::from_millis(dice.roll(3000)));
    for _ in 0..dice.roll(200) {
        tokio::task::yield_now().await;
    }
}

fn mend(engine: &Running) {
    let mut state = engine.world.lock();
    (state.blind, state.failing, state.idle, state.panics) = (false, Vec::new(), Vec::new(), Vec::new());
}

async fn tell(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut engine = Running::with_slots(2).await;
    for _ in 0..3 {
        for _ in 0..40 {
            disturb(&engine, &mut dice).await;
        }
        let (home, world) = engine.ended(dice.roll(2) == 0).await;
        engine = Running::over(home, world, Some(2));
    }
    for _ in 0..40 {
        disturb(&engine, &mut dice).await;
    }
    mend(&engine);
    engine.seconds(700).await;
    check(&engine, seed);
    let version = engine.home.store.resource_version();
    engine.world.done();
    engine.seconds(700).await;
    assert_eq!(engine.home.store.resource_version(), version, "seed {seed}: it is at rest");
    assert!(engine.world.done().is_empty(), "seed {seed}");
}

fn check(engine: &Running, seed: u64) {
    let lamps = engine.home.store.list(&Query::of("Lamp")).items;
    let wanted: Vec<_> = lamps
        .iter()
        .map(|lamp| {
            (lamp.name().to_owned(), lamp.uid().to_owned(), lamp.spec()["color"].as_str().unwrap().to_owned())
        })
        .collect();
    let seen: Vec<_> = engine
        .world
        .lock()
        .bulbs
        .iter()
        .map(|(name, b)| (name.clone(), b.uid.clone(), b.color.clone()))
        .collect();
    assert_eq!(seen, wanted, "seed {seed}");
    let signs = engine.home.store.list(&Query::of("Sign")).items;
    let wanted: Vec<_> = signs
        .iter()
        .map(|sign| (sign.name().to_owned(), sign.spec()["text"].as_str().unwrap().to_owned()))
        .collect();
    let seen: Vec<_> = engine.world.lock().signs.clone().into_iter().collect();
    assert_eq!(seen, wanted, "seed {seed}");
    for lamp in &lamps {
        assert!(!lamp.is_going(), "seed {seed}");
        assert_eq!(engine.verdict(lamp.name()), "Ready InSync", "seed {seed}");
        assert!(!engine.intent("Lamp", lamp.name()).is_open(), "seed {seed}");
    }
    let diagnostics = &engine.engine.diagnostics()[0];
    assert_eq!(
        (diagnostics.slots_held, diagnostics.slow_steps, diagnostics.failing),
        (0, 0, 0),
        "seed {seed}"
    );
}

#[tokio::test]
async fn all_comes_to_be_as_wanted_once_the_faults_end() {
    for seed in [1, 2, 3, 4, 1035] {
        tell(seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_comes_to_be_as_wanted_on_many_threads() {
    for seed in 101..=104 {
        tell(seed).await;
    }
}
