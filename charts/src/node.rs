//! The tree every stage works on: plain values that remember where they were written.
//!
//! One type serves all stages (parse, interpolate, merge, normalise, admit), so a problem found at
//! the very end can still point at the line a person wrote. Maps are sorted by key: no stage may
//! depend on the order of keys, and equal input gives byte-identical output.

use std::collections::BTreeMap;

/// Where a value was written. Line 0 means "not written by anybody": a default or a derived value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct At {
    /// Index into the names of the files read, in reading order.
    pub file: u16,
    /// 1-based; 0 when the value was not written.
    pub line: u32,
    /// 1-based; 0 when the value was not written.
    pub column: u32,
}

/// A value and where it was written. For an entry of a mapping that is where its key stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub at: At,
}

/// A mapping with text keys.
pub(crate) type Map = BTreeMap<String, Node>;

/// What a node can hold: what YAML knows, and the typed values the decoder makes of it.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number too large for `Int`.
    Large(u64),
    Float(f64),
    /// A number kept with single precision, as the fields for processor shares are.
    Single(f32),
    /// A date or time, in RFC 3339. YAML 1.1 reads `2024-01-01` as one.
    Time(String),
    Text(String),
    /// A size in bytes; printed as text.
    Bytes(i64),
    /// A span of time in nanoseconds; printed the way Go prints one.
    Duration(i64),
    /// Permission bits; printed as octal text.
    Mode(i64),
    List(Vec<Node>),
    Map(Map),
}

impl Node {
    pub(crate) fn new(value: Value, at: At) -> Self {
        Self { value, at }
    }

    pub(crate) fn null(at: At) -> Self {
        Self::new(Value::Null, at)
    }

    pub(crate) fn text(text: impl Into<String>, at: At) -> Self {
        Self::new(Value::Text(text.into()), at)
    }

    pub(crate) fn bool(value: bool, at: At) -> Self {
        Self::new(Value::Bool(value), at)
    }

    pub(crate) fn list(items: Vec<Node>, at: At) -> Self {
        Self::new(Value::List(items), at)
    }

    pub(crate) fn map(entries: Map, at: At) -> Self {
        Self::new(Value::Map(entries), at)
    }

    /// A mapping made of one call's worth of pairs, all standing at the same place.
    pub(crate) fn map_of<const N: usize>(pairs: [(&str, Value); N], at: At) -> Self {
        let entries = pairs.into_iter().map(|(key, value)| (key.to_owned(), Node::new(value, at)));
        Self::map(entries.collect(), at)
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of a mapping; none for anything else.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.get(key)
    }

    /// What kind of value this is, in the words a person who writes YAML uses.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) | Value::Large(_) => "a whole number",
            Value::Float(_) | Value::Single(_) => "a number",
            Value::Time(_) => "a date",
            Value::Text(_) | Value::Bytes(_) | Value::Duration(_) | Value::Mode(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// Whether two values are the same, wherever they were written.
    pub(crate) fn same(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Text(a), Value::Text(b)) | (Value::Time(a), Value::Time(b)) => a == b,
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && a.same(b))
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    /// Whether this value, which comes later, repeats an earlier one. A number repeats a text that reads like it; a
    /// text repeats no number, which is how Docker Compose compares.
    pub(crate) fn repeats(&self, earlier: &Node) -> bool {
        match (&self.value, &earlier.value) {
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.repeats(b))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && a.repeats(b))
            }
            (_, Value::Text(text)) if self.number().is_some() => text.parse().ok() == self.number(),
            _ => self.same(earlier),
        }
    }

    /// How much the tree holds: its values, with a share for long texts.
    pub(crate) fn weight(&self) -> usize {
        match &self.value {
            Value::Text(text) => crate::yaml::limits::weight(text.len()),
            Value::List(items) => 1 + items.iter().map(Node::weight).sum::<usize>(),
            Value::Map(entries) => 1 + entries.values().map(Node::weight).sum::<usize>(),
            _ => 1,
        }
    }

    /// The value as a number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.value {
            Value::Int(value) => Some(value as f64),
            Value::Large(value) => Some(value as f64),
            Value::Float(value) => Some(value),
            Value::Single(value) => Some(f64::from(value)),
            _ => None,
        }
    }
}

/// A field path that grows while a tree is walked: `services.web.ports[0]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    parts: Vec<String>,
}

impl Path {
    pub(crate) fn enter(&mut self, key: &str) {
        self.parts.push(key.to_owned());
    }

    pub(crate) fn enter_item(&mut self, index: usize) {
        self.parts.push(format!("[{index}]"));
    }

    pub(crate) fn leave(&mut self) {
        self.parts.pop();
    }

    /// The path of one entry below this one.
    pub(crate) fn of(&self, key: &str) -> String {
        let base = self.to_string();
        if base.is_empty() { key.to_owned() } else { format!("{base}.{key}") }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 && !part.starts_with('[') {
                out.write_str(".")?;
            }
            out.write_str(part)?;
        }
        Ok(())
    }
}
