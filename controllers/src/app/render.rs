//! From an admitted compose file to the objects it means. Pure: equal inputs give equal objects.

use std::collections::BTreeMap;

use hearth_charts::admit::{Admitted, Service};
use hearth_engine::Object;
use hearth_engine::controller::{Wanted, spec_hash};
use hearth_kinds::network::Guest;
use hearth_kinds::revision::{RevisionChild, RevisionImage};
use hearth_kinds::route::{RouteMode, Splash, Upstream};
use hearth_kinds::{
    App, DataPolicy, Image, ImageSpec, Network, NetworkSpec, Revision, RevisionSpec, Route, RouteSpec,
    SYSTEM, Volume, VolumeSpec,
};
use hearth_meta::{ObjectMeta, labels};
use kube::Resource;

use super::record::owner;
use super::service::container;
use crate::naming::{dns_label, image_name, part_name};
use crate::route::PROXY;

/// The longest name an object may have.
const LONGEST: usize = 63;

/// Where an app answers, once its slug is chosen.
pub(super) fn url(app: &App) -> Option<String> {
    app.spec.slug.as_ref().map(|slug| format!("http://{}", host(slug)))
}

fn host(slug: &str) -> String {
    format!("{slug}.local")
}

/// The app's objects, in the words of its compose file.
pub(super) struct Rendering<'a> {
    pub(super) wanted: &'a Wanted<App>,
    pub(super) admitted: &'a Admitted,
    /// A keyed hash of each file of the package that a service is given.
    pub(super) hashes: &'a BTreeMap<String, String>,
}

