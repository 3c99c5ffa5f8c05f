//! [`Containers`] over Docker.

mod check;
mod create;
mod inspect;
mod foreign;
mod logs;
mod usage;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use bollard::models::{ContainerInspectResponse, ContainerSummary};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListContainersOptionsBuilder, LogsOptionsBuilder,
    RemoveContainerOptionsBuilder, StatsOptionsBuilder, StopContainerOptionsBuilder,
};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use hearth_capabilities::containers::{
    ContainerFacts, EngineFacts, HostFacts, ListedContainer, LogLine, LogOptions, NewContainer, Usage,
};
use hearth_capabilities::{Containers, Fault};
use hearth_meta::labels;

pub(crate) use create::endpoint_for;
pub(crate) use inspect::{env_from, health_check_from};

use crate::client::{CHANGE, Docker, TELL};
use crate::failure::{Call, is_absent, says};
use crate::names::check_name;

/// How long Docker may take beyond the grace of a stop: it kills, and waits for the end of what it killed.
const STOP_MARGIN: Duration = Duration::from_secs(30);
/// How often a container that is being removed by somebody else is looked at.
const REMOVAL_LOOK: Duration = Duration::from_millis(200);
/// The runtime Docker uses unless it is told otherwise, which need not be looked up.
const USUAL_RUNTIME: &str = "runc";

#[async_trait]
impl Containers for Docker {
    async fn list(&self) -> Result<Vec<ListedContainer>, Fault> {
        let filters = HashMap::from([("label", vec![labels::UID])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let seen = self.tell(self.api.list_containers(Some(options))).await?;
        seen.into_iter().map(listed_from).collect()
    }

    async fn inspect(&self, name: &str) -> Result<Option<ContainerFacts>, Fault> {
        let Some(seen) = self.find_container(name).await? else { return Ok(None) };
        let image_id = seen.image.as_deref().unwrap_or_default();
        let Some(image) = self.image_by_id(image_id).await? else {
            // Taken away by force under the container. What comes from it cannot be told, so nothing may be decided.
            return Err(Fault::Blind(format!(
                "image {image_id} of container {name} is not here: pull it again"
            )));
        };
        let runtime = self.default_runtime(&seen).await?;
        Ok(Some(inspect::facts_from(&seen, &image, &runtime)))
    }

    async fn create(&self, wanted: &NewContainer) -> Result<String, Fault> {
        let mut body = create::body_for(wanted)?;
        if wanted.command.as_ref().is_some_and(Vec::is_empty) {
            let image = self.image_by_id(&wanted.image_id).await?.unwrap_or_default();
            body.entrypoint = Some(check::entrypoint_alone(wanted, &image.defaults.entrypoint)?);
        }
        let options = CreateContainerOptionsBuilder::default().name(&wanted.name).build();
        match self.change(CHANGE, self.api.create_container(Some(options), body)).await {
            Ok(made) => Ok(made.id),
            Err(Fault::Missing(said)) => {
                Err(Fault::Missing(format!("{} for {}: {said}", wanted.image_reference, wanted.name)))
            }
            Err(fault) => Err(fault),
        }
    }

    async fn start(&self, id: &str) -> Result<(), Fault> {
        let started = self.change(CHANGE, self.api.start_container(check_name(id)?, None)).await;
        started.map_err(|fault| match &fault {
            Fault::Failed(said) | Fault::Refused(said) if said.contains("setting rlimit") => {
                Fault::Refused(format!("this machine cannot give the ulimits asked for; lower them ({said})"))
            }
            _ => fault,
        })
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), Fault> {
        let seconds = i32::try_from(create::whole_seconds(grace)).unwrap_or(i32::MAX);
        let options = StopContainerOptionsBuilder::default().t(seconds).build();
        let limit = grace.saturating_add(STOP_MARGIN);
        self.change(limit, self.api.stop_container(check_name(id)?, Some(options)).map(unless_absent)).await
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        // Anonymous volumes go with their container, or each new container would leave one behind.
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        let removal = self.api.remove_container(check_name(id)?, Some(options));
        let underway = |error: &bollard::errors::Error| says(error, "already in progress");
        let removed = removal.map(|answer| match unless_absent(answer) {
            Err(error) if underway(&error) => Ok(true),
            answer => answer.map(|()| false),
        });
        if self.change(CHANGE, removed).await? { self.await_removal(id).await } else { Ok(()) }
    }

    async fn logs(
        &self,
        id: &str,
        options: &LogOptions,
    ) -> Result<BoxStream<'static, Result<LogLine, Fault>>, Fault> {
        let id = check_name(id)?;
        let tail = options.tail.map_or("all".to_owned(), |lines| lines.to_string());
        let mut query = LogsOptionsBuilder::default()
            .stdout(true)
            .stderr(true)
            .timestamps(true)
            .follow(options.follow)
            .tail(&tail);
        if let Some(since) = options.since {
            // Docker's client counts whole seconds; what is older within the second is left out below.
            query = query.since(i32::try_from(since.as_second()).unwrap_or(i32::MAX));
        }
        let query = query.build();
        let (first, rest) = self.open(|api| Box::pin(api.logs(id, Some(query)))).await?;
        let since = options.since;
        let pieces = stream::iter(first).chain(rest).map(Some).chain(stream::iter([None]));
        let lines = pieces.scan(logs::Lines::default(), |lines, piece| {
            let found = match piece {
                Some(Ok(piece)) => lines.take(piece).map(Ok),
                Some(Err(error)) => Some(Err(Call::Tell.fault(error))),
                None => lines.rest().map(Ok),
            };
            std::future::ready(Some(found))
        });
        let wanted = move |line: &LogLine| line.at.is_none_or(|at| since.is_none_or(|since| at >= since));
        Ok(lines
            .filter_map(move |line| {
                std::future::ready(line.filter(|line| line.as_ref().map_or(true, &wanted)))
            })
            .boxed())
    }

    async fn usage(&self, id: &str) -> Result<Option<Usage>, Fault> {
        let query = StatsOptionsBuilder::default().stream(false).one_shot(true).build();
        let mut told = Box::pin(self.api.stats(check_name(id)?, Some(query)));
        let first = async { told.next().await.transpose() };
        let seen = self.tell(first.map(none_if_absent)).await?;
        Ok(seen.flatten().as_ref().and_then(usage::usage_from))
    }

    async fn engine(&self) -> Result<EngineFacts, Fault> {
        let info = self.tell(self.api.info()).await?;
        let count =
            |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).filter(|&n| n > 0);
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        let host = HostFacts {
            system: text(info.operating_system),
            processors: count(info.ncpu),
            memory_bytes: count(info.mem_total),
        };
        Ok(EngineFacts {
            version: info.server_version.unwrap_or_default(),
            root_folder: info.docker_root_dir.unwrap_or_default(),
            host,
        })
    }
}

