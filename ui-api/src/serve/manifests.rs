//! The manifests folder: what its files declare is declared here, and stays so (DESIGN 1 and 4).
//!
//! Level-triggered like everything else. One look reads the whole folder, applies each object a file declares through
//! the same door as everybody (server-side apply, as the manager `manifests` and the actor `manifests/FILE`), and asks
//! which objects it once declared no file declares any more. Changes of files only wake it, and may be lost: it looks
//! again every minute. An object that was there before and is nobody's of the folder is not taken over.
//!
//! *Never*: removes anything while a file or the folder cannot be read or understood, while the folder is empty, or
//! while much would go at once: that is a question to a person (`removal`).
//!
//! - `read`: the files; `declared`: the objects they declare; `apply`: through the protocol; `removal`: what may go;
//!   `wakeup`: when to look again; `standing`: what people are told.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use hearth_engine::store::{Deletion, EventKind, EventNote, Preconditions};
use hearth_engine::{Key, Object, Store, WriteError, WriteOptions};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

mod read;
mod declared;
mod apply;
mod removal;
mod wakeup;
mod standing;

use apply::Applier;
pub(crate) use apply::MANAGER;
use declared::{Declared, Folded, Found};
pub use removal::{Answer, Question};
use removal::{Decision, Removals};
pub use standing::Standing;
use wakeup::Wakeups;

/// How soon it is looked again though nothing was seen to change.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How long after a change of a file its fellows are waited for.
const GATHER: Duration = Duration::from_millis(300);

/// The folder as people see it and answer it. Clones are the same.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    standing: Arc<Mutex<Standing>>,
    answer: Arc<Mutex<Option<Answer>>>,
    asked: Arc<Notify>,
}

impl Folder {
    /// The folder at a path, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        let standing = Standing { folder: path.display().to_string(), ..Standing::default() };
        Self { path, standing: Arc::new(Mutex::new(standing)), answer: Arc::default(), asked: Arc::default() }
    }

    /// How it stood at the last look.
    pub fn standing(&self) -> Standing {
        lock(&self.standing).clone()
    }

    /// A person answers the question that stands; `false` where that is another one, or none.
    pub fn answer(&self, answer: Answer) -> bool {
        let is_asked = self.standing().question.is_some_and(|question| question.id == answer.question);
        if is_asked {
            *lock(&self.answer) = Some(answer);
            self.asked.notify_one();
        }
        is_asked
    }

    /// Keeps what its files declare until cancelled.
    pub async fn keep(self, store: Store, stop: CancellationToken) {
        let mut keeper = Keeper {
            applier: Applier::new(&store),
            removals: Removals::default(),
            wakeups: Wakeups::new(),
            told: Vec::new(),
            folder: self,
            store,
        };
        loop {
            // Heard from before the look, so that what changes during it is not lost.
            let mut changes = keeper.wakeups.store_changes(&keeper.store);
            // A fault of ours over one file must not end the keeping of all others.
            let next = match AssertUnwindSafe(keeper.look()).catch_unwind().await {
                Ok(next) => next,
                Err(_) => {
                    tracing::error!("looking at the manifests folder broke off");
                    let why = "looking at it broke off, which is a fault of Hearth's; see its log";
                    lock(&keeper.folder.standing).blind = Some(why.to_owned());
                    keeper.removals.could_not_tell();
                    LOOK_AGAIN
                }
            };
            let asked = keeper.folder.asked.clone();
            let clock = keeper.store.clock().clone();
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = keeper.wakeups.file_change() => clock.sleep(GATHER).await,
                () = changes.concerning() => {}
                () = asked.notified() => {}
                () = clock.sleep(next) => {}
            }
        }
    }
}

/// Who keeps it.
struct Keeper {
    folder: Folder,
    store: Store,
    applier: Applier,
    removals: Removals,
    wakeups: Wakeups,
    /// The troubles that were told, so that each is told once.
    told: Vec<Found>,
}

impl Keeper {
    /// Makes what the files declare so, once; how long until it is looked again at the latest.
    async fn look(&mut self) -> Duration {
        let path = self.folder.path.clone();
        let unwatched = self.wakeups.listen(&path);
        let mut standing = Standing { unwatched, ..Folder::new(path.clone()).standing() };
        if let Some(why) = self.store.observe_only() {
            standing.blind = Some(format!("nothing is changed before the store is accepted: {why}"));
            self.settle(standing, Vec::new()).await;
            return LOOK_AGAIN;
        }
        let read = tokio::task::spawn_blocking(move || read::read(&path)).await;
        let reading = match read.unwrap_or_else(|error| Err(format!("reading it broke off: {error}"))) {
            Ok(reading) => reading,
            Err(why) => {
                standing.blind = Some(why);
                self.removals.could_not_tell();
                self.settle(standing, Vec::new()).await;
                return LOOK_AGAIN;
            }
        };
        standing.files = reading.files.len();
        let folded = declared::fold(reading, &self.store);
        standing.objects = folded.objects.len();
        let mut found = folded.found.clone();
        for declared in &folded.objects {
            found.extend(self.declare(declared).await);
        }
        let next = self.remove(&folded, &mut standing).await;
        self.wakeups.concern(folded.objects.iter().map(|declared| declared.key.clone()));
        self.settle(standing, found).await;
        next
    }

