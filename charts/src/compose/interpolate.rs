//! Variables of a whole file, and the fields whose text then becomes a number or a boolean.
//!
//! Only texts are touched. Keys are not, and a value that YAML already read as a number keeps its
//! type. A secret never enters the text: its place is held by a mark with the value's name
//! ([`super::secret`]).

use super::template::{self, Lookup};
use super::units;
use crate::fault::Faults;
use crate::node::{Node, Path, Value};
use crate::yaml::limits::MOST_PROJECT_BYTES;

/// What the text at a path turns into once its variables are in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cast {
    Int,
    Float,
    Single,
    Bool,
}

/// The paths that are cast; `*` is any key, `[]` any item.
const CASTS: &[(&str, Cast)] = &[
    ("services.*.cpu_count", Cast::Int),
    ("services.*.cpu_percent", Cast::Float),
    ("services.*.cpu_period", Cast::Int),
    ("services.*.cpu_quota", Cast::Int),
    ("services.*.cpu_rt_period", Cast::Int),
    ("services.*.cpu_rt_runtime", Cast::Int),
    ("services.*.cpus", Cast::Single),
    ("services.*.cpu_shares", Cast::Int),
    ("services.*.init", Cast::Bool),
    ("services.*.deploy.replicas", Cast::Int),
    ("services.*.deploy.update_config.parallelism", Cast::Int),
    ("services.*.deploy.update_config.max_failure_ratio", Cast::Float),
    ("services.*.deploy.rollback_config.parallelism", Cast::Int),
    ("services.*.deploy.rollback_config.max_failure_ratio", Cast::Float),
    ("services.*.deploy.restart_policy.max_attempts", Cast::Int),
    ("services.*.deploy.placement.max_replicas_per_node", Cast::Int),
    ("services.*.healthcheck.retries", Cast::Int),
    ("services.*.healthcheck.disable", Cast::Bool),
    ("services.*.oom_kill_disable", Cast::Bool),
    ("services.*.oom_score_adj", Cast::Int),
    ("services.*.pids_limit", Cast::Int),
    ("services.*.ports.[].target", Cast::Int),
    ("services.*.privileged", Cast::Bool),
    ("services.*.read_only", Cast::Bool),
    ("services.*.scale", Cast::Int),
    ("services.*.stdin_open", Cast::Bool),
    ("services.*.tty", Cast::Bool),
    ("services.*.ulimits.*", Cast::Int),
    ("services.*.ulimits.*.hard", Cast::Int),
    ("services.*.ulimits.*.soft", Cast::Int),
    ("services.*.volumes.[].read_only", Cast::Bool),
    ("services.*.volumes.[].volume.nocopy", Cast::Bool),
    ("networks.*.external", Cast::Bool),
    ("networks.*.internal", Cast::Bool),
    ("networks.*.attachable", Cast::Bool),
    ("networks.*.enable_ipv4", Cast::Bool),
    ("networks.*.enable_ipv6", Cast::Bool),
    ("volumes.*.external", Cast::Bool),
    ("secrets.*.external", Cast::Bool),
    ("configs.*.external", Cast::Bool),
];

/// Puts the variables of a file in place. Every text that cannot be is reported.
pub(crate) fn interpolate(root: &mut Node, lookup: &Lookup<'_>) -> Result<(), Faults> {
    let candidates: Vec<(Vec<&str>, Cast)> =
        CASTS.iter().map(|(path, cast)| (path.split('.').collect(), *cast)).collect();
    let live: Vec<usize> = (0..candidates.len()).collect();
    let mut walk = Walk { lookup, candidates, path: Path::default(), faults: Faults::default(), produced: 0 };
    walk.visit(root, 0, &live);
    walk.faults.stop()
}

struct Walk<'a> {
    lookup: &'a Lookup<'a>,
    candidates: Vec<(Vec<&'static str>, Cast)>,
    path: Path,
    faults: Faults,
    /// Bytes of text so far.
    produced: usize,
}

impl Walk<'_> {
    /// `live` are the cast paths that still fit what was walked so far.
    fn visit(&mut self, node: &mut Node, depth: usize, live: &[usize]) {
        match &mut node.value {
            Value::Text(text) => {
                let cast =
                    live.iter().map(|&index| &self.candidates[index]).find(|(path, _)| path.len() == depth);
                let cast = cast.map(|(_, cast)| *cast);
                let new = template::substitute(text, self.lookup).and_then(|text| apply(text, cast));
                if let Ok(Value::Text(text)) = &new {
                    self.produced += text.len();
                }
                if self.produced > MOST_PROJECT_BYTES {
                    return self.faults.add(
                        node.at,
                        &self.path,
                        "the variables unfold into more text than is read",
                    );
                }
                match new {
                    Ok(value) => node.value = value,
                    Err(message) => self.faults.add(node.at, &self.path, message),
                }
            }
            Value::Map(entries) => {
                for (key, value) in entries {
                    let live = self.narrow(live, depth, |part| part == "*" || part == key);
                    self.path.enter(key);
                    self.visit(value, depth + 1, &live);
                    self.path.leave();
                }
            }
            Value::List(items) => {
                let live = self.narrow(live, depth, |part| part == "*" || part == "[]");
                for (index, item) in items.iter_mut().enumerate() {
                    self.path.enter_item(index);
                    self.visit(item, depth + 1, &live);
                    self.path.leave();
                }
            }
            _ => {}
        }
    }

    fn narrow(&self, live: &[usize], depth: usize, fits: impl Fn(&str) -> bool) -> Vec<usize> {
        let part = |index: usize| self.candidates[index].0.get(depth).is_some_and(|part| fits(part));
        live.iter().copied().filter(|&index| part(index)).collect()
    }
}

fn apply(text: String, cast: Option<Cast>) -> Result<Value, String> {
    let number = |text: &str| units::float(text).ok_or_else(|| format!("`{text}` is not a number"));
    match cast {
        None => Ok(Value::Text(text)),
        Some(Cast::Int) => units::integer(&text).map(Value::Int),
        Some(Cast::Bool) => units::boolean(&text).map(Value::Bool),
        Some(Cast::Float) => number(&text).map(Value::Float),
        Some(Cast::Single) => number(&text).map(|value| Value::Single(text.parse().unwrap_or(value as f32))),
    }
}
