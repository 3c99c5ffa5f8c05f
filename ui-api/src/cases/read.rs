//! Reads a folder of cases and objects: everything is read and judged before anything runs, and every problem is told
//! at once.
//!
//! Files of one folder, and of the folders in it, in the order of their paths. A file whose documents are of kind
//! `Case` holds cases. In the folder of a compose file, and in those within it, only what has an `apiVersion` is ours;
//! the rest is the package's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hearth_charts::yaml::{Document, parse_documents};
use hearth_meta::{Position, Problem};
use serde_json::{Value, json};

use super::case::{Asking, Case, CaseFile, Named, Step, Verb};
use super::objects::Objects;
use super::parse::{KIND_FIELD, Reader};
use super::schema::KIND;

/// What a record of a case file ends with, beside it.
const RECORD: &str = "out";
/// What a package's compose file may be called.
const COMPOSE: [&str; 4] = ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];
/// What the case is called that a folder without cases stands for.
const OF_FOLDER: &str = "everything here settles, is Ready, and stays as it is";

/// What a folder holds.
#[derive(Debug)]
pub struct Suite {
    /// Its case files; of a folder without any, one that stands for its objects.
    pub files: Vec<CaseFile>,
    /// Whether it holds no case of its own, and stands for its objects.
    pub is_of_objects: bool,
}

/// Why a folder cannot be tested.
#[derive(Debug)]
pub enum Unreadable {
    /// A file or folder cannot be read: which, and what the system says.
    Missing(PathBuf, std::io::Error),
    /// There is nothing in it.
    Empty(PathBuf),
    /// Something is wrong in the files: each problem with its place, and the texts they stand in.
    Problems(Vec<Problem>, BTreeMap<String, String>),
}

impl Unreadable {
    /// Why, in one sentence; and every problem, in lines.
    pub fn in_words(&self) -> (String, String) {
        match self {
            Self::Missing(path, error) => {
                (format!("{} cannot be read: {error}", path.display()), String::new())
            }
            Self::Empty(path) => {
                (format!("{} holds neither a case nor an object", path.display()), String::new())
            }
            Self::Problems(problems, _) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                (format!("{} problems; nothing was run", problems.len()), lines.join("\n"))
            }
        }
    }
}

/// The files of a folder, as they are read.
#[derive(Default)]
pub(super) struct Texts {
    /// By path.
    pub(super) texts: BTreeMap<String, String>,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
    /// Files whose objects must be refused, as cases say.
    pub(super) refused: BTreeSet<PathBuf>,
    /// The folder that is read.
    root: PathBuf,
}

impl Suite {
    /// Reads a folder, or one file of cases.
    ///
    /// # Errors
    /// Why it cannot be tested, all of it.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let mut paths = Vec::new();
        let missing = |error| Unreadable::Missing(path.to_owned(), error);
        if std::fs::metadata(path).map_err(missing)?.is_dir() {
            collect(path, &mut paths).map_err(missing)?;
        } else {
            paths.push(path.to_owned());
        }
        let root = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
        let mut texts = Texts { root: root.to_owned(), ..Texts::default() };
        let (mut files, mut of_objects, mut objects) = (Vec::new(), Vec::new(), Objects::default());
        for file in &paths {
            let Some(documents) = texts.documents(file)? else { continue };
            let is_case = |document: &Document| document.value[KIND_FIELD] == KIND;
            if documents.iter().any(is_case) {
                let cases = cases_in(file, &documents, &mut texts);
                files.push(CaseFile { path: file.clone(), cases });
            } else if !texts.is_of_package(file) || documents.iter().any(|d| !d.value["apiVersion"].is_null())
            {
                of_objects.push((file, documents));
            }
        }
        // Only the cases say what must be refused.
        for (file, documents) in of_objects {
            if !texts.refused.contains(file) {
                objects.take(file, documents, super::HOUSEHOLD, &mut texts);
            }
        }
        tell_shared_records(&files, &mut texts);
        objects.tell_doubles(&mut texts);
        if !texts.problems.is_empty() {
            return Err(Unreadable::Problems(texts.problems, texts.texts));
        }
        let is_of_objects = files.is_empty();
        if is_of_objects {
            if objects.is_empty() {
                return Err(Unreadable::Empty(path.to_owned()));
            }
            files.push(CaseFile { path: path.to_owned(), cases: vec![of_folder(path, objects)] });
        }
        Ok(Self { files, is_of_objects })
    }
}

/// The case that a folder without cases stands for.
fn of_folder(path: &Path, objects: Objects) -> Case {
    let place = path.display().to_string();
    let names: Vec<Named> = objects.names();
    let step = |words: &str, verb| Step { place: place.clone(), words: words.to_owned(), verb };
    // What has no status is to be there.
    let well = |named: Named| {
        let is_told = named.kind.has_status && !named.kind.finalizers.is_empty();
        let wanted = if is_told { json!({ "status": { "summary": "Ready" } }) } else { json!({}) };
        (named, wanted)
    };
    Case {
        name: OF_FOLDER.to_owned(),
        seed: 1,
        restless: None,
        steps: vec![
            step("apply all of it", Verb::Ask(objects.into_asking())),
            step("settle", Verb::Settle),
            step("assert that all of it is Ready", Verb::Assert(names.into_iter().map(well).collect())),
        ],
    }
}

