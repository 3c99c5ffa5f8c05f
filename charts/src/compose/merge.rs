//! One compose file on top of another, and a service on top of the one it extends.
//!
//! The rule for most fields: mappings merge key by key, lists are joined, anything else is
//! replaced. The exceptions are in [`rule_for`]. Source: the Compose specification, "Merge and
//! override", and Docker Compose where that is silent.

use std::collections::HashSet;

use crate::fault::Faults;
use crate::node::{At, Map, Node, Value};

use super::printed;

/// How a field that both sides have becomes one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Mappings by key, lists joined, the rest replaced.
    Usual,
    Replace,
    /// Both sides as a list of `key=value`, joined.
    Pairs,
    /// As pairs, but what is there already is not added again.
    Hosts,
    Build,
    DependsOn,
    /// Lists of names are mappings without values.
    Names,
    Logging,
    Pools,
}

fn rule_for(path: &[&str]) -> Rule {
    match path {
        ["networks", _, "ipam", "config"] => Rule::Pools,
        ["networks" | "volumes", _, "labels"] => Rule::Pairs,
        ["services", _, field] => match *field {
            "annotations" | "dns" | "dns_opt" | "dns_search" | "env_file" | "label_file" | "environment"
            | "labels" | "sysctls" | "tmpfs" => Rule::Pairs,
            "command" | "entrypoint" => Rule::Replace,
            "build" => Rule::Build,
            "depends_on" => Rule::DependsOn,
            "extra_hosts" => Rule::Hosts,
            "logging" => Rule::Logging,
            "models" | "networks" => Rule::Names,
            _ => Rule::Usual,
        },
        ["services", _, "build", "args" | "additional_contexts" | "labels"]
        | ["services", _, "deploy", "labels"] => Rule::Pairs,
        ["services", _, "build", "extra_hosts"] => Rule::Hosts,
        ["services", _, "healthcheck", "test"] | ["services", _, "ulimits", _] => Rule::Replace,
        _ => Rule::Usual,
    }
}

/// Puts `over` on top of `base`; both are whole files.
pub(crate) fn files(base: Node, over: Node) -> Result<Node, Faults> {
    merge(base, over, &mut Vec::new())
}

/// Puts a service on top of the one it extends.
pub(crate) fn service(base: Node, over: Node) -> Result<Node, Faults> {
    merge(base, over, &mut vec!["services".to_owned(), "*".to_owned()])
}

fn merge(base: Node, over: Node, path: &mut Vec<String>) -> Result<Node, Faults> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match rule_for(&parts) {
        Rule::Usual => usual(base, over, path),
        Rule::Replace => Ok(over),
        Rule::Pairs => {
            let at = over.at;
            let mut pairs = sequence(base);
            pairs.extend(sequence(over));
            Ok(Node::list(pairs, at))
        }
        Rule::Hosts => {
            let at = over.at;
            let mut pairs = sequence(base);
            let known: HashSet<String> = pairs.iter().map(as_printed).collect();
            pairs.extend(sequence(over).into_iter().filter(|new| !known.contains(&as_printed(new))));
            Ok(Node::list(pairs, at))
        }
        Rule::Build => mappings(as_build(base), as_build(over), path),
        Rule::DependsOn => mappings(as_dependencies(base), as_dependencies(over), path),
        Rule::Names => mappings(as_names(base), as_names(over), path),
        Rule::Logging => logging(base, over, path),
        Rule::Pools => pools(base, over, path),
    }
}

fn usual(base: Node, over: Node, path: &mut Vec<String>) -> Result<Node, Faults> {
    if over.is_null() {
        return Ok(base);
    }
    match (base.value, over) {
        (Value::List(mut items), Node { value: Value::List(more), at }) => {
            items.extend(more);
            Ok(Node::list(items, at))
        }
        (base @ Value::Map(_), over @ Node { value: Value::Map(_), .. }) => {
            mappings(Node::new(base, over.at), over, path)
        }
        (base @ (Value::List(_) | Value::Map(_)), over) => {
            Err(differs(&Node::new(base, over.at), &over, path))
        }
        (_, over) => Ok(over),
    }
}

fn differs(base: &Node, over: &Node, path: &[String]) -> Faults {
    let message = format!("this is {} here and {} in what it overrides", over.kind(), base.kind());
    Faults::one(over.at, path.join("."), message)
}

