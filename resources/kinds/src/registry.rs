//! The list of all kinds, in the words of the store and the wire.

use std::sync::Arc;

use hearth_meta::labels::finalizer;
use hearth_meta::resource::Column;
use hearth_meta::{KindInfo, Problem, Resource, Scope};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

use crate::network::Pool;
use crate::{App, Container, Image, Network, Revision, Route, Token, Volume};
use crate::{app, container, core, image, network, revision, route, token, volume};

/// What the kinds need to be told of this home.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Where the subnets of networks are taken from.
    pub network_pool: Pool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { network_pool: Pool::DEFAULT }
    }
}

/// Every kind there is.
pub fn all(settings: &Settings) -> Vec<KindInfo> {
    let pool = settings.network_pool;
    vec![
        KindInfo {
            default: app::default,
            validate: |new, old| typed(new, old, app::validate),
            claims: Some(app::claims),
            guarded: &app::GUARDED,
            choose: Arc::new(app::choose),
            finalizers: vec![finalizer("app")],
            ..info::<App>(&["ap"])
        },
        KindInfo { validate: |new, old| typed(new, old, revision::validate), ..info::<Revision>(&["rev"]) },
        KindInfo {
            validate: |new, old| typed(new, old, container::validate),
            finalizers: vec![finalizer("container")],
            ..info::<Container>(&["ct"])
        },
        KindInfo {
            default: network::default,
            validate: |new, old| typed(new, old, network::validate),
            claims: Some(network::claims),
            choose: Arc::new(move |object, taken| network::choose(object, pool, taken)),
            finalizers: vec![finalizer("network")],
            ..info::<Network>(&["net"])
        },
        KindInfo {
            validate: |new, old| typed(new, old, volume::validate),
            finalizers: vec![finalizer("volume")],
            ..info::<Volume>(&["vol"])
        },
        KindInfo {
            validate: |new, old| typed(new, old, image::validate),
            finalizers: vec![finalizer("image")],
            ..info::<Image>(&["img"])
        },
        KindInfo {
            validate: |new, old| typed(new, old, route::validate),
            claims: Some(route::claims),
            finalizers: vec![finalizer("route")],
            ..info::<Route>(&["rt"])
        },
        KindInfo {
            default: token::default,
            validate: |new, old| typed(new, old, token::validate),
            hidden: &token::HIDDEN,
            ..info::<Token>(&[])
        },
        KindInfo {
            validate: core::validate_namespace,
            ..core_info("Namespace", "namespaces", "namespace", &["ns"], Scope::Cluster)
        },
        KindInfo {
            default: core::default_secret,
            validate: core::validate_secret,
            is_secret: true,
            ..core_info("Secret", "secrets", "secret", &[], Scope::Namespaced)
        },
    ]
}

/// The CRD of every kind of Hearth's own, as others may install or read them.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        crd::<App>(),
        crd::<Revision>(),
        crd::<Container>(),
        crd::<Network>(),
        crd::<Volume>(),
        crd::<Image>(),
        crd::<Route>(),
        crd::<Token>(),
    ]
}

/// The CRD of a kind, which says of the whole what it says of what is wanted.
fn crd<K: CustomResourceExt>() -> CustomResourceDefinition {
    let mut crd = K::crd();
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let Some(schema) = schema else { continue };
        let spec = schema.properties.as_ref().and_then(|fields| fields.get("spec"));
        if let Some(text) = spec.and_then(|spec| spec.description.clone()) {
            schema.description = Some(text);
        }
    }
    crd
}

fn typed<K: Resource>(
    new: &Value,
    old: Option<&Value>,
    rules: fn(&K, Option<&K>) -> Vec<Problem>,
) -> Vec<Problem> {
    let parsed: Result<K, _> = serde_json::from_value(new.clone());
    // An old object that no longer parses must not stop its own mending.
    let old = old.and_then(|old| serde_json::from_value(old.clone()).ok());
    match parsed {
        Ok(new) => rules(&new, old.as_ref()),
        Err(error) => vec![Problem::new("", error.to_string())],
    }
}

fn info<K: CustomResourceExt>(short_names: &'static [&'static str]) -> KindInfo {
    let crd = crd::<K>();
    let version = &crd.spec.versions[0];
    let columns = version.additional_printer_columns.iter().flatten().map(|column| Column {
        name: column.name.clone(),
        kind: column.type_.clone(),
        json_path: column.json_path.clone(),
        priority: column.priority.unwrap_or(0),
        description: column.description.clone().unwrap_or_default(),
    });
    let schema = version.schema.as_ref().and_then(|s| s.open_api_v3_schema.as_ref());
    let names = (leak(&crd.spec.names.plural), leak(crd.spec.names.singular.as_deref().unwrap_or_default()));
    let scope = if crd.spec.scope == "Namespaced" { Scope::Namespaced } else { Scope::Cluster };
    KindInfo {
        version: hearth_meta::labels::VERSION,
        short_names,
        has_status: true,
        columns: columns.collect(),
        schema: schema.and_then(|schema| serde_json::to_value(schema).ok()),
        ..KindInfo::plain(hearth_meta::labels::GROUP, leak(&crd.spec.names.kind), names, scope)
    }
}

/// The JSON Schema of each kind's whole object, for editors, by the kind's singular.
pub fn json_schemas() -> Vec<(String, Value)> {
    let of = |crd: CustomResourceDefinition| {
        let name = crd.spec.names.singular.clone().unwrap_or_default();
        let schema = crd.spec.versions.into_iter().next().and_then(|version| version.schema);
        let schema = schema.and_then(|schema| schema.open_api_v3_schema);
        let mut schema = serde_json::to_value(schema).unwrap_or_default();
        for_editors(&mut schema, &crd.spec.names.kind);
        (name, schema)
    };
    crds().into_iter().map(of).collect()
}

/// Says of a schema which language of schemas it is in, and of what it is.
pub fn for_editors(schema: &mut Value, kind: &str) {
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
        fields.insert("title".into(), kind.into());
    }
}

/// Names of kinds live as long as the program; there is a fixed handful of them.
fn leak(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

fn core_info(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short_names: &'static [&'static str],
    scope: Scope,
) -> KindInfo {
    let age = Column {
        name: "Age".into(),
        kind: "date".into(),
        json_path: ".metadata.creationTimestamp".into(),
        priority: 0,
        description: "Since when it is declared".into(),
    };
    KindInfo { short_names, columns: vec![age], ..KindInfo::plain("", kind, (plural, singular), scope) }
}

#[cfg(test)]
mod tests {
    use super::{Settings, all};

    #[test]
    fn every_kind_has_a_structural_schema_with_the_common_status() {
        for info in all(&Settings::default()).iter().filter(|info| !info.group.is_empty()) {
            let schema = info.schema.as_ref().unwrap_or_else(|| panic!("{} has no schema", info.kind));
            let status = &schema["properties"]["status"]["properties"];
            assert!(
                status["summary"].is_object() && status["conditions"].is_object(),
                "{}: {status}",
                info.kind
            );
            assert!(schema["properties"]["spec"]["properties"].is_object(), "{}", info.kind);
        }
    }
}
