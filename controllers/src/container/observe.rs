//! What is seen of a container and of everything it hangs on. Secrets leave here only as keyed hashes.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join3;
use hearth_capabilities::containers::{ContainerFacts, Health, ImageDefaults, ListedContainer};
use hearth_capabilities::images::ImageFacts;
use hearth_capabilities::volumes::LeafState;
use hearth_engine::controller::{Blind, Wanted};
use hearth_engine::{Key, Object, Store};
use hearth_kinds::container::{ContainerType, DependencyCondition, EnvVar};
use hearth_kinds::shared::SecretKeyRef;
use hearth_kinds::{Container, Image, Volume};
use hearth_meta::{ObjectRef, Verdict, labels};

use super::ContainerController;
use super::crashes::{Crashes, crashes};
use super::given::{GivenSeen, NotYet};
use crate::fault::blind;
use crate::jobs::{self, Completion};
use crate::naming::{Ownership, ownership};
use crate::volume::leaf;

/// Everything a decision about one container needs.
#[derive(Debug)]
pub struct ContainerSeen {
    /// The container of its name, with every secret in its environment replaced by its keyed hash.
    pub(super) container: Option<ContainerFacts>,
    /// Whose that one is.
    pub(super) ownership: Ownership,
    /// The pinned image on this machine, and the name people know it by.
    pub(super) image: Option<ImageFacts>,
    /// The reference that people know the image by.
    pub(super) image_reference: String,
    /// What the image itself says; known only from a container that was made of it.
    pub(super) image_defaults: Option<ImageDefaults>,
    /// What each variable should be, by name: a text, or a keyed hash of a secret.
    pub(super) env: BTreeMap<String, Result<EnvValue, String>>,
    /// Each mounted Volume, by name: where its folder is, or why nothing may be started on it.
    pub(super) volumes: BTreeMap<String, Result<String, String>>,
    /// The files it is given, or why they cannot be given yet.
    pub(super) files: Result<GivenSeen, NotYet>,
    /// Whether none is there that was made for this object, and files are given to it all the same.
    pub(super) still_holds: bool,
    /// Each network, by the Network's name.
    pub(super) networks: BTreeMap<String, NetworkSeen>,
    /// What each dependency lacks; met ones are left out.
    pub(super) unmet: Vec<Unmet>,
    /// The variables of the container whose values are seen only as keyed hashes.
    pub(super) hidden: BTreeSet<String>,
    /// What is known of its deaths.
    pub(super) crashes: Crashes,
    /// The last lines it wrote, read only where it has died again in a loop.
    pub(super) log_tail: Option<Vec<String>>,
    /// Of a job whose status does not say that it is done: what the instance's folder says.
    pub(super) recorded: Option<Completion>,
    /// Containers that were made for this object and go by another name now, where none goes by its own.
    pub(super) strays: Vec<ListedContainer>,
}

/// What a variable should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EnvValue {
    Plain(String),
    /// A keyed hash.
    Secret(String),
}

/// What the store says of a Network the container should be on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NetworkSeen {
    /// Its name in the engine.
    pub(super) engine_name: String,
    /// Its id in the engine; absent while it is not there.
    pub(super) id: Option<String>,
}

/// A dependency that does not hold yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unmet {
    pub(super) container: String,
    pub(super) condition: DependencyCondition,
    /// It should become healthy, runs, and has no health check: it never will.
    pub(super) has_no_check: bool,
}

