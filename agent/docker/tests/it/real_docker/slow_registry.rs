//! A pull that nobody wants any more ends in Docker too: its connection to the registry is closed.
//!
//! Bytes must come for Docker 20.10 to notice: on a connection that has fallen silent it waits on, though nobody asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hearth_capabilities::Images;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::on_stage;

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG_DIGEST: &str = "9f69d3c7b96340d70f405d54a189e295e756f0c049c515e07beacf3b341dfdb1";

/// What a registry that sends an image very slowly has seen.
#[derive(Default)]
struct Seen {
    begun: AtomicU32,
    given_up: AtomicU32,
}

async fn serve(stream: TcpStream, seen: Arc<Seen>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let request = line;
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await?;
            if header.trim().is_empty() {
                break;
            }
        }
        let body = if request.contains("/manifests/") {
            manifest()
        } else if request.contains(CONFIG_DIGEST) {
            config()
        } else if request.contains("/blobs/") {
            seen.begun.fetch_add(1, Ordering::SeqCst);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n").await?;
            // Until Docker closes; it would take hours to the end.
            while stream.write_all(&[0; 4096]).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            seen.given_up.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        } else {
            "{}".to_owned()
        };
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {MANIFEST}\r\nContent-Length: {}\r\n\r\n", body.len());
        let body = if request.starts_with("HEAD") { "" } else { &body };
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
    }
}

/// The configuration of an image of one layer. Its digest is [`CONFIG_DIGEST`].
fn config() -> String {
    let layer = "b".repeat(64);
    format!(
        r#"{{"architecture":"amd64","os":"linux","config":{{}},"rootfs":{{"type":"layers","diff_ids":["sha256:{layer}"]}}}}"#
    )
}

fn manifest() -> String {
    let entry = |kind: &str, size: usize, digest: &str| {
        format!(r#"{{"mediaType":"application/vnd.docker.{kind}","size":{size},"digest":"sha256:{digest}"}}"#)
    };
    let config = entry("container.image.v1+json", config().len(), CONFIG_DIGEST);
    let layer = entry("image.rootfs.diff.tar.gzip", 1_000_000_000, &"b".repeat(64));
    format!(r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{config},"layers":[{layer}]}}"#)
}

async fn soon(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..300 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within 15 s: {what}");
}

#[tokio::test]
async fn a_pull_that_is_dropped_ends_in_docker_too() {
    on_stage(async |machine, _| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let reference = format!("127.0.0.1:{}/slow:1", listener.local_addr().unwrap().port());
        let seen = Arc::<Seen>::default();
        let registry = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&registry)));
            }
        });
        let hand = machine.hand().clone();
        let pull = tokio::spawn(async move { hand.pull(&reference, &|_| {}).await });
        soon("Docker asks for the image", || seen.begun.load(Ordering::SeqCst) > 0).await;
        assert_eq!(seen.given_up.load(Ordering::SeqCst), 0);
        pull.abort();
        soon("Docker gives up", || seen.given_up.load(Ordering::SeqCst) == seen.begun.load(Ordering::SeqCst))
            .await;
    })
    .await;
}
