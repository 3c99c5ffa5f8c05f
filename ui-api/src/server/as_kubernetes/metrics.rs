//! What Pods and the machine use, as `metrics.k8s.io` tells it.
//!
//! How busy something is follows from two readings. The last ones are kept, so that whoever asks again and again gets
//! what was used in between; whoever asks for the first time waits for the second reading.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use futures::StreamExt;
use hearth_capabilities::containers::Usage;
use hearth_engine::{Object, Query};
use hearth_meta::{KindInfo, Scope, Timestamp};
use hearth_wire::{Actor, Failure, Standing, standing};
use serde_json::{Value, json};

use super::super::places::{Door, Inside};
use super::{age, column, nodes, pods};

/// The group of it.
const GROUP: &str = "metrics.k8s.io";
/// How many containers are asked about at once.
const AT_ONCE: usize = 16;
/// Two readings nearer than this tell nothing.
const APART: Duration = Duration::from_secs(1);
/// A reading older than this is of another time.
const STALE: Duration = Duration::from_secs(120);
/// By this name the machine's own readings are kept; no container has it.
const MACHINE: &str = "";
/// The system counts processor time in hundredths of a second, on every architecture there is.
const TICK_MS: u64 = 10;

/// What Pods use.
pub(in super::super) fn kind_of_pods() -> KindInfo {
    kind("PodMetrics", "pods", Scope::Namespaced, ".containers[0].usage")
}

/// What the machine uses.
pub(in super::super) fn kind_of_nodes() -> KindInfo {
    kind("NodeMetrics", "nodes", Scope::Cluster, ".usage")
}

fn kind(kind: &'static str, plural: &'static str, scope: Scope, usage: &str) -> KindInfo {
    KindInfo {
        version: "v1beta1",
        columns: vec![
            column("CPU", "string", &format!("{usage}.cpu"), 0, "Processors it keeps busy"),
            column("Memory", "string", &format!("{usage}.memory"), 0, "Memory it uses"),
            age(),
        ],
        ..KindInfo::plain(GROUP, kind, (plural, ""), scope)
    }
}

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    /// When, by the clock that never jumps.
    at: Duration,
    /// Processor time so far.
    processor: Duration,
    memory_bytes: u64,
}

/// What was used between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Used {
    nanocores: u128,
    memory_bytes: u64,
    window: Duration,
}

impl Reading {
    /// Nothing where the time between tells nothing, or where it was counted anew in between.
    fn since(&self, before: &Self) -> Option<Used> {
        let window = self.at.checked_sub(before.at).filter(|window| (APART..STALE).contains(window))?;
        let busy = self.processor.checked_sub(before.processor)?;
        let nanocores = busy.as_nanos().saturating_mul(1_000_000_000) / window.as_nanos();
        Some(Used { nanocores, memory_bytes: self.memory_bytes, window })
    }
}

/// The last readings by what was read.
#[derive(Clone, Default)]
pub(in super::super) struct Meter(Arc<Mutex<HashMap<String, Reading>>>);

impl Meter {
    /// Takes a reading, and says what was used since the last one.
    fn take(&self, of: &str, reading: Reading) -> Option<Used> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What was not asked about for long is gone, or begins anew.
        last.retain(|_, known| reading.at.saturating_sub(known.at) < STALE);
        let before = last.get(of).copied();
        let used = before.and_then(|before| reading.since(&before));
        // What was started anew is counted from here.
        if used.is_some() || before.is_none_or(|before| reading.processor < before.processor) {
            last.insert(of.to_owned(), reading);
        }
        used
    }
}

/// `/apis/metrics.k8s.io/v1beta1/...`.
pub(in super::super) async fn answer(
    State(door): State<Door>,
    Extension(actor): Extension<Actor>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = uri.path().trim_start_matches("/apis/metrics.k8s.io/v1beta1/").trim_end_matches('/');
    let is_of_nodes = place.split('/').next() == Some("nodes");
    let kind = if is_of_nodes { kind_of_nodes() } else { kind_of_pods() };
    let asked = nodes::asked(&kind, place, &uri)?;
    let inside = door.open(&actor, &asked)?;
    let objects = if is_of_nodes { machine(&inside).await? } else { containers(&inside, place).await? };
    let lasting = Object::to_value;
    let standing_now = Standing { kind: &kind, cells: |_| Vec::new(), objects, again: None, lasting };
    standing(&inside, standing_now, place, (&uri, &headers), inside.behind().closing.clone())
}

/// What each container uses that runs. One that cannot be read is left out of many, as the protocol has it; where none
/// could be read that is told, since it is not the same as that none runs.
async fn containers(inside: &Inside, place: &str) -> Result<Vec<Object>, Failure> {
    let (namespace, _, name) = nodes::parts(place).ok_or_else(Failure::no_such_place)?;
    let query =
        Query { namespace: Some(namespace.to_owned()).filter(|it| !it.is_empty()), ..Query::of("Container") };
    let objects = inside.store().list(&query).items;
    let running = objects.into_iter().filter_map(|object| {
        let id = object.status()["containerId"].as_str()?.to_owned();
        (name.is_empty() || object.name() == name).then_some((object, id))
    });
    let read = running.map(|(object, id)| async move {
        let used = used(inside, &id).await?;
        Ok(used.map(|used| of_pod(&object, used, inside.store().clock().now())))
    });
    let read: Vec<Result<_, String>> = futures::stream::iter(read).buffered(AT_ONCE).collect().await;
    let (mut found, mut failed) = (Vec::new(), None);
    for one in read {
        match one {
            Ok(one) => found.extend(one),
            Err(why) => failed = Some(why),
        }
    }
    match failed {
        Some(why) if found.is_empty() => Err(unread(&why)),
        _ => Ok(found),
    }
}

