//! This machine's Docker, and a Caddy of the home's own, as a [`World`].

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bollard::exec::{CreateExecOptions, StartExecResults};
use bollard::models::{ContainerCreateBody, NetworkDisconnectRequest};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, EventsOptionsBuilder, InspectContainerOptions, InspectNetworkOptions,
    KillContainerOptionsBuilder, ListContainersOptionsBuilder, ListNetworksOptions, LogsOptionsBuilder,
    PruneContainersOptionsBuilder, RemoveContainerOptionsBuilder, RenameContainerOptionsBuilder,
    StartContainerOptions, StopContainerOptionsBuilder,
};
use futures::TryStreamExt;
use hearth::config::Config;
use hearth::serve::wiring::{self, Hands};
use hearth_capabilities::volumes::Leaf;
use hearth_engine::{Clock, SystemClock};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::dockerd;
use super::registry::Registry;
use super::world::{Alteration, Page, World};
use crate::machine::Machine;

/// What every story's names begin with.
const PLACES: &str = "story";

/// The routes in Caddy's configuration.
const ROUTES: &str = "/config/apps/http/servers/hearth/routes";

/// Names and addresses that no other story on this machine has while this is kept.
pub(super) struct Place {
    /// What the names of this story begin with.
    pub(super) prefix: String,
    /// What the names of every story begin with that ever was in this place.
    pub(super) places: String,
    pub(super) pool: String,
    _lock: File,
}

impl Place {
    /// Takes a free place.
    pub(super) fn take() -> Self {
        let lock = |slot: &u32| {
            let path = std::env::temp_dir().join(format!("hearth-story-{slot}.lock"));
            let file = File::create(path).ok()?;
            file.try_lock().ok().map(|()| (*slot, file))
        };
        let (slot, lock) = (0..56).find_map(|slot| lock(&slot)).expect("fewer stories are told at once");
        // Away from Docker's own pools, and from those of other tests.
        let pool = format!("10.{}.0.0/16", 128 + slot);
        let places = format!("{PLACES}{slot}");
        Self { prefix: format!("{places}-{}", std::process::id()), places, pool, _lock: lock }
    }
}

/// A Docker and a Caddy.
pub(crate) struct Real {
    pub(crate) docker: bollard::Docker,
    prefix: String,
    instances: PathBuf,
    http_port: u16,
    browser: Client,
    admin: Client,
    registry: Registry,
    inside: Option<u32>,
    marked: Mutex<String>,
    /// How often each thing was made and started, as Docker tells it.
    heard: Arc<Mutex<BTreeMap<String, u64>>>,
    listening: Mutex<Option<JoinHandle<()>>>,
    config: Config,
    /// Where a registry listens that never answers.
    silent: tokio::sync::OnceCell<u16>,
}

/// A Docker that answers.
pub(super) async fn connect(address: &str) -> bollard::Docker {
    let docker = bollard::Docker::connect_with_unix(address, 120, bollard::API_DEFAULT_VERSION).unwrap();
    docker.negotiate_version().await.unwrap()
}

impl Real {
    /// The Docker that is offered, where what earlier stories left in this place is gone.
    pub(super) async fn new(offered: Machine, place: &Place, config: &Config) -> Self {
        let docker = connect(&offered.docker).await;
        let registry = Registry::new(docker.clone(), &offered, &config.name_prefix);
        let world = Self::over(docker, registry, config, None);
        // What a story that was killed has left in this place.
        world.remove_all(&place.places).await;
        world
    }

    /// A Docker and a registry; `inside` is a process in whose network Docker publishes ports, where that is not ours.
    pub(super) fn over(
        docker: bollard::Docker,
        registry: Registry,
        config: &Config,
        inside: Option<u32>,
    ) -> Self {
        let instances = config.data_dir.join("instances");
        let socket = instances.join("caddy/data/run/admin.sock");
        let client = || Client::builder().timeout(Duration::from_secs(20)).pool_max_idle_per_host(0);
        Self {
            registry,
            docker,
            inside,
            prefix: config.name_prefix.clone(),
            instances,
            http_port: config.edge_http_port,
            browser: client().build().unwrap(),
            admin: client().unix_socket(socket).build().unwrap(),
            marked: Mutex::default(),
            heard: Arc::default(),
            listening: Mutex::default(),
            config: config.clone(),
            silent: tokio::sync::OnceCell::new(),
        }
    }

