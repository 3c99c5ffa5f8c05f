//! The one place where hands are chosen, and where controllers meet them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use hearth_capabilities::{Containers, Events, Images, Networks, Proxy, Volumes};
use hearth_controllers::app::INSTALL_SLOTS;
use hearth_controllers::container::ContainerHands;
use hearth_controllers::{
    AppController, ContainerController, ImageController, Naming, NetworkController, RouteController,
    VolumeController,
};
use hearth_engine::{Clock, Engine, Store};
use hearth_pretend::Machine;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::bundle::{self, Bundle, SOCKET_IN_CONTAINER};
use super::manifests::Folder;
use crate::config::Config;
use crate::server::MachineView;

/// What this home works with.
#[derive(Clone)]
pub struct Hands {
    /// Containers of the engine.
    pub containers: Arc<dyn Containers>,
    /// Networks of the engine.
    pub networks: Arc<dyn Networks>,
    /// Images of the engine.
    pub images: Arc<dyn Images>,
    /// What happens in the engine.
    pub events: Arc<dyn Events>,
    /// The proxy.
    pub proxy: Arc<dyn Proxy>,
    /// Folders of instances.
    pub volumes: Arc<dyn Volumes>,
}

impl From<Machine> for Hands {
    fn from(machine: Machine) -> Self {
        Self {
            containers: Arc::new(machine.clone()),
            networks: Arc::new(machine.clone()),
            images: Arc::new(machine.clone()),
            events: Arc::new(machine.clone()),
            proxy: Arc::new(machine.clone()),
            volumes: Arc::new(machine),
        }
    }
}

/// Controllers that run.
pub struct Controllers {
    hands: Hands,
    engine: Engine,
    manifests: Option<Folder>,
    stop: CancellationToken,
    running: Vec<JoinHandle<()>>,
}

impl Controllers {
    /// Where logs come from.
    pub fn containers(&self) -> Option<Arc<dyn Containers>> {
        Some(self.hands.containers.clone())
    }

    /// What a person is shown of the machine, and takes over from it.
    pub fn view(&self, config: &Config) -> MachineView {
        MachineView { hands: self.hands.clone(), naming: Naming::new(&config.name_prefix) }
    }

    /// Whose diagnostics are shown.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// The manifests folder, where there is one.
    pub fn manifests(&self) -> Option<Folder> {
        self.manifests.clone()
    }

    /// Stops them; turns that have begun are finished.
    pub async fn stop(self) {
        self.stop.cancel();
        for task in self.running {
            if let Err(error) = task.await {
                tracing::error!(error = %error, "a task of the controllers ended badly");
            }
        }
    }
}

/// Chooses the hands: pretend ones with `--pretend`, whose time is that of `clock`, else those on the real machine.
///
/// # Errors
/// Where an address is wrong or a folder cannot be had.
pub fn machine(config: &Config, clock: &Arc<dyn Clock>) -> anyhow::Result<Hands> {
    if config.pretend {
        let machine = Machine::new(clock.clone());
        machine.persist_to(config.data_dir.join("pretend.json")).context("the pretend machine's file")?;
        return Ok(machine.into());
    }
    let docker = hearth_docker::Docker::connect(&config.docker)?;
    let socket = proxy_socket(&config.data_dir);
    let admin = format!("unix/{SOCKET_IN_CONTAINER}");
    Ok(Hands {
        containers: Arc::new(docker.clone()),
        networks: Arc::new(docker.clone()),
        images: Arc::new(docker.clone()),
        events: Arc::new(docker),
        proxy: Arc::new(hearth_caddy::Caddy::new(socket, ":80", admin)?),
        volumes: Arc::new(hearth_linux::LinuxVolumes::new(instances(&config.data_dir))?),
    })
}

/// What an earlier process died over deleting is erased beside everything else: it may be much.
pub(super) fn erase_remains(config: &Config) {
    if config.pretend {
        return;
    }
    let folder = instances(&config.data_dir);
    std::thread::spawn(move || {
        let volumes = hearth_linux::LinuxVolumes::new(folder).map_err(|fault| vec![fault]);
        for fault in volumes.and_then(|volumes| volumes.erase_remains()).err().into_iter().flatten() {
            tracing::warn!(error = %fault, "what was deleted may still be on the disk; the next start tries again");
        }
    });
}

/// Where the instances' folders are.
fn instances(data_dir: &Path) -> PathBuf {
    data_dir.join("instances")
}

/// The proxy's admin socket as this process sees it: in a leaf that the proxy's container shares.
fn proxy_socket(data_dir: &Path) -> PathBuf {
    instances(data_dir)
        .join(bundle::INSTANCE)
        .join("data")
        .join(bundle::SOCKET_LEAF)
        .join(bundle::SOCKET_NAME)
}

/// Starts every controller over the store, and whoever keeps Hearth's own parts and the manifests folder declared.
///
/// # Errors
/// Where the system's own objects cannot be written.
pub async fn start_controllers(store: &Store, hands: Hands, config: &Config) -> anyhow::Result<Controllers> {
    let engine = engine(store, &hands, &Naming::new(&config.name_prefix));
    let bundle = Bundle::new(config);
    bundle.declare(store).await?;
    let stop = CancellationToken::new();
    let controllers = tokio::spawn({
        let (engine, stop) = (engine.clone(), stop.clone());
        async move { engine.run(stop).await }
    });
    let own_parts = tokio::spawn(bundle.keep_declared(store.clone(), stop.clone()));
    let manifests = config.manifests.clone().map(Folder::new);
    let folder = manifests.clone().map(|folder| tokio::spawn(folder.keep(store.clone(), stop.clone())));
    let running = [controllers, own_parts].into_iter().chain(folder).collect();
    Ok(Controllers { hands, engine, manifests, stop, running })
}

/// All controllers over a store, with these hands.
pub fn engine(store: &Store, hands: &Hands, naming: &Naming) -> Engine {
    let mut engine = Engine::new(store.clone(), store.epoch().unsigned_abs());
    engine.add(ImageController::new(store.clone(), hands.images.clone(), hands.events.clone()));
    engine.add(VolumeController::new(store.clone(), hands.volumes.clone()));
    engine.add(NetworkController::new(
        store.clone(),
        hands.networks.clone(),
        hands.events.clone(),
        naming.clone(),
    ));
    let container_hands = ContainerHands {
        containers: hands.containers.clone(),
        networks: hands.networks.clone(),
        images: hands.images.clone(),
        volumes: hands.volumes.clone(),
        events: hands.events.clone(),
    };
    engine.add(ContainerController::new(store.clone(), container_hands, naming.clone()));
    engine.add(RouteController::new(hands.proxy.clone(), naming.clone()));
    engine.add_with_slots(AppController::new(store.clone(), hands.volumes.clone()), INSTALL_SLOTS);
    engine
}
