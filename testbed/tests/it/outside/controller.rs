//! A controller as somebody writes it who knows kube and nothing of Hearth: types of their own for one of our kinds, an
//! admin's kubeconfig, and what kube's runtime offers.
//!
//! For each App with their label it keeps a Secret, the card, which says of what generation the App is; it signs the
//! App with the same, and a finalizer of its own takes the card away before the App goes.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Error as ControllerError};
use kube::runtime::finalizer::{Error as FinalizerError, Event, finalizer};
use kube::runtime::reflector::{self, Store};
use kube::runtime::utils::Backoff;
use kube::runtime::{Controller, WatchStreamExt, watcher};
use kube::{Api, Client, CustomResource, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Which Apps are theirs, and which Secrets are cards.
pub(super) const OF_CARDS: &str = "cards.example.org/wanted=yes";
const CARD: &str = "cards.example.org/is=card";
/// What they sign an App with.
pub(super) const SIGNED: &str = "cards.example.org/signed";
/// What holds an App until its card is gone.
pub(super) const FINALIZER: &str = "cards.example.org/card";
const MANAGER: &str = "cards";

/// As much of an App as they need; the rest is brought back as it came.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "hearth.dev", version = "v1", kind = "App", namespaced, schema = "disabled")]
#[kube(status = "AppStatus")]
pub(super) struct AppSpec {
    slug: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct AppStatus {
    summary: Option<String>,
}

/// A program that runs until it is dropped.
pub(super) struct Program {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    /// What it has seen of all Apps, theirs or not.
    pub(super) apps: Store<App>,
    /// Everything that went wrong, in the words it is logged in.
    pub(super) log: Log,
}

impl Drop for Program {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// What went wrong.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Trouble>>>);

/// One error, and what the server said in it, where it said anything.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) text: String,
    pub(super) code: Option<u16>,
}

impl Log {
    fn add(&self, error: &(dyn std::error::Error + 'static)) {
        let mut chain: Vec<&(dyn std::error::Error + 'static)> = vec![error];
        while let Some(source) = chain.last().and_then(|last| last.source()) {
            chain.push(source);
        }
        let text: Vec<String> = chain.iter().map(ToString::to_string).collect();
        let code = chain.iter().find_map(|error| {
            let by_watch = || match error.downcast_ref::<watcher::Error>()? {
                watcher::Error::WatchError(status) => Some(status.code),
                _ => None,
            };
            match error.downcast_ref::<kube::Error>() {
                Some(kube::Error::Api(status)) => Some(status.code),
                Some(_) => None,
                None => by_watch(),
            }
        });
        self.0.lock().unwrap().push(Trouble { text: text.join(": "), code });
    }

    pub(super) fn all(&self) -> Vec<Trouble> {
        self.0.lock().unwrap().clone()
    }
}

struct Context {
    client: Client,
    log: Log,
}

/// Tries again soon, as a program does that is not one of thousands.
struct Soon;

impl Iterator for Soon {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(300))
    }
}

impl Backoff for Soon {
    fn reset(&mut self) {}
}

/// Starts it: a controller, and beside it a store of all Apps, which streams its first list.
pub(super) fn start(client: &Client) -> Program {
    let log = Log::default();
    let all: Api<App> = Api::all(client.clone());
    let cards: Api<Secret> = Api::all(client.clone());
    let context = Arc::new(Context { client: client.clone(), log: log.clone() });
    let noted = log.clone();
    let controller = Controller::new(all.clone(), watcher::Config::default().labels(OF_CARDS))
        .owns(cards, watcher::Config::default().labels(CARD))
        .trigger_backoff(Soon)
        .run(reconcile, on_error, context)
        .for_each(move |done| {
            match done {
                // Their own errors were noted where they arose.
                Ok(_) | Err(ControllerError::ReconcilerFailed(..)) => {}
                // It went while it was on its way.
                Err(ControllerError::ObjectNotFound(_)) => {}
                Err(error) => noted.add(&error),
            }
            std::future::ready(())
        });
    let (apps, writer) = reflector::store();
    let (noted, watched) = (log.clone(), watcher(all, watcher::Config::default().streaming_lists()));
    let reflecting = async move {
        let mut events = pin!(watched.backoff(Soon).reflect(writer));
        loop {
            match events.try_next().await {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => noted.add(&error),
            }
        }
    };
    Program { tasks: vec![tokio::spawn(controller), tokio::spawn(reflecting)], apps, log }
}

type Failed = FinalizerError<kube::Error>;

fn on_error(_app: Arc<App>, error: &Failed, context: Arc<Context>) -> Action {
    context.log.add(error);
    Action::requeue(Duration::from_millis(300))
}

async fn reconcile(app: Arc<App>, context: Arc<Context>) -> Result<Action, Failed> {
    let namespace = app.namespace().unwrap_or_default();
    let apps: Api<App> = Api::namespaced(context.client.clone(), &namespace);
    let cards: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    finalizer(&apps, FINALIZER, app, |event| async {
        match event {
            Event::Apply(app) => write_card(&app, &apps, &cards).await,
            Event::Cleanup(app) => remove_card(&app, &cards).await,
        }
    })
    .await
}

async fn write_card(app: &App, apps: &Api<App>, cards: &Api<Secret>) -> Result<Action, kube::Error> {
    let generation = app.metadata.generation.unwrap_or_default().to_string();
    let as_them = PatchParams::apply(MANAGER).force();
    let mut card = Secret::default();
    card.metadata.name = Some(card_of(&app.name_any()));
    card.metadata.labels =
        CARD.split_once('=').map(|(name, value)| BTreeMap::from([(name.into(), value.into())]));
    card.metadata.owner_references = app.controller_owner_ref(&()).map(|owner| vec![owner]);
    card.string_data = Some(BTreeMap::from([("generation".to_owned(), generation.clone())]));
    cards.patch(&card_of(&app.name_any()), &as_them, &Patch::Apply(&card)).await?;
    if app.annotations().get(SIGNED) != Some(&generation) {
        let signed = json!({ "metadata": { "annotations": { SIGNED: generation } } });
        apps.patch(&app.name_any(), &PatchParams::default(), &Patch::Merge(signed)).await?;
    }
    Ok(Action::await_change())
}

async fn remove_card(app: &App, cards: &Api<Secret>) -> Result<Action, kube::Error> {
    match cards.delete(&card_of(&app.name_any()), &DeleteParams::default()).await {
        Ok(_) => Ok(Action::await_change()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Action::await_change()),
        Err(error) => Err(error),
    }
}

/// The name of an App's card.
pub(super) fn card_of(app: &str) -> String {
    format!("{app}-card")
}
