//! *Makes true*: the objects an app consists of are exactly those its compose file says, and no others.
//!
//! *Looks at*: its source (compose file or package), its files in the instance's folder, its children in the store.
//! *Owns*: Images, one Network, Volumes, Containers, one Route, Revisions; and the files of its instance.
//! *Woken by*: its own objects, its children, its Images.
//! *Never*: touches the container engine; takes down what runs before everything that replaces it is here; deletes
//! data, unless it is deleted itself with `dataPolicy: Delete`; keeps progress in memory.
//! *When it cannot*: `Refused` with every problem of the compose file, while it goes on as it was admitted last;
//! the same where a folder got another name and the data would stay behind;
//! otherwise what its children say, the worst first. Stopping needs neither the source nor an image.

use std::sync::Arc;

use async_trait::async_trait;
use hearth_capabilities::Volumes;
use hearth_engine::Store;
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Reference, Report, Seen, StepError, Triggers, Wanted,
};
use hearth_engine::{Key, Object};
use hearth_kinds::App;
use hearth_meta::{Problem, labels};

mod observe;
mod record;
mod render;
mod service;
mod given;
mod children;
mod detached;
mod plan;
mod take_down;
mod act;
mod status;

pub use observe::AppSeen;
pub use plan::AppStep;
pub use record::{RECORD, Record};

/// How many apps may install or update at once, from their first container until they settle (AL-59).
pub const INSTALL_SLOTS: usize = 3;

/// Composes apps.
pub struct AppController {
    store: Store,
    volumes: Arc<dyn Volumes>,
}

impl AppController {
    /// A controller with these hands.
    pub fn new(store: Store, volumes: Arc<dyn Volumes>) -> Self {
        Self { store, volumes }
    }
}

#[async_trait]
impl Controller for AppController {
    type Kind = App;
    type Facts = AppSeen;
    type Step = AppStep;

    const NAME: &'static str = "app";

    fn triggers(&self) -> Triggers {
        Triggers {
            owned: Vec::new(),
            referenced: ["Image", "Container", "Network", "Volume", "Route", "Revision"]
                .map(|kind| Reference::to(kind, app_of_child).where_it(says_something_else))
                .into(),
        }
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        // An app is nothing but its children, which are surveyed themselves.
        Ok(Vec::new())
    }

    async fn observe(&self, wanted: &[Wanted<App>]) -> Result<AppSeen, Blind> {
        match wanted.first() {
            Some(wanted) => self.look(wanted).await,
            None => Err(Blind("no app was asked for".into())),
        }
    }

    fn target(&self, wanted: &Wanted<App>, facts: &AppSeen) -> Option<String> {
        Some(plan::target(wanted, facts))
    }

    fn diff(&self, wanted: &Wanted<App>, facts: &AppSeen) -> Seen {
        plan::seen(wanted, facts)
    }

    fn plan(&self, wanted: &[Wanted<App>], facts: &AppSeen) -> Plan<AppStep> {
        wanted.first().map_or_else(Plan::nothing, |wanted| plan::plan(wanted, facts))
    }

    fn foresee(&self, wanted: &Wanted<App>, facts: &AppSeen) -> Vec<AppStep> {
        plan::foresee(wanted, facts)
    }

    async fn act(&self, step: &AppStep, wanted: &[Wanted<App>], _cx: &Act) -> Result<(), StepError> {
        match wanted.first() {
            Some(wanted) => self.carry_out(step, wanted).await,
            None => Ok(()),
        }
    }

    fn status(
        &self,
        wanted: &Wanted<App>,
        seen: Result<&AppSeen, &Blind>,
        outcome: &Outcome<AppStep>,
    ) -> Report<App> {
        status::report(wanted, seen, outcome)
    }
}

/// What admission has against an app whose compose file is given inline, for whoever takes it in; the same
/// decision that is made again when it is carried out.
pub fn refusals(app: &App) -> Vec<Problem> {
    let Some(compose) = &app.spec.compose else { return Vec::new() };
    let under_its_field = |problem: Problem| Problem::new("spec.compose", problem.to_string());
    match observe::admit_app(app, &observe::inline(compose)) {
        Ok(_) => Vec::new(),
        // What concerns a field of the app itself keeps its name.
        Err(problems) => problems
            .into_iter()
            .map(|p| if p.field.starts_with("spec.") { p } else { under_its_field(p) })
            .collect(),
    }
}

/// The app that owns a child, and the one it names as its owner: a child that was written anew by somebody may have
/// lost either.
fn app_of_child(child: &Object, store: &Store) -> Vec<Key> {
    let label = child.metadata.labels.as_ref().and_then(|labels| labels.get(labels::OWNER_UID));
    let uids = child.owners().chain(label.map(String::as_str));
    uids.filter_map(|uid| store.by_uid(uid)).map(|app| app.key()).collect()
}

/// Whether a child changed in more than what says nothing to its app: who is on its network, which containers use
/// its image.
fn says_something_else(old: &Object, new: &Object) -> bool {
    let silent: &[&str] = match new.kind.as_str() {
        "Network" => &["attached"],
        "Image" => &["usedBy"],
        _ => &[],
    };
    let telling = |child: &Object| {
        let mut status = child.status().clone();
        if let Some(fields) = status.as_object_mut() {
            silent.iter().for_each(|field| drop(fields.remove(*field)));
        }
        status
    };
    silent.is_empty()
        || old.spec() != new.spec()
        || !is_same_but_status(old, new)
        || telling(old) != telling(new)
}

fn is_same_but_status(old: &Object, new: &Object) -> bool {
    let (old, new) = (&old.metadata, &new.metadata);
    old.generation == new.generation
        && old.labels == new.labels
        && old.annotations == new.annotations
        && old.owner_references == new.owner_references
}

#[cfg(test)]
mod tests;
