//! The Docker and the registry of this machine, as a world of the contract suite.
//!
//! Where they are is told by `HEARTH_TEST_DOCKER`, `HEARTH_TEST_REGISTRY` and `HEARTH_TEST_IMAGE_PREFIX`. Several runs
//! and a Hearth at work may share them: every name is this run's own, and what a test makes it takes away again. One
//! small image stays, from which all containers of the suite are made.

use std::env;
use std::fs::{self, File};
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bollard::auth::DockerCredentials;
use bollard::models::{ContainerConfig, ContainerCreateBody};
use bollard::query_parameters::{
    CommitContainerOptionsBuilder, CreateContainerOptionsBuilder, CreateImageOptionsBuilder,
    PushImageOptionsBuilder, RemoveContainerOptionsBuilder, UploadToContainerOptionsBuilder,
};
use futures::TryStreamExt;
use hearth_capabilities::contract::world::image_says;
use hearth_capabilities::contract::{Check, ContainerWorld, Program};
use hearth_capabilities::{Containers, Events, Images, Networks};
use hearth_docker::Docker;

/// The image that stays. The number goes up when what it says changes.
const STEADY: &str = "hearth-contract/steady:1";
/// Enough for several reports of progress, little enough for a slow disk.
const LAYER_BYTES: usize = 3 * 1024 * 1024;