    /// Asks Caddy's admin API as Hearth does.
    async fn ask_admin(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let mut last = String::new();
        // For a moment after a reload the admin server from before still answers.
        for _ in 0..50 {
            let mut request = self.admin.request(method.clone(), format!("http://caddy{path}"));
            request = request.header("Origin", "http://hearth");
            if let Some(body) = body {
                request = request.json(body);
            }
            match request.send().await {
                Ok(answer) if answer.status().is_success() => {
                    return answer.json().await.unwrap_or(Value::Null);
                }
                Ok(answer) => last = format!("{}", answer.status()),
                Err(error) => last = format!("{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("Caddy does not answer {method} {path}: {last}")
    }

    fn path(&self, leaf: &Leaf) -> PathBuf {
        self.instances.join(&leaf.instance).join("data").join(&leaf.path)
    }

    async fn remove_container(&self, name: &str) {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        // Gone already is as good.
        let _ = self.docker.remove_container(name, Some(options)).await;
    }

    async fn rename(&self, from: &str, to: &str) -> bool {
        let options = RenameContainerOptionsBuilder::default().name(to).build();
        self.docker.rename_container(from, options).await.is_ok()
    }

    /// Removes every container and network whose name begins like this.
    async fn remove_all(&self, prefix: &str) {
        let (containers, networks) = self.names_with(prefix).await;
        for name in containers {
            self.remove_container(&name).await;
        }
        for name in networks {
            self.docker.remove_network(&name).await.unwrap();
        }
    }

    /// The containers, running or not, and the networks whose names begin like this.
    async fn names_with(&self, prefix: &str) -> (Vec<String>, Vec<String>) {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let listed = self.docker.list_containers(Some(options)).await.unwrap();
        let names = listed.into_iter().filter_map(|each| each.names?.into_iter().next());
        let containers = names.map(|name| name.trim_start_matches('/').to_owned());
        let listed = self.docker.list_networks(None::<ListNetworksOptions>).await.unwrap();
        let networks = listed.into_iter().filter_map(|network| network.name);
        // One number must not be taken for the beginning of another.
        let is_meant =
            |name: &String| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(['-', '_']));
        (containers.filter(is_meant).collect(), networks.filter(is_meant).collect())
    }
}

/// Now, as Docker takes it.
fn now() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{}.{:09}", now.as_secs(), now.subsec_nanos())
}

#[async_trait]
impl World for Real {
    fn hands(&self) -> Hands {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        wiring::machine(&self.config, &clock).unwrap()
    }

    async fn image(&self, name: &str) -> String {
        self.registry.image(name).await
    }

    async fn image_here(&self, name: &str) -> String {
        let reference = self.image(name).await;
        self.registry.get(&reference).await;
        reference
    }

    async fn hanging_image(&self, name: &str) -> String {
        let port = self.silent.get_or_init(async || silent_registry().await).await;
        format!("127.0.0.1:{port}/{}/{name}", self.prefix)
    }

    async fn page(&self, host: &str) -> Page {
        let address = format!("http://127.0.0.1:{}/", self.http_port);
        if let Some(process) = self.inside {
            return dockerd::page(process, &address, host).await;
        }
        let nobody = Page { status: 0, body: String::new() };
        let Ok(answer) = self.browser.get(address).header("Host", host).send().await else { return nobody };
        let status = answer.status().as_u16();
        answer.text().await.map_or(nobody, |body| Page { status, body })
    }

    async fn kill(&self, container: &str) {
        let options = KillContainerOptionsBuilder::default().signal("SIGKILL").build();
        self.docker.kill_container(container, Some(options)).await.unwrap();
    }

    async fn crash(&self, container: &str) {
        let seen = self.docker.inspect_container(container, None::<InspectContainerOptions>).await.unwrap();
        let pid = seen.state.and_then(|state| state.pid).and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw).expect("it runs");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    async fn stop(&self, container: &str) {
        let options = StopContainerOptionsBuilder::default().t(1).build();
        self.docker.stop_container(container, Some(options)).await.unwrap();
    }

    async fn remove(&self, container: &str) {
        self.remove_container(container).await;
    }

    async fn prune(&self) {
        let label = format!("hearth.dev/lineage={}", self.lineage().await);
        let filters = HashMap::from([("label", vec![label])]);
        let options = PruneContainersOptionsBuilder::default().filters(&filters).build();
        self.docker.prune_containers(Some(options)).await.unwrap();
    }

    async fn replace(&self, container: &str, alteration: &Alteration) {
        for _ in 0..20 {
            if self.try_replace(container, alteration).await {
                return;
            }
        }
        panic!("{container} could not be replaced by hand");
    }

    async fn disconnect(&self, network: &str, container: &str) {
        let request = NetworkDisconnectRequest { container: container.to_owned(), force: Some(true) };
        self.docker.disconnect_network(network, request).await.unwrap();
    }

