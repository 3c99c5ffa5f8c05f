//! One screen for every situation: what is seen, in plain words, and the exact next command. Pure.

use serde_json::Value;

use crate::recover::condition::Condition;

/// So many things of a list are named; the rest are counted.
const NAMED: usize = 5;

/// What a server says of itself and of what stands on its machine.
pub(super) fn online(status: &Value) -> Vec<String> {
    let word = |field: &str| status[field].as_str().unwrap_or_default();
    let mut next: Vec<(String, &str)> = Vec::new();
    let mut lines = vec![match status["observeOnly"].as_str() {
        Some(why) => format!("Nothing is changed on this machine: {why}."),
        None => "Nothing is held back.".to_owned(),
    }];
    lines.push(format!("Store {} at version {}", word("lineage"), word("resourceVersion")));
    if let Some(why) = status["cannotSee"].as_str() {
        lines.push(format!("What stands on the machine cannot be seen: {why}"));
    }
    lines.extend(status["disk"].as_str().map(|trouble| format!("Disk: {trouble}")));
    lines.extend(match (status["copies"]["failing"].as_str(), status["copies"]["newest"].as_str()) {
        (Some(why), _) => Some(format!("Copies: the last one failed: {why}")),
        (None, newest) => newest.map(|at| format!("Copies: the newest is of {at}")),
    });
    let paused = list(status, "paused").iter().filter_map(Value::as_str);
    lines.extend(paused.map(|paused| format!("Paused: {paused}")));
    lines.extend(super::orphans::lines(status));
    lines.extend(orphans(status));
    lines.extend(foreign(status));
    lines.extend(instances(status, &mut next));
    lines.extend(kept(status, &mut next));
    lines.extend(volumes(status, &mut next));
    lines.extend(secrets(status));
    let tokens: Vec<&str> = list(status, "tokens").iter().filter_map(Value::as_str).collect();
    if !tokens.is_empty() {
        lines.push(format!(
            "Tokens that let in again once you say go, revoked since or not: {}",
            tokens.join(", ")
        ));
        next.push(("hearth token revoke NAME".to_owned(), "for each that was revoked since"));
    }
    if !status["observeOnly"].is_null() {
        next.push(("hearth get all -A".to_owned(), "how everything stands; then hearth diff KIND/NAME"));
        next.push(("hearth recover accept".to_owned(), "say go: the machine is made what this store says"));
        next.push((
            "stop the server, then hearth restore BACKUP".to_owned(),
            "put a newer copy of the store in its place instead",
        ));
    }
    if !next.is_empty() {
        lines.push("Next".to_owned());
        let width = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        lines.extend(next.iter().map(|(command, what)| format!("  {command:width$}   {what}")));
    }
    lines
}

/// What a store that is not open says of itself.
pub(super) fn offline(found: &Condition) -> Vec<String> {
    let mut lines = vec![format!("{}: {}.", found.state, found.message)];
    if let Some(store) = &found.store {
        lines.push(format!("Store {} at version {}", store.lineage, store.resource_version));
    }
    lines.push("Next, the safest first".to_owned());
    lines.extend(found.next.iter().map(|next| format!("  {next}")));
    lines
}

fn list<'a>(status: &'a Value, field: &str) -> &'a [Value] {
    status[field].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn orphans(status: &Value) -> Vec<String> {
    let one = |found: &Value| {
        let kept = found["breaker"].as_str().map(|why| format!("; they are kept: {why}")).unwrap_or_default();
        format!("{} without an object, of kind {}{kept}", found["orphans"], text(found, "kind"))
    };
    list(status, "orphans").iter().map(one).collect()
}

fn foreign(status: &Value) -> Vec<String> {
    let one = |home: &Value| {
        let things = list(home, "things");
        let named: Vec<&str> = things.iter().take(NAMED).filter_map(Value::as_str).collect();
        let rest = things.len().saturating_sub(NAMED);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let lineage = text(home, "lineage");
        format!(
            "{} things of another home ({lineage}), left as they are: {}{more}",
            things.len(),
            named.join(", ")
        )
    };
    list(status, "foreign").iter().map(one).collect()
}

