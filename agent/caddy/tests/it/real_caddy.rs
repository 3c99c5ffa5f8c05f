//! A real Caddy in a temporary folder, and every promise held against it.
#![allow(clippy::disallowed_methods, reason = "these tests run the program they test with")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hearth_caddy::Caddy;
use hearth_capabilities::contract::proxy::{ProxyWorld, UPSTREAM_SAYS, keep};
use hearth_capabilities::proxy::Proxy;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const START_WITHIN: Duration = Duration::from_secs(20);
const ROUTES: &str = "/config/apps/http/servers/hearth/routes";

struct World {
    caddy: Mutex<Child>,
    hands: Caddy,
    admin: Client,
    port: u16,
    folder: TempDir,
}

/// The program to test with; `None` where it may be left out because there is none.
fn program() -> Option<String> {
    let program = std::env::var("HEARTH_TEST_CADDY").unwrap_or_else(|_| "caddy".into());
    if run(Command::new(&program).arg("version")).is_some() {
        return Some(program);
    }
    let is_needed = std::env::var("HEARTH_REAL").is_ok_and(|value| value == "1");
    assert!(!is_needed, "{program} does not run; set HEARTH_TEST_CADDY to a Caddy");
    eprintln!("skipped: {program} does not run; set HEARTH_TEST_CADDY to a Caddy");
    None
}

fn run(command: &mut Command) -> Option<()> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then_some(())
}

async fn world() -> Option<World> {
    let program = program()?;
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("admin.sock");
    let listen = format!("unix/{}", socket.display());
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let caddy = Command::new(program)
        .arg("run")
        .env("CADDY_ADMIN", &listen)
        .env("HOME", folder.path())
        .env("XDG_CONFIG_HOME", folder.path())
        .env("XDG_DATA_HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    // Made at once, so that the Caddy is ended even if what follows panics.
    let port = free_port();
    let hands = Caddy::new(&socket, format!("127.0.0.1:{port}"), &listen).unwrap();
    let admin = Client::builder().unix_socket(socket.as_path()).pool_max_idle_per_host(0).build().unwrap();
    let world = World { caddy: Mutex::new(caddy), hands, admin, port, folder };
    let began = Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(began.elapsed() < START_WITHIN, "Caddy does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Some(world)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Drop for World {
    fn drop(&mut self) {
        end(&mut self.caddy.lock().unwrap());
    }
}

fn end(caddy: &mut Child) {
    // Ended already is fine.
    let _ = caddy.kill();
    let _ = caddy.wait();
}

impl World {
    /// Speaks to the admin API past the hands, as a person with a terminal does.
    async fn by_hand(&self, method: Method, path: &str, body: &Value) {
        let refused = self.wait_for(|| async {
            let request = self
                .admin
                .request(method.clone(), format!("http://x{path}"))
                .header("Origin", "http://hearth");
            let response = request.json(body).send().await.unwrap();
            let status = response.status();
            (status == StatusCode::OK).then_some(()).ok_or(response.text().await.unwrap())
        });
        refused.await.unwrap();
    }

    /// Asks again for a moment, since after a reload the admin server from before may still answer.
    async fn wait_for<T, E, F: Future<Output = Result<T, E>>>(&self, ask: impl Fn() -> F) -> Result<T, E> {
        for _ in 0..20 {
            if let Ok(answer) = ask().await {
                return Ok(answer);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ask().await
    }

    /// One request on a connection of its own.
    async fn ask_once(&self, host: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("no answer: {answer:?}")))?;
        Ok((status, body.to_owned()))
    }
}

#[async_trait]
impl ProxyWorld for World {
    fn proxy(&self) -> &dyn Proxy {
        &self.hands
    }

    async fn upstream(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut request = [0_u8; 4096];
                let _ = stream.read(&mut request);
                let length = UPSTREAM_SAYS.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(format!("{head}{UPSTREAM_SAYS}").as_bytes());
            }
        });
        address
    }

    async fn nobody(&self) -> String {
        format!("127.0.0.1:{}", free_port())
    }

    async fn ask(&self, host: &str) -> (u16, String) {
        // A reload may cut a connection that had just come about; a browser tries again as well.
        self.wait_for(|| self.ask_once(host)).await.unwrap()
    }

    async fn edit(&self, id: &str) {
        let handle = json!([{ "handler": "static_response", "status_code": 200, "body": "edited" }]);
        self.by_hand(Method::PATCH, &format!("/id/{id}/handle"), &handle).await;
    }

    async fn add_foreign(&self) {
        let route =
            json!({ "match": [{ "host": ["foreign.local"] }], "handle": [{ "handler": "file_server" }] });
        self.by_hand(Method::PUT, &format!("{ROUTES}/0"), &route).await;
    }

    async fn clear(&self) {
        self.by_hand(Method::DELETE, "/config/", &Value::Null).await;
    }

    async fn end(&self) {
        end(&mut self.caddy.lock().unwrap());
    }
}

macro_rules! tests {
    ($($promise:ident)*) => { $(
        #[tokio::test]
        async fn $promise() {
            if let Some(world) = world().await {
                keep(&world, stringify!($promise)).await;
            }
        }
    )* };
}
hearth_capabilities::proxy_promises!(tests);

#[tokio::test]
async fn a_request_without_hearths_origin_is_refused_once_there_is_a_configuration() {
    let Some(world) = world().await else { return };
    world.hands.reset(&[]).await.unwrap();
    for origin in [None, Some("http://evil"), Some("http://127.0.0.1")] {
        let refused = world.wait_for(|| async {
            let request = world.admin.get("http://x/config/");
            let request =
                origin.into_iter().fold(request, |request, origin| request.header("Origin", origin));
            let status = request.send().await.unwrap().status();
            (status == StatusCode::FORBIDDEN).then_some(()).ok_or(status)
        });
        refused.await.unwrap();
    }
    world.hands.read().await.unwrap();
}

#[tokio::test]
async fn what_caddy_refuses_is_told_in_its_words_and_the_old_configuration_stays() {
    let Some(world) = world().await else { return };
    world.hands.reset(&[]).await.unwrap();
    let elsewhere =
        Caddy::new(world.folder.path().join("admin.sock"), "203.0.113.9:80", "unix//nowhere/x.sock").unwrap();
    let refused = elsewhere.reset(&[]).await.unwrap_err().to_string();
    assert!(refused.contains("listen"), "{refused}");
    assert_eq!(world.hands.read().await.unwrap().base_problem, None);
}
