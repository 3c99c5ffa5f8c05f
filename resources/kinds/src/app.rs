//! `App`: an app a person wants, from a compose file or a package, with everything it needs.

use hearth_meta::name::{check_label, check_slug};
use hearth_meta::{Claim, CommonStatus, HasCommon, Problem, Verdict};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::{DataPolicy, DriftPolicy, Power};
use crate::shared::{Limits, SecretKeyRef, check_unique};

/// What a person wants of an app.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hearth.dev",
    version = "v1",
    kind = "App",
    plural = "apps",
    singular = "app",
    shortname = "ap",
    category = "all",
    namespaced,
    status = "AppStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.summary","description":"The verdict"}"#,
    printcolumn = r#"{"name":"Version","type":"string","jsonPath":".status.revision","description":"The revision that is applied"}"#,
    printcolumn = r#"{"name":"Address","type":"string","jsonPath":".status.url","description":"Where it answers"}"#,
    printcolumn = r#"{"name":"Why","type":"string","jsonPath":".status.message","description":"Why it is not Ready"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","description":"Since when it is declared"}"#,
    printcolumn = r#"{"name":"Slug","type":"string","jsonPath":".spec.slug","priority":1,"description":"The name in its address"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AppSpec {
    /// The compose file, inline. Exactly one of `compose` and `package` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compose: Option<String>,
    /// A package folder on the server's disk; its files are copied into the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<PackageSource>,
    /// The service that answers people. Default: the only service; with several it is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main_service: Option<String>,
    /// The container port it answers on. Default: its first container port in the compose file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub main_port: Option<i32>,
    /// The name in its address, `<slug>.local`. Fixed once chosen; taken means an error that names the holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Names to try in turn where `slug` is not given; the first free one is stored as `slug`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferred_slugs: Vec<String>,
    /// Whether it should run.
    #[serde(default)]
    pub state: Power,
    /// What `${NAME}` in the compose file becomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub values: Vec<AppValue>,
    /// What the app may reach outside itself.
    #[serde(default)]
    pub permissions: Permissions,
    /// Limits on each of its services.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub resources: Limits,
    /// How long its services may take to become healthy, in seconds.
    #[serde(default = "default_health_deadline")]
    #[schemars(range(min = 1, max = 86400))]
    pub health_deadline_seconds: i64,
    /// What becomes of its data when the App is deleted.
    #[serde(default)]
    pub data_policy: DataPolicy,
    /// What is done when its parts are changed from outside.
    #[serde(default)]
    pub drift_policy: DriftPolicy,
}

/// What leads out of an app: a folder of the server's disk, folders of others, the machine's devices.
pub(crate) const GUARDED: [&str; 3] =
    ["spec.package", "spec.permissions.devices", "spec.permissions.folders"];

/// AL-44: an install waits 120 s for health unless told otherwise.
fn default_health_deadline() -> i64 {
    120
}

/// A package folder on the server's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageSource {
    /// The folder's absolute path; it holds `compose.yml` or `compose.yaml`.
    #[schemars(length(min = 1))]
    pub path: String,
}

/// One value for the compose file: given here, or kept in a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppValue {
    /// The name in `${NAME}`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The value, for everybody to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where a value that must stay secret is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueSource>,
}

/// Where a value is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueSource {
    /// A key of a Secret in the App's namespace.
    pub secret_key_ref: SecretKeyRef,
}

/// What the app may reach outside itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Whether it may reach the internet (AL-32).
    #[serde(default = "granted")]
    pub internet: bool,
    /// Devices it may use, as paths under `/dev`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Folders of the household it may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

fn granted() -> bool {
    true
}

impl Default for Permissions {
    fn default() -> Self {
        Self { internet: true, devices: Vec::new(), folders: Vec::new() }
    }
}

/// What is seen of an app.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    /// What every status says.
    #[serde(flatten)]
    pub common: CommonStatus,
    /// Where the app answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The Revision of what it is made of now, once that is kept; before, the one it had last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Its services, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub services: Vec<ServiceStatus>,
    /// What admission changed or ignored in the compose file, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl HasCommon for AppStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

/// What is seen of one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The service's name in the compose file.
    pub name: String,
    /// Whether it runs on, or ends.
    pub r#type: crate::container::ContainerType,
    /// The Container that carries it out.
    pub container: String,
    /// Its verdict.
    pub summary: Verdict,
    /// When a job completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<hearth_meta::Time>,
}

/// Keeps what was once chosen, and asks for the object's own name as a slug where nothing is said.
pub(crate) fn default(new: &mut Value, old: Option<&Value>) {
    if !new["spec"].is_object() || !new["spec"]["slug"].is_null() {
        return;
    }
    if let Some(slug) = old.and_then(|old| old["spec"]["slug"].as_str()) {
        new["spec"]["slug"] = slug.into();
        // Who gives no wishes changes none: the same file applied again changes nothing.
        let wishes = old.map(|old| old["spec"]["preferredSlugs"].clone()).unwrap_or_default();
        if new["spec"]["preferredSlugs"].is_null() && wishes.is_array() {
            new["spec"]["preferredSlugs"] = wishes;
        }
    } else if new["spec"]["preferredSlugs"].as_array().is_none_or(Vec::is_empty) {
        new["spec"]["preferredSlugs"] = Value::from(vec![new["metadata"]["name"].clone()]);
    }
}

