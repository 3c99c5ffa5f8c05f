//! Which objects are asked for: kind, namespace, labels and fields, as the Kubernetes API has them.

use crate::object::Object;

/// Asks for objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The kind, or [`Query::EVERY_KIND`] in a watch.
    pub kind: String,
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Requirements on labels; all must hold.
    pub labels: Vec<Requirement>,
    /// Requirements on fields, named by their path such as `metadata.name`; all must hold.
    pub fields: Vec<Requirement>,
}

/// One requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The value is one of these.
    In(String, Vec<String>),
    /// The value is none of these, or there is none.
    NotIn(String, Vec<String>),
    /// There is a value.
    Exists(String),
    /// There is none.
    Absent(String),
}

impl Query {
    /// Stands for every kind, in a watch.
    pub const EVERY_KIND: &'static str = "*";

    /// All objects of a kind.
    pub fn of(kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..Self::default() }
    }

    /// The same, in one namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The same, with a label of this value.
    #[must_use]
    pub fn labelled(mut self, name: &str, value: &str) -> Self {
        self.labels.push(Requirement::In(name.to_owned(), vec![value.to_owned()]));
        self
    }

    /// Whether an object is asked for.
    pub fn matches(&self, object: &Object) -> bool {
        let label = |name: &str| object.metadata.labels.as_ref().and_then(|labels| labels.get(name)).cloned();
        self.asks_for_kind(&object.kind)
            && self.is_within(object)
            && self.labels.iter().all(|requirement| requirement.holds(label))
            && self.fields.iter().all(|requirement| requirement.holds(|path| field(object, path)))
    }
}

impl Query {
    /// Whether it asks by labels or fields, besides kind and namespace.
    pub fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    pub(super) fn asks_for_kind(&self, kind: &str) -> bool {
        self.kind == kind || self.kind == Self::EVERY_KIND
    }

    fn is_within(&self, object: &Object) -> bool {
        self.namespace.as_ref().is_none_or(|wanted| object.metadata.namespace.as_ref() == Some(wanted))
    }

    /// Whether an object may have been asked for in an earlier state of it: all but kind and name can change.
    pub(super) fn may_have_matched(&self, object: &Object) -> bool {
        let is_name = |requirement: &&Requirement| {
            ["metadata.name", "metadata.namespace"].contains(&requirement.name())
        };
        self.asks_for_kind(&object.kind)
            && self.is_within(object)
            && self
                .fields
                .iter()
                .filter(is_name)
                .all(|requirement| requirement.holds(|path| field(object, path)))
    }
}

impl Requirement {
    fn name(&self) -> &str {
        let (Self::In(name, _) | Self::NotIn(name, _) | Self::Exists(name) | Self::Absent(name)) = self;
        name
    }

    /// Whether it holds of what has these values by name.
    pub fn holds(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::In(name, allowed) => value(name).is_some_and(|value| allowed.contains(&value)),
            Self::NotIn(name, refused) => value(name).is_none_or(|value| !refused.contains(&value)),
            Self::Exists(name) => value(name).is_some(),
            Self::Absent(name) => value(name).is_none(),
        }
    }
}

fn field(object: &Object, path: &str) -> Option<String> {
    match path {
        "metadata.name" => Some(object.name().to_owned()),
        "metadata.namespace" => Some(object.metadata.namespace.clone().unwrap_or_default()),
        _ => {
            let mut parts = path.split('.');
            let mut value = object.body.get(parts.next()?)?;
            for part in parts {
                value = value.get(part)?;
            }
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        }
    }
}

/// Parses a selector as clients write it: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`.
///
/// # Errors
/// One sentence that says which part is wrong.
pub fn parse_selector(text: &str) -> Result<Vec<Requirement>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    split_outside_parentheses(text).into_iter().map(checked_requirement).collect()
}

/// One without a name would hold of everything, and a script that lost a variable would mean everything.
fn checked_requirement(part: &str) -> Result<Requirement, String> {
    if part.is_empty() {
        return Err("a requirement is empty; take out the comma that is too many".to_owned());
    }
    let requirement = parse_requirement(part)?;
    let name = requirement.name();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric();
    let is_allowed = |letter: char| is_plain(letter) || "-_./".contains(letter);
    if name.chars().all(is_allowed) && name.starts_with(is_plain) && name.ends_with(is_plain) {
        return Ok(requirement);
    }
    Err(format!("selector {part:?} names no label or field; write a=b, a!=b, a in (b,c), a or !a"))
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn parse_requirement(part: &str) -> Result<Requirement, String> {
    let set = |rest: &str| -> Result<Vec<String>, String> {
        let inner = rest.trim().strip_prefix('(').and_then(|r| r.strip_suffix(')'));
        let inner = inner.ok_or_else(|| format!("selector {part:?} needs its values in parentheses"))?;
        Ok(inner.split(',').map(|value| value.trim().to_owned()).collect())
    };
    if let Some((name, rest)) = part.split_once(" notin ") {
        return Ok(Requirement::NotIn(name.trim().to_owned(), set(rest)?));
    }
    if let Some((name, rest)) = part.split_once(" in ") {
        return Ok(Requirement::In(name.trim().to_owned(), set(rest)?));
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(name.trim().to_owned(), vec![value.trim().to_owned()]));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::In(name.trim().to_owned(), vec![value.trim().to_owned()]));
    }
    let (name, absent) = part.strip_prefix('!').map_or((part, false), |name| (name.trim(), true));
    if name.contains(char::is_whitespace) {
        return Err(format!("selector {part:?} is not understood; write a=b, a!=b, a in (b,c), a or !a"));
    }
    Ok(if absent { Requirement::Absent(name.to_owned()) } else { Requirement::Exists(name.to_owned()) })
}
