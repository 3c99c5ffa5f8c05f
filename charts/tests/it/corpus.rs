//! Real compose files people publish, and what Docker Compose makes of them.
//!
//! They live outside the project: `$HEARTH_CORPUS` names the folder. Without it the tests that need
//! them run on the fixtures beside this file, and say so.

use std::fs;
use std::path::{Path, PathBuf};

/// One published file.
pub(crate) struct Case {
    /// `catalogue/app`.
    pub(crate) name: String,
    pub(crate) text: String,
    /// What Docker Compose printed; none where it refused the file.
    pub(crate) expected: Option<serde_json::Value>,
}

/// All cases, sorted by name, and whether they are the corpus (or only our fixtures).
pub(crate) fn cases() -> (Vec<Case>, bool) {
    let named = std::env::var_os("HEARTH_CORPUS").map(PathBuf::from);
    let found = named.as_deref().map(root).filter(|root| root.is_dir());
    let real = found.is_some();
    let root = found.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/oracle"));
    if !real {
        println!("HEARTH_CORPUS names no corpus: running on our own fixtures only");
    }
    let mut cases: Vec<Case> =
        folders(&root).iter().flat_map(|catalogue| folders(catalogue)).filter_map(read).collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    (cases, real)
}

fn root(named: &Path) -> PathBuf {
    let inner = named.join("compose");
    if inner.is_dir() { inner } else { named.to_owned() }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(path).map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect());
    entries.unwrap_or_else(|_| Vec::<PathBuf>::new()).into_iter().filter(|path| path.is_dir()).collect()
}

fn read(folder: PathBuf) -> Option<Case> {
    let text = fs::read_to_string(folder.join("compose.yml")).ok()?;
    let expected = fs::read_to_string(folder.join("expected.json")).ok();
    let expected = expected.map(|json| serde_json::from_str(&json).expect("expected.json is JSON"));
    let mut names = folder.iter().rev().map(|part| part.to_string_lossy().into_owned());
    let (app, catalogue) = (names.next()?, names.next()?);
    Some(Case { name: format!("{catalogue}/{app}"), text, expected })
}
