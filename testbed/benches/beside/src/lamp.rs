//! The kind of object everything here is measured with, and its controller, which finds nothing to do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use hearth_engine::controller::{
    Act, Blind, Controller, Found, Outcome, Plan, Report, Seen, Step, StepError, Wait, Wake, Wanted,
};
use hearth_engine::store::Beneath;
use hearth_engine::{Key, Object, OpenOptions, Store, SystemClock, WriteOptions};
use hearth_meta::{CommonStatus, HasCommon, KindInfo, Reason, Scope};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

/// The name of the kind.
pub(crate) const KIND: &str = "Lamp";

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.dev", version = "v1", kind = "Lamp", plural = "lamps", namespaced)]
#[kube(status = "LampStatus", derive = "PartialEq")]
pub(crate) struct LampSpec {
    color: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LampStatus {
    #[serde(flatten)]
    common: CommonStatus,
}

impl HasCommon for LampStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

/// A controller to which every lamp is as it should be.
pub(crate) struct Lamps {
    /// What it does besides, while it looks.
    pub(crate) looking: Looking,
    /// Names that are due, from elsewhere.
    pub(crate) due: std::sync::Mutex<Option<mpsc::UnboundedReceiver<Key>>>,
}

/// What is done while one looks.
pub(crate) enum Looking {
    /// Nothing.
    Nothing,
    /// The lamp's own name is told, and so is due again at once.
    DueAgain(mpsc::UnboundedSender<Key>),
    /// It takes a while, and the lamp is due again after another while; its name is written down.
    Takes { work: Duration, again: Duration, names: mpsc::UnboundedSender<String> },
}

impl Lamps {
    pub(crate) fn new(looking: Looking) -> Self {
        Self { looking, due: std::sync::Mutex::new(None) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoStep;

impl Step for NoStep {
    fn doing(&self) -> String {
        "Do nothing".into()
    }
    fn done(&self) -> (&'static str, String) {
        ("Done", "Did nothing".into())
    }
}

#[async_trait]
impl Controller for Lamps {
    type Kind = Lamp;
    type Facts = ();
    type Step = NoStep;
    const NAME: &'static str = "lamp";

    fn wakes(&self) -> Option<BoxStream<'static, Wake>> {
        let due = self.due.lock().ok()?.take()?;
        let wakes = futures::stream::unfold(due, |mut due| async {
            let key = due.recv().await?;
            Some((Wake::Key(key), due))
        });
        Some(wakes.boxed())
    }

    async fn survey(&self) -> Result<Vec<Found>, Blind> {
        Ok(Vec::new())
    }

    async fn observe(&self, wanted: &[Wanted<Lamp>]) -> Result<(), Blind> {
        // Whoever listens has gone once the time is up.
        match (&self.looking, wanted) {
            (Looking::DueAgain(due), [lamp]) => {
                let _ = due.send(Key::new(KIND, lamp.namespace(), lamp.name()));
            }
            (Looking::Takes { work, names, .. }, [lamp]) => {
                let _ = names.send(lamp.name().to_owned());
                tokio::time::sleep(*work).await;
            }
            _ => {}
        }
        Ok(())
    }

    fn diff(&self, _: &Wanted<Lamp>, (): &()) -> Seen {
        Seen::Ours(Vec::new())
    }

    fn plan(&self, wanted: &[Wanted<Lamp>], (): &()) -> Plan<NoStep> {
        match (&self.looking, wanted) {
            (Looking::Takes { work, again, .. }, [lamp]) => {
                let until = lamp.now.saturating_add(*work + *again);
                let wait = Wait::new(Reason::DependencyNotReady, "It is due again soon");
                Plan::wait(until.map_or(wait.clone(), |until| wait.until(until)))
            }
            _ => Plan::nothing(),
        }
    }

    async fn act(&self, _: &NoStep, _: &[Wanted<Lamp>], _: &Act) -> Result<(), StepError> {
        Ok(())
    }

    fn status(&self, lamp: &Wanted<Lamp>, seen: Result<&(), &Blind>, end: &Outcome<NoStep>) -> Report<Lamp> {
        let common = end.common(lamp.gone, seen.copied(), Reason::InSync);
        Report { status: LampStatus { common }, conditions: Vec::new() }
    }
}

/// A store of lamps in a folder.
pub(crate) async fn open(folder: &Path, beneath: Beneath) -> anyhow::Result<Store> {
    let kind = |kind: &'static str, scope| KindInfo {
        has_status: true,
        ..KindInfo::plain("test.dev", kind, (kind, kind), scope)
    };
    let kinds = vec![kind("Namespace", Scope::Cluster), kind(KIND, Scope::Namespaced)];
    let options = OpenOptions { data_dir: folder.to_owned(), kinds, clock: Arc::new(SystemClock::start()) };
    Ok(Store::open_over(options, beneath).await?)
}

/// Makes a namespace.
pub(crate) async fn make_namespace(store: &Store, name: &str) -> anyhow::Result<()> {
    let namespace = json!({"apiVersion": "test.dev/v1", "kind": "Namespace", "metadata": {"name": name}});
    let namespace = Object::from_value(namespace).map_err(anyhow::Error::msg)?;
    store.create(namespace, &WriteOptions::default()).await?;
    Ok(())
}

/// A lamp with one long value.
pub(crate) fn lamp(namespace: &str, name: &str, color: String) -> anyhow::Result<Object> {
    let lamp = json!({
        "apiVersion": "test.dev/v1", "kind": KIND,
        "metadata": {"name": name, "namespace": namespace}, "spec": {"color": color}
    });
    Object::from_value(lamp).map_err(anyhow::Error::msg)
}

/// A lamp with as many fields as a container of an app has.
pub(crate) fn furnished(namespace: &str, name: &str) -> anyhow::Result<Object> {
    let mut lamp = lamp(namespace, name, "red".into())?;
    let env: BTreeMap<String, String> =
        (0..20).map(|number| (format!("SETTING_NUMBER_{number}"), format!("value of {name}"))).collect();
    lamp.body.insert("spec".into(), json!({"color": "red", "env": env}));
    Ok(lamp)
}

/// Makes many objects, as fast as the store takes them.
pub(crate) async fn make_all(store: &Store, objects: Vec<Object>) -> anyhow::Result<()> {
    let made = objects.into_iter().map(|object| {
        let store = store.clone();
        async move { store.create(object, &WriteOptions::default()).await }
    });
    let mut made = futures::stream::iter(made).buffer_unordered(256);
    while let Some(made) = made.next().await {
        made?;
    }
    Ok(())
}
