//! What Docker counts of a running container, in words.

use std::time::Duration;

use bollard::models::{ContainerMemoryStats, ContainerStatsResponse};
use hearth_capabilities::containers::Usage;

/// What it uses; `None` where it does not run, which Docker tells by counting nothing.
pub(super) fn usage_from(seen: &ContainerStatsResponse) -> Option<Usage> {
    let nanos = seen.cpu_stats.as_ref()?.cpu_usage.as_ref()?.total_usage?;
    let memory = seen.memory_stats.as_ref()?;
    let used = memory.usage.filter(|used| *used > 0)?;
    Some(Usage {
        processor: Duration::from_nanos(nanos),
        memory_bytes: used.saturating_sub(kept_of_files(memory)),
    })
}

/// What the system keeps of files and gives back when there is need: the newer control groups name it plainly, the
/// older ones with what lies below.
fn kept_of_files(memory: &ContainerMemoryStats) -> u64 {
    let counted = |name: &str| memory.stats.as_ref().and_then(|stats| stats.get(name)).copied();
    counted("total_inactive_file").or_else(|| counted("inactive_file")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bollard::models::ContainerStatsResponse;
    use serde_json::json;

    use super::usage_from;

    fn seen(answer: serde_json::Value) -> ContainerStatsResponse {
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn what_is_only_kept_of_files_is_not_counted() {
        let answer = |kept: &str| {
            json!({
                "cpu_stats": { "cpu_usage": { "total_usage": 1_500_000_000_u64 } },
                "memory_stats": { "usage": 5000, "stats": { kept: 1000 }, "limit": 9000 },
            })
        };
        for kept in ["inactive_file", "total_inactive_file"] {
            let usage = usage_from(&seen(answer(kept))).unwrap();
            assert_eq!((usage.processor, usage.memory_bytes), (Duration::from_millis(1500), 4000), "{kept}");
        }
    }

    #[test]
    fn one_that_does_not_run_counts_nothing() {
        let stopped = json!({ "cpu_stats": { "cpu_usage": { "total_usage": 0 } }, "memory_stats": {} });
        assert_eq!(usage_from(&seen(stopped)), None);
        assert_eq!(usage_from(&seen(json!({}))), None);
    }
}
