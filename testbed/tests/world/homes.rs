//! What is declared in the worlds: an app with everything an app can have, an app of one page, a secret.

use serde_json::{Value, json};

/// The secret that the shop uses.
pub(crate) fn secret(word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "household" },
        "stringData": { "word": word },
    })
}

/// A page over a database with a volume, a migration that must be over before the page starts, a route and a secret.
pub(crate) fn shop(name: &str, version: &str) -> Value {
    let image = |service: &str| format!("registry.home/{service}:{version}");
    let check = |what: &str| json!({ "test": ["CMD", "check", what], "interval": "2s", "timeout": "5s", "retries": 3 });
    let services = json!({
        "web": {
            "image": image("web"), "environment": { "NAME": name, "DOOR": "${DOOR}" }, "expose": ["8080"],
            "healthcheck": check("web"),
            "depends_on": {
                "db": { "condition": "service_healthy" },
                "migrate": { "condition": "service_completed_successfully" },
            },
        },
        "db": { "image": "registry.home/db:1", "volumes": ["./rows:/data"], "healthcheck": check("db") },
        "migrate": {
            "image": image("migrate"), "restart": "no", "volumes": ["./migrations:/data"],
            "depends_on": { "db": { "condition": "service_healthy" } },
        },
    });
    let mut app = app(name, &services);
    app["spec"]["values"] =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    app
}

/// An app of one page.
pub(crate) fn page(name: &str) -> Value {
    let health = json!({ "test": ["CMD", "check"], "interval": "2s", "timeout": "5s", "retries": 3 });
    app(
        name,
        &json!({ "web": { "image": "registry.home/web:1", "environment": { "NAME": name }, "expose": ["8080"], "healthcheck": health } }),
    )
}

/// An app over the services of a compose file, of which `web` is the main one.
pub(crate) fn app(name: &str, services: &Value) -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": { "name": name, "namespace": "household" },
        "spec": {
            "slug": name, "mainService": "web", "state": "Running",
            "compose": json!({ "services": services }).to_string(),
        },
    })
}

/// The same app with fields of its spec set.
pub(crate) fn with(mut app: Value, fields: &Value) -> Value {
    for (field, value) in fields.as_object().unwrap() {
        app["spec"][field] = value.clone();
    }
    app
}
