//! The model of files on this machine: what the command `compose config` prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hearth_meta::Problem;
use serde_json::Value as Json;

use super::files::Files;
use super::folder::Folder;
use super::{ConfigRequest, config};

/// What the command is asked.
#[derive(Clone, Debug, Default)]
pub struct DiskRequest<'a> {
    /// The compose files, base first, wherever they lie.
    pub files: &'a [PathBuf],
    /// The folder relative paths are seen from; otherwise that of the first file. It need not exist.
    pub folder: Option<&'a Path>,
    /// The project's name; otherwise the file's own, otherwise the folder's.
    pub project: Option<&'a str>,
    /// Variables; nothing else of the environment is read.
    pub environment: BTreeMap<String, String>,
    /// Files of variables, wherever they lie; the folder's `.env` if it is there when none is named.
    pub env_files: &'a [PathBuf],
    /// Profiles whose services are wanted; `*` for all.
    pub profiles: &'a [String],
    /// The folder `~` stands for in paths.
    pub home: Option<&'a str>,
}

/// Reads the named files, and what they name inside the folder, and gives the model as
/// `docker compose config --format json` prints it.
///
/// # Errors
/// Every problem found, with file, line, column and field path.
pub fn config_on_disk(request: DiskRequest<'_>) -> Result<Json, Vec<Problem>> {
    let Some(first) = request.files.first() else {
        return Err(vec![Problem::new("", "name a compose file")]);
    };
    let folder = absolute(request.folder.unwrap_or_else(|| first.parent().unwrap_or(Path::new("."))))?;
    let disk = Disk {
        given: request.files.iter().chain(request.env_files).map(|path| shown(path)).collect(),
        folder: Folder::open(&folder).ok(),
    };
    let name = |path: &PathBuf| shown(path);
    config(ConfigRequest {
        files: &disk,
        names: &request.files.iter().map(name).collect::<Vec<_>>(),
        folder: &shown(&folder),
        home: request.home,
        project: request.project,
        environment: request.environment,
        env_files: &request.env_files.iter().map(name).collect::<Vec<_>>(),
        profiles: request.profiles,
    })
}

fn absolute(path: &Path) -> Result<PathBuf, Vec<Problem>> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path)
        .map_err(|error| vec![Problem::new("", format!("the folder is not known: {error}"))])
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

struct Disk {
    given: Vec<String>,
    folder: Option<Folder>,
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        if self.is_given(path) {
            return super::folder::read(Path::new(path), path);
        }
        self.folder.as_ref().map_or(Ok(None), |folder| folder.read(path))
    }

    fn is_given(&self, path: &str) -> bool {
        self.given.iter().any(|given| given == path)
    }
}
