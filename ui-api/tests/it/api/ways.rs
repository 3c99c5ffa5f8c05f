//! The ways in, and how often somebody may come.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hearth_engine::clock::ManualClock;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, UnixStream};
use tokio_rustls::TlsConnector;

use super::home::{Home, client, token_of};

const OWN: &str = "/apis/hearth.dev/v1/namespaces/anna/apps";

/// Sends a request over the socket as it is, and gives back what is open then.
async fn open(socket: &Path, path: &str, token: Option<&str>) -> UnixStream {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: hearth\r\n{token}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The same, and all of the answer.
async fn ask(socket: &Path, path: &str, token: Option<&str>) -> String {
    let mut answer = String::new();
    open(socket, path, token).await.read_to_string(&mut answer).await.unwrap();
    answer
}

fn code(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
}

/// The code of an answer that goes on.
async fn code_of(stream: &mut UnixStream) -> u16 {
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    code(std::str::from_utf8(&head).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn root_on_this_machine_needs_no_token_and_nobody_else_reaches_the_socket() {
    let home = Home::start().await;
    let socket = home.server.socket().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let is_root = rustix::process::geteuid().is_root();
    let answer = ask(&socket, "/apis/hearth.dev/v1/apps", None).await;
    assert_eq!(code(&answer), if is_root { 200 } else { 401 }, "{answer}");
    let wrong = ask(&socket, "/apis/hearth.dev/v1/apps", Some("hearth_0")).await;
    assert_eq!(code(&wrong), 401, "a wrong token is not root's: {wrong}");
    home.server.stop().await;
    assert!(!socket.exists(), "a socket that nobody serves is removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_home_it_answers_with_a_certificate_for_that() {
    let home = Home::start_with(|options| options.lan_listen = Some(([127, 0, 0, 1], 0).into())).await;
    let address = home.server.lan_address().unwrap();
    assert_ne!(address, home.server.address());
    let mut file = Kubeconfig::read_from(home.server.kubeconfig()).unwrap();
    file.clusters[0].cluster.as_mut().unwrap().server = Some(format!("https://{address}"));
    let lan = client(file).await;
    assert!(lan.apiserver_version().await.is_ok());
    let made = std::fs::read_to_string(home.folder.path().join("pki/lan.pem")).unwrap();
    let names = made.lines().next().unwrap();
    assert!(names.contains(" 127.0.0.1 ") && !names.contains("localhost"), "{names}");
    let without = Home::start().await;
    assert!(without.server.lan_address().is_none() && !without.folder.path().join("pki/lan.pem").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_guesses_is_slowed_down_and_locks_nobody_out() {
    let clock = ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap());
    let home = Home::start_by(Arc::new(clock.clone())).await;
    let socket = home.server.socket().unwrap().to_owned();
    for _ in 0..30 {
        assert_eq!(code(&ask(&socket, "/apis", Some("hearth_guess")).await), 401);
    }
    let refused = ask(&socket, "/apis", Some("hearth_guess")).await;
    assert_eq!(code(&refused), 429, "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: 2\r\n"), "{refused}");
    let body: serde_json::Value = serde_json::from_str(refused.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["kind"], &body["reason"]), (&json!("Status"), &json!("TooManyRequests")));
    assert_eq!(body["details"]["retryAfterSeconds"], 2);
    assert_eq!(code(&ask(&socket, "/healthz", Some("hearth_guess")).await), 200, "what is open stays open");
    clock.advance(Duration::from_secs(2));
    assert_eq!(code(&ask(&socket, "/apis", Some("hearth_guess")).await), 401);
    assert_eq!(code(&ask(&socket, "/apis", Some("hearth_guess")).await), 429);
    // From the same place, with a token that is known.
    home.namespace("anna").await;
    home.person("anna", "Member", &["anna"]).await;
    assert_eq!(code(&ask(&socket, OWN, Some(&super::home::token_of("anna"))).await), 200);
}

/// The token of a member of a namespace of her own, and the socket to come in by.
async fn anna_of(home: &Home) -> (String, PathBuf) {
    home.namespace("anna").await;
    home.person("anna", "Member", &["anna"]).await;
    (token_of("anna"), home.server.socket().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_its_measure_of_requests_and_of_streams() {
    let clock = ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap());
    let home = Home::start_by(Arc::new(clock.clone())).await;
    let (token, socket) = anna_of(&home).await;
    let watch = format!("{OWN}?watch=true&timeoutSeconds=600");
    let mut open_ones = Vec::new();
    for number in 0..16 {
        let mut stream = open(&socket, &watch, Some(&token)).await;
        assert_eq!(code_of(&mut stream).await, 200, "{number}");
        open_ones.push(stream);
    }
    let mut one_more = open(&socket, &watch, Some(&token)).await;
    assert_eq!(code_of(&mut one_more).await, 429);
    assert_eq!(code(&ask(&socket, OWN, Some(&token)).await), 200, "what ends by itself is still answered");
    drop(open_ones.pop());
    let mut is_let_in = false;
    for _ in 0..200 {
        let mut again = open(&socket, &watch, Some(&token)).await;
        is_let_in = code_of(&mut again).await == 200;
        if is_let_in {
            break;
        }
        clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(is_let_in, "a stream that was closed makes room for another");
    let mut codes = Vec::new();
    for _ in 0..310 {
        codes.push(code(&ask(&socket, OWN, Some(&token)).await));
    }
    let last = codes.last().copied();
    assert!(codes[0] == 200 && last == Some(429), "{codes:?}");
    clock.advance(Duration::from_secs(1));
    assert_eq!(code(&ask(&socket, OWN, Some(&token)).await), 200);
}

fn photos_of_anna() -> String {
    let mut app = super::home::app("photos");
    app["metadata"]["namespace"] = "anna".into();
    app.to_string()
}

/// A request whose body is still to come, but for its last byte.
async fn begun(socket: &Path, token: &str, body: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let head = format!(
        "POST {OWN} HTTP/1.1\r\nHost: hearth\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..body.len() - 1]).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_with_a_token_is_not_carried_out_once_that_is_revoked() {
    let home = Home::start().await;
    let (token, socket) = anna_of(&home).await;
    let body = photos_of_anna();
    let mut finished = begun(&socket, &token, &body).await;
    finished.write_all(&body.as_bytes()[body.len() - 1..]).await.unwrap();
    assert_eq!(code_of(&mut finished).await, 201);
    let body = body.replace("photos", "late");
    let mut parked = begun(&socket, &token, &body).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    home.send(axum::http::Method::DELETE, "/apis/hearth.dev/v1/tokens/anna", &[], "").await;
    let refused = code_of(&mut parked).await;
    assert_eq!(refused, 503, "it may be sent again, with a token that is still good");
    let _ = parked.write_all(&body.as_bytes()[body.len() - 1..]).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(home.get(&format!("{OWN}/late")).await.code, axum::http::StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come_whole_is_not_called_too_large() {
    let clock = ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap());
    let home = Home::start_by(Arc::new(clock.clone())).await;
    let (token, socket) = anna_of(&home).await;
    let body = photos_of_anna();
    let mut cut = begun(&socket, &token, &body).await;
    cut.shutdown().await.unwrap();
    assert_eq!(code_of(&mut cut).await, 400);
    let mut late = begun(&socket, &token, &body).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    clock.advance(Duration::from_secs(61));
    assert_eq!(code_of(&mut late).await, 408);
    assert_eq!(home.get(&format!("{OWN}/photos")).await.code, axum::http::StatusCode::NOT_FOUND);
}

/// How long a client may read nothing, in these tests.
const UNREAD: Duration = Duration::from_secs(1);

/// A home whose apps are more than any connection holds on its way, and how many bytes they are.
async fn with_much_to_read() -> (Home, usize) {
    let home = Home::start_with(|options| options.unread = UNREAD).await;
    for number in 0..80 {
        let mut app = super::home::app(&format!("app-{number}"));
        app["metadata"]["annotations"] = json!({ "long": "x".repeat(200_000) });
        assert_eq!(home.post(super::home::APPS, &app).await.code.as_u16(), 201);
    }
    home.person("reader", "Admin", &[]).await;
    let size = home.get(super::home::APPS).await.text.len();
    (home, size)
}

/// Reads on until the connection ends; how much came.
async fn read_on(stream: &mut (impl AsyncReadExt + Unpin)) -> usize {
    let (mut came, mut piece) = (0, vec![0; 65536]);
    // However it ends.
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        came += count;
    }
    came
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_client_reads_nothing_ends_over_the_network() {
    let (home, size) = with_much_to_read().await;
    let file = Kubeconfig::read_from(home.server.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(config.root_cert.unwrap()[0].clone())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8192).unwrap();
    let stream = socket.connect(home.server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: hearth\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        super::home::APPS,
        token_of("reader")
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(4 * UNREAD).await;
    let came = read_on(&mut stream).await;
    assert!(came < size, "all of it came, {came} bytes: nobody was let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_client_reads_nothing_ends_over_the_socket_and_a_slow_one_stays() {
    let (home, size) = with_much_to_read().await;
    let socket = home.server.socket().unwrap().to_owned();
    let token = token_of("reader");
    let mut unread = open(&socket, super::home::APPS, Some(&token)).await;
    let mut slow = open(&socket, super::home::APPS, Some(&token)).await;
    let (mut came, mut piece) = (0, vec![0; size / 10]);
    for _ in 0..8 {
        tokio::time::sleep(UNREAD / 2).await;
        slow.read_exact(&mut piece).await.unwrap();
        came += piece.len();
    }
    let left = read_on(&mut slow).await;
    assert!(came + left > size, "who reads slowly has it all in the end: {came} and {left} of {size}");
    let came = read_on(&mut unread).await;
    assert!(came < size, "all of it came, {came} bytes: nobody was let go");
}