impl ContainerController {
    pub(super) async fn look(&self, wanted: &Wanted<Container>) -> Result<ContainerSeen, Blind> {
        let spec = &wanted.object.spec;
        // At once: a container that has just ended is told of only when Docker has cleaned up after it.
        let name = self.engine_name(wanted);
        let container = async { self.hands.containers.inspect(&name).await.map_err(blind) };
        let image = self.image(&spec.image.image, &spec.image.digest);
        let (mut container, (image, image_reference), volumes) =
            try_join3(container, image, self.volumes(wanted)).await?;
        let env = spec.env.iter().map(|env| (env.name.clone(), self.env_wanted(wanted, env))).collect();
        let values = container.as_ref().map(|container| container.env.clone()).unwrap_or_default();
        let hidden =
            container.as_mut().map(|container| self.hide_secrets(&env, container)).unwrap_or_default();
        let strays = if container.is_none() { self.strays(wanted).await? } else { Vec::new() };
        let whose = container
            .as_ref()
            .map_or(Ownership::Foreign, |container| ownership(&container.labels, wanted.uid(), &self.store));
        // A predecessor has its files in the same place.
        let is_there = matches!(whose, Ownership::Mine | Ownership::Predecessor) || !strays.is_empty();
        let still_holds = !is_there && self.still_holds(wanted).await?;
        let mine = container.as_ref().filter(|_| whose == Ownership::Mine);
        let crashes = mine.map(|container| crashes(wanted, container)).unwrap_or_default();
        let log_tail = match mine {
            Some(container) if crashes.looping.is_some() && needs_tail(wanted, &crashes) => {
                let hidden = values.into_iter().filter(|(name, _)| hidden.contains(name));
                let secrets = self.secrets_of(wanted, hidden.map(|(_, value)| value));
                self.log_tail(container, &secrets).await
            }
            _ => None,
        };
        Ok(ContainerSeen {
            ownership: whose,
            image_defaults: container.as_ref().map(|container| container.image.clone()),
            image,
            image_reference,
            env,
            volumes,
            files: self.look_at_given(wanted).await?,
            still_holds,
            networks: spec
                .networks
                .iter()
                .map(|link| (link.name.clone(), self.network(wanted, &link.name)))
                .collect(),
            unmet: unmet(&self.store, wanted),
            hidden,
            strays,
            crashes,
            log_tail,
            recorded: self.recorded(wanted).await?,
            container,
        })
    }

