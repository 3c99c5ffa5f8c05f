//! What a side must offer so that its container engine can be held to the promises, and the hands promises share.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::{Either, select};
use futures::stream::BoxStream;
use hearth_kinds::container::{HealthCheck, Restart};
use hearth_meta::labels;

use crate::containers::{ContainerFacts, JoinedNetwork, LogOptions, NewContainer};
use crate::images::PullProgress;
use crate::networks::NewNetwork;
use crate::{Containers, Events, Fault, Images, Networks};

/// A container engine, and around it what the suite needs.
#[async_trait]
pub trait ContainerWorld: Send + Sync {
    /// The containers.
    fn containers(&self) -> &dyn Containers;
    /// The networks.
    fn networks(&self) -> &dyn Networks;
    /// The images.
    fn images(&self) -> &dyn Images;
    /// The events.
    fn events(&self) -> &dyn Events;

    /// Begins every name the suite makes; no other run uses it. Lower case letters, digits and dashes.
    fn prefix(&self) -> String;
    /// A subnet nobody uses, another one at each call.
    fn subnet(&self) -> String;
    /// A folder of the host that exists, for mounting.
    fn folder(&self) -> String;

    /// The reference of an image that is here. It runs every [`Program`] and every [`Check`], and says of itself
    /// what [`image_says`] lists.
    async fn image(&self) -> String;
    /// The reference (`name:tag`) of a new image that is in a registry and not here, another one at each call. It
    /// is cleared away from both sides by whoever gave it.
    async fn pullable(&self) -> String;
    /// A reference its registry does not know.
    fn unknown(&self) -> String;
    /// A reference whose registry does not answer.
    fn unreachable(&self) -> String;

    /// The command, in the image of [`ContainerWorld::image`], that does this.
    fn program(&self, program: Program) -> Vec<String>;
    /// The health test, in Docker's terms, that does this.
    fn check(&self, check: Check) -> Vec<String>;

    /// Lets time pass: a real one sleeps, a pretend one moves its clock.
    async fn wait(&self, how_long: Duration);
}

/// What the image of [`ContainerWorld::image`] says of itself.
pub mod image_says {
    /// Its command, which ends at once with 0.
    pub const COMMAND: &[&str] = &["true"];
    /// The folder it starts in.
    pub const WORKING_DIR: &str = "/srv";
    /// A variable of it, and its value.
    pub const ENV: (&str, &str) = ("SAID_BY", "image");
    /// A label of it, and its value.
    pub const LABEL: (&str, &str) = ("org.example.said-by", "image");
    /// The path it declares as a volume.
    pub const VOLUME: &str = "/kept";
    /// Its user.
    pub const USER: &str = "1000";
}

/// What a container of the suite does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Writes the line `ready`, runs on, and ends with 0 as soon as it is told to stop after that line.
    Serve,
    /// Runs on, writes nothing, and ignores being told to stop.
    Stubborn,
    /// Ends at once with this code.
    Exit(i64),
    /// Writes the lines `one` and `two` to standard output, a moment later `three` to standard error, and runs on.
    Write,
    /// There is no such program.
    Nonsense,
}

/// What a health check of the suite does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It passes.
    Passes,
    /// It fails.
    Fails,
}

/// How long a promise waits for what should happen, before it counts as broken. Generous, since a busy machine is
/// slow, and spent only on failure.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// How often a promise looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// One promise's stage: names that nobody else uses, and what was made under them.
pub struct Scene<'a> {
    /// The world it plays in.
    pub world: &'a dyn ContainerWorld,
    prefix: String,
    containers: Mutex<Vec<String>>,
    networks: Mutex<Vec<String>>,
}

impl<'a> Scene<'a> {
    /// An empty stage.
    pub fn new(world: &'a dyn ContainerWorld) -> Self {
        Self { world, prefix: world.prefix(), containers: Mutex::default(), networks: Mutex::default() }
    }

