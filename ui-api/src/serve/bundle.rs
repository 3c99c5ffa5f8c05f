//! Hearth's own parts, declared like everything else: the control network and the proxy (CP-48 to CP-51, CP-59).
//!
//! What is declared is compared with the store whenever something of it changes, so a part that a person deletes
//! is declared again.

use std::time::Duration;

use anyhow::Context;
use hearth_engine::{Key, Object, Query, Store, WriteError, WriteOptions};
use hearth_kinds::container::{ImagePin, Mount, NetworkLink, PublishedPort, Tmpfs};
use hearth_kinds::image::Pull;
use hearth_kinds::{
    Container, ContainerSpec, DataPolicy, Image, ImageSpec, Network, NetworkSpec, SYSTEM, Volume, VolumeSpec,
};
use kube::Resource;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// The instance that holds the proxy's folders.
pub const INSTANCE: &str = "caddy";
/// The leaf with the admin socket, shared by the proxy's container and this process alone.
pub const SOCKET_LEAF: &str = "run";
/// The admin socket in that leaf.
pub const SOCKET_NAME: &str = "admin.sock";
/// The admin socket as the container sees it.
pub const SOCKET_IN_CONTAINER: &str = "/run/hearth/admin.sock";

/// The image that is used where none is named: `testbed/run` builds it.
const LOCAL_IMAGE: &str = "hearth/caddy:local";
/// The name of the proxy's objects.
const CADDY: &str = "caddy";
/// The network of Hearth's own parts; no app ever joins it.
const CONTROL: &str = "control";

/// How soon everything is compared again though nothing was seen to change.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What is declared.
pub struct Bundle {
    image: String,
    pull: Pull,
    http_port: u16,
    https_port: u16,
}

impl Bundle {
    /// What these settings ask for.
    pub fn new(config: &Config) -> Self {
        Self {
            image: config.caddy_image.clone().unwrap_or_else(|| LOCAL_IMAGE.to_owned()),
            // A name nobody owns in a public registry must never be pulled as the proxy of a home.
            pull: if config.caddy_image.is_some() || config.pretend { Pull::IfAbsent } else { Pull::Never },
            http_port: config.edge_http_port,
            https_port: config.edge_https_port,
        }
    }