    /// What the instance's folder says of a job whose own status does not say that it is done. What is there and
    /// cannot be understood is not taken for nothing: the job would run twice.
    async fn recorded(&self, wanted: &Wanted<Container>) -> Result<Option<Completion>, Blind> {
        let status = wanted.object.status.as_ref();
        let is_open = status.is_none_or(|status| status.completed_for.is_none());
        if wanted.gone || wanted.object.spec.r#type != ContainerType::Job || !is_open {
            return Ok(None);
        }
        let files = self.hands.volumes.load_files(wanted.owner_uid()).await.map_err(blind)?;
        let mut recorded = jobs::recorded(&files.unwrap_or_default()).map_err(Blind)?;
        Ok(recorded.remove(wanted.name()))
    }

    /// The image the pin means on this machine.
    async fn image(&self, name: &str, digest: &str) -> Result<(Option<ImageFacts>, String), Blind> {
        let object = self.store.get(&Key::new("Image", "", name));
        let image = object.and_then(|object| object.typed::<Image>().ok());
        let reference = image.map(|image| image.spec.reference).unwrap_or_default();
        let facts = match self.hands.images.inspect(&pinned(&reference, digest)).await.map_err(blind)? {
            Some(facts) => Some(facts),
            // An image that was never pushed has no digest of its own; its id names it.
            None => self.hands.images.inspect(digest).await.map_err(blind)?,
        };
        Ok((facts, reference))
    }

    fn env_wanted(&self, wanted: &Wanted<Container>, env: &EnvVar) -> Result<EnvValue, String> {
        match resolve_env(&self.store, wanted.namespace(), env)? {
            (value, false) => Ok(EnvValue::Plain(value)),
            (value, true) => Ok(EnvValue::Secret(self.store.keyed_hash(value.as_bytes()))),
        }
    }

    /// From here on no value that is or was secret is in memory that could be printed: of a variable that the spec
    /// calls secret, or called so when the container was made, or that neither the spec nor the image knows.
    fn hide_secrets(
        &self,
        env: &BTreeMap<String, Result<EnvValue, String>>,
        container: &mut ContainerFacts,
    ) -> BTreeSet<String> {
        let was_secret: BTreeSet<&str> = container
            .labels
            .get(labels::SECRET_ENV)
            .map(|names| names.split(' ').collect())
            .unwrap_or_default();
        let mut hidden = BTreeSet::new();
        for (name, seen) in &mut container.env {
            let is_open = match env.get(name) {
                Some(Ok(EnvValue::Plain(_))) => true,
                Some(_) => false,
                None => container.image.env.contains_key(name),
            };
            if !is_open || was_secret.contains(name.as_str()) {
                *seen = self.store.keyed_hash(seen.as_bytes());
                hidden.insert(name.clone());
            }
        }
        hidden
    }

    /// A container that somebody renamed still runs, on the same data: a second one beside it would spoil both.
    async fn strays(&self, wanted: &Wanted<Container>) -> Result<Vec<ListedContainer>, Blind> {
        let name = self.engine_name(wanted);
        let listed = self.hands.containers.list().await.map_err(blind)?;
        let made_for = |container: &ListedContainer| {
            ownership(&container.labels, wanted.uid(), &self.store) == Ownership::Mine
        };
        let (own, strays): (Vec<_>, Vec<_>) =
            listed.into_iter().filter(made_for).partition(|container| container.name == name);
        // Asked for by name it was not there. One of the two answers is wrong, or old; neither is a fact.
        if !own.is_empty() {
            return Err(Blind(format!("The container engine lists {name} and does not know it")));
        }
        Ok(strays)
    }

    async fn volumes(
        &self,
        wanted: &Wanted<Container>,
    ) -> Result<BTreeMap<String, Result<String, String>>, Blind> {
        let mut volumes = BTreeMap::new();
        for mount in &wanted.object.spec.mounts {
            volumes.insert(mount.volume.clone(), self.volume(wanted, &mount.volume).await?);
        }
        Ok(volumes)
    }

    /// Where a Volume's folder is, looked at on the disk now and not as the store remembers it.
    async fn volume(&self, wanted: &Wanted<Container>, name: &str) -> Result<Result<String, String>, Blind> {
        let Some(object) = self.store.get(&Key::new("Volume", wanted.namespace(), name)) else {
            return Ok(Err(format!("Volume {name} does not exist")));
        };
        let volume: Volume = object.typed().map_err(Blind)?;
        let is_on_record = volume.status.as_ref().is_some_and(|status| status.made_at.is_some());
        Ok(match self.hands.volumes.inspect(&leaf(&volume)).await.map_err(blind)? {
            // Were it not on record that the folder was made, data written to it and lost in a crash would be taken
            // for a folder that has yet to be made.
            LeafState::Present(facts) if facts.marker.as_deref() == Some(object.uid()) && is_on_record => {
                Ok(facts.host_path)
            }
            LeafState::Present(facts) if facts.marker.as_deref() == Some(object.uid()) => {
                Err(format!("Volume {name} was made a moment ago"))
            }
            LeafState::Present(_) | LeafState::Absent => Err(format!("Volume {name} is not there")),
            LeafState::Unsafe(what) => Err(format!("Volume {name} is not safe: {what} is in its place")),
        })
    }

    fn network(&self, wanted: &Wanted<Container>, name: &str) -> NetworkSeen {
        let object = self
            .store
            .get(&Key::new("Network", wanted.namespace(), name))
            .filter(|network| !network.is_going());
        let id = object.and_then(|network| network.status()["networkId"].as_str().map(str::to_owned));
        NetworkSeen { engine_name: self.naming.of(wanted.namespace(), name), id }
    }
}

/// Whether its last lines are not known yet, or have changed since.
fn needs_tail(wanted: &Wanted<Container>, crashes: &Crashes) -> bool {
    let known = wanted.object.status.as_ref().and_then(|status| status.crash_loop.as_ref());
    crashes.fresh > 0 || known.is_none_or(|known| known.log_tail.is_empty())
}