impl<'a> Rendering<'a> {
    pub(super) fn app(&self) -> &'a App {
        &self.wanted.object
    }

    pub(super) fn services(&self) -> &'a [Service] {
        &self.admitted.services
    }

    pub(super) fn main(&self) -> Option<&'a Service> {
        let name = self.admitted.main_service.as_ref()?;
        self.services().iter().find(|service| service.name == *name)
    }

    /// The Container of a service.
    pub(super) fn container_name(&self, service: &str) -> String {
        part_name(self.wanted.name(), service)
    }

    /// The Volume of a folder under the instance's data.
    pub(super) fn volume_name(&self, path: &str) -> String {
        part_name(self.wanted.name(), path)
    }

    /// The Image of a service.
    pub(super) fn image_name(&self, service: &Service) -> String {
        image_name(self.wanted.namespace(), self.wanted.name(), &service.name, &service.image)
    }

    /// Whether an object of this kind and name is one of those it consists of.
    pub(super) fn means(&self, object: &Object) -> bool {
        let name = object.name();
        let mut services = self.services().iter();
        match object.kind.as_str() {
            "Container" => services.any(|service| self.container_name(&service.name) == name),
            "Image" => services.any(|service| self.image_name(service) == name),
            "Volume" => self.volumes().iter().any(|volume| volume.name() == name),
            "Network" => self.wanted.name() == name,
            "Route" => self.has_page() && self.wanted.name() == name,
            _ => false,
        }
    }

    fn has_page(&self) -> bool {
        self.app().spec.slug.is_some() && self.main_port().is_some()
    }

    /// The port of the main service that people are led to.
    fn main_port(&self) -> Option<i32> {
        self.app().spec.main_port.or_else(|| self.main()?.ports.first().map(|port| i32::from(*port)))
    }

    pub(super) fn images(&self) -> Vec<Object> {
        let of = |service: &Service| {
            let spec = ImageSpec { reference: service.image.clone(), ..ImageSpec::default() };
            let mut image = Image::new(&self.image_name(service), spec);
            let mut metadata = self.metadata(Some(&service.name));
            // A cluster-scoped object cannot be owned from within a namespace; the label stands for it.
            metadata.owner_references = None;
            metadata.namespace = None;
            metadata.name = image.metadata.name.take();
            image.metadata = metadata;
            Object::from_typed(&image)
        };
        self.services().iter().map(of).collect()
    }

    pub(super) fn network(&self) -> Object {
        let guests = self.main_port().map(|_| Guest { container: format!("{SYSTEM}/{PROXY}") });
        let spec = NetworkSpec {
            internal: !self.app().spec.permissions.internet,
            subnet: None,
            guests: guests.into_iter().collect(),
            drift_policy: self.app().spec.drift_policy,
        };
        self.child(Network::new(self.wanted.name(), spec), None)
    }

    pub(super) fn volumes(&self) -> Vec<Object> {
        let paths: std::collections::BTreeSet<&str> = self
            .services()
            .iter()
            .flat_map(|service| &service.mounts)
            .map(|mount| mount.source.as_str())
            .collect();
        let of = |path: &str| {
            let spec = VolumeSpec {
                instance: self.wanted.uid().to_owned(),
                path: path.to_owned(),
                // While the app lives its data stays, whatever becomes of a service.
                data_policy: DataPolicy::Retain,
                drift_policy: self.app().spec.drift_policy,
                ..VolumeSpec::default()
            };
            self.child(Volume::new(&self.volume_name(path), spec), None)
        };
        paths.into_iter().map(of).collect()
    }

    /// The Containers, given what each service's image was resolved to.
    pub(super) fn containers(&self, pins: &BTreeMap<String, String>) -> Vec<Object> {
        let of = |service: &Service| {
            let pin = pins.get(&service.name).cloned().unwrap_or_default();
            self.child(container(self, service, pin), Some(&service.name))
        };
        self.services().iter().map(of).collect()
    }

    /// The Route, if there is a page to lead people to.
    pub(super) fn route(&self, mode: RouteMode, splash: Splash) -> Option<Object> {
        let (slug, port) = (self.app().spec.slug.as_ref()?, self.main_port()?);
        let upstream = Upstream { container: self.container_name(&self.main()?.name), port };
        let spec = RouteSpec {
            hosts: vec![host(slug)],
            title: Some(self.wanted.name().to_owned()),
            mode,
            splash: (mode == RouteMode::Splash).then_some(splash),
            upstream: (mode == RouteMode::Upstream).then_some(upstream),
        };
        Some(self.child(Route::new(self.wanted.name(), spec), None))
    }

    /// The Revision of what was rendered; its name tells its content.
    pub(super) fn revision(
        &self,
        number: i64,
        pins: &BTreeMap<String, String>,
        children: &[Object],
    ) -> Object {
        let images = self.services().iter().map(|service| RevisionImage {
            service: service.name.clone(),
            reference: service.image.clone(),
            digest: pins.get(&service.name).cloned().unwrap_or_default(),
        });
        let spec_of = |child: &Object| RevisionChild {
            kind: child.kind.clone(),
            name: child.name().to_owned(),
            spec_hash: spec_hash(child.spec()),
        };
        let spec = RevisionSpec {
            app: self.wanted.name().to_owned(),
            number,
            compose_digest: spec_hash(&(
                &self.app().spec.compose,
                &self.app().spec.package,
                &self.app().spec.values,
            )),
            images: images.collect(),
            children: children.iter().map(spec_of).collect(),
        };
        self.child(Revision::new(&self.revision_name(pins, children), spec), None)
    }

    pub(super) fn revision_name(&self, pins: &BTreeMap<String, String>, children: &[Object]) -> String {
        let specs: Vec<_> =
            children.iter().map(|child| (child.name(), spec_hash(&without_power(child)))).collect();
        dns_label(&format!("{}-{}", self.wanted.name(), &spec_hash(&(specs, pins))[..8]), LONGEST)
    }

    fn child<K: Resource<DynamicType = ()> + serde::Serialize>(
        &self,
        mut child: K,
        service: Option<&str>,
    ) -> Object {
        let name = child.meta_mut().name.take();
        *child.meta_mut() = self.metadata(service);
        child.meta_mut().name = name;
        let mut object = Object::from_typed(&child);
        object.body.remove("status");
        object
    }

    fn metadata(&self, service: Option<&str>) -> ObjectMeta {
        let mut of = BTreeMap::from([
            (labels::APP.to_owned(), self.wanted.name().to_owned()),
            (labels::OWNER_UID.to_owned(), self.wanted.uid().to_owned()),
        ]);
        of.extend(service.map(|service| (labels::SERVICE.to_owned(), service.to_owned())));
        let owner = owner(self.wanted.name(), self.wanted.uid());
        ObjectMeta {
            namespace: Some(self.wanted.namespace().to_owned()),
            labels: Some(of),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }
}

/// Stopping and starting an app makes no new revision.
fn without_power(child: &Object) -> serde_json::Value {
    let mut spec = child.spec().clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("power");
    }
    spec
}
