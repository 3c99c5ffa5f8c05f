//! `hearth wait`, and waiting as other verbs do it: watch an object until it is as wanted, or cannot become so.

use std::time::Duration;

use clap::Args;
use hearth_meta::Verdict;
use serde_json::Value;
use tokio::time::Instant;

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::exit::{Exit, Failure, Outcome};
use super::family::gather;
use super::output::Output;
use super::progress::Board;
use super::resource::{Target, parse_one};

/// How long is waited where nothing else is said.
pub(super) const USUAL: Duration = Duration::from_secs(120);

/// How long to hold back before a server that went away is asked again.
const RECONNECT: Duration = Duration::from_millis(500);

/// How long a verdict that needs a person, and stood before the waiting began, may still change by itself.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the parts of what is waited for are looked at, where a person watches.
const LOOK_AT_PARTS: Duration = Duration::from_millis(700);

/// Wait until an object is as wanted.
///
/// Ends early when it Failed or needs you, unless that is what is waited for; after 2 minutes otherwise, or --timeout.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth wait app/photos --for=ready --timeout 120s\n  hearth wait app/photos --for=deleted\n  hearth wait app/photos --for=condition=Healthy\n  hearth wait app/photos --for=NeedsYou"
)]
pub(super) struct Wait {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// What to wait for: ready, deleted, a verdict such as Degraded, or condition=NAME[=STATUS].
    #[arg(long = "for", value_name = "WHAT", default_value = "ready", value_parser = Goal::parse)]
    goal: Goal,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// A verdict.
    Verdict(Verdict),
    /// That it is gone.
    Deleted,
    /// That a condition has this status.
    Condition(String, String),
}

/// How waiting for an object ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It is as wanted.
    Reached,
    /// It is gone, and that was not wanted.
    Gone,
    /// It rests in a verdict from which it does not get on by itself.
    Unwell(Verdict),
    /// Time ran out.
    TimedOut,
}

impl Goal {
    /// Reads what `--for` says.
    ///
    /// # Errors
    /// One sentence with what may be written.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(condition) = text.strip_prefix("condition=") {
            let (name, status) = condition.split_once('=').unwrap_or((condition, "True"));
            return Ok(Self::Condition(name.to_owned(), status.to_owned()));
        }
        if text.eq_ignore_ascii_case("deleted") || text.eq_ignore_ascii_case("delete") {
            return Ok(Self::Deleted);
        }
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.as_str().eq_ignore_ascii_case(text));
        let words = || Verdict::ALL.map(Verdict::as_str).join(", ");
        verdict
            .map(Self::Verdict)
            .ok_or_else(|| format!("write deleted, condition=NAME, or one of {}", words()))
    }

    /// Whether the object as it stands ends the waiting.
    pub(super) fn judge(&self, object: Option<&Value>) -> Option<Ended> {
        let Some(object) = object else {
            return Some(if *self == Self::Deleted { Ended::Reached } else { Ended::Gone });
        };
        // A status that speaks of an older spec says nothing about what was asked for last.
        let verdict = current_verdict(object)?;
        let reached = match self {
            // Nor does a status from before the removal began; only going away ends this.
            Self::Deleted => return None,
            Self::Verdict(wanted) => verdict == *wanted,
            Self::Condition(name, status) => {
                let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                conditions.any(|condition| condition["type"] == **name && condition["status"] == **status)
            }
        };
        match verdict {
            _ if reached => Some(Ended::Reached),
            Verdict::Failed | Verdict::NeedsYou => Some(Ended::Unwell(verdict)),
            _ => None,
        }
    }
}

/// The verdict, if it speaks of the newest spec.
pub(super) fn current_verdict(object: &Value) -> Option<Verdict> {
    let (seen, newest) =
        (object["status"]["observedGeneration"].as_i64(), object["metadata"]["generation"].as_i64());
    if seen < newest {
        return None;
    }
    serde_json::from_value(object["status"]["summary"].clone()).ok()
}

/// Watches an object until the goal ends it or time runs out. Every state on the way is shown to `on_change`.
///
/// # Errors
/// The server refuses, or was not there at the start.
pub(super) async fn until(
    client: &Client,
    target: &Target,
    goal: &Goal,
    deadline: Instant,
    mut on_change: impl FnMut(Option<&Value>),
) -> Result<Ended, Failure> {
    let mut reached_once = false;
    loop {
        let looked =
            tokio::time::timeout_at(deadline, look(client, target, goal, &mut reached_once, &mut on_change))
                .await;
        match looked {
            Err(_) => return Ok(Ended::TimedOut),
            Ok(Ok(Some(ended))) => return Ok(ended),
            // The watch ended, as watches do, or the server went away for a while: look again from the start.
            Ok(Ok(None)) => {}
            Ok(Err(trouble)) if trouble.is_unreachable() && reached_once => {}
            Ok(Err(trouble)) => return Err(trouble.into()),
        }
        if tokio::time::timeout_at(deadline, tokio::time::sleep(RECONNECT)).await.is_err() {
            return Ok(Ended::TimedOut);
        }
    }
}

