//! Every place of the protocol, on one screen.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hearth_engine::Store;
use hearth_meta::{KindInfo, Problem, Scope};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::accept::Form;
use crate::access::{Actor, Gate, Users};
use crate::failure::Failure;
use crate::parameters::Parameters;
use crate::target::{Call, Target};
use crate::views::View;
use crate::{body, delete, discovery, events, openapi, patch, read, reviews, subresource, watch, write};

/// Reads the documents of a text of YAML, or says everything that is wrong with it.
pub type YamlReader = fn(&str) -> Result<Vec<Value>, Vec<Problem>>;

/// What the protocol is spoken over. Clones are the same.
#[derive(Clone)]
pub struct Wire {
    /// The way to the store.
    pub(crate) gate: Gate,
    /// Knows the rights of those who are not asking.
    pub(crate) users: Arc<dyn Users>,
    /// The version of the program, such as `0.1.0`.
    pub version: &'static str,
    /// Cancelled when the server stops: every watch ends then.
    pub closing: CancellationToken,
    /// Reads YAML, where bodies of it are taken.
    pub(crate) yaml: Option<YamlReader>,
    /// Managers of fields that nobody may be who speaks through this.
    pub(crate) reserved: &'static [&'static str],
    /// Kinds that nobody stores.
    pub(crate) views: Arc<[View]>,
    pub(crate) documents: Arc<openapi::Documents>,
    /// The schemas by kind, shared with writes that outlive their request.
    pub(crate) schemas: Arc<BTreeMap<&'static str, Arc<Value>>>,
}

impl Wire {
    /// Speaks over a store.
    pub fn new(
        store: Store,
        users: Arc<dyn Users>,
        version: &'static str,
        closing: CancellationToken,
    ) -> Self {
        let documents = Arc::new(openapi::Documents::of(&store));
        let schemas =
            store.kinds().filter_map(|kind| Some((kind.kind, Arc::new(kind.schema.clone()?)))).collect();
        let gate = Gate::new(store, ());
        Self {
            gate,
            users,
            version,
            closing,
            yaml: None,
            reserved: &[],
            views: Arc::default(),
            documents,
            schemas: Arc::new(schemas),
        }
    }

    /// The same, which also takes bodies of YAML. The parser is the caller's: it knows how the home's files are read.
    #[must_use]
    pub fn reading_yaml(self, yaml: YamlReader) -> Self {
        Self { yaml: Some(yaml), ..self }
    }

    /// The same, through which nobody sets fields as one of these managers, nor writes down that one of them has: what
    /// the program itself goes by in the account of who set which field.
    #[must_use]
    pub fn reserving(self, managers: &'static [&'static str]) -> Self {
        Self { reserved: managers, ..self }
    }

    /// The same, which also tells of these kinds, and serves those that are made of what is stored.
    #[must_use]
    pub fn showing(self, views: Vec<View>) -> Self {
        Self { views: views.into(), ..self }
    }
}

/// Every place of the protocol. Some clients end a path with `/`, which makes no difference here.
pub fn router(wire: Wire) -> Router {
    let places = Router::new()
        .route("/version", get(discovery::version))
        .route("/api", get(discovery::core_versions))
        .route("/api/v1", get(discovery::core_resources))
        .route("/apis", get(discovery::groups))
        .route("/apis/{group}", get(discovery::group))
        .route("/apis/{group}/{version}", get(discovery::resources))
        .route("/openapi/v2", get(openapi::second))
        .route("/openapi/v3", get(openapi::index))
        .route("/openapi/v3/{*path}", get(openapi::document))
        .route("/api/v1/{*path}", any(in_core))
        .route("/apis/{group}/{version}/{*path}", any(in_group))
        .fallback(nowhere)
        .with_state(wire)
        .into_service::<axum::body::Body>();
    Router::new()
        .fallback_service(places.map_request(without_end_slash).map_err(|never: Infallible| match never {}))
}

