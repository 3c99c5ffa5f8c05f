//! The objects that a case or a folder declares: judged as the server would judge them, before anything runs.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hearth_charts::yaml::Document;
use hearth_engine::Key;
use hearth_kinds::Settings;
use hearth_meta::{KindInfo, Problem};
use serde_json::Value;

use super::case::{Asking, Named};
use super::read::{Texts, packages_of};
use crate::cli::manifest;
use crate::serve::admission;

static APP: LazyLock<Option<KindInfo>> =
    LazyLock::new(|| admission::kinds(&Settings::default()).into_iter().find(|kind| kind.kind == "App"));

/// Objects of files, in an order in which they can be made.
#[derive(Default)]
pub(super) struct Objects {
    items: Vec<Item>,
    packages: Vec<Asking>,
}

struct Item {
    named: Named,
    value: Value,
    file: PathBuf,
    document: Document,
}

impl Objects {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes the objects of a file's documents, and notes what is wrong with them.
    pub(super) fn take(&mut self, file: &Path, documents: Vec<Document>, namespace: &str, texts: &mut Texts) {
        for document in documents {
            let mut value = document.value.clone();
            let judged = judge(&mut value, namespace).and_then(|named| {
                let package = packages_of(file, &value).map_err(|problem| vec![problem])?;
                Ok((named, package))
            });
            match judged {
                Ok((named, package)) => {
                    self.packages.extend(package);
                    self.items.push(Item { named, value, file: file.to_owned(), document });
                }
                Err(problems) => texts.note(file, &document, problems),
            }
        }
    }

    /// Takes the objects of a file that must be refused when they are asked for: which they are has to be clear, and
    /// what is wrong with them is what the case is about.
    pub(super) fn take_to_be_refused(
        &mut self,
        file: &Path,
        documents: Vec<Document>,
        namespace: &str,
        texts: &mut Texts,
    ) {
        for document in documents {
            let mut value = document.value.clone();
            match identify(&mut value, namespace) {
                Ok(named) => self.items.push(Item { named, value, file: file.to_owned(), document }),
                Err(problems) => texts.note(file, &document, problems),
            }
        }
    }

    /// Notes what is declared more than once.
    pub(super) fn tell_doubles(&self, texts: &mut Texts) {
        for (number, item) in self.items.iter().enumerate() {
            if self.items[..number].iter().any(|other| other.named.key == item.named.key) {
                let problem = Problem::new("metadata.name", format!("{} is declared twice", item.named));
                texts.note(&item.file, &item.document, vec![problem]);
            }
        }
    }

    pub(super) fn names(&self) -> Vec<Named> {
        self.items.iter().map(|item| item.named.clone()).collect()
    }

    /// As what is asked for: packages, then namespaces, secrets, and all else.
    pub(super) fn into_asking(mut self) -> Vec<Asking> {
        self.items.sort_by_key(|item| match item.named.kind.kind {
            "Namespace" => 0,
            "Secret" => 1,
            _ => 2,
        });
        self.packages
            .into_iter()
            .chain(self.items.into_iter().map(|item| Asking::Apply(item.value)))
            .collect()
    }
}

/// Judges an object as the server would; its namespace is filled in.
pub(super) fn judge(value: &mut Value, namespace: &str) -> Result<Named, Vec<Problem>> {
    let target = manifest::judge(value, namespace)?;
    let problems = match &*APP {
        Some(app) if target.kind.kind == "App" => {
            let mut filled = value.clone();
            (app.default)(&mut filled, None);
            (app.validate)(&filled, None)
        }
        _ => Vec::new(),
    };
    if problems.is_empty() { Ok(named(&target)) } else { Err(problems) }
}

/// An object that is to be refused: only which it is, is looked at.
pub(super) fn identify(value: &mut Value, namespace: &str) -> Result<Named, Vec<Problem>> {
    manifest::identify(value, namespace).map(|target| named(&target))
}

fn named(target: &crate::cli::resource::Target) -> Named {
    let key = Key::new(target.kind.kind, target.namespace.as_deref().unwrap_or_default(), &target.name);
    Named { kind: target.kind.clone(), key, written: target.to_string() }
}