    async fn remove_network(&self, network: &str) {
        // Hearth attaches them again, so it may take more than one go.
        for _ in 0..50 {
            let Ok(seen) = self.docker.inspect_network(network, None::<InspectNetworkOptions>).await else {
                return;
            };
            for container in seen.containers.unwrap_or_default().into_keys() {
                let request = NetworkDisconnectRequest { container, force: Some(true) };
                let _ = self.docker.disconnect_network(network, request).await;
            }
            if self.docker.remove_network(network).await.is_ok() {
                return;
            }
        }
        panic!("the network {network} could not be removed by hand");
    }

    async fn runs(&self, _container: &str, folder: &Path) -> usize {
        fs::read_to_string(folder.join("migrations")).map_or(0, |text| text.lines().count())
    }

    async fn chmod(&self, leaf: &Leaf, mode: u32) {
        fs::set_permissions(self.path(leaf), Permissions::from_mode(mode)).unwrap();
    }

    async fn remove_leaf(&self, leaf: &Leaf) {
        fs::remove_dir_all(self.path(leaf)).unwrap();
    }

    async fn link_leaf(&self, leaf: &Leaf) {
        let path = self.path(leaf);
        fs::rename(&path, path.with_extension("away")).unwrap();
        symlink("/etc", path).unwrap();
    }

    async fn overwrite(&self, path: &str, text: &str) {
        fs::write(path, text).unwrap();
    }

    async fn empty_proxy(&self) {
        self.ask_admin(Method::DELETE, "/config/", None).await;
    }

    async fn edit_route(&self, host: &str) {
        let routes = self.ask_admin(Method::GET, ROUTES, None).await;
        let is_it = |route: &Value| route["match"][0]["host"][0] == host;
        let index = routes.as_array().unwrap().iter().position(is_it).expect("the host has a route");
        let handle = json!([{ "handler": "static_response", "status_code": 418, "body": "by hand" }]);
        self.ask_admin(Method::PATCH, &format!("{ROUTES}/{index}/handle"), Some(&handle)).await;
    }

    async fn catch_all_first(&self) {
        let mut routes = self.ask_admin(Method::GET, ROUTES, None).await;
        routes.as_array_mut().unwrap().rotate_right(1);
        self.ask_admin(Method::PATCH, ROUTES, Some(&routes)).await;
    }

    async fn reloads(&self) -> usize {
        let options = LogsOptionsBuilder::default().stdout(true).stderr(true).build();
        let caddy = format!("{}-system_caddy", self.prefix);
        let lines: Vec<_> = self.docker.logs(&caddy, Some(options)).try_collect().await.unwrap();
        let lines = lines.iter().map(ToString::to_string);
        let is_reload =
            |line: &String| line.contains("received request") && !line.contains("\"method\":\"GET\"");
        lines.filter(is_reload).count()
    }

    async fn mark(&self) {
        *self.marked.lock().unwrap() = now();
    }

    async fn changes(&self) -> Vec<String> {
        let since = self.marked.lock().unwrap().clone();
        let options = EventsOptionsBuilder::default().since(&since).until(&now()).build();
        let events: Vec<_> = self.docker.events(Some(options)).try_collect().await.unwrap();
        let ours = events.into_iter().filter_map(|event| {
            let name = event.actor?.attributes?.remove("name")?;
            let action = event.action?;
            // Health checks are Docker's own.
            let is_dockers = action.starts_with("exec_") || action.starts_with("health_status");
            (!is_dockers && name.starts_with(&self.prefix)).then(|| format!("{action} {name}"))
        });
        ours.collect()
    }

    async fn names(&self) -> (Vec<String>, Vec<String>) {
        self.names_with(&self.prefix).await
    }

    async fn leave(&self) {
        let listening = listen(&self.docker, &self.prefix, Arc::clone(&self.heard)).await;
        // Two that listen would count twice.
        if let Some(before) = self.listening.lock().unwrap().replace(listening) {
            before.abort();
        }
    }

    async fn take_back(&self) {}

    async fn made_and_started(&self) -> BTreeMap<String, u64> {
        self.heard.lock().unwrap().clone()
    }

    async fn clear(&self) {
        if self.inside.is_none() {
            self.remove_all(&self.prefix).await;
        }
        self.registry.clear().await;
    }

    fn real(&self) -> Option<&Real> {
        Some(self)
    }
}

impl Real {
    /// Runs a program in a container: its exit code, and what it said.
    pub(crate) async fn exec(&self, container: &str, words: &[&str]) -> (i64, String) {
        let options = CreateExecOptions {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(words.iter().map(|word| (*word).to_owned()).collect()),
            ..CreateExecOptions::default()
        };
        let exec = self.docker.create_exec(container, options).await.unwrap().id;
        let StartExecResults::Attached { output, .. } = self.docker.start_exec(&exec, None).await.unwrap()
        else {
            panic!("an exec that is attached to was asked for");
        };
        let said: Vec<_> = output.try_collect().await.unwrap();
        let code = self.docker.inspect_exec(&exec).await.unwrap().exit_code.expect("it has ended");
        (code, said.iter().map(ToString::to_string).collect())
    }

