//! Secrets stay references: only the value of an environment variable and the content of a config may hold one.

use super::{DATA, Judge, Package, Value};
use crate::compose::secret;
use crate::fault::Faults;
use crate::node::{At, Node, Path, Value as Tree};

/// Refuses files and values that hold the characters marks are made of, so none can be forged.
pub(super) fn forbid_marks(package: &Package<'_>) -> Result<(), Faults> {
    let mut faults = Faults::default();
    let message = "has characters that no text may contain (U+FDD0, U+FDD1); remove them";
    for (name, bytes) in package.files {
        if std::str::from_utf8(bytes).is_ok_and(secret::is_marked) {
            faults.add_at(At::default(), "", format!("the file {name} {message}"));
        }
    }
    for (name, value) in package.values {
        let marked = matches!(value, Value::Plain(text) if secret::is_marked(text));
        if marked || secret::is_marked(name) {
            faults.add_at(At::default(), format!("values.{}", secret::shown(name)), message);
        }
    }
    faults.stop()
}

/// Refuses every secret outside environment variables, and the data folder outside volumes.
pub(super) fn check(judge: &mut Judge<'_>, model: &Node) {
    visit(judge, model, &mut Path::default(), &mut Vec::new());
}

fn visit<'a>(judge: &mut Judge<'_>, node: &'a Node, path: &mut Path, keys: &mut Vec<&'a str>) {
    match &node.value {
        Tree::Text(text) => {
            let in_environment =
                matches!(keys.as_slice(), ["services", _, "environment", _] | ["configs", _, "content"]);
            if secret::is_marked(text) && !in_environment {
                let message = "a secret can only be the value of an environment variable or the content of a config; put it there";
                judge.refuse(node, path.to_string(), message);
            }
            let is_source = matches!(keys.as_slice(), ["services", _, "volumes", "source"]);
            let resolved = matches!(
                keys.as_slice(),
                ["configs" | "secrets", _, "file"]
                    | ["services", _, "build", ..]
                    | ["services", _, "develop", ..]
            );
            if text.contains(DATA) && !is_source && !resolved {
                judge.refuse(node, path.to_string(), "DATA_DIR can only be the source of a volume");
            }
        }
        Tree::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.enter_item(index);
                visit(judge, item, path, keys);
                path.leave();
            }
        }
        Tree::Map(entries) => {
            for (key, value) in entries {
                // Extensions of the file are where people keep what they merge; nothing runs them.
                if keys.is_empty() && key.starts_with("x-") {
                    continue;
                }
                // A name can be made of a variable too: `- ${SECRET}=x`.
                if secret::is_marked(key) {
                    let message = "a secret cannot be part of a name; write the name out";
                    judge.refuse(value, path.of(&secret::shown(key)), message);
                }
                path.enter(key);
                keys.push(key);
                visit(judge, value, path, keys);
                keys.pop();
                path.leave();
            }
        }
        _ => {}
    }
}
