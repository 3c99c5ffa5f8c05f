//! `include`: whole compose files of the package, loaded on their own and added to this one.

use super::load::Loader;
use super::path;
use crate::fault::Faults;
use crate::node::{At, Map, Node, Value};

/// How deep files may include each other.
const MOST_LEVELS: usize = 20;

/// Adds what a file includes to it.
pub(crate) fn apply(
    loader: &mut Loader<'_>,
    root: &mut Node,
    file: &str,
    folder: &str,
    including: &mut Vec<String>,
) -> Result<(), Faults> {
    let Some(entries) = root.as_map_mut() else { return Ok(()) };
    let Some(include) = entries.remove("include") else { return Ok(()) };
    let items = match include.value {
        Value::List(items) => items,
        Value::Null => return Ok(()),
        _ => return Err(Faults::one(include.at, "include", "expected a list of files")),
    };
    including.push(path::join(&loader.folder, file));
    for (index, item) in items.into_iter().enumerate() {
        let at = item.at;
        let wrong = |message: String| Faults::one(at, format!("include[{index}]"), message);
        let entry = Entry::of(item).map_err(wrong)?;
        let imported = one(loader, &entry, at, folder, including)?;
        add(imported, entries)?;
    }
    including.pop();
    Ok(())
}

/// One entry of `include`, written out.
struct Entry {
    paths: Vec<String>,
    folder: Option<String>,
    env_files: Vec<String>,
}

impl Entry {
    fn of(item: Node) -> Result<Self, String> {
        if let Value::Text(path) = item.value {
            return Ok(Self { paths: vec![path], folder: None, env_files: Vec::new() });
        }
        let texts = |key: &str| -> Result<Vec<String>, String> {
            let wrong = || format!("`{key}` takes a path or a list of paths");
            match item.get(key).map(|field| &field.value) {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(Value::Text(text)) => Ok(vec![text.clone()]),
                Some(Value::List(items)) => {
                    items.iter().map(|item| item.as_text().map(str::to_owned).ok_or_else(wrong)).collect()
                }
                Some(_) => Err(wrong()),
            }
        };
        let folder = item.get("project_directory").and_then(Node::as_text).filter(|text| !text.is_empty());
        Ok(Self { paths: texts("path")?, folder: folder.map(str::to_owned), env_files: texts("env_file")? })
    }
}

fn one(
    loader: &mut Loader<'_>,
    entry: &Entry,
    at: At,
    folder: &str,
    including: &mut Vec<String>,
) -> Result<Node, Faults> {
    let paths: Vec<String> = entry.paths.iter().map(|file| path::join(folder, file)).collect();
    let Some(first) = paths.first() else { return Err(Faults::one(at, "include", "`path` is missing")) };
    if including.contains(first) || including.len() >= MOST_LEVELS {
        return Err(Faults::one(
            at,
            "include",
            format!("the files include each other in a circle at {first}"),
        ));
    }
    let inner = entry.folder.as_ref().map_or_else(|| path::parent(first), |inner| path::join(folder, inner));
    let outer = loader.environment.clone();
    let (env_files, required) = if entry.env_files.is_empty() {
        (vec![path::join(&inner, ".env")], false)
    } else {
        (entry.env_files.iter().map(|file| path::join(folder, file)).collect(), true)
    };
    for (name, value) in loader.variables(&env_files, required, &outer, at)? {
        loader.environment.entry(name).or_insert(value);
    }
    let mut files = Vec::new();
    for file in paths {
        let documents = loader.parse(&file, at)?;
        files.push((file, documents));
    }
    let imported = loader.merge_files(files, &inner, including);
    loader.environment = outer;
    imported
}

/// Resources of an included file; one that is here already must say the same.
fn add(imported: Node, entries: &mut Map) -> Result<(), Faults> {
    let Value::Map(mut imported) = imported.value else { return Ok(()) };
    for section in ["services", "volumes", "networks", "secrets", "configs", "models"] {
        let Some(Node { value: Value::Map(from), at }) = imported.remove(section) else { continue };
        let to = entries.entry(section.to_owned()).or_insert_with(|| Node::map(Map::new(), at));
        if to.is_null() {
            *to = Node::map(Map::new(), at);
        }
        let Some(to) = to.as_map_mut() else { continue };
        for (name, resource) in from {
            match to.get(&name) {
                Some(known) if known.same(&resource) => {}
                Some(known) => {
                    let path = format!("{section}.{name}");
                    return Err(Faults::one(
                        known.at,
                        path,
                        "an included file defines this too, and differently",
                    ));
                }
                None => {
                    to.insert(name, resource);
                }
            }
        }
    }
    Ok(())
}
