//! [`Images`] over Docker, and what an image says of the containers made from it.

mod pull;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bollard::models::ImageInspect;
use bollard::query_parameters::{CreateImageOptionsBuilder, RemoveImageOptionsBuilder};
use futures::{FutureExt, StreamExt};
use hearth_capabilities::containers::ImageDefaults;
use hearth_capabilities::images::{ImageFacts, PullProgress};
use hearth_capabilities::{Fault, Images};

use crate::client::{CHANGE, Docker};
use crate::containers::{env_from, health_check_from, none_if_absent};
use crate::failure::pull_fault;
use crate::names::{Reference, shorten};

/// How many images are remembered. An entry is a few KiB, and a home has some hundred images at most.
const REMEMBERED: usize = 512;

/// What an image says, as far as containers made from it are concerned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// In the words of the spec.
    pub(crate) defaults: ImageDefaults,
    /// A setting of its health check that Hearth does not know.
    pub(crate) start_interval: Option<i64>,
}

/// Images by id. An id is made of the image's content, so what it says never changes.
#[derive(Default)]
pub(crate) struct ImageCache(Mutex<HashMap<String, Arc<Image>>>);

impl ImageCache {
    fn find(&self, id: &str) -> Option<Arc<Image>> {
        self.0.lock().ok()?.get(id).cloned()
    }

    fn keep(&self, id: &str, image: &Arc<Image>) {
        if let Ok(mut known) = self.0.lock() {
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(id.to_owned(), Arc::clone(image));
        }
    }
}

#[async_trait]
impl Images for Docker {
    async fn inspect(&self, reference: &str) -> Result<Option<ImageFacts>, Fault> {
        let reference = Reference::parse(reference)?;
        let seen = self.tell(self.api.inspect_image(reference.whole).map(none_if_absent)).await?;
        Ok(seen.filter(|seen| is_meant(&reference, seen)).map(|seen| facts_from(&reference, seen)))
    }

    async fn pull(
        &self,
        reference: &str,
        progress: &(dyn Fn(PullProgress) + Send + Sync),
    ) -> Result<(), Fault> {
        let asked = Reference::parse(reference)?;
        let Some(repository) = asked.repository else {
            return Err(Fault::Refused(format!("{reference} is an id; only a name can be pulled")));
        };
        // Without a tag Docker would pull every tag there is.
        let exact = asked.digest.or(asked.tag).unwrap_or("latest");
        let options = CreateImageOptionsBuilder::default().from_image(repository).tag(exact).build();
        let mut said = self.api.create_image(Some(options), None, None);
        let mut sum = pull::Sum::default();
        while let Some(message) = said.next().await {
            // Every message is a sign of life, so each is reported, the same figures or not.
            progress(sum.after(&message.map_err(pull_fault)?));
        }
        Ok(())
    }

    async fn remove(&self, reference: &str) -> Result<(), Fault> {
        let reference = Reference::parse(reference)?;
        if reference.might_be_an_id() && Images::inspect(self, reference.whole).await?.is_none() {
            return Ok(());
        }
        let options = RemoveImageOptionsBuilder::default().force(false).noprune(false).build();
        let removal = self.api.remove_image(reference.whole, Some(options), None);
        self.change(CHANGE, removal.map(none_if_absent)).await.map(drop)
    }
}

impl Docker {
    /// What the image of that id says; `None` means it is not here.
    pub(crate) async fn image_by_id(&self, id: &str) -> Result<Option<Arc<Image>>, Fault> {
        if let Some(image) = self.image_cache.find(id) {
            return Ok(Some(image));
        }
        let reference = Reference::parse(id)?;
        let seen = self.tell(self.api.inspect_image(reference.whole).map(none_if_absent)).await?;
        Ok(seen.map(|seen| {
            let image = Arc::new(image_from(&seen));
            self.image_cache.keep(id, &image);
            image
        }))
    }
}

/// Docker takes a word for the beginning of an id when no image has that name; that is not what was asked.
fn is_meant(reference: &Reference<'_>, seen: &ImageInspect) -> bool {
    let tagged = || format!("{}:latest", reference.whole);
    !reference.might_be_an_id() || seen.repo_tags.iter().flatten().any(|tag| *tag == tagged())
}

fn facts_from(reference: &Reference<'_>, seen: ImageInspect) -> ImageFacts {
    let digests = seen.repo_digests.unwrap_or_default();
    let mut own = digests.iter().filter_map(|named| {
        let (repository, digest) = named.split_once('@')?;
        (Some(shorten(repository)) == reference.short_repository()).then_some(digest)
    });
    // An image may be known under several digests of one repository; the one that was asked for is meant.
    let asked = reference.digest.filter(|asked| own.clone().any(|digest| digest == *asked));
    let digest = asked.or_else(|| own.next()).map(str::to_owned);
    let mut volumes = seen.config.and_then(|config| config.volumes).unwrap_or_default();
    volumes.sort();
    ImageFacts { id: seen.id.unwrap_or_default(), digest, size_bytes: seen.size.unwrap_or_default(), volumes }
}

fn image_from(seen: &ImageInspect) -> Image {
    let config = seen.config.clone().unwrap_or_default();
    let mut volumes = config.volumes.clone().unwrap_or_default();
    volumes.sort();
    Image {
        defaults: ImageDefaults {
            command: config.cmd.unwrap_or_default(),
            entrypoint: config.entrypoint.unwrap_or_default(),
            working_dir: config.working_dir.unwrap_or_default(),
            user: config.user.unwrap_or_default(),
            env: env_from(config.env.as_deref()),
            health_check: config.healthcheck.as_ref().and_then(health_check_from),
            stop_signal: config.stop_signal.unwrap_or_default(),
            labels: config.labels.unwrap_or_default().into_iter().collect(),
            volumes,
        },
        start_interval: config.healthcheck.and_then(|health| health.start_interval),
    }
}
