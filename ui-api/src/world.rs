//! The world: a home in one thread, driven one happening at a time, for whoever wants to see what comes of a wish
//! without a machine.
//!
//! The real store on a folder of its own and all real controllers run over the pretend machine. Once nothing can run
//! any more, the driver lets one of those that wait at the gates go on, as the seed says; where nobody waits it moves
//! the clock to whoever sleeps shortest. So one seed is one run. What crashes loses everything but the store's files
//! and the machine.
//!
//! - [`gates`], [`hands`]: where everything that touches the world waits for the driver.
//! - [`step`]: what goes on next, and how.
//! - [`settle`]: until nothing moves any more, and what still does; what people ask for.
//! - [`rest`]: what holds of every home at rest.
//! - [`snapshot`]: how a home stands, without what differs from run to run.
//! - [`oracle`]: what must hold at every moment.
//! - [`crash`]: a crash at every boundary of a wish.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hearth_engine::store::Beneath;
use hearth_engine::{Clock, Engine, ManualClock, OpenOptions, Store};
use hearth_kinds::Settings;
use hearth_kinds::network::Pool;
use hearth_meta::Timestamp;
use hearth_pretend::Machine;
use hearth_pretend::faults::Latency;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::config::Config;
use crate::serve::{admission, make_namespaces, wiring};

pub mod trouble;
pub mod random;
pub mod happened;
pub mod gates;
pub mod hands;
pub mod settle;
pub mod step;
pub mod rest;
pub mod snapshot;
pub mod oracle;
pub mod crash;

pub use gates::{About, Gates, Point, Verdict};
pub use happened::Happened;
pub use step::{Seen, is_change};
pub use trouble::{Trouble, TroubleKind};

use hands::Gated;
use random::Random;
use step::{Waits, drive};

/// What a world's names in the engine begin with.
pub(crate) const PREFIX: &str = "hearth";
/// When every world begins.
const BEGINNING: &str = "2026-03-01T12:00:00Z";