impl Docker {
    /// A container by its whole name or id. Docker would also take the beginning of an id for it.
    pub(crate) async fn find_container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Fault> {
        let asked = self.api.inspect_container(check_name(name)?, None);
        let seen = self.tell(asked.map(none_if_absent)).await?;
        Ok(seen.filter(|seen| {
            let named = seen.name.as_deref().is_some_and(|found| found.trim_start_matches('/') == name);
            named || seen.id.as_deref() == Some(name)
        }))
    }

    /// Waits until a container that somebody else is removing is gone.
    async fn await_removal(&self, id: &str) -> Result<(), Fault> {
        let gone = async {
            while self.find_container(id).await?.is_some() {
                tokio::time::sleep(REMOVAL_LOOK).await;
            }
            Ok(())
        };
        let late = || Err(Fault::Failed(format!("container {id} is being removed and still there")));
        tokio::time::timeout(TELL, gone).await.unwrap_or_else(|_| late())
    }

    /// The runtime this Docker uses by itself, looked up only for a container that has another than the usual.
    async fn default_runtime(&self, seen: &ContainerInspectResponse) -> Result<String, Fault> {
        let runtime = seen.host_config.as_ref().and_then(|host| host.runtime.as_deref()).unwrap_or_default();
        if runtime.is_empty() || runtime == USUAL_RUNTIME {
            return Ok(USUAL_RUNTIME.to_owned());
        }
        let info = self.tell(self.api.info()).await?;
        Ok(info.default_runtime.unwrap_or_else(|| USUAL_RUNTIME.to_owned()))
    }
}

fn listed_from(seen: ContainerSummary) -> Result<ListedContainer, Fault> {
    let id = seen.id.ok_or_else(|| Fault::Blind("Docker lists a container without an id".to_owned()))?;
    // A linked container is listed under the names of its links as well, which hold another slash.
    let names = seen.names.unwrap_or_default();
    let name = names.iter().find_map(|name| name.strip_prefix('/').filter(|name| !name.contains('/')));
    Ok(ListedContainer {
        name: name.unwrap_or_default().to_owned(),
        labels: seen.labels.unwrap_or_default().into_iter().collect(),
        state: seen.state.map(|state| state.to_string()).unwrap_or_default(),
        id,
    })
}

fn unless_absent(answer: Result<(), bollard::errors::Error>) -> Result<(), bollard::errors::Error> {
    none_if_absent(answer).map(Option::unwrap_or_default)
}

pub(crate) fn none_if_absent<T>(
    answer: Result<T, bollard::errors::Error>,
) -> Result<Option<T>, bollard::errors::Error> {
    match answer {
        Ok(seen) => Ok(Some(seen)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
