//! A Docker that hangs, breaks off or speaks nonsense is told as what it is, and what is dropped is cancelled.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use hearth_capabilities::containers::LogOptions;
use hearth_capabilities::{Containers, Events, Fault, Happening, Images, Networks};
use hearth_docker::Docker;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// What is answered to one request.
enum Answer {
    /// A status and a body, then the connection is closed.
    Says(u16, &'static str),
    /// The head of a stream and its first piece; then nothing more.
    Begins(&'static str),
    /// The head of a stream and a piece, then the connection is closed in the middle.
    BreaksOff(&'static str),
    /// Nothing, ever.
    Hangs,
}

/// Something that listens where Docker should.
struct FalseDocker {
    socket: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
    closed: Arc<AtomicU32>,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl FalseDocker {
    fn new(api: &'static str, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hearth-false-docker-{}-{number}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&socket).unwrap();
        let (asked, closed) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicU32>::default());
        let (all, gone, answer) = (Arc::clone(&asked), Arc::clone(&closed), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (all, gone, answer) = (Arc::clone(&all), Arc::clone(&gone), Arc::clone(&answer));
                tokio::spawn(async move { serve(stream, api, &all, &gone, &*answer).await });
            }
        });
        Self { socket, asked, closed }
    }

    fn docker(&self) -> Docker {
        Docker::connect(&format!("unix://{}", self.socket.display())).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for FalseDocker {
    fn drop(&mut self) {
        std::fs::remove_file(&self.socket).unwrap();
    }
}

async fn serve(
    mut stream: UnixStream,
    api: &str,
    asked: &Mutex<Vec<String>>,
    closed: &AtomicU32,
    answer: &(dyn Fn(&str) -> Answer + Send + Sync),
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    asked.lock().unwrap().push(line.clone());
    if line.ends_with("/_ping") {
        let pong = format!("HTTP/1.1 200 OK\r\nApi-Version: {api}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(pong.as_bytes()).await.unwrap();
        return;
    }
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let piece =
        |text: &str| if text.is_empty() { String::new() } else { format!("{:x}\r\n{text}\r\n", text.len()) };
    match answer(&line) {
        Answer::Says(status, body) => {
            let said = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(said.as_bytes()).await.unwrap();
            return;
        }
        Answer::BreaksOff(text) => {
            stream.write_all(format!("{begun}{}", piece(text)).as_bytes()).await.unwrap();
            return;
        }
        Answer::Begins(text) => stream.write_all(format!("{begun}{}", piece(text)).as_bytes()).await.unwrap(),
        Answer::Hangs => {}
    }
    // Until the other side closes. A body may still come.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
    closed.fetch_add(1, Ordering::SeqCst);
}

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within 5 s: {what}");
}

fn is_blind<T>(answer: Result<T, Fault>) -> bool {
    matches!(answer, Err(Fault::Blind(_)))
}

#[tokio::test]
async fn no_docker_is_blind() {
    let docker = Docker::connect("unix:///nowhere/docker.sock").unwrap();
    assert!(is_blind(Containers::list(&docker).await));
    assert!(is_blind(Containers::inspect(&docker, "web").await));
    assert!(is_blind(docker.start("aa").await));
    assert!(is_blind(docker.stop("aa", Duration::ZERO).await), "not there is something else");
    assert!(is_blind(Networks::inspect(&docker, "net").await));
    assert!(is_blind(Images::inspect(&docker, "web:1").await));
    assert!(is_blind(docker.pull("web:1", &|_| {}).await));
    assert!(is_blind(docker.logs("aa", &LogOptions::default()).await));
    let mut heard = docker.subscribe();
    assert!(is_blind(heard.next().await.unwrap()));
    assert_eq!(heard.next().await, None);
}

#[test]
fn an_address_that_is_no_socket_is_refused() {
    for address in ["", "tcp://127.0.0.1:2375", "docker.sock"] {
        assert!(matches!(Docker::connect(address), Err(Fault::Refused(_))), "{address}");
    }
}

// Time stands still and jumps to the next deadline whenever everything waits.
#[tokio::test(start_paused = true)]
async fn a_docker_that_hangs_is_blind() {
    let hung = FalseDocker::new("1.41", |_| Answer::Hangs);
    let docker = hung.docker();
    assert!(is_blind(Containers::list(&docker).await));
    assert!(is_blind(Containers::inspect(&docker, "web").await));
    assert!(is_blind(docker.start("aa").await));
    assert!(is_blind(docker.stop("aa", Duration::from_secs(600)).await));
    assert!(is_blind(Containers::remove(&docker, "aa").await));
    assert!(is_blind(Networks::list(&docker).await));
    assert!(is_blind(docker.logs("aa", &LogOptions::default()).await));
    assert!(is_blind(docker.subscribe().next().await.unwrap()), "nothing is heard before it is accepted");
}

#[tokio::test]
async fn nonsense_is_blind() {
    let mad = FalseDocker::new("1.41", |_| Answer::Says(200, "<html>"));
    assert!(is_blind(Containers::list(&mad.docker()).await));
    assert!(is_blind(Containers::inspect(&mad.docker(), "web").await));
    let cut = FalseDocker::new("1.41", |_| Answer::BreaksOff("[{\"Id\":"));
    assert!(is_blind(Containers::list(&cut.docker()).await));
    let mute = FalseDocker::new("", |_| Answer::Says(200, "[]"));
    assert!(is_blind(Containers::list(&mute.docker()).await));
}

#[tokio::test]
async fn a_server_error_is_blind_where_it_reads_and_failed_where_it_changes() {
    let broken = FalseDocker::new("1.41", |_| Answer::Says(500, r#"{"message":"database is locked"}"#));
    assert!(is_blind(Containers::list(&broken.docker()).await));
    assert!(is_blind(Images::inspect(&broken.docker(), "web:1").await));
    let failed = Err(Fault::Failed("database is locked".to_owned()));
    assert_eq!(broken.docker().start("aa").await, failed);
    let starting = FalseDocker::new("1.41", |_| Answer::Says(503, ""));
    assert!(is_blind(starting.docker().start("aa").await));
}

#[tokio::test]
async fn the_newest_version_both_speak_is_used_and_asked_for_once() {
    for (theirs, used) in [("1.41", "1.41"), ("1.48", "1.48"), ("1.99", "1.53")] {
        let docker = FalseDocker::new(theirs, |_| Answer::Says(200, "[]"));
        let hand = docker.docker();
        for _ in 0..2 {
            assert_eq!(Containers::list(&hand).await, Ok(Vec::new()));
        }
        let asked = docker.asked();
        assert_eq!((asked.len(), asked[0].as_str()), (3, "GET /_ping"));
        assert!(asked[1].starts_with(&format!("GET /v{used}/containers/json?")), "{}", asked[1]);
    }
}

#[tokio::test]
async fn a_docker_that_is_too_old_is_refused_with_what_to_do() {
    let old = FalseDocker::new("1.40", |_| Answer::Says(200, "[]"));
    let Err(Fault::Refused(said)) = Containers::list(&old.docker()).await else { panic!("it is refused") };
    assert!(said.contains("upgrade Docker"), "{said}");
}

#[tokio::test]
async fn the_version_is_asked_for_again_when_docker_may_be_another() {
    let docker =
        FalseDocker::new("1.44", |_| Answer::Says(400, r#"{"message":"client version 1.44 is too old"}"#));
    let hand = docker.docker();
    for _ in 0..2 {
        assert!(Containers::list(&hand).await.is_err());
    }
    assert_eq!(docker.asked().iter().filter(|line| line.ends_with("/_ping")).count(), 2);
}

#[tokio::test]
async fn a_pull_that_is_dropped_is_cancelled() {
    let slow = FalseDocker::new("1.41", |_| Answer::Begins("{\"status\":\"Pulling from web\"}\n"));
    let (docker, reports) = (slow.docker(), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&reports);
    let pull = tokio::spawn(async move {
        let report = move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        };
        docker.pull("web:1", &report).await
    });
    soon("it has begun", || reports.load(Ordering::SeqCst) == 1).await;
    assert_eq!(slow.closed.load(Ordering::SeqCst), 0);
    pull.abort();
    soon("the connection is closed", || slow.closed.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_pull_that_breaks_off_or_fails_half_way_is_told() {
    let cut = FalseDocker::new("1.41", |_| Answer::BreaksOff("{\"status\":\"Pulling from web\"}\n"));
    assert!(is_blind(cut.docker().pull("web:1", &|_| {}).await));
    let full =
        "{\"errorDetail\":{\"message\":\"no space left on device\"},\"error\":\"no space left on device\"}\n";
    let full = FalseDocker::new("1.41", move |_| Answer::Begins(full));
    let failed = Err(Fault::Failed("no space left on device".to_owned()));
    assert_eq!(full.docker().pull("web:1", &|_| {}).await, failed);
}

#[tokio::test]
async fn an_exact_image_is_asked_for_and_never_all_tags() {
    let docker = FalseDocker::new("1.41", |_| Answer::Says(200, ""));
    let digest = format!("sha256:{}", "a".repeat(64));
    for reference in ["web", "127.0.0.1:5000/a/web:2", &format!("web@{digest}"), &format!("web:2@{digest}")] {
        docker.docker().pull(reference, &|_| {}).await.unwrap();
    }
    let pulls: Vec<String> = docker.asked().into_iter().filter(|line| line.starts_with("POST")).collect();
    let exact = format!("tag=sha256%3A{}", "a".repeat(64));
    for (pull, parts) in pulls.iter().zip([
        ["fromImage=web&", "tag=latest"],
        ["fromImage=127.0.0.1%3A5000%2Fa%2Fweb&", "tag=2"],
        ["fromImage=web&", &exact],
        ["fromImage=web&", &exact],
    ]) {
        assert!(parts.iter().all(|part| pull.contains(part)), "{pull}");
    }
    assert_eq!(pulls.len(), 4);
}

#[tokio::test]
async fn listening_is_told_once_docker_has_accepted_and_a_break_ends_it() {
    let quiet = FalseDocker::new("1.41", |_| Answer::Begins(""));
    let mut heard = quiet.docker().subscribe();
    assert_eq!(heard.next().await, Some(Ok(Happening::Listening)));
    drop(heard);
    soon("the connection is closed", || quiet.closed.load(Ordering::SeqCst) == 1).await;
    let died = "{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"Attributes\":{\"name\":\"web\"}}}\n";
    let cut = FalseDocker::new("1.41", move |_| Answer::BreaksOff(died));
    let heard: Vec<_> = cut.docker().subscribe().collect().await;
    assert_eq!(heard[0], Ok(Happening::Listening));
    assert!(matches!(&heard[1], Ok(Happening::Container { name, .. }) if name == "web"), "{heard:?}");
    assert!(heard.len() == 3 && is_blind(heard[2].clone()), "{heard:?}");
    let closed = FalseDocker::new("1.41", |_| Answer::Says(403, r#"{"message":"not allowed"}"#));
    let heard: Vec<_> = closed.docker().subscribe().collect().await;
    assert_eq!(heard, [Err(Fault::Refused("not allowed".to_owned()))]);
}

#[tokio::test]
async fn a_removal_somebody_else_has_begun_is_waited_for() {
    let looks = AtomicU32::new(0);
    let docker = FalseDocker::new("1.41", move |line| {
        if line.starts_with("DELETE") {
            return Answer::Says(409, r#"{"message":"removal of container aa is already in progress"}"#);
        }
        match looks.fetch_add(1, Ordering::SeqCst) {
            0 => Answer::Says(200, r#"{"Id":"aa","Name":"/web"}"#),
            _ => Answer::Says(404, r#"{"message":"No such container: aa"}"#),
        }
    });
    assert_eq!(Containers::remove(&docker.docker(), "aa").await, Ok(()));
    assert_eq!(docker.asked().iter().filter(|line| line.contains("/json")).count(), 2);
}

#[tokio::test]
async fn an_image_taken_away_under_its_container_is_blind() {
    let image = format!("sha256:{}", "a".repeat(64));
    let seen: &'static str = format!(r#"{{"Id":"aa","Name":"/web","Image":"{image}"}}"#).leak();
    let docker = FalseDocker::new("1.41", move |line| {
        if line.contains("/images/") {
            Answer::Says(404, r#"{"message":"gone"}"#)
        } else {
            Answer::Says(200, seen)
        }
    });
    assert!(is_blind(Containers::inspect(&docker.docker(), "web").await));
}

#[tokio::test]
async fn a_network_name_held_twice_is_a_conflict() {
    let said = r#"{"message":"network net is ambiguous (2 matches found on name)"}"#;
    let docker = FalseDocker::new("1.41", move |_| Answer::Says(400, said));
    let answer = Networks::inspect(&docker.docker(), "net").await;
    assert!(matches!(&answer, Err(Fault::Conflict(said)) if said.contains("two networks")), "{answer:?}");
}
