//! `hearth logs`: what an app's containers wrote, all together in the order it was written.

use std::time::Duration;

use clap::Args;
use futures::future::try_join_all;
use hearth_meta::Timestamp;
use serde_json::Value;

use super::client::{Client, Trouble};
use super::complete;
use super::duration;
use super::exit::{Exit, Failure, Outcome};
use super::output::{Output, Tone, paint};
use super::resource::{Target, encode, kind_called, parse_one};

/// How long to wait before a container that ended, or is not made yet, is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Show what an app's services wrote.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth logs app/photos --tail 50\n  hearth logs app/photos -f --service web\n  hearth logs container/photos-web --since 5m"
)]
pub(super) struct Logs {
    /// The app or container, as app/NAME or container/NAME.
    #[arg(required = true, value_name = "app/NAME", add = complete::objects())]
    object: Vec<String>,
    /// Go on, and show what is written.
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines of each service.
    #[arg(long, value_name = "LINES")]
    tail: Option<u32>,
    /// Only what is younger, such as 5m.
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    since: Option<Duration>,
    /// Only this service; may be given several times.
    #[arg(long, value_name = "NAME")]
    service: Vec<String>,
    /// The time before each line.
    #[arg(long)]
    timestamps: bool,
}

/// One container whose log is shown.
struct Voice {
    name: String,
    container: Target,
    lead: String,
}

/// A line, when it was written, and by whom.
struct Written {
    at: Option<Timestamp>,
    text: String,
}

/// Carries out `hearth logs`.
///
/// # Errors
/// No such object, no server, no log.
pub(super) async fn run(args: Logs, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let voices = voices(&args, &target, client).await?;
    if args.follow {
        let followed = voices.iter().map(|voice| follow(&args, voice, client, out));
        try_join_all(followed).await?;
        return Ok(Exit::Done);
    }
    let read = try_join_all(voices.iter().map(|voice| read(&args, voice, client))).await?;
    let mut lines: Vec<(Option<Timestamp>, usize, String)> = Vec::new();
    let mut silent = Vec::new();
    for (number, log) in read.into_iter().enumerate() {
        match log {
            Some(log) => lines.extend(log.into_iter().map(|line| (line.at, number, line.text))),
            None => silent.push(voices[number].name.clone()),
        }
    }
    // Stable, so that lines of one moment keep the order in which each service wrote them.
    lines.sort_by_key(|(at, ..)| *at);
    for (at, number, text) in lines {
        out.line(&laid(&args, &voices[number], at, &text));
    }
    if !silent.is_empty() {
        out.note(&format!("not made yet, so without a log: {}", silent.join(", ")));
    }
    Ok(Exit::Done)
}

/// The containers of an app, as its status names them, or one container.
async fn voices(args: &Logs, target: &Target, client: &Client) -> Result<Vec<Voice>, Failure> {
    let object = client.one(target).await?;
    let mut named: Vec<(String, String)> = match target.kind.kind {
        "Container" => vec![(target.name.clone(), target.name.clone())],
        "App" => services(target, &object, client).await?,
        _ => return Err(Failure::usage(format!("{target} writes no log; name an app or a container"))),
    };
    if let Some(missing) =
        args.service.iter().find(|wanted| !named.iter().any(|(service, _)| service == *wanted))
    {
        let known: Vec<&str> = named.iter().map(|(service, _)| service.as_str()).collect();
        let failure = Failure::new(Exit::NotFound, format!("{target} has no service {missing:?}"));
        return Err(failure.next(format!("it has {}", known.join(", "))));
    }
    named.retain(|(service, _)| args.service.is_empty() || args.service.contains(service));
    if named.is_empty() {
        return Err(Failure::new(Exit::NotFound, format!("{target} has no containers yet"))
            .next(format!("see why with `hearth why {target}`")));
    }
    let widest = named.iter().map(|(service, _)| service.len()).max().unwrap_or(0);
    let kind =
        kind_called("Container").ok_or_else(|| Failure::new(Exit::Bug, "there is no kind Container"))?;
    let alone = named.len() == 1;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let voices = named.into_iter().enumerate().map(|(number, (service, container))| {
        let lead =
            if alone { String::new() } else { paint(Tone::Voice(number), &format!("{service:widest$} | ")) };
        Voice { container: Target::new(kind.clone(), namespace, &container), name: service, lead }
    });
    Ok(voices.collect())
}

