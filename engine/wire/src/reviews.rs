//! Clients that ask first whether they may: whoever signed in is the admin, who may do everything.

use axum::Json;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use hearth_meta::{KindInfo, Scope};
use serde_json::{Value, json};

use crate::body;
use crate::failure::Failure;
use crate::metadata;
use crate::router::Actor;

const ACCESS: &str = "authorization.k8s.io";
const IDENTITY: &str = "authentication.k8s.io";

/// What can be asked.
pub(crate) fn kinds() -> [KindInfo; 3] {
    let kind =
        |group, kind, plural, singular| KindInfo::plain(group, kind, (plural, singular), Scope::Cluster);
    [
        kind(ACCESS, "SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview"),
        kind(ACCESS, "SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview"),
        kind(IDENTITY, "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview"),
    ]
}

/// The question a path leads to.
pub(crate) fn at((group, version): (&str, &str), path: &str) -> Option<KindInfo> {
    kinds().into_iter().find(|kind| kind.group == group && kind.version == version && kind.plural == path)
}

/// Answers a question.
pub(crate) async fn answer(kind: &KindInfo, request: Request) -> Result<Response, Failure> {
    let (parts, sent) = request.into_parts();
    if parts.method != Method::POST {
        return Err(Failure::not_allowed(format!("{} is not offered here; ask with POST", parts.method)));
    }
    let mut review: Value = body::json(&parts.headers, sent).await?;
    metadata::settle_kind(&mut review, kind)?;
    let actor = parts.extensions.get::<Actor>().map_or("unknown", |actor| actor.0.as_str());
    review["status"] = match kind.kind {
        "SelfSubjectAccessReview" => json!({ "allowed": true, "reason": "the admin may do everything" }),
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
            "incomplete": false,
        }),
        _ => json!({ "userInfo": { "username": actor, "groups": ["system:authenticated"] } }),
    };
    Ok((StatusCode::CREATED, Json(review)).into_response())
}
