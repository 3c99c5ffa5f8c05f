//! `hearth drift`: changes from outside that stand, and a person's answer to one of them.

use clap::{Args, Subcommand};
use futures::future::try_join_all;
use hearth_meta::Timestamp;
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::complete;
use super::consent;
use super::describe::differences;
use super::exit::{Exit, Outcome};
use super::output::{Output, Tone, paint};
use super::resource::{Target, collection, encode, kinds, parse_one};
use super::table::age;

/// Answer changes from outside: put them back, or keep them.
///
/// Where spec.driftPolicy is Report, what somebody changed by hand is left as it is until a person answers.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth drift list -A\n  hearth diff volume/pgdata\n  hearth drift put-back volume/pgdata\n  hearth drift keep volume/pgdata --seen 3f9a1c2b7d40"
)]
pub(super) struct Drift {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List what was changed from outside and stands.
    List {
        /// In every namespace.
        #[arg(short = 'A', long)]
        all_namespaces: bool,
    },
    /// Put back what was changed, once.
    PutBack(Answered),
    /// Keep what was changed: what is seen is written into the spec.
    Keep {
        #[command(flatten)]
        answered: Answered,
        /// Only show what would be written.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
struct Answered {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// The id of the change that is meant, as `hearth diff` shows it; another one is refused.
    #[arg(long, value_name = "ID")]
    seen: Option<String>,
    /// Do not ask, whatever is seen now.
    #[arg(long, conflicts_with = "seen")]
    yes: bool,
}

/// Carries out `hearth drift`.
///
/// # Errors
/// No such object, another change than the one that is meant, a field that cannot be kept, no server.
pub(super) async fn run(args: Drift, client: &Client, out: &Output) -> Outcome {
    match args.what {
        What::List { all_namespaces } => list(all_namespaces, client, out).await,
        What::PutBack(answered) => answer(answered, "PutBack", false, client, out).await,
        What::Keep { answered, dry_run } => answer(answered, "Keep", dry_run, client, out).await,
    }
}

async fn list(all_namespaces: bool, client: &Client, out: &Output) -> Outcome {
    let namespace = (!all_namespaces).then(|| client.namespace());
    let kept = kinds().iter().filter(|kind| kind.has_status);
    let listings = try_join_all(kept.map(|kind| async move {
        let listed = match namespace {
            Some(_) => client.list(&collection(kind, namespace), JSON).await.map(|listing| vec![listing]),
            None => client.everywhere(kind, "", JSON).await,
        };
        match listed {
            Err(trouble) if trouble.is_forbidden() => Ok((kind, Vec::new())),
            listed => Ok::<_, super::client::Trouble>((kind, listed?)),
        }
    }));
    let mut count = 0;
    for (kind, listings) in listings.await? {
        for item in listings.iter().flat_map(|listing| listing["items"].as_array().into_iter().flatten()) {
            let mut item = item.clone();
            item["kind"] = kind.kind.into();
            if let Some(target) = Target::of(&item).filter(|_| !item["status"]["drift"].is_null()) {
                count += 1;
                show(&target, &item, client.now(), out);
            }
        }
    }
    if count == 0 {
        out.note("nothing that was changed from outside stands");
    }
    Ok(Exit::Done)
}

/// What was changed, since when, and what can be answered.
fn show(target: &Target, object: &Value, now: Timestamp, out: &Output) {
    out.line(&format!("{}  {}", paint(Tone::Strong, &target.to_string()), told(object, now)));
    differences(object, now, out).iter().for_each(|line| out.line(&format!("  {line}")));
}

/// Since when the change of an object stands, how often it was changed, and its id.
pub(super) fn told(object: &Value, now: Timestamp) -> String {
    let drift = &object["status"]["drift"];
    let since = age(drift["since"].as_str().unwrap_or_default(), now);
    let times = match drift["count"].as_i64() {
        Some(count) if count > 1 => format!(", {count} times by now"),
        _ => String::new(),
    };
    format!("changed from outside {since} ago{times} (id {})", drift["id"].as_str().unwrap_or_default())
}

/// What a person can answer, one line each.
pub(super) fn answers(target: &Target, object: &Value) -> Vec<String> {
    let id = object["status"]["drift"]["id"].as_str().unwrap_or_default();
    let reported = object["status"]["reason"] == "Drifted";
    let back = format!("put it back with `hearth drift put-back {target} --seen {id}`");
    let keep = format!("keep it with `hearth drift keep {target} --seen {id}`");
    if reported { vec![back, keep] } else { vec![keep] }
}

async fn answer(args: Answered, word: &str, dry_run: bool, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let object = client.one(&target).await?;
    let drift = &object["status"]["drift"];
    let Some(now) = drift["id"].as_str() else {
        out.note(&format!("{target}: nothing that was changed from outside stands"));
        return Ok(Exit::Done);
    };
    let seen = args.seen.clone().unwrap_or_else(|| now.to_owned());
    if args.seen.is_none() && !dry_run {
        show(&target, &object, client.now(), out);
    }
    if args.seen.is_none() && !args.yes && !dry_run {
        let what = match word {
            "Keep" => format!("what is seen of {target} would become its spec"),
            _ => format!("{target} would be put back to its spec"),
        };
        consent::ask(&what, &format!("add --seen {now} once you have looked, or --yes"), out).await?;
    }
    let namespace =
        target.namespace.as_deref().map(|namespace| format!("{}/", encode(namespace))).unwrap_or_default();
    let path = format!("/hearth/v1/drift/{}/{namespace}{}", target.kind.plural, encode(&target.name));
    let asked = json!({ "answer": word, "seen": seen, "dryRun": dry_run });
    let answered = client.send(Method::POST, &path, JSON, &asked).await?;
    let fields: Vec<&str> = answered["differences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|difference| difference["field"].as_str())
        .collect();
    let fields = fields.join(", ");
    match (word, dry_run) {
        ("Keep", true) => out.note(&format!("{target}: {fields} would be kept. Nothing was changed.")),
        ("Keep", false) => out.note(&format!("{target}: {fields} kept; see `hearth history {target}`")),
        _ if object["status"]["reason"] == "Paused" => {
            out.note(&format!("{target}: {fields} is put back once it is not paused any more"));
        }
        _ => out.note(&format!("{target}: {fields} is put back; see `hearth events {target}`")),
    }
    Ok(Exit::Done)
}