    /// What Docker says of a container, whole.
    pub(crate) async fn inspect(&self, container: &str) -> Value {
        let seen = self.docker.inspect_container(container, None::<InspectContainerOptions>).await.unwrap();
        serde_json::to_value(seen).unwrap()
    }

    /// The lineage that this home's containers carry.
    async fn lineage(&self) -> String {
        let caddy = format!("{}-system_caddy", self.prefix);
        let seen = self.docker.inspect_container(&caddy, None::<InspectContainerOptions>).await.unwrap();
        let labels = seen.config.and_then(|config| config.labels).unwrap_or_default();
        labels.get("hearth.dev/lineage").cloned().expect("what Hearth makes carries its lineage")
    }

    /// Puts a container that differs in the place of one. `false` where Hearth put its own there in between.
    async fn try_replace(&self, container: &str, alteration: &Alteration) -> bool {
        let seen = self.docker.inspect_container(container, None::<InspectContainerOptions>).await;
        let Ok(seen) = seen else { return false };
        let seen = serde_json::to_value(seen).unwrap();
        let mut body = seen["Config"].clone();
        // The engine's own choice, which would be another one.
        body.as_object_mut().unwrap().remove("Hostname");
        body["HostConfig"] = seen["HostConfig"].clone();
        let places = seen["NetworkSettings"]["Networks"].as_object().cloned().unwrap_or_default();
        let place = |place: &Value| json!({ "Aliases": place["Aliases"] });
        let places: serde_json::Map<_, _> =
            places.iter().map(|(name, seen)| (name.clone(), place(seen))).collect();
        body["NetworkingConfig"] = json!({ "EndpointsConfig": places });
        alter(&mut body, alteration);
        if let Alteration::Image(reference) = alteration {
            self.registry.get(reference).await;
        }
        let (new, away) = (format!("{container}.by-hand"), format!("{container}.away"));
        self.remove_container(&new).await;
        let options = CreateContainerOptionsBuilder::default().name(&new).build();
        let body: ContainerCreateBody = serde_json::from_value(body).unwrap();
        self.docker.create_container(Some(options), body).await.unwrap();
        self.docker.start_container(&new, None::<StartContainerOptions>).await.unwrap();
        let is_away = self.rename(container, &away).await;
        let is_there = is_away && self.rename(&new, container).await;
        self.remove_container(&away).await;
        if !is_there {
            self.remove_container(&new).await;
        }
        is_there
    }
}

/// Counts what is made and started from now on.
async fn listen(
    docker: &bollard::Docker,
    prefix: &str,
    heard: Arc<Mutex<BTreeMap<String, u64>>>,
) -> JoinHandle<()> {
    let filters = HashMap::from([("event", vec!["create", "start"])]);
    let options = EventsOptionsBuilder::default().since(&now()).filters(&filters).build();
    let (docker, prefix) = (docker.clone(), prefix.to_owned());
    tokio::spawn(async move {
        let mut events = docker.events(Some(options));
        while let Ok(Some(event)) = events.try_next().await {
            let name = event.actor.and_then(|actor| actor.attributes?.remove("name"));
            let (Some(kind), Some(action), Some(name)) = (event.typ, event.action, name) else { continue };
            if name.starts_with(&prefix) {
                *heard.lock().unwrap().entry(format!("{action} {kind} {name}")).or_default() += 1;
            }
        }
    })
}

/// Accepts every connection, and says nothing.
async fn silent_registry() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            kept.push(connection);
        }
    });
    port
}

fn alter(body: &mut Value, alteration: &Alteration) {
    match alteration {
        Alteration::Env => body["Env"].as_array_mut().unwrap().push("BY_HAND=yes".into()),
        Alteration::Image(reference) => body["Image"] = reference.as_str().into(),
        Alteration::Mount => {
            let bind = json!({ "Type": "bind", "Source": "/etc", "Target": "/by-hand", "ReadOnly": true });
            match body["HostConfig"]["Mounts"].as_array_mut() {
                Some(mounts) => mounts.push(bind),
                None => body["HostConfig"]["Mounts"] = json!([bind]),
            }
        }
        Alteration::Capability => body["HostConfig"]["CapAdd"] = json!(["NET_ADMIN"]),
    }
}
