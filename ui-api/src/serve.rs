//! `hearth serve`: opens the store, starts the API and the controllers, and stops them in order.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use hearth_controllers::app::{RECORD, Record};
use hearth_engine::store::OpenError;
use hearth_engine::{Clock, Engine, Object, OpenOptions, Store, SystemClock, WriteError, WriteOptions};
use hearth_kinds::Settings;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::server::{Server, ServerOptions};

pub mod admission;
pub mod bundle;
pub mod manifests;
pub mod wiring;

/// Serves a home until it is told to stop.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServeOptions {
    /// A file of settings, by the names of these flags [default: /etc/hearth/hearth.toml].
    #[arg(long, env = "HEARTH_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where everything is kept [default: /var/lib/hearth].
    #[arg(long, env = "HEARTH_DATA_DIR", hide_env_values = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where the API listens [default: 127.0.0.1:8420].
    #[arg(long, env = "HEARTH_LISTEN", hide_env_values = true, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Where the API listens in the home besides, such as 0.0.0.0:8421 [default: nowhere].
    #[arg(long, env = "HEARTH_LAN_LISTEN", hide_env_values = true, value_name = "ADDRESS:PORT")]
    pub lan_listen: Option<String>,
    /// Docker's address [default: unix:///var/run/docker.sock].
    #[arg(long, env = "HEARTH_DOCKER", hide_env_values = true, value_name = "ADDRESS")]
    pub docker: Option<String>,
    /// The port apps are reached at [default: 80].
    #[arg(long, env = "HEARTH_EDGE_HTTP_PORT", hide_env_values = true, value_name = "PORT")]
    pub edge_http_port: Option<u16>,
    /// The port apps are reached at over TLS [default: 443].
    #[arg(long, env = "HEARTH_EDGE_HTTPS_PORT", hide_env_values = true, value_name = "PORT")]
    pub edge_https_port: Option<u16>,
    /// Caddy's image, where it is not the built-in choice.
    #[arg(long, env = "HEARTH_CADDY_IMAGE", hide_env_values = true, value_name = "REFERENCE")]
    pub caddy_image: Option<String>,
    /// Where the subnets of networks are taken from [default: 10.89.0.0/16].
    #[arg(long, env = "HEARTH_NETWORK_POOL", hide_env_values = true, value_name = "SUBNET")]
    pub network_pool: Option<String>,
    /// What names in Docker begin with [default: hearth].
    #[arg(long, env = "HEARTH_NAME_PREFIX", hide_env_values = true, value_name = "NAME")]
    pub name_prefix: Option<String>,
    /// Work on a pretend machine: nothing real is touched.
    #[arg(long, env = "HEARTH_PRETEND", hide_env_values = true, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub pretend: Option<bool>,
    /// A folder whose .yaml and .json files declare what there should be, such as /etc/hearth/manifests.
    #[arg(long, env = "HEARTH_MANIFESTS", hide_env_values = true, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
    /// Which log lines are written, such as info or hearth_engine=debug [default: info].
    #[arg(long, env = "HEARTH_LOG", hide_env_values = true, value_name = "FILTER")]
    pub log: Option<String>,
}

/// Runs `hearth serve` to its end.
pub fn run(options: ServeOptions) -> ExitCode {
    let config = match Config::settle(options) {
        Ok(config) => config,
        Err(problems) => {
            problems.iter().for_each(|problem| say(&format!("error: {problem}")));
            return ExitCode::from(2);
        }
    };
    let data_dir = config.data_dir.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.context("starting the runtime").and_then(|runtime| runtime.block_on(serve(config)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            if error.downcast_ref::<OpenError>().is_some() {
                say(&format!("  hearth recover status --data-dir {}", data_dir.display()));
            }
            ExitCode::FAILURE
        }
    }
}

/// Serves until SIGTERM or SIGINT.
async fn serve(config: Config) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(&config.log).with_context(|| {
        format!("log: {:?} is not understood; write info, or hearth_engine=debug", config.log)
    })?;
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .try_init();
    if let Err(error) = logging {
        tracing::debug!(error = %error, "logging was set up before");
    }
    // Heard from here on, so that a signal during the start is not lost.
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let running = Running::start(&config).await?;
    tracing::info!(address = %running.server.address(), data_dir = %config.data_dir.display(), "serving");
    announce(&running)?;
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
}

/// A whole home, running.
pub struct Running {
    /// The API.
    pub server: Server,
    /// The store behind it.
    pub store: Store,
    controllers: wiring::Controllers,
    copies: Copies,
}

/// The task that copies the store by the clock.
struct Copies {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Copies {
    fn start(store: &Store) -> Self {
        let (store, stop) = (store.clone(), CancellationToken::new());
        let stopped = stop.clone();
        Self { stop, running: tokio::spawn(async move { store.keep_copies(stopped).await }) }
    }

