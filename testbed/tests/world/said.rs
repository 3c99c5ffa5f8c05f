//! How what goes wrong in a search is said in a case.

use std::time::Duration;

use hearth::world::crash::Asked;
use hearth::world::{About, Verdict};
use hearth_capabilities::Fault;
use hearth_pretend::{Backend, Op};
use serde_json::{Value, json};

use crate::faults::asked;
use crate::schedule::{Act, Entry, Hand};

/// One entry of a schedule, as the faults of a `disturb`.
pub(crate) fn faults(entry: &Entry) -> Vec<Value> {
    match entry {
        Entry::Call(op, nth, times, verdict) => {
            let mut fault = answer(verdict);
            (fault["call"], fault["nth"]) = (name(*op).into(), (*nth).into());
            if *times > 1 {
                fault["times"] = (*times).into();
            }
            vec![fault]
        }
        Entry::Disk(from, times, how) => {
            let answer = if *how == Verdict::Full { "full" } else { "refused" };
            vec![json!({ "write": from, "times": times, "answer": answer })]
        }
        Entry::Event(nth, Verdict::Slow(_)) => vec![json!({ "event": nth, "answer": "twice" })],
        Entry::Event(nth, _) => vec![json!({ "event": nth, "answer": "lost" })],
        Entry::Unseen(from, count) => vec![json!({ "event": from, "times": count, "answer": "lost" })],
        Entry::At(at, Act::Crash) => vec![json!({ "at": at, "restart": {} })],
        Entry::At(at, Act::Wish(wish)) => asked(*wish).iter().map(|asked| asking(*at, asked)).collect(),
        Entry::At(at, act) => vec![json!({ "at": at, "break": broken(act) })],
    }
}

/// That something is asked for at a moment.
pub(crate) fn asking(at: u64, asked: &Asked) -> Value {
    match asked {
        Asked::Apply(object) => json!({ "at": at, "apply": object }),
        Asked::Delete { kind, name } => {
            json!({ "at": at, "delete": format!("{}/{name}", kind.to_lowercase()) })
        }
    }
}

/// As a step, whose answer is waited for.
pub(crate) fn step(asked: &Asked) -> Value {
    match asked {
        Asked::Apply(object) => json!({ "apply": [object] }),
        Asked::Delete { kind, name } => json!({ "delete": format!("{}/{name}", kind.to_lowercase()) }),
    }
}

fn name(op: Op) -> String {
    let name = format!("{op:?}");
    name[..1].to_lowercase() + &name[1..]
}

fn span(time: Duration) -> String {
    format!("{}s", time.as_secs())
}

fn answer(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Fail(Fault::Blind(_)) => json!({ "answer": "blind" }),
        Verdict::Fail(Fault::Refused(_)) => json!({ "answer": "refused" }),
        Verdict::Fail(_) => json!({ "answer": "failed" }),
        Verdict::Lost => json!({ "answer": "lost" }),
        Verdict::Hang(time) => json!({ "answer": "hangs", "for": span(*time) }),
        Verdict::Slow(time) => json!({ "answer": "slow", "for": span(*time) }),
        Verdict::Stale(looks) => json!({ "answer": "stale", "looks": looks }),
        Verdict::Empty => json!({ "answer": "empty" }),
        Verdict::Partial => json!({ "answer": "partial" }),
        other => panic!("no call of a schedule goes on like this: {other:?}"),
    }
}

fn broken(act: &Act) -> Value {
    match act {
        Act::Break => json!({ "part": "events", "is": "broken off" }),
        Act::Late(about, by) => {
            let of = match about {
                About::Container => "containers",
                About::Network => "networks",
                About::Image => "images",
            };
            json!({ "part": "events", "is": "late", "of": of, "by": span(*by) })
        }
        Act::Out(backend, time) => {
            let part = match backend {
                Backend::Engine => "docker",
                Backend::Proxy => "proxy",
                Backend::Disk => "disk",
            };
            json!({ "part": part, "is": "unreachable", "for": span(*time) })
        }
        Act::Wall(minutes) => json!({ "part": "clock", "is": "moved", "by": format!("{minutes}m") }),
        Act::Hand(hand) => by_hand(*hand),
        Act::Crash | Act::Wish(_) => panic!("{act:?} breaks nothing"),
    }
}

fn by_hand(hand: Hand) -> Value {
    match hand {
        Hand::Remove(name) => json!({ "container": name, "is": "removed" }),
        Hand::Stop(name) => json!({ "container": name, "is": "stopped" }),
        Hand::Kill(name) => json!({ "container": name, "is": "killed" }),
        Hand::Edit(name) => json!({ "container": name, "is": "edited", "env": { "BY_HAND": "yes" } }),
        Hand::Chmod => json!({ "volume": "shelf/books", "is": "edited", "mode": "0777" }),
        Hand::Prune => json!({ "part": "docker", "is": "pruned" }),
        Hand::Disconnect(name) => json!({ "container": name, "is": "disconnected", "network": "shop" }),
        Hand::RemoveNetwork => json!({ "network": "shop", "is": "removed" }),
        Hand::ClearProxy => json!({ "part": "proxy", "is": "emptied" }),
        Hand::PruneImages => json!({ "part": "docker", "is": "pruned of images" }),
        Hand::LoseRows => json!({ "volume": "shop/rows", "is": "removed" }),
    }
}
