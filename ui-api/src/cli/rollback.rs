//! `hearth rollback`: an earlier spec of an object becomes the wish again. It is a new write like any other.

use clap::Args;
use hearth_meta::labels::DECLARED_IN;
use http::Method;
use serde_json::{Value, json};

use super::client::{Client, JSON, Refusal, Trouble};
use super::complete;
use super::differences::{lines_of, preview_of};
use super::exit::{Exit, Failure, Outcome};
use super::history;
use super::output::Output;
use super::resource::{Target, parse_one};

/// How often a write is tried again when only the status has changed in between.
const TRIES: usize = 10;

/// Make an earlier spec of an object the wish again.
///
/// Shows the difference, writes it as a new generation, and says how to undo it. Data is not brought back.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth rollback app/photos --dry-run\n  hearth rollback app/photos\n  hearth rollback app/photos --to 7\n  hearth history app/photos    (which generations there are)"
)]
pub(super) struct Rollback {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// To which generation, or for an app to which revision by name [default: the one before].
    #[arg(long, value_name = "GENERATION")]
    to: Option<String>,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
}

/// Carries out `hearth rollback`.
///
/// # Errors
/// No such object or generation, one that cannot be brought back, a conflict, no server.
pub(super) async fn run(args: Rollback, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    let object = client.find(&target).await?;
    let rows = history::rows(&target, client).await?;
    let Some(object) = object else { return Err(gone(&target)) };
    if let Some(why) = not_its_own(&target, &object) {
        return Err(why);
    }
    let row = chosen(&args, &target, &object, &rows, client).await?;
    let (generation, spec) = (&row["generation"], &row["spec"]);
    let mut wanted =
        json!({ "apiVersion": target.kind.api_version(), "kind": target.kind.kind, "spec": spec });
    wanted["metadata"] = json!({ "name": target.name, "namespace": target.namespace });
    let change = preview_of(&target, &wanted, client).await?;
    if change.differences.is_empty() {
        out.note(&format!("{target} is as it was at generation {generation} already"));
        return Ok(Exit::Done);
    }
    lines_of(&change, out).iter().for_each(|line| out.line(line));
    if target.kind.kind == "App" {
        out.note("what the app wrote since then stays as it is: data is not brought back, and an older version may not read it");
    }
    if let Some(file) = object["metadata"]["annotations"][DECLARED_IN].as_str() {
        out.note(&format!("{file} of the manifests folder declares {target}; what it says is put back, so change it there as well"));
    }
    if args.dry_run {
        out.note("nothing was changed");
        return Ok(Exit::Differs);
    }
    let written = write(&target, object.clone(), spec, client).await?;
    let now = &written["metadata"]["generation"];
    out.line(&format!("{target} is as at generation {generation} again (generation {now})"));
    if let Some(undo) = undo(&target, client, &object, &written) {
        out.note(&undo);
    }
    Ok(Exit::Done)
}

/// How a write is taken back: by the generation that was read before it. One that left the spec as it was, such as of
/// labels alone, is not taken back so.
pub(super) fn undo(target: &Target, client: &Client, before: &Value, written: &Value) -> Option<String> {
    let of = |object: &Value| object["metadata"]["generation"].as_i64();
    let (before, written) = (of(before)?, of(written)?);
    let place = target.elsewhere(client.namespace());
    (before < written).then(|| format!("undo: hearth rollback {target} --to {before}{place}"))
}

fn gone(target: &Target) -> Failure {
    let message = format!("{target} was deleted; what is gone is not rolled back");
    let next = match target.kind.kind {
        "App" => format!("where its data was kept, `hearth recover adopt {target}` brings it back"),
        _ => format!("its last spec is in `hearth history {target} --full`; declare it again"),
    };
    Failure::new(Exit::NotFound, message).next(next)
}