/// Tells a call that is let go on how it does.
pub type Verdicts = Box<dyn FnMut(&Point) -> Verdict>;
/// Listens to what happens, and only tells.
pub type Teller = Box<dyn FnMut(&mut Seen<'_>)>;
/// What happens by itself, later. A home that is forked before it has it before it twice.
type Later = Rc<dyn Fn(&mut World)>;
/// Looks on, and judges: says what does not hold.
pub type Watcher = Box<dyn FnMut(&mut Seen<'_>) -> Result<(), String>>;

/// A home, its machine and everything around them.
pub struct World {
    /// Decides what goes on next.
    pub seed: u64,
    /// Everybody's time; the driver alone moves it.
    pub clock: ManualClock,
    /// What is acted on; a test may change it by hand.
    pub machine: Machine,
    /// Where everything waits that touches the machine or the store's file.
    pub gates: Gates,
    /// How it is served.
    pub config: Config,
    /// What a call that is let go on is told.
    pub faults: Verdicts,
    /// Whether there is no room for what the store wants to write.
    pub store_is_full: bool,
    /// How late the machine tells of what happens to these.
    pub late: BTreeMap<About, Duration>,
    /// What is looked at whenever nothing can run.
    pub watcher: Option<Watcher>,
    /// Who is told of it then.
    pub teller: Option<Teller>,
    /// What has gone on so far, counted, and the last of it in words.
    pub happened: Happened,
    /// Holds the data; removed with the world.
    _folder: TempDir,
    random: Random,
    /// Who wakes first of those who are due at one instant: apart, so that it takes no other choice along.
    wakes: Random,
    /// After so many lasting changes it is restarted.
    restarts_at: Option<u64>,
    uids: Arc<AtomicU64>,
    process: Option<Process>,
    grudges: BTreeMap<Waits, u64>,
    /// What happens by itself, and when; soonest first.
    later: Vec<(Duration, Later)>,
}

struct Process {
    runtime: Runtime,
    store: Store,
    controllers: wiring::Controllers,
}

impl World {
    /// A new home on a new machine; nothing runs yet.
    ///
    /// # Errors
    /// Where there is no room for its folder.
    pub fn new(seed: u64) -> Result<Self, Trouble> {
        let wall: Timestamp = BEGINNING.parse().expect("it is a time");
        let clock = ManualClock::new(wall);
        let machine = Machine::new(Arc::new(clock.clone()));
        machine.proxy_runs_in("hearth-system_caddy");
        Self::over(seed, clock, machine, 0)
    }

    fn over(seed: u64, clock: ManualClock, machine: Machine, uids: u64) -> Result<Self, Trouble> {
        machine.set_latency(Latency::NONE);
        let folder = folder().map_err(Trouble::world)?;
        let config = Config {
            data_dir: folder.path().join("data"),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            lan_listen: None,
            docker: String::new(),
            edge_http_port: 80,
            edge_https_port: 443,
            caddy_image: Some("hearth/caddy:local".to_owned()),
            network_pool: Pool::DEFAULT,
            manifests: None,
            name_prefix: PREFIX.to_owned(),
            pretend: true,
            log: "warn".to_owned(),
        };
        Ok(Self {
            seed,
            clock,
            machine,
            gates: Gates::default(),
            config,
            faults: Box::new(|_| Verdict::Go),
            store_is_full: false,
            late: BTreeMap::new(),
            watcher: None,
            teller: None,
            happened: Happened::default(),
            _folder: folder,
            random: Random::new(seed),
            wakes: Random::new(!seed),
            restarts_at: None,
            uids: Arc::new(AtomicU64::new(uids)),
            process: None,
            grudges: BTreeMap::new(),
            later: Vec::new(),
        })
    }

    /// The same home and machine as they stand at this moment, as a crash would leave them; nothing runs in it yet.
    /// What goes wrong around the home and what is yet to happen by itself is the same; who looks on and deals out
    /// faults at its gates is not.
    ///
    /// # Errors
    /// Where its files cannot be copied.
    pub fn fork(&self, seed: u64) -> Result<Self, Trouble> {
        let elapsed = self.clock.elapsed();
        let clock = ManualClock::new(self.clock.now().saturating_sub(elapsed).expect("it was later once"));
        clock.advance(elapsed);
        let machine = self.machine.fork(Arc::new(clock.clone()));
        let mut fork = Self::over(seed, clock, machine, self.uids.load(Ordering::SeqCst))?;
        fork.store_is_full = self.store_is_full;
        fork.late = self.late.clone();
        fork.later = self.later.clone();
        copy(&self.config.data_dir, &fork.config.data_dir).map_err(Trouble::world)?;
        Ok(fork)
    }

    /// Starts serving: the store is opened and every controller runs.
    ///
    /// # Errors
    /// Where the store does not open, or something that must always hold does not.
    pub fn start(&mut self) -> Result<(), Trouble> {
        let gates = self.gates.clone();
        let idle = gates.idle.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || idle.parks())
            .build()
            .map_err(Trouble::world)?;
        let kinds = admission::kinds(&Settings { network_pool: self.config.network_pool });
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let options = OpenOptions { data_dir: self.config.data_dir.clone(), kinds, clock };
        let beneath = Beneath { gate: Some(Arc::new(gates)), bits: Some(bits(&self.uids)) };
        let store = runtime.block_on(Store::open_over(options, beneath)).map_err(Trouble::world)?;
        let hands = Gated::hands(&self.machine, &self.gates, &self.clock);
        let (config, of) = (self.config.clone(), store.clone());
        let starting = runtime.spawn(async move {
            make_namespaces(&of).await?;
            wiring::start_controllers(&of, hands, &config).await
        });
        while !starting.is_finished() {
            drive(&runtime, &self.gates);
            if !starting.is_finished() {
                self.step_in(&runtime, Some(&store))?;
            }
        }
        let started = runtime.block_on(starting).map_err(Trouble::world)?;
        let controllers = started.map_err(|error| Trouble::world(format!("{error:#}")))?;
        self.process = Some(Process { runtime, store, controllers });
        Ok(())
    }

    /// Everything but the store's files and the machine is gone.
    pub fn crash(&mut self) {
        self.process = None;
        self.gates = Gates::default();
    }

    /// From now on another seed decides; for a world that nobody serves.
    pub fn reseed(&mut self, seed: u64) {
        (self.seed, self.random, self.wakes) = (seed, Random::new(seed), Random::new(!seed));
        self.grudges.clear();
    }

    /// Lets time pass while nobody serves.
    pub fn stay_down(&mut self, time: Duration) {
        let until = self.clock.elapsed() + time;
        while let Some((at, _)) = self.later.first()
            && *at <= until
        {
            self.pass(at.saturating_sub(self.clock.elapsed()));
            self.catch_up();
        }
        self.pass(until.saturating_sub(self.clock.elapsed()));
    }

    /// Time passes; who is due at one instant wakes in the order of the seed.
    fn pass(&mut self, time: Duration) {
        let wakes = &mut self.wakes;
        self.clock.advance_by_turns(time, |many| wakes.below(many));
    }

    /// After this time something happens by itself.
    pub fn after(&mut self, time: Duration, what: impl Fn(&mut Self) + 'static) {
        let at = self.clock.elapsed() + time;
        let place = self.later.partition_point(|(other, _)| *other <= at);
        self.later.insert(place, (at, Rc::new(what)));
    }

    /// What was yet to happen by itself happens now.
    pub fn over_at_once(&mut self) {
        for (_, what) in std::mem::take(&mut self.later) {
            what(self);
        }
    }

    /// Once there have been so many lasting changes (commits, and changes of the machine) since it began, it is
    /// restarted, as soon as nobody waits for an answer.
    pub fn restart_at(&mut self, changes: u64) {
        self.restarts_at = Some(changes);
    }

    /// Whether such a restart is yet to come.
    pub fn is_restart_to_come(&self) -> bool {
        self.restarts_at.is_some()
    }

    /// Lasting changes so far.
    pub fn lasting(&self) -> u64 {
        let (commits, changes) = self.moved();
        commits + changes
    }

    /// Whether anything is yet to happen by itself.
    pub fn is_more_to_come(&self) -> bool {
        !self.later.is_empty()
    }

    /// Lets happen what is due by now.
    fn catch_up(&mut self) {
        while self.later.first().is_some_and(|(at, _)| *at <= self.clock.elapsed()) {
            let (_, what) = self.later.remove(0);
            what(self);
        }
    }

    /// Asks something of what is served; nothing else happens meanwhile, so it must need nothing of others.
    pub fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        self.process().runtime.block_on(question)
    }

    /// Whether it is served.
    pub fn is_served(&self) -> bool {
        self.process.is_some()
    }

    /// The store of what is served.
    pub fn store(&self) -> Store {
        self.process().store.clone()
    }

    /// What drives the controllers of what is served.
    pub fn engine(&self) -> Engine {
        self.process().controllers.engine()
    }

    /// Whoever asks something of a home has started it.
    fn process(&self) -> &Process {
        self.process.as_ref().expect("it is served")
    }

    /// Lets something begin beside everything else.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.process().runtime.spawn(task)
    }

    /// Goes on until a task is over, and says what it came to.
    ///
    /// # Errors
    /// Where something that must always hold does not, or the task ended badly.
    pub fn until_over<T>(&mut self, task: tokio::task::JoinHandle<T>) -> Result<T, Trouble> {
        while !task.is_finished() {
            self.step()?;
        }
        self.process().runtime.block_on(task).map_err(Trouble::world)
    }
}

/// Uids that differ from each other and are the same in every run of a seed, whatever the order they are given in.
fn bits(given: &Arc<AtomicU64>) -> Arc<dyn Fn() -> u128 + Send + Sync> {
    let given = given.clone();
    Arc::new(move || {
        let mut random = Random::new(given.fetch_add(1, Ordering::SeqCst));
        u128::from(random.next()) << 64 | u128::from(random.next())
    })
}

/// In memory where there is such a place: what is simulated is the death of a process, not of the power.
fn folder() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Copies a store's files, as a crash leaves them.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        // The lock and the index of the log belong to the process that is gone; the reserve is made anew.
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        let is_left_out = ["store.lock", "store.reserve"].contains(&&*shown) || shown.ends_with("-shm");
        if entry.file_type()?.is_file() && !is_left_out {
            std::fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
