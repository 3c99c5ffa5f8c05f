//! The rules of the format's table, applied to everything a file says.

use super::Judge;
use crate::compose::load::Loaded;
use crate::compose::schema::top::FILE;
use crate::compose::schema::{Read, Rule, Section};
use crate::node::{Node, Path, Value};

/// Warns of what has no effect and refuses what is not allowed, key by key. Services that do not
/// run and resources that nothing uses are passed over.
pub(super) fn walk(judge: &mut Judge<'_>, loaded: &Loaded) {
    let mut walk = Walk { judge, path: Path::default() };
    let Some(entries) = loaded.written.as_map() else { return };
    for (key, value) in entries {
        let Some(field) = FILE.find(key) else { continue };
        walk.path.enter(key);
        match &field.read {
            Read::Named(section, _) => {
                let used = loaded.model.get(key).and_then(Node::as_map);
                let is_used = |name: &str| used.is_some_and(|used| used.contains_key(name));
                for (name, entry) in value.as_map().into_iter().flatten().filter(|(name, _)| is_used(name)) {
                    walk.path.enter(name);
                    walk.section(section, entry);
                    walk.path.leave();
                }
            }
            _ => walk.rule(field.rule, value),
        }
        walk.path.leave();
    }
    for (name, service) in entries.get("services").and_then(Node::as_map).into_iter().flatten() {
        if loaded.model.get("services").and_then(|services| services.get(name)).is_none() {
            let path = format!("services.{name}.profiles");
            walk.judge.warn(
                service,
                path,
                "the service has a profile and is not run; remove the profile to run it",
            );
        }
    }
}

struct Walk<'a, 'b> {
    judge: &'a mut Judge<'b>,
    path: Path,
}

impl Walk<'_, '_> {
    fn section(&mut self, section: &'static Section, node: &Node) {
        for (key, value) in node.as_map().into_iter().flatten() {
            // What is not in the table is an extension (`x-`): the shape was checked before.
            let Some(field) = section.find(key) else { continue };
            self.path.enter(key);
            self.rule(field.rule, value);
            if matches!(field.rule, Rule::Kept | Rule::Judged) {
                self.below(&field.read, value);
            }
            self.path.leave();
        }
    }

    fn below(&mut self, read: &Read, node: &Node) {
        match read {
            Read::Section(section) | Read::Always(section) => self.section(section, node),
            Read::Sections(section) => {
                for (index, item) in node.as_list().unwrap_or_default().iter().enumerate() {
                    self.path.enter_item(index);
                    self.section(section, item);
                    self.path.leave();
                }
            }
            Read::Named(section, _) => {
                for (name, entry) in node.as_map().into_iter().flatten() {
                    self.path.enter(name);
                    self.section(section, entry);
                    self.path.leave();
                }
            }
            _ => {}
        }
    }

    fn rule(&mut self, rule: Rule, node: &Node) {
        if says_nothing(node) {
            return;
        }
        match rule {
            Rule::Kept | Rule::Judged | Rule::Within => {}
            Rule::Ignored(why) => {
                self.judge.warn(node, self.path.to_string(), format!("has no effect here: {why}"))
            }
            Rule::Refused(why) => {
                self.judge.refuse(node, self.path.to_string(), format!("is not allowed: {why}"))
            }
        }
    }
}

/// Whether a value is what would be understood without it: nothing, false, or empty.
fn says_nothing(node: &Node) -> bool {
    match &node.value {
        Value::Null | Value::Bool(false) => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}
