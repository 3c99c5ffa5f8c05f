//! What is seen of an app: its source, admitted or refused; its files; its children.
//!
//! The files of the instance are those that were admitted last. A source that is refused leaves them, and the app
//! goes on from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_charts::admit::{Admitted, Device, FolderMount, Package, Service, Value, admit};
use hearth_engine::controller::{Blind, Wanted};
use hearth_engine::owners::ORPHAN;
use hearth_engine::{Object, Query, Store};
use hearth_kinds::{App, AppSpec};
use hearth_meta::{Problem, labels};

use super::AppController;
use super::record::{RECORD, is_live, keeps_wish, poke, record, recorded};
use super::render::Rendering;
use crate::fault::blind;
use crate::jobs::{self, Completions};

/// The compose file's name in an instance, where it was given inline.
const COMPOSE: &str = "compose.yaml";

/// Files by path.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Everything a decision about one app needs.
#[derive(Debug)]
pub struct AppSeen {
    /// What it is made of: as declared now or, where that is refused, as it was admitted last.
    pub(super) source: Option<Source>,
    /// Every problem with what is declared now; none where that is what it is made of.
    pub(super) problems: Vec<Problem>,
    /// The files its instance should hold.
    pub(super) files: Files,
    /// Whether it holds them, whatever is recorded of the app's parts.
    pub(super) files_saved: bool,
    /// Whether the app's parts are recorded as they stand.
    pub(super) record_saved: bool,
    /// Whether the record says that the app is there.
    pub(super) is_recorded: bool,
    /// Whether the instance holds files that are the app's to remove.
    pub(super) has_files: bool,
    /// Its children, as the store has them, those on their way out included.
    pub(super) children: Vec<Arc<Object>>,
}

/// What an app is made of.
#[derive(Debug)]
pub(super) struct Source {
    /// The app, with the spec that was admitted.
    pub(super) wanted: Wanted<App>,
    /// What its compose file may do.
    pub(super) admitted: Admitted,
    /// A keyed hash of each file of the package that a service is given.
    pub(super) hashes: BTreeMap<String, String>,
}

impl AppSeen {
    /// The objects it is made of, where its source was ever admitted.
    pub(super) fn rendering(&self) -> Option<Rendering<'_>> {
        self.source.as_ref().map(|source| Rendering {
            wanted: &source.wanted,
            admitted: &source.admitted,
            hashes: &source.hashes,
        })
    }

    /// The children of one kind.
    pub(super) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.children.iter().filter(move |child| child.kind == kind)
    }

    /// One child.
    pub(super) fn child(&self, kind: &str, name: &str) -> Option<&Arc<Object>> {
        self.children.iter().find(|child| child.kind == kind && child.name() == name)
    }
}

impl AppController {
    pub(super) async fn look(&self, wanted: &Wanted<App>) -> Result<AppSeen, Blind> {
        let saved = self.volumes.load_files(wanted.uid()).await.map_err(blind)?;
        let lets_go = is_orphaning(wanted);
        let children = if lets_go { Vec::new() } else { children(&self.store, wanted) };
        let declared = match wanted.gone {
            true => Ok(Files::new()),
            false => self.source(wanted, saved.as_ref(), &children).await?,
        };
        let mut seen = settle(wanted, declared, saved, children);
        // What stays uses them.
        seen.has_files &= !lets_go;
        if let Some(source) = &mut seen.source {
            // Of a file nobody must be able to tell what is in it by trying, so the hash has a key.
            let services = source.admitted.services.iter();
            let paths = services.flat_map(|service| &service.files).filter_map(|file| file.of_package());
            let hash = |path: &str| Some((path.to_owned(), self.store.keyed_hash(seen.files.get(path)?)));
            source.hashes = paths.filter_map(hash).collect();
        }
        Ok(seen)
    }

