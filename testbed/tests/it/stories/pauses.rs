//! A paused home: nothing is changed or repaired, everything is told, and it ends by itself.

use hearth_capabilities::containers::ContainerFacts;

use crate::home::{Home, on_pretend, on_real, page};

#[test]
fn pretend_a_paused_home_repairs_nothing_says_so_everywhere_and_goes_on_when_its_time_is_over() {
    on_pretend(paused);
}

#[test]
fn real_a_paused_home_repairs_nothing_says_so_everywhere_and_goes_on_when_its_time_is_over() {
    on_real(paused);
}

async fn paused(home: &Home) {
    home.install(&page(home, "page").await).await;
    home.ask(&["pause", "--all", "--for", "2h"]).await;
    home.world.stop(&home.engine_name("page-web")).await;
    home.apply(&page(home, "late").await).await;
    home.until_verdict("Container", "page-web", "Paused").await;
    home.until_verdict("App", "late", "Paused").await;
    for words in [["get", "apps"].as_slice(), &["describe", "app/page"], &["why", "app/page"]] {
        let said = home.hearth(words).await;
        assert!(said.err.contains("everything is paused until "), "{words:?}: {said:?}");
        assert!(said.err.contains("end it with hearth resume --all"), "{words:?}: {said:?}");
    }
    assert!(home.ask(&["recover", "status"]).await.contains("Paused: everything is paused until "));
    let history = home.ask(&["history", "namespace/system"]).await;
    assert!(history.contains("by admin (api)") && history.contains("hearth.dev/paused-until"), "{history}");

    let still_paused = async || {
        let runs = |facts: ContainerFacts| facts.state.running;
        assert!(!home.container("page-web").await.is_some_and(runs));
        assert_eq!(home.container("late-web").await, None);
        let status = home.get("Container", "page-web")["status"].clone();
        assert_eq!(status["differences"][0]["field"], "spec.power", "what is seen is told: {status}");
    };
    home.pass(40).await;
    still_paused().await;
    home.restart().await;
    home.pass(40).await;
    still_paused().await;

    home.pass(42).await;
    home.until_ready("page").await;
    home.until_ready("late").await;
    home.until_served("page").await;
    home.until_served("late").await;
    let said = home.hearth(&["get", "apps"]).await;
    assert!(!said.err.contains("paused"), "{said:?}");
}
