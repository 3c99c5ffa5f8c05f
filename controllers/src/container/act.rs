//! Carries out one step. Every step may run twice; a name that is taken meanwhile, or a network that is gone, fails
//! here and is seen by the next look.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_capabilities::containers::{BoundFolder, ContainerFacts, JoinedNetwork, NewContainer};
use hearth_engine::Object;
use hearth_engine::controller::{StepError, Wanted, spec_hash};
use hearth_kinds::Container;
use hearth_kinds::container::NetworkLink;
use hearth_meta::Reason;
use hearth_meta::labels::{OWNER_UID, SECRET_ENV};
use hearth_meta::quantity::{parse_bytes, parse_millicpus};

use super::diff::{bound_files, memory_folder};
use super::observe::{pinned, resolve_env};
use super::{ContainerController, ContainerStep};
use crate::fault::failed;

/// Docker's own, where a container says nothing.
pub(super) const DEFAULT_GRACE: Duration = Duration::from_secs(10);

impl ContainerController {
    /// Removes a container that no object stands for any more, and what it was given.
    ///
    /// Here the files go first, and the container is stopped by then: with it goes all that leads to them, since no
    /// object is left to come back for its sake. Cut off in between, the container is found again by the next survey.
    pub(super) async fn remove_orphan(&self, container: &ContainerFacts) -> Result<(), StepError> {
        let containers = &self.hands.containers;
        let grace = container.stop_grace.unwrap_or(DEFAULT_GRACE);
        containers.stop(&container.id, grace).await.map_err(failed)?;
        let key = self.naming.key("Container", &container.name);
        if let (Some(key), Some(instance)) = (key, container.labels.get(OWNER_UID)) {
            let successor = self.store.get(&key).filter(|object| is_of(object, instance));
            // Whoever has come to its name in the same app has its files in the same place, and sees to them.
            if successor.is_none() {
                self.hands.volumes.take_back(instance, &key.name).await.map_err(failed)?;
            }
        }
        containers.remove(&container.id).await.map_err(failed)
    }

    pub(super) async fn carry_out(
        &self,
        step: &ContainerStep,
        wanted: &Wanted<Container>,
    ) -> Result<(), StepError> {
        let containers = &self.hands.containers;
        match step {
            ContainerStep::Create => {
                let new = self.resolve(wanted).await?;
                containers.create(&new).await.map(|_| ()).map_err(failed)
            }
            ContainerStep::Attach(network) => self.attach(wanted, network).await,
            ContainerStep::Detach(network) => {
                let name = self.engine_name(wanted);
                self.hands.networks.disconnect(network, &name).await.map_err(failed)
            }
            ContainerStep::Start(id) => containers.start(id).await.map_err(failed),
            ContainerStep::Stop { id, grace } => containers.stop(id, *grace).await.map_err(failed),
            ContainerStep::Remove(id) => containers.remove(id).await.map_err(failed),
            ContainerStep::TakeBack => {
                self.hands.volumes.take_back(wanted.owner_uid(), wanted.name()).await.map_err(failed)
            }
        }
    }

    async fn attach(&self, wanted: &Wanted<Container>, network: &str) -> Result<(), StepError> {
        let Some(link) = wanted.object.spec.networks.iter().find(|link| link.name == network) else {
            return Ok(());
        };
        let (joined, container) = (self.joined(wanted, link), self.engine_name(wanted));
        // A place on a network that was made anew, or without the right names, has to be left first.
        self.hands.networks.disconnect(&joined.name, &container).await.map_err(failed)?;
        self.hands.networks.connect(&joined, &container).await.map_err(failed)
    }

    /// Puts the files it is given where they can be mounted. Whatever happens next, they are only read from there.
    async fn give(&self, wanted: &Wanted<Container>) -> Result<Vec<BoundFolder>, StepError> {
        let spec = &wanted.object.spec;
        if spec.files.is_empty() {
            return Ok(Vec::new());
        }
        let given = self.given(wanted).await.map_err(|blind| StepError::new(Reason::CannotSee, blind.0))?;
        let given = given.map_err(|(reason, message)| StepError::new(reason, message))?;
        let paths = self.hands.volumes.give(&given).await.map_err(failed)?;
        Ok(bound_files(spec, &paths))
    }

