//! The calls to Caddy's admin API.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use hearth_capabilities::Fault;
use hearth_capabilities::proxy::{Proxy, ProxyFacts, ProxyRoute};
use reqwest::header::{ETAG, IF_MATCH, ORIGIN};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;

use crate::parse;
use crate::render::{self, Listen, SERVER};

/// The longest any call may take. A reload of 1000 routes was seen to take 0.3 s on a busy machine.
const DEADLINE: Duration = Duration::from_secs(15);

/// How often a request is sent anew, and how long after. For some milliseconds after a reload the admin server from
/// before was seen to answer still: it refuses what the new one asks for, or closes the connection.
const TRIES: u32 = 12;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(40);

/// [`Proxy`] through a running Caddy. Clones share what is set.
#[derive(Clone)]
pub struct Caddy {
    client: Client,
    listen: Listen,
}

impl Caddy {
    /// Hands on the Caddy whose admin API is at `socket`. It need not run yet, and needs no configuration: started
    /// with `CADDY_ADMIN=unix/<socket>` it waits there for [`Proxy::reset`].
    ///
    /// `http_listen` is where it shall answer, such as `:80`; `admin_listen` is the socket as Caddy itself sees it,
    /// such as `unix//run/hearth/admin.sock`.
    ///
    /// # Errors
    ///
    /// [`Fault::Failed`] where no client can be made at all.
    pub fn new(
        socket: impl AsRef<Path>,
        http_listen: impl Into<String>,
        admin_listen: impl Into<String>,
    ) -> Result<Self, Fault> {
        let client = Client::builder()
            .unix_socket(socket.as_ref())
            .timeout(DEADLINE)
            // Caddy closes the connections of its admin API at each reload; one kept would fail the next call.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| Fault::Failed(format!("making a client for the proxy: {}", chain(&error))))?;
        Ok(Self { client, listen: Listen { http: http_listen.into(), admin: admin_listen.into() } })
    }

    /// Sends a request as Hearth. A Caddy without Hearth's configuration knows no origin and refuses one, so there
    /// the request goes without; one with it refuses the second as well, and nothing is lost.
    ///
    /// Sending again is safe: what was refused was not carried out, and of those that may have been, a read and a
    /// whole configuration may be repeated, and a write is guarded by its tag.
    async fn send(
        &self,
        method: Method,
        path: &str,
        tag: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Response, Fault> {
        let origin = format!("http://{}", render::ORIGIN);
        for tried in 0.. {
            let origin = (tried % 2 == 0).then_some(origin.as_str());
            let is_last = tried + 1 >= TRIES;
            match self.send_once(origin, &method, path, tag, body).await {
                Ok(response) if response.status() != StatusCode::FORBIDDEN || is_last => return Ok(response),
                Err(error) if error.is_connect() || error.is_timeout() || is_last => {
                    return Err(Fault::Blind(format!("the proxy does not answer: {}", root(&error))));
                }
                // The first refusal may only mean that the other way of asking is right, so it is tried at once.
                Ok(_) if tried == 0 => {}
                _ => tokio::time::sleep(TRY_AGAIN_AFTER).await,
            }
        }
        Err(Fault::Blind("the proxy does not answer".into()))
    }

    async fn send_once(
        &self,
        origin: Option<&str>,
        method: &Method,
        path: &str,
        tag: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Response, reqwest::Error> {
        // The host is not looked at on a UNIX socket, but HTTP needs one.
        let mut request = self.client.request(method.clone(), format!("http://caddy{path}"));
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        if let Some(tag) = tag {
            request = request.header(IF_MATCH, tag);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await
    }
}

#[async_trait]
impl Proxy for Caddy {
    async fn read(&self) -> Result<ProxyFacts, Fault> {
        let response = self.send(Method::GET, "/config/", None, None).await?;
        if response.status() != StatusCode::OK {
            return Err(Fault::Blind(format!(
                "the proxy does not show its settings: {}",
                words(response).await
            )));
        }
        let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let tag = tag.ok_or_else(|| Fault::Blind("the proxy names no state of its settings".into()))?;
        let config: Value = response.json().await.map_err(|error| {
            Fault::Blind(format!("the proxy's settings make no sense: {}", chain(&error)))
        })?;
        Ok(parse::facts(&config, &self.listen, tag))
    }

    async fn reset(&self, routes: &[ProxyRoute]) -> Result<(), Fault> {
        render::check(routes)?;
        let config = render::config(&self.listen, routes);
        accepted(self.send(Method::POST, "/load", None, Some(&config)).await?).await
    }

    async fn write(&self, routes: &[ProxyRoute], tag: &str) -> Result<(), Fault> {
        render::check(routes)?;
        let path = format!("/config/apps/http/servers/{SERVER}/routes");
        let routes = render::routes(routes);
        accepted(self.send(Method::PATCH, &path, Some(tag), Some(&routes)).await?).await
    }
}

async fn accepted(response: Response) -> Result<(), Fault> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let words = words(response).await;
    if status == StatusCode::PRECONDITION_FAILED {
        return Err(Fault::Conflict(format!(
            "the proxy's routes have changed since they were read: {words}"
        )));
    }
    Err(Fault::Refused(format!("the proxy does not take the routes and keeps the old ones: {words}")))
}

/// What Caddy says is wrong.
async fn words(response: Response) -> String {
    let status = response.status();
    let body = response.text().await.unwrap_or_default();
    let said =
        serde_json::from_str::<Value>(&body).ok().and_then(|body| body["error"].as_str().map(str::to_owned));
    said.unwrap_or_else(|| format!("status {status}"))
}

/// An error with its reasons; the outermost alone never says what happened.
/// What the system said in the end; what was being asked is known to whoever asks.
fn root(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(reason) = innermost.source() {
        innermost = reason;
    }
    innermost.to_string()
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        words = format!("{words}: {reason}");
        next = reason.source();
    }
    words
}
