//! What goes wrong, set from outside.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hearth_capabilities::Fault;

use crate::machine::Machine;
use crate::state::State;

/// Each operation once, so that none is left out of the list of all.
macro_rules! ops {
    ($($op:ident)*) => {
        /// One thing a hand can be asked to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is the method of the same name")]
        pub enum Op {
            $($op,)*
        }

        impl Op {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$op),*];
        }
    };
}

ops! {
    ListContainers
    InspectContainer
    CreateContainer
    StartContainer
    StopContainer
    RemoveContainer
    ReadLogs
    ReadUsage
    ReadEngine
    ListNetworks
    InspectNetwork
    CreateNetwork
    RemoveNetwork
    ConnectNetwork
    DisconnectNetwork
    InspectImage
    PullImage
    RemoveImage
    Subscribe
    ReadProxy
    ResetProxy
    WriteProxy
    InspectLeaf
    MakeLeaf
    SetLeaf
    RemoveLeaf
    ListLeaves
    SaveFiles
    LoadFiles
    RemoveFiles
    FindGiven
    Give
    TakeBack
    ReadPackage
    AdoptLeaf
    ListInstances
}

/// A part of the machine that can be out of reach by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    /// Containers, networks, images and events.
    Engine,
    /// The reverse proxy.
    Proxy,
    /// The folders of instances.
    Disk,
}

impl Op {
    /// Which part of the machine does it.
    pub fn backend(self) -> Backend {
        match self {
            Self::ReadProxy | Self::ResetProxy | Self::WriteProxy => Backend::Proxy,
            Self::InspectLeaf
            | Self::MakeLeaf
            | Self::SetLeaf
            | Self::RemoveLeaf
            | Self::ListLeaves
            | Self::SaveFiles
            | Self::LoadFiles
            | Self::RemoveFiles
            | Self::FindGiven
            | Self::Give
            | Self::TakeBack
            | Self::AdoptLeaf
            | Self::ListInstances
            | Self::ReadPackage => Backend::Disk,
            _ => Backend::Engine,
        }
    }

    /// The word under which a change is counted; `None` for what only looks.
    pub fn change(self) -> Option<&'static str> {
        match self {
            Self::CreateContainer => Some("create container"),
            Self::StartContainer => Some("start container"),
            Self::StopContainer => Some("stop container"),
            Self::RemoveContainer => Some("remove container"),
            Self::CreateNetwork => Some("create network"),
            Self::RemoveNetwork => Some("remove network"),
            Self::ConnectNetwork => Some("connect network"),
            Self::DisconnectNetwork => Some("disconnect network"),
            Self::PullImage => Some("pull image"),
            Self::RemoveImage => Some("remove image"),
            Self::ResetProxy => Some("reset proxy"),
            Self::WriteProxy => Some("write proxy"),
            Self::MakeLeaf => Some("make leaf"),
            Self::SetLeaf => Some("set leaf"),
            Self::RemoveLeaf => Some("remove leaf"),
            Self::SaveFiles => Some("save files"),
            Self::RemoveFiles => Some("remove files"),
            Self::Give => Some("give files"),
            Self::TakeBack => Some("take files back"),
            Self::AdoptLeaf => Some("adopt leaf"),
            _ => None,
        }
    }

    fn delay(self, latency: &Latency) -> Duration {
        match self {
            Self::StartContainer => latency.start,
            Self::PullImage | Self::Subscribe => Duration::ZERO,
            _ if self.change().is_some() => latency.change,
            _ => latency.look,
        }
    }
}

/// How long things take, on the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Anything that only looks.
    pub look: Duration,
    /// Anything that changes something, but for the two below.
    pub change: Duration,
    /// Starting a container.
    pub start: Duration,
    /// Each of the steps of a pull.
    pub pull_step: Duration,
}

impl Latency {
    /// Everything at once.
    pub const NONE: Self = Self {
        look: Duration::ZERO,
        change: Duration::ZERO,
        start: Duration::ZERO,
        pull_step: Duration::ZERO,
    };
}

impl Default for Latency {
    /// A little less than a real Docker takes.
    fn default() -> Self {
        Self {
            look: Duration::from_millis(2),
            change: Duration::from_millis(15),
            start: Duration::from_millis(150),
            pull_step: Duration::from_millis(100),
        }
    }
}

/// What is set to go wrong.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    next: BTreeMap<Op, VecDeque<Planned>>,
    hung: BTreeSet<Op>,
    out_of_reach: BTreeSet<Backend>,
    pub(crate) latency: Latency,
    /// How many calls never got an answer.
    pub(crate) stopped: usize,
    pub(crate) drops_events: bool,
    pub(crate) says_nothing_is_there: bool,
    /// What looks are answered from instead of what is there now.
    pub(crate) stale: Option<Box<State>>,
}

