//! The connection to the server: requests in, JSON out, and refusals as they were worded there.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hearth_meta::problem::nearest;
use hearth_meta::{Problem, Timestamp};
use http::{Method, Request, Response, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::output::{Output, Tone, paint};
use super::resource::{Target, collection};
use super::support::archive;
use super::{kubeconfig, socket};
use crate::support::Bundle;

mod lines;
mod pages;
mod trouble;
mod ways;

pub(super) use lines::Lines;
pub(super) use trouble::{Refusal, Trouble};

use trouble::{SILENT, root_cause};

/// Asks for objects as they are.
pub(super) const JSON: &str = "application/json";
/// Asks for a table as the server lays it out.
pub(super) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// A change as the fields that become different; null removes one.
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";

/// The namespace of a household, where none is said.
const HOUSEHOLD: &str = "household";

/// How long an answer may take, or the beginning of one that goes on: a server that works answers at once, but for one
/// whose disk or Docker is very slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the server may take to prepare what is downloaded: it copies its store first, and reads the copy.
const PREPARATION: Duration = Duration::from_secs(1800);

/// A server, and who asks it for what.
#[derive(Clone)]
pub(crate) struct Client {
    http: kube::Client,
    address: String,
    namespace: String,
    /// The certificates it trusts, as they stand in the kubeconfig file.
    roots: Vec<Vec<u8>>,
    /// The server's socket, where it is reached through that.
    socket: Option<PathBuf>,
    /// Where what the server says beside its answers is shown, and what was shown already.
    beside: Option<(Output, Arc<Mutex<BTreeSet<String>>>)>,
    /// The moment that is asked about, where it is not the present.
    as_of: Option<Timestamp>,
    /// How long an answer may take; without an end where it comes from this process.
    patience: Option<Duration>,
    /// Whether a person said how long an answer may take, which no verb knows better.
    is_patience_told: bool,
    /// How long what is waited for may take, where the usual is not meant.
    limit: Option<Duration>,
}

/// What the command line says of how a server is reached.
#[derive(Default)]
pub(super) struct Reach<'a> {
    pub(super) kubeconfig: Option<&'a Path>,
    pub(super) context: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
    /// A bundle to read in the place of a server.
    pub(super) from: Option<&'a Path>,
    /// Another address than the kubeconfig's.
    pub(super) server: Option<&'a str>,
    /// How long an answer may take, or, with a verb that waits, what is waited for; where the usual is not meant.
    pub(super) timeout: Option<Duration>,
    /// Whether the verb waits for something.
    pub(super) waits: bool,
    /// The moment by which ages are told, where it is not the present.
    pub(super) now: Option<Timestamp>,
}

impl Reach<'_> {
    /// The client; nothing is sent yet.
    ///
    /// # Errors
    /// A kubeconfig or a bundle that is missing or cannot be used.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        match self.from {
            Some(file) => Client::of_bundle(file, self.namespace),
            None => {
                let client = Client::reached(self).await?;
                let told = self.timeout.filter(|_| !self.waits);
                let (patience, is_patience_told) = (told.or(client.patience), told.is_some());
                Ok(Client { as_of: self.now, limit: self.timeout, patience, is_patience_told, ..client })
            }
        }
    }
}

impl Client {
    /// Reads the kubeconfig that is found where nothing is said; nothing is sent yet.
    ///
    /// # Errors
    /// A kubeconfig that is missing or cannot be used.
    pub(super) async fn found() -> Result<Self, Failure> {
        Self::reached(&Reach::default()).await
    }

    async fn reached(reach: &Reach<'_>) -> Result<Self, Failure> {
        let (context, namespace) = (reach.context, reach.namespace);
        let path = kubeconfig::find(reach.kubeconfig);
        if kubeconfig::is_socket(&path) {
            if reach.server.is_some() {
                let message =
                    format!("{} is the server's own socket, which leads to no other", path.display());
                return Err(Failure::usage(message).next("name a kubeconfig file beside --server URL"));
            }
            let namespace = namespace.unwrap_or(HOUSEHOLD).to_owned();
            let (http, address) = (socket::client(&path, &namespace), format!("unix://{}", path.display()));
            let patience = Some(PATIENCE);
            return Ok(Self { socket: Some(path), patience, ..Self::bare(http, address, namespace) });
        }
        let config = kubeconfig::load(&path, context, reach.server).await?;
        let client = Self::of(config)
            .map_err(|failure| failure.next(format!("the kubeconfig file {} says so", path.display())))?;
        Ok(Self { namespace: namespace.map_or(client.namespace.clone(), str::to_owned), ..client })
    }

