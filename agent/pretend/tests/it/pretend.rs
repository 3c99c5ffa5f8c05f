//! A pretend machine as the world of each contract suite.

mod faults;
mod life;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hearth_capabilities::containers::ImageDefaults;
use hearth_capabilities::contract::proxy::{ProxyWorld, UPSTREAM_SAYS};
use hearth_capabilities::contract::volumes::VolumeWorld;
use hearth_capabilities::contract::world::{Check, ContainerWorld, Program, image_says};
use hearth_capabilities::proxy::SeenRoute;
use hearth_capabilities::volumes::{GivenFile, Leaf};
use hearth_capabilities::{Containers, Events, Images, Networks, Proxy, Volumes};
use hearth_engine::{Clock, ManualClock};
use hearth_meta::Timestamp;
use hearth_pretend::{Backend, Latency, Machine};

/// The image that is there.
const IMAGE: &str = "registry.example/said:1";
const UNKNOWN: &str = "registry.example/unknown:1";
const UNREACHABLE: &str = "unreachable.example/some:1";
const FOLDER: &str = "/srv/shared";

struct World {
    machine: Machine,
    clock: ManualClock,
    given: AtomicU32,
    /// Whether somebody else moves the clock.
    is_pumped: bool,
}

/// Everything happens at once; only waiting moves the clock.
fn world() -> World {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let machine = Machine::new(Arc::new(clock.clone()));
    machine.set_latency(Latency::NONE);
    furnish(&machine);
    World { machine, clock, given: AtomicU32::new(0), is_pumped: false }
}

/// Everything takes its usual time; the clock moves on whenever somebody waits for it.
fn slow_world() -> World {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let machine = Machine::new(Arc::new(clock.clone()));
    furnish(&machine);
    let pumped = clock.clone();
    tokio::spawn(async move {
        loop {
            // Whoever was woken comes first.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            pumped.advance_to_next();
        }
    });
    World { machine, clock, given: AtomicU32::new(0), is_pumped: true }
}

fn furnish(machine: &Machine) {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let says = ImageDefaults {
        command: words(image_says::COMMAND),
        working_dir: image_says::WORKING_DIR.to_owned(),
        user: image_says::USER.to_owned(),
        env: BTreeMap::from([(image_says::ENV.0.to_owned(), image_says::ENV.1.to_owned())]),
        volumes: words(&[image_says::VOLUME]),
        ..ImageDefaults::default()
    };
    let labels = BTreeMap::from([(image_says::LABEL.0.to_owned(), image_says::LABEL.1.to_owned())]);
    machine.put_image(IMAGE, says, labels).unwrap();
    machine.unknown_image(UNKNOWN, true);
    machine.unreachable_image(UNREACHABLE, true);
    machine.put_folder(FOLDER);
}

impl World {
    fn next_number(&self) -> u32 {
        self.given.fetch_add(1, Ordering::Relaxed)
    }
}

#[async_trait]
impl ContainerWorld for World {
    fn containers(&self) -> &dyn Containers {
        &self.machine
    }

    fn networks(&self) -> &dyn Networks {
        &self.machine
    }

    fn images(&self) -> &dyn Images {
        &self.machine
    }

    fn events(&self) -> &dyn Events {
        &self.machine
    }

    fn prefix(&self) -> String {
        "try".into()
    }

    fn subnet(&self) -> String {
        format!("10.90.{}.0/24", self.next_number())
    }

    fn folder(&self) -> String {
        FOLDER.into()
    }

    async fn image(&self) -> String {
        IMAGE.into()
    }

    async fn pullable(&self) -> String {
        format!("registry.example/new/{}:1", self.next_number())
    }

    fn unknown(&self) -> String {
        UNKNOWN.into()
    }

    fn unreachable(&self) -> String {
        UNREACHABLE.into()
    }

    fn program(&self, program: Program) -> Vec<String> {
        match program {
            Program::Serve => vec!["serve".into()],
            Program::Stubborn => vec!["stubborn".into()],
            Program::Exit(code) => vec!["exit".into(), code.to_string()],
            Program::Write => vec!["write".into()],
            Program::Nonsense => vec!["no-such-program".into()],
        }
    }

    fn check(&self, check: Check) -> Vec<String> {
        let word = match check {
            Check::Passes => "passes",
            Check::Fails => "fails",
        };
        vec!["CMD".into(), word.into()]
    }