fn without_end_slash(mut request: Request) -> Request {
    let path = request.uri().path();
    if path.len() > 1 && path.ends_with('/') {
        let path = path.trim_end_matches('/');
        let kept = match request.uri().query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        if let Ok(uri) = kept.parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    request
}

async fn nowhere() -> Failure {
    Failure::no_such_place()
}

async fn in_core(State(wire): State<Wire>, Path(path): Path<String>, request: Request) -> Response {
    answer(&wire, ("", "v1"), &path, request).await
}

async fn in_group(
    State(wire): State<Wire>,
    Path((group, version, path)): Path<(String, String, String)>,
    request: Request,
) -> Response {
    answer(&wire, (&group, &version), &path, request).await
}

async fn answer(wire: &Wire, place: (&str, &str), path: &str, request: Request) -> Response {
    let found = if events::is_place(place, path) {
        events::answer(wire, place, path, request).await
    } else if let Some(kind) = reviews::at(place, path) {
        reviews::answer(wire, &kind, path, request).await
    } else {
        resource(wire, place, path, request).await
    };
    found.unwrap_or_else(IntoResponse::into_response)
}

async fn resource(
    wire: &Wire,
    (group, version): (&str, &str),
    path: &str,
    request: Request,
) -> Result<Response, Failure> {
    let target = Target::parse(path).ok_or_else(Failure::no_such_place)?;
    let is_named =
        |kind: &KindInfo| kind.group == group && kind.version == version && kind.plural == target.plural;
    let viewed = || {
        wire.views
            .iter()
            .filter(|view| is_named(&view.kind))
            .find_map(|view| Some((&view.kind, view.source?)))
    };
    let (kind, source) = match wire.gate.kinds().find(|kind| is_named(kind)) {
        Some(kind) => (kind, None),
        None => viewed().map(|(kind, source)| (kind, Some(source))).ok_or_else(Failure::no_such_place)?,
    };
    target.check_scope(kind)?;
    let (parts, sent) = request.into_parts();
    let parameters = Parameters::parse(&parts.uri)?;
    let verb = verb(&parts.method, target.name.is_some(), parameters.watch)?;
    let granted = wire.gate.open(actor(&parts.extensions)?, &target.asked(verb, kind, &parameters))?;
    let call = Call {
        wire,
        kind,
        source,
        parameters,
        form: Form::wanted(&parts.headers),
        agent: agent(&parts.headers),
        granted,
        target,
        doubled: Mutex::default(),
    };
    call.check_manager()?;
    let answer = dispatch(&call, &parts, sent).await?;
    let doubled = call.doubled.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(write::warned(answer, &doubled))
}

/// What a request asks for, by its verb and its place.
async fn dispatch(call: &Call<'_>, parts: &Parts, sent: Body) -> Result<Response, Failure> {
    let is_one = call.target.name.is_some();
    if call.source.is_some() && parts.method != Method::GET {
        let (method, kind) = (&parts.method, call.kind.kind);
        return Err(Failure::not_allowed(format!(
            "{method} is not offered here: a {kind} is only for reading"
        )));
    }
    match (&parts.method, call.target.subresource.as_deref()) {
        (&Method::GET, None) if call.parameters.watch => watch::answer(call),
        (&Method::GET, None) if is_one => read::get(call),
        (&Method::GET, None) => read::list(call),
        (&Method::POST, None) if !is_one => {
            write::create(call, body::object(call, &parts.headers, sent).await?).await
        }
        (&Method::PUT, None) if is_one => {
            write::update(call, body::object(call, &parts.headers, sent).await?).await
        }
        (&Method::PATCH, None) if is_one => patch::answer(call, &parts.headers, sent).await,
        (&Method::DELETE, None) if is_one => {
            delete::one(call, body::options(call, &parts.headers, sent).await?).await
        }
        // What is not meant is then not deleted by a namespace that was forgotten.
        (&Method::DELETE, None)
            if call.kind.scope == Scope::Namespaced && call.target.namespace.is_none() =>
        {
            Err(Failure::not_allowed(
                "a collection is deleted in one namespace: send it to /namespaces/NAMESPACE/...",
            ))
        }
        (&Method::DELETE, None) => delete::many(call, body::options(call, &parts.headers, sent).await?).await,
        (method, Some("status")) if is_one && call.kind.has_status => match *method {
            Method::GET => read::get(call),
            Method::PUT => subresource::update(call, body::object(call, &parts.headers, sent).await?).await,
            Method::PATCH => subresource::patch(call, &parts.headers, sent).await,
            _ => Err(not_allowed(method)),
        },
        (_, Some(_)) => Err(Failure::no_such_place()),
        (method, None) => Err(not_allowed(method)),
    }
}

/// What a request does, in the words rights have.
pub(crate) fn verb(method: &Method, is_one: bool, watches: bool) -> Result<&'static str, Failure> {
    Ok(match (method, is_one) {
        (&Method::GET, _) if watches => "watch",
        (&Method::GET, true) => "get",
        (&Method::GET, false) => "list",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, true) => "delete",
        (&Method::DELETE, false) => "deletecollection",
        _ => return Err(not_allowed(method)),
    })
}

/// Who asks. A request that nobody signed in for got here past sign-in, and gets no further.
pub(crate) fn actor(extensions: &Extensions) -> Result<&Actor, Failure> {
    extensions.get::<Actor>().ok_or_else(|| Failure::unauthorized("nobody is signed in"))
}

/// The program that asks, by the first word of what it says of itself.
pub(crate) fn agent(headers: &HeaderMap) -> String {
    let said = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = said.split(['/', ' ']).next().unwrap_or_default();
    if name.is_empty() { "unknown".to_owned() } else { name.chars().take(128).collect() }
}

fn not_allowed(method: &Method) -> Failure {
    Failure::not_allowed(format!("{method} is not offered here"))
}