/// The rules a schema cannot say, but for what the compose file may do: that is admission's to decide.
pub fn validate(new: &App, old: Option<&App>) -> Vec<Problem> {
    let spec = &new.spec;
    let mut problems = Vec::new();
    match (&spec.compose, &spec.package) {
        (None, None) => {
            problems.push(Problem::new("spec", "needs a source: give spec.compose or spec.package"))
        }
        (Some(_), Some(_)) => {
            problems.push(Problem::new("spec.package", "stands beside spec.compose; keep one of the two"))
        }
        (None, Some(package)) if !package.path.starts_with('/') => {
            problems.push(Problem::new("spec.package.path", "must be an absolute path on the server"));
        }
        _ => {}
    }
    if let Some(name) = &new.metadata.name {
        problems.extend(check_label(name).err().map(|message| Problem::new("metadata.name", message)));
    }
    if let Some(slug) = &spec.slug {
        let unchanged = old.is_some_and(|old| old.spec.slug.as_ref() == Some(slug));
        // A slug that was chosen for a personal app holds the separator that people may not write (AL-5).
        let personal =
            slug.split_once("--").is_some_and(|(_, owner)| new.metadata.namespace.as_deref() == Some(owner));
        if !unchanged && !personal {
            problems.extend(check_slug(slug).err().map(|message| Problem::new("spec.slug", message)));
        }
    }
    if let Some(before) = old.and_then(|old| old.spec.slug.as_ref())
        && spec.slug.as_ref() != Some(before)
    {
        problems.push(Problem::new(
            "spec.slug",
            format!("is fixed at {before:?} once chosen; delete the app and declare it again to change it"),
        ));
    }
    for (index, slug) in spec.preferred_slugs.iter().enumerate() {
        problems
            .extend(check_slug(slug).err().map(|m| Problem::new(format!("spec.preferredSlugs[{index}]"), m)));
    }
    problems.extend(check_values(&spec.values));
    problems.extend(spec.resources.check("spec.resources"));
    problems
}

fn check_values(values: &[AppValue]) -> Vec<Problem> {
    let mut problems = check_unique("spec.values", values.iter().map(|v| v.name.as_str()));
    for (index, value) in values.iter().enumerate() {
        let field = format!("spec.values[{index}]");
        match (&value.value, &value.value_from) {
            (None, None) => problems.push(Problem::new(field.clone(), "needs value or valueFrom")),
            (Some(_), Some(_)) => {
                problems.push(Problem::new(field.clone(), "has both value and valueFrom; keep one"))
            }
            _ => {}
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !value.name.chars().all(plain) || value.name.starts_with(|c: char| c.is_ascii_digit()) {
            problems.push(Problem::new(
                format!("{field}.name"),
                "may hold letters, digits and _, and not start with a digit",
            ));
        }
    }
    problems
}

/// The claim on a slug.
pub(crate) fn slug_claim(slug: &str) -> Claim {
    Claim { space: "slug", name: slug.to_owned(), field: "spec.slug" }
}

pub(crate) fn claims(app: &Value) -> Vec<Claim> {
    app["spec"]["slug"].as_str().map(slug_claim).into_iter().collect()
}

/// How many suffixed forms are tried before a person is asked.
const SUFFIXES: u32 = 99;

/// Stores the first free slug (AL-5): the preferred ones in turn, then `<slug>--<owner>` for a personal
/// app, or `<slug>-2`, `-3` ... in the household.
pub(crate) fn choose(app: &mut Value, taken: &dyn Fn(&Claim) -> bool) -> Vec<Problem> {
    if !app["spec"]["slug"].is_null() {
        return Vec::new();
    }
    let preferred: Vec<String> = app["spec"]["preferredSlugs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|s| s.as_str().map(str::to_owned))
        .collect();
    let Some(first) = preferred.first() else { return Vec::new() };
    let namespace = app["metadata"]["namespace"].as_str().unwrap_or(crate::HOUSEHOLD);
    let personal = (namespace != crate::HOUSEHOLD).then(|| format!("{first}--{namespace}"));
    let numbered = (2..=SUFFIXES).map(|n| match &personal {
        Some(base) => format!("{base}-{n}"),
        None => format!("{first}-{n}"),
    });
    let free = preferred
        .iter()
        .cloned()
        .chain(personal.clone())
        .chain(numbered)
        .find(|slug| !taken(&slug_claim(slug)));
    match free {
        Some(slug) => {
            app["spec"]["slug"] = slug.into();
            Vec::new()
        }
        None => vec![Problem::new(
            "spec.preferredSlugs",
            "every form of these names is taken; give another in spec.slug",
        )],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::default;

    #[test]
    fn the_same_file_applied_again_changes_nothing() {
        let cases = [(json!({}), json!(["photos"])), (json!({"preferredSlugs": ["pics"]}), json!(["pics"]))];
        for (file, wishes) in cases {
            let mut first = json!({"metadata": {"name": "photos"}, "spec": file});
            let mut again = first.clone();
            default(&mut first, None);
            assert_eq!(first["spec"]["preferredSlugs"], wishes);
            first["spec"]["slug"] = json!("photos-2");
            default(&mut again, Some(&first));
            assert_eq!(again, first);
        }
    }

    #[test]
    fn wishes_that_are_given_are_kept_beside_the_slug_that_was_chosen() {
        let old =
            json!({"metadata": {"name": "photos"}, "spec": {"slug": "photos", "preferredSlugs": ["photos"]}});
        let mut new = json!({"metadata": {"name": "photos"}, "spec": {"preferredSlugs": ["pics"]}});
        default(&mut new, Some(&old));
        assert_eq!(new["spec"], json!({"slug": "photos", "preferredSlugs": ["pics"]}));
    }
}