    /// The containers.
    pub fn containers(&self) -> &'a dyn Containers {
        self.world.containers()
    }

    /// The images.
    pub fn images(&self) -> &'a dyn Images {
        self.world.images()
    }

    /// The networks.
    pub fn networks(&self) -> &'a dyn Networks {
        self.world.networks()
    }

    /// A name for a container or network; it is cleared away at the end.
    pub fn name(&self, what: &str) -> String {
        let name = format!("{}-{what}", self.prefix);
        self.containers.lock().expect("no promise panics with the list").push(name.clone());
        self.networks.lock().expect("no promise panics with the list").push(name.clone());
        name
    }

    /// The labels everything of ours carries.
    pub fn labels(&self, what: &str) -> BTreeMap<String, String> {
        BTreeMap::from([
            (labels::UID.to_owned(), format!("{}-{what}", self.prefix)),
            (labels::LINEAGE.to_owned(), self.prefix.clone()),
        ])
    }

    /// A container that says nothing but what it does.
    pub async fn container(&self, what: &str, program: Program) -> NewContainer {
        let image = self.world.image().await;
        let facts =
            self.world.images().inspect(&image).await.expect("the image can be read").expect("it is here");
        NewContainer {
            command: Some(self.world.program(program)),
            restart: Restart::Never,
            labels: self.labels(what),
            ..NewContainer::of(self.name(what), facts.id, image)
        }
    }

    /// A health check that looks every second.
    pub fn health(&self, check: Check) -> HealthCheck {
        HealthCheck {
            test: self.world.check(check),
            interval_seconds: 1,
            timeout_seconds: 5,
            retries: 2,
            start_period_seconds: 0,
        }
    }

    /// Makes a container and returns its id.
    pub async fn create(&self, wanted: &NewContainer) -> String {
        self.containers().create(wanted).await.expect("a container can be made")
    }

    /// Makes and starts a container and returns its id.
    pub async fn run(&self, wanted: &NewContainer) -> String {
        let id = self.create(wanted).await;
        self.containers().start(&id).await.expect("a container can be started");
        id
    }

    /// Makes and starts a container that serves, waits until it is ready to be told to stop, and returns its id.
    pub async fn serve(&self, wanted: &NewContainer) -> String {
        let id = self.run(wanted).await;
        let log = LogOptions { follow: true, ..LogOptions::default() };
        let mut log = self.containers().logs(&id, &log).await.expect("its log can be followed");
        while self.next("the line that says it is ready", &mut log).await.text != "ready" {}
        id
    }

    /// A network to be made.
    pub fn network(&self, what: &str) -> NewNetwork {
        NewNetwork {
            name: self.name(what),
            subnet: self.world.subnet(),
            internal: false,
            labels: self.labels(what),
        }
    }

    /// Makes a network and returns how to join it.
    pub async fn join(&self, what: &str, aliases: &[&str]) -> JoinedNetwork {
        let wanted = self.network(what);
        self.networks().create(&wanted).await.expect("a network can be made");
        JoinedNetwork { name: wanted.name, aliases: aliases.iter().map(|&alias| alias.to_owned()).collect() }
    }

    /// The container of that name, which is there.
    pub async fn facts(&self, name: &str) -> ContainerFacts {
        self.containers()
            .inspect(name)
            .await
            .expect("a container can be read")
            .expect("the container is there")
    }

    /// Waits until a container is as it should be.
    pub async fn facts_when(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&ContainerFacts) -> bool,
    ) -> ContainerFacts {
        self.until(what, async || {
            let facts = self.facts(name).await;
            is_so(&facts).then_some(facts)
        })
        .await
    }

    /// Looks until there is an answer.
    ///
    /// # Panics
    /// When there is none within [`PATIENCE`].
    pub async fn until<T, F: Future<Output = Option<T>>>(&self, what: &str, look: impl Fn() -> F) -> T {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(answer) = look().await {
                return answer;
            }
            assert!(waited < PATIENCE, "waited {waited:?} in vain until {what}");
            self.world.wait(LOOK_EVERY).await;
            waited += LOOK_EVERY;
        }
    }

    /// Carries out a call while time passes, for one that takes some.
    pub async fn during<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            match select(call.as_mut(), self.world.wait(LOOK_EVERY)).await {
                Either::Left((answer, _)) => return answer,
                Either::Right(_) => {}
            }
        }
    }

    /// The next item of a stream, which comes.
    ///
    /// # Panics
    /// When none comes within [`PATIENCE`], or the stream ends.
    pub async fn next<T>(&self, what: &str, stream: &mut BoxStream<'static, Result<T, Fault>>) -> T {
        let item = self.next_or_end(what, stream).await;
        let item = item.unwrap_or_else(|| panic!("the stream ended before {what}"));
        item.unwrap_or_else(|fault| panic!("{fault} in the place of {what}"))
    }

    /// The next item of a stream, or `None` at its end, one of which comes.
    ///
    /// # Panics
    /// When neither comes within [`PATIENCE`].
    pub async fn next_or_end<T>(
        &self,
        what: &str,
        stream: &mut BoxStream<'static, Result<T, Fault>>,
    ) -> Option<Result<T, Fault>> {
        let mut waited = Duration::ZERO;
        loop {
            match select(stream.next(), self.world.wait(LOOK_EVERY)).await {
                Either::Left((item, _)) => return item,
                Either::Right(_) => waited += LOOK_EVERY,
            }
            assert!(waited < PATIENCE, "waited {waited:?} in vain for {what}");
        }
    }

    /// Stops a container.
    pub async fn stop(&self, id: &str, grace: Duration) {
        self.during(self.containers().stop(id, grace)).await.expect("a container can be stopped");
    }

    /// Pulls an image and returns every report of progress.
    pub async fn pull(&self, reference: &str) -> (Result<(), Fault>, Vec<PullProgress>) {
        let reports = Mutex::new(Vec::new());
        let report = |progress| reports.lock().expect("no promise panics with the list").push(progress);
        let outcome = self.during(self.world.images().pull(reference, &report)).await;
        (outcome, reports.into_inner().expect("no promise panics with the list"))
    }

    /// Takes away everything that was made under names of this scene.
    ///
    /// # Panics
    /// When something stays.
    pub async fn clear(&self) {
        let containers =
            std::mem::take(&mut *self.containers.lock().expect("no promise panics with the list"));
        let networks = std::mem::take(&mut *self.networks.lock().expect("no promise panics with the list"));
        let mut stays: Vec<Fault> = Vec::new();
        for name in containers {
            match self.containers().inspect(&name).await {
                Ok(Some(facts)) => stays.extend(self.containers().remove(&facts.id).await.err()),
                Ok(None) => {}
                Err(fault) => stays.push(fault),
            }
        }
        for name in networks {
            match self.networks().inspect(&name).await {
                Ok(Some(facts)) => stays.extend(self.networks().remove(&facts.id).await.err()),
                Ok(None) => {}
                Err(fault) => stays.push(fault),
            }
        }
        assert!(stays.is_empty(), "something is left behind: {stays:?}");
    }
}
