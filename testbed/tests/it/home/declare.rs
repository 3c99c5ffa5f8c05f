//! What stories declare: the sample app of three services, an app of one page, and compose files in general.

use serde_json::{Value, json};

use super::Home;

/// An app of the household over the services of a compose file; `web` is the main one where there is one.
pub(crate) fn app(name: &str, services: &Value) -> Value {
    let main = services["web"].is_object().then_some("web");
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "App",
        "metadata": { "name": name, "namespace": "household" },
        "spec": {
            "slug": name, "mainService": main, "state": "Running",
            "compose": json!({ "services": services }).to_string(),
        },
    })
}

/// An app that is one page.
pub(crate) async fn page(home: &Home, name: &str) -> Value {
    let web = json!({
        "image": home.world.image("web:1").await, "environment": { "NAME": name }, "expose": ["8080"],
        "healthcheck": { "test": ["CMD", "check", "web"], "interval": "1s", "timeout": "5s", "retries": 30 },
        "stop_grace_period": "1s",
    });
    app(name, &json!({ "web": web }))
}

/// The services of the sample: a page, a store it asks, and a migration that has to be over before the page starts.
pub(crate) async fn trio(home: &Home) -> Value {
    let [web, db, migrate] = [
        home.world.image("web:1").await,
        home.world.image("db:1").await,
        home.world.image("migrate:1").await,
    ];
    let check = |what: &str| json!({ "test": ["CMD", "check", what], "interval": "1s", "timeout": "5s", "retries": 30 });
    json!({
        "web": {
            "image": web, "environment": { "NAME": "trio", "DB_HOST": "db" }, "expose": ["8080"],
            "read_only": true, "tmpfs": ["/tmp"], "healthcheck": check("web"), "stop_grace_period": "1s",
            "depends_on": {
                "db": { "condition": "service_healthy" },
                "migrate": { "condition": "service_completed_successfully" },
            },
        },
        "db": {
            "image": db, "environment": { "LEVEL": "1" }, "volumes": ["./rows:/data"],
            "healthcheck": check("db"), "stop_grace_period": "1s",
        },
        "migrate": {
            "image": migrate, "restart": "no", "volumes": ["./migrations:/data"], "stop_grace_period": "1s",
            "depends_on": { "db": { "condition": "service_healthy" } },
        },
    })
}

impl Home {
    /// `hearth apply` of one object; it must be taken.
    pub(crate) async fn apply(&self, object: &Value) {
        let said = self.try_apply(object).await;
        assert_eq!(said.exit, hearth::cli::exit::Exit::Done, "{}{}", said.out, said.err);
    }

    /// `hearth apply` of an app, and then it is ready.
    pub(crate) async fn install(&self, object: &Value) {
        self.apply(object).await;
        self.until_ready(object["metadata"]["name"].as_str().unwrap()).await;
    }

    /// `hearth apply` of one object, whatever comes of it.
    pub(crate) async fn try_apply(&self, object: &Value) -> super::look::Said {
        let path = self.file("apply.json", &object.to_string());
        self.hearth(&["apply", "-f", &path]).await
    }

    /// Writes a file beside the home's data, and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}