fn instances(status: &Value, next: &mut Vec<(String, &'static str)>) -> Vec<String> {
    let mut lines = Vec::new();
    for instance in list(status, "instances") {
        let (name, folders) = (text(instance, "name"), list(instance, "folders").len());
        let data = format!("{folders} folders of data in instances/{name}");
        lines.push(match (instance["app"].as_str(), instance["unreadable"].as_str()) {
            (_, Some(why)) => format!("An instance nobody can read: {why}; {data}"),
            (Some(app), _) if instance["deleted"] == true => {
                next.push((
                    format!("hearth recover adopt app/{app}"),
                    "bring the deleted app back, with its data",
                ));
                format!("App {app} was deleted and its data kept: {data}")
            }
            (Some(app), _) => {
                next.push((format!("hearth recover adopt app/{app}"), "take it over as it stands"));
                format!("App {app} stands here and not in this store: {data}")
            }
            (None, None) => format!("Data that nothing is declared for: {data}"),
        });
    }
    if status["ownParts"].as_u64().is_some_and(|count| count > 0) {
        lines.push("Hearth's own parts here were made by another store".to_owned());
        next.push((
            "hearth recover adopt --all".to_owned(),
            "take over every app that was not deleted, and the proxy",
        ));
    }
    lines
}

fn kept(status: &Value, next: &mut Vec<(String, &'static str)>) -> Vec<String> {
    let kept = list(status, "kept");
    if !kept.is_empty() {
        next.push((
            "hearth apply -f FILE".to_owned(),
            "declare them again, and what stands is theirs as it is",
        ));
    }
    let one = |kept: &Value| {
        format!("{} {} stands and waits for its object", text(kept, "kind"), text(kept, "name"))
    };
    kept.iter().map(one).collect()
}

fn volumes(status: &Value, next: &mut Vec<(String, &'static str)>) -> Vec<String> {
    let mut lines = Vec::new();
    for volume in list(status, "volumes") {
        let name = text(volume, "name");
        lines.push(format!("Volume {name}: {}", text(volume, "message")));
        let what = "its folder is the right one, as it stands there now";
        next.push((format!("hearth recover adopt volume/{name}"), what));
    }
    lines
}

fn secrets(status: &Value) -> Vec<String> {
    let one = |secret: &Value| {
        let (name, key, app) = (text(secret, "name"), text(secret, "key"), text(secret, "app"));
        format!("Secret {name} with the key {key} is missing; App {app} needs it: declare it again")
    };
    list(status, "secrets").iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::online;

    #[test]
    fn one_screen_says_what_is_seen_and_the_next_command_for_each() {
        let status = json!({
            "observeOnly": "This store is an older copy", "lineage": "home", "resourceVersion": "12",
            "orphans": [{"kind": "Container", "orphans": 3, "breaker": "3 of 4 have no object in the store"}],
            "foreign": [{"lineage": "den", "things": (0..7).map(|n| format!("Container c{n}")).collect::<Vec<_>>()}],
            "instances": [
                {"name": "u1", "app": "household/old", "deleted": true, "folders": ["a"]},
                {"name": "u2", "app": "household/photos", "deleted": false, "folders": []},
                {"name": "u3", "unreadable": "its record is not JSON", "folders": []},
            ],
            "kept": [{"kind": "Container", "name": "household/mine"}],
            "volumes": [{"name": "household/rows", "reason": "MarkerMissing", "message": "The data is gone"}],
            "secrets": [{"name": "household/photos", "key": "pw", "app": "household/photos"}],
        });
        let lines = online(&status);
        assert!(lines.len() < 30, "{lines:#?}");
        let screen = lines.join("\n");
        for part in [
            "older copy",
            "home at version 12",
            "3 of 4",
            "7 things of another home (den)",
            "and 2 more",
            "adopt app/household/old",
            "adopt app/household/photos",
            "its record is not JSON",
            "household/mine stands and waits",
            "adopt volume/household/rows",
            "key pw is missing",
            "recover accept",
        ] {
            assert!(screen.contains(part), "{part} in\n{screen}");
        }
        let calm = online(&json!({"observeOnly": null, "lineage": "home", "resourceVersion": "12"}));
        assert_eq!(calm, ["Nothing is held back.", "Store home at version 12"]);
    }
}
