//! Is every key known, and does every value have a shape its key allows?

use std::collections::HashSet;

use hearth_meta::problem::nearest;

use super::schema::top::FILE;
use super::schema::{Keys, List, MapOf, Section, Shape, Types};
use crate::fault::Faults;
use crate::node::{Map, Node, Path, Value};

/// Checks a whole file; reports everything that does not fit.
pub(crate) fn check(root: &Node) -> Result<(), Faults> {
    let mut stage = Stage::default();
    stage.section(&FILE, root);
    stage.faults.stop()
}

#[derive(Default)]
struct Stage {
    path: Path,
    faults: Faults,
}

impl Stage {
    fn value(&mut self, shape: &Shape, node: &Node) {
        match shape {
            Shape::Section(section) if node.as_map().is_some() => self.section(section, node),
            Shape::Map(map) if node.as_map().is_some() => self.map(map, node),
            Shape::List(list) if node.as_list().is_some() => self.list(list, node),
            Shape::Either(shapes) => match shapes.iter().find(|shape| takes(shape, node)) {
                Some(shape) => self.value(shape, node),
                None => self.differs(shape, node),
            },
            Shape::Words(words) => match node.as_text() {
                Some(text) if words.contains(&text) => {}
                Some(text) => {
                    let message = format!("`{text}` is not known here; use {}", either(words));
                    self.faults.add(node.at, &self.path, message);
                }
                None => self.differs(shape, node),
            },
            Shape::Fits(fits, described) => {
                if !node.as_text().is_some_and(fits) {
                    self.faults.add(node.at, &self.path, format!("expected {described}"));
                }
            }
            Shape::Range(low, high) => match whole(node) {
                Some(value) if value < *low as f64 || value > *high as f64 => {
                    let message = if *high == i64::MAX {
                        format!("must be {low} or more")
                    } else {
                        format!("must be between {low} and {high}")
                    };
                    self.faults.add(node.at, &self.path, message);
                }
                Some(_) => {}
                None => self.differs(shape, node),
            },
            shape => {
                if !takes(shape, node) {
                    self.differs(shape, node);
                }
            }
        }
    }

    fn differs(&mut self, shape: &Shape, node: &Node) {
        let message = format!("expected {}, this is {}", described(shape), node.kind());
        self.faults.add(node.at, &self.path, message);
    }

    fn section(&mut self, section: &Section, node: &Node) {
        let Some(entries) = node.as_map() else {
            return self.differs(&Shape::Simple(Types(Types::MAP)), node);
        };
        for (key, value) in entries {
            match section.find(key) {
                Some(field) => {
                    self.path.enter(key);
                    self.value(&field.shape, value);
                    self.path.leave();
                }
                None if section.extensions && key.starts_with("x-") => {}
                None if section.open => {}
                None => self.unknown(section, key, value),
            }
        }
        for required in section.required {
            if !entries.contains_key(*required) {
                self.faults.add(node.at, &self.path, format!("`{required}` is missing"));
            }
        }
    }

    fn unknown(&mut self, section: &Section, key: &str, value: &Node) {
        let short = key.len() < 50 && !self.faults.is_full();
        let near = if short { nearest(key, section.fields.iter().map(|field| field.key)) } else { None };
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.faults.add_at(value.at, self.path.of(key), format!("the key `{key}` does not exist here{hint}"));
    }

    fn map(&mut self, map: &MapOf, node: &Node) {
        for (key, value) in node.as_map().into_iter().flatten() {
            self.path.enter(key);
            if map.keys.fits(key) {
                self.value(&map.value, value);
            } else if map.closed {
                let message = match map.keys {
                    Keys::Name => "a name has letters, digits, `.`, `_` and `-` only",
                    Keys::Lower => "a name has small letters only",
                    Keys::Any => "a name is missing",
                };
                self.faults.add(value.at, &self.path, message);
            }
            self.path.leave();
        }
    }