/// `repository@digest`, the exact address of a manifest; an image id stands for itself.
pub(super) fn pinned(reference: &str, digest: &str) -> String {
    if reference.contains('@') {
        return reference.to_owned();
    }
    // A colon after the last slash begins a tag; one before it is the port of a registry.
    let repository = match reference.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => reference,
    };
    format!("{repository}@{digest}")
}

/// The value of a variable, and whether it is secret. In words for people where a secret is missing.
pub(super) fn resolve_env(store: &Store, namespace: &str, env: &EnvVar) -> Result<(String, bool), String> {
    let Some(source) = &env.value_from else { return Ok((env.value.clone().unwrap_or_default(), false)) };
    if let Some(secret) = &source.secret_key_ref {
        return Ok((secret_value(store, namespace, secret)?, true));
    }
    let mut value = String::new();
    for part in &source.parts {
        match &part.secret_key_ref {
            Some(secret) => value.push_str(&secret_value(store, namespace, secret)?),
            None => value.push_str(part.text.as_deref().unwrap_or_default()),
        }
    }
    Ok((value, true))
}

pub(super) fn secret_value(store: &Store, namespace: &str, secret: &SecretKeyRef) -> Result<String, String> {
    let SecretKeyRef { name, key } = secret;
    let object = store
        .get(&Key::new("Secret", namespace, name))
        .ok_or_else(|| format!("Secret {name} does not exist"))?;
    let data = object.body.get("data").and_then(|data| data.get(key));
    let data = data.ok_or_else(|| format!("Secret {name} has no key {key}"))?;
    let bytes: k8s_openapi::ByteString =
        serde_json::from_value(data.clone()).map_err(|_| format!("Secret {name} key {key} is not base64"))?;
    String::from_utf8(bytes.0).map_err(|_| format!("Secret {name} key {key} is not text"))
}

fn unmet(store: &Store, wanted: &Wanted<Container>) -> Vec<Unmet> {
    let holds = |other: Option<&Object>, condition: DependencyCondition| {
        // What a status says holds only for the spec it was made for.
        let current =
            |object: &&Object| object.status()["observedGeneration"].as_i64() == object.metadata.generation;
        let Some(status) = other.filter(current).map(Object::status) else { return false };
        let runs = status["state"] == "running";
        match condition {
            DependencyCondition::Started => runs || !status["completedAt"].is_null(),
            DependencyCondition::Healthy => runs && status["health"] == Health::Healthy.as_str(),
            DependencyCondition::Completed => {
                !status["completedAt"].is_null() && status["summary"] == Verdict::Ready.as_str()
            }
        }
    };
    let mut unmet = Vec::new();
    for dependency in &wanted.object.spec.depends_on {
        let other = store.get(&Key::new("Container", wanted.namespace(), &dependency.container));
        if !holds(other.as_deref(), dependency.condition) {
            let runs = holds(other.as_deref(), DependencyCondition::Started);
            let unchecked = runs && other.is_some_and(|other| other.status()["health"].is_null());
            unmet.push(Unmet {
                container: dependency.container.clone(),
                condition: dependency.condition,
                has_no_check: unchecked && dependency.condition == DependencyCondition::Healthy,
            });
        }
    }
    unmet
}

impl Unmet {
    pub(super) fn reference(&self, namespace: &str) -> ObjectRef {
        ObjectRef::namespaced("Container", namespace, &self.container)
    }
}

#[cfg(test)]
mod tests {
    use super::pinned;

    #[test]
    fn a_pin_keeps_the_repository_and_drops_the_tag() {
        assert_eq!(pinned("postgres:17", "sha256:a"), "postgres@sha256:a");
        assert_eq!(pinned("localhost:5000/a/b", "sha256:a"), "localhost:5000/a/b@sha256:a");
        assert_eq!(pinned("localhost:5000/a/b:2", "sha256:a"), "localhost:5000/a/b@sha256:a");
        assert_eq!(pinned("b@sha256:c", "sha256:c"), "b@sha256:c");
    }
}
