//! Docker and the proxy: whether they answer, how soon, and whether they are as Hearth sets them.

use std::time::Duration;

use hearth_capabilities::containers::EngineFacts;
use hearth_capabilities::proxy::{ProxyFacts, SeenRoute};
use hearth_capabilities::{Containers, Fault, Proxy};
use hearth_engine::Clock;

use super::Check;

/// How long a part may take to answer before it is said not to. People wait for this.
const LIMIT: Duration = Duration::from_secs(8);
/// A Docker that takes longer than this is in trouble: it answers in milliseconds.
const SLOW: Duration = Duration::from_secs(2);

/// What to do about a Docker that does not answer.
const START_DOCKER: &str = "start it (`systemctl start docker`) and read `journalctl -u docker`; its address is \
                            what `hearth serve --docker` was told";
/// What to do about a proxy that does not answer.
const LOOK_AT_PROXY: &str = "see why with `hearth why container/caddy -n system`";

/// Asks Docker who it is; also which folder it keeps everything in.
pub(super) async fn docker(containers: &dyn Containers, clock: &dyn Clock) -> (Check, Option<EngineFacts>) {
    let begun = clock.elapsed();
    let answer = within(containers.engine()).await;
    let took = clock.elapsed().saturating_sub(begun);
    match answer {
        Err(fault) => {
            (Check::failure("docker", format!("Docker does not answer: {fault}"), START_DOCKER), None)
        }
        Ok(facts) => {
            let said = format!("Docker {} answered within {} ms", facts.version, took.as_millis() + 1);
            let check = if took > SLOW {
                Check::warning(
                    "docker",
                    said,
                    "it is slow: see what keeps the machine busy with `top` and `iostat`",
                )
            } else {
                Check::ok("docker", said)
            };
            (check, Some(facts))
        }
    }
}

/// Reads the proxy.
pub(super) async fn proxy(proxy: &dyn Proxy, clock: &dyn Clock) -> Check {
    let begun = clock.elapsed();
    let answer = within(proxy.read()).await;
    let took = clock.elapsed().saturating_sub(begun);
    match answer {
        Err(fault) => Check::failure("proxy", format!("Caddy does not answer: {fault}"), LOOK_AT_PROXY),
        Ok(facts) => seen_proxy(&facts, took),
    }
}

fn seen_proxy(facts: &ProxyFacts, took: Duration) -> Check {
    if let Some(problem) = &facts.base_problem {
        let next = "it is set anew within a minute; where it is not, see `hearth events -n system`";
        return Check::failure("proxy", format!("Caddy's configuration is not ours: {problem}"), next);
    }
    let others: Vec<&str> = facts
        .routes
        .iter()
        .filter_map(|route| match route {
            SeenRoute::Other { description, .. } => Some(description.as_str()),
            _ => None,
        })
        .collect();
    if !others.is_empty() {
        let message = format!("Caddy has routes that are not ours: {}", others.join("; "));
        return Check::warning(
            "proxy",
            message,
            "they are taken away within a minute; find who else sets them",
        );
    }
    let routes = facts.routes.iter().filter(|route| matches!(route, SeenRoute::Ours(_))).count();
    Check::ok(
        "proxy",
        format!("Caddy answered within {} ms and has {routes} routes, as set", took.as_millis() + 1),
    )
}

async fn within<T>(call: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = || Fault::Blind(format!("no answer within {} seconds", LIMIT.as_secs()));
    tokio::time::timeout(LIMIT, call).await.unwrap_or_else(|_| Err(late()))
}
