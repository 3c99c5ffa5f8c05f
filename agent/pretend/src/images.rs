//! [`Images`] of the pretend machine, and the registry it gets them from.
//!
//! Unless it is told otherwise the registry has every image that is asked for. What it has under a reference depends
//! on the reference alone, and on how often a new version was published there.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hearth_capabilities::containers::ImageDefaults;
use hearth_capabilities::images::{ImageFacts, Images, PullProgress};
use hearth_capabilities::{Fault, Happening};
use hearth_kinds::container::HealthCheck;
use serde::{Deserialize, Serialize};

use crate::faults::Op;
use crate::machine::Machine;
use crate::state::{State, fingerprint};

/// In how many steps a pull comes along.
const PULL_STEPS: i64 = 5;

/// One image.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) id: String,
    /// Its names with tags, such as `postgres:17`.
    tags: BTreeSet<String>,
    /// Its digest by repository.
    digests: BTreeMap<String, String>,
    size_bytes: i64,
    says: Says,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Image {
    /// Whether it is kept under this tag.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(tag)
    }
}

/// What an image says of its containers.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Says {
    command: Vec<String>,
    entrypoint: Vec<String>,
    working_dir: String,
    user: String,
    env: BTreeMap<String, String>,
    health_check: Option<HealthCheck>,
    stop_signal: String,
    volumes: Vec<String>,
}

/// What the registries have.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Registry {
    /// How often something new was published under a reference.
    pub(crate) versions: BTreeMap<String, u64>,
    /// References nobody knows.
    pub(crate) unknown: BTreeSet<String>,
    /// References whose registry does not answer.
    pub(crate) unreachable: BTreeSet<String>,
    /// No registry answers.
    pub(crate) is_down: bool,
}

/// A reference taken apart, shortened as Docker does.
struct Reference {
    /// Empty for an id.
    repository: String,
    tag: Option<String>,
    /// The digest, or the id.
    digest: Option<String>,
}

impl Reference {
    fn parse(text: &str) -> Result<Self, Fault> {
        let refused = || Fault::Refused(format!("{text:?} is not an image reference, such as postgres:17"));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-/:@".contains(c);
        if text.is_empty() || !text.chars().all(is_plain) || text.contains("..") || text.starts_with('/') {
            return Err(refused());
        }
        if is_digest(text) {
            return Ok(Self { repository: String::new(), tag: None, digest: Some(text.to_owned()) });
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) if is_digest(digest) => (name, Some(digest.to_owned())),
            Some(_) => return Err(refused()),
            None => (text, None),
        };
        let after_path = name.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match name[after_path..].rfind(':') {
            Some(colon) => (&name[..after_path + colon], Some(name[after_path + colon + 1..].to_owned())),
            None => (name, None),
        };
        let short = repository.strip_prefix("docker.io/").unwrap_or(repository);
        let short = short.strip_prefix("library/").unwrap_or(short);
        if short.is_empty() || short == "sha256" || tag.as_deref() == Some("") {
            return Err(refused());
        }
        Ok(Self { repository: short.to_owned(), tag, digest })
    }

    /// The name with its tag, `latest` where none is said.
    fn tagged(&self) -> String {
        format!("{}:{}", self.repository, self.tag.as_deref().unwrap_or("latest"))
    }
}

impl Image {
    pub(crate) fn defaults(&self) -> ImageDefaults {
        let says = self.says.clone();
        ImageDefaults {
            command: says.command,
            entrypoint: says.entrypoint,
            working_dir: says.working_dir,
            user: says.user,
            env: says.env,
            health_check: says.health_check,
            stop_signal: says.stop_signal,
            volumes: says.volumes,
            labels: BTreeMap::new(),
        }
    }

    fn is_called(&self, reference: &Reference) -> bool {
        match (&reference.digest, reference.repository.as_str()) {
            (Some(id), "") => self.id == *id,
            (Some(digest), repository) => self.digests.get(repository) == Some(digest),
            (None, _) => self.tags.contains(&reference.tagged()),
        }
    }

    /// Whether all its names are of one repository, with at most one tag: then the last reference goes (Docker's
    /// rule for when a container that uses it is in the way).
    fn has_one_name(&self) -> bool {
        let repositories: BTreeSet<&str> =
            self.tags.iter().filter_map(|tag| Some(tag.rsplit_once(':')?.0)).collect();
        let is_same =
            |repository: &String| repositories.is_empty() || repositories.contains(repository.as_str());
        self.tags.len() <= 1 && self.digests.len() <= 1 && self.digests.keys().all(is_same)
    }
}

impl Says {
    pub(crate) fn from(defaults: ImageDefaults) -> Self {
        Self {
            command: defaults.command,
            entrypoint: defaults.entrypoint,
            working_dir: defaults.working_dir,
            user: defaults.user,
            env: defaults.env,
            health_check: defaults.health_check,
            stop_signal: defaults.stop_signal,
            volumes: defaults.volumes,
        }
    }

    /// What every image of the registry says.
    fn usual() -> Self {
        Self {
            command: vec!["run".into()],
            working_dir: "/".into(),
            env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            ..Self::default()
        }
    }
}

impl Registry {
    fn digest_of(&self, reference: &Reference) -> String {
        let tagged = reference.tagged();
        let version = self.versions.get(&tagged).copied().unwrap_or_default();
        let own = || format!("sha256:{}", fingerprint(&format!("manifest {tagged} {version}")));
        reference.digest.clone().unwrap_or_else(own)
    }