    /// One object, as its file says; what is in the way.
    async fn declare(&self, declared: &Declared) -> Vec<Found> {
        let before = self.store.get(&declared.key);
        if before.as_ref().is_some_and(|there| there.is_going()) {
            // It is made anew once it is gone.
            return Vec::new();
        }
        if let Some(there) = before.as_ref().filter(|there| !apply::is_of(there, &declared.file)) {
            return vec![declared.not_taken_over(there)];
        }
        let version = before.as_ref().map(|there| there.resource_version());
        match self.applier.apply(declared).await {
            Ok(version_now) => {
                if version != Some(version_now) {
                    let done = if before.is_none() { "Made" } else { "Changed" };
                    let message = format!("{done} as {} declares it", declared.file);
                    self.note(&declared.key, EventKind::Normal, "Declared", message).await;
                }
                Vec::new()
            }
            Err(problems) => problems.into_iter().map(|problem| declared.refused(problem)).collect(),
        }
    }

    /// What no file declares any more goes, where it may; how long until it is looked again at the latest.
    async fn remove(&mut self, folded: &Folded, standing: &mut Standing) -> Duration {
        let kept: Vec<Arc<Object>> = self
            .store
            .all()
            .into_iter()
            .filter(|object| apply::is_kept(object) && !object.is_going())
            .collect();
        if let Some(why) = &folded.blind {
            standing.blind = Some(why.clone());
            self.removals.could_not_tell();
            return LOOK_AGAIN;
        }
        let (declared, undeclared): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|object| folded.declares(&object.key()));
        let is_empty = folded.is_empty();
        let answer = lock(&self.folder.answer).take();
        let now = self.store.clock().elapsed();
        match self.removals.decide(&undeclared, declared.len(), is_empty, answer.as_ref(), now) {
            Decision::Nothing => LOOK_AGAIN,
            Decision::Wait(left) => left.min(LOOK_AGAIN),
            Decision::Ask(question) => {
                standing.question = Some(question);
                LOOK_AGAIN
            }
            Decision::Remove => {
                for object in &undeclared {
                    self.delete(object, answer.as_ref()).await;
                }
                self.removals.removed(undeclared.len(), now);
                LOOK_AGAIN
            }
        }
    }

    /// Asks for the deletion of one object, if it is still the one that was looked at.
    async fn delete(&self, object: &Object, answer: Option<&Answer>) {
        let file = apply::file_of(object).unwrap_or("a file that is gone").to_owned();
        let actor = answer.map_or_else(|| format!("manifests/{file}"), |answer| answer.actor.clone());
        let write = WriteOptions { actor, source: "manifests".into(), dry_run: false };
        let preconditions = Preconditions { uid: Some(object.uid().to_owned()), resource_version: None };
        let key = object.key();
        self.note(&key, EventKind::Normal, "NoLongerDeclared", format!("{file} no longer declares it")).await;
        match self.store.delete(Deletion { key: key.clone(), preconditions }, &write).await {
            Ok(_) | Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => {}
            Err(error) => {
                tracing::warn!(name = %key, error = %error, "what no file declares cannot be deleted")
            }
        }
    }

    /// Keeps what people are told, and tells what is new of it.
    async fn settle(&mut self, mut standing: Standing, found: Vec<Found>) {
        standing.problems = found.iter().map(|found| found.problem.clone()).collect();
        for found in found.iter().filter(|found| !self.told.contains(found)) {
            tracing::warn!(problem = %found.problem, "the manifests folder");
            if let Some(key) = &found.about {
                self.note(key, EventKind::Warning, found.reason, found.problem.to_string()).await;
            }
        }
        self.told = found;
        let before = self.folder.standing();
        if let Some(why) = standing.blind.as_ref().filter(|_| before.blind != standing.blind) {
            tracing::warn!(
                folder = standing.folder,
                why,
                "nothing is removed: the manifests folder cannot be read"
            );
        }
        if let Some(question) = standing.question.as_ref().filter(|_| before.question != standing.question) {
            tracing::warn!(
                folder = standing.folder,
                why = question.why,
                "nothing is removed until a person answers"
            );
            for key in &question.keys {
                let message =
                    "No file declares it any more; it stays until a person answers: hearth recover status";
                self.note(key, EventKind::Warning, "RemovalHeld", message.to_owned()).await;
            }
        }
        *lock(&self.folder.standing) = standing;
    }

    async fn note(&self, key: &Key, kind: EventKind, reason: &str, message: String) {
        let uid = self.store.get(key).map(|object| object.uid().to_owned()).unwrap_or_default();
        let (about, reason) = (key.reference(), reason.to_owned());
        self.store.note(EventNote { about, uid, kind, reason, message, reporter: "manifests".into() }).await;
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