fn cases_in(file: &Path, documents: &[Document], texts: &mut Texts) -> Vec<Case> {
    let mut cases = Vec::new();
    for document in documents {
        let mut reader = Reader::new(file, document, texts);
        if let Some(case) = reader.case() {
            cases.push(case);
        }
    }
    for (number, case) in cases.iter().enumerate() {
        if cases[..number].iter().any(|other| other.name == case.name) {
            let problem = Problem::new("name", format!("there are two cases called {:?}", case.name));
            texts.problems.push(Problem { file: Some(file.display().to_string()), ..problem });
        }
    }
    cases
}

/// Each case file needs a record of its own.
fn tell_shared_records(files: &[CaseFile], texts: &mut Texts) {
    for (number, file) in files.iter().enumerate() {
        if let Some(other) =
            files[..number].iter().find(|other| record_of(&other.path) == record_of(&file.path))
        {
            let shown = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let record = record_of(&file.path);
            let said = format!(
                "shares the record {} with {}: rename one of them",
                shown(&record),
                shown(&other.path)
            );
            let at = Position { line: 1, column: 1 };
            texts.problems.push(Problem::new("", said).at(&file.path.display().to_string(), at));
        }
    }
}

/// Where what happens in the cases of a file is on record.
pub fn record_of(file: &Path) -> PathBuf {
    file.with_extension(RECORD)
}

impl Texts {
    /// The documents of a file, its text being kept; `None` for a file whose problems are told.
    pub(super) fn documents(&mut self, file: &Path) -> Result<Option<Vec<Document>>, Unreadable> {
        let shown = file.display().to_string();
        let text =
            std::fs::read_to_string(file).map_err(|error| Unreadable::Missing(file.to_owned(), error))?;
        let parsed = parse_documents(&shown, &text);
        self.texts.insert(shown, text);
        Ok(match parsed {
            Ok(documents) => Some(documents),
            // A package's own file may be anything.
            Err(_) if self.is_of_package(file) => None,
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        })
    }

    /// Whether a file lies in the folder of a package, or in one within it.
    fn is_of_package(&self, file: &Path) -> bool {
        for folder in file.ancestors().skip(1) {
            if COMPOSE.iter().any(|name| folder.join(name).is_file()) {
                return true;
            }
            // What lies above the folder that is read is nobody's business here.
            if folder == self.root || !folder.starts_with(&self.root) {
                break;
            }
        }
        false
    }

    /// Notes problems with their places.
    pub(super) fn note(&mut self, file: &Path, document: &Document, problems: Vec<Problem>) {
        let shown = file.display().to_string();
        let placed = problems.into_iter().map(|problem| {
            let at = document.position(&problem.field).unwrap_or(Position { line: 1, column: 1 });
            if problem.position.is_some() { problem } else { problem.at(&shown, at) }
        });
        self.problems.extend(placed);
    }
}

/// Every YAML file of a folder and of those in it, but hidden ones and compose files.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_yaml = [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending));
        if name.starts_with('.') || COMPOSE.contains(&name.as_str()) {
            continue;
        }
        // A link to a folder may lead anywhere, also back.
        if path.is_dir() && !path.is_symlink() {
            collect(&path, paths)?;
        } else if is_yaml && path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// Every YAML file of a folder, for a step that names it.
pub(super) fn yaml_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    Ok(paths)
}

/// The folder of the package that an object names: of that name beside the file that declares it, or that file's own.
fn package(file: &Path, path: &str) -> Option<PathBuf> {
    let beside = file.parent()?;
    let own = Path::new(path).file_name()?;
    [beside.join(own), beside.to_owned()]
        .into_iter()
        .find(|folder| COMPOSE.iter().any(|name| folder.join(name).is_file()))
}

/// Whether a file beside a package is an object or a case, and not the package's.
fn is_ours(name: &str, bytes: &[u8]) -> bool {
    let begins =
        |with: &[u8]| bytes.starts_with(&with[1..]) || bytes.windows(with.len()).any(|part| part == with);
    [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending)) && begins(b"\napiVersion:")
}

/// The packages that an object names, as things to be there before it. A folder that a machine would refuse is refused
/// here, in the same words.
pub(super) fn packages_of(file: &Path, object: &Value) -> Result<Option<Asking>, Problem> {
    let Some(path) = object["spec"]["package"]["path"].as_str().filter(|_| object["kind"] == "App") else {
        return Ok(None);
    };
    let Some(folder) = package(file, path) else {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let said = format!(
            "no package is here for {path}: put its folder {name}, with a compose.yaml, beside this file"
        );
        return Err(Problem::new("spec.package.path", said));
    };
    let read = hearth_linux::volumes::read_package_folder(&folder);
    let mut files = read.map_err(|fault| Problem::new("spec.package.path", fault.to_string()))?;
    files.retain(|name, bytes| !is_ours(name, bytes));
    Ok(Some(Asking::Package(path.to_owned(), files)))
}