    async fn wait(&self, how_long: Duration) {
        if self.is_pumped {
            self.clock.sleep(how_long).await;
        } else {
            self.clock.advance(how_long);
        }
    }
}

#[async_trait]
impl ProxyWorld for World {
    fn proxy(&self) -> &dyn Proxy {
        &self.machine
    }

    async fn upstream(&self) -> String {
        self.machine.serve_at("upstream:80", UPSTREAM_SAYS);
        "upstream:80".into()
    }

    async fn nobody(&self) -> String {
        "nobody:80".into()
    }

    async fn ask(&self, host: &str) -> (u16, String) {
        let reply = self.machine.ask(host);
        (reply.status, reply.body)
    }

    async fn edit(&self, id: &str) {
        self.machine.edit_proxy(|routes| {
            for route in routes {
                if matches!(route, SeenRoute::Ours(route) if route.id == id) {
                    *route = SeenRoute::Other { id: Some(id.into()), description: "edited".into() };
                }
            }
        });
    }

    async fn add_foreign(&self) {
        let foreign = SeenRoute::Other { id: None, description: "somebody's".into() };
        self.machine.edit_proxy(|routes| routes.insert(0, foreign));
    }

    async fn clear(&self) {
        self.machine.clear_proxy();
    }

    async fn end(&self) {
        self.machine.unreachable_backend(Backend::Proxy, true);
    }
}

#[async_trait]
impl VolumeWorld for World {
    fn volumes(&self) -> &dyn Volumes {
        &self.machine
    }

    fn may_give_away(&self) -> bool {
        true
    }

    // What is in a leaf is not simulated, so nothing can lead out of it.
    async fn fill(&self, _leaf: &Leaf) {}

    async fn outside_is_whole(&self) -> bool {
        true
    }

    async fn put_link(&self, leaf: &Leaf) {
        self.machine.link_leaf(leaf);
    }

    async fn put_file(&self, leaf: &Leaf) {
        self.machine.file_leaf(leaf);
    }

    async fn lose(&self, leaf: &Leaf) {
        self.machine.lose_leaf(leaf);
    }

    async fn take_away(&self, leaf: &Leaf) {
        self.machine.remove_leaf_by_hand(leaf);
    }

    async fn chmod(&self, leaf: &Leaf, mode: u32) {
        self.machine.chmod_leaf(leaf, mode);
    }

    async fn package(&self, files: &BTreeMap<String, Vec<u8>>) -> String {
        let path = format!("/srv/packages/{}", self.next_number());
        self.machine.put_package(&path, files.clone());
        path
    }

    async fn link_in_package(&self, path: &str) {
        self.machine.link_in_package(path);
    }

    async fn read_given(&self, path: &str) -> Option<GivenFile> {
        self.machine.read_given(path)
    }

    async fn change_given(&self, path: &str, text: &str, replaces: bool) {
        self.machine.change_given(path, text, replaces);
    }
}

macro_rules! container_tests {
    ($($room:ident { $($promise:ident)* })*) => {
        $(mod $room {
            use hearth_capabilities::contract::keep;
            $(mod $promise {
                use super::keep;

                const NAME: &str = concat!(stringify!($room), "::", stringify!($promise));

                #[tokio::test]
                async fn at_once() {
                    keep(&crate::pretend::world(), NAME).await;
                }

                #[tokio::test]
                async fn in_its_time() {
                    keep(&crate::pretend::slow_world(), NAME).await;
                }
            })*
        })*
    };
}
hearth_capabilities::container_promises!(container_tests);

macro_rules! proxy_tests {
    ($($promise:ident)*) => {
        mod proxy {
            $(#[tokio::test]
            async fn $promise() {
                let world = crate::pretend::slow_world();
                hearth_capabilities::contract::proxy::keep(&world, stringify!($promise)).await;
            })*
        }
    };
}
hearth_capabilities::proxy_promises!(proxy_tests);

macro_rules! volume_tests {
    ($($promise:ident)*) => {
        mod volumes {
            $(#[tokio::test]
            async fn $promise() {
                let world = crate::pretend::slow_world();
                hearth_capabilities::contract::volumes::keep(&world, stringify!($promise)).await;
            })*
        }
    };
}
hearth_capabilities::volume_promises!(volume_tests);
