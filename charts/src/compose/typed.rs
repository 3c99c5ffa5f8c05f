//! The meaning of every field: sizes as bytes, spans as nanoseconds, command lines as words,
//! pairs as mappings. What is empty is left out, as Docker Compose leaves it out when it prints.

use super::schema::top::FILE;
use super::schema::{Field, Read, Section};
use super::{merge, shell};
use crate::fault::Faults;
use crate::node::{At, Map, Node, Path, Value};

mod scalars;
mod maps;

/// Reads a whole normalised file into the model that is judged and printed.
pub(crate) fn read(root: &Node) -> Result<Node, Faults> {
    let mut stage = Stage::default();
    let mut model = stage.section(&FILE, root);
    if let Some(entries) = root.as_map() {
        // Extensions of the file itself are printed; deeper ones are not.
        let extensions = entries.iter().filter(|(key, _)| key.starts_with("x-"));
        for (key, value) in extensions.clone().filter(|(_, value)| has_infinity(value)) {
            stage.faults.add_at(value.at, key.as_str(), "infinity and what is no number cannot be printed");
        }
        model.extend(extensions.map(|(key, value)| (key.clone(), without_empty_lists(value.clone()))));
    }
    stage.faults.stop()?;
    Ok(Node::map(model, root.at))
}

fn has_infinity(node: &Node) -> bool {
    match &node.value {
        Value::Float(number) => !number.is_finite(),
        Value::List(items) => items.iter().any(has_infinity),
        Value::Map(entries) => entries.values().any(has_infinity),
        _ => false,
    }
}

/// In an extension a list without items is printed as nothing.
fn without_empty_lists(mut node: Node) -> Node {
    node.value = match node.value {
        Value::List(items) if items.is_empty() => Value::Null,
        Value::List(items) => Value::List(items.into_iter().map(without_empty_lists).collect()),
        Value::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, without_empty_lists(value))).collect())
        }
        value => value,
    };
    node
}

#[derive(Default)]
struct Stage {
    path: Path,
    faults: Faults,
}

impl Stage {
    fn section(&mut self, section: &Section, node: &Node) -> Map {
        let mut out = Map::new();
        for field in section.fields {
            self.path.enter(field.key);
            let value = node.get(field.key);
            if let Some(value) = self.field(field, value, node.at) {
                out.insert(field.key.to_owned(), value);
            }
            self.path.leave();
        }
        out
    }

    /// The value of a field; none when it does not show.
    fn field(&mut self, field: &Field, value: Option<&Node>, at: At) -> Option<Node> {
        match (&field.read, value) {
            (Read::Always(section), value) => {
                let nothing = Node::null(at);
                let entries = self.section(section, value.unwrap_or(&nothing));
                Some(Node::map(entries, value.map_or(at, |value| value.at)))
            }
            (Read::Command, None) => Some(Node::null(at)),
            (_, None) => None,
            (read, Some(value)) => self.value(read, value),
        }
    }

    fn value(&mut self, read: &Read, node: &Node) -> Option<Node> {
        let at = node.at;
        match read {
            Read::Drop | Read::Always(_) => None,
            Read::Command => Some(self.command(node)),
            Read::Section(section) => {
                node.as_map()?;
                Some(Node::map(self.section(section, node), at))
            }
            Read::Sections(section) => {
                let items =
                    self.items(node, |stage, item| Some(Node::map(stage.section(section, item), item.at)));
                (!items.is_empty()).then(|| Node::list(items, at))
            }
            Read::Named(section, nullable) => {
                let named = self.named(section, *nullable, node);
                (!named.is_empty()).then(|| Node::map(named, at))
            }
            Read::Throttle(measure) => {
                let items = self.items(node, |stage, item| Some(stage.throttle(measure, item)));
                (!items.is_empty()).then(|| Node::list(items, at))
            }
            Read::Texts | Read::TextOrTexts | Read::Loose | Read::HealthTest => {
                let items = self.texts(read, node);
                (!items.is_empty()).then(|| Node::list(items, at))
            }
            Read::Variables
            | Read::Labels
            | Read::Mapping
            | Read::Options
            | Read::ManyOptions
            | Read::TextMap => {
                let map = self.mapping(read, node);
                (!map.is_empty()).then(|| Node::map(map, at))
            }
            Read::Hosts => self.hosts(node),
            Read::Ulimits => self.ulimits(node),
            Read::SshKeys => self.ssh_keys(node),
            scalar => match scalars::read(scalar, node) {
                Ok(value) => value.map(|value| Node::new(value, at)),
                Err(message) => {
                    self.faults.add(at, &self.path, message);
                    None
                }
            },
        }
    }

    fn items(&mut self, node: &Node, mut act: impl FnMut(&mut Self, &Node) -> Option<Node>) -> Vec<Node> {
        let mut out = Vec::new();
        for (index, item) in node.as_list().unwrap_or_default().iter().enumerate() {
            self.path.enter_item(index);
            out.extend(act(self, item));
            self.path.leave();
        }
        out
    }

    fn named(&mut self, section: &Section, nullable: bool, node: &Node) -> Map {
        let mut out = Map::new();
        for (name, entry) in node.as_map().into_iter().flatten() {
            self.path.enter(name);
            let value = if nullable && entry.is_null() {
                Node::null(entry.at)
            } else {
                Node::map(self.section(section, entry), entry.at)
            };
            out.insert(name.clone(), value);
            self.path.leave();
        }
        out
    }

    fn command(&mut self, node: &Node) -> Node {
        let at = node.at;
        match &node.value {
            Value::Text(line) => match shell::split(line) {
                Ok(words) => Node::list(words.into_iter().map(|word| Node::text(word, at)).collect(), at),
                Err(message) => {
                    self.faults.add(at, &self.path, message);
                    Node::null(at)
                }
            },
            Value::List(_) => node.clone(),
            _ => Node::null(at),
        }
    }

    fn texts(&mut self, read: &Read, node: &Node) -> Vec<Node> {
        if let Value::Text(text) = &node.value {
            return match read {
                Read::HealthTest => vec![Node::text("CMD-SHELL", node.at), Node::text(text, node.at)],
                _ => vec![node.clone()],
            };
        }
        self.items(node, |stage, item| match (&item.value, read) {
            (Value::Text(_), _) => Some(item.clone()),
            (Value::Int(_), Read::Texts) | (_, Read::Loose) => {
                Some(Node::text(merge::as_printed(item), item.at))
            }
            _ => {
                stage.faults.add(item.at, &stage.path, format!("expected text, this is {}", item.kind()));
                None
            }
        })
    }

    /// A device with its speed or weight, under the names Docker Compose prints them with.
    fn throttle(&mut self, measure: &str, item: &Node) -> Node {
        let path = item.get("path").and_then(Node::as_text).unwrap_or_default();
        let (key, read) = if measure == "Rate" { ("rate", Read::Bytes) } else { ("weight", Read::Count) };
        let value = item.get(key).and_then(|value| self.value(&read, value)).map(|value| value.value);
        let nothing = if measure == "Rate" { Value::Bytes(0) } else { Value::Int(0) };
        let fields = [("Path", Value::Text(path.to_owned())), (measure, value.unwrap_or(nothing))];
        Node::map_of(fields, item.at)
    }
}
