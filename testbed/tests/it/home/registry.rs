//! The sample images under names of one story's own, so that stories told side by side do not pull and remove each
//! other's.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Mutex;

use bollard::auth::DockerCredentials;
use bollard::query_parameters::{
    CreateImageOptionsBuilder, PushImageOptionsBuilder, RemoveImageOptions, TagImageOptionsBuilder,
};
use futures::TryStreamExt;

use crate::machine::Machine;

/// The registry of this machine.
pub(super) struct Registry {
    docker: bollard::Docker,
    address: String,
    samples: String,
    prefix: String,
    given: Mutex<BTreeSet<String>>,
}

impl Registry {
    pub(super) fn new(docker: bollard::Docker, offered: &Machine, prefix: &str) -> Self {
        Self {
            docker,
            address: offered.registry.clone(),
            samples: offered.image_prefix.clone(),
            prefix: prefix.to_owned(),
            given: Mutex::default(),
        }
    }

    /// A sample image, such as `web:1`, under a name of this story's; it is in the registry and not in Docker.
    pub(super) async fn image(&self, name: &str) -> String {
        let reference = format!("{}/{}/{name}", self.address, self.prefix);
        if !self.given.lock().unwrap().insert(reference.clone()) {
            return reference;
        }
        let sample = format!("{}/{name}", self.samples);
        self.offer(&sample, &reference).await;
        self.forget(&reference).await;
        reference
    }

    /// An image of this machine, under a name of this story's; it is in the registry and not under that name here.
    pub(super) async fn image_of(&self, local: &str, name: &str) -> String {
        let reference = format!("{}/{}/{name}", self.address, self.prefix);
        self.given.lock().unwrap().insert(reference.clone());
        self.offer(local, &reference).await;
        self.forget(&reference).await;
        reference
    }

    async fn offer(&self, sample: &str, reference: &str) {
        // What is pulled once stays, and two that pull at once are in each other's way.
        let lock = File::create(std::env::temp_dir().join("hearth-story-images.lock")).unwrap();
        let held = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().unwrap();
        if self.docker.inspect_image(sample).await.is_err() {
            self.get(sample).await;
        }
        drop(held);
        let (repository, tag) = reference.rsplit_once(':').unwrap();
        let options = TagImageOptionsBuilder::default().repo(repository).tag(tag).build();
        self.docker.tag_image(sample, Some(options)).await.unwrap();
        let options = PushImageOptionsBuilder::default().tag(tag).build();
        let push = self.docker.push_image(repository, Some(options), Some(DockerCredentials::default()));
        push.try_collect::<Vec<_>>().await.unwrap();
    }

    /// Pulls an image.
    pub(super) async fn get(&self, reference: &str) {
        let (repository, tag) = reference.rsplit_once(':').unwrap();
        let options = CreateImageOptionsBuilder::default().from_image(repository).tag(tag).build();
        self.docker.create_image(Some(options), None, None).try_collect::<Vec<_>>().await.unwrap();
    }

    /// Takes the names that were given off this machine.
    pub(super) async fn clear(&self) {
        let given = std::mem::take(&mut *self.given.lock().unwrap());
        for reference in given {
            self.forget(&reference).await;
        }
    }

    async fn forget(&self, reference: &str) {
        // Gone already is as good.
        let _ = self.docker.remove_image(reference, None::<RemoveImageOptions>, None).await;
    }
}
