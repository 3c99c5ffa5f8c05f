//! The API server: TLS, sign-in, the Kubernetes protocol, and the few places beside it.
//!
//! - `routes`: every place, on one screen.
//! - `authority`: the home's own certificate authority and the server's certificate.
//! - `credential`: the admin's token and the kubeconfig file.
//! - `sign_in`: who asks.
//! - `listen`: accepting connections, and stopping.
//! - `logs`, `history`, `preview`, `live`, `look`, `doctor`, `usage`, `recover`, `folder`, `backup`: what is not a resource.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
mod private_file;
mod sign_in;
mod unread;
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

pub use recover::MachineView;

use crate::doctor::Moment;
use crate::serve::manifests::Folder;
use authority::Authority;
use credential::Credential;

/// The version of the program, as the server tells it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a server needs.
pub struct ServerOptions {
    /// What it serves.
    pub store: Store,
    /// Where certificates and credentials are kept.
    pub data_dir: PathBuf,
    /// Where it listens; port 0 means any that is free.
    pub listen: SocketAddr,
    /// Where logs come from; `None` where there are no containers.
    pub containers: Option<Arc<dyn Containers>>,
    /// Whose diagnostics it shows; `None` where nothing runs.
    pub engine: Option<Engine>,
    /// The manifests folder, where there is one.
    pub manifests: Option<Folder>,
    /// What stands on the machine is looked at with this; `None` where there is none.
    pub machine: Option<MachineView>,
}

/// A server that accepts connections. Dropped, it goes on; see [`Server::stop`].
pub struct Server {
    address: SocketAddr,
    kubeconfig: PathBuf,
    closing: CancellationToken,
    running: JoinHandle<()>,
}

impl Server {
    /// Starts a server. When it returns, connections are accepted and the kubeconfig file is written.
    ///
    /// # Errors
    /// Where the address is taken, or certificates or credentials cannot be read or written.
    pub async fn start(options: ServerOptions) -> anyhow::Result<Self> {
        let ServerOptions { store, data_dir, listen, containers, engine, manifests, machine } = options;
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("listening on {listen}; choose another address with --listen"))?;
        let address = listener.local_addr().context("reading the address that was given")?;
        let authority = Arc::new(Authority::open(&data_dir.join("pki"), store.clock().now())?);
        let kubeconfig = data_dir.join("admin.kubeconfig");
        let credential =
            Credential::settle(&data_dir.join("pki"), &kubeconfig, authority.certificate(), address)?;
        let closing = CancellationToken::new();
        let wire = Wire::new(store.clone(), VERSION, closing.clone()).reading_yaml(yaml_documents);
        let backup = Arc::default();
        let started = Moment::now(&**store.clock());
        let places = routes::Places { wire, store, containers, engine, manifests, machine, backup, started };
        let router = routes::router(places, credential);
        let running = tokio::spawn(listen::serve(listener, authority, router, closing.clone()));
        Ok(Self { address, kubeconfig, closing, running })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The kubeconfig file of the admin.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Accepts no more connections, ends watches, and waits for what is being answered.
    pub async fn stop(self) {
        self.closing.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(error = %error, "the server ended badly");
        }
    }
}

/// Bodies are read as the files of the manifests folder are.
fn yaml_documents(text: &str) -> Result<Vec<serde_json::Value>, Vec<hearth_meta::Problem>> {
    let documents = hearth_charts::yaml::parse_documents("the body", text)?;
    Ok(documents.into_iter().map(|document| document.value).collect())
}
