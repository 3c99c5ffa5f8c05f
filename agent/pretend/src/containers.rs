//! [`Containers`] of the pretend machine.

pub(crate) mod record;
pub(crate) mod program;
pub(crate) mod life;

use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use hearth_capabilities::Fault;
use hearth_capabilities::containers::{
    ContainerFacts, Containers, EngineFacts, HostFacts, ListedContainer, LogLine, LogOptions, NewContainer,
    Usage,
};
use hearth_meta::labels;

use crate::faults::Op;
use crate::machine::Machine;
use crate::state::State;
use program::{Program, program_of};
use record::{Container, Line, Status};

/// What the engine says its version is.
const VERSION: &str = "0.1-pretend";
/// Where it says that it keeps everything: a folder that is there, and a disk with some room.
const ROOT_FOLDER: &str = "/";

#[async_trait]
impl Containers for Machine {
    async fn list(&self) -> Result<Vec<ListedContainer>, Fault> {
        self.call(Op::ListContainers, "", |state| {
            let ours =
                state.containers.values().filter(|each| each.settings.labels.contains_key(labels::UID));
            Ok(ours.map(|each| each.listed(state.images.get(&each.image_id))).collect())
        })
        .await
    }

    async fn inspect(&self, name: &str) -> Result<Option<ContainerFacts>, Fault> {
        check_name(name)?;
        self.call(Op::InspectContainer, name, |state| {
            let Some(container) = state.container(name) else { return Ok(None) };
            facts_of(state, container).map(Some)
        })
        .await
    }

    async fn create(&self, wanted: &NewContainer) -> Result<String, Fault> {
        check(wanted)?;
        self.call(Op::CreateContainer, &wanted.name, |state| create(state, wanted)).await
    }

    async fn start(&self, id: &str) -> Result<(), Fault> {
        check_name(id)?;
        self.call(Op::StartContainer, id, |state| {
            let name = state.container_name(id).ok_or_else(|| no_container(id))?;
            match state.containers.get(&name).map(|each| each.run.status) {
                Some(Status::Running) => Ok(()),
                _ => life::start(state, &name),
            }
        })
        .await
    }

    async fn stop(&self, id: &str, grace: Duration) -> Result<(), Fault> {
        check_name(id)?;
        let is_stubborn = self.look(|state| {
            state
                .container(id)
                .is_some_and(|each| each.run.is_running() && program_of(&each.settings) == Program::Stubborn)
        });
        if is_stubborn {
            self.clock().sleep(grace).await;
        }
        self.call(Op::StopContainer, id, |state| {
            if let Some(name) = state.container_name(id) {
                life::stop(state, &name);
            }
            Ok(())
        })
        .await
    }

    async fn remove(&self, id: &str) -> Result<(), Fault> {
        check_name(id)?;
        self.call(Op::RemoveContainer, id, |state| {
            if let Some(name) = state.container_name(id) {
                life::remove(state, &name);
            }
            Ok(())
        })
        .await
    }

    async fn logs(
        &self,
        id: &str,
        options: &LogOptions,
    ) -> Result<BoxStream<'static, Result<LogLine, Fault>>, Fault> {
        check_name(id)?;
        let past = self
            .call(Op::ReadLogs, id, |state| {
                let container = state.container(id).ok_or_else(|| no_container(id))?;
                Ok(container.log.clone())
            })
            .await?;
        let since = options.since;
        let mut lines: Vec<Line> =
            past.iter().filter(|line| since.is_none_or(|since| line.at.0 >= since)).cloned().collect();
        let spare = lines.len().saturating_sub(options.tail.map_or(usize::MAX, |tail| tail as usize));
        lines.drain(..spare);
        let past_lines = stream::iter(lines.into_iter().map(|line| Ok(told(line))));
        if !options.follow {
            return Ok(past_lines.boxed());
        }
        Ok(past_lines.chain(self.clone().lines_to_come(id.to_owned(), past.len())).boxed())
    }

    async fn usage(&self, id: &str) -> Result<Option<Usage>, Fault> {
        check_name(id)?;
        let now = self.clock().elapsed();
        self.call(Op::ReadUsage, id, |state| Ok(state.container(id).and_then(|each| each.usage(now)))).await
    }

    async fn engine(&self) -> Result<EngineFacts, Fault> {
        self.call(Op::ReadEngine, "", |_| {
            let host = HostFacts {
                system: Some("A pretend machine".into()),
                processors: Some(4),
                memory_bytes: Some(16 << 30),
            };
            Ok(EngineFacts { version: VERSION.to_owned(), root_folder: ROOT_FOLDER.to_owned(), host })
        })
        .await
    }
}

