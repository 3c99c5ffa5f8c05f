//! `hearth serve` killed again and again, at any moment, under people who go on changing their minds: what was
//! acknowledged is there, nothing is made twice, nothing is left over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use hearth::cli::exit::Exit;
use hearth_capabilities::proxy::SeenRoute;
use hearth_engine::Query;
use serde_json::{Value, json};

use crate::home::{Dice, Home, Ledger, app, budget, on_pretend, on_real, page, trio};

/// What the pretend machine is killed in all, and a real one.
const PRETEND_KILLS: usize = 25;
const REAL_KILLS: usize = 10;
/// A process lives at most so long.
const LIFE: Duration = Duration::from_millis(900);
/// What a process is given that is killed before anybody could ask it anything.
const CHILDHOOD: Duration = Duration::from_millis(300);

#[test]
fn pretend_a_server_killed_at_random_moments_loses_no_acknowledged_write_and_does_nothing_twice() {
    against_an_undisturbed_home(11);
}

#[test]
fn pretend_a_server_killed_at_moments_nobody_chose_loses_no_acknowledged_write_and_does_nothing_twice() {
    against_an_undisturbed_home(Dice::fresh_seed());
}

#[test]
fn real_a_server_killed_at_random_moments_loses_no_acknowledged_write_and_does_nothing_twice() {
    on_real(async |home| {
        let wishes = Wishes::thrown(home, &mut Dice::seeded(5), 12).await;
        storm(home, &wishes, REAL_KILLS * budget(), &mut Dice::seeded(5)).await;
        wishes.hold(home).await;
    });
}

/// The same wishes in peace and in the storm end in the same home.
fn against_an_undisturbed_home(seed: u64) {
    let kills = PRETEND_KILLS * budget();
    let told = |is_storm: bool| {
        let portrait = Mutex::new(Vec::new());
        on_pretend(async |home| {
            let wishes = Wishes::thrown(home, &mut Dice::seeded(seed), kills).await;
            if is_storm {
                storm(home, &wishes, kills, &mut Dice::seeded(seed)).await;
            } else {
                in_peace(home, &wishes).await;
            }
            wishes.hold(home).await;
            *portrait.lock().unwrap() = wishes.portrait(home).await;
        });
        portrait.into_inner().unwrap()
    };
    // Both wait most of their time.
    let (peace, storm) = std::thread::scope(|scope| {
        let peace = scope.spawn(|| told(false));
        (told(true), peace.join().unwrap())
    });
    assert_eq!(peace, storm);
}

/// Carries out one wish after the other.
async fn in_peace(home: &Home, wishes: &Wishes) {
    for wish in &wishes.all {
        grant(home, &mut VecDeque::from([wish.clone()]), 1).await;
        match wish {
            Wish::Declare(object) => home.until_ready(object["metadata"]["name"].as_str().unwrap()).await,
            Wish::Power(name, _) => home.until_ready(name).await,
            Wish::Delete(name) => home.until_gone("App", name).await,
        }
    }
}

