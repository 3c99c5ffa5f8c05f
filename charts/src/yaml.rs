//! YAML that remembers where everything was written.
//!
//! Compose files and the manifests people write both come through here, so that a problem can point
//! at its line and column. Scalars are read the way Docker Compose reads them (YAML 1.2 with the
//! YAML 1.1 numbers and dates that its parser kept); merge keys are understood, more than one in a
//! mapping too; a key written twice is refused; so is a document whose aliases would unfold into
//! more than `limits` allows, before they are unfolded.

use hearth_meta::{Position, Problem};
use serde_json::Value as Json;

use crate::fault::Faults;
use crate::node::Node;

pub(crate) mod limits;
pub(crate) mod scalar;
pub(crate) mod repair;
pub(crate) mod tabs;
pub(crate) mod frame;
pub(crate) mod build;
#[cfg(test)]
mod tests;

/// One YAML document, with the place of every field.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the document says, as JSON.
    pub value: Json,
    root: Node,
}

impl Document {
    /// Where a field was written: `spec.values[0].name` gives the line and column of that key.
    /// A field that was not written has the position of the nearest one around it that was.
    /// An empty path means the document itself.
    #[must_use]
    pub fn position(&self, path: &str) -> Option<Position> {
        let mut node = &self.root;
        let mut rest = path;
        while !rest.is_empty() {
            let Some((next, left)) = step(node, rest) else { break };
            (node, rest) = (next, left);
        }
        let written = node.at.line > 0;
        written.then_some(Position { line: node.at.line as usize, column: node.at.column as usize })
    }
}

/// Follows the first part of a path. Keys may hold dots, so the longest key that fits is taken.
fn step<'a, 'b>(node: &'a Node, path: &'b str) -> Option<(&'a Node, &'b str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return Some((node.as_list()?.get(index.parse::<usize>().ok()?)?, rest));
    }
    let entries = node.as_map()?;
    let ends = |key: &str| matches!(path.as_bytes().get(key.len()), None | Some(b'.' | b'['));
    let key = entries
        .keys()
        .filter(|key| path.starts_with(key.as_str()) && ends(key))
        .max_by_key(|key| key.len())?;
    Some((&entries[key], &path[key.len()..]))
}

/// Reads the documents of one file. Documents that say nothing (only comments) are left out.
///
/// # Errors
/// Every problem found, with its place: YAML that cannot be read, a key written twice or that is
/// not text, an unknown alias, a file too large or too deep.
pub fn parse_documents(file_name: &str, text: &str) -> Result<Vec<Document>, Vec<Problem>> {
    let problems = |faults: Faults| faults.into_problems(&[file_name.to_owned()]);
    let documents = build::parse(text, 0).map_err(problems)?;
    let said = documents.into_iter().filter(|document| !document.root.is_null());
    Ok(said
        .map(|document| Document { value: crate::compose::json::plain(&document.root), root: document.root })
        .collect())
}