    fn list(&mut self, list: &List, node: &Node) {
        let items = node.as_list().unwrap_or_default();
        let mut seen = Seen::default();
        for (index, item) in items.iter().enumerate() {
            self.path.enter_item(index);
            self.value(&list.item, item);
            if list.unique && seen.repeats(item) {
                self.faults.add(
                    item.at,
                    &self.path,
                    "this item is already in the list; remove one of the two",
                );
            }
            self.path.leave();
        }
    }
}

/// The items of a list so far. Texts, which are most of what lists hold, are looked up; others are
/// compared one by one, and only so many of them.
#[derive(Default)]
struct Seen<'a> {
    texts: HashSet<&'a str>,
    others: Vec<&'a Node>,
}

const MOST_COMPARED: usize = 2_000;

impl<'a> Seen<'a> {
    /// Whether an earlier item is the same.
    fn repeats(&mut self, item: &'a Node) -> bool {
        if let Some(text) = item.as_text() {
            return !self.texts.insert(text);
        }
        if self.others.iter().any(|earlier| item.repeats(earlier)) {
            return true;
        }
        if self.others.len() < MOST_COMPARED {
            self.others.push(item);
        }
        false
    }
}

/// Whether a value is of the kind a shape is for, without a look inside.
fn takes(shape: &Shape, node: &Node) -> bool {
    match shape {
        Shape::Simple(types) => type_of(node, *types),
        Shape::Words(_) | Shape::Fits(..) => node.as_text().is_some(),
        Shape::Range(..) => whole(node).is_some(),
        Shape::List(_) => node.as_list().is_some(),
        Shape::Map(_) | Shape::Section(_) => node.as_map().is_some(),
        Shape::Either(shapes) => shapes.iter().any(|shape| takes(shape, node)),
    }
}

fn type_of(node: &Node, types: Types) -> bool {
    let has = |bit: u8| types.0 & bit != 0;
    match &node.value {
        Value::Null => has(Types::NULL),
        Value::Bool(_) => has(Types::BOOL),
        Value::Text(_) => has(Types::TEXT),
        Value::List(_) => has(Types::LIST),
        Value::Map(_) => has(Types::MAP),
        Value::Int(_) | Value::Large(_) => has(Types::INT | Types::NUMBER),
        Value::Float(_) | Value::Single(_) => {
            // What may be nothing at all is read as text, where infinity has a word too.
            (node.number().is_some_and(f64::is_finite) || has(Types::NULL)) && has(Types::NUMBER)
                || (has(Types::INT) && whole(node).is_some())
        }
        Value::Time(_) | Value::Bytes(_) | Value::Duration(_) | Value::Mode(_) => false,
    }
}

/// A whole number, in whatever type it came.
fn whole(node: &Node) -> Option<f64> {
    node.number().filter(|value| value.is_finite() && value.fract() == 0.0)
}

fn described(shape: &Shape) -> String {
    match shape {
        Shape::Simple(types) => {
            let names = [
                (Types::TEXT, "text"),
                (Types::BOOL, "true or false"),
                (Types::INT, "a whole number"),
                (Types::NUMBER, "a number"),
                (Types::LIST, "a list"),
                (Types::MAP, "a mapping"),
                (Types::NULL, "nothing"),
            ];
            let names: Vec<&str> =
                names.iter().filter(|(bit, _)| types.0 & bit != 0).map(|(_, name)| *name).collect();
            either(&names)
        }
        Shape::Words(words) => either(words),
        Shape::Fits(_, described) => (*described).to_owned(),
        Shape::Range(..) => "a whole number".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Map(_) | Shape::Section(_) => "a mapping".to_owned(),
        Shape::Either(shapes) => {
            let mut names: Vec<String> = shapes.iter().map(described).collect();
            names.dedup();
            either(&names.iter().map(String::as_str).collect::<Vec<_>>())
        }
    }
}

fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A service that says nothing is still a mapping; the rest of the pipeline relies on it.
pub(crate) fn services(root: &Node) -> impl Iterator<Item = (&String, &Map)> {
    let services = root.get("services").and_then(Node::as_map);
    services.into_iter().flatten().filter_map(|(name, service)| Some((name, service.as_map()?)))
}
