//! A Docker that lies: it stands in front of the real one and passes everything on, until it is told what to say
//! instead, or what to leave unsaid.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lie {
    /// It never reaches Docker; this is the answer: a status and a body.
    Says(u16, &'static str),
    /// It is carried out, and half of what Docker says of it comes back.
    CutShort,
    /// It is carried out, and no answer comes back.
    LosesAnswer,
    /// It never reaches Docker, and no answer comes, ever.
    Hangs,
    /// It is answered as the same request was answered last.
    SaysAsBefore,
    /// A stream is accepted, and nothing is ever said on it.
    Silence,
    /// What Docker says is passed on for so long; then the connection breaks.
    BreaksAfter(Duration),
}

/// What is to be told, until it was told so often.
struct Planned {
    /// How the request begins, such as `GET /containers/json`; a `*` stands for anything.
    request: String,
    lie: Lie,
    left: usize,
}

#[derive(Default)]
struct Mind {
    planned: Vec<Planned>,
    /// What every request was answered last, by its first line.
    before: BTreeMap<String, Vec<u8>>,
    /// Every request that came, by its first line.
    asked: Vec<String>,
    lied: usize,
}

/// The liar. It lies as long as this is kept.
pub(crate) struct Liar {
    socket: PathBuf,
    mind: Arc<Mutex<Mind>>,
    honest: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Liar {
    /// Stands before the Docker of an address, honest for now.
    pub(super) fn before(docker: &str, socket: PathBuf) -> Self {
        let real = PathBuf::from(docker.strip_prefix("unix://").unwrap());
        let listener = UnixListener::bind(&socket).unwrap();
        let (mind, honest) = (Arc::<Mutex<Mind>>::default(), Arc::<Notify>::default());
        let (own, woken) = (Arc::clone(&mind), Arc::clone(&honest));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (real, mind, honest) = (real.clone(), Arc::clone(&own), Arc::clone(&woken));
                tokio::spawn(async move {
                    // Whoever goes away in the middle ends it.
                    let _ = serve(client, &real, &mind, &honest).await;
                });
            }
        });
        Self { socket, mind, honest, task }
    }

    /// Its address, as `--docker` takes it.
    pub(super) fn address(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    /// From now on so many requests that begin like this are lied about.
    pub(crate) fn lie(&self, request: &str, lie: Lie, times: usize) {
        let request = request.to_owned();
        self.mind.lock().unwrap().planned.push(Planned { request, lie, left: times });
    }

    /// From now on everything is passed on; what hung breaks off.
    pub(crate) fn be_honest(&self) {
        self.mind.lock().unwrap().planned.clear();
        self.honest.notify_waiters();
    }

    /// How many requests were lied about.
    pub(crate) fn lied(&self) -> usize {
        self.mind.lock().unwrap().lied
    }

    /// How many requests came that begin like this.
    pub(crate) fn asked(&self, request: &str) -> usize {
        self.mind.lock().unwrap().asked.iter().filter(|line| is_like(line, request)).count()
    }
}

impl Mind {
    fn judge(&mut self, line: &str) -> Option<Lie> {
        self.asked.push(line.to_owned());
        let is_meant = |planned: &&mut Planned| planned.left > 0 && is_like(line, &planned.request);
        let planned = self.planned.iter_mut().find(is_meant)?;
        planned.left -= 1;
        self.lied += 1;
        Some(planned.lie.clone())
    }
}

async fn serve(
    mut client: UnixStream,
    real: &PathBuf,
    mind: &Mutex<Mind>,
    honest: &Notify,
) -> std::io::Result<()> {
    let released = honest.notified();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let line = request_of(&text);
    let lie = mind.lock().unwrap().judge(&line);
    match &lie {
        Some(Lie::Says(status, body)) => {
            let said = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            return client.write_all(said.as_bytes()).await;
        }
        Some(Lie::SaysAsBefore) => {
            let before = mind.lock().unwrap().before.get(&line).cloned();
            return client.write_all(&before.expect("it was asked before")).await;
        }
        Some(Lie::Silence) => {
            client.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            return until_gone(client, released).await;
        }
        Some(Lie::Hangs) => return until_gone(client, released).await,
        _ => {}
    }
    let mut docker = UnixStream::connect(real).await?;
    // Docker closes once it has answered, so that the whole answer is known.
    let closing = text.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
    docker.write_all(closing.as_bytes()).await?;
    match lie {
        Some(Lie::BreaksAfter(time)) => tokio::time::timeout(time, relay(client, docker)).await?,
        Some(Lie::CutShort | Lie::LosesAnswer) => {
            let answer = whole(&mut client, &mut docker).await?;
            let said = if lie == Some(Lie::CutShort) { answer.len() - body_of(&answer).len() / 2 } else { 0 };
            client.write_all(&answer[..said]).await
        }
        _ if line.starts_with("GET") && line.contains("/json") => {
            let answer = whole(&mut client, &mut docker).await?;
            mind.lock().unwrap().before.insert(line, answer.clone());
            client.write_all(&answer).await
        }
        _ => relay(client, docker).await,
    }
}

/// `GET /containers/json?all=true`: the first line without the API's version.
fn request_of(head: &str) -> String {
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1");
    let (method, path) = line.split_once(' ').unwrap_or_default();
    let path = match path.strip_prefix("/v") {
        Some(versioned) => versioned.find('/').map_or(path, |slash| &versioned[slash..]),
        None => path,
    };
    format!("{method} {path}")
}

fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    parts.all(|part| {
        let found = rest.find(part);
        rest = &rest[found.map_or(0, |at| at + part.len())..];
        found.is_some()
    })
}

fn body_of(answer: &[u8]) -> &[u8] {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    &answer[end..]
}

/// The whole answer of Docker, while the rest of the request goes to it.
async fn whole(client: &mut UnixStream, docker: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let (mut said, mut asks) = docker.split();
    let mut answer = Vec::new();
    tokio::select! {
        read = said.read_to_end(&mut answer) => drop(read?),
        // The client went away without waiting for its answer.
        gone = copy(client, &mut asks) => drop(gone?),
    }
    Ok(answer)
}

/// Passes everything on, both ways, until either side ends.
async fn relay(mut client: UnixStream, mut docker: UnixStream) -> std::io::Result<()> {
    let ((mut heard, mut told), (mut said, mut asks)) = (client.split(), docker.split());
    tokio::select! {
        ended = copy(&mut said, &mut told) => ended.map(drop),
        gone = copy(&mut heard, &mut asks) => gone.map(drop),
    }
}

/// Keeps a connection open until the other side closes it or the truth is told again.
async fn until_gone(mut client: UnixStream, released: impl Future<Output = ()>) -> std::io::Result<()> {
    let mut rest = [0; 4096];
    let gone = async { while client.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
    tokio::select! {
        () = gone => {}
        () = released => {}
    }
    Ok(())
}
