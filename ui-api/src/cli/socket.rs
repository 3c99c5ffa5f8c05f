//! The socket of a server on this machine: root needs no token there.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::Body;
use tokio::net::UnixStream;
use tower::{Service, ServiceExt};

/// What stands for the server in requests; a socket has no host.
const HOST: &str = "http://hearth";

/// A client that speaks over a socket.
pub(super) fn client(path: &Path, namespace: &str) -> kube::Client {
    let http = Client::builder(TokioExecutor::new()).build(Connector(path.to_owned()));
    let service = http.map_request(|mut request: Request<Body>| {
        let place = request.uri().path_and_query().map_or("/", |place| place.as_str());
        if let Ok(uri) = format!("{HOST}{place}").parse::<Uri>() {
            *request.uri_mut() = uri;
        }
        request
    });
    kube::Client::new(service, namespace)
}

/// Opens the socket, wherever a request wants to go.
#[derive(Clone)]
struct Connector(PathBuf);

impl Service<Uri> for Connector {
    type Response = TokioIo<UnixStream>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move { UnixStream::connect(path).await.map(TokioIo::new) })
    }
}