    /// Keeps it declared until cancelled.
    pub async fn keep_declared(self, store: Store, stop: CancellationToken) {
        loop {
            let mut watch = store.watch(Query::of(Query::EVERY_KIND), None).ok();
            if let Err(error) = self.declare(&store).await {
                tracing::error!(error = format!("{error:#}"), "Hearth's own parts cannot be declared");
            }
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = own_change(watch.as_mut()) => {}
                () = store.clock().sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Declares whatever is missing or different.
    ///
    /// # Errors
    /// Where the store refuses or fails.
    pub async fn declare(&self, store: &Store) -> anyhow::Result<()> {
        let image = self.image();
        let image_name = image.name().to_owned();
        for object in [image, network(), volume("data"), volume(SOCKET_LEAF)] {
            apply(store, object).await?;
        }
        // Which image exactly is known once it is here; until then there is nothing to run.
        let Some(image) = store.get(&Key::new("Image", "", image_name.as_str())) else { return Ok(()) };
        let status: Option<Image> = image.typed().ok();
        let pin = status.and_then(|image| image.status?.pin().map(str::to_owned));
        match pin {
            Some(pin) => apply(store, self.container(image_name, pin)).await,
            None => Ok(()),
        }
    }

    fn image(&self) -> Object {
        let name = hearth_controllers::image::image_name(SYSTEM, CADDY, CADDY, &self.image);
        Object::from_typed(&Image::new(&name, ImageSpec { reference: self.image.clone(), pull: self.pull }))
    }

    fn container(&self, image: String, digest: String) -> Object {
        let port = |host: u16, container: i32| PublishedPort {
            host_ip: None,
            host_port: i32::from(host),
            container_port: container,
        };
        let env = |name: &str, value: &str| hearth_kinds::container::EnvVar {
            name: name.into(),
            value: Some(value.into()),
            value_from: None,
        };
        let mount =
            |leaf: &str, path: &str| Mount { volume: volume_name(leaf), path: path.into(), read_only: false };
        let spec = ContainerSpec {
            image: ImagePin { image, digest },
            env: vec![
                env("CADDY_ADMIN", &format!("unix/{SOCKET_IN_CONTAINER}")),
                env("XDG_DATA_HOME", "/data"),
                env("XDG_CONFIG_HOME", "/config"),
            ],
            mounts: vec![mount("data", "/data"), mount(SOCKET_LEAF, "/run/hearth")],
            // Hearth says everything anew at each start; what Caddy would keep here must not outlive it (CP-51).
            tmpfs: vec![Tmpfs { path: "/config".into(), size_limit: Some("16Mi".into()), mode: None }],
            read_only_root: true,
            networks: vec![NetworkLink { name: CONTROL.into(), aliases: vec![CADDY.into()] }],
            // The official binary carries it as a file capability and does not start without (CP-59).
            capabilities: vec!["NET_BIND_SERVICE".into()],
            ports: vec![port(self.http_port, 80), port(self.https_port, 443)],
            health_deadline_seconds: 60,
            ..ContainerSpec::default()
        };
        own(Container::new(CADDY, spec))
    }
}

fn network() -> Object {
    own(Network::new(CONTROL, NetworkSpec::default()))
}

/// The Volume of a leaf of the proxy's.
pub fn volume_name(leaf: &str) -> String {
    format!("{CADDY}-{leaf}")
}

fn volume(leaf: &str) -> Object {
    let spec = VolumeSpec {
        instance: INSTANCE.into(),
        path: leaf.into(),
        data_policy: DataPolicy::Retain,
        ..VolumeSpec::default()
    };
    own(Volume::new(&volume_name(leaf), spec))
}

/// Puts an object into namespace `system`.
fn own<K: Resource<DynamicType = ()> + serde::Serialize>(mut object: K) -> Object {
    object.meta_mut().namespace = Some(SYSTEM.into());
    let mut object = Object::from_typed(&object);
    object.body.remove("status");
    object
}

async fn apply(store: &Store, wanted: Object) -> anyhow::Result<()> {
    let key = wanted.key();
    let options = WriteOptions { actor: "hearth".into(), source: "bundle".into(), dry_run: false };
    let written = match store.get(&key) {
        // One on its way out is declared again once it is gone.
        Some(there) if there.is_going() => return Ok(()),
        Some(_) => {
            let change = move |old: &Object| {
                let mut new = old.clone();
                new.body.insert("spec".into(), with_choices_kept(&wanted, old));
                Ok(new)
            };
            store.update(&key, &options, change).await
        }
        None => store.create(wanted, &options).await,
    };
    match written {
        Ok(_) | Err(WriteError::AlreadyExists(_) | WriteError::NotFound(_)) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("declaring {key}")),
    }
}

/// The wanted spec, with the subnet that the store once chose.
fn with_choices_kept(wanted: &Object, old: &Object) -> serde_json::Value {
    let mut spec = wanted.spec().clone();
    if wanted.kind == "Network"
        && let Some(fields) = spec.as_object_mut()
    {
        fields.insert("subnet".into(), old.spec()["subnet"].clone());
    }
    spec
}

/// Returns once something of Hearth's own has changed in what is declared, or an image has come.
async fn own_change(watch: Option<&mut hearth_engine::store::Watch>) {
    let Some(watch) = watch else { return };
    while let Some(change) = watch.next_change().await {
        // A status says nothing about what is declared, except an image's, which has its pin.
        let spec = |object: Option<&std::sync::Arc<Object>>| object.map(|object| object.spec().clone());
        let is_other = spec(change.old.as_ref()) != spec(change.new.as_ref());
        if change.key.namespace == SYSTEM && is_other || change.key.kind == "Image" {
            return;
        }
    }
}