/// What has no spec of its own to bring back.
pub(super) fn not_its_own(target: &Target, object: &Value) -> Option<Failure> {
    if target.kind.is_secret {
        let message = format!("what {target} held is not kept anywhere, so it cannot be brought back");
        return Some(Failure::new(Exit::Rejected, message).next("declare it again with `hearth apply -f`"));
    }
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owner = owners.into_iter().flatten().find(|owner| owner["controller"] == true)?;
    let word = |field: &str| owner[field].as_str().unwrap_or_default();
    let owner = format!("{}/{}", word("kind").to_lowercase(), word("name"));
    let message = format!("{target} is made for {owner}, which would change it back at once");
    Some(Failure::new(Exit::Rejected, message).next(format!("roll that back: hearth rollback {owner}")))
}

/// The row of the history that is meant.
async fn chosen(
    args: &Rollback,
    target: &Target,
    object: &Value,
    rows: &[Value],
    client: &Client,
) -> Result<Value, Failure> {
    let now = object["metadata"]["generation"].as_i64().unwrap_or(0);
    let uid_began = rows.iter().rposition(|row| row["verb"] == "create").unwrap_or(0);
    // What bore the name before it was deleted and made anew was another object.
    let own = &rows[uid_began..];
    let with_spec = |row: &&Value| row["spec"].is_object();
    let of = |generation: i64| own.iter().rev().filter(with_spec).find(|row| row["generation"] == generation);
    let found = match args.to.as_deref() {
        None => own.iter().rev().filter(with_spec).find(|row| row["spec"] != object["spec"]),
        Some(to) => match to.parse::<i64>() {
            Ok(generation) => of(generation),
            Err(_) => at_revision(target, to, own, client).await?,
        },
    };
    found.cloned().ok_or_else(|| {
        let known: Vec<String> =
            own.iter().filter(with_spec).map(|row| row["generation"].to_string()).collect();
        let message = match &args.to {
            Some(to) => format!("{target} has no generation {to}"),
            None => format!("{target} has no earlier spec than that of generation {now}"),
        };
        Failure::new(Exit::NotFound, message).next(format!("it has {}", known.join(", ")))
    })
}

/// The last write of the app's spec before the revision was made: it was rendered from that.
async fn at_revision<'a>(
    target: &Target,
    name: &str,
    rows: &'a [Value],
    client: &Client,
) -> Result<Option<&'a Value>, Failure> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let bad = || Failure::usage(format!("{name:?} is neither a generation nor a revision of {target}"));
    if target.kind.kind != "App" {
        return Err(bad());
    }
    let kind = super::resource::kind_named("revision")?;
    let revision = Target::new(kind, target.namespace.as_deref().unwrap_or_default(), name);
    let revision = client.one(&revision).await?;
    if revision["spec"]["app"] != *target.name {
        return Err(bad());
    }
    let made = time_of(&revision["metadata"]["creationTimestamp"]);
    // Times of objects are whole seconds; those of the history are not.
    Ok(rows.iter().rev().find(|row| row["spec"].is_object() && time_of(&row["at"]) <= made))
}

fn time_of(value: &Value) -> Option<i64> {
    Some(value.as_str()?.parse::<hearth_meta::Timestamp>().ok()?.as_second())
}

/// Writes the spec, trying again where only something else has changed in between.
async fn write(target: &Target, mut object: Value, spec: &Value, client: &Client) -> Result<Value, Failure> {
    let generation = object["metadata"]["generation"].clone();
    for _ in 0..TRIES {
        object["spec"] = spec.clone();
        let path = format!("{}?fieldManager=hearth", target.path());
        match client.send(Method::PUT, &path, JSON, &object).await {
            Err(Trouble::Refused(Refusal { code: 409, .. })) => {}
            written => return Ok(written?),
        }
        object = client.one(target).await?;
        if object["metadata"]["generation"] != generation {
            break;
        }
    }
    let message = format!("{target} was changed by somebody else at the same moment");
    Err(Failure::new(Exit::Conflict, message).next(format!("look at it with `hearth history {target}`")))
}
