//! What is declared in the worlds: an app with everything an app can have, an app of one page, a secret.

use std::collections::BTreeMap;

use hearth_capabilities::volumes::Leaf;
use hearth_pretend::Machine;
use serde_json::{Value, json};

/// The secret that the shop uses.
pub(crate) fn secret(word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "household" },
        "stringData": { "word": word },
    })
}

/// A page over a database with a volume, a migration that must be over before the page starts, a route and a secret,
/// which the page has as a variable and both it and the migration have as a file.
pub(crate) fn shop(name: &str, version: &str) -> Value {
    let image = |service: &str| format!("registry.home/{service}:{version}");
    let check = |what: &str| json!({ "test": ["CMD", "check", what], "interval": "2s", "timeout": "5s", "retries": 3 });
    let services = json!({
        "web": {
            "image": image("web"), "environment": { "NAME": name, "DOOR": "${DOOR}" }, "expose": ["8080"],
            "healthcheck": check("web"), "configs": ["hall"], "secrets": ["word"],
            "depends_on": {
                "db": { "condition": "service_healthy" },
                "migrate": { "condition": "service_completed_successfully" },
            },
        },
        "db": { "image": "registry.home/db:1", "volumes": ["./rows:/data"], "healthcheck": check("db") },
        "migrate": {
            "image": image("migrate"), "restart": "no", "volumes": ["./migrations:/data"], "secrets": ["word"],
            "depends_on": { "db": { "condition": "service_healthy" } },
        },
    });
    let mut app = app(name, &services);
    let compose = json!({
        "services": services,
        "configs": { "hall": { "content": "name = ${NAME:-shop}" } },
        "secrets": { "word": { "environment": "DOOR" } },
    });
    app["spec"]["compose"] = compose.to_string().into();
    app["spec"]["values"] =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    app
}

/// Where the package of the shop is.
const PACKAGE: &str = "/srv/packages/shop";

/// Puts the package of the shop on the machine, of its first version, whose page also reads a file of the package.
pub(crate) fn put_package(machine: &Machine) {
    let shop = shop("shop", "1");
    let mut compose: Value = serde_json::from_str(shop["spec"]["compose"].as_str().unwrap()).unwrap();
    compose["configs"]["hall"] = json!({ "file": "./hall.conf" });
    let files = [("compose.yaml", compose.to_string()), ("hall.conf", "name = package".to_owned())];
    let files = files.map(|(path, text)| (path.to_owned(), text.into_bytes()));
    machine.put_package(PACKAGE, BTreeMap::from(files));
}

/// The shop from its package.
pub(crate) fn packaged_shop() -> Value {
    let mut app = shop("shop", "1");
    app["spec"].as_object_mut().unwrap().remove("compose");
    app["spec"]["package"] = json!({ "path": PACKAGE });
    app
}

/// A folder of data that no app has, with a mode that is kept.
pub(crate) fn shelf() -> Value {
    let Leaf { instance, path } = shelf_leaf();
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume",
        "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": instance, "path": path, "mode": "0750" },
    })
}

pub(crate) fn shelf_leaf() -> Leaf {
    Leaf { instance: "shelf".into(), path: "books".into() }
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
