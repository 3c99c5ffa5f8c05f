//! `hearth why`: follows what an object waits for down to the root, and says what a person can do there.

use std::collections::HashSet;

use clap::Args;
use hearth_meta::{Class, ObjectRef, Reason, Verdict};
use serde_json::Value;

use super::client::{Client, Trouble};
use super::complete;
use super::describe::{answer, differences, last_lines, until};
use super::events;
use super::exit::{Exit, Failure, Outcome};
use super::family::{Family, gather};
use super::output::{Output, Tone, paint, width_of};
use super::resource::{Target, parse_one};
use super::wait::current_verdict;

/// How many events of the root cause are shown.
const EVENTS: usize = 3;
/// Deeper than any chain of a home; a longer one is a fault of what wrote it.
const DEEPEST: usize = 20;

/// Say why an object stands as it does, and what to do.
///
/// Follows what it waits for down to the root cause.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth why app/photos")]
pub(super) struct Why {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
}

/// One object on the way to the root.
struct Step {
    target: Target,
    /// Absent where there is no such object.
    object: Option<Value>,
    depth: usize,
    /// Whether it waits for something else, so that it is not the root.
    waits: bool,
}

/// Carries out `hearth why`.
///
/// # Errors
/// No such object, no server.
pub(super) async fn run(args: Why, client: &Client, out: &Output) -> Outcome {
    answer_for(&args.object, client, out).await?;
    Ok(Exit::Done)
}

/// Says why an object, called `KIND/NAME`, stands as it does.
///
/// # Errors
/// No such object, no server.
pub(crate) async fn answer_for(object: &[String], client: &Client, out: &Output) -> Result<(), Failure> {
    let target = parse_one(object, client.namespace())?;
    let object = client.one(&target).await?;
    let steps = walk(&target, object, client).await?;
    let is_ready = |step: &Step| verdict_of(step) == Some(Verdict::Ready);
    let deepest = steps.iter().max_by_key(|step| (!is_ready(step), !step.waits, step.depth, gravity(step)));
    let root = deepest.unwrap_or(&steps[0]);
    // What is well is not on the way to the root, unless it is all that was waited for.
    let way: Vec<&Step> =
        steps.iter().filter(|step| step.depth == 0 || !is_ready(step) || std::ptr::eq(*step, root)).collect();
    out.line(&sentence(&steps[0], root, out));
    if way.len() > 1 {
        out.line("");
        chain(&way, root, out).iter().for_each(|line| out.line(&format!("  {line}")));
    }
    details(root, client, out).await?;
    Ok(())
}

/// Follows `blockedBy`, or where nothing is named, the parts that are unwell. The first step is the object itself.
async fn walk(target: &Target, object: Value, client: &Client) -> Result<Vec<Step>, Trouble> {
    let mut seen = HashSet::from([target.path()]);
    let mut steps = Vec::new();
    let mut open = vec![Step { target: target.clone(), object: Some(object), depth: 0, waits: false }];
    while let Some(mut step) = open.pop() {
        if let Some(object) = step.object.as_ref().filter(|_| step.depth < DEEPEST) {
            let mut causes = Vec::new();
            let found = causes_of(object, client).await?;
            step.waits = !found.is_empty();
            for cause in found {
                if seen.insert(cause.path()) {
                    let object = match client.find(&cause).await {
                        // What one may not look at cannot be walked into; the object itself says what it waits for.
                        Err(trouble) if trouble.is_forbidden() => continue,
                        other => other?,
                    };
                    causes.push(Step { target: cause, object, depth: step.depth + 1, waits: false });
                }
            }
            open.extend(causes.into_iter().rev());
        }
        steps.push(step);
    }
    Ok(steps)
}

async fn causes_of(object: &Value, client: &Client) -> Result<Vec<Target>, Trouble> {
    if matches!(current_verdict(object), Some(Verdict::Ready | Verdict::Paused)) {
        return Ok(Vec::new());
    }
    let named: Vec<ObjectRef> =
        serde_json::from_value(object["status"]["blockedBy"].clone()).unwrap_or_default();
    if !named.is_empty() {
        return Ok(named.iter().filter_map(Target::referred).collect());
    }
    let family = gather(client, object.clone()).await?;
    Ok(family.unwell().into_iter().filter_map(|part| Target::of(&part.object)).collect())
}

fn verdict_of(step: &Step) -> Option<Verdict> {
    step.object.as_ref().and_then(current_verdict)
}

/// Of several causes at one depth, which one a person should look at first.
fn gravity(step: &Step) -> u8 {
    match (&step.object, verdict_of(step)) {
        (None, _) => 3,
        (Some(_), Some(Verdict::Failed | Verdict::NeedsYou)) => 2,
        (Some(_), Some(Verdict::Degraded)) => 1,
        _ => 0,
    }
}

