//! The world: a home in one thread, driven one happening at a time.
//!
//! Once nothing can run any more, the driver lets one of those that wait at the gates go on, as the seed says; where
//! nobody waits it moves the clock to whoever sleeps shortest. So one seed is one run. What crashes loses everything
//! but the store's files and the machine.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use hearth::config::Config;
use hearth::serve::{admission, make_namespaces, wiring};
use hearth_engine::store::Beneath;
use hearth_engine::{Clock, Engine, ManualClock, OpenOptions, Store};
use hearth_kinds::Settings;
use hearth_meta::Timestamp;
use hearth_pretend::faults::Latency;
use hearth_pretend::{Machine, Op};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::gates::{Gates, Point, Verdict};
use crate::hands::Gated;
use crate::seeds::Random;

/// How many lines of the trace are kept for a failure.
const KEPT_LINES: usize = 300;
/// The longest a single happening takes, on the world's clock.
const LONGEST_MS: usize = 4;
/// Nothing goes on so long by itself; whoever works on without time passing spins.
const MOST_WITHOUT_REST: u64 = 400_000;

/// Looks on, and judges.
type Watcher = Box<dyn FnMut(&mut Seen<'_>)>;

/// A home, its machine and everything around them.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) clock: ManualClock,
    pub(crate) machine: Machine,
    pub(crate) gates: Gates,
    pub(crate) config: Config,
    /// What a call that is let go on is told.
    pub(crate) faults: Box<dyn FnMut(&Point) -> Verdict>,
    /// What is looked at whenever nothing can run.
    pub(crate) watcher: Option<Watcher>,
    pub(crate) happened: Happened,
    /// Holds the data; removed with the world.
    _folder: TempDir,
    random: Random,
    uids: Arc<AtomicU64>,
    process: Option<Process>,
    grudges: BTreeMap<Kind, u64>,
}

/// What a watcher sees: the home at one moment, and what was just let go on.
pub(crate) struct Seen<'a> {
    pub(crate) store: &'a Store,
    pub(crate) machine: &'a Machine,
    pub(crate) now: Duration,
    /// What was just let go on, and how.
    pub(crate) point: &'a Point,
    pub(crate) verdict: &'a Verdict,
    /// Counts what has happened.
    pub(crate) count: u64,
}

/// What has happened so far.
#[derive(Clone, Default)]
pub(crate) struct Happened {
    pub(crate) count: u64,
    pub(crate) commits: u64,
    /// Calls that change the machine.
    pub(crate) changes: u64,
    /// Over every line of the trace.
    pub(crate) hash: u64,
    last: VecDeque<String>,
}

/// What kind of thing waits at a gate, as far as a seed's grudges go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Op(Op),
    Write,
    Listener(u64),
}

struct Process {
    runtime: Runtime,
    store: Store,
    controllers: wiring::Controllers,
}

impl World {
    /// A new home on a new machine; nothing runs yet.
    pub(crate) fn new(seed: u64) -> Self {
        let wall: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let clock = ManualClock::new(wall);
        let machine = Machine::new(Arc::new(clock.clone()));
        machine.proxy_runs_in("hearth-system_caddy");
        Self::over(seed, clock, machine, 0)
    }

    fn over(seed: u64, clock: ManualClock, machine: Machine, uids: u64) -> Self {
        machine.set_latency(Latency::NONE);
        let folder = folder();
        let config = Config {
            data_dir: folder.path().join("data"),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            docker: String::new(),
            edge_http_port: 80,
            edge_https_port: 443,
            caddy_image: Some("hearth/caddy:local".to_owned()),
            network_pool: hearth_kinds::network::Pool::parse("10.89.0.0/16").unwrap(),
            manifests: None,
            name_prefix: "hearth".to_owned(),
            pretend: true,
            log: "warn".to_owned(),
        };
        Self {
            seed,
            clock,
            machine,
            gates: Gates::default(),
            config,
            faults: Box::new(|_| Verdict::Go),
            watcher: None,
            happened: Happened::default(),
            _folder: folder,
            random: Random::new(seed),
            uids: Arc::new(AtomicU64::new(uids)),
            process: None,
            grudges: BTreeMap::new(),
        }
    }

    /// The same home and machine as they stand at this moment, as a crash would leave them; nothing runs in it yet.
    pub(crate) fn fork(&self, seed: u64) -> Self {
        let elapsed = self.clock.elapsed();
        let clock = ManualClock::new(self.clock.now().saturating_sub(elapsed).unwrap());
        clock.advance(elapsed);
        let machine = self.machine.fork(Arc::new(clock.clone()));
        let fork = Self::over(seed, clock, machine, self.uids.load(Ordering::SeqCst));
        std::fs::create_dir_all(&fork.config.data_dir).unwrap();
        for entry in std::fs::read_dir(&self.config.data_dir).unwrap() {
            let entry = entry.unwrap();
            // The lock and the index of the log belong to the process that is gone; the reserve is made anew.
            let name = entry.file_name().into_string().unwrap();
            let is_left_out = ["store.lock", "store.reserve"].contains(&&*name) || name.ends_with("-shm");
            if entry.file_type().unwrap().is_file() && !is_left_out {
                std::fs::copy(entry.path(), fork.config.data_dir.join(name)).unwrap();
            }
        }
        fork
    }