async fn machine(inside: &Inside) -> Result<Vec<Object>, Failure> {
    let now = inside.store().clock().now();
    let used = used(inside, MACHINE).await.map_err(|why| unread(&why))?;
    Ok(used.map(|used| of_node(used, now)).into_iter().collect())
}

fn unread(why: &str) -> Failure {
    let message = format!("what is used cannot be read now: {why}; `hearth doctor` says more");
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
}

/// What was used since the last reading; `None` of what does not run.
async fn used(inside: &Inside, of: &str) -> Result<Option<Used>, String> {
    let meter = &inside.behind().meter;
    let clock = inside.store().clock();
    // The first one may have been taken by somebody else within this second.
    for turn in 0..3 {
        if turn > 0 {
            clock.sleep_until(clock.elapsed() + APART).await;
        }
        let Some(reading) = read(inside, of).await? else { return Ok(None) };
        if let Some(used) = meter.take(of, reading) {
            return Ok(Some(used));
        }
    }
    Ok(None)
}

async fn read(inside: &Inside, of: &str) -> Result<Option<Reading>, String> {
    if of == MACHINE {
        return read_machine(inside).map(Some).ok_or_else(|| "/proc is not as it should be".to_owned());
    }
    let containers = inside.behind().containers.as_ref().ok_or("this server has no machine")?;
    let usage = containers.usage(of).await.map_err(|fault| fault.to_string())?;
    let at = inside.store().clock().elapsed();
    let reading = |usage: Usage| Reading { at, processor: usage.processor, memory_bytes: usage.memory_bytes };
    Ok(usage.map(reading))
}

fn read_machine(inside: &Inside) -> Option<Reading> {
    let at = inside.store().clock().elapsed();
    let processor = busy(&std::fs::read_to_string("/proc/stat").ok()?)?;
    let memory_bytes = in_use(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(Reading { at, processor, memory_bytes })
}

/// Processor time of all processors that was neither idle nor waiting, from `/proc/stat`.
fn busy(stat: &str) -> Option<Duration> {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let counts: Vec<u64> = all.split_whitespace().map_while(|count| count.parse().ok()).collect();
    // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen
    let ticks: u64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|at| counts.get(*at)).sum();
    Some(Duration::from_millis(ticks.saturating_mul(TICK_MS)))
}

/// Memory that is not there for others, from `/proc/meminfo`.
fn in_use(meminfo: &str) -> Option<u64> {
    let kib = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(kib("MemTotal:")?.saturating_sub(kib("MemAvailable:")?) * 1024)
}

fn usage(used: Used) -> Value {
    json!({ "cpu": format!("{}n", used.nanocores), "memory": format!("{}Ki", used.memory_bytes / 1024) })
}

fn window(used: Used) -> String {
    format!("{:.3}s", used.window.as_secs_f64())
}

fn of_pod(container: &Object, used: Used, now: Timestamp) -> Object {
    let metadata = &container.metadata;
    object(json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": {
            "name": metadata.name, "namespace": metadata.namespace, "labels": metadata.labels,
            "creationTimestamp": metadata.creation_timestamp,
        },
        "timestamp": now, "window": window(used),
        "containers": [{ "name": pods::container_name(container), "usage": usage(used) }],
    }))
}

fn of_node(used: Used, now: Timestamp) -> Object {
    object(json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics",
        "metadata": { "name": nodes::name() },
        "timestamp": now, "window": window(used), "usage": usage(used),
    }))
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is an object")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Meter, Reading, busy, in_use};

    fn at(seconds: u64, busy_ms: u64) -> Reading {
        Reading {
            at: Duration::from_secs(seconds),
            processor: Duration::from_millis(busy_ms),
            memory_bytes: 7,
        }
    }

    #[test]
    fn how_busy_it_is_follows_from_the_reading_before() {
        let meter = Meter::default();
        assert_eq!(meter.take("a", at(10, 0)), None, "the first tells nothing");
        assert_eq!(meter.take("a", at(10, 5)), None, "nor does one of the same moment");
        let used = meter.take("a", at(20, 5000)).unwrap();
        assert_eq!((used.nanocores, used.window.as_secs()), (500_000_000, 10));
        assert_eq!(meter.take("a", at(30, 100)), None, "it was started anew");
        assert_eq!(
            meter.take("a", at(40, 5100)).unwrap().nanocores,
            500_000_000,
            "and is counted from there"
        );
        assert_eq!(meter.take("b", at(30, 100)), None);
        assert_eq!(meter.take("a", at(400, 999_999)), None, "that was long ago");
    }

    #[test]
    fn the_machine_is_read_as_the_system_writes_it() {
        let stat = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3 4\nintr 9\n";
        assert_eq!(busy(stat), Some(Duration::from_millis(1710)));
        assert_eq!(in_use("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n"), Some(600 * 1024));
        assert_eq!((busy(""), in_use("MemTotal: x")), (None, None));
        let years = busy("cpu  90000000000 0 0 0 0 0 0 0\n").unwrap();
        assert_eq!(years.as_secs(), 900_000_000);
    }
}