fn message_of(step: &Step) -> String {
    match &step.object {
        None => "does not exist".into(),
        Some(object) => object["status"]["message"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The answer in one sentence.
fn sentence(asked: &Step, root: &Step, out: &Output) -> String {
    let object = asked.object.as_ref().unwrap_or(&Value::Null);
    let (true, Some(verdict)) = (root.depth > 0, verdict_of(asked)) else {
        return answer(&asked.target, object, out);
    };
    let (name, cause) =
        (paint(Tone::Strong, &asked.target.to_string()), paint(Tone::Strong, &root.target.to_string()));
    let stands = out.verdict(verdict.as_str());
    match (&root.object, message_of(root)) {
        (None, _) => format!("{name} is {stands} because {cause} does not exist"),
        (Some(_), _) if verdict_of(root) == Some(Verdict::Ready) => {
            format!("{name} is {stands}: it waited for {cause}, which is Ready now; it goes on by itself")
        }
        (Some(_), empty) if empty.is_empty() => format!("{name} is {stands} because of {cause}"),
        (Some(_), message) => format!("{name} is {stands} because of {cause}: {message}"),
    }
}

/// The way to the root as a tree.
fn chain(steps: &[&Step], root: &Step, out: &Output) -> Vec<String> {
    let rows: Vec<(String, String)> = steps
        .iter()
        .enumerate()
        .map(|(number, step)| row(step, &lead(steps, number, out), root, out))
        .collect();
    let widest = rows.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
    let lay =
        |(name, rest): (String, String)| format!("{name}{}  {rest}", " ".repeat(widest - width_of(&name)));
    rows.into_iter().map(lay).collect()
}

/// The branches before a step: a trunk for every level that goes on below it.
fn lead(steps: &[&Step], number: usize, out: &Output) -> String {
    let goes_on = |depth: usize| {
        let below = steps[number + 1..].iter().take_while(|later| later.depth >= depth);
        below.into_iter().any(|later| later.depth == depth)
    };
    let depth = steps[number].depth;
    let trunks = (1..depth).map(|level| if goes_on(level) { out.sign("│  ") } else { "   " });
    let branch = match depth {
        0 => "",
        _ if goes_on(depth) => out.sign("├─ "),
        _ => out.sign("└─ "),
    };
    trunks.chain(std::iter::once(branch)).collect()
}

fn row(step: &Step, lead: &str, root: &Step, out: &Output) -> (String, String) {
    let verdict = match (&step.object, verdict_of(step)) {
        (None, _) => paint(Tone::Bad, "missing"),
        (Some(_), Some(verdict)) => out.verdict(verdict.as_str()),
        (Some(_), None) => "not looked at yet".into(),
    };
    let message = if step.object.is_none() { String::new() } else { message_of(step) };
    let mark =
        if std::ptr::eq(step, root) { format!("   {} root cause", out.sign("←")) } else { String::new() };
    let said = if message.is_empty() { verdict } else { format!("{verdict}  {message}") };
    (format!("{}{}", paint(Tone::Faint, lead), step.target), format!("{said}{mark}"))
}

/// What differs at the root, what happened there, and what a person can do.
async fn details(root: &Step, client: &Client, out: &Output) -> Result<(), Trouble> {
    let Some(object) = &root.object else {
        out.line(&format!("\nYou can: declare {}, or change what refers to it", root.target));
        return Ok(());
    };
    let now = client.now();
    let differing = differences(object, now, out);
    if !differing.is_empty() {
        out.line(&format!("\nNot as wanted ({}):", differing.len() - 1));
        differing.iter().for_each(|line| out.line(&format!("  {line}")));
    }
    let alone = Family { object: object.clone(), parts: Vec::new() };
    let happened = events::lately(&alone, EVENTS, client, out).await?;
    if !happened.is_empty() && verdict_of(root) != Some(Verdict::Ready) {
        out.line(&format!("\nLately at {}:", root.target));
        happened.iter().for_each(|line| out.line(&format!("  {line}")));
    }
    let lines = last_lines(object);
    if !lines.is_empty() {
        out.line(&format!("\nLast lines of {}:", root.target));
        lines.iter().for_each(|line| out.line(&format!("  {line}")));
    }
    let reason: Option<Reason> = serde_json::from_value(object["status"]["reason"].clone()).ok();
    match reason.map(Reason::fix).unwrap_or_default() {
        "" => {}
        _ if reason == Some(Reason::Paused) => out.line(&format!("\nYou can: hearth resume {}", root.target)),
        fix => out.line(&format!("\nYou can: {fix}")),
    }
    if let Some(time) = object["status"]["nextTryAt"].as_str() {
        out.line(&format!("\nTried again by itself {}", until(time, now)));
    } else if reason.is_some_and(|reason| reason.class() == Class::Retrying) {
        out.line("\nTried again by itself");
    }
    Ok(())
}