    /// Starts serving: the store is opened and every controller runs.
    pub(crate) fn start(&mut self) {
        let gates = self.gates.clone();
        let idle = gates.idle.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || idle.parks())
            .build()
            .unwrap();
        let kinds = admission::kinds(&Settings { network_pool: self.config.network_pool });
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let options = OpenOptions { data_dir: self.config.data_dir.clone(), kinds, clock };
        let beneath = Beneath { gate: Some(Arc::new(gates)), bits: Some(bits(&self.uids)) };
        let store = runtime.block_on(Store::open_over(options, beneath)).unwrap();
        let hands = Gated::hands(&self.machine, &self.gates, &self.clock);
        let (config, of) = (self.config.clone(), store.clone());
        let starting = runtime.spawn(async move {
            make_namespaces(&of).await?;
            wiring::start_controllers(&of, hands, &config).await
        });
        while !starting.is_finished() {
            drive(&runtime, &self.gates);
            if !starting.is_finished() {
                self.step_in(&runtime, Some(&store));
            }
        }
        let controllers = runtime.block_on(starting).unwrap().unwrap();
        self.process = Some(Process { runtime, store, controllers });
    }

    /// Everything but the store's files and the machine is gone.
    pub(crate) fn crash(&mut self) {
        self.process = None;
        self.gates = Gates::default();
    }

    pub(crate) fn store(&self) -> Store {
        self.process.as_ref().expect("it is served").store.clone()
    }

    pub(crate) fn engine(&self) -> Engine {
        self.process.as_ref().expect("it is served").controllers.engine()
    }

    /// Lets something begin beside everything else.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.process.as_ref().expect("it is served").runtime.spawn(task)
    }

    /// Goes on until a task is over, and says what it came to.
    pub(crate) fn until_over<T>(&mut self, task: tokio::task::JoinHandle<T>) -> T {
        while !task.is_finished() {
            self.step();
        }
        self.process.as_ref().expect("it is served").runtime.block_on(task).unwrap()
    }

    /// Runs what can run, then lets one thing go on, or time pass where nothing waits.
    pub(crate) fn step(&mut self) {
        let process = self.process.take().expect("it is served");
        drive(&process.runtime, &self.gates);
        self.step_in(&process.runtime, Some(&process.store));
        self.process = Some(process);
    }

    /// Runs what can run, and no further.
    pub(crate) fn rest(&self) {
        drive(&self.process.as_ref().expect("it is served").runtime, &self.gates);
    }

    /// Whether anything waits at the gates.
    pub(crate) fn waits(&self) -> bool {
        !self.gates.is_empty()
    }

    fn step_in(&mut self, runtime: &Runtime, store: Option<&Store>) {
        let Some((id, point)) = self.choose() else {
            let by = self.clock.next_due().expect("somebody always sleeps: the minutely look");
            self.clock.advance(by);
            return;
        };
        let verdict = (self.faults)(&point);
        self.note(&point, &verdict);
        self.gates.release(id, verdict.clone());
        let by = Duration::from_millis(self.random.below(LONGEST_MS + 1) as u64);
        drive(runtime, &self.gates);
        if let (Some(store), Some(mut watcher)) = (store, self.watcher.take()) {
            let (machine, now, count) = (&self.machine, self.clock.elapsed(), self.happened.count);
            watcher(&mut Seen { store, machine, now, point: &point, verdict: &verdict, count });
            self.watcher = Some(watcher);
        }
        self.clock.advance(by);
    }

    /// One of those that wait, by the seed. Each seed keeps some kinds of things waiting longer than others, so that
    /// orders come up that even chances never make.
    fn choose(&mut self) -> Option<(u64, Point)> {
        let (seed, grudges) = (self.seed, &mut self.grudges);
        let weigh = |point: &Point| {
            let kind = match point {
                Point::Call(op, _) | Point::Reply(op, _) => Kind::Op(*op),
                Point::Write | Point::Written(_) => Kind::Write,
                Point::Event(listener, _) | Point::Break(listener) => Kind::Listener(*listener),
            };
            *grudges.entry(kind).or_insert_with_key(|kind| {
                let mixed = format!("{kind:?}")
                    .bytes()
                    .fold(seed, |mixed, byte| Random::new(mixed ^ u64::from(byte)).next());
                [1, 8, 64, 64][usize::try_from(mixed % 4).unwrap()]
            })
        };
        let random = self.random.next();
        self.gates.choose(random, weigh)
    }

    fn note(&mut self, point: &Point, verdict: &Verdict) {
        let happened = &mut self.happened;
        happened.count += 1;
        happened.commits += u64::from(matches!(point, Point::Written(_)));
        happened.changes += u64::from(is_change(point));
        let ms = self.clock.elapsed().as_millis();
        let how = if *verdict == Verdict::Go { String::new() } else { format!(" -> {verdict:?}") };
        happened.line(format!("{ms:>9} {point}{how}"));
        assert!(
            happened.count < MOST_WITHOUT_REST,
            "it works on and on; the last of it:\n{}",
            happened.tail(60)
        );
    }
}

impl Happened {
    /// Notes a line of the trace.
    pub(crate) fn line(&mut self, line: String) {
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if self.last.len() == KEPT_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// The last lines of the trace.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let skipped = self.last.len().saturating_sub(lines);
        self.last.iter().skip(skipped).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Whether this is the moment at which the machine is changed.
pub(crate) fn is_change(point: &Point) -> bool {
    matches!(point, Point::Call(op, _) if op.change().is_some())
}

/// Runs what can run. A clock that was moved and a gate that was opened make things run; nothing else does.
fn drive(runtime: &Runtime, gates: &Gates) {
    runtime.block_on(gates.idle.reached());
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
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

thread_local! {
    /// Whether a failure is tried out and not to be told.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does something whose failure is not told.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                told(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}

impl Drop for World {
    fn drop(&mut self) {
        // What was only cut off, before anything happened in it, has nothing to tell.
        if std::thread::panicking() && !QUIET.get() && self.happened.count > 0 {
            println!("the last of what happened (seed {}):\n{}", self.seed, self.happened.tail(KEPT_LINES));
        }
    }
}
