//! Secrets in command lines, which everybody on the machine can read.
//!
//! A secret may only stand in an environment variable. Where an author put one into a command, the
//! command is run by a shell that takes it from the environment: `redis-server --requirepass ${PW}`
//! becomes `sh -c 'exec redis-server --requirepass "$PW"'` with `PW` in the environment.

use crate::compose::secret::{self, Part};
use crate::compose::shell;
use crate::import::report::{Entry, Report};
use crate::import::write;
use crate::node::{Map, Node, Value};

/// Moves the secrets of a service's commands into its environment.
pub(super) fn read_secrets_from_environment(name: &str, service: &mut Node, report: &mut Report) {
    let mut needed: Vec<String> = Vec::new();
    let Some(fields) = service.as_map_mut() else { return };
    if let Some(test) =
        fields.get_mut("healthcheck").and_then(Node::as_map_mut).and_then(|health| health.get_mut("test"))
    {
        rewrite(test, true, &mut needed);
    }
    for key in ["command", "entrypoint"] {
        if let Some(command) = fields.get_mut(key) {
            rewrite(command, false, &mut needed);
        }
    }
    if needed.is_empty() {
        return;
    }
    let at = service.at;
    let Some(fields) = service.as_map_mut() else { return };
    let environment = fields.get("environment").map(write::pairs_of).unwrap_or_default();
    let mut map: Map = environment
        .into_iter()
        .map(|(name, value)| (name, value.map_or_else(|| Node::null(at), |value| Node::text(value, at))))
        .collect();
    needed.sort();
    needed.dedup();
    for variable in needed {
        let reason = format!("the secret {variable} is read from the environment");
        report.changed.push(Entry::new(format!("services.{name}"), reason));
        let value = Node::text(secret::mark(&variable), at);
        map.insert(variable, value);
    }
    fields.insert("environment".to_owned(), Node::map(map, at));
}

fn rewrite(command: &mut Node, test: bool, needed: &mut Vec<String>) {
    let at = command.at;
    let words = match &command.value {
        Value::Text(text) if secret::is_marked(text) => {
            if test {
                command.value = Value::Text(script(text, needed));
                return;
            }
            shell::split(text).unwrap_or_default()
        }
        Value::List(_) => write::texts_of(command),
        _ => return,
    };
    if !words.iter().any(|word| secret::is_marked(word)) {
        return;
    }
    let text = |text: String| Node::text(text, at);
    command.value = match (test, words.as_slice()) {
        (true, [kind, line]) if kind == "CMD-SHELL" => {
            Value::List(vec![text(kind.clone()), text(script(line, needed))])
        }
        (true, [_, words @ ..]) => Value::List(vec![text("CMD-SHELL".to_owned()), text(line(words, needed))]),
        (false, [shell, flag, line]) if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
            Value::List(vec![text(shell.clone()), text(flag.clone()), text(script(line, needed))])
        }
        (_, words) => {
            let line = format!("exec {}", line(words, needed));
            Value::List(vec![text("sh".to_owned()), text("-c".to_owned()), text(line)])
        }
    };
}

/// A line of shell in which a secret becomes the variable it came from.
fn script(text: &str, needed: &mut Vec<String>) -> String {
    let parts = secret::parts(text).into_iter().map(|part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Secret(name) => {
            needed.push(name.to_owned());
            format!("${{{name}}}")
        }
    });
    parts.collect()
}

/// Words as a line of shell, each of them quoted.
fn line(words: &[String], needed: &mut Vec<String>) -> String {
    let quoted = words.iter().map(|word| {
        let parts = secret::parts(word).into_iter().map(|part| match part {
            Part::Text(text) if is_plain(text) => text.to_owned(),
            Part::Text(text) => format!("'{}'", text.replace('\'', r"'\''")),
            Part::Secret(name) => {
                needed.push(name.to_owned());
                format!("\"${{{name}}}\"")
            }
        });
        let word: String = parts.collect();
        if word.is_empty() { "''".to_owned() } else { word }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn is_shell(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "ash" | "dash" | "zsh"))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte))
}
