//! `source:target:options`, the short form of a mount.

use crate::node::{At, Map, Node, Value};

use super::path;

/// A short mount taken apart. Nothing is resolved yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Short {
    /// Empty for a volume without a name.
    pub source: String,
    pub target: String,
    pub read_only: bool,
    nocopy: bool,
    propagation: Option<String>,
    selinux: Option<String>,
    /// A target alone of one or two characters, which carries no `volume` section.
    bare: bool,
}

/// Takes a short mount apart. A single letter before a colon is a Windows drive, and a colon
/// inside `${...}` separates nothing.
///
/// # Errors
/// A sentence that says what a mount looks like.
pub(crate) fn parse(text: &str) -> Result<Short, String> {
    let wrong = |why: &str| format!("`{text}` is not a mount: {why}; write it like ./data:/data");
    if text.is_empty() {
        return Err(wrong("it is empty"));
    }
    if text.len() <= 2 {
        return Ok(Short { target: text.to_owned(), bare: true, ..Short::default() });
    }
    let sections = sections(text).ok_or_else(|| wrong("a variable in it is not closed"))?;
    if sections.iter().any(String::is_empty) {
        return Err(wrong("nothing stands between two colons"));
    }
    let mut short = Short::default();
    match sections.as_slice() {
        [target] => short.target.clone_from(target),
        [source, target] => (short.source, short.target) = (source.clone(), target.clone()),
        [source, target, options] => {
            (short.source, short.target) = (source.clone(), target.clone());
            options.split(',').for_each(|option| short.option(option));
        }
        _ => return Err(wrong("it has too many colons")),
    }
    Ok(short)
}

/// The parts between the colons; none when a `${` is never closed.
fn sections(text: &str) -> Option<Vec<String>> {
    let mut sections = vec![String::new()];
    let mut inside = 0u32;
    let bytes = text.as_bytes();
    for (index, character) in text.char_indices() {
        let last = sections.last_mut().expect("there is always a last section");
        match character {
            '$' if bytes.get(index + 1) == Some(&b'{') => {
                inside += 1;
                last.push(character);
            }
            '}' if inside > 0 => {
                inside -= 1;
                last.push(character);
            }
            ':' if is_letter(last) => last.push(character),
            ':' if inside == 0 => sections.push(String::new()),
            _ => last.push(character),
        }
    }
    (inside == 0).then_some(sections)
}

fn is_letter(section: &str) -> bool {
    let mut characters = section.chars();
    characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none()
}

impl Short {
    fn option(&mut self, option: &str) {
        match option {
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "nocopy" => self.nocopy = true,
            "rprivate" | "private" | "rshared" | "shared" | "rslave" | "slave" => {
                self.propagation = Some(option.to_owned());
            }
            "z" | "Z" => self.selinux = Some(option.to_owned()),
            // Options nobody knows are dropped, as Docker Compose does.
            _ => {}
        }
    }

    /// The same mount in the long form.
    pub(crate) fn into_long(self, at: At) -> Node {
        let text = |text: String| Node::text(text, at);
        let bind = !self.bare && path::is_host_path(&self.source);
        let mut long = Map::new();
        long.insert("type".into(), text(if bind { "bind" } else { "volume" }.to_owned()));
        if !self.source.is_empty() {
            long.insert("source".into(), text(self.source.clone()));
        }
        if !self.target.is_empty() {
            long.insert("target".into(), text(path::clean(&self.target)));
        }
        if self.read_only {
            long.insert("read_only".into(), Node::bool(true, at));
        }
        if bind || self.propagation.is_some() || self.selinux.is_some() {
            long.insert("bind".into(), Node::map(self.bind_section(bind, at), at));
        }
        if (!bind && !self.bare) || self.nocopy {
            let nocopy = self.nocopy.then(|| ("nocopy".to_owned(), Node::bool(true, at)));
            long.insert("volume".into(), Node::map(nocopy.into_iter().collect(), at));
        }
        Node::new(Value::Map(long), at)
    }

    fn bind_section(&self, create: bool, at: At) -> Map {
        let text = |(key, value): (&str, &Option<String>)| {
            value.as_ref().map(|value| (key.to_owned(), Node::text(value.clone(), at)))
        };
        let texts =
            [("propagation", &self.propagation), ("selinux", &self.selinux)].into_iter().filter_map(text);
        let create = create.then(|| ("create_host_path".to_owned(), Node::bool(true, at)));
        texts.chain(create).collect()
    }
}
