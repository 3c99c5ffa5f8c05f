//! The Compose model: what a compose file means, exactly as Docker Compose reads it.
//!
//! The stages, in the order they run (`load` puts them together):
//!
//! 1. `yaml` reads the text; `interpolate` puts variables in place (`template` is the grammar).
//! 2. `extends` and `include` bring in other services and files of the package.
//! 3. `merge` puts files onto each other, `unique` keeps one of each.
//! 4. `shape` checks keys and kinds of values against the table in `schema`.
//! 5. `canonical` writes out short forms, `defaults` adds what is understood and makes paths whole.
//! 6. `normalise` adds networks, names and implied dependencies; `typed` gives values their meaning.
//! 7. `consistency` checks that the parts fit, and `service_files` reads variables from files.
//!
//! Nothing here reads a disk or an environment: files come from [`Files`], variables from the caller.

use std::collections::BTreeMap;

use hearth_meta::Problem;
use serde_json::Value as Json;

pub(crate) mod load;
pub(crate) mod template;
pub(crate) mod secret;
pub(crate) mod interpolate;
pub(crate) mod extends;
pub(crate) mod include;
pub(crate) mod merge;
pub(crate) mod unique;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod canonical;
pub(crate) mod defaults;
pub(crate) mod normalise;
pub(crate) mod typed;
pub(crate) mod consistency;
pub(crate) mod service_files;
pub(crate) mod dotenv;
pub(crate) mod ports;
pub(crate) mod volume;
pub(crate) mod shell;
pub(crate) mod units;
pub(crate) mod printed;
pub(crate) mod path;
pub(crate) mod json;
pub mod files;
pub mod folder;
pub mod disk;

pub use disk::{DiskRequest, config_on_disk};
pub use files::Files;
pub use folder::Folder;

/// What `config` is asked.
pub struct ConfigRequest<'a> {
    /// Where files come from.
    pub files: &'a dyn Files,
    /// The compose files, base first, by their path in `files`.
    pub names: &'a [String],
    /// The folder relative paths are seen from; absolute.
    pub folder: &'a str,
    /// The folder `~` stands for in paths; none leaves it as it is.
    pub home: Option<&'a str>,
    /// The project's name; otherwise the file's own, otherwise the folder's.
    pub project: Option<&'a str>,
    /// Variables; nothing else of the environment is read.
    pub environment: BTreeMap<String, String>,
    /// Files of variables; `.env` if it is there when none is named.
    pub env_files: &'a [String],
    /// Profiles whose services are wanted; `*` for all.
    pub profiles: &'a [String],
}

/// The normalised model of a project, in the shape `docker compose config --format json` prints.
///
/// # Errors
/// Every problem found, with file, line, column and field path.
pub fn config(request: ConfigRequest<'_>) -> Result<Json, Vec<Problem>> {
    let mut seen = Vec::new();
    let request = load::Request {
        files: request.files,
        names: request.names,
        folder: request.folder,
        home: request.home,
        project: request.project,
        environment: request.environment,
        env_files: request.env_files,
        profiles: request.profiles,
    };
    let loaded = load::load(request, &mut seen).map_err(|faults| faults.into_problems(&seen))?;
    let mut printed = json::printed(&loaded.model);
    if let Some(model) = printed.as_object_mut() {
        model.insert("name".to_owned(), Json::String(loaded.project));
        model.entry("services").or_insert_with(|| Json::Object(Default::default()));
    }
    Ok(printed)
}