/// One thing a person does with the command line.
#[derive(Clone, Debug)]
enum Wish {
    Declare(Value),
    Power(&'static str, &'static str),
    Delete(&'static str),
}

impl Wish {
    /// Does it once; whether that was acknowledged, or has come about already.
    async fn is_granted(&self, home: &Home) -> bool {
        let said = match self {
            Self::Declare(object) => home.try_apply(object).await,
            Self::Power(name, verb) => home.hearth(&[verb, &format!("app/{name}")]).await,
            Self::Delete(name) => {
                let object = format!("app/{name}");
                home.hearth(&["delete", &object, "--yes", "--wait", "false", "--ignore-not-found"]).await
            }
        };
        // One that is still going has to be gone first.
        let in_time = [Exit::Done, Exit::Unreachable, Exit::Conflict, Exit::Rejected, Exit::NotFound];
        assert!(in_time.contains(&said.exit), "{self:?}: {}{}", said.out, said.err);
        said.exit == Exit::Done
    }
}

/// How an app is wanted in the end.
#[derive(Clone, Debug, Default)]
struct Wanted {
    is_there: bool,
    is_stopped: bool,
    is_trio: bool,
}

/// Everything that is wished, in order, and what has to come of it.
#[derive(Debug, Default)]
struct Wishes {
    all: Vec<Wish>,
    apps: BTreeMap<&'static str, Wanted>,
    /// How often each container may have been made at most, and started, by its object's name.
    made: BTreeMap<String, u64>,
    started: BTreeMap<String, u64>,
    /// How often each network may have been made.
    networks: BTreeMap<String, u64>,
}

const APPS: [&str; 4] = ["one", "two", "three", "four"];

impl Wishes {
    /// As chance has it, `count` or a few more. In the end one app runs, one is stopped and one is gone.
    async fn thrown(home: &Home, dice: &mut Dice, count: usize) -> Self {
        let (trio, images) =
            (trio(home).await, [home.world.image("web:1").await, home.world.image("web:2").await]);
        let mut wishes = Self::default();
        let mut services: BTreeMap<&'static str, Value> = BTreeMap::new();
        for name in APPS {
            let is_trio = matches!(name, "one" | "three");
            let own = if is_trio { trio.clone() } else { services_of(&page(home, name).await) };
            services.insert(name, own);
            wishes.apps.insert(name, Wanted { is_trio, ..Wanted::default() });
            wishes.declare(name, &services[name]);
        }
        while wishes.all.len() < count.saturating_sub(3) {
            let name = *dice.one_of(&APPS);
            match (dice.below(6), wishes.apps[name].is_there) {
                (_, false) => wishes.declare(name, &services[name]),
                (0, true) => wishes.delete(name),
                (1, true) => wishes.power(name, "stop"),
                (2, true) => wishes.power(name, "start"),
                (3, true) => {
                    let own = services.get_mut(name).unwrap();
                    own["web"]["image"] = dice.one_of(&images).as_str().into();
                    wishes.change(name, "web", own);
                }
                (_, true) => {
                    let changed = if wishes.apps[name].is_trio { "db" } else { "web" };
                    let own = services.get_mut(name).unwrap();
                    own[changed]["environment"]["LEVEL"] = dice.below(1000).to_string().into();
                    wishes.change(name, changed, own);
                }
            }
        }
        for name in ["one", "two"] {
            if !wishes.apps[name].is_there {
                wishes.declare(name, &services[name]);
            }
        }
        wishes.power("one", "start");
        wishes.power("two", "stop");
        if wishes.apps["three"].is_there {
            wishes.delete("three");
        }
        wishes
    }

    fn declare(&mut self, name: &'static str, services: &Value) {
        self.all.push(Wish::Declare(declared(name, services)));
        let wanted = self.apps.get_mut(name).unwrap();
        (wanted.is_there, wanted.is_stopped) = (true, false);
        *self.networks.entry(name.to_owned()).or_default() += 1;
        let services: &[&str] = if wanted.is_trio { &["web", "db", "migrate"] } else { &["web"] };
        for service in services {
            self.count(name, service);
        }
    }

    /// A wish that changes one service. Declared anew, the app is wanted running.
    fn change(&mut self, name: &'static str, service: &str, services: &Value) {
        self.all.push(Wish::Declare(declared(name, services)));
        self.apps.get_mut(name).unwrap().is_stopped = false;
        self.count(name, service);
        self.count_starts(name);
    }

    fn power(&mut self, name: &'static str, verb: &'static str) {
        self.all.push(Wish::Power(name, verb));
        self.apps.get_mut(name).unwrap().is_stopped = verb == "stop";
        if verb == "start" {
            self.count_starts(name);
        }
    }

    fn delete(&mut self, name: &'static str) {
        self.all.push(Wish::Delete(name));
        self.apps.get_mut(name).unwrap().is_there = false;
    }

    fn count(&mut self, name: &str, service: &str) {
        let container = format!("{name}-{service}");
        *self.made.entry(container.clone()).or_default() += 1;
        *self.started.entry(container).or_default() += 1;
    }

