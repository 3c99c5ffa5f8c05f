//! [`Events`] over Docker.
//!
//! Docker accepts a subscription a moment before it takes part in it, so what happened in between would be lost.
//! It is asked to begin a moment in the past: what is told twice does no harm.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{EventMessage, EventMessageTypeEnum};
use bollard::query_parameters::EventsOptionsBuilder;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use hearth_capabilities::{Events, Fault, Happening};
use hearth_meta::labels;

use crate::client::Docker;
use crate::failure::Call;

/// How far back a subscription begins. Covers the moment Docker takes to begin, and a clock set back a little.
const REACH_BACK: Duration = Duration::from_secs(1);

/// What is worth waking for. Docker tells of each health check as three events (`exec_...`), which are most of all
/// it says in a quiet home and mean nothing here.
const WORTH_TELLING: &[&str] = &[
    "connect",
    "create",
    "delete",
    "destroy",
    "die",
    "disconnect",
    "health_status",
    "import",
    "load",
    "oom",
    "pause",
    "pull",
    "remove",
    "rename",
    "restart",
    "start",
    "stop",
    "tag",
    "unpause",
    "untag",
    "update",
];

impl Events for Docker {
    fn subscribe(&self) -> BoxStream<'static, Result<Happening, Fault>> {
        let docker = self.clone();
        stream::once(async move { docker.listen().await })
            .flat_map(|listening| match listening {
                Ok(happenings) => happenings,
                Err(fault) => stream::iter([Err(fault)]).boxed(),
            })
            .boxed()
    }
}

impl Docker {
    async fn listen(&self) -> Result<BoxStream<'static, Result<Happening, Fault>>, Fault> {
        let types = ["container", "network", "image"];
        let filters = HashMap::from([("type", types.to_vec()), ("event", WORTH_TELLING.to_vec())]);
        let options = EventsOptionsBuilder::default().since(&moments_ago()).filters(&filters).build();
        let (first, rest) = self.open(|api| Box::pin(api.events(Some(options)))).await?;
        let told = stream::iter(first).chain(rest).filter_map(|message| {
            std::future::ready(match message {
                Ok(message) => happening_from(message).map(Ok),
                Err(error) => Some(Err(Call::Tell.fault(error))),
            })
        });
        // After a fault nothing can be relied on, so it is the last that is told.
        let told = told.scan(false, |ended, item| {
            let over = std::mem::replace(ended, item.is_err());
            std::future::ready((!over).then_some(item))
        });
        Ok(stream::iter([Ok(Happening::Listening)]).chain(told).boxed())
    }
}

fn moments_ago() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(REACH_BACK);
    format!("{}.{:09}", since.as_secs(), since.subsec_nanos())
}

fn happening_from(message: EventMessage) -> Option<Happening> {
    let action = message.action?;
    let actor = message.actor.unwrap_or_default();
    let mut attributes = actor.attributes.unwrap_or_default();
    let mut told = |attribute: &str| attributes.remove(attribute);
    match message.typ? {
        EventMessageTypeEnum::CONTAINER => {
            Some(Happening::Container { name: told("name")?, uid: told(labels::UID), action })
        }
        EventMessageTypeEnum::NETWORK => {
            Some(Happening::Network { name: told("name")?, container: told("container"), action })
        }
        EventMessageTypeEnum::IMAGE => Some(Happening::Image { reference: actor.id?, action }),
        _ => None,
    }
}
