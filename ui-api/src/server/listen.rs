//! Accepting connections: over TLS on this machine and, where that is wanted, in the home; and over a socket that is
//! root's on this machine. Keeping the certificates good, and stopping.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::authority::ServerCertificate;
use super::limits::Peer;

mod reader;

use reader::MustRead;

/// How many connections may stand at once on each way in; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1024;
/// How long a client may take to agree on TLS, or to send the head of a request.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may leave unread what it is sent. Much longer than any network stalls, and about as long as people
/// leave a long log in a pager; what asks anew is told what it missed.
pub(super) const UNREAD: Duration = Duration::from_secs(5 * 60);
/// How long a stopping server waits for what is being answered.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// How often the certificates are looked at: addresses of the machine come and go.
const LOOK_AT_CERTIFICATE: Duration = Duration::from_secs(60);
/// How long to wait where no connection can be accepted, such as where there are no file handles left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);
/// The longest path a socket can have.
const LONGEST_SOCKET_PATH: usize = 107;

/// A way in.
pub(super) enum Way {
    /// Over the network, with TLS.
    Network(TcpListener, Arc<ServerCertificate>),
    /// Over a socket on this machine, which tells who asks.
    Socket(UnixListener),
}

/// Serves on one way in until it is told to stop, then waits for what is being answered. A client that reads nothing for
/// `unread` is let go.
pub(super) async fn serve(way: Way, router: Router, unread: Duration, closing: CancellationToken) {
    let door = match way {
        Way::Network(listener, certificate) => {
            tokio::spawn(keep_good(certificate.clone(), closing.clone()));
            Door::Network(listener, TlsAcceptor::from(Arc::new(tls(certificate))))
        }
        Way::Socket(listener) => Door::Socket(listener),
    };
    // Each way in has places of its own: who crowds the one in the home does not keep root from this machine.
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            accepted = accept(&door, &places) => accepted,
        };
        match accepted {
            Ok((stream, place)) => {
                let connection =
                    Connection { router: router.clone(), watcher: graceful.watcher(), unread, place };
                tokio::spawn(connection.answer(stream));
            }
            Err(error) => {
                tracing::warn!(error = %error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(door);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered before the server stopped");
    }
}

enum Door {
    Network(TcpListener, TlsAcceptor),
    Socket(UnixListener),
}

enum Stream {
    Network(TcpStream, TlsAcceptor, Peer),
    Socket(UnixStream, Peer),
}

async fn accept(door: &Door, places: &Arc<Semaphore>) -> std::io::Result<(Stream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let stream = match door {
        Door::Network(listener, acceptor) => {
            let (stream, address) = listener.accept().await?;
            Stream::Network(stream, acceptor.clone(), Peer::Network(address.ip()))
        }
        Door::Socket(listener) => {
            let (stream, _) = listener.accept().await?;
            let peer = Peer::Socket(stream.peer_cred()?.uid());
            Stream::Socket(stream, peer)
        }
    };
    Ok((stream, place))
}

struct Connection {
    router: Router,
    watcher: Watcher,
    unread: Duration,
    place: OwnedSemaphorePermit,
}

impl Connection {
    async fn answer(self, stream: Stream) {
        let unread = self.unread;
        match stream {
            Stream::Socket(stream, peer) => self.serve(MustRead::within(unread, stream), peer).await,
            Stream::Network(stream, acceptor, peer) => {
                // Watches send small lines that somebody waits for.
                let _ = stream.set_nodelay(true);
                // Beneath TLS, where it shows what the other end takes.
                let stream = MustRead::within(unread, stream);
                match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => self.serve(stream, peer).await,
                    _ => tracing::debug!(
                        "a client did not agree on TLS; it may not trust this home's authority"
                    ),
                }
            }
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, peer: Peer) {
        let router = self.router.map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.map(Body::new)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HANDSHAKE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(error = %error, "a connection broke off");
        }
        drop(self.place);
    }
}

fn tls(certificate: Arc<ServerCertificate>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // TLS 1.2 and 1.3.
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("ring offers what the safe protocol versions need");
    let mut config = builder.with_no_client_auth().with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// The wall clock is read here, not the store's: it is the clients' clocks that judge a certificate.
async fn keep_good(certificate: Arc<ServerCertificate>, closing: CancellationToken) {
    loop {
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(LOOK_AT_CERTIFICATE) => {}
        }
        if let Err(error) = certificate.renew(hearth_meta::Timestamp::now()) {
            tracing::error!(error = format!("{error:#}"), "the server's certificate could not be renewed");
        }
    }
}

/// Opens the socket that only its owner may reach, in the place of one that a crash left.
///
/// # Errors
/// Where it cannot be made, or its path is too long for a socket.
pub(super) fn open_socket(path: &Path) -> anyhow::Result<Socket> {
    use std::os::unix::fs::PermissionsExt;
    let making = || format!("making the socket {}", path.display());
    anyhow::ensure!(
        path.as_os_str().len() <= LONGEST_SOCKET_PATH,
        "the path {} is too long for a socket ({LONGEST_SOCKET_PATH} bytes at most)",
        path.display()
    );
    // It gets its name once nobody else can reach it.
    let beside = path.with_extension("new");
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).with_context(making),
        _ => {}
    }
    let listener = UnixListener::bind(&beside).with_context(making)?;
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600)).with_context(making)?;
    std::fs::rename(&beside, path).with_context(making)?;
    Ok(Socket { listener, path: path.to_owned() })
}

/// An open socket.
pub(super) struct Socket {
    /// What listens.
    pub(super) listener: UnixListener,
    /// Where.
    pub(super) path: PathBuf,
}