    /// Whatever was stopped may have to be started again. A one-shot never.
    fn count_starts(&mut self, name: &str) {
        for (container, count) in &mut self.started {
            if container.starts_with(&format!("{name}-")) && !container.ends_with("-migrate") {
                *count += 1;
            }
        }
    }

    /// Holds the home against what was wished.
    async fn hold(&self, home: &Home) {
        let mut wanted: Vec<String> = vec![home.engine_name("system/caddy")];
        let mut networks = vec![home.engine_name("system/control")];
        for (name, app) in &self.apps {
            if !app.is_there {
                home.until_gone("App", name).await;
                continue;
            }
            home.until_verdict("App", name, "Ready").await;
            networks.push(home.engine_name(name));
            if !app.is_stopped {
                let services: &[&str] = if app.is_trio { &["web", "db", "migrate"] } else { &["web"] };
                let names = services.iter().map(|service| home.engine_name(&format!("{name}-{service}")));
                wanted.extend(names);
            }
        }
        home.settle().await;
        for (name, app) in &self.apps {
            let is_served = app.is_there && !app.is_stopped;
            if is_served {
                home.until_served(name).await;
            }
            assert_eq!(home.page(name).await.is_the_apps(), is_served, "{name}");
        }
        let (mut there, mut nets) = home.world.names().await;
        there.retain(|name| !self.may_be_missing(home, name));
        for names in [&mut wanted, &mut there, &mut networks, &mut nets] {
            names.sort();
        }
        assert_eq!((there, nets), (wanted, networks), "what is on the machine");
        self.bounds(home).await;
        self.jobs(home).await;
        for object in home.store().list(&Query::of("Container")).items {
            let namespace = object.metadata.namespace.clone().unwrap_or_default();
            let name = format!("{namespace}/{}", object.name());
            let drifted = home.count("Container", &name, "Drifted", "").await;
            assert_eq!(drifted, 0, "{name}: what was interrupted is nobody's meddling");
        }
        home.world.mark().await;
        home.look_again().await;
        home.settle().await;
        assert_eq!(home.world.changes().await, Vec::<String>::new(), "there is nothing left to do");
    }

    /// Whether a container is of an app that is stopped, which needs none: it is there if it was made before that.
    fn may_be_missing(&self, home: &Home, container: &str) -> bool {
        let is_stopped = |(_, app): &(&&str, &Wanted)| app.is_there && app.is_stopped;
        let mut stopped = self.apps.iter().filter(is_stopped);
        stopped.any(|(name, _)| container.starts_with(&home.engine_name(&format!("{name}-"))))
    }

    /// Nothing was made or started more often than there were reasons to.
    async fn bounds(&self, home: &Home) {
        let counts = home.world.made_and_started().await;
        let count = |what: &str, name: &str| {
            counts.get(&format!("{what} {}", home.engine_name(name))).copied().unwrap_or_default()
        };
        for (name, most) in &self.made {
            let made = count("create container", name);
            assert!(made <= *most, "{name} was made {made} times, for {most} reasons");
            let most = self.started[name];
            let started = count("start container", name);
            assert!(started <= most, "{name} was started {started} times, for {most} reasons");
        }
        for (name, most) in &self.networks {
            let made = count("create network", name);
            assert!(made <= *most, "network {name} was made {made} times, for {most} reasons");
        }
    }