async fn services(target: &Target, app: &Value, client: &Client) -> Result<Vec<(String, String)>, Trouble> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = app["status"]["services"].as_array().into_iter().flatten();
    let services: Vec<_> =
        listed.map(|service| (text(&service["name"]), text(&service["container"]))).collect();
    if !services.is_empty() {
        return Ok(services);
    }
    // An app that never got as far as to sum up its services may have containers all the same.
    let selector = encode(&format!("{}={}", hearth_meta::labels::APP, target.name));
    let namespace = encode(target.namespace.as_deref().unwrap_or_default());
    let listing = client
        .get(&format!("/apis/hearth.dev/v1/namespaces/{namespace}/containers?labelSelector={selector}"))
        .await?;
    let containers = listing["items"].as_array().into_iter().flatten().map(|container| {
        let name = text(&container["metadata"]["name"]);
        let service = text(&container["metadata"]["labels"][hearth_meta::labels::SERVICE]);
        (if service.is_empty() { name.clone() } else { service }, name)
    });
    Ok(containers.collect())
}

fn path(args: &Logs, voice: &Voice, follow: bool, after: Option<Timestamp>) -> String {
    let namespace = encode(voice.container.namespace.as_deref().unwrap_or_default());
    let mut path = format!(
        "/hearth/v1/namespaces/{namespace}/containers/{}/logs?timestamps=true&follow={follow}",
        encode(&voice.container.name)
    );
    match (after, args.since) {
        (Some(time), _) => path.push_str(&format!("&since={}", encode(&time.to_string()))),
        (None, Some(span)) => path.push_str(&format!("&since={}s", span.as_secs())),
        (None, None) => {}
    }
    if let Some(tail) = args.tail.filter(|_| after.is_none()) {
        path.push_str(&format!("&tail={tail}"));
    }
    path
}

/// A whole log; `None` where the container is not made yet.
async fn read(args: &Logs, voice: &Voice, client: &Client) -> Result<Option<Vec<Written>>, Trouble> {
    let mut lines = match client.lines(&path(args, voice, false, None), "text/plain").await {
        Ok(lines) => lines,
        Err(trouble) if trouble.is_not_found() => return Ok(None),
        Err(trouble) => return Err(trouble),
    };
    let mut log = Vec::new();
    while let Some(line) = lines.next().await? {
        log.push(Written::parse(line));
    }
    Ok(Some(log))
}

/// Shows a log as it grows, over the ends and new beginnings of its container.
async fn follow(args: &Logs, voice: &Voice, client: &Client, out: &Output) -> Result<(), Failure> {
    let mut last = None;
    loop {
        match client.lines(&path(args, voice, true, last), "text/plain").await {
            Ok(mut lines) => {
                while let Some(line) = lines.next().await? {
                    let line = Written::parse(line);
                    // Asked again from the last line on, that line comes once more.
                    if last.is_some() && line.at <= last {
                        continue;
                    }
                    last = line.at.or(last);
                    out.line(&laid(args, voice, line.at, &line.text));
                    if out.is_closed() {
                        return Ok(());
                    }
                }
            }
            Err(trouble) if trouble.is_not_found() => {
                // Not made yet is waited for; gone for good is the end.
                if client.find(&voice.container).await?.is_none() {
                    out.note(&format!("{} is gone", voice.container));
                    return Ok(());
                }
            }
            Err(trouble) => return Err(trouble.into()),
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

impl Written {
    fn parse(line: String) -> Self {
        match line.split_once(' ').map(|(time, text)| (time.parse::<Timestamp>(), text)) {
            Some((Ok(at), text)) => Self { at: Some(at), text: text.to_owned() },
            _ => match line.parse() {
                // A line without text is its time alone.
                Ok(at) => Self { at: Some(at), text: String::new() },
                Err(_) => Self { at: None, text: line },
            },
        }
    }
}

fn laid(args: &Logs, voice: &Voice, at: Option<Timestamp>, text: &str) -> String {
    match at.filter(|_| args.timestamps) {
        Some(at) => format!("{}{} {text}", voice.lead, paint(Tone::Faint, &at.to_string())),
        None => format!("{}{text}", voice.lead),
    }
}
