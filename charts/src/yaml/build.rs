//! Events of the YAML parser to a tree, one document after the other.
//!
//! No recursion: levels are kept on a stack of bounded height, and aliases are unfolded only within
//! the weight a file may have, so neither nesting nor aliases can be used as a weapon.

use std::collections::{BTreeSet, HashMap};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use super::frame::{Frame, Key, Open, OpenMap};
use super::limits::{MOST_BYTES, MOST_DEPTH, MOST_DOCUMENTS, MOST_WEIGHT, weight};
use super::repair::Repaired;
use super::scalar;
use super::tabs::Tabs;
use crate::compose::secret;
use crate::fault::Faults;
use crate::node::{At, Node, Value};

/// A document and what its tags ask of the files merged before it.
pub(crate) struct Parsed {
    pub root: Node,
    /// Paths tagged `!reset` or `!override`: what an earlier file says there is dropped.
    pub resets: Vec<Vec<String>>,
}

/// Reads all documents of a text; `file` is the number its places carry.
pub(crate) fn parse(text: &str, file: u16) -> Result<Vec<Parsed>, Faults> {
    if text.len() > MOST_BYTES {
        let message = format!("the file has {} bytes; at most {MOST_BYTES} are read", text.len());
        return Err(Faults::one(At { file, line: 1, column: 1 }, "", message));
    }
    // Docker Compose's parser wants something before the mark that ends a document.
    let mut lines = text.lines().zip(1..);
    if let Some((line, number)) =
        lines.find(|(line, _)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        && line.trim_end() == "..."
    {
        return Err(Faults::one(
            At { file, line: number, column: 1 },
            "",
            "`...` ends a document, and none has begun",
        ));
    }
    let mut text = Repaired::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    loop {
        match read(&text, file) {
            Err(Stopped::Unread(error)) if text.mend(&error) => {}
            Err(Stopped::Unread(error)) => {
                let message = format!("the YAML cannot be read here: {}", error.info());
                return Err(Faults::one(at_of(file, *error.marker(), &text), "", message));
            }
            Err(Stopped::Refused(faults)) => return Err(faults),
            Ok(documents) => return Ok(documents),
        }
    }
}

/// Why a reading ended early.
enum Stopped {
    Unread(ScanError),
    Refused(Faults),
}

fn read(text: &Repaired, file: u16) -> Result<Vec<Parsed>, Stopped> {
    let mut builder = Builder::new();
    let mut parser = Parser::new_from_str(&text.text);
    let (mut tabs, mut brackets) = (Tabs::new(&text.text), Vec::new());
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(Stopped::Unread)?;
        if let Some(tabs) = &mut tabs
            && tab_indents(tabs, &mut brackets, &event, span)
        {
            let message = "a tab indents this line; use spaces";
            let faults = Faults::one(at_of(file, span.start, text), builder.path(), message);
            return Err(Stopped::Refused(faults));
        }
        builder.take(event, at_of(file, span.start, text)).map_err(Stopped::Refused)?;
    }
    builder.faults.stop().map_err(Stopped::Refused)?;
    Ok(builder.done)
}

/// Follows brackets, in which tabs mean nothing, and looks for tabs outside them.
fn tab_indents(tabs: &mut Tabs, brackets: &mut Vec<bool>, event: &Event<'_>, span: Span) -> bool {
    let (start, end) = (span.start.index(), span.end.index());
    let inside = brackets.last() == Some(&true);
    let indents = match event {
        Event::SequenceStart(..) | Event::MappingStart(..) => {
            let indents = !inside && tabs.indent_before(start);
            brackets.push(inside || tabs.is_bracket(start));
            tabs.ended(start, false);
            return indents;
        }
        Event::SequenceEnd | Event::MappingEnd => {
            if brackets.pop() == Some(true) {
                tabs.ended(end, false);
            }
            return false;
        }
        Event::Scalar(..) | Event::Alias(_) | Event::StreamEnd => !inside && tabs.indent_before(start),
        _ => return false,
    };
    let block = matches!(event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..));
    tabs.ended(end, block);
    indents
}

fn at_of(file: u16, mark: Marker, text: &Repaired) -> At {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let column = text.column(mark.line(), mark.col() + 1);
    At { file, line: number(mark.line()), column: number(column) }
}

/// A finished anchored value, or one still open (which then contains itself).
struct Anchored {
    node: Node,
    weight: usize,
    /// Where the anchor's aliases were followed, to refuse what Docker Compose takes for a cycle.
    followed: BTreeSet<String>,
}

