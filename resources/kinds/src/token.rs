//! `Token`: a way in for a person or a program, and what they may do with it.
//!
//! Whoever makes one draws the token itself, keeps it, and hands over only its SHA-256: the server never holds it. A
//! plain hash is enough, since a token is 256 random bits that nobody can guess through; a slow one would only make
//! each request slow.

use std::collections::BTreeSet;

use hearth_meta::name::check_label;
use hearth_meta::{CommonStatus, HasCommon, Problem, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Every namespace, as one of `namespaces`.
pub const EVERY_NAMESPACE: &str = "*";
/// What is never told of a token.
pub(crate) const HIDDEN: [&str; 1] = ["spec.sha256"];
/// Names that only an admin may go by: the history would mislead otherwise.
const OF_ADMINS: [&str; 4] = ["admin", "hearth", "manifests", "root"];

/// Who comes in with a token, and what they may do.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "Token",
    plural = "tokens",
    singular = "token",
    status = "TokenStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"User","type":"string","jsonPath":".spec.user","description":"Whom it stands for"}"#,
    printcolumn = r#"{"name":"Role","type":"string","jsonPath":".spec.role","description":"What they may do"}"#,
    printcolumn = r#"{"name":"Namespaces","type":"string","jsonPath":".spec.namespaces[*]","description":"Where"}"#,
    printcolumn = r#"{"name":"Expires","type":"string","jsonPath":".spec.expiresAt","description":"When it ends"}"#,
    printcolumn = r#"{"name":"Last Used","type":"date","jsonPath":".status.lastUsedAt","description":"When it was last used, to the hour"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct TokenSpec {
    /// Whom it stands for: the name in refusals and in the history. Default: its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What they may do.
    pub role: Role,
    /// In which namespaces, `*` for every one; none for an admin, who may do everything everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,
    /// When it ends. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// The SHA-256 of the token, in hex. It is taken and never told.
    pub sha256: String,
}

/// What somebody may do in the namespaces that are bound to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Role {
    /// Everything, everywhere.
    Admin,
    /// Apps and secrets of their own; they see what everybody shares.
    Member,
    /// See, and change nothing. Secrets are not shown.
    Viewer,
}

/// What is seen of a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// When it was last used, to the hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
}

impl HasCommon for TokenStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

impl Token {
    /// Whom it stands for.
    pub fn user(&self) -> &str {
        let own = self.metadata.name.as_deref().unwrap_or_default();
        self.spec.user.as_deref().unwrap_or(own)
    }
}

/// What is not said stays: the name it stands for, and the hash, which nobody who reads a token is told.
pub(crate) fn default(new: &mut Value, old: Option<&Value>) {
    if !new["spec"].is_object() {
        return;
    }
    if new["spec"]["user"].is_null() {
        new["spec"]["user"] = new["metadata"]["name"].clone();
    }
    if let Some(kept) = old.map(|old| &old["spec"]["sha256"]).filter(|_| new["spec"]["sha256"].is_null()) {
        new["spec"]["sha256"] = kept.clone();
    }
}

pub(crate) fn validate(new: &Token, _old: Option<&Token>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |field: &str, message: String| problems.push(Problem::new(field, message));
    if let Err(message) = check_label(new.metadata.name.as_deref().unwrap_or_default()) {
        refuse("metadata.name", message);
    }
    if let Err(message) = check_label(new.user()) {
        refuse("spec.user", message);
    }
    let spec = &new.spec;
    if OF_ADMINS.contains(&new.user()) && spec.role != Role::Admin {
        refuse("spec.user", format!("{:?} is a name for admins only; choose another", new.user()));
    }
    let is_hash =
        |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hash(&spec.sha256) {
        let message = "must be the SHA-256 of the token as 64 hex digits; `hearth token create` makes both";
        refuse("spec.sha256", message.into());
    }
    match (spec.role, spec.namespaces.is_empty()) {
        (Role::Admin, false) => {
            refuse("spec.namespaces", "an admin may do everything everywhere; leave them out".into());
        }
        (Role::Member | Role::Viewer, true) => {
            refuse("spec.namespaces", "is required: name the namespaces, or \"*\" for every one".into());
        }
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for (index, namespace) in spec.namespaces.iter().enumerate() {
        let field = format!("spec.namespaces[{index}]");
        if !seen.insert(namespace) {
            refuse(&field, format!("{namespace:?} is listed twice"));
        }
        if namespace == EVERY_NAMESPACE {
            continue;
        }
        // What happened to the machine itself is told in a namespace of this name.
        if namespace == "default" {
            refuse(&field, "\"default\" is no namespace of a home; name another".into());
        }
        if let Err(message) = check_label(namespace) {
            refuse(&field, message);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Token, default, validate};

    fn told(spec: Value) -> Vec<String> {
        let mut token = json!({ "apiVersion": "hearth.dev/v1", "kind": "Token", "metadata": { "name": "anna" }, "spec": spec });
        default(&mut token, None);
        let token: Token = serde_json::from_value(token).unwrap();
        validate(&token, None).iter().map(|problem| problem.field.clone()).collect()
    }

    #[test]
    fn a_role_has_its_namespaces_and_an_admin_none() {
        let hash = "0".repeat(64);
        let none: [&str; 0] = [];
        assert_eq!(told(json!({ "role": "Admin", "sha256": hash })), none);
        assert_eq!(told(json!({ "role": "Member", "namespaces": ["anna"], "sha256": hash })), none);
        assert_eq!(told(json!({ "role": "Viewer", "namespaces": ["*"], "sha256": hash })), none);
        assert_eq!(told(json!({ "role": "Viewer", "sha256": hash })), ["spec.namespaces"]);
        assert_eq!(
            told(json!({ "role": "Admin", "namespaces": ["a"], "sha256": hash })),
            ["spec.namespaces"]
        );
        let twice = json!({ "role": "Member", "namespaces": ["a", "a", "default", "A b"], "user": "admin", "sha256": "x" });
        assert_eq!(
            told(twice),
            ["spec.user", "spec.sha256", "spec.namespaces[1]", "spec.namespaces[2]", "spec.namespaces[3]"]
        );
    }

    #[test]
    fn who_reads_a_token_and_writes_it_back_keeps_its_hash() {
        let old = json!({ "metadata": { "name": "anna" }, "spec": { "role": "Admin", "sha256": "abc" } });
        let mut new = json!({ "metadata": { "name": "anna" }, "spec": { "role": "Admin" } });
        default(&mut new, Some(&old));
        assert_eq!(new["spec"]["sha256"], "abc");
        assert_eq!(new["spec"]["user"], "anna");
    }
}
