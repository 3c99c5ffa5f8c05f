//! A whole home for a story: the store, the API, every controller and the hands of one machine, in this process.
//!
//! A story is a plain async function over [`Home`]: it declares something, breaks something, and says what must be
//! so in the end. What is broken is broken through [`World`], which is the pretend machine or a real Docker with a
//! real Caddy, so that the same story is told on both.
//!
//! Nothing here waits for a fixed time: [`Home::until`] looks again and again, and after a generous deadline it
//! fails with everything there is to know.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::FutureExt;
use hearth::config::Config;
use hearth::recover::rebuild::{Rebuilt, rebuild};
use hearth::serve::Running;
use hearth::serve::wiring::{self, Hands};
use hearth_engine::{Clock, Engine, Store};
use tempfile::TempDir;
use tokio::runtime::Runtime;

mod clock;
mod world;
mod pretend;
mod real;
mod registry;
mod look;
mod wait;
mod declare;
mod dice;
mod process;
mod ledger;
mod liar;
mod dockerd;

use clock::JumpingClock;
pub(crate) use declare::{app, page, trio};
pub(crate) use dice::{Dice, budget};
pub(crate) use dockerd::Dockerd;
pub(crate) use ledger::Ledger;
pub(crate) use liar::{Liar, Lie};
use registry::Registry;
pub(crate) use world::{Alteration, Page, World};

use crate::machine::Machine;

/// A home that is served, and the machine under it.
pub(crate) struct Home {
    /// The machine, for what is done to it behind Hearth's back.
    pub(crate) world: Arc<dyn World>,
    /// Hands as Hearth's own, to look at the machine with.
    pub(crate) hands: Hands,
    pub(crate) config: Config,
    folder: TempDir,
    clock: JumpingClock,
    running: tokio::sync::Mutex<Option<(Runtime, Running)>>,
    /// The store and the engine of what runs now, at hand without waiting.
    parts: Mutex<Option<(Store, Engine)>>,
}

/// Tells a story on the pretend machine.
pub(crate) fn on_pretend(story: impl AsyncFnOnce(&Home)) {
    on_pretend_as(|_, _| {}, story);
}

/// The same, with a manifests folder that is empty in the beginning.
pub(crate) fn on_pretend_with_folder(story: impl AsyncFnOnce(&Home)) {
    let with_folder = |config: &mut Config, folder: &TempDir| {
        let manifests = folder.path().join("manifests");
        std::fs::create_dir(&manifests).unwrap();
        config.manifests = Some(manifests);
    };
    on_pretend_as(with_folder, story);
}

fn on_pretend_as(settings: impl FnOnce(&mut Config, &TempDir), story: impl AsyncFnOnce(&Home)) {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(&folder, "home", "10.89.0.0/16");
        settings(&mut config, &folder);
        let clock = JumpingClock::start();
        let world = pretend::Pretend::new(&config, &clock);
        tell(Home::over(Arc::new(world), config, folder, clock), story).await;
    });
}

/// Tells a story on this machine's Docker and a Caddy of the story's own, where there is a Docker.
pub(crate) fn on_real(story: impl AsyncFnOnce(&Home)) {
    let Some(offered) = Machine::offered() else { return };
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let place = real::Place::take();
        let config = Config {
            docker: offered.docker.clone(),
            caddy_image: Some(offered.caddy_image.clone()),
            ..config(&folder, &place.prefix, &place.pool)
        };
        let clock = JumpingClock::start();
        let world = real::Real::new(offered, &place, &config).await;
        tell(Home::over(Arc::new(world), config, folder, clock), story).await;
        drop(place);
    });
}

/// Tells a story on this machine's Docker, to which Hearth speaks through one that may lie.
pub(crate) fn on_lied_to(story: impl AsyncFnOnce(&Home, &Liar)) {
    let Some(offered) = Machine::offered() else { return };
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let place = real::Place::take();
        let liar = Liar::before(&offered.docker, folder.path().join("liar.sock"));
        let config = Config {
            docker: liar.address(),
            caddy_image: Some(offered.caddy_image.clone()),
            ..config(&folder, &place.prefix, &place.pool)
        };
        let honest = Config { docker: offered.docker.clone(), ..config.clone() };
        let clock = JumpingClock::start();
        let world = real::Real::new(offered, &place, &config).await;
        let mut home = Home::over(Arc::new(world), config, folder, clock);
        let clock: Arc<dyn Clock> = Arc::new(home.clock.clone());
        home.hands = wiring::machine(&honest, &clock).unwrap();
        tell(home, async |home| {
            let told = AssertUnwindSafe(story(home, &liar)).catch_unwind().await;
            // What is taken away is taken away by the truth.
            liar.be_honest();
            if let Err(failure) = told {
                resume_unwind(failure);
            }
        })
        .await;
        drop(place);
    });
}