#[derive(Clone)]
enum Planned {
    /// Nothing is wrong with this one.
    Usual,
    /// Nothing is done, and this is the answer.
    Instead(Fault),
    /// It is done, and this becomes of its answer.
    Done(Answered),
    /// Nothing is done, and no answer comes.
    Never,
}

/// What becomes of the answer to a call that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Comes,
    IsLost,
    NeverComes,
}

/// What is in the way of a call just now.
pub(crate) enum Gate {
    Hung,
    Open(Duration),
}

impl Faults {
    pub(crate) fn gate(&self, op: Op) -> Gate {
        if self.hung.contains(&op) { Gate::Hung } else { Gate::Open(op.delay(&self.latency)) }
    }

    pub(crate) fn is_out_of_reach(&self, backend: Backend) -> bool {
        self.out_of_reach.contains(&backend)
    }

    /// Takes what is planned for this call; `None` where it is never carried out and never answered.
    pub(crate) fn take(&mut self, op: Op) -> Result<Option<Answered>, Fault> {
        if self.is_out_of_reach(op.backend()) {
            return Err(Fault::Blind("no answer: connection refused".into()));
        }
        match self.next.get_mut(&op).and_then(VecDeque::pop_front) {
            Some(Planned::Instead(fault)) => Err(fault),
            Some(Planned::Done(answered)) => Ok(Some(answered)),
            Some(Planned::Never) => Ok(None),
            Some(Planned::Usual) | None => Ok(Some(Answered::Comes)),
        }
    }
}

/// Faults, set from outside.
impl Machine {
    /// The next call of `op` does nothing and fails like this. Several wait in line.
    pub fn fail_next(&self, op: Op, fault: Fault) {
        self.with_faults(|faults| faults.next.entry(op).or_default().push_back(Planned::Instead(fault)));
    }

    /// The next call of `op` is carried out, and its answer is lost: [`Fault::Blind`].
    pub fn fail_after_next(&self, op: Op) {
        let lost = Planned::Done(Answered::IsLost);
        self.with_faults(|faults| faults.next.entry(op).or_default().push_back(lost));
    }

    /// After `before` more calls of `op` one is not carried out and never answered: whoever makes it may be killed
    /// just before it.
    pub fn stop_before(&self, op: Op, before: usize) {
        self.stop_at(op, before, Planned::Never);
    }

    /// After `before` more calls of `op` one is carried out and never answered: whoever makes it may be killed just
    /// after it.
    pub fn stop_after(&self, op: Op, before: usize) {
        self.stop_at(op, before, Planned::Done(Answered::NeverComes));
    }

    fn stop_at(&self, op: Op, before: usize, planned: Planned) {
        self.with_faults(|faults| {
            let next = faults.next.entry(op).or_default();
            next.extend(std::iter::repeat_with(|| Planned::Usual).take(before));
            next.push_back(planned);
        });
    }

    /// How many calls were stopped by [`Machine::stop_before`] and [`Machine::stop_after`].
    pub fn stopped(&self) -> usize {
        self.with_faults(|faults| faults.stopped)
    }

    /// What was planned for calls to come is forgotten.
    pub fn forget_plans(&self) {
        self.with_faults(|faults| faults.next.clear());
    }

    /// Calls of `op` do not come back, until [`Machine::release`].
    pub fn hang(&self, op: Op) {
        self.with_faults(|faults| faults.hung.insert(op));
    }

    /// Calls of `op` go on, those that hang as well.
    pub fn release(&self, op: Op) {
        self.with_faults(|faults| faults.hung.remove(&op));
    }

    /// The whole machine answers nothing, and ends its event streams; containers run on.
    pub fn unreachable(&self, is_so: bool) {
        for backend in [Backend::Engine, Backend::Proxy, Backend::Disk] {
            self.unreachable_backend(backend, is_so);
        }
    }

    /// One part of the machine answers nothing.
    pub fn unreachable_backend(&self, backend: Backend, is_so: bool) {
        self.with_faults(|faults| {
            if is_so { faults.out_of_reach.insert(backend) } else { faults.out_of_reach.remove(&backend) }
        });
        if is_so && backend == Backend::Engine {
            self.end_event_streams();
        }
    }

    /// Looks at containers, networks and images are answered as of now, whatever happens after; `false` ends it.
    pub fn answer_stale(&self, is_so: bool) {
        let now = is_so.then(|| Box::new(self.snapshot()));
        self.with_faults(|faults| faults.stale = now);
    }

    /// Looks at containers, networks and images find nothing at all, as of an engine that has not loaded them yet.
    pub fn answer_empty(&self, is_so: bool) {
        self.with_faults(|faults| faults.says_nothing_is_there = is_so);
    }

    /// What happens is not told to anyone; `false` ends it. What was not told stays untold.
    pub fn drop_events(&self, is_so: bool) {
        self.with_faults(|faults| faults.drops_events = is_so);
    }

    /// How long things take from now on.
    pub fn set_latency(&self, latency: Latency) {
        self.with_faults(|faults| faults.latency = latency);
    }
}