fn mappings(base: Node, over: Node, path: &mut Vec<String>) -> Result<Node, Faults> {
    let at = over.at;
    let (mut merged, over) = match (base.value, over.value) {
        (Value::Map(base), Value::Map(over)) => (base, over),
        (base, over) => {
            return Err(differs(&Node::new(base, at), &Node::new(over, at), path));
        }
    };
    for (key, value) in over {
        let value = match merged.remove(&key) {
            None => value,
            Some(old) => {
                path.push(key.clone());
                let value = merge(old, value, path)?;
                path.pop();
                value
            }
        };
        merged.insert(key, value);
    }
    Ok(Node::map(merged, at))
}

/// A mapping as a sorted list of `key=value`; a lone text as a list of one.
pub(crate) fn sequence(node: Node) -> Vec<Node> {
    let at = node.at;
    match node.value {
        Value::List(items) => items,
        Value::Text(text) => vec![Node::text(text, at)],
        Value::Map(entries) => {
            let mut pairs: Vec<Node> =
                entries.into_iter().flat_map(|(key, value)| pairs_of(&key, value)).collect();
            pairs.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
            pairs
        }
        _ => Vec::new(),
    }
}

fn pairs_of(key: &str, value: Node) -> Vec<Node> {
    let pair = |value: &Node| Node::text(format!("{key}={}", as_printed(value)), value.at);
    match &value.value {
        Value::Null => vec![Node::text(key, value.at)],
        Value::List(items) => items.iter().map(pair).collect(),
        _ => vec![pair(&value)],
    }
}

/// A scalar as Docker Compose prints it inside text. Lists and mappings have no such form and give
/// an empty text; the fields that come here never hold them.
pub(crate) fn as_printed(node: &Node) -> String {
    match &node.value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Large(value) => value.to_string(),
        Value::Float(value) => printed::float(*value),
        Value::Single(value) => printed::single(*value),
        Value::Text(text) => text.clone(),
        Value::Time(text) => printed::time(text),
        Value::Null => "<nil>".to_owned(),
        _ => String::new(),
    }
}

fn as_build(node: Node) -> Node {
    let at = node.at;
    match node.value {
        Value::Text(context) => Node::map_of([("context", Value::Text(context))], at),
        Value::Null => Node::map(Map::new(), at),
        value => Node::new(value, at),
    }
}

/// What a dependency named in a list says.
pub(crate) fn plain_dependency(at: At) -> Node {
    let condition = Value::Text("service_started".to_owned());
    Node::map_of([("condition", condition), ("required", Value::Bool(true))], at)
}

fn as_dependencies(node: Node) -> Node {
    named(node, plain_dependency)
}

fn as_names(node: Node) -> Node {
    named(node, Node::null)
}

/// A list of names as a mapping.
fn named(node: Node, value: impl Fn(At) -> Node) -> Node {
    let at = node.at;
    let Value::List(items) = node.value else { return Node::new(node.value, at) };
    let named = items.iter().filter_map(|item| Some((item.as_text()?.to_owned(), value(item.at))));
    Node::map(named.collect(), at)
}

/// Options belong to their driver: another driver replaces the whole section.
fn logging(base: Node, over: Node, path: &mut Vec<String>) -> Result<Node, Faults> {
    let other_driver = match (base.get("driver"), over.get("driver")) {
        (Some(old), Some(new)) => !old.same(new),
        _ => false,
    };
    if other_driver { Ok(over) } else { mappings(base, over, path) }
}

/// Address pools are known by their subnet.
fn pools(base: Node, over: Node, path: &mut Vec<String>) -> Result<Node, Faults> {
    let at = over.at;
    let (Value::List(base), Value::List(over)) = (base.value, over.value) else {
        return Err(Faults::one(at, path.join("."), "address pools are a list"));
    };
    let same_subnet = |a: &Node, b: &Node| match (a.get("subnet"), b.get("subnet")) {
        (Some(a), Some(b)) => a.same(b),
        (None, None) => true,
        _ => false,
    };
    let mut pools: Vec<Node> = Vec::new();
    for mut original in base {
        for new in &over {
            let known = pools.iter().position(|pool| same_subnet(pool, new));
            if !same_subnet(&original, new) && known.is_none() {
                pools.push(new.clone());
                continue;
            }
            original = mappings(original, new.clone(), path)?;
            match pools.iter().position(|pool| same_subnet(pool, &original)) {
                Some(index) => pools[index] = original.clone(),
                None => pools.push(original.clone()),
            }
        }
    }
    Ok(Node::list(pools, at))
}
