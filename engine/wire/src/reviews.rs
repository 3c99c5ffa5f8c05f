//! Clients that ask first whether they may, or who they are: answered by the very rules that decide.
//!
//! Everybody may ask about themselves; about somebody else only whoever may make such a review.

use axum::Json;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use hearth_meta::{KindInfo, Scope};
use serde_json::{Map, Value, json};

use crate::access::{Actor, Asked, Rule};
use crate::body;
use crate::failure::Failure;
use crate::metadata;
use crate::router::{self, Wire};
use crate::target::Target;

const ACCESS: &str = "authorization.k8s.io";
const IDENTITY: &str = "authentication.k8s.io";

/// What can be asked.
pub(crate) fn kinds() -> [KindInfo; 5] {
    let kind =
        |group, kind, plural, singular| KindInfo::plain(group, kind, (plural, singular), Scope::Cluster);
    let local =
        kind(ACCESS, "LocalSubjectAccessReview", "localsubjectaccessreviews", "localsubjectaccessreview");
    [
        kind(ACCESS, "SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview"),
        kind(ACCESS, "SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview"),
        kind(IDENTITY, "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview"),
        kind(ACCESS, "SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview"),
        KindInfo { scope: Scope::Namespaced, ..local },
    ]
}

/// The question a path leads to.
pub(crate) fn at((group, version): (&str, &str), path: &str) -> Option<KindInfo> {
    let target = Target::parse(path).filter(|target| target.name.is_none())?;
    let fits = |kind: &KindInfo| (kind.scope == Scope::Namespaced) == target.namespace.is_some();
    kinds().into_iter().find(|kind| {
        kind.group == group && kind.version == version && kind.plural == target.plural && fits(kind)
    })
}

/// Answers a question.
pub(crate) async fn answer(
    wire: &Wire,
    kind: &KindInfo,
    path: &str,
    request: Request,
) -> Result<Response, Failure> {
    let (parts, sent) = request.into_parts();
    if parts.method != Method::POST {
        return Err(Failure::not_allowed(format!("{} is not offered here; ask with POST", parts.method)));
    }
    let actor = router::actor(&parts.extensions)?;
    let namespace = Target::parse(path).and_then(|target| target.namespace);
    let is_of_self = kind.kind.starts_with("Self");
    if !is_of_self {
        actor.check(&Asked::of("create", kind, namespace.as_deref().unwrap_or_default(), ""))?;
    }
    let mut review: Value = body::json(&parts.headers, sent).await?;
    metadata::settle_kind(&mut review, kind)?;
    review["status"] = match kind.kind {
        "SelfSubjectAccessReview" => access(actor, &review["spec"])?,
        "SelfSubjectRulesReview" => rules(actor, &review["spec"])?,
        "SelfSubjectReview" => identity(actor),
        _ => {
            let spec = &mut review["spec"];
            if let (Some(namespace), true) = (namespace, spec["resourceAttributes"].is_object()) {
                spec["resourceAttributes"]["namespace"] = namespace.into();
            }
            let user = text(&spec["user"]);
            if user.is_empty() {
                return Err(Failure::bad_request("spec.user is required: whose right is asked about"));
            }
            access(&wire.users.find(user), spec)?
        }
    };
    Ok((StatusCode::CREATED, Json(review)).into_response())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn access(actor: &Actor, spec: &Value) -> Result<Value, Failure> {
    let (what, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let asked = match (what.is_object(), path.is_object()) {
        (true, false) => {
            let place = (text(&what["group"]), text(&what["resource"]), text(&what["subresource"]));
            Asked::resource(text(&what["verb"]), place, text(&what["namespace"]), text(&what["name"]))
        }
        (false, true) => Asked::path(text(&path["verb"]), text(&path["path"])),
        _ => {
            let message = "spec must have exactly one of resourceAttributes and nonResourceAttributes";
            return Err(Failure::bad_request(message));
        }
    };
    Ok(match actor.may(&asked) || is_open(&asked) {
        true => json!({ "allowed": true }),
        false => json!({ "allowed": false, "reason": actor.why_not(&asked) }),
    })
}

/// What everybody may who is signed in.
fn everybody() -> [Rule; 2] {
    let ask =
        |group, resources| Rule { verbs: vec!["create"], groups: vec![group], resources, ..Rule::default() };
    [
        ask(ACCESS, vec!["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
        ask(IDENTITY, vec!["selfsubjectreviews"]),
    ]
}

/// Places that tell what there is to ask for, open to everybody who is signed in.
const OPEN: [&str; 8] =
    ["/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version", "/healthz", "/readyz"];

fn is_open(asked: &Asked) -> bool {
    let places = Rule { verbs: vec!["get"], paths: OPEN.to_vec(), ..Rule::default() };
    everybody().iter().chain([&places]).any(|rule| rule.allows(asked))
}

fn rules(actor: &Actor, spec: &Value) -> Result<Value, Failure> {
    let namespace = text(&spec["namespace"]);
    if namespace.is_empty() {
        return Err(Failure::bad_request("spec.namespace is required: where the rights are asked for"));
    }
    let of_all = everybody();
    let granted = actor.grants.iter().filter(|grant| grant.holds_in(Some(namespace)));
    let rules = granted.clone().flat_map(|grant| &grant.rules).chain(&of_all);
    let resources: Vec<Value> = rules.filter(|rule| !rule.resources.is_empty()).map(resource_rule).collect();
    let open = json!({ "verbs": ["get"], "nonResourceURLs": OPEN });
    let paths = granted.filter(|grant| grant.namespace.is_none()).flat_map(|grant| &grant.rules);
    let paths = paths.filter(|rule| !rule.paths.is_empty());
    let paths = paths.map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }));
    let paths: Vec<Value> = paths.chain([open]).collect();
    Ok(json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false }))
}

fn resource_rule(rule: &Rule) -> Value {
    let mut shown = json!({ "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources });
    if !rule.names.is_empty() {
        shown["resourceNames"] = json!(rule.names);
    }
    shown
}

fn identity(actor: &Actor) -> Value {
    let mut user = json!({ "username": actor.name, "groups": actor.groups });
    if !actor.facts.is_empty() {
        let facts: Map<String, Value> =
            actor.facts.iter().map(|(name, values)| ((*name).to_owned(), json!(values))).collect();
        user["extra"] = facts.into();
    }
    json!({ "userInfo": user })
}