/// The Docker and the registry of this machine.
pub(crate) struct Machine {
    docker: Docker,
    raw: bollard::Docker,
    registry: String,
    base: String,
    prefix: String,
    folder: String,
    given: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Machine {
    /// The machine, or `None`, said aloud, where there is none and none is demanded.
    ///
    /// # Panics
    /// When `HEARTH_REAL=1` demands a machine and it is not as it should be.
    pub(crate) async fn find() -> Option<Self> {
        match Self::look().await {
            Ok(machine) => Some(machine),
            Err(why) if env::var("HEARTH_REAL").is_ok_and(|value| value == "1") => panic!("{why}"),
            Err(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    async fn look() -> Result<Self, String> {
        let setting = |name: &str| env::var(name).map_err(|_| format!("{name} is not set"));
        let address = env::var("HEARTH_TEST_DOCKER").unwrap_or("unix:///var/run/docker.sock".to_owned());
        let docker = Docker::connect(&address).map_err(|fault| fault.to_string())?;
        Containers::list(&docker).await.map_err(|fault| format!("no Docker at {address}: {fault}"))?;
        let raw = bollard::Docker::connect_with_unix(&address, 60, bollard::API_DEFAULT_VERSION)
            .map_err(|error| error.to_string())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("hearth-contract-{}-{:x}", process::id(), now.as_nanos() & 0xffff_ffff_ffff);
        let folder = env::temp_dir().join(&prefix);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self {
            docker,
            raw,
            registry: setting("HEARTH_TEST_REGISTRY")?,
            base: format!("{}/web:1", setting("HEARTH_TEST_IMAGE_PREFIX")?),
            prefix,
            folder: folder.to_string_lossy().into_owned(),
            given: Mutex::default(),
            count: AtomicU64::new(0),
        })
    }

    /// The hand that is tested.
    pub(crate) fn hand(&self) -> &Docker {
        &self.docker
    }

    /// Docker itself, for what somebody else does to it.
    pub(crate) fn raw(&self) -> &bollard::Docker {
        &self.raw
    }

    /// Takes away the images that were given out, and the folder.
    pub(crate) async fn clear(&self) {
        let given: Vec<String> = self.given.lock().unwrap().drain(..).collect();
        for reference in given {
            Images::remove(&self.docker, &reference).await.unwrap();
        }
        fs::remove_dir_all(&self.folder).unwrap();
    }

    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    async fn pull_base(&self) {
        let (name, tag) = self.base.rsplit_once(':').unwrap();
        let options = CreateImageOptionsBuilder::default().from_image(name).tag(tag).build();
        self.raw.create_image(Some(options), None, None).try_collect::<Vec<_>>().await.unwrap();
    }

    /// Makes an image of the base, a file and what it says, under a name.
    async fn make_image(&self, reference: &str, file: Option<Vec<u8>>, says: ContainerConfig) {
        self.pull_base().await;
        let container = format!("{}-maker-{}", self.prefix, self.next());
        let options = CreateContainerOptionsBuilder::default().name(&container).build();
        let body = ContainerCreateBody { image: Some(self.base.clone()), ..ContainerCreateBody::default() };
        self.raw.create_container(Some(options), body).await.unwrap();
        if let Some(tar) = file {
            let options = UploadToContainerOptionsBuilder::default().path("/").build();
            self.raw
                .upload_to_container(&container, Some(options), bollard::body_full(tar.into()))
                .await
                .unwrap();
        }
        let (name, tag) = reference.rsplit_once(':').unwrap();
        let options =
            CommitContainerOptionsBuilder::default().container(&container).repo(name).tag(tag).build();
        let made = self.raw.commit_container(options, says).await;
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        self.raw.remove_container(&container, Some(options)).await.unwrap();
        made.unwrap();
    }
}

#[async_trait]
impl ContainerWorld for Machine {
    fn containers(&self) -> &dyn Containers {
        &self.docker
    }

    fn networks(&self) -> &dyn Networks {
        &self.docker
    }

    fn images(&self) -> &dyn Images {
        &self.docker
    }

    fn events(&self) -> &dyn Events {
        &self.docker
    }

    fn prefix(&self) -> String {
        self.prefix.clone()
    }

    fn subnet(&self) -> String {
        // 4 million of them, by this run's own name, so that runs side by side do not meet.
        let mut random = Random::of(&format!("{}-{}", self.prefix, self.next()));
        let (b, c, d) = (192 + random.next() % 64, random.next() % 256, random.next() % 16 * 16);
        format!("10.{b}.{c}.{d}/28")
    }

    fn folder(&self) -> String {
        self.folder.clone()
    }

    async fn image(&self) -> String {
        // Two tests that make it at once would leave an unnamed one behind.
        let lock = File::create(env::temp_dir().join("hearth-contract-image.lock")).unwrap();
        // Held to the end of this function.
        let _held = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().unwrap();
        if Images::inspect(&self.docker, STEADY).await.unwrap().is_none() {
            let text = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
            let says = ContainerConfig {
                cmd: text(image_says::COMMAND),
                env: Some(vec![
                    "PATH=/bin".to_owned(),
                    format!("{}={}", image_says::ENV.0, image_says::ENV.1),
                ]),
                working_dir: Some(image_says::WORKING_DIR.to_owned()),
                user: Some(image_says::USER.to_owned()),
                volumes: text(&[image_says::VOLUME]),
                labels: Some([(image_says::LABEL.0.to_owned(), image_says::LABEL.1.to_owned())].into()),
                ..ContainerConfig::default()
            };
            self.make_image(STEADY, None, says).await;
        }
        STEADY.to_owned()
    }

    async fn pullable(&self) -> String {
        let reference = format!("{}/{}/image-{}:1", self.registry, self.prefix, self.next());
        let layer = tar_of("layer", &Random::of(&reference).bytes(LAYER_BYTES));
        let says = ContainerConfig { env: Some(vec!["PATH=/bin".to_owned()]), ..ContainerConfig::default() };
        self.make_image(&reference, Some(layer), says).await;
        self.given.lock().unwrap().push(reference.clone());
        let (name, tag) = reference.rsplit_once(':').unwrap();
        let options = PushImageOptionsBuilder::default().tag(tag).build();
        let push = self.raw.push_image(name, Some(options), Some(DockerCredentials::default()));
        push.try_collect::<Vec<_>>().await.unwrap();
        Images::remove(&self.docker, &reference).await.unwrap();
        reference
    }

    fn unknown(&self) -> String {
        format!("{}/{}/nothing:1", self.registry, self.prefix)
    }

    fn unreachable(&self) -> String {
        // Port 1 of this machine refuses at once; no name has to be looked up.
        "127.0.0.1:1/nothing:1".to_owned()
    }

    fn program(&self, program: Program) -> Vec<String> {
        let on = "while :; do sleep 1 & wait $!; done";
        let line = match program {
            Program::Serve => format!("trap 'exit 0' TERM INT; echo ready; {on}"),
            Program::Stubborn => "trap '' TERM INT; while :; do sleep 1; done".to_owned(),
            Program::Exit(code) => format!("exit {code}"),
            Program::Write => {
                format!("trap 'exit 0' TERM INT; echo one; echo two; sleep 1; echo three >&2; {on}")
            }
            Program::Nonsense => return vec!["/no/such/program".to_owned()],
        };
        vec!["sh".to_owned(), "-c".to_owned(), line]
    }

    fn check(&self, check: Check) -> Vec<String> {
        let program = if check == Check::Passes { "true" } else { "false" };
        vec!["CMD".to_owned(), program.to_owned()]
    }

    async fn wait(&self, how_long: Duration) {
        tokio::time::sleep(how_long).await;
    }
}

/// A tar archive of one file.
fn tar_of(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    header[263..265].copy_from_slice(b"00");
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut tar = header.to_vec();
    tar.extend_from_slice(content);
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    tar
}

/// Numbers that look like chance and are the same for the same text, so that a layer is nobody else's.
struct Random(u64);

impl Random {
    fn of(text: &str) -> Self {
        // FNV-1a.
        Self(
            text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    fn next(&mut self) -> u64 {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
