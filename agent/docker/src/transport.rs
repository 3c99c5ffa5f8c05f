//! How a request reaches Docker: one connection each, in the API version that both sides speak.
//!
//! One connection per request costs some tens of microseconds on a UNIX socket, and there is never one that Docker
//! closed in the meantime, where nobody could tell whether a request on it was carried out. Dropping the request or
//! its answer closes the connection, which is how a pull is cancelled.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bollard::BollardRequest;
use bollard::errors::Error;
use bytes::Bytes;
use futures::channel::oneshot;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// The oldest API version whose answers are understood: Docker 20.10.
const OLDEST: Version = Version { major: 1, minor: 41 };
/// The newest API version whose answers are understood, which is the newest that bollard's types describe.
const NEWEST: Version = Version { major: 1, minor: 53 };

/// A version of Docker's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// The way to Docker's socket.
#[derive(Clone)]
pub(crate) struct Transport {
    socket: Arc<Path>,
    /// What was agreed with the Docker that runs now; forgotten when it may have been replaced.
    version: Arc<Mutex<Option<Version>>>,
    /// Told when the first request has been accepted.
    accepted: Arc<Mutex<Option<oneshot::Sender<()>>>>,
}

impl Transport {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket: socket.into(), version: Arc::default(), accepted: Arc::default() }
    }

    /// The same way, which also tells when its first request has been accepted.
    pub(crate) fn telling(mut self, accepted: Option<oneshot::Sender<()>>) -> Self {
        self.accepted = Arc::new(Mutex::new(accepted));
        self
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(self, request: BollardRequest) -> Result<Response<Incoming>, Error> {
        let version = match self.known() {
            Some(version) => version,
            None => self.agree().await?,
        };
        let (mut head, body) = request.into_parts();
        let asked = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        head.uri = Uri::try_from(format!("/v{}.{}{asked}", version.major, version.minor))?;
        let sent = self.exchange(Request::from_parts(head, body)).await;
        match &sent {
            Ok(answer) if answer.status().is_success() => {
                if let Some(accepted) = self.accepted.lock().ok().and_then(|mut slot| slot.take()) {
                    // Nobody may be waiting any more.
                    let _ = accepted.send(());
                }
            }
            // A Docker that was upgraded may speak the old version no longer, and says so with 400.
            Ok(answer) if answer.status() == StatusCode::BAD_REQUEST => self.set(None),
            Ok(_) => {}
            Err(_) => self.set(None),
        }
        sent
    }

    /// Posts JSON that bollard has no words for, and returns the body of the answer.
    pub(crate) async fn post(&self, path: &str, json: Bytes) -> Result<Bytes, Error> {
        let request =
            Request::post(path).header(CONTENT_TYPE, "application/json").body(bollard::body_full(json))?;
        let answer = self.clone().send(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if status.is_success() {
            return Ok(body);
        }
        let said: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        let message = said.as_ref().and_then(|said| said["message"].as_str()).unwrap_or_default().to_owned();
        Err(Error::DockerResponseServerError { status_code: status.as_u16(), message })
    }

    /// Asks which version Docker speaks, and takes the newest that both know.
    async fn agree(&self) -> Result<Version, Error> {
        let ping = Request::get("/_ping").body(Empty::<Bytes>::new())?;
        let answer = self.exchange(ping).await?;
        let told = answer.headers().get("api-version").and_then(|value| value.to_str().ok());
        let Some(theirs) = told.and_then(Version::parse) else {
            return Err(Error::APIVersionParseError {});
        };
        if theirs < OLDEST {
            let message = format!(
                "Docker 20.10 (API {}.{}) or newer is needed; this one speaks API {}.{}: upgrade Docker",
                OLDEST.major, OLDEST.minor, theirs.major, theirs.minor
            );
            return Err(Error::DockerResponseServerError { status_code: 400, message });
        }
        let agreed = theirs.min(NEWEST);
        self.set(Some(agreed));
        Ok(agreed)
    }

    async fn exchange<B>(&self, mut request: Request<B>) -> Result<Response<Incoming>, Error>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        request.headers_mut().insert(HOST, HeaderValue::from_static("docker"));
        let stream = UnixStream::connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends by itself with the answer, or as soon as nobody holds the answer any more.
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?)
    }

    fn known(&self) -> Option<Version> {
        self.version.lock().ok().and_then(|version| *version)
    }

    fn set(&self, version: Option<Version>) {
        if let Ok(mut known) = self.version.lock() {
            *known = version;
        }
    }
}
