//! The variables of a file and what becomes of each.
//!
//! A variable used only in values of environment variables becomes a value of the App. One used
//! elsewhere (in an image, a path, a port) is put in place now, since those do not change with the
//! home. One that the file gives a default for, and that is no secret, keeps that default.

use std::collections::BTreeMap;

use super::report::{ValueKind, Wanted};
use crate::compose::secret;
use crate::compose::template;
use crate::node::{Node, Value};

/// What becomes of every variable.
pub(super) struct Values {
    decided: BTreeMap<String, Decision>,
}

enum Decision {
    /// A value of the App; in the text stays a mark.
    Wanted(ValueKind, String),
    /// This text, here and now.
    Fixed(String),
    /// The default written in the file.
    Unset,
}

impl Values {
    /// What stands in the text for a variable.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.decided.get(name)? {
            Decision::Wanted(..) => Some(secret::mark(name)),
            Decision::Fixed(text) => Some(text.clone()),
            Decision::Unset => None,
        }
    }

    /// The values the App needs.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let wanted = self.decided.iter().filter_map(|(name, decision)| match decision {
            Decision::Wanted(kind, default) => {
                Some(Wanted { name: name.clone(), kind: *kind, default: default.clone() })
            }
            _ => None,
        });
        wanted.collect()
    }
}

/// What the catalogue says of variables: what each is, and its default.
pub(super) type Told = BTreeMap<String, (ValueKind, String)>;

/// How a file uses one variable.
#[derive(Default)]
struct Seen {
    elsewhere: bool,
    /// In a command line, where a secret can be read from the environment instead.
    in_command: bool,
    without_default: bool,
    /// What a secret file is made of.
    is_secret: bool,
    as_source: bool,
}

/// Decides for every variable of a file.
pub(super) fn decide(root: &Node, app: &str, told: &Told) -> Values {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    visit(root, &mut Vec::new(), &mut seen);
    let decided = seen.into_iter().map(|(name, seen)| {
        let decision = one(&name, &seen, told.get(&name).cloned().or_else(|| known(&name, app)));
        (name, decision)
    });
    Values { decided: decided.collect() }
}

fn one(name: &str, seen: &Seen, known: Option<(ValueKind, String)>) -> Decision {
    let secret = seen.is_secret || is_secret(name) || matches!(known, Some((ValueKind::Secret, _)));
    let elsewhere = seen.elsewhere || (seen.in_command && !secret);
    match known {
        Some((_, text)) if elsewhere => return Decision::Fixed(text),
        Some((kind, text)) => return Decision::Wanted(kind, text),
        None => {}
    }
    match (elsewhere, seen.without_default) {
        (true, true) if seen.as_source => Decision::Fixed(format!("./{}", name.to_lowercase())),
        (true, _) => Decision::Unset,
        // A secret with a default that everybody can read is none: a new one is made.
        (false, _) if secret => Decision::Wanted(ValueKind::Secret, String::new()),
        (false, false) => Decision::Unset,
        (false, true) => Decision::Wanted(ValueKind::Asked, String::new()),
    }
}

/// Variables whose meaning is well known, with what they become.
fn known(name: &str, app: &str) -> Option<(ValueKind, String)> {
    let plain = |text: &str| Some((ValueKind::Plain, text.to_owned()));
    match name {
        "TZ" | "TIMEZONE" | "GENERIC_TIMEZONE" => return plain("Etc/UTC"),
        "PUID" | "PGID" | "UID" | "GID" | "USER_ID" | "GROUP_ID" => return plain("1000"),
        "UMASK" => return plain("022"),
        // The folder other systems keep an app's data in; only sources of volumes begin with it.
        "APP_DATA_DIR" | "APPDATA" | "ROOT_FOLDER_HOST" => return plain("."),
        "AppID" | "COMPOSE_PROJECT_NAME" => return plain(app),
        _ => {}
    }
    // The variables another tool fills in: a user name, a secret, the address of a service.
    let rest = name.strip_prefix("SERVICE_")?;
    let (kind, _) = rest.split_once('_')?;
    match kind {
        "USER" => plain(app),
        "URL" | "FQDN" => Some((ValueKind::Asked, String::new())),
        "PASSWORD" | "BASE64" | "REALBASE64" | "HEX" => Some((ValueKind::Secret, String::new())),
        _ => None,
    }
}

/// Whether a name says that its value is nobody's business.
fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "_SEED",
        "PASSWORD",
        "PASSWD",
        "SECRET",
        "TOKEN",
        "API_KEY",
        "PRIVATE_KEY",
        "ENCRYPTION_KEY",
        "_SALT",
        "CREDENTIAL",
    ];
    let upper = name.to_uppercase();
    WORDS.iter().any(|word| upper.contains(word)) || upper.ends_with("_PASS") || upper.ends_with("_KEY")
}

fn visit<'a>(node: &'a Node, keys: &mut Vec<&'a str>, seen: &mut BTreeMap<String, Seen>) {
    match &node.value {
        Value::Text(text) => {
            let in_environment =
                matches!(keys.as_slice(), ["services", _, "environment", ..] | ["configs", _, "content"]);
            // A file that holds a variable's value, named and not written with a dollar.
            if let ["configs" | "secrets", _, "environment"] = keys.as_slice() {
                let seen = seen.entry(text.clone()).or_default();
                seen.without_default = true;
                seen.is_secret |= keys[0] == "secrets";
            }
            let in_command = matches!(
                keys.as_slice(),
                ["services", _, "command" | "entrypoint"] | ["services", _, "healthcheck", "test"]
            );
            let as_source =
                matches!(keys.as_slice(), ["services", _, "volumes"] | ["services", _, "volumes", "source"]);
            for found in template::uses(text) {
                // The first thing in a mount is its source.
                let first = text.trim_start_matches(['$', '{']).starts_with(&found.name);
                let seen = seen.entry(found.name).or_default();
                seen.elsewhere |= !in_environment && !in_command;
                seen.in_command |= in_command;
                seen.without_default |= !found.has_default;
                seen.as_source |= as_source && first;
            }
            if keys.len() > 2 && keys[0] == "services" && in_environment {
                bare(text, keys, seen);
            }
        }
        Value::Null if matches!(keys.as_slice(), ["services", _, "environment", _]) => {
            if let Some(name) = keys.last() {
                seen.entry((*name).to_owned()).or_default().without_default = true;
            }
        }
        Value::List(items) => items.iter().for_each(|item| visit(item, keys, seen)),
        Value::Map(entries) => {
            for (key, value) in entries.iter().filter(|(key, _)| !key.starts_with("x-")) {
                keys.push(key);
                visit(value, keys, seen);
                keys.pop();
            }
        }
        _ => {}
    }
}

/// A name alone in a list of variables takes its value from outside.
fn bare(text: &str, keys: &[&str], seen: &mut BTreeMap<String, Seen>) {
    if keys.len() == 3 && !text.contains(['=', '$']) && !text.is_empty() {
        seen.entry(text.to_owned()).or_default().without_default = true;
    }
}
