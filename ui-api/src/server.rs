//! The API server: TLS, sign-in, the Kubernetes protocol, and the few places beside it.
//!
//! - `routes`: every place, on one screen.
//! - `authority`: the home's own certificate authority and the server's certificate.
//! - `credential`: the admin's token and the kubeconfig file.
//! - `tokens`, `sign_in`: who asks.
//! - `roles`, `places`: what they may do, and the door that holds them to it.
//! - `limits`: how often they may ask.
//! - `listen`: the ways in, and stopping.
//! - `as_kubernetes`: Pods, a Node and their metrics, for programs made for Kubernetes.
//! - `logs`, `history`, `preview`, `live`, `look`, `doctor`, `usage`, `recover`, `folder`, `backup`: what is no
//!   resource.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hearth_capabilities::Containers;
use hearth_engine::{Engine, Store};
use hearth_wire::Wire;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

mod routes;
mod authority;
mod credential;
mod places;
mod roles;
mod tokens;
mod sign_in;
mod unread;
mod limits;
mod listen;
mod logs;
mod history;
mod preview;
mod effects;
mod recover;
mod orphans;
mod drift;
mod pauses;
mod folder;
mod backup;
mod live;
mod look;
mod doctor;
mod usage;
mod as_kubernetes;

pub use recover::MachineView;

use crate::doctor::Moment;
use crate::serve::manifests::{Folder, MANAGER};
use authority::{Authority, ServerCertificate, names_in_the_home, own_names};
use credential::Credential;
use limits::Limits;
use listen::{UNREAD, Way};
use places::{Behind, Door};
use sign_in::Gatekeeper;
use tokens::Tokens;

/// The version of the program, as the server tells it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The socket for root on this machine, in the data directory.
pub const SOCKET: &str = "hearth.sock";

/// What a server needs.
pub struct ServerOptions {
    /// What it serves.
    pub store: Store,
    /// Where certificates and credentials are kept.
    pub data_dir: PathBuf,
    /// Where it listens; port 0 means any that is free.
    pub listen: SocketAddr,
    /// Where it listens in the home besides, with a certificate for that; `None` for nowhere.
    pub lan_listen: Option<SocketAddr>,
    /// Where logs come from; `None` where there are no containers.
    pub containers: Option<Arc<dyn Containers>>,
    /// Whose diagnostics it shows; `None` where nothing runs.
    pub engine: Option<Engine>,
    /// The manifests folder, where there is one.
    pub manifests: Option<Folder>,
    /// What stands on the machine is looked at with this; `None` where there is none.
    pub machine: Option<MachineView>,
    /// How long a client may leave unread what it is sent, before its connection ends.
    pub unread: Duration,
}

impl ServerOptions {
    /// A store that is served alone: on this machine, at any free port, with nothing beside it.
    pub fn alone(store: Store, data_dir: PathBuf) -> Self {
        Self {
            store,
            data_dir,
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            lan_listen: None,
            containers: None,
            engine: None,
            manifests: None,
            machine: None,
            unread: UNREAD,
        }
    }
}

/// A server that accepts connections. Dropped, it goes on; see [`Server::stop`].
pub struct Server {
    address: SocketAddr,
    lan_address: Option<SocketAddr>,
    socket: Option<PathBuf>,
    kubeconfig: PathBuf,
    closing: CancellationToken,
    running: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts a server. When it returns, connections are accepted and the kubeconfig file is written.
    ///
    /// # Errors
    /// Where the address is taken, or certificates or credentials cannot be read or written.
    pub async fn start(options: ServerOptions) -> anyhow::Result<Self> {
        let ServerOptions { store, data_dir, listen, lan_listen, containers, .. } = options;
        let ServerOptions { engine, manifests, machine, unread, .. } = options;
        let (listener, address) = bind(listen, "--listen").await?;
        let authority = Arc::new(Authority::open(&data_dir.join("pki"))?);
        let now = store.clock().now();
        let certificate = |file: &str, names| ServerCertificate::open(authority.clone(), file, names, now);
        let own = certificate("server.pem", Box::new(own_names))?;
        let mut ways = vec![Way::Network(listener, Arc::new(own))];
        let mut lan_address = None;
        if let Some(listen) = lan_listen {
            let (listener, address) = bind(listen, "--lan-listen").await?;
            let names = Box::new(move || names_in_the_home(listen.ip()));
            ways.push(Way::Network(listener, Arc::new(certificate("lan.pem", names)?)));
            lan_address = Some(address);
        }
        let socket = match listen::open_socket(&data_dir.join(SOCKET)) {
            Ok(socket) => {
                ways.push(Way::Socket(socket.listener));
                Some(socket.path)
            }
            // The other ways in are open all the same.
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "there is no socket for root on this machine");
                None
            }
        };
        let kubeconfig = data_dir.join("admin.kubeconfig");
        let credential =
            Credential::settle(&data_dir.join("pki"), &kubeconfig, authority.certificate(), address)?;
        let closing = CancellationToken::new();
        let tokens = Tokens::new(store.clone(), credential, closing.clone());
        tokio::spawn(tokens.clone().keep());
        let wire = Wire::new(store.clone(), Arc::new(tokens.clone()), VERSION, closing.clone())
            .reading_yaml(yaml_documents)
            // What the folder put here is told by its entries, and what no file declares any more goes.
            .reserving(&[MANAGER])
            .showing(as_kubernetes::views());
        let behind = Behind {
            containers,
            engine,
            manifests,
            machine,
            backup: Arc::default(),
            meter: as_kubernetes::metrics::Meter::default(),
            node: as_kubernetes::nodes::Seen::default(),
            started: Moment::now(&**store.clock()),
            closing: closing.clone(),
        };
        let gatekeeper = Gatekeeper { limits: Limits::new(store.clock().clone()), tokens };
        let router = routes::router(wire, Door::new(store.clone(), behind), store, gatekeeper);
        let serve = |way| tokio::spawn(listen::serve(way, router.clone(), unread, closing.clone()));
        let running = ways.into_iter().map(serve).collect();
        Ok(Self { address, lan_address, socket, kubeconfig, closing, running })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens in the home, if it does.
    pub fn lan_address(&self) -> Option<SocketAddr> {
        self.lan_address
    }

    /// The socket for root on this machine, if there is one.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The kubeconfig file of the admin.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Accepts no more connections, ends watches, and waits for what is being answered.
    pub async fn stop(self) {
        self.closing.cancel();
        for running in self.running {
            if let Err(error) = running.await {
                tracing::error!(error = %error, "the server ended badly");
            }
        }
        if let Some(socket) = &self.socket
            && let Err(error) = std::fs::remove_file(socket)
        {
            tracing::debug!(error = %error, "the socket was gone already");
        }
    }
}

/// Bodies are read as the files of the manifests folder are.
fn yaml_documents(text: &str) -> Result<Vec<serde_json::Value>, Vec<hearth_meta::Problem>> {
    let documents = hearth_charts::yaml::parse_documents("the body", text)?;
    Ok(documents.into_iter().map(|document| document.value).collect())
}

async fn bind(listen: SocketAddr, setting: &str) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("listening on {listen}; choose another address with {setting}"))?;
    let address = listener.local_addr().context("reading the address that was given")?;
    Ok((listener, address))
}
