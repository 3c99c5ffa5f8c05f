//! What is told of one route of the set, and the pages. The set as a whole is tested in `testbed`.

use std::sync::Arc;

use async_trait::async_trait;
use hearth_capabilities::proxy::{Answer, ProxyFacts, ProxyRoute, SeenRoute};
use hearth_capabilities::{Fault, Proxy};
use hearth_engine::controller::{Blind, Controller, Outcome, StepError, Wanted};
use hearth_kinds::route::Splash;
use hearth_kinds::{Route, RouteSpec};
use hearth_meta::condition::ConditionStatus;
use hearth_meta::{Reason, Timestamp, Verdict};

use super::splash::page;
use super::{RouteController, RouteStep};
use crate::naming::Naming;

/// A proxy that nobody asks: the pure beats need none.
struct NoProxy;

#[async_trait]
impl Proxy for NoProxy {
    async fn read(&self) -> Result<ProxyFacts, Fault> {
        Err(Fault::Blind("not here".into()))
    }
    async fn reset(&self, _: &[ProxyRoute]) -> Result<(), Fault> {
        Err(Fault::Blind("not here".into()))
    }
    async fn write(&self, _: &[ProxyRoute], _: &str) -> Result<(), Fault> {
        Err(Fault::Blind("not here".into()))
    }
}

#[test]
fn a_route_that_is_served_is_ready_though_the_set_fails_and_in_the_dark_nothing_is_known() {
    let controller = RouteController::new(Arc::new(NoProxy), Naming::new("hearth"));
    let mut route =
        Route::new("photos", RouteSpec { hosts: vec!["photos.home".into()], ..RouteSpec::default() });
    route.metadata.namespace = Some("household".into());
    route.metadata.uid = Some("uid-1".into());
    let mut wanted = Wanted { object: Arc::new(route), gone: false, now: Timestamp::UNIX_EPOCH };
    let served = vec![SeenRoute::Ours(controller.towards(&wanted)), SeenRoute::CatchAll];
    let facts = |routes| ProxyFacts { tag: "t".into(), base_problem: None, routes };
    let step = RouteStep::Write { routes: Vec::new(), tag: "t".into(), why: "a route had changed".into() };
    let error = StepError::new(Reason::StepFailed, "the proxy refused it");
    let failed = Outcome::Failed { step, error, attempts: 9, next_try: Timestamp::UNIX_EPOCH };
    let told = |wanted: &Wanted<Route>, seen: Result<&ProxyFacts, &Blind>| {
        let report = controller.status(wanted, seen, &failed);
        (report.conditions[0].status, report.status.common.summary)
    };
    let (here, away, dark) = (facts(served), facts(vec![SeenRoute::CatchAll]), Blind("no answer".into()));
    assert_eq!(told(&wanted, Ok(&here)), (ConditionStatus::True, Some(Verdict::Ready)));
    assert_eq!(told(&wanted, Ok(&away)), (ConditionStatus::False, Some(Verdict::Failed)));
    assert_eq!(told(&wanted, Err(&dark)), (ConditionStatus::Unknown, Some(Verdict::Degraded)));
    let mut hidden = here.clone();
    hidden.routes.rotate_right(1);
    let behind = (ConditionStatus::False, Some(Verdict::Failed));
    assert_eq!(told(&wanted, Ok(&hidden)), behind, "nobody comes to it behind the catch-all");
    wanted.gone = true;
    assert_eq!(told(&wanted, Ok(&here)), (ConditionStatus::False, Some(Verdict::Removing)));
}

#[test]
fn pages_refresh_themselves_need_nothing_from_outside_and_escape_names() {
    for splash in [Splash::Starting, Splash::Stopped, Splash::Failed] {
        let Answer::Page { status, html } = page("<b>Photos</b>", Some(splash)) else {
            panic!("a splash is a page")
        };
        assert_eq!(status, 503);
        assert!(
            html.contains("http-equiv=\"refresh\"")
                && !html.contains("http://")
                && !html.contains("https://")
        );
        assert!(!html.contains("<b>"), "{html}");
    }
}
