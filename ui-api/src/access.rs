//! Ways in: a token that is drawn, and the file that holds it and says where the server is.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use hearth_engine::store::OpenOptions;
use hearth_engine::{Store, SystemClock};
use hearth_kinds::Settings;
use k8s_openapi::ByteString;
use kube::config::Kubeconfig;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::private_file;

/// A token, and what is kept of it.
pub(crate) struct Drawn {
    /// The token itself, told once.
    pub(crate) token: String,
    /// Its SHA-256, in hex.
    pub(crate) sha256: String,
}

/// Draws a token of 256 random bits.
///
/// # Errors
/// Where the system gives no random bytes.
pub(crate) fn draw() -> anyhow::Result<Drawn> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("asking the system for a random token")?;
    let token = format!("hearth_{}", hex(&bytes));
    let sha256 = hash(&token);
    Ok(Drawn { token, sha256 })
}

/// What is kept of a token: its SHA-256, in hex.
pub(crate) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a server is, and whom to trust there.
pub(crate) struct Way {
    /// Its address, such as `https://home.local:8420`.
    pub(crate) server: String,
    /// The certificate of the home's authority, as PEM.
    pub(crate) authority: String,
}

impl Way {
    /// As the admin's file of a data directory has it.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    pub(crate) fn of_data_dir(data_dir: &Path) -> anyhow::Result<Self> {
        let authority = data_dir.join("pki/ca.crt");
        let authority = private_file::read(&authority)?
            .with_context(|| format!("{} is not there; `hearth serve` makes it", authority.display()))?;
        let file = data_dir.join("admin.kubeconfig");
        let file = Kubeconfig::read_from(&file).with_context(|| format!("reading {}", file.display()))?;
        let server = file.clusters.iter().find_map(|named| named.cluster.as_ref()?.server.clone());
        Ok(Self { server: server.context("the admin's file names no server")?, authority })
    }
}

/// A kubeconfig as a text: who comes in, where, and into which namespace where none is said.
pub(crate) fn kubeconfig(way: &Way, token: &str, user: &str, namespace: &str) -> String {
    let authority = serde_json::to_value(ByteString(way.authority.as_bytes().to_vec())).unwrap_or_default();
    let authority = authority.as_str().unwrap_or_default();
    let server = &way.server;
    // JSON is YAML, and a name such as 2024 or true is a text only in quotes.
    let [user, namespace] = [user, namespace].map(|text| Value::from(text).to_string());
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         current-context: hearth\n\
         clusters:\n\
         - name: hearth\n\
         \x20 cluster:\n\
         \x20   server: {server}\n\
         \x20   certificate-authority-data: {authority}\n\
         contexts:\n\
         - name: hearth\n\
         \x20 context:\n\
         \x20   cluster: hearth\n\
         \x20   user: {user}\n\
         \x20   namespace: {namespace}\n\
         users:\n\
         - name: {user}\n\
         \x20 user:\n\
         \x20   token: {token}\n"
    )
}

/// Writes a kubeconfig that only its owner may read.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn write_kubeconfig(
    file: &Path,
    way: &Way,
    token: &str,
    user: &str,
    namespace: &str,
) -> anyhow::Result<()> {
    private_file::write(file, &kubeconfig(way, token, user, namespace))
}

/// Opens the store of a data directory that no server has open.
///
/// # Errors
/// Where it cannot be opened, or a server has it open.
pub(crate) async fn open_store(data_dir: &Path) -> anyhow::Result<Store> {
    let kinds = crate::serve::admission::kinds(&Settings::default());
    let clock = Arc::new(SystemClock::start());
    let options = OpenOptions { data_dir: data_dir.to_owned(), kinds, clock };
    Store::open(options).await.with_context(|| format!("opening {}", data_dir.display()))
}