struct Builder {
    stack: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    weight: usize,
    resets: Vec<Vec<String>>,
    root: Option<Node>,
    done: Vec<Parsed>,
    faults: Faults,
}

impl Builder {
    fn new() -> Self {
        let (stack, anchors, faults) = (Vec::new(), HashMap::new(), Faults::default());
        Self { stack, anchors, weight: 0, resets: Vec::new(), root: None, done: Vec::new(), faults }
    }

    fn take(&mut self, event: Event<'_>, at: At) -> Result<(), Faults> {
        match event {
            Event::DocumentStart(explicit) => {
                if !explicit && !self.done.is_empty() {
                    return Err(Faults::one(at, "", "another document begins with `---`"));
                }
                if self.done.len() >= MOST_DOCUMENTS {
                    return Err(Faults::one(
                        at,
                        "",
                        format!("a file has at most {MOST_DOCUMENTS} documents"),
                    ));
                }
                self.root = None;
            }
            Event::DocumentEnd => {
                let root = self.root.take().unwrap_or_else(|| Node::null(at));
                self.done.push(Parsed { root, resets: std::mem::take(&mut self.resets) });
                self.anchors.clear();
            }
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::Scalar(text, style, anchor, tag) => {
                return self.scalar((&text, style != ScalarStyle::Plain), anchor, short(tag.as_deref()), at);
            }
            Event::SequenceStart(anchor, tag) => {
                return self.open(Open::List(Vec::new()), anchor, &short(tag.as_deref()), at);
            }
            Event::MappingStart(anchor, tag) => {
                return self.open(Open::Map(OpenMap::default()), anchor, &short(tag.as_deref()), at);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, open: Open, anchor: usize, tag: &str, at: At) -> Result<(), Faults> {
        if self.stack.len() >= MOST_DEPTH {
            let message = format!("nested deeper than {MOST_DEPTH} levels");
            return Err(Faults::one(at, self.path(), message));
        }
        if self.wants_key() {
            return Err(Faults::one(at, self.path(), "a key must be text"));
        }
        self.count(1, at)?;
        let inherited = self.stack.last().is_some_and(|frame| frame.overriding);
        let (reset, overriding) = (tag == "!reset" && !inherited, tag == "!override" || inherited);
        if (reset || overriding) && !inherited {
            self.resets.push(self.parts());
        }
        let dropped = reset || self.is_dropped();
        let weight_before = self.weight;
        self.stack.push(Frame { open, at, anchor, weight_before, overriding, reset, dropped });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Faults> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let value = match frame.open {
            Open::List(items) => Value::List(items),
            Open::Map(map) => Value::Map(map.finish()),
        };
        let node = Node::new(value, frame.at);
        self.remember(frame.anchor, &node, self.weight - frame.weight_before + 1)?;
        self.place(node, frame.reset)
    }

    fn scalar(
        &mut self,
        (text, quoted): (&str, bool),
        anchor: usize,
        tag: String,
        at: At,
    ) -> Result<(), Faults> {
        self.count(weight(text.len()), at)?;
        // Written out or as an escape: nobody but Hearth makes marks.
        if secret::is_marked(text) {
            let path = self.path();
            self.faults.add_at(at, path, "the characters U+FDD0 and U+FDD1 cannot be used; remove them");
        }
        if self.wants_key() {
            let merge = text == "<<" && !quoted && matches!(tag.as_str(), "" | "!" | "!!merge");
            let value = scalar::resolve(text, quoted, &tag).unwrap_or(Value::Null);
            self.remember(anchor, &Node::new(value.clone(), at), weight(text.len()))?;
            return self.key(text, merge, &value, at);
        }
        let inherited = self.stack.last().is_some_and(|frame| frame.overriding);
        let tagged = !inherited && matches!(tag.as_str(), "!reset" | "!override");
        if tagged {
            self.resets.push(self.parts());
        }
        let value = scalar::resolve(text, quoted, &tag).unwrap_or_else(|message| {
            self.wrong(at, message);
            Value::Null
        });
        let node = Node::new(value, at);
        self.remember(anchor, &node, weight(text.len()))?;
        self.place(node, tagged && tag == "!reset")
    }

    fn key(&mut self, text: &str, merge: bool, value: &Value, at: At) -> Result<(), Faults> {
        if !merge && !matches!(value, Value::Text(_)) {
            self.wrong(at, format!("the key `{text}` is not text; put it in quotes"));
        }
        let Some(Frame { open: Open::Map(map), .. }) = self.stack.last_mut() else { return Ok(()) };
        if let Err(first) = map.take_key(Key { text: text.to_owned(), at, merge }) {
            self.wrong(at, format!("the key `{text}` is already set on line {first}; keep one of them"));
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: At) -> Result<(), Faults> {
        let path = self.path();
        let overriding = self.stack.last().is_some_and(|frame| frame.overriding);
        let Some(anchored) = self.anchors.get_mut(&anchor) else {
            return Err(Faults::one(at, path, "this alias stands inside the value it repeats"));
        };
        if !overriding && !anchored.follow(&path) {
            let message = "this alias repeats a value inside itself; Docker Compose refuses that too";
            return Err(Faults::one(at, path, message));
        }
        let weight = anchored.weight;
        self.count(weight, at)?;
        let node = Node { at, ..self.anchors[&anchor].node.clone() };
        if self.wants_key() {
            let Value::Text(text) = node.value else {
                return Err(Faults::one(at, path, "a key must be text"));
            };
            return self.key(&text, false, &Value::Text(text.clone()), at);
        }
        self.place(node, false)
    }

    /// Puts a finished value where it belongs; `reset` values only leave their mark.
    fn place(&mut self, node: Node, reset: bool) -> Result<(), Faults> {
        let at = node.at;
        match self.stack.last_mut().map(|frame| &mut frame.open) {
            None => self.root = (!reset).then_some(node),
            Some(Open::List(items)) if !reset => items.push(node),
            Some(Open::Map(map)) if !reset => {
                if let Err(message) = map.take_value(node) {
                    let path = self.path();
                    self.faults.add_at(at, path, message);
                }
            }
            Some(Open::Map(map)) => map.key = None,
            Some(Open::List(_)) => {}
        }
        Ok(())
    }

    /// A problem with what a value says, where anybody reads it.
    fn wrong(&mut self, at: At, message: impl Into<String>) {
        if !self.is_dropped() {
            let path = self.path();
            self.faults.add_at(at, path, message);
        }
    }

    fn is_dropped(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.dropped)
    }

    fn wants_key(&self) -> bool {
        matches!(self.stack.last(), Some(Frame { open: Open::Map(OpenMap { key: None, .. }), .. }))
    }

    /// Keeps a copy of an anchored value for its aliases; the copy counts, as it takes memory too.
    fn remember(&mut self, anchor: usize, node: &Node, weight: usize) -> Result<(), Faults> {
        if anchor == 0 {
            return Ok(());
        }
        self.count(weight, node.at)?;
        self.anchors.insert(anchor, Anchored { node: node.clone(), weight, followed: BTreeSet::new() });
        Ok(())
    }

    fn count(&mut self, weight: usize, at: At) -> Result<(), Faults> {
        self.weight += weight;
        if self.weight <= MOST_WEIGHT {
            return Ok(());
        }
        let message = "the file unfolds into more values than are read; it repeats too much with aliases";
        Err(Faults::one(at, self.path(), message))
    }

    /// The path of the value that comes next, without merge keys.
    fn parts(&self) -> Vec<String> {
        let part = |frame: &Frame| match &frame.open {
            Open::List(items) => Some(items.len().to_string()),
            Open::Map(map) => map.key.as_ref().filter(|key| !key.merge).map(|key| key.text.clone()),
        };
        self.stack.iter().filter_map(part).collect()
    }

    fn path(&self) -> String {
        let mut path = crate::node::Path::default();
        for frame in &self.stack {
            match &frame.open {
                Open::List(items) => path.enter_item(items.len()),
                Open::Map(OpenMap { key: Some(key), .. }) if !key.merge => path.enter(&key.text),
                Open::Map(_) => {}
            }
        }
        path.to_string()
    }
}

impl Anchored {
    /// Notes that the value is repeated at `path`. Docker Compose takes a value repeated both
    /// somewhere and below that place for a cycle, unless the two are in different services.
    fn follow(&mut self, path: &str) -> bool {
        let ends = path.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(end, _)| end);
        let above = ends.into_iter().any(|end| self.followed.contains(&path[..end]));
        let below = ['.', '['].iter().any(|separator| {
            let start = format!("{path}{separator}");
            self.followed.range(start.clone()..).next().is_some_and(|next| next.starts_with(&start))
        });
        self.followed.insert(path.to_owned());
        !(above || below)
    }
}

fn short(tag: Option<&Tag>) -> String {
    match tag {
        None => String::new(),
        Some(tag) if tag.is_yaml_core_schema() => format!("!!{}", tag.suffix),
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => "!".to_owned(),
        Some(tag) => format!("{}{}", tag.handle, tag.suffix),
    }
}