/// Tells a story on a Docker of its own.
pub(crate) fn on_own_docker(story: impl AsyncFnOnce(&Home, &Dockerd)) {
    let Some(offered) = Machine::offered() else { return };
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let place = real::Place::take();
        let registry = Registry::new(real::connect(&offered.docker).await, &offered, &place.prefix);
        let dockerd = Dockerd::start(&offered.registry).await;
        let config = Config {
            docker: dockerd.address(),
            caddy_image: Some(registry.image_of(&offered.caddy_image, "caddy:1").await),
            ..config(&folder, &place.prefix, &place.pool)
        };
        let clock = JumpingClock::start();
        let docker = real::connect(&dockerd.address()).await;
        let world = real::Real::over(docker, registry, &config, Some(dockerd.inside));
        tell(Home::over(Arc::new(world), config, folder, clock), async |home| story(home, &dockerd).await)
            .await;
        drop(dockerd);
        drop(place);
    });
}

/// Serves the home, tells the story, and takes everything away again, however the story ends.
async fn tell(home: Home, story: impl AsyncFnOnce(&Home)) {
    let told = Box::pin(async {
        home.serve().await;
        home.until("the proxy runs", async || {
            (home.verdict("Container", "system/caddy") == "Ready").then_some(())
        })
        .await;
        story(&home).await;
    });
    let ended = AssertUnwindSafe(told).catch_unwind().await;
    home.stop().await;
    home.world.clear().await;
    if let Err(failure) = ended {
        resume_unwind(failure);
    }
}

fn block_on(future: impl Future<Output = ()>) {
    runtime().block_on(future);
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn config(folder: &TempDir, prefix: &str, pool: &str) -> Config {
    Config {
        data_dir: folder.path().join("data"),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, free_port())),
        lan_listen: None,
        docker: String::new(),
        edge_http_port: free_port(),
        edge_https_port: free_port(),
        caddy_image: Some("hearth/caddy:local".to_owned()),
        network_pool: hearth_kinds::network::Pool::parse(pool).unwrap(),
        name_prefix: prefix.to_owned(),
        pretend: false,
        manifests: None,
        log: "warn".to_owned(),
    }
}

/// A port that nobody has, and that nobody is given: below those the system deals out, and apart for each process,
/// since it is taken only once the proxy's container starts.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 20_000 + u16::try_from(std::process::id() % 1_500).unwrap() * 8;
    let mut ports = std::iter::repeat_with(|| base + NEXT.fetch_add(1, Ordering::Relaxed) % 8);
    ports.find(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok()).unwrap()
}

impl Home {
    fn over(world: Arc<dyn World>, config: Config, folder: TempDir, clock: JumpingClock) -> Self {
        let (running, parts) = Default::default();
        let hands = world.hands();
        Self { world, hands, config, folder, clock, running, parts }
    }

    /// Starts serving, in a runtime of its own so that it can be cut off.
    pub(crate) async fn serve(&self) {
        let runtime = runtime();
        let began = Instant::now();
        let served = loop {
            let (config, clock, hands) =
                (self.config.clone(), Arc::new(self.clock.clone()), self.world.hands());
            let start =
                runtime.spawn(async move { Box::pin(Running::start_with(&config, clock, hands)).await });
            match start.await.unwrap() {
                Ok(served) => break served,
                // The store of one that was cut off is let go a moment later.
                Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        *self.parts.lock().unwrap() = Some((served.store.clone(), served.engine()));
        *self.running.lock().await = Some((runtime, served));
    }

    /// Tries to serve, which must not come to be; what was said instead.
    pub(crate) async fn is_refused(&self) -> String {
        let (config, clock, hands) = (self.config.clone(), Arc::new(self.clock.clone()), self.world.hands());
        match Box::pin(Running::start_with(&config, clock, hands)).await {
            Ok(_) => panic!("it was served"),
            Err(error) => format!("{error:#}"),
        }
    }

    /// `hearth recover rebuild --yes` on this machine.
    pub(crate) async fn rebuild(&self) -> anyhow::Result<Rebuilt> {
        let clock = Arc::new(self.clock.clone());
        Box::pin(rebuild(&self.config, &self.world.hands(), clock, None, true)).await
    }

    /// Stops serving, as a server that is told to does. What is on the machine stays.
    pub(crate) async fn stop(&self) {
        self.parts.lock().unwrap().take();
        if let Some((runtime, running)) = self.running.lock().await.take() {
            Box::pin(running.stop()).await;
            runtime.shutdown_background();
        }
    }

    /// Stops serving wherever it stands, as a process that is killed.
    pub(crate) async fn cut_off(&self) {
        self.parts.lock().unwrap().take();
        if let Some((runtime, running)) = self.running.lock().await.take() {
            runtime.shutdown_background();
            drop(running);
        }
    }

    /// Stops and starts again.
    pub(crate) async fn restart(&self) {
        self.stop().await;
        self.serve().await;
    }

    /// The store of what runs now.
    pub(crate) fn store(&self) -> Store {
        self.parts.lock().unwrap().as_ref().expect("the home is served").0.clone()
    }

    /// The engine of what runs now.
    pub(crate) fn engine(&self) -> Engine {
        self.parts.lock().unwrap().as_ref().expect("the home is served").1.clone()
    }

    /// The engine's name of the container or network of an object, such as `trio-web` or `system/caddy`.
    pub(crate) fn engine_name(&self, name: &str) -> String {
        let prefix = &self.config.name_prefix;
        match name.split_once('/') {
            Some((namespace, name)) => format!("{prefix}-{namespace}_{name}"),
            None => format!("{prefix}_household_{name}"),
        }
    }
}
