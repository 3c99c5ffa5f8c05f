//! Applying one object through the protocol, in this process: the same admission and the same accounts of who set
//! which field as for everybody.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use hearth_engine::{Object, Store};
use hearth_meta::{Problem, Scope, labels};
use hearth_wire::{Actor, Strangers, Wire};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::declared::Declared;
use crate::server::VERSION;

/// Whose the fields are that a file sets. The server lets nobody else say to be it.
pub(crate) const MANAGER: &str = "manifests";

/// The protocol, spoken to the store directly.
pub(super) struct Applier {
    router: Router,
    store: Store,
}

impl Applier {
    pub(super) fn new(store: &Store) -> Self {
        let wire = Wire::new(store.clone(), Arc::new(Strangers), VERSION, CancellationToken::new());
        Self { router: hearth_wire::router(wire), store: store.clone() }
    }

    /// Makes an object as its file says, whoever set those fields otherwise; the resourceVersion it then has.
    ///
    /// # Errors
    /// Everything the server has against it.
    pub(super) async fn apply(&self, declared: &Declared) -> Result<u64, Vec<Problem>> {
        let whole = |message: String| vec![Problem::new("", message)];
        let path = self.path_of(declared).ok_or_else(|| whole("it is of no kind of this server".into()))?;
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/apply-patch+yaml")
            .extension(actor(&declared.file))
            .body(Body::from(declared.value.to_string()))
            .map_err(|error| whole(format!("it cannot be asked for: {error}")))?;
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let code = response.status();
        let body = response.into_body().collect().await.map_err(|error| whole(error.to_string()))?.to_bytes();
        let answer: Value = serde_json::from_slice(&body).map_err(|error| whole(error.to_string()))?;
        if code.is_success() {
            let version = answer["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
            return Ok(version.unwrap_or_default());
        }
        Err(problems_of(code, &answer))
    }

    fn path_of(&self, declared: &Declared) -> Option<String> {
        let key = &declared.key;
        let kind = self.store.kind(&key.kind)?;
        let group = if kind.group.is_empty() { "api".to_owned() } else { format!("apis/{}", kind.group) };
        let within = match kind.scope {
            Scope::Namespaced => format!("namespaces/{}/", key.namespace),
            Scope::Cluster => String::new(),
        };
        let asked = format!("fieldManager={MANAGER}&force=true&fieldValidation=Strict");
        Some(format!("/{group}/{}/{within}{}/{}?{asked}", kind.version, kind.plural, key.name))
    }
}

/// Whoever may write the folder may do everything: it is root's.
fn actor(file: &str) -> Actor {
    Actor { source: MANAGER.to_owned(), ..Actor::of_everything(format!("{MANAGER}/{file}")) }
}

/// What the server said, field by field where it did.
fn problems_of(code: StatusCode, answer: &Value) -> Vec<Problem> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = answer["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if causes.is_empty() {
        let said = text(&answer["message"]);
        return vec![Problem::new(
            "",
            if said.is_empty() { format!("the server said {code}") } else { said },
        )];
    }
    causes.iter().map(|cause| Problem::new(text(&cause["field"]), text(&cause["message"]))).collect()
}

/// The file that an object says it was declared in.
pub(super) fn file_of(object: &Object) -> Option<&str> {
    object.annotation(labels::DECLARED_IN)
}

/// Whether this folder made it what it is: by the server's own account, in which nobody else writes
/// under this name.
pub(super) fn is_kept(object: &Object) -> bool {
    object
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .any(|entry| entry.manager.as_deref() == Some(MANAGER) && entry.operation.as_deref() == Some("Apply"))
}

/// Whether a file may change it: this folder made it, or somebody has said that the file shall have it.
pub(super) fn is_of(object: &Object, file: &str) -> bool {
    is_kept(object) || file_of(object) == Some(file)
}
