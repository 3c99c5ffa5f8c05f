//! [`Docker`] itself, and the deadline every call has.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bollard::errors::Error;
use futures::channel::oneshot;
use futures::future::{Either, select};
use futures::{Stream, StreamExt};
use hearth_capabilities::Fault;

use crate::failure::Call;
use crate::images::ImageCache;
use crate::transport::Transport;

/// How long Docker may take to tell something. It answers in milliseconds; a machine deep in swap in seconds.
pub(crate) const TELL: Duration = Duration::from_secs(15);

/// How long Docker may take to change something. Making a container copies what its image keeps under a declared
/// volume, and removing one deletes its layer, both at the speed of the disk.
pub(crate) const CHANGE: Duration = Duration::from_secs(90);

/// What bollard is given as its own limit for an answer to begin. A pull answers only once its registry has, so it
/// is out of the way, and the limits above are kept here.
const OUT_OF_THE_WAY_SECONDS: u64 = 30 * 24 * 3600;

/// Docker on this machine. Cheap to clone; every clone shares what was learnt of it.
#[derive(Clone)]
pub struct Docker {
    pub(crate) api: bollard::Docker,
    pub(crate) transport: Transport,
    pub(crate) image_cache: Arc<ImageCache>,
}

impl Docker {
    /// Docker behind `address`: `unix:///var/run/docker.sock`, or a path alone.
    ///
    /// Nothing is asked of it yet, so it need not run.
    ///
    /// # Errors
    /// [`Fault::Refused`] for an address that is not a UNIX socket.
    pub fn connect(address: &str) -> Result<Self, Fault> {
        let path = address.strip_prefix("unix://").unwrap_or(address);
        if !path.starts_with('/') {
            let problem = format!(
                "Docker's address {address:?} must be a UNIX socket, such as unix:///var/run/docker.sock"
            );
            return Err(Fault::Refused(problem));
        }
        let transport = Transport::new(PathBuf::from(path));
        Ok(Self { api: api_over(&transport, None)?, transport, image_cache: Arc::default() })
    }

    /// Carries out a call that reads, within [`TELL`].
    pub(crate) async fn tell<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        within(TELL, Call::Tell, call).await
    }

    /// Carries out a call that changes something, within a limit.
    pub(crate) async fn change<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Fault> {
        within(limit, Call::Change, call).await
    }

    /// Begins a stream that has no end of its own, once Docker has accepted it. What Docker wrote already comes
    /// with it.
    ///
    /// `open` makes the stream from an API whose first accepted answer is noticed here: bollard alone does not
    /// tell when an answer has begun.
    pub(crate) async fn open<T, S>(
        &self,
        open: impl FnOnce(&bollard::Docker) -> S,
    ) -> Result<(Option<Result<T, Error>>, S), Fault>
    where
        S: Stream<Item = Result<T, Error>> + Unpin,
    {
        let (accepted, heard) = oneshot::channel();
        let api = api_over(&self.transport, Some(accepted))?;
        let mut stream = open(&api);
        let began = async {
            match select(heard, stream.next()).await {
                Either::Left((Ok(()), _)) => Ok(None),
                // The first item came together with the answer's head, or the answer was no.
                Either::Left((Err(_), next)) => next.await.transpose(),
                Either::Right((item, _)) => item.transpose(),
            }
        };
        let first = within(TELL, Call::Tell, began).await?;
        Ok((first.map(Ok), stream))
    }
}

impl fmt::Debug for Docker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Docker").field("socket", &self.transport.socket()).finish_non_exhaustive()
    }
}

fn api_over(transport: &Transport, accepted: Option<oneshot::Sender<()>>) -> Result<bollard::Docker, Fault> {
    let transport = transport.clone().telling(accepted);
    bollard::Docker::connect_with_custom_transport(
        move |request| transport.clone().send(request),
        Some("http://docker"),
        OUT_OF_THE_WAY_SECONDS,
        bollard::API_DEFAULT_VERSION,
    )
    .map_err(|error| Call::Tell.fault(error))
}

async fn within<T>(
    limit: Duration,
    call: Call,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, work).await {
        Ok(answer) => answer.map_err(|error| call.fault(error)),
        Err(_) => Err(Fault::Blind(format!("Docker did not answer within {} seconds", limit.as_secs()))),
    }
}