    /// The author's files byte for byte, and the record of whose they are. A package is read when the app is
    /// declared, names another package or is poked; from then on the copy in the instance counts.
    async fn source(
        &self,
        wanted: &Wanted<App>,
        saved: Option<&Files>,
        children: &[Arc<Object>],
    ) -> Result<Result<Files, Problem>, Blind> {
        let app = &wanted.object;
        let mut files = match (&app.spec.compose, &app.spec.package) {
            (Some(compose), _) => inline(compose),
            (None, Some(package)) => match saved.filter(|saved| is_copy_for(app, saved)) {
                Some(copy) => copy.clone(),
                None => match self.volumes.read_package(&package.path).await {
                    Ok(files) => files,
                    Err(hearth_capabilities::Fault::Blind(message)) => return Err(Blind(message)),
                    Err(fault) => return Ok(Err(Problem::new("spec.package.path", fault.to_string()))),
                },
            },
            (None, None) => Files::new(),
        };
        files.insert(RECORD.to_owned(), record(app, self.store.lineage(), children));
        Ok(Ok(files))
    }
}

/// Whether the app goes without its parts. They keep its label, by which they go on in its folder, and by which they
/// are its own again if it is ever taken up.
fn is_orphaning(wanted: &Wanted<App>) -> bool {
    wanted.gone && wanted.object.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == ORPHAN)
}

/// What an app is made of: what is declared or, where that is refused, what was kept.
pub(super) fn settle(
    wanted: &Wanted<App>,
    declared: Result<Files, Problem>,
    saved: Option<Files>,
    children: Vec<Arc<Object>>,
) -> AppSeen {
    let has_files = saved.as_ref().is_some_and(|saved| !saved.is_empty());
    let nothing = AppSeen {
        source: None,
        problems: Vec::new(),
        files: Files::new(),
        files_saved: true,
        record_saved: true,
        is_recorded: saved.as_ref().is_some_and(is_live),
        has_files,
        children,
    };
    if wanted.gone {
        return nothing;
    }
    let declared = declared.map_err(|problem| vec![problem]);
    match declared.and_then(|files| admit_app(&wanted.object, &files).map(|admitted| (files, admitted))) {
        Ok((mut files, admitted)) => {
            let source = Source { wanted: wanted.clone(), admitted, hashes: BTreeMap::new() };
            keep_completions(&mut files, saved.as_ref(), &source, &nothing.children);
            AppSeen {
                files_saved: saved.as_ref().is_some_and(|saved| keeps_wish(saved, &files)),
                record_saved: saved.as_ref() == Some(&files),
                files,
                source: Some(source),
                ..nothing
            }
        }
        Err(problems) => {
            let files = saved.unwrap_or_default();
            AppSeen { problems, source: last_admitted(wanted, &files), files, ..nothing }
        }
    }
}

/// Which one-shots are done: as their Containers say and, where those do not know, as was recorded before.
fn keep_completions(files: &mut Files, saved: Option<&Files>, source: &Source, children: &[Arc<Object>]) {
    let rendering = Rendering { wanted: &source.wanted, admitted: &source.admitted, hashes: &source.hashes };
    // A package's copy has the record of before.
    files.remove(jobs::RECORD);
    let before = saved.map_or_else(|| Ok(Completions::new()), jobs::recorded);
    let Ok(before) = before else {
        // What cannot be understood is not written over.
        let record = saved.and_then(|saved| saved.get(jobs::RECORD));
        files.extend(record.map(|record| (jobs::RECORD.to_owned(), record.clone())));
        return;
    };
    let names = rendering.services().iter().map(|service| rendering.container_name(&service.name));
    let completions: Completions = names
        .filter_map(|name| {
            let child = children.iter().find(|child| child.kind == "Container" && child.name() == name);
            let said = child.and_then(|child| serde_json::from_value(child.status().clone()).ok());
            Some((name.clone(), said.or_else(|| before.get(&name).cloned())?))
        })
        .collect();
    if !completions.is_empty() {
        files.insert(jobs::RECORD.to_owned(), jobs::record(&completions));
    }
}

/// The files of an app whose compose file is given inline.
pub(super) fn inline(compose: &str) -> Files {
    Files::from([(COMPOSE.to_owned(), compose.as_bytes().to_vec())])
}

/// Whether these files are a copy of the package the app names, made since it was poked last.
pub(super) fn is_copy_for(app: &App, saved: &Files) -> bool {
    recorded(saved)
        .is_some_and(|before| before.spec.package == app.spec.package && poke(&before) == poke(app))
}

