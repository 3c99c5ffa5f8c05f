//! The hands of the pretend machine, with a gate before and after each call.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::serve::wiring::Hands;
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use hearth_capabilities::containers::{
    ContainerFacts, EngineFacts, JoinedNetwork, ListedContainer, LogLine, LogOptions, NewContainer, Usage,
};
use hearth_capabilities::images::{ImageFacts, PullProgress};
use hearth_capabilities::networks::{ListedNetwork, NetworkFacts, NewNetwork};
use hearth_capabilities::proxy::{ProxyFacts, ProxyRoute};
use hearth_capabilities::volumes::{Given, Leaf, LeafState, ListedLeaf};
use hearth_capabilities::{Containers, Events, Fault, Images, Networks, Proxy, Volumes};
use hearth_engine::{Clock, ManualClock};
use hearth_pretend::{Machine, Op};
use tokio::sync::mpsc;

use super::gates::{Gates, Point, Told, Verdict};

/// How many answers are remembered for a stale one.
const REMEMBERED: usize = 16;

/// The latest answers of each look, oldest first.
type Answers = BTreeMap<(Op, String), VecDeque<Box<dyn Any + Send>>>;

/// Hands that wait at the gates.
#[derive(Clone)]
pub struct Gated {
    machine: Machine,
    gates: Gates,
    clock: ManualClock,
    answers: Arc<Mutex<Answers>>,
}

/// What an answer looks like to somebody who is lied to.
trait Lied: Clone + Send + 'static {
    /// As if nothing were there; `None` where it cannot look like that.
    fn empty(&self) -> Option<Self>;
    /// As if half of it were not there.
    fn partial(&self) -> Option<Self> {
        None
    }
}

impl<T: Clone + Send + 'static> Lied for Vec<T> {
    fn empty(&self) -> Option<Self> {
        Some(Vec::new())
    }

    fn partial(&self) -> Option<Self> {
        Some(self.iter().step_by(2).cloned().collect())
    }
}

impl<T: Clone + Send + 'static> Lied for Option<T> {
    fn empty(&self) -> Option<Self> {
        Some(None)
    }
}

impl Lied for LeafState {
    fn empty(&self) -> Option<Self> {
        Some(Self::Absent)
    }
}

impl Lied for ProxyFacts {
    fn empty(&self) -> Option<Self> {
        None
    }
}

impl<K: Clone + Send + 'static, V: Clone + Send + 'static> Lied for BTreeMap<K, V> {
    fn empty(&self) -> Option<Self> {
        None
    }
}

impl Gated {
    /// Hands on a machine, whose calls wait at these gates.
    pub fn hands(machine: &Machine, gates: &Gates, clock: &ManualClock) -> Hands {
        let gated = Arc::new(Self {
            machine: machine.clone(),
            gates: gates.clone(),
            clock: clock.clone(),
            answers: Arc::default(),
        });
        Hands {
            containers: gated.clone(),
            networks: gated.clone(),
            images: gated.clone(),
            events: gated.clone(),
            proxy: gated.clone(),
            volumes: gated,
        }
    }

    /// A call that changes something.
    async fn change<T: Send>(
        &self,
        op: Op,
        object: String,
        call: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        let verdict = self.before(op, &object).await?;
        let answer = call.await;
        self.gates.pass(Point::Reply(op, object)).await;
        if verdict == Verdict::Lost { Err(Fault::Blind("the answer was lost".into())) } else { answer }
    }

    /// A call that only looks.
    async fn look<T: Lied>(
        &self,
        op: Op,
        object: String,
        call: impl Future<Output = Result<T, Fault>> + Send,
    ) -> Result<T, Fault> {
        let verdict = self.before(op, &object).await?;
        let answer = call.await.map(|seen| self.as_told(op, &object, seen, &verdict));
        self.gates.pass(Point::Reply(op, object)).await;
        if verdict == Verdict::Lost { Err(Fault::Blind("the answer was lost".into())) } else { answer }
    }

    /// Waits until the call may be carried out, and says how.
    async fn before(&self, op: Op, object: &str) -> Result<Verdict, Fault> {
        let verdict = self.gates.pass(Point::Call(op, object.to_owned())).await;
        match &verdict {
            Verdict::Fail(fault) => return Err(fault.clone()),
            Verdict::Hang(time) => {
                self.clock.sleep(*time).await;
                return Err(Fault::Blind("no answer in time".into()));
            }
            Verdict::Slow(time) => self.clock.sleep(*time).await,
            _ => {}
        }
        Ok(verdict)
    }