    /// A copy that has begun is finished.
    async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(error = %error, "the task of the copies ended badly");
        }
    }
}

impl Running {
    /// Opens the store, starts the controllers and the API. When it returns, requests are accepted.
    ///
    /// # Errors
    /// Where the store, the machine's parts or the address cannot be had.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let hands = wiring::machine(config, &clock)?;
        let running = Self::start_with(config, clock, hands).await?;
        // A store that is not trusted takes nothing away, be it long out of its place.
        if running.store.observe_only().is_none() {
            wiring::erase_remains(config);
        }
        Ok(running)
    }

    /// The same over hands and by a clock of the caller's choice.
    ///
    /// # Errors
    /// Where the store or the address cannot be had.
    pub async fn start_with(
        config: &Config,
        clock: Arc<dyn Clock>,
        hands: wiring::Hands,
    ) -> anyhow::Result<Self> {
        let store = open(config, clock).await?;
        hold_beside_others(&store, &hands).await?;
        make_namespaces(&store).await?;
        let controllers = wiring::start_controllers(&store, hands, config).await?;
        let options = ServerOptions {
            listen: config.listen,
            lan_listen: config.lan_listen,
            containers: controllers.containers(),
            engine: Some(controllers.engine()),
            manifests: controllers.manifests(),
            machine: Some(controllers.view(config)),
            ..ServerOptions::alone(store.clone(), config.data_dir.clone())
        };
        match Server::start(options).await {
            Ok(server) => {
                let copies = Copies::start(&store);
                Ok(Self { server, store, controllers, copies })
            }
            Err(error) => {
                controllers.stop().await;
                store.close().await;
                Err(error)
            }
        }
    }

    /// What drives the controllers.
    pub fn engine(&self) -> Engine {
        self.controllers.engine()
    }

    /// Stops the API, then the controllers, then the store: nobody is answered by what is half gone.
    pub async fn stop(self) {
        self.server.stop().await;
        self.controllers.stop().await;
        self.copies.stop().await;
        self.store.close().await;
    }
}

/// Opens the store and makes the namespaces every home has.
///
/// # Errors
/// Where the store cannot be opened or written.
pub async fn open_store(config: &Config, clock: Arc<dyn Clock>) -> anyhow::Result<Store> {
    let store = open(config, clock).await?;
    make_namespaces(&store).await?;
    Ok(store)
}

async fn open(config: &Config, clock: Arc<dyn Clock>) -> anyhow::Result<Store> {
    let kinds = admission::kinds(&Settings { network_pool: config.network_pool });
    let options = OpenOptions { data_dir: config.data_dir.clone(), kinds, clock };
    Store::open(options).await.with_context(|| format!("opening {}", config.data_dir.display()))
}

/// Makes the namespaces every home has, where they are not there yet.
///
/// # Errors
/// Where the store cannot be written.
pub async fn make_namespaces(store: &Store) -> anyhow::Result<()> {
    for name in [hearth_kinds::HOUSEHOLD, hearth_kinds::SYSTEM] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let namespace = Object::from_value(namespace).map_err(anyhow::Error::msg)?;
        let write = WriteOptions { actor: "hearth".into(), source: "start".into(), dry_run: false };
        match store.create(namespace, &write).await {
            Ok(_) | Err(WriteError::AlreadyExists(_)) => {}
            Err(error) => return Err(error).with_context(|| format!("making the namespace {name}")),
        }
    }
    Ok(())
}

/// A store that was never used, beside apps of an earlier one, is no new home: nothing is done before a person has
/// said what it is. Looked at before anything is written, so that dying here changes nothing.
async fn hold_beside_others(store: &Store, hands: &wiring::Hands) -> anyhow::Result<()> {
    if store.opened_at() > 0 || store.observe_only().is_some() {
        return Ok(());
    }
    let looking = "looking whether apps of an earlier store stand here";
    let mut apps = 0;
    for instance in hands.volumes.instances().await.context(looking)? {
        let files = hands.volumes.load_files(&instance).await.context(looking)?.unwrap_or_default();
        let record = files.get(RECORD).map(|bytes| Record::parse(bytes));
        // One that cannot be read may be of an app that lives.
        apps += usize::from(record.is_some_and(|record| record.map_or(true, |record| !record.is_retired)));
    }
    if apps > 0 {
        let why = format!("This store is new, and {apps} apps of an earlier one stand here");
        store.distrust(&why, 0).await.context("writing down that the store is new")?;
    }
    Ok(())
}

/// One line for whoever waits for the start; the rest is for people.
fn announce(running: &Running) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready").and_then(|()| out.flush()).context("saying that it is ready")?;
    say(&format!("https://{}", running.server.address()));
    say(&format!("export HEARTH_KUBECONFIG={}", running.server.kubeconfig().display()));
    Ok(())
}

fn say(line: &str) {
    // Whoever does not listen any more misses nothing that is not in the log.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
