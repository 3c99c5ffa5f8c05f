//! `hearth serve` as a process of its own, which can be killed as by a power cut. Its folder outlives it.
#![expect(clippy::disallowed_methods, reason = "the process under test is this program again, and is killed")]

use std::fs::OpenOptions;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hearth::config::Config;
use hearth::serve::ServeOptions;
use serde_json::{Value, json};

use super::Home;

/// Set for a process that is to serve: the settings, as JSON.
const SERVES: &str = "HEARTH_TEST_SERVES";

/// Not a test of its own: the process that others start and kill.
#[test]
fn serves_until_it_is_killed() {
    let Ok(settings) = std::env::var(SERVES) else { return };
    // It must not outlive who started it, however that ends.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(1);
    });
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let text = |name: &str| settings[name].as_str().map(str::to_owned);
    let port = |name: &str| u16::try_from(settings[name].as_u64().unwrap()).unwrap();
    #[allow(clippy::needless_update, reason = "settings that are still to come stay at their defaults")]
    let options = ServeOptions {
        config: text("config").map(Into::into),
        data_dir: text("dataDir").map(Into::into),
        listen: text("listen"),
        docker: text("docker"),
        edge_http_port: Some(port("http")),
        edge_https_port: Some(port("https")),
        caddy_image: text("caddy"),
        network_pool: text("pool"),
        name_prefix: text("prefix"),
        manifests: text("manifests").map(Into::into),
        pretend: settings["pretend"].as_bool(),
        log: Some("warn".into()),
        ..ServeOptions::default()
    };
    let _ = hearth::serve::run(options);
}

/// A process that serves a home.
pub(crate) struct Process(Child);

impl Process {
    fn start(config: &Config, settings: &str) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(log_of(config)).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "home::process::serves_until_it_is_killed", "--nocapture"])
            .env(SERVES, settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Self(child.unwrap())
    }

    /// `kill -9`, and it is waited for.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Killed already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn log_of(config: &Config) -> std::path::PathBuf {
    config.data_dir.with_file_name("serve.log")
}

impl Home {
    /// Starts a process that serves this home, which nobody must serve; it may be killed before it is ready.
    pub(crate) fn begin_process(&self) -> Process {
        let empty = self.file("hearth.toml", "");
        let config = &self.config;
        let settings = json!({
            "config": empty, "dataDir": config.data_dir, "listen": config.listen.to_string(),
            "docker": if config.docker.is_empty() { "unix:///nowhere" } else { &config.docker },
            "http": config.edge_http_port, "https": config.edge_https_port, "caddy": config.caddy_image,
            "pool": config.network_pool.to_string(), "prefix": config.name_prefix,
            "pretend": self.world.real().is_none(), "manifests": config.manifests,
        });
        Process::start(config, &settings.to_string())
    }

    /// Waits until a process accepts requests.
    ///
    /// # Panics
    /// Where it does not, with what it said.
    pub(crate) async fn until_accepting(&self, process: &mut Process) {
        let began = Instant::now();
        while tokio::net::TcpStream::connect(self.config.listen).await.is_err() {
            let said = || std::fs::read_to_string(log_of(&self.config)).unwrap_or_default();
            assert!(!process.has_ended(), "it ended by itself:\n{}", said());
            assert!(began.elapsed() < Duration::from_secs(60), "it never came up:\n{}", said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