    /// A client by what a kubeconfig file says; nothing is sent yet.
    ///
    /// # Errors
    /// What cannot be used.
    pub(super) fn of(config: kube::Config) -> Result<Self, Failure> {
        let address = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let in_file = match config.default_namespace.as_str() {
            // What stands for "none is named" in kubeconfig files; a home has no namespace of that name.
            "default" | "" => HOUSEHOLD,
            named => named,
        };
        let namespace = in_file.to_owned();
        let roots = config.root_cert.clone().unwrap_or_default();
        let http = kube::Client::try_from(config)
            .map_err(|error| Failure::usage(format!("{address} cannot be asked: {error}")))?;
        Ok(Self { roots, patience: Some(PATIENCE), ..Self::bare(http, address, namespace) })
    }

    /// Reads a support bundle in the place of a server; nothing can be written to it.
    ///
    /// # Errors
    /// A file that is no sound bundle.
    pub(super) fn of_bundle(file: &Path, namespace: Option<&str>) -> Result<Self, Failure> {
        let bundle = Bundle::read(file).map_err(|error| {
            Failure::new(Exit::Rejected, format!("{} cannot be read: {error:#}", file.display()))
        })?;
        let namespace = namespace.unwrap_or(&bundle.manifest.namespace).to_owned();
        let (address, as_of) = (file.display().to_string(), Some(bundle.manifest.made_at));
        let http = archive::client(bundle, &namespace);
        Ok(Self { as_of, ..Self::bare(http, address, namespace) })
    }

    /// The moment that is asked about: the present, or when a bundle was made.
    pub(super) fn now(&self) -> Timestamp {
        self.as_of.unwrap_or_else(Timestamp::now)
    }

    /// A client of a home in this process.
    pub(crate) fn within(http: kube::Client, namespace: &str) -> Self {
        Self::bare(http, "this process".into(), namespace.to_owned())
    }

    fn bare(http: kube::Client, address: String, namespace: String) -> Self {
        let (roots, socket, beside, as_of) = (Vec::new(), None, None, None);
        let (patience, is_patience_told, limit) = (None, false, None);
        Self { http, address, namespace, roots, socket, beside, as_of, patience, is_patience_told, limit }
    }

    /// The same client, which shows what the server says beside its answers, each once.
    #[must_use]
    pub(super) fn telling(self, out: &Output) -> Self {
        Self { beside: Some((out.clone(), Arc::default())), ..self }
    }

    /// The same client, for an answer that is known to take longer than others; what a person said holds.
    #[must_use]
    pub(super) fn patient(&self, patience: Duration) -> Self {
        let longer = |usual: Duration| if self.is_patience_told { usual } else { usual.max(patience) };
        Self { patience: self.patience.map(longer), ..self.clone() }
    }

    /// How long to wait for something that usually takes so long.
    pub(super) fn waits(&self, usual: Duration) -> Duration {
        self.limit.unwrap_or(usual)
    }

