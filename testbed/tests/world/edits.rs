//! What people change in an app, field by field: what they may, and mistakes.

use serde_json::{Value, json};

use crate::people::Wish;

/// One change of a wish.
pub(crate) struct Edit {
    pub(crate) name: &'static str,
    pub(crate) change: fn(&mut Wish),
    /// Of a mistake: what people have to be told.
    pub(crate) told: &'static str,
    /// Of a mistake: whether it takes down what runs, since it is found out only by carrying it out.
    pub(crate) takes_down: bool,
}

const fn good(name: &'static str, change: fn(&mut Wish)) -> Edit {
    Edit { name, change, told: "", takes_down: false }
}

const fn bad(name: &'static str, told: &'static str, change: fn(&mut Wish)) -> Edit {
    Edit { name, change, told, takes_down: false }
}

const fn lame(name: &'static str, change: fn(&mut Wish)) -> Edit {
    Edit { name, change, told: "", takes_down: true }
}

fn set(wish: &mut Wish, service: &str, field: &str, value: Value) {
    wish.services[service][field] = value;
}

fn unset(wish: &mut Wish, service: &str, field: &str) {
    // A service that was taken out has none of it.
    if let Some(service) = wish.services.get_mut(service).and_then(Value::as_object_mut) {
        service.remove(field);
    }
}

fn field(wish: &mut Wish, name: &str, value: Value) {
    wish.fields.insert(name.to_owned(), value);
}

/// What may be changed. Each may be made of any wish, and any number in any order.
pub(crate) const GOOD: &[Edit] = &[
    good("another image", |w| set(w, "web", "image", json!("registry.home/web:2"))),
    good("another image of the database", |w| set(w, "db", "image", json!("registry.home/db:2"))),
    good("another migration", |w| set(w, "migrate", "image", json!("registry.home/migrate:2"))),
    good("one more variable", |w| w.services["web"]["environment"]["MORE"] = json!("yes")),
    good("another value", |w| w.services["web"]["environment"]["NAME"] = json!("other")),
    good("an empty value", |w| w.services["web"]["environment"]["NAME"] = json!("")),
    good("no variables", |w| unset(w, "web", "environment")),
    good("another port", |w| set(w, "web", "expose", json!(["9090"]))),
    good("a check less often", |w| {
        if w.services["web"]["healthcheck"].is_object() {
            w.services["web"]["healthcheck"]["interval"] = json!("3s");
        }
    }),
    good("no check", |w| set(w, "web", "healthcheck", json!({ "disable": true }))),
    good("one more folder", |w| set(w, "db", "volumes", json!(["./rows:/data", "./more:/more"]))),
    good("a folder to read", |w| set(w, "web", "volumes", json!(["./rows:/rows:ro"]))),
    good("a folder less", |w| unset(w, "migrate", "volumes")),
    good("a command", |w| set(w, "db", "command", json!(["serve", "--quiet"]))),
    good("an entry point", |w| set(w, "web", "entrypoint", json!(["/bin/serve"]))),
    good("another place to work", |w| set(w, "web", "working_dir", json!("/srv"))),
    good("another user", |w| set(w, "db", "user", json!("1000:1000"))),
    good("a root to read only", |w| set(w, "web", "read_only", json!(true))),
    good("a folder in memory", |w| set(w, "web", "tmpfs", json!(["/tmp"]))),
    good("time to stop", |w| set(w, "db", "stop_grace_period", json!("20s"))),
    good("a signal to stop", |w| set(w, "db", "stop_signal", json!("SIGINT"))),
    good("another name inside", |w| set(w, "web", "hostname", json!("front"))),
    good("a reaper", |w| set(w, "web", "init", json!(true))),
    good("a known host", |w| set(w, "web", "extra_hosts", json!(["printer:192.168.1.9"]))),
    good("restarts on failure", |w| set(w, "web", "restart", json!("on-failure"))),
    good("a label", |w| set(w, "web", "labels", json!({ "colour": "blue" }))),
    good("another setting in a file", |w| w.files["configs"]["hall"]["content"] = json!("name = other")),
    good("a file for more to read", |w| set(w, "db", "configs", json!(["hall"]))),
    good("a file of another mode", |w| {
        set(w, "web", "secrets", json!([{ "source": "word", "mode": "0440", "uid": "1000" }]));
    }),
    good("no files", |w| {
        unset(w, "web", "configs");
        unset(w, "web", "secrets");
    }),
    good("no order", |w| unset(w, "web", "depends_on")),
    good("one more service", |w| {
        w.services["cache"] = json!({ "image": "registry.home/cache:1" });
    }),
    good("one more service with data", |w| {
        w.services["queue"] = json!({ "image": "registry.home/queue:1", "volumes": ["./jobs:/jobs"] });
    }),
    good("a service less", |w| {
        w.services.as_object_mut().unwrap().remove("migrate");
        if let Some(order) = w.services["web"]["depends_on"].as_object_mut() {
            order.remove("migrate");
        }
    }),
    good("stopped", |w| field(w, "state", json!("Stopped"))),
    good("running", |w| field(w, "state", json!("Running"))),
    good("data to go with it", |w| field(w, "dataPolicy", json!("Delete"))),
    good("data to stay", |w| field(w, "dataPolicy", json!("Retain"))),
    good("less memory", |w| field(w, "resources", json!({ "memoryLimit": "64Mi" }))),
    good("less of the processor", |w| field(w, "resources", json!({ "cpuLimit": "500m" }))),
    good("a shorter deadline", |w| field(w, "healthDeadlineSeconds", json!(60))),
    good("changes only told", |w| field(w, "driftPolicy", json!("Report"))),
    good("a word for all to read", |w| {
        field(w, "values", json!([{ "name": "DOOR", "value": "open" }]));
    }),
];

