//! Health checks and the times they take.

use std::time::Duration;

use super::{Health, Judge};
use crate::node::{Node, Value};

/// The `healthcheck` of a service.
pub(super) fn health(judge: &mut Judge<'_>, service: &str, node: &Node) -> Health {
    let test: Vec<String> = super::fields::texts(node.get("test"));
    let disabled = node.get("disable").and_then(Node::as_bool) == Some(true);
    if disabled || test.first().is_some_and(|first| first == "NONE") {
        return Health::Disabled;
    }
    let path = format!("services.{service}.healthcheck");
    if test.len() == 1 {
        judge.refuse(node, format!("{path}.test"), "the command of the test is missing");
    }
    let mut time = |key: &str| node.get(key).and_then(|node| duration(judge, node, &format!("{path}.{key}")));
    let (interval, timeout) = (time("interval"), time("timeout"));
    let (start_period, start_interval) = (time("start_period"), time("start_interval"));
    let retries = match node.get("retries").map(|node| &node.value) {
        Some(Value::Int(value)) => u64::try_from(*value).ok(),
        _ => None,
    };
    let test = (!test.is_empty()).then_some(test);
    Health::Check { test, interval, timeout, start_period, start_interval, retries }
}

/// A span of time that is not below zero.
pub(super) fn duration(judge: &mut Judge<'_>, node: &Node, path: &str) -> Option<Duration> {
    let Value::Duration(nanoseconds) = node.value else { return None };
    let span = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    if span.is_none() {
        judge.refuse(node, path, "a span of time cannot be below zero");
    }
    span
}