    /// Where the server is.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The namespace asked for, or the one that is used where none is named.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn get(&self, path: &str) -> Result<Value, Trouble> {
        self.read(path, JSON).await
    }

    /// Reads JSON of the form asked for.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn read(&self, path: &str, accept: &str) -> Result<Value, Trouble> {
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty());
        self.answer(request).await
    }

    /// Reads one object; `None` where there is none.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn find(&self, target: &Target) -> Result<Option<Value>, Trouble> {
        match self.get(&target.path()).await {
            Ok(object) => Ok(Some(object)),
            Err(Trouble::Refused(refusal)) if refusal.code == 404 => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Reads one object that must be there.
    ///
    /// # Errors
    /// There is none, with the name that may have been meant; or see [`Trouble`].
    pub(super) async fn one(&self, target: &Target) -> Result<Value, Failure> {
        match self.find(target).await? {
            Some(object) => Ok(object),
            None => Err(self.missing(target).await),
        }
    }

    /// The failure that an object is not there, with the name that may have been meant.
    pub(super) async fn missing(&self, target: &Target) -> Failure {
        let place = target.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}"));
        let failure =
            Failure::new(Exit::NotFound, format!("there is no {target}{}", place.unwrap_or_default()));
        let listed = self.list(&collection(&target.kind, target.namespace.as_deref()), JSON).await;
        let Ok(listing) = listed else { return failure };
        let items = listing["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        match nearest(&target.name, items.iter().filter_map(|item| item["metadata"]["name"].as_str())) {
            Some(meant) => failure.next(format!("did you mean {}/{meant}?", target.kind.singular)),
            None => failure.next(format!("see what there is with `hearth get {} -A`", target.kind.plural)),
        }
    }

    /// Sends a body of this type.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, Trouble> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, JSON)
            .header(header::CONTENT_TYPE, content)
            .body(Body::from(body.to_string().into_bytes()));
        self.answer(request).await
    }

    /// Changes fields of an object.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn patch(&self, target: &Target, change: &Value) -> Result<Value, Trouble> {
        let path = format!("{}?fieldManager=hearth", target.path());
        self.send(Method::PATCH, &path, MERGE_PATCH, change).await
    }

    /// Waits for an answer, but not for ever.
    ///
    /// # Errors
    /// It did not come; or what it says itself.
    pub(super) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let Some(patience) = self.patience else { return answer.await };
        tokio::time::timeout(patience, answer).await.unwrap_or_else(|_| {
            let why = format!("{SILENT} (waited {} s)", patience.as_secs());
            Err(Trouble::Unreachable { address: self.address.clone(), why })
        })
    }

    /// Opens an answer that comes line by line, such as a watch or a log.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn lines(&self, path: &str, accept: &str) -> Result<Lines, Trouble> {
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty());
        // How long it goes on is for whoever reads it to say.
        let response = self.in_time(self.exchange(request)).await?;
        if response.status().is_success() {
            return Ok(Lines { body: response.into_body(), kept: Vec::new(), address: self.address.clone() });
        }
        self.in_time(async { Err(self.refusal(response).await) }).await
    }

    /// Writes an answer that is no JSON to `sink` as it comes, and returns how many bytes it was. It takes as long as it
    /// takes once it has begun.
    ///
    /// # Errors
    /// See [`Trouble`]; also where the sink takes no more.
    pub(super) async fn download(&self, path: &str, sink: &mut dyn Write) -> Result<u64, Failure> {
        let slow = self.patient(PREPARATION);
        let response = slow.in_time(self.exchange(Request::get(path).body(Body::empty()))).await?;
        if !response.status().is_success() {
            return Err(slow.in_time(async { Err(self.refusal(response).await) }).await?);
        }
        let (mut body, mut bytes) = (response.into_body(), 0);
        while let Some(frame) = body.frame().await {
            let piece = frame.map_err(|error| self.unreachable(&error))?.into_data().unwrap_or_default();
            sink.write_all(&piece)
                .map_err(|error| Failure::new(Exit::Rejected, format!("it cannot be written: {error}")))?;
            bytes += piece.len() as u64;
        }
        Ok(bytes)
    }

    async fn answer(&self, request: http::Result<Request<Body>>) -> Result<Value, Trouble> {
        self.in_time(self.whole_answer(request)).await
    }

    async fn whole_answer(&self, request: http::Result<Request<Body>>) -> Result<Value, Trouble> {
        let response = self.exchange(request).await?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let bytes = self.collected(response).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("the server's answer is not JSON: {error}");
            Trouble::Refused(Refusal { code: 500, message, ..Refusal::default() })
        })
    }

    async fn exchange(&self, request: http::Result<Request<Body>>) -> Result<Response<Body>, Trouble> {
        let request = request.map_err(|error| self.unreachable(&error))?;
        let response = self.http.send(request).await.map_err(|error| self.unreachable(&error))?;
        self.tell_beside(&response);
        Ok(response)
    }

    /// Such as that everything is paused, which whoever looks at anything should know.
    fn tell_beside(&self, response: &Response<Body>) {
        let Some((out, shown)) = &self.beside else { return };
        let said = response.headers().get_all(header::WARNING).iter();
        for text in said.filter_map(|said| said.to_str().ok()?.strip_prefix("299 - \"")?.strip_suffix('"')) {
            if shown.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
                out.note(&format!("{}: {text}", paint(Tone::Moving, "note")));
            }
        }
    }

    async fn collected(&self, response: Response<Body>) -> Result<Bytes, Trouble> {
        let collected = response.into_body().collect().await.map_err(|error| self.unreachable(&error))?;
        Ok(collected.to_bytes())
    }

    async fn refusal(&self, response: Response<Body>) -> Trouble {
        let code = response.status().as_u16();
        let bytes = match self.collected(response).await {
            Ok(bytes) => bytes,
            Err(trouble) => return trouble,
        };
        let status: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = match text(&status["message"]) {
            empty if empty.is_empty() => String::from_utf8_lossy(&bytes).trim().to_owned(),
            message => message,
        };
        let causes = status["details"]["causes"].as_array().into_iter().flatten();
        let problems =
            causes.map(|cause| Problem::new(text(&cause["field"]), text(&cause["message"]))).collect();
        Trouble::Refused(Refusal { code, message, problems })
    }

    fn unreachable(&self, error: &dyn Error) -> Trouble {
        Trouble::Unreachable { address: self.address.clone(), why: root_cause(error) }
    }
}

#[cfg(test)]
mod tests;