/// Mistakes. What is found out only by carrying it out may take down what ran before.
pub(crate) const BAD: &[Edit] = &[
    bad("all rights", "privileged", |w| set(w, "web", "privileged", json!(true))),
    bad("the machine's own network", "network_mode", |w| set(w, "web", "network_mode", json!("host"))),
    bad("somebody else's folder", "volumes", |w| set(w, "db", "volumes", json!(["/etc:/data"]))),
    bad("no image", "image", |w| unset(w, "web", "image")),
    bad("an image of no name", "image", |w| set(w, "web", "image", json!(":"))),
    bad("a service that is not there", "nothing", |w| {
        set(w, "web", "depends_on", json!({ "nothing": { "condition": "service_started" } }));
    }),
    bad("a ring", "depend", |w| {
        set(w, "db", "depends_on", json!({ "web": { "condition": "service_started" } }));
        set(w, "web", "depends_on", json!({ "db": { "condition": "service_started" } }));
    }),
    bad("no main service", "mainService", |w| field(w, "mainService", json!("nobody"))),
    bad("memory in no measure", "memoryLimit", |w| field(w, "resources", json!({ "memoryLimit": "lots" }))),
    bad("the data's folder by another name", "rows", |w| set(w, "db", "volumes", json!(["./other:/data"]))),
    bad("an image that nobody has", "absent", |w| set(w, "web", "image", json!("registry.home/absent:1"))),
    bad("a field nobody knows", "colour", |w| set(w, "web", "colour", json!("blue"))),
    bad("a port of no number", "expose", |w| set(w, "web", "expose", json!(["door"]))),
    bad("a main port past all ports", "mainPort", |w| field(w, "mainPort", json!(70_000))),
    bad("a secret nobody declared", "secrets", |w| set(w, "web", "secrets", json!(["nothing"]))),
    bad("nothing at all", "", |w| w.services = json!({})),
    lame("a secret that is not there", |w| {
        let from = json!({ "secretKeyRef": { "name": "door", "key": "nothing" } });
        field(w, "values", json!([{ "name": "DOOR", "valueFrom": from }]));
    }),
    lame("a check that never holds", |w| {
        set(w, "web", "healthcheck", json!({ "test": ["CMD", "false"], "interval": "2s", "retries": 1 }));
        field(w, "healthDeadlineSeconds", json!(30));
    }),
];
