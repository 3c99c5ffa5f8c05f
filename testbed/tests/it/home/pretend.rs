//! The pretend machine as a [`World`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use hearth::config::Config;
use hearth::serve::wiring::Hands;
use hearth_capabilities::containers::{BoundFolder, ImageDefaults};
use hearth_capabilities::proxy::{Answer, SeenRoute};
use hearth_capabilities::volumes::Leaf;
use hearth_capabilities::{Containers, Networks};
use hearth_pretend::{Machine, Op};

use super::clock::JumpingClock;
use super::world::{Alteration, Page, World};

/// A pretend machine whose proxy runs in a container, as it does in a real home.
pub(crate) struct Pretend {
    machine: Machine,
    /// Where a process looks for it.
    file: PathBuf,
    marked: Mutex<BTreeMap<String, u64>>,
}

impl Pretend {
    pub(super) fn new(config: &Config, clock: &JumpingClock) -> Self {
        let machine = Machine::new(Arc::new(clock.clone()));
        machine.proxy_runs_in(&format!("{}-system_caddy", config.name_prefix));
        Self { machine, file: config.data_dir.join("pretend.json"), marked: Mutex::default() }
    }

    fn count(&self, write: &str) -> usize {
        self.machine.writes().get(write).map_or(0, |&count| count.try_into().unwrap())
    }
}

#[async_trait]
impl World for Pretend {
    fn hands(&self) -> Hands {
        self.machine.clone().into()
    }

    async fn image(&self, name: &str) -> String {
        format!("registry.home/sample/{name}")
    }

    async fn image_here(&self, name: &str) -> String {
        let reference = self.image(name).await;
        self.machine.put_image(&reference, ImageDefaults::default(), BTreeMap::new()).unwrap();
        reference
    }

    async fn hanging_image(&self, name: &str) -> String {
        self.machine.hang(Op::PullImage);
        self.image(name).await
    }

    async fn page(&self, host: &str) -> Page {
        let reply = self.machine.ask(host);
        match reply.container {
            Some(name) => Page { status: reply.status, body: format!("Hello from {name}") },
            None => Page { status: reply.status, body: reply.body },
        }
    }

    async fn kill(&self, container: &str) {
        // Docker does not start again what was killed through it.
        self.machine.stop_by_hand(container);
    }

    async fn crash(&self, container: &str) {
        self.machine.kill(container);
    }

    async fn stop(&self, container: &str) {
        self.machine.stop_by_hand(container);
    }

    async fn remove(&self, container: &str) {
        self.machine.remove_by_hand(container);
    }

    async fn prune(&self) {
        self.machine.prune_containers();
    }

    async fn replace(&self, container: &str, alteration: &Alteration) {
        let image = match alteration {
            Alteration::Image(reference) => {
                Some(self.machine.put_image(reference, ImageDefaults::default(), BTreeMap::new()).unwrap())
            }
            _ => None,
        };
        self.machine.edit(container, |facts| match alteration {
            Alteration::Env => drop(facts.env.insert("BY_HAND".into(), "yes".into())),
            Alteration::Image(_) => facts.image_id = image.unwrap_or_default(),
            Alteration::Mount => facts.mounts.push(BoundFolder {
                host_path: "/etc".into(),
                path: "/by-hand".into(),
                read_only: true,
            }),
            Alteration::Capability => facts.capabilities.push("NET_ADMIN".into()),
        });
    }

    async fn disconnect(&self, network: &str, container: &str) {
        self.machine.disconnect(network, container);
    }

    async fn remove_network(&self, network: &str) {
        self.machine.remove_network(network);
    }

    async fn runs(&self, container: &str, _folder: &Path) -> usize {
        self.count(&format!("start container {container}"))
    }

    async fn chmod(&self, leaf: &Leaf, mode: u32) {
        self.machine.chmod_leaf(leaf, mode);
    }

    async fn remove_leaf(&self, leaf: &Leaf) {
        self.machine.remove_leaf_by_hand(leaf);
    }

    async fn link_leaf(&self, leaf: &Leaf) {
        self.machine.link_leaf(leaf);
    }

    async fn overwrite(&self, path: &str, text: &str) {
        self.machine.change_given(path, text, false);
    }

    async fn empty_proxy(&self) {
        self.machine.clear_proxy();
    }

    async fn edit_route(&self, host: &str) {
        self.machine.edit_proxy(|routes| {
            for route in routes {
                if let SeenRoute::Ours(route) = route
                    && route.hosts.iter().any(|each| each == host)
                {
                    route.answer = Answer::Page { status: 418, html: "by hand".into() };
                }
            }
        });
    }

    async fn catch_all_first(&self) {
        self.machine.edit_proxy(|routes| routes.rotate_right(1));
    }

    async fn reloads(&self) -> usize {
        self.count("write proxy routes") + self.count("reset proxy routes")
    }

    async fn mark(&self) {
        *self.marked.lock().unwrap() = self.machine.writes();
    }

    async fn changes(&self) -> Vec<String> {
        let before = self.marked.lock().unwrap().clone();
        let is_new = |(write, count): &(String, u64)| before.get(write) != Some(count);
        self.machine.writes().into_iter().filter(is_new).map(|(write, _)| write).collect()
    }

    async fn names(&self) -> (Vec<String>, Vec<String>) {
        let containers = Containers::list(&self.machine).await.unwrap();
        let networks = Networks::list(&self.machine).await.unwrap();
        let containers = containers.into_iter().map(|container| container.name);
        (containers.collect(), networks.into_iter().map(|network| network.name).collect())
    }

    async fn leave(&self) {
        self.machine.persist_to(&self.file).unwrap();
    }

    async fn take_back(&self) {
        self.machine.persist_to(&self.file).unwrap();
    }

    async fn made_and_started(&self) -> BTreeMap<String, u64> {
        self.machine.writes()
    }

    async fn clear(&self) {
        self.machine.release(Op::PullImage);
    }

    fn pretend(&self) -> Option<&Machine> {
        Some(&self.machine)
    }
}
