//! A Docker of the story's own, which can be stopped, killed and robbed of all it knows.
//!
//! It lives in a network, among processes and with mounts of its own, so that it meets no other Docker of this
//! machine; everything it started ends with the first process in there. The registry's folder is served in there as
//! well, since its address is the loopback's.
#![expect(clippy::disallowed_methods, reason = "a daemon is started here, and what looks into its network")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::world::Page;

/// The Docker.
pub(crate) struct Dockerd {
    folder: PathBuf,
    /// The first process in there; it ends when its input does, and all others with it.
    first: Child,
    /// Its pid out here.
    pub(super) inside: u32,
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        let _ = self.first.kill();
        let _ = self.first.wait();
        // What is mounted in there goes with the last of its processes, a moment later.
        for _ in 0..100 {
            if fs::remove_dir_all(&self.folder).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Dockerd {
    /// Starts it, and the registry beside it.
    pub(super) async fn start(registry: &str) -> Self {
        // A folder of its own, since it outlives the home's by a moment.
        let folder = tempfile::tempdir().unwrap().keep();
        // The shell reaps whatever is left alone in there: a dead daemon must not look alive to the next one.
        let first = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child", "--net", "--mount", "--mount-proc", "bash", "-c"])
            .arg("ip link set lo up; while read -r; do :; done")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let inside = child_of(first.id()).await;
        let own = Self { folder, first, inside };
        own.serve_registry(registry);
        own.begin();
        own.until_answering().await;
        own
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        format!("unix://{}", self.folder.join("docker.sock").display())
    }

    /// Starts the daemon.
    pub(crate) fn begin(&self) {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let log = fs::OpenOptions::new().create(true).append(true).open(path("log")).unwrap();
        let started = self
            .enter()
            .args(["setsid", "dockerd", "--host", &self.address(), "--data-root", &path("data")])
            .args(["--exec-root", &path("exec"), "--pidfile", &path("pid")])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        reap(started.unwrap());
    }

    /// Waits until it answers.
    pub(crate) async fn until_answering(&self) {
        let began = Instant::now();
        let answers = async || {
            let docker = bollard::Docker::connect_with_unix(&self.address(), 5, bollard::API_DEFAULT_VERSION);
            // Not before there is a socket.
            let Ok(docker) = docker else { return false };
            docker.ping().await.is_ok()
        };
        while !answers().await {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "dockerd does not come up:\n{}", log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// `systemctl stop docker`: it stops every container and ends.
    pub(crate) async fn stop(&self) {
        self.end("TERM").await;
    }

    /// `kill -9` of the daemon alone.
    pub(crate) async fn kill(&self) {
        self.end("KILL").await;
    }

    /// Everything it knew is gone: containers, networks, images. It must not run.
    pub(crate) fn lose_data(&self) {
        // Layers are mounted in there, so they are let go in there. Bridges that nobody knows any more would be in
        // the way of the new ones with their addresses; a machine that boots has none.
        let script = r#"
            grep -o " $0/[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l
            ip -o link show type bridge | cut -d: -f2 | xargs -r -n1 ip link delete
            rm -rf "$0""#;
        let data = self.folder.join("data");
        let ended = self.enter().args(["bash", "-c", script]).arg(&data).status().unwrap();
        assert!(ended.success() && !data.exists(), "the data could not be removed");
    }

    async fn end(&self, signal: &str) {
        let pid = fs::read_to_string(self.folder.join("pid")).unwrap();
        let script = format!("kill -{signal} {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.1; done");
        let ended = self.enter().args(["timeout", "60", "bash", "-c", &script]).status();
        assert!(ended.unwrap().success(), "dockerd did not end");
        // One that was killed leaves its file, and its number may be another's by then.
        let _ = fs::remove_file(self.folder.join("pid"));
        if signal == "KILL" {
            self.forget_containerd().await;
        }
    }

    /// Its containerd dies with it, or is ended here, so that the next one can begin.
    async fn forget_containerd(&self) {
        let file = self.folder.join("exec/containerd/containerd.pid");
        if let Ok(pid) = fs::read_to_string(&file) {
            let script =
                format!("kill -KILL {pid} 2>/dev/null; while kill -0 {pid} 2>/dev/null; do sleep 0.1; done");
            let _ = self.enter().args(["timeout", "30", "bash", "-c", &script]).status();
            let _ = fs::remove_file(file);
        }
    }

    fn serve_registry(&self, address: &str) {
        let folder = format!("{}/.run/registry", env!("CARGO_MANIFEST_DIR"));
        let settings = format!(
            "version: 0.1\nlog: {{ level: warn }}\nstorage: {{ filesystem: {{ rootdirectory: {folder} }} }}\nhttp: {{ addr: {address} }}\n"
        );
        let file = self.folder.join("registry.yml");
        fs::write(&file, settings).unwrap();
        let log = fs::File::create(self.folder.join("registry.log")).unwrap();
        let mut registry = self.enter();
        registry.args(["docker-registry", "serve"]).arg(file).stdin(Stdio::null()).stdout(Stdio::null());
        reap(registry.stderr(log).spawn().unwrap());
    }

    fn enter(&self) -> Command {
        enter(self.inside)
    }
}

/// Runs a program in there.
fn enter(inside: u32) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--target", &inside.to_string(), "--net", "--mount", "--pid", "--"]);
    command
}

/// Waits for a process whenever it ends, so that nothing is left of it.
fn reap(mut child: Child) {
    std::thread::spawn(move || child.wait());
}

/// The one child of a process.
async fn child_of(pid: u32) -> u32 {
    let children = format!("/proc/{pid}/task/{pid}/children");
    for _ in 0..500 {
        let child = fs::read_to_string(&children).ok();
        if let Some(child) = child.and_then(|text| text.trim().parse().ok()) {
            return child;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing was started apart from this machine's network: are you root?")
}

/// What a browser in there is answered.
pub(super) async fn page(inside: u32, address: &str, host: &str) -> Page {
    let mut curl = Command::new("nsenter");
    curl.args(["--target", &inside.to_string(), "--net", "--", "curl", "--silent", "--max-time", "10"]);
    curl.args(["--write-out", "\n%{http_code}", "--header", &format!("Host: {host}"), address]);
    let said = tokio::task::spawn_blocking(move || curl.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let (body, status) = said.rsplit_once('\n').unwrap_or_default();
    Page { status: status.parse().unwrap_or_default(), body: body.to_owned() }
}