    /// The one-shot of an app that stands has run once for it.
    async fn jobs(&self, home: &Home) {
        for (name, _) in self.apps.iter().filter(|(_, app)| app.is_there && app.is_trio) {
            let job = format!("{name}-migrate");
            if home.world.real().is_some() {
                let folder = home.data(name, "migrations");
                assert_eq!(home.world.runs(&home.engine_name(&job), &folder).await, 1, "{job}");
            }
            if !self.apps[name].is_stopped {
                assert!(!home.get("Container", &job)["status"]["completedAt"].is_null(), "{job}");
            }
        }
    }
}

fn services_of(app: &Value) -> Value {
    let compose: Value = serde_json::from_str(app["spec"]["compose"].as_str().unwrap()).unwrap();
    compose["services"].clone()
}

fn declared(name: &str, services: &Value) -> Value {
    let mut app = app(name, services);
    // Each of the trios brings the same folders, and what is deleted is to leave nothing.
    app["spec"]["dataPolicy"] = "Delete".into();
    app
}

/// Carries out the wishes while the process that serves is killed again and again and others write all the time;
/// then holds every write that was acknowledged against what there is.
async fn storm(home: &Home, wishes: &Wishes, kills: usize, dice: &mut Dice) {
    home.stop().await;
    home.world.leave().await;
    let mut process = home.begin_process();
    home.until_accepting(&mut process).await;
    let ledger = Ledger::open(home).await;
    let mut left: VecDeque<Wish> = wishes.all.iter().cloned().collect();
    for kill in 0..kills {
        let moment = if dice.below(5) == 0 {
            dice.time_below(CHILDHOOD)
        } else {
            home.until_accepting(&mut process).await;
            dice.time_below(LIFE)
        };
        let share = left.len().div_ceil(kills - kill);
        let _ = tokio::time::timeout(moment, grant(home, &mut left, share)).await;
        process.kill();
        process = home.begin_process();
    }
    home.until_accepting(&mut process).await;
    let all = left.len();
    grant(home, &mut left, all).await;
    let books = ledger.close().await;
    process.kill();
    home.world.take_back().await;
    home.serve().await;
    home.settle().await;
    let acknowledged = books.check(home).await;
    assert!(acknowledged > kills * 5, "only {acknowledged} writes were acknowledged");
}

/// Grants so many of the wishes, each again and again until it is acknowledged.
async fn grant(home: &Home, left: &mut VecDeque<Wish>, count: usize) {
    for _ in 0..count {
        while let Some(wish) = left.front() {
            if wish.is_granted(home).await {
                left.pop_front();
                break;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

impl Wishes {
    /// Everything that was made, in words that are the same for every run.
    async fn portrait(&self, home: &Home) -> Vec<String> {
        let mut lines = Vec::new();
        let (containers, networks) = home.world.names().await;
        for name in containers.into_iter().filter(|name| !self.may_be_missing(home, name)) {
            let seen = home.hands.containers.inspect(&name).await.unwrap().unwrap();
            let mounts = seen.mounts.iter().map(|mount| {
                let (_, leaf) = mount.host_path.rsplit_once('/').unwrap_or_default();
                format!("{leaf} at {}", mount.path)
            });
            let networks = seen.networks.iter().map(|place| format!("{} {:?}", place.name, place.aliases));
            lines.push(format!(
                "{name}: {} {} {:?} {:?} {:?} {:?}",
                seen.state.status,
                seen.image_id,
                seen.env,
                mounts.collect::<Vec<_>>(),
                networks.collect::<Vec<_>>(),
                seen.restart
            ));
        }
        for name in networks {
            let seen = home.hands.networks.inspect(&name).await.unwrap().unwrap();
            lines.push(format!("{name}: {} {:?}", seen.internal, seen.attached));
        }
        for route in home.hands.proxy.read().await.unwrap().routes {
            lines.push(match route {
                SeenRoute::Ours(route) => format!("{:?}: {:?}", route.hosts, route.answer),
                other => format!("{other:?}"),
            });
        }
        for object in home.store().all() {
            let is_ledgers = object.name().starts_with("ledger-");
            let is_made =
                ["Volume", "Image", "Network", "Container", "Route", "App"].contains(&&*object.kind);
            let is_optional =
                object.kind == "Container" && self.may_be_missing(home, &home.engine_name(object.name()));
            if is_made && !is_ledgers && !is_optional {
                lines.push(format!("{}: {}", object.key(), json!(object.status()["summary"])));
            }
        }
        let leaves = home.hands.volumes.list().await.unwrap();
        lines.push(format!("{} leaves", leaves.len()));
        // Routes are in the order of their ids, which chance gives.
        lines.sort();
        lines
    }
}