    fn as_told<T: Lied>(&self, op: Op, object: &str, seen: T, verdict: &Verdict) -> T {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = answers.entry((op, object.to_owned())).or_default();
        answers.push_back(Box::new(seen.clone()));
        if answers.len() > REMEMBERED {
            answers.pop_front();
        }
        let told = match verdict {
            Verdict::Stale(looks) => {
                let at = answers.len().saturating_sub(looks + 1);
                answers.get(at).and_then(|answer| answer.downcast_ref::<T>()).cloned()
            }
            Verdict::Empty => seen.empty(),
            Verdict::Partial => seen.partial(),
            _ => None,
        };
        told.unwrap_or(seen)
    }
}

#[async_trait]
impl Containers for Gated {
    async fn list(&self) -> Result<Vec<ListedContainer>, Fault> {
        self.look(Op::ListContainers, String::new(), Containers::list(&self.machine)).await
    }

    async fn inspect(&self, name: &str) -> Result<Option<ContainerFacts>, Fault> {
        self.look(Op::InspectContainer, name.to_owned(), Containers::inspect(&self.machine, name)).await
    }

    async fn create(&self, wanted: &NewContainer) -> Result<String, Fault> {
        let call = Containers::create(&self.machine, wanted);
        self.change(Op::CreateContainer, wanted.name.clone(), call).await
    }

    async fn start(&self, id: &str) -> Result<(), Fault> {
        self.change(Op::StartContainer, self.machine.name_of(id), self.machine.start(id)).await
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), Fault> {
        self.change(Op::StopContainer, self.machine.name_of(id), self.machine.stop(id, grace)).await
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        let call = Containers::remove(&self.machine, id);
        self.change(Op::RemoveContainer, self.machine.name_of(id), call).await
    }

    async fn logs(
        &self,
        id: &str,
        options: &LogOptions,
    ) -> Result<BoxStream<'static, Result<LogLine, Fault>>, Fault> {
        // Nobody reads logs here; people do.
        self.machine.logs(id, options).await
    }

    async fn usage(&self, id: &str) -> Result<Option<Usage>, Fault> {
        self.machine.usage(id).await
    }

    async fn engine(&self) -> Result<EngineFacts, Fault> {
        self.machine.engine().await
    }
}

#[async_trait]
impl Networks for Gated {
    async fn list(&self) -> Result<Vec<ListedNetwork>, Fault> {
        self.look(Op::ListNetworks, String::new(), Networks::list(&self.machine)).await
    }

    async fn inspect(&self, name: &str) -> Result<Option<NetworkFacts>, Fault> {
        self.look(Op::InspectNetwork, name.to_owned(), Networks::inspect(&self.machine, name)).await
    }

    async fn create(&self, wanted: &NewNetwork) -> Result<String, Fault> {
        let call = Networks::create(&self.machine, wanted);
        self.change(Op::CreateNetwork, wanted.name.clone(), call).await
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        self.change(Op::RemoveNetwork, self.machine.name_of(id), Networks::remove(&self.machine, id)).await
    }

    async fn connect(&self, network: &JoinedNetwork, container: &str) -> Result<(), Fault> {
        let object = format!("{} {}", network.name, self.machine.name_of(container));
        self.change(Op::ConnectNetwork, object, self.machine.connect(network, container)).await
    }

    async fn disconnect(&self, network: &str, container: &str) -> Result<(), Fault> {
        let object = format!("{network} {}", self.machine.name_of(container));
        let call = Networks::disconnect(&self.machine, network, container);
        self.change(Op::DisconnectNetwork, object, call).await
    }
}

#[async_trait]
impl Images for Gated {
    async fn inspect(&self, reference: &str) -> Result<Option<ImageFacts>, Fault> {
        self.look(Op::InspectImage, reference.to_owned(), Images::inspect(&self.machine, reference)).await
    }

    async fn pull(
        &self,
        reference: &str,
        progress: &(dyn Fn(PullProgress) + Send + Sync),
    ) -> Result<(), Fault> {
        self.change(Op::PullImage, reference.to_owned(), self.machine.pull(reference, progress)).await
    }

    async fn remove(&self, reference: &str) -> Result<(), Fault> {
        self.change(Op::RemoveImage, reference.to_owned(), Images::remove(&self.machine, reference)).await
    }
}

#[async_trait]
impl Proxy for Gated {
    async fn read(&self) -> Result<ProxyFacts, Fault> {
        self.look(Op::ReadProxy, String::new(), self.machine.read()).await
    }

    async fn reset(&self, routes: &[ProxyRoute]) -> Result<(), Fault> {
        self.change(Op::ResetProxy, String::new(), self.machine.reset(routes)).await
    }