/// What was admitted last, by the record beside the files. Whether it runs is decided by what is wanted now.
fn last_admitted(wanted: &Wanted<App>, saved: &Files) -> Option<Source> {
    let mut app = App::clone(&wanted.object);
    app.spec = AppSpec { state: app.spec.state, ..recorded(saved)?.spec };
    let admitted = admit_app(&app, saved).ok()?;
    let wanted = Wanted { object: Arc::new(app), ..wanted.clone() };
    Some(Source { wanted, admitted, hashes: BTreeMap::new() })
}

pub(super) fn admit_app(app: &App, files: &Files) -> Result<Admitted, Vec<Problem>> {
    let values = values(app);
    let package = Package {
        files,
        values: &values,
        devices: &app.spec.permissions.devices,
        folders: &app.spec.permissions.folders,
        main_service: app.spec.main_service.as_deref(),
    };
    let named =
        |problem: Problem| if problem.field == "mainService" { problem.under("spec") } else { problem };
    let admitted = admit(&package).map_err(|problems| problems.into_iter().map(named).collect::<Vec<_>>())?;
    let without_way = admitted.services.iter().flat_map(not_carried_out).collect::<Vec<_>>();
    if !without_way.is_empty() {
        return Err(without_way);
    }
    if admitted.main_service.is_none() {
        let names: Vec<&str> = admitted.services.iter().map(|service| service.name.as_str()).collect();
        let message = format!("is required, since there are several services: {}", names.join(", "));
        return Err(vec![Problem::new("spec.mainService", message)]);
    }
    Ok(admitted)
}

/// What a service may have and would not get, so that it would run on something else than it asks for.
fn not_carried_out(service: &Service) -> Vec<Problem> {
    let field = |what: &str| format!("services.{}.{what}", service.name);
    let folder = |folder: &FolderMount| {
        let message = format!(
            "host folder {} cannot be mounted yet; keep the data under ./ instead, or remove the mount",
            folder.source
        );
        Problem::new(field("volumes"), message)
    };
    let device = |device: &Device| {
        let moved = device.target != device.source;
        let message = format!(
            "{} can only be given under its own name and with all rights; write it as {:?}",
            device.source, device.source
        );
        let narrowed = !is_full(&device.permissions);
        (moved || narrowed).then(|| Problem::new(field("devices"), message))
    };
    service.folders.iter().map(folder).chain(service.devices.iter().filter_map(device)).collect()
}

/// Whether a device may be read, written and made, which is what is given where nothing is said.
fn is_full(rights: &str) -> bool {
    "rwm".chars().all(|right| rights.contains(right))
}

/// What the compose file's variables become: the person's values, and what Hearth tells every app (AL-37).
fn values(app: &App) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    values
        .insert("HEARTH_INSTANCE_ID".to_owned(), Value::Plain(app.metadata.uid.clone().unwrap_or_default()));
    if let Some(url) = super::render::url(app) {
        values.insert("HEARTH_APP_URL".to_owned(), Value::Plain(url));
    }
    for value in &app.spec.values {
        let given = match &value.value {
            Some(text) => Value::Plain(text.clone()),
            None => Value::Secret,
        };
        values.insert(value.name.clone(), given);
    }
    values
}

/// Kinds of children that stand in the app's namespace.
const NAMESPACED: [&str; 5] = ["Container", "Network", "Volume", "Route", "Revision"];

/// The children: what names the app as its owner, or carries its uid as a label. Images belong to the whole machine
/// and have the label alone; of the others, one that was written anew by somebody may have kept either.
pub(super) fn children(store: &Store, wanted: &Wanted<App>) -> Vec<Arc<Object>> {
    let uid = wanted.uid();
    let mut children = store.owned_by(uid);
    let labelled = |query: Query| store.list(&query.labelled(labels::OWNER_UID, uid)).items;
    let by_label = NAMESPACED.iter().flat_map(|kind| labelled(Query::of(kind).within(wanted.namespace())));
    for child in by_label.chain(labelled(Query::of("Image"))) {
        if !children.iter().any(|known| known.uid() == child.uid()) {
            children.push(child);
        }
    }
    children
}
