//! What people declared: whether it came true, and what waits for them.

use hearth_engine::diagnostics::Diagnostics;
use hearth_engine::{Engine, Key, Object, Store, pause};
use hearth_kinds::{HOUSEHOLD, SYSTEM};
use hearth_meta::Verdict;

use super::Check;
use crate::cli::resource::elsewhere;
use crate::serve::manifests::Standing as FolderStanding;

/// So many objects are named; the rest are counted.
const NAMED: usize = 5;

/// The proxy as an object: whether it runs, and on which ports the home is reached.
pub(super) fn edge(store: &Store) -> Check {
    let look = "see why with `hearth why container/caddy -n system`";
    let Some(caddy) = store.get(&Key::new("Container", SYSTEM, "caddy")) else {
        let next = "see the proxy's image with `hearth get images`, and `hearth events -n system`";
        return Check::failure("edge", "the proxy is not declared yet: its image is not here", next);
    };
    let (verdict, message) = (word(&caddy.status()["summary"]), word(&caddy.status()["message"]));
    if verdict != Verdict::Ready.as_str() {
        return Check::failure(
            "edge",
            format!("no app can be reached: the proxy is {verdict}: {message}"),
            look,
        );
    }
    let ports: Vec<String> = caddy.spec()["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|port| port["hostPort"].to_string())
        .collect();
    let at = address().map(|address| format!(" of {address}")).unwrap_or_default();
    Check::ok("edge", format!("apps are reached through ports {}{at}", ports.join(" and ")))
}

/// The address by which other devices reach this machine. Nothing is sent: the system is only asked which of its own
/// addresses it would take.
fn address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_unspecified() && !address.is_loopback()).then_some(address)
}

/// Objects that need a person, or failed.
pub(super) fn objects(store: &Store) -> Check {
    let objects = store.all();
    let unwell: Vec<(String, String)> = objects
        .iter()
        .filter(|object| {
            let verdict = word(&object.status()["summary"]);
            [Verdict::Failed, Verdict::NeedsYou].iter().any(|bad| bad.as_str() == verdict)
        })
        .map(|object| (format!("{}/{}", object.kind.to_lowercase(), object.name()), place(object)))
        .collect();
    if unwell.is_empty() {
        return Check::ok("objects", format!("{} objects, none of which failed or needs you", objects.len()));
    }
    let named = unwell.iter().take(NAMED).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let more =
        if unwell.len() > NAMED { format!(" and {} more", unwell.len() - NAMED) } else { String::new() };
    let message = format!("failed or waiting for you: {named}{more}");
    let (name, place) = &unwell[0];
    Check::warning("objects", message, format!("see why with `hearth why {name}{place}`"))
}

/// Controllers whose work does not succeed.
pub(super) fn controllers(engine: &Engine) -> Check {
    let diagnostics = engine.diagnostics();
    let failing: Vec<&Diagnostics> = diagnostics.iter().filter(|each| each.failing > 0).collect();
    if failing.is_empty() {
        return Check::ok("controllers", format!("{} controllers, none of which fails", diagnostics.len()));
    }
    let one = |each: &&Diagnostics| {
        format!(
            "{} of kind {}: {}",
            each.failing,
            each.kind,
            each.last_error.as_deref().unwrap_or("no answer")
        )
    };
    let message = format!("failing: {}", failing.iter().map(one).collect::<Vec<_>>().join("; "));
    Check::warning("controllers", message, "it is tried again by itself; see `hearth get all -A`")
}

/// The folder of manifests, where there is one.
pub(super) fn folder(standing: &FolderStanding) -> Check {
    let name = &standing.folder;
    let look = "see `hearth recover status`";
    if let Some(why) = &standing.blind {
        return Check::failure("manifests", format!("what {name} declares is not known: {why}"), look);
    }
    if let Some(problem) = standing.problems.first() {
        let message = format!("{} problems in {name}, the first: {problem}", standing.problems.len());
        return Check::failure("manifests", message, look);
    }
    if let Some(question) = &standing.question {
        return Check::warning("manifests", question.why.clone(), look);
    }
    if let Some(why) = &standing.unwatched {
        let message = format!("changes in {name} are noticed within a minute only: {why}");
        return Check::warning("manifests", message, "put the folder on a disk of this machine");
    }
    Check::ok(
        "manifests",
        format!("{} declares {} objects in {} files", name, standing.objects, standing.files),
    )
}

/// What is paused.
pub(super) fn pauses(store: &Store) -> Vec<Check> {
    let whole = pause::standing(store).into_iter().map(|pause| {
        let (what, end) = if pause.is_home {
            ("everything".to_owned(), "hearth resume --all".to_owned())
        } else {
            let name = &pause.namespace;
            (format!("everything in namespace {name}"), format!("hearth resume namespace/{name}"))
        };
        let message = format!("{what} is paused until {}: nothing is changed or repaired", pause.until);
        Check::warning("paused", message, format!("end it with `{end}`"))
    });
    let mut checks: Vec<Check> = whole.collect();
    let now = store.clock().now();
    checks.extend(store.all().iter().filter_map(|object| {
        let until = (object.kind != "Namespace").then(|| pause::of_object(object, now)).flatten()?;
        let name = format!("{}/{}", object.kind.to_lowercase(), object.name());
        let message = format!("{name} is paused until {until}");
        Some(Check::warning(
            "paused",
            message,
            format!("end it with `hearth resume {name}{}`", place(object)),
        ))
    }));
    checks
}

/// What waits for an answer because too much would be removed at once.
pub(super) fn questions(engine: &Engine) -> Vec<Check> {
    let asked = engine.orphans().into_iter().filter_map(|orphans| {
        let (why, set) = (orphans.why?, orphans.asked?);
        let message =
            format!("of kind {}, {why}: {} things wait for an answer", orphans.kind, set.items.len());
        Some(Check::warning("question", message, "answer it: `hearth recover status`"))
    });
    asked.collect()
}

/// Where an object is, for whoever copies the advice.
fn place(object: &Object) -> String {
    elsewhere(object.metadata.namespace.as_deref(), HOUSEHOLD)
}

fn word(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