impl Machine {
    /// Lines as they are written, until the container has ended.
    fn lines_to_come(
        self,
        id: String,
        seen: usize,
    ) -> impl futures::Stream<Item = Result<LogLine, Fault>> + Send + 'static {
        stream::unfold((self, id, seen), |(machine, id, seen)| async move {
            loop {
                let next = machine.look(|state| {
                    let container = state.container(&id)?;
                    let is_over = !matches!(container.run.status, Status::Running | Status::Restarting);
                    match container.log.get(seen).cloned() {
                        Some(line) => Some(Some(line)),
                        None if is_over => None,
                        None => Some(None),
                    }
                });
                match next {
                    None => return None,
                    Some(Some(line)) => return Some((Ok(told(line)), (machine, id, seen + 1))),
                    Some(None) => machine.next_change().await,
                }
            }
        })
    }
}

fn told(line: Line) -> LogLine {
    LogLine { at: Some(line.at.0), is_error: line.is_error, text: line.text }
}

/// What is told of a container. One whose image was taken away by force cannot be told.
pub(crate) fn facts_of(state: &State, container: &Container) -> Result<ContainerFacts, Fault> {
    let image = state.images.get(&container.image_id);
    let image = image.ok_or_else(|| Fault::Blind(format!("the image of {} is not here", container.name)))?;
    Ok(container.facts(image))
}

fn create(state: &mut State, wanted: &NewContainer) -> Result<String, Fault> {
    if let Some(there) = state.containers.get(&wanted.name) {
        let (name, id) = (&wanted.name, &there.id);
        return Err(Fault::Conflict(format!("the container name {name:?} is already in use by {id}")));
    }
    let Some(image) = state.images.get(&wanted.image_id).cloned() else {
        return Err(Fault::Missing(format!("no such image: {}", wanted.image_id)));
    };
    // A network that is not there is found out at the start only (seen), a folder at once.
    if let Some(folder) = wanted.mounts.iter().find(|folder| !state.disk.has_folder(&folder.host_path)) {
        return Err(Fault::Missing(format!("bind source path does not exist: {}", folder.host_path)));
    }
    let id = state.new_id("container");
    state.containers.insert(wanted.name.clone(), Container::new(id.clone(), wanted, &image));
    life::tell(state, &wanted.name, "create");
    Ok(id)
}

/// Refuses what the real hands refuse before they ask.
fn check(wanted: &NewContainer) -> Result<(), Fault> {
    let mut problems = Vec::new();
    problems.extend(check_name(&wanted.name).err().map(|fault| fault.to_string()));
    if !wanted.image_id.starts_with("sha256:") {
        problems.push(format!("image id: {:?} is not an id", wanted.image_id));
    }
    if wanted.env.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
        problems.push("env: the name of a variable must not be empty or hold '='".to_owned());
    }
    if wanted.health.as_ref().is_some_and(|health| health.test.is_empty()) {
        problems.push("health.test: is empty".to_owned());
    }
    let paths =
        wanted.mounts.iter().map(|mount| &mount.path).chain(wanted.tmpfs.iter().map(|tmpfs| &tmpfs.path));
    problems
        .extend(paths.filter(|path| !path.starts_with('/')).map(|path| format!("{path:?} must be absolute")));
    if problems.is_empty() { Ok(()) } else { Err(Fault::Refused(problems.join("; "))) }
}

/// Refuses what is no name of a container or network.
pub(crate) fn check_name(name: &str) -> Result<(), Fault> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(Fault::Refused(format!("{name:?} is not a name")))
    }
}

pub(crate) fn no_container(id: &str) -> Fault {
    Fault::Missing(format!("no such container: {id}"))
}