async fn look(
    client: &Client,
    target: &Target,
    goal: &Goal,
    reached_once: &mut bool,
    on_change: &mut impl FnMut(Option<&Value>),
) -> Result<Option<Ended>, Trouble> {
    let listing = client.get(&target.alone()).await?;
    let is_first = !std::mem::replace(reached_once, true);
    let now = listing["items"].get(0);
    on_change(now);
    let mut ended = goal.judge(now);
    // A verdict from before the waiting began may be about to change: its cause was perhaps just mended.
    let mut patience = match ended {
        Some(Ended::Unwell(_)) if is_first => Some(Instant::now() + PATIENCE),
        Some(ended) => return Ok(Some(ended)),
        None => None,
    };
    let from = listing["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut events =
        client.lines(&format!("{}&watch=true&resourceVersion={from}", target.alone()), JSON).await?;
    loop {
        let event = match patience {
            None => events.next_event().await?,
            Some(end) => match tokio::time::timeout_at(end, events.next_event()).await {
                Ok(event) => event?,
                Err(_) => return Ok(ended),
            },
        };
        let Some(event) = event else { return Ok(None) };
        let object = match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => Some(&event["object"]),
            Some("DELETED") => None,
            Some("BOOKMARK") => continue,
            _ => return Ok(None),
        };
        on_change(object);
        ended = goal.judge(object);
        match ended {
            Some(Ended::Unwell(_)) if patience.is_some() => {}
            Some(ended) => return Ok(Some(ended)),
            None => patience = None,
        }
    }
}

/// Waits for several objects at once, each on its own line of a board; the worst end is what counts.
///
/// # Errors
/// See [`until`].
pub(super) async fn for_all(
    client: &Client,
    out: &Output,
    targets: &[Target],
    goal: &Goal,
    timeout: Duration,
) -> Outcome {
    let deadline = Instant::now() + timeout;
    let board = Board::new(out, targets);
    let waits = targets.iter().enumerate().map(|(line, target)| {
        let board = &board;
        async move { until(client, target, goal, deadline, |object| board.show(line, object)).await }
    });
    let waits = futures::future::join_all(waits);
    let ends = if board.is_live() {
        tokio::select! {
            ends = waits => ends,
            never = follow_parts(client, targets, &board) => match never {},
        }
    } else {
        waits.await
    };
    board.wipe();
    let mut exit = Exit::Done;
    for (line, ended) in ends.into_iter().enumerate() {
        let ended = ended?;
        board.close(line, goal, &ended);
        exit = worse(exit, exit_of(&ended));
    }
    Ok(exit)
}

/// Shows the parts of what is waited for as they stand, for as long as it lasts. What cannot be read now is shown as it
/// stood before; whether the server is there is for the waiting itself to say.
async fn follow_parts(client: &Client, targets: &[Target], board: &Board<'_>) -> std::convert::Infallible {
    loop {
        for (line, target) in targets.iter().enumerate() {
            if let Ok(Some(object)) = client.find(target).await
                && let Ok(family) = gather(client, object).await
            {
                board.show_parts(line, family.part_lines(board.out()));
            }
        }
        tokio::time::sleep(LOOK_AT_PARTS).await;
    }
}

fn exit_of(ended: &Ended) -> Exit {
    match ended {
        Ended::Reached => Exit::Done,
        Ended::Gone => Exit::NotFound,
        Ended::Unwell(_) => Exit::Unwell,
        Ended::TimedOut => Exit::TimedOut,
    }
}

fn worse(a: Exit, b: Exit) -> Exit {
    let weight = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::TimedOut => 1,
        Exit::NotFound => 2,
        _ => 3,
    };
    if weight(b) > weight(a) { b } else { a }
}

/// Carries out `hearth wait`.
///
/// # Errors
/// No such object, or no server.
pub(super) async fn run(args: Wait, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    if args.goal != Goal::Deleted {
        if !target.is_made_true() {
            let message = format!("{target} is only kept, so it never becomes more than it is");
            return Err(Failure::usage(message).next("only --for=deleted can be waited for"));
        }
        client.one(&target).await?;
    }
    for_all(client, out, &[target], &args.goal, client.waits(USUAL)).await
}

#[cfg(test)]
mod tests {
    use hearth_meta::Verdict;
    use serde_json::{Value, json};

    use super::{Ended, Goal};

    fn object(generation: i64, observed: i64, summary: &str) -> Value {
        json!({
            "metadata": { "generation": generation },
            "status": { "observedGeneration": observed, "summary": summary, "conditions": [{ "type": "Healthy", "status": "True" }] },
        })
    }

    #[test]
    fn a_status_of_an_older_spec_ends_nothing() {
        let ready = Goal::parse("ready").unwrap();
        assert_eq!(ready.judge(Some(&object(2, 1, "Ready"))), None);
        assert_eq!(ready.judge(Some(&object(2, 1, "Failed"))), None);
        assert_eq!(ready.judge(Some(&json!({ "metadata": { "generation": 1 } }))), None);
        assert_eq!(ready.judge(Some(&object(2, 2, "Ready"))), Some(Ended::Reached));
    }

    #[test]
    fn failed_and_needs_you_end_the_waiting_unless_asked_for() {
        let goal = |text| Goal::parse(text).unwrap();
        assert_eq!(goal("ready").judge(Some(&object(1, 1, "Failed"))), Some(Ended::Unwell(Verdict::Failed)));
        assert_eq!(goal("needsyou").judge(Some(&object(1, 1, "NeedsYou"))), Some(Ended::Reached));
        assert_eq!(goal("condition=Healthy").judge(Some(&object(1, 1, "Degraded"))), Some(Ended::Reached));
        assert_eq!(goal("condition=Healthy=False").judge(Some(&object(1, 1, "Degraded"))), None);
        assert_eq!(goal("ready").judge(Some(&object(1, 1, "Waiting"))), None);
    }

    #[test]
    fn deletion_ends_the_waiting_well_only_where_it_was_wanted() {
        assert_eq!(Goal::Deleted.judge(None), Some(Ended::Reached));
        assert_eq!(Goal::parse("ready").unwrap().judge(None), Some(Ended::Gone));
    }

    #[test]
    fn what_cannot_be_waited_for_is_told_with_what_can() {
        assert!(Goal::parse("happy").unwrap_err().contains("NeedsYou"));
    }
}
