//! From the files of a project to its model: the stages in their order.
//!
//! Each file is parsed, its variables are put in place, its `extends` and `include` are followed,
//! and it is merged onto those before it; then the whole is checked for shape, written out in its
//! long forms, completed and given its types. A stage reports everything it finds wrong; the next
//! one runs only on what passed.

use std::collections::BTreeMap;

use super::files::Files;
use super::template::Lookup;
use super::{
    canonical, consistency, defaults, dotenv, extends, include, interpolate, merge, normalise, path,
    service_files, shape, typed, unique,
};
use crate::fault::Faults;
use crate::node::{At, Map, Node};
use crate::yaml::build::{self, Parsed};
use crate::yaml::limits::{MOST_PROJECT_BYTES, MOST_READS, MOST_SERVICES};

/// What to load, and from where.
pub(crate) struct Request<'a> {
    pub files: &'a dyn Files,
    /// The compose files, the first one the base, by their path in `files`.
    pub names: &'a [String],
    /// The folder paths are seen from, absolute.
    pub folder: &'a str,
    /// The folder `~` stands for; without one it is a name like any other.
    pub home: Option<&'a str>,
    /// The project's name; the file's own or the folder's when none is given.
    pub project: Option<&'a str>,
    /// Variables, before those of `env_files` are added.
    pub environment: BTreeMap<String, String>,
    /// Files of variables; `.env` if it exists when none is given.
    pub env_files: &'a [String],
    pub profiles: &'a [String],
}

/// A loaded project.
pub(crate) struct Loaded {
    /// The name of the project.
    pub project: String,
    /// The normalised file, before types: everything that was written, in its long form.
    pub written: Node,
    /// The typed model, with only what enabled services use.
    pub model: Node,
    /// The variables of the project.
    pub environment: BTreeMap<String, String>,
}

/// Loads a project. The names of all files read are left in `seen`, for the places in problems.
pub(crate) fn load(request: Request<'_>, seen: &mut Vec<String>) -> Result<Loaded, Faults> {
    let mut loader = Loader {
        files: request.files,
        folder: path::clean(request.folder),
        home: request.home,
        seen,
        environment: request.environment,
        reads: 0,
        bytes: 0,
        copied: 0,
    };
    loader.env_files(request.env_files)?;
    let parsed =
        request.names.iter().map(|name| loader.parse(name, At::default())).collect::<Result<Vec<_>, _>>()?;
    let project = loader.project_name(request.project, &parsed)?;
    loader.environment.insert("COMPOSE_PROJECT_NAME".to_owned(), project.clone());
    let folder = loader.folder.clone();
    let mut root =
        loader.merge_files(request.names.iter().cloned().zip(parsed).collect(), &folder, &mut Vec::new())?;
    if root.as_map().is_none_or(Map::is_empty) {
        return Err(Faults::one(At::default(), "", "the compose file is empty"));
    }
    let environment = std::mem::take(&mut loader.environment);
    normalise::normalise(&mut root, &project, &|name: &str| environment.get(name).cloned());
    let mut model = typed::read(&root)?;
    let disabled = consistency::select_profiles(&mut model, request.profiles);
    consistency::check(&mut model, &disabled)?;
    service_files::resolve(&mut model, &root, &mut loader, &environment)?;
    consistency::drop_unused(&mut model);
    Ok(Loaded { project, written: root, model, environment })
}

/// The state that all files of one project share.
pub(crate) struct Loader<'a> {
    pub files: &'a dyn Files,
    pub folder: String,
    pub home: Option<&'a str>,
    pub seen: &'a mut Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Files read, their bytes, and what `extends` copied, so that nothing multiplies without end.
    pub reads: usize,
    pub bytes: usize,
    pub copied: usize,
}

