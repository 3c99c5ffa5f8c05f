//! Accepting connections over TLS, keeping the certificate good, and stopping.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::authority::Authority;

/// How many connections may stand at once; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1024;
/// How long a client may take to agree on TLS, or to send the head of a request.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a stopping server waits for what is being answered.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// How often the certificate is looked at.
const LOOK_AT_CERTIFICATE: Duration = Duration::from_secs(3600);
/// How long to wait where no connection can be accepted, such as where there are no file handles left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// Serves until it is told to stop, then waits for what is being answered.
pub(super) async fn serve(
    listener: TcpListener,
    authority: Arc<Authority>,
    router: Router,
    closing: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(Arc::new(tls(authority.clone())));
    let renewing = tokio::spawn(keep_good(authority, closing.clone()));
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, place)) => {
                let connection = Connection {
                    acceptor: acceptor.clone(),
                    router: router.clone(),
                    watcher: graceful.watcher(),
                };
                tokio::spawn(connection.answer(stream, place));
            }
            Err(error) => {
                tracing::warn!(error = %error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered before the server stopped");
    }
    renewing.abort();
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

struct Connection {
    acceptor: TlsAcceptor,
    router: Router,
    watcher: Watcher,
}

impl Connection {
    async fn answer(self, stream: TcpStream, place: OwnedSemaphorePermit) {
        // Watches send small lines that somebody waits for.
        let _ = stream.set_nodelay(true);
        let agreed = tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await;
        let Ok(Ok(stream)) = agreed else {
            tracing::debug!("a client did not agree on TLS; it may not trust this home's authority");
            return;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HANDSHAKE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.router));
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(error = %error, "a connection broke off");
        }
        drop(place);
    }
}

fn tls(authority: Arc<Authority>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("ring offers what the safe protocol versions need");
    let mut config = builder.with_no_client_auth().with_cert_resolver(authority);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// The wall clock is read here, not the store's: it is the clients' clocks that judge a certificate.
async fn keep_good(authority: Arc<Authority>, closing: CancellationToken) {
    loop {
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(LOOK_AT_CERTIFICATE) => {}
        }
        if let Err(error) = authority.renew(hearth_meta::Timestamp::now()) {
            tracing::error!(error = format!("{error:#}"), "the server's certificate could not be renewed");
        }
    }
}