    async fn write(&self, routes: &[ProxyRoute], tag: &str) -> Result<(), Fault> {
        self.change(Op::WriteProxy, String::new(), self.machine.write(routes, tag)).await
    }
}

fn shown(leaf: &Leaf) -> String {
    format!("{}/{}", leaf.instance, leaf.path)
}

#[async_trait]
impl Volumes for Gated {
    async fn inspect(&self, leaf: &Leaf) -> Result<LeafState, Fault> {
        self.look(Op::InspectLeaf, shown(leaf), Volumes::inspect(&self.machine, leaf)).await
    }

    async fn make(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        self.change(Op::MakeLeaf, shown(leaf), self.machine.make(leaf, marker, owner, mode)).await
    }

    async fn set(
        &self,
        leaf: &Leaf,
        marker: &str,
        owner: Option<(u32, u32)>,
        mode: Option<u32>,
    ) -> Result<(), Fault> {
        self.change(Op::SetLeaf, shown(leaf), self.machine.set(leaf, marker, owner, mode)).await
    }

    async fn remove(&self, leaf: &Leaf, marker: &str) -> Result<(), Fault> {
        self.change(Op::RemoveLeaf, shown(leaf), Volumes::remove(&self.machine, leaf, marker)).await
    }

    async fn list(&self) -> Result<Vec<ListedLeaf>, Fault> {
        self.look(Op::ListLeaves, String::new(), Volumes::list(&self.machine)).await
    }

    async fn save_files(&self, instance: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Fault> {
        self.change(Op::SaveFiles, instance.to_owned(), self.machine.save_files(instance, files)).await
    }

    async fn load_files(&self, instance: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Fault> {
        self.look(Op::LoadFiles, instance.to_owned(), self.machine.load_files(instance)).await
    }

    async fn remove_files(&self, instance: &str) -> Result<(), Fault> {
        self.change(Op::RemoveFiles, instance.to_owned(), self.machine.remove_files(instance)).await
    }

    async fn adopt(&self, leaf: &Leaf, from: Option<&str>, to: &str) -> Result<(), Fault> {
        self.change(Op::AdoptLeaf, shown(leaf), self.machine.adopt(leaf, from, to)).await
    }

    async fn instances(&self) -> Result<Vec<String>, Fault> {
        self.look(Op::ListInstances, String::new(), self.machine.instances()).await
    }

    async fn find_given(&self, given: &Given) -> Result<Option<Vec<String>>, Fault> {
        // Whether there is anything at all is another question, and has answers of its own.
        let what = if given.files.is_empty() { " at all" } else { "" };
        let object = format!("{}/{}{what}", given.instance, given.holder);
        self.look(Op::FindGiven, object, self.machine.find_given(given)).await
    }

    async fn give(&self, given: &Given) -> Result<Vec<String>, Fault> {
        let object = format!("{}/{}", given.instance, given.holder);
        self.change(Op::Give, object, self.machine.give(given)).await
    }

    async fn take_back(&self, instance: &str, holder: &str) -> Result<(), Fault> {
        let object = format!("{instance}/{holder}");
        self.change(Op::TakeBack, object, self.machine.take_back(instance, holder)).await
    }

    async fn read_package(&self, path: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        self.look(Op::ReadPackage, path.to_owned(), self.machine.read_package(path)).await
    }
}

/// A listener: what the machine tells it, on its way, and what has arrived.
struct Listener {
    id: u64,
    gates: Gates,
    machine: Option<BoxStream<'static, Told>>,
    send: mpsc::UnboundedSender<Told>,
    arrived: mpsc::UnboundedReceiver<Told>,
}

impl Events for Gated {
    fn subscribe(&self) -> BoxStream<'static, Told> {
        let (send, arrived) = mpsc::unbounded_channel();
        let (id, gates) = (self.gates.new_listener(), self.gates.clone());
        let machine = Some(self.machine.subscribe());
        stream::unfold(Listener { id, gates, machine, send, arrived }, next).boxed()
    }
}

async fn next(mut listener: Listener) -> Option<(Told, Listener)> {
    loop {
        let Some(machine) = &mut listener.machine else {
            return listener.arrived.recv().await.map(|told| (told, listener));
        };
        tokio::select! { biased;
            told = listener.arrived.recv() => return told.map(|told| (told, listener)),
            told = machine.next() => match told {
                Some(told) => listener.gates.send(listener.id, listener.send.clone(), told),
                None => listener.machine = None,
            },
        }
    }
}