    fn joined(&self, wanted: &Wanted<Container>, link: &NetworkLink) -> JoinedNetwork {
        JoinedNetwork { name: self.naming.of(wanted.namespace(), &link.name), aliases: link.aliases.clone() }
    }

    /// The container to be made, with everything it refers to looked up at this moment.
    async fn resolve(&self, wanted: &Wanted<Container>) -> Result<NewContainer, StepError> {
        let spec = &wanted.object.spec;
        let facts = self.look(wanted).await.map_err(|blind| StepError::new(Reason::CannotSee, blind.0))?;
        let missing = |message: String| StepError::new(Reason::DependencyNotReady, message);
        let image =
            facts.image.ok_or_else(|| missing(format!("image {} is not here", facts.image_reference)))?;
        let mut mounts = Vec::new();
        for mount in &spec.mounts {
            let path = facts
                .volumes
                .get(&mount.volume)
                .cloned()
                .unwrap_or_else(|| Err("it was not looked at".into()));
            let host_path = path.map_err(missing)?;
            mounts.push(BoundFolder { host_path, path: mount.path.clone(), read_only: mount.read_only });
        }
        mounts.extend(self.give(wanted).await?);
        let mut env = BTreeMap::new();
        for variable in &spec.env {
            let (value, _) = resolve_env(&self.store, wanted.namespace(), variable)
                .map_err(|message| StepError::new(Reason::SecretMissing, message))?;
            env.insert(variable.name.clone(), value);
        }
        let mut labels: BTreeMap<String, String> =
            spec.labels.iter().map(|label| (label.name.clone(), label.value.clone())).collect();
        // Hearth's own last: no author's label may stand for one of them.
        labels.extend(self.naming.labels(wanted, &self.store, &spec_hash(spec)));
        let secret = spec.env.iter().filter(|variable| variable.secrets().next().is_some());
        labels.insert(
            SECRET_ENV.to_owned(),
            secret.map(|variable| variable.name.as_str()).collect::<Vec<_>>().join(" "),
        );
        Ok(NewContainer {
            name: self.engine_name(wanted),
            image_id: image.id,
            image_reference: pinned(&facts.image_reference, &spec.image.digest),
            command: spec.command.clone(),
            entrypoint: spec.entrypoint.clone(),
            working_dir: spec.working_dir.clone(),
            user: spec.user.clone(),
            env,
            mounts,
            tmpfs: spec.tmpfs.iter().map(memory_folder).collect(),
            read_only_root: spec.read_only_root,
            network: spec.networks.first().map(|link| self.joined(wanted, link)),
            health: spec.health.clone(),
            restart: spec.restart,
            stop_grace: grace(wanted),
            stop_signal: spec.stop.signal.clone(),
            memory_bytes: spec.resources.memory_limit.as_deref().and_then(|limit| parse_bytes(limit).ok()),
            millicpus: spec.resources.cpu_limit.as_deref().and_then(|limit| parse_millicpus(limit).ok()),
            surroundings: spec.surroundings.clone(),
            devices: spec.devices.clone(),
            capabilities: spec.capabilities.clone(),
            ports: spec.ports.clone(),
            labels,
            init: spec.init,
            hostname: spec.hostname.clone(),
        })
    }
}

/// Whether what is made for an object is made in the name of this uid, as by [`Wanted::owner_uid`].
fn is_of(object: &Object, uid: &str) -> bool {
    let label = object.metadata.labels.as_ref().and_then(|labels| labels.get(OWNER_UID));
    object.owners().next().or(label.map(String::as_str)).unwrap_or_else(|| object.uid()) == uid
}

pub(super) fn grace(wanted: &Wanted<Container>) -> Duration {
    u64::try_from(wanted.object.spec.stop.grace_seconds).map_or(DEFAULT_GRACE, Duration::from_secs)
}