    fn answer(&self, text: &str) -> Result<(), Fault> {
        if self.unknown.contains(text) {
            return Err(Fault::Refused(format!("manifest for {text} not found: manifest unknown")));
        }
        if self.is_down || self.unreachable.contains(text) {
            return Err(Fault::Failed(format!("the registry of {text} does not answer: connection refused")));
        }
        Ok(())
    }
}

#[async_trait]
impl Images for Machine {
    async fn inspect(&self, reference: &str) -> Result<Option<ImageFacts>, Fault> {
        let parsed = Reference::parse(reference)?;
        self.call(Op::InspectImage, reference, |state| {
            let image = state.images.values().find(|image| image.is_called(&parsed));
            Ok(image.map(|image| ImageFacts {
                id: image.id.clone(),
                digest: image.digests.get(&parsed.repository).cloned(),
                size_bytes: image.size_bytes,
                volumes: image.says.volumes.clone(),
            }))
        })
        .await
    }

    async fn pull(
        &self,
        reference: &str,
        progress: &(dyn Fn(PullProgress) + Send + Sync),
    ) -> Result<(), Fault> {
        let parsed = Reference::parse(reference)?;
        if parsed.repository.is_empty() {
            return Err(Fault::Refused(format!("{reference} is an id, which no registry knows")));
        }
        let answered = self.arrive(Op::PullImage).await?;
        let digest = self.change(|state| {
            state.count(Op::PullImage, reference);
            state.registry.answer(reference).map(|()| state.registry.digest_of(&parsed))
        })?;
        let total_bytes = size_of(&digest);
        for step in 1..=PULL_STEPS {
            self.clock().sleep(self.pull_step()).await;
            progress(PullProgress { done_bytes: total_bytes * step / PULL_STEPS, total_bytes });
        }
        self.change(|state| keep(state, &parsed, &digest, None));
        self.answer(answered, Ok(())).await
    }

    async fn remove(&self, reference: &str) -> Result<(), Fault> {
        let parsed = Reference::parse(reference)?;
        self.call(Op::RemoveImage, reference, |state| remove(state, &parsed)).await
    }
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Between 8 and 72 MiB, by the digest.
fn size_of(digest: &str) -> i64 {
    let mebibytes = digest.bytes().fold(0_i64, |sum, byte| sum + i64::from(byte)) % 64 + 8;
    mebibytes * 1024 * 1024
}

/// Puts an image under a reference, as a pull ends.
pub(crate) fn keep_as(
    state: &mut State,
    reference: &str,
    says: Option<(Says, BTreeMap<String, String>)>,
) -> Result<String, Fault> {
    let parsed = Reference::parse(reference)?;
    let digest = state.registry.digest_of(&parsed);
    Ok(keep(state, &parsed, &digest, says))
}

/// The name with its tag under which the registry counts versions.
pub(crate) fn tagged(reference: &str) -> Result<String, Fault> {
    Ok(Reference::parse(reference)?.tagged())
}

fn keep(
    state: &mut State,
    reference: &Reference,
    digest: &str,
    says: Option<(Says, BTreeMap<String, String>)>,
) -> String {
    // One manifest is one image, whatever reference led to it.
    let id = format!("sha256:{}", fingerprint(&format!("image {digest}")));
    if reference.digest.is_none() {
        // The tag moves over; the image it was on stays, under its digest.
        for image in state.images.values_mut() {
            image.tags.remove(&reference.tagged());
        }
    }
    let image = state.images.entry(id.clone()).or_insert_with(|| Image {
        id: id.clone(),
        tags: BTreeSet::new(),
        digests: BTreeMap::new(),
        size_bytes: size_of(digest),
        says: Says::usual(),
        labels: BTreeMap::new(),
    });
    image.digests.insert(reference.repository.clone(), digest.to_owned());
    if reference.digest.is_none() {
        image.tags.insert(reference.tagged());
    }
    if let Some((says, labels)) = says {
        (image.says, image.labels) = (says, labels);
    }
    let name = match &reference.digest {
        Some(digest) => format!("{}@{digest}", reference.repository),
        None => reference.tagged(),
    };
    state.tell(Happening::Image { reference: name, action: "pull".into() });
    id
}

fn remove(state: &mut State, reference: &Reference) -> Result<(), Fault> {
    let Some(image) = state.images.values().find(|image| image.is_called(reference)).cloned() else {
        return Ok(());
    };
    let user = state.containers.values().find(|each| each.image_id == image.id);
    let is_last = reference.repository.is_empty() || image.has_one_name();
    if let Some(user) = user.filter(|_| is_last) {
        return Err(Fault::Conflict(format!("container {} is using its image {}", user.name, image.id)));
    }
    if reference.repository.is_empty() && !image.has_one_name() {
        return Err(Fault::Conflict(format!("image {} is referenced in several repositories", image.id)));
    }
    let Some(kept) = state.images.get_mut(&image.id) else { return Ok(()) };
    if reference.repository.is_empty() {
        (kept.tags, kept.digests) = Default::default();
    } else if reference.digest.is_some() {
        kept.digests.remove(&reference.repository);
    } else {
        kept.tags.remove(&reference.tagged());
        // The digest of a repository goes with its last tag.
        let prefix = format!("{}:", reference.repository);
        if !kept.tags.iter().any(|tag| tag.starts_with(&prefix)) {
            kept.digests.remove(&reference.repository);
        }
    }
    let is_gone = kept.tags.is_empty() && kept.digests.is_empty();
    state.tell(Happening::Image { reference: image.id.clone(), action: "untag".into() });
    if is_gone {
        state.images.remove(&image.id);
        state.tell(Happening::Image { reference: image.id, action: "delete".into() });
    }
    Ok(())
}
