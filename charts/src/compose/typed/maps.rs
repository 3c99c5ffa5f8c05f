//! Names with values, in their list and mapping forms.

use super::Stage;
use crate::compose::merge::as_printed;
use crate::compose::schema::Read;
use crate::node::{Map, Node, Value};

impl Stage {
    pub(super) fn mapping(&mut self, read: &Read, node: &Node) -> Map {
        match &node.value {
            Value::Map(entries) => {
                let mut out = Map::new();
                for (key, value) in entries {
                    self.path.enter(key);
                    out.extend(self.entry(read, value).map(|value| (key.clone(), value)));
                    self.path.leave();
                }
                out
            }
            Value::List(items) => {
                let mut out = Map::new();
                for (index, item) in items.iter().enumerate() {
                    self.path.enter_item(index);
                    let (key, value) = self.item(read, item);
                    out.insert(key, value);
                    self.path.leave();
                }
                out
            }
            _ => Map::new(),
        }
    }

    fn entry(&mut self, read: &Read, value: &Node) -> Option<Node> {
        let at = value.at;
        Some(match (&value.value, read) {
            (Value::Null, Read::Variables) => Node::null(at),
            (Value::Null, Read::ManyOptions) => Node::list(vec![Node::text("<nil>", at)], at),
            (Value::Null, _) => Node::text("", at),
            (Value::List(items), Read::ManyOptions) => {
                let texts: Vec<Node> = items.iter().map(|item| Node::text(as_printed(item), at)).collect();
                // A list without items is no option at all, but its name still shows.
                if texts.is_empty() { return None } else { Node::list(texts, at) }
            }
            (_, Read::ManyOptions) => Node::list(vec![Node::text(as_printed(value), at)], at),
            (Value::Text(_) | Value::Int(_), _) => Node::text(as_printed(value), at),
            (_, Read::TextMap) => {
                self.faults.add(at, &self.path, format!("expected text, this is {}", value.kind()));
                return None;
            }
            _ => Node::text(as_printed(value), at),
        })
    }

    fn item(&mut self, read: &Read, item: &Node) -> (String, Node) {
        let text = as_printed(item);
        match text.split_once('=') {
            Some((key, _)) if matches!(read, Read::Variables) && ends_with_space(key) => {
                self.faults.add(
                    item.at,
                    &self.path,
                    format!("the name `{key}` ends with a space; remove it"),
                );
                (key.to_owned(), Node::null(item.at))
            }
            Some((key, value)) => (key.to_owned(), Node::text(value, item.at)),
            None if matches!(read, Read::Variables) => {
                if ends_with_space(&text) {
                    self.faults.add(
                        item.at,
                        &self.path,
                        format!("the name `{text}` ends with a space; remove it"),
                    );
                }
                (text, Node::null(item.at))
            }
            None => (text, Node::text("", item.at)),
        }
    }

    /// `host=address`, sorted.
    pub(super) fn hosts(&mut self, node: &Node) -> Option<Node> {
        let at = node.at;
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut add = |host: &str, addresses: &mut dyn Iterator<Item = String>| -> Result<(), String> {
            if host.is_empty() || host.contains([':', '=']) {
                return Err(format!("`{host}` is not a host name"));
            }
            pairs.extend(addresses.map(|address| (host.to_owned(), unbracketed(&address))));
            Ok(())
        };
        let outcome = match &node.value {
            Value::Map(entries) => entries.iter().try_for_each(|(host, value)| match &value.value {
                Value::List(items) => add(host, &mut items.iter().map(as_printed)),
                Value::Text(address) => add(host, &mut std::iter::once(address.clone())),
                _ => add(host, &mut std::iter::once(String::new())),
            }),
            Value::List(items) => items.iter().try_for_each(|item| {
                let text = as_printed(item);
                let (host, addresses) = text
                    .split_once('=')
                    .or_else(|| text.split_once(':'))
                    .ok_or_else(|| format!("`{text}` has no address; write it like host=10.0.0.5"))?;
                add(host, &mut addresses.split(',').map(str::to_owned))
            }),
            _ => Ok(()),
        };
        if let Err(message) = outcome {
            self.faults.add(at, &self.path, message);
        }
        let mut lines: Vec<String> =
            pairs.into_iter().map(|(host, address)| format!("{host}={address}")).collect();
        lines.sort();
        (!lines.is_empty())
            .then(|| Node::list(lines.into_iter().map(|line| Node::text(line, at)).collect(), at))
    }

    /// A number, or both limits.
    pub(super) fn ulimits(&mut self, node: &Node) -> Option<Node> {
        let mut out = Map::new();
        for (name, limit) in node.as_map().into_iter().flatten() {
            let number = |key: &str| match limit.get(key).map(|value| &value.value) {
                Some(Value::Int(value)) if *value != 0 => Ok(Some(*value)),
                None | Some(Value::Int(_)) => Ok(None),
                Some(_) => Err("a limit is a whole number"),
            };
            let value = match (&limit.value, number("soft"), number("hard")) {
                (Value::Int(0), ..) => Node::map(Map::new(), limit.at),
                (Value::Int(value), ..) => Node::new(Value::Int(*value), limit.at),
                (_, Ok(soft), Ok(hard)) => {
                    let limits = [("soft", soft), ("hard", hard)].into_iter();
                    let set = limits.filter_map(|(key, value)| {
                        Some((key.to_owned(), Node::new(Value::Int(value?), limit.at)))
                    });
                    Node::map(set.collect(), limit.at)
                }
                (_, Err(message), _) | (_, _, Err(message)) => {
                    self.faults.add(limit.at, &self.path, message);
                    continue;
                }
            };
            out.insert(name.clone(), value);
        }
        (!out.is_empty()).then(|| Node::map(out, node.at))
    }

    /// The names of keys. Docker Compose cannot print one that has a path, and refuses the file.
    pub(super) fn ssh_keys(&mut self, node: &Node) -> Option<Node> {
        let mut out = Vec::new();
        for (name, path) in node.as_map().into_iter().flatten() {
            if as_printed(path).is_empty() || path.is_null() {
                out.push(Node::text(name, path.at));
            } else {
                self.faults.add(path.at, &self.path, "a key with a path cannot be passed on; use the agent");
            }
        }
        (!out.is_empty()).then(|| Node::list(out, node.at))
    }
}

fn ends_with_space(key: &str) -> bool {
    // The last byte alone is looked at, as Docker Compose does.
    key.bytes().last().is_some_and(|byte| matches!(byte, b'\t'..=b'\r' | b' ' | 0x85 | 0xa0))
}

fn unbracketed(address: &str) -> String {
    let inner = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.filter(|inner| !inner.is_empty()).unwrap_or(address).to_owned()
}