impl Loader<'_> {
    /// Reads a file by its absolute path or its path in the project folder.
    pub(crate) fn read(&mut self, name: &str) -> Result<Option<(u16, String)>, String> {
        let inside = if self.files.is_given(name) {
            Some(name.to_owned())
        } else if name.starts_with('/') {
            path::relative(&self.folder, name).filter(|inside| !inside.starts_with(".."))
        } else {
            Some(path::clean(name))
        };
        let inside = inside.ok_or_else(|| format!("`{name}` lies outside the folder of the compose file"))?;
        let Some(text) = self.files.read(&inside)? else { return Ok(None) };
        self.reads += 1;
        self.bytes += text.len();
        if self.reads > MOST_READS || self.bytes > MOST_PROJECT_BYTES {
            return Err("the project reads more files than is allowed; it includes too much".to_owned());
        }
        let known = self.seen.iter().position(|seen| *seen == inside);
        let index = known.unwrap_or_else(|| {
            self.seen.push(inside);
            self.seen.len() - 1
        });
        Ok(Some((u16::try_from(index).unwrap_or(u16::MAX), text)))
    }

    pub(crate) fn parse(&mut self, name: &str, at: At) -> Result<Vec<Parsed>, Faults> {
        match self.read(name) {
            Ok(Some((file, text))) => build::parse(&text, file),
            Ok(None) => Err(Faults::one(at, "", format!("the file {name} does not exist"))),
            Err(message) => Err(Faults::one(at, "", message)),
        }
    }

    fn env_files(&mut self, names: &[String]) -> Result<(), Faults> {
        let given = std::mem::take(&mut self.environment);
        let default = [".env".to_owned()];
        let (names, required) = if names.is_empty() { (&default[..], false) } else { (names, true) };
        let added = self.variables(names, required, &given, At::default());
        self.environment = given;
        for (name, value) in added? {
            self.environment.entry(name).or_insert(value);
        }
        Ok(())
    }

    /// The variables of files; what `given` holds wins inside their values.
    pub(crate) fn variables(
        &mut self,
        names: &[String],
        required: bool,
        given: &BTreeMap<String, String>,
        at: At,
    ) -> Result<dotenv::Variables, Faults> {
        let mut variables = dotenv::Variables::new();
        for name in names {
            match self.read(name) {
                Ok(Some((file, text))) => {
                    let lookup = |name: &str| given.get(name).cloned();
                    dotenv::read(&text, &mut variables, &lookup).map_err(|wrong| {
                        Faults::one(At { file, line: wrong.line, column: 1 }, "", wrong.message)
                    })?;
                }
                Ok(None) if !required => {}
                Ok(None) => return Err(Faults::one(at, "", format!("the file {name} does not exist"))),
                Err(message) => return Err(Faults::one(at, "", message)),
            }
        }
        Ok(variables)
    }

    fn project_name(&self, given: Option<&str>, parsed: &[Vec<Parsed>]) -> Result<String, Faults> {
        let fits = |name: &str| normalised_name(name) == name && !name.is_empty();
        if let Some(name) = given {
            let message = format!(
                "the project name `{name}` has other characters than small letters, digits, `-` and `_`, \
                 or begins with none of them"
            );
            return if fits(name) {
                Ok(name.to_owned())
            } else {
                Err(Faults::one(At::default(), "name", message))
            };
        }
        let written = parsed.iter().flatten().filter_map(|document| document.root.get("name")).next_back();
        let name = match written.and_then(Node::as_text).filter(|name| !name.is_empty()) {
            Some(text) => {
                let at = written.map_or_else(At::default, |node| node.at);
                let environment = |name: &str| self.environment.get(name).cloned();
                super::template::substitute(text, &environment)
                    .map_err(|message| Faults::one(at, "name", message))?
            }
            None => self.folder.rsplit('/').next().unwrap_or_default().to_owned(),
        };
        let name = normalised_name(&name);
        if name.is_empty() {
            return Err(Faults::one(At::default(), "name", "the project has no name; give it one"));
        }
        Ok(name)
    }

    /// Merges files onto each other and completes the result, seen from `folder`.
    /// `including` are the files whose `include` is being followed.
    pub(crate) fn merge_files(
        &mut self,
        files: Vec<(String, Vec<Parsed>)>,
        folder: &str,
        including: &mut Vec<String>,
    ) -> Result<Node, Faults> {
        let mut root = Node::map(Map::new(), At::default());
        for (name, documents) in files {
            for document in documents {
                root = self.merge_document(root, document, &name, folder, including)?;
            }
        }
        defaults::fill(&mut root);
        defaults::check(&mut root)?;
        defaults::resolve_paths(&mut root, &path::Base { folder, home: self.home })?;
        normalise::resolve_environment(&mut root, &|name: &str| self.environment.get(name).cloned());
        Ok(root)
    }

    fn merge_document(
        &mut self,
        mut base: Node,
        document: Parsed,
        name: &str,
        folder: &str,
        including: &mut Vec<String>,
    ) -> Result<Node, Faults> {
        let Parsed { mut root, resets } = document;
        if root.as_map().is_none() {
            return Err(Faults::one(root.at, "", "the file must be a mapping with `services`"));
        }
        self.interpolate(&mut root)?;
        extends::apply(self, &mut root, name, folder, &resets)?;
        extends::reset(&mut base, &resets);
        include::apply(self, &mut root, name, folder, including)?;
        let mut merged = merge::files(base, root)?;
        let mut faults = Faults::default();
        faults.absorb(unique::enforce(&mut merged));
        faults.absorb(shape::check(&merged));
        if shape::services(&merged).count() > MOST_SERVICES {
            let message = format!("a project has at most {MOST_SERVICES} services");
            faults.add_at(merged.at, "services", message);
            return Err(faults);
        }
        if let Some(entries) = merged.as_map_mut() {
            entries.remove("version");
        }
        // What has no shape it knows is left alone there, so its problems can be told as well.
        faults.absorb(canonical::canonical(&mut merged));
        faults.stop()?;
        unique::enforce(&mut merged)?;
        Ok(merged)
    }

    /// Puts variables in place, with the environment as it is now.
    pub(crate) fn interpolate(&self, root: &mut Node) -> Result<(), Faults> {
        let environment = &self.environment;
        let lookup: &Lookup<'_> = &|name: &str| environment.get(name).cloned();
        interpolate::interpolate(root, lookup)
    }
}

/// A name with only what a project's name may hold.
pub(crate) fn normalised_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let kept: String = lower
        .chars()
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
        .collect();
    kept.trim_start_matches(['_', '-']).to_owned()
}
