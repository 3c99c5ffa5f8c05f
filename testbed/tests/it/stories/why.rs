//! Every reason of the catalogue, brought about by something that really goes wrong on the pretend machine: one
//! `hearth why` of what a person would ask about leads to the root, and says what to do there.

use std::time::Duration;

use hearth_capabilities::Fault;
use hearth_capabilities::volumes::Leaf;
use hearth_engine::driver::STALL_LIMIT;
use hearth_meta::Reason;
use hearth_pretend::{Backend, Behaviour, Machine, Op};
use serde_json::{Value, json};

use crate::home::{Home, app, on_pretend, page, trio};

/// What a person asks about, and the object that has the reason, as `kind/name` each.
type Asked = (&'static str, &'static str);

/// Reasons that nothing can bring about yet, and why.
const NOT_YET: [(Reason, &str); 1] = [(
    Reason::Interrupted,
    "no step of any kind is dangerous, so none waits for a person after an interruption",
)];

macro_rules! brought_about {
    ($($test:ident: $reason:ident by $story:ident;)*) => {
        /// Reasons that a story below brings about.
        const BROUGHT_ABOUT: &[Reason] = &[$(Reason::$reason,)*];

        $(#[test]
        fn $test() {
            on_pretend(async |home: &Home| {
                let asked = $story(home).await;
                leads_to_the_root(home, asked, Reason::$reason).await;
            });
        })*
    };
}

brought_about! {
    why_says_that_it_is_as_wanted: InSync by shelf_is_there;
    why_says_that_every_service_is_healthy: AllServicesHealthy by page_is_served;
    why_says_that_it_is_stopped_because_that_is_wanted: StoppedAsWanted by page_is_stopped;
    why_says_that_a_job_is_done: Completed by migration_is_done;
    why_finds_what_is_being_done: Applying by stop_takes_long;
    why_finds_the_image_that_is_pulled: Pulling by pull_takes_long;
    why_finds_what_is_not_healthy_yet: Starting by never_healthy;
    why_finds_what_is_waited_for: DependencyNotReady by store_is_never_healthy;
    why_finds_the_installs_before_it: WaitingForInstallSlot by fourth_install;
    why_finds_what_is_being_removed: Removing by removal_takes_long;
    why_finds_the_step_that_failed: StepFailed by cannot_be_made;
    why_finds_the_step_without_effect: EffectMissing by nothing_comes_of_it;
    why_finds_what_does_not_get_on: Stalled by pull_stalls;
    why_finds_what_cannot_be_seen: CannotSee by engine_is_away;
    why_finds_the_image_that_cannot_be_pulled: PullFailed by registry_is_away;
    why_finds_the_service_that_fell_ill: Unhealthy by falls_ill;
    why_finds_the_service_that_never_became_healthy: HealthDeadlineExceeded by deadline_passes;
    why_finds_the_job_that_failed: JobFailed by migration_fails;
    why_finds_what_was_just_restarted: Restarting by dies_once;
    why_finds_what_dies_again_and_again: CrashLooping by dies_at_once;
    why_finds_what_was_changed_from_outside: Drifted by changed_by_hand;
    why_finds_what_two_fight_over: Contested by changed_again_and_again;
    why_finds_the_pause: Paused by shelf_is_paused;
    why_finds_that_the_store_only_looks: ObserveOnly by store_is_older;
    why_finds_what_is_in_the_way: NotOurs by folder_is_in_the_way;
    why_finds_the_data_that_is_gone: MarkerMissing by data_is_gone;
    why_finds_the_link_in_the_place_of_data: UnsafePath by data_is_a_link;
    why_finds_who_has_the_name: Taken by name_is_taken;
    why_finds_the_secret_that_is_missing: SecretMissing by secret_is_missing;
    why_finds_the_field_that_is_refused: Refused by package_is_refused;
    why_finds_the_image_that_may_not_be_pulled: ImageMissing by image_may_not_be_pulled;
}

#[test]
fn every_reason_of_the_catalogue_is_brought_about_or_said_to_be_out_of_reach() {
    for reason in Reason::ALL {
        let told = BROUGHT_ABOUT.iter().filter(|told| *told == reason).count();
        let not_yet = NOT_YET.iter().filter(|(told, _)| told == reason).count();
        assert_eq!(
            told + not_yet,
            1,
            "{reason} needs a story that brings it about, or a line of why none can"
        );
    }
}

/// One command, from what a person asks about to the root, with what is seen there and what to do.
async fn leads_to_the_root(home: &Home, (asked, root): Asked, reason: Reason) {
    let (kind, name) = root.split_once('/').unwrap();
    let kind = home.store().kinds().find(|known| known.singular == kind).unwrap().kind;
    // An image is of the whole machine.
    let name = if kind == "Image" { format!("/{name}") } else { name.to_owned() };
    let name = name.as_str();
    home.until(&format!("{root} has the reason {reason}"), async || {
        (home.find(kind, name)?.status()["reason"] == reason.as_str()).then_some(())
    })
    .await;
    // The status of what was asked about follows a moment later.
    home.until(&format!("why {asked} leads to {root}, {reason}"), async || {
        let said = home.why(asked).await;
        let status = home.find(kind, name)?.status().clone();
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        let names_it = said.contains(root) && said.contains(&message);
        let is_marked =
            asked == root || said.lines().any(|line| line.contains(root) && line.contains("root cause"));
        let fix = match reason {
            Reason::Paused => "hearth resume",
            // What waits is never the root itself.
            Reason::DependencyNotReady => "root cause",
            other => other.fix(),
        };
        (names_it && is_marked && said.contains(fix)).then_some(())
    })
    .await;
}

fn machine(home: &Home) -> &Machine {
    home.world.pretend().expect("it is told on the pretend machine")
}

fn shelf() -> Value {
    json!({
        "apiVersion": "hearth.dev/v1", "kind": "Volume", "metadata": { "name": "shelf", "namespace": "household" },
        "spec": { "instance": "shelf", "path": "films", "mode": "0750" },
    })
}

fn shelf_leaf() -> Leaf {
    Leaf { instance: "shelf".into(), path: "films".into() }
}

async fn shelf_is_there(home: &Home) -> Asked {
    home.apply(&shelf()).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    ("volume/shelf", "volume/shelf")
}

async fn page_is_served(home: &Home) -> Asked {
    home.install(&page(home, "page").await).await;
    ("app/page", "app/page")
}

async fn page_is_stopped(home: &Home) -> Asked {
    page_is_served(home).await;
    home.ask(&["stop", "app/page"]).await;
    ("app/page", "app/page")
}

async fn migration_is_done(home: &Home) -> Asked {
    home.install(&app("trio", &trio(home).await)).await;
    ("container/trio-migrate", "container/trio-migrate")
}

async fn changed_page(home: &Home) -> Value {
    let mut changed = page(home, "page").await;
    let compose =
        changed["spec"]["compose"].as_str().unwrap().replace("\"NAME\":\"page\"", "\"NAME\":\"other\"");
    changed["spec"]["compose"] = compose.into();
    changed
}

async fn stop_takes_long(home: &Home) -> Asked {
    page_is_served(home).await;
    machine(home).hang(Op::StopContainer);
    home.apply(&changed_page(home).await).await;
    ("app/page", "container/page-web")
}

async fn pull_takes_long(home: &Home) -> Asked {
    machine(home).hang(Op::PullImage);
    home.apply(&page(home, "page").await).await;
    let image = image_of(home).await;
    ("app/page", image)
}

/// The one image of the app, by the name it has as an object.
async fn image_of(home: &Home) -> &'static str {
    let name = home
        .until("the image is declared", async || {
            let images = home.store().list(&hearth_engine::Query::of("Image")).items;
            images.iter().find(|image| image.name().contains("page")).map(|image| image.name().to_owned())
        })
        .await;
    // A name for the rest of the test, which is a process of its own.
    Box::leak(format!("image/{name}").into_boxed_str())
}

async fn never_healthy(home: &Home) -> Asked {
    machine(home)
        .behave(&home.engine_name("page-web"), Behaviour::HealthyAfter { after: Duration::from_secs(3600) });
    home.apply(&page(home, "page").await).await;
    ("app/page", "container/page-web")
}

async fn store_is_never_healthy(home: &Home) -> Asked {
    machine(home)
        .behave(&home.engine_name("trio-db"), Behaviour::HealthyAfter { after: Duration::from_secs(3600) });
    home.apply(&app("trio", &trio(home).await)).await;
    // The page waits for its store: that is its reason, and its store is the root.
    home.until("the page waits", async || {
        (home.find("Container", "trio-web")?.status()["reason"] == "DependencyNotReady").then_some(())
    })
    .await;
    home.until("its store is the root", async || {
        let said = home.why("app/trio").await;
        said.lines()
            .any(|line| line.contains("container/trio-db") && line.contains("root cause"))
            .then_some(())
    })
    .await;
    ("container/trio-web", "container/trio-web")
}

async fn fourth_install(home: &Home) -> Asked {
    for name in ["one", "two", "three"] {
        let sick = Behaviour::HealthyAfter { after: Duration::from_secs(3600) };
        machine(home).behave(&home.engine_name(&format!("{name}-web")), sick);
        home.apply(&page(home, name).await).await;
        home.until_verdict("Container", &format!("{name}-web"), "Progressing").await;
    }
    home.apply(&page(home, "page").await).await;
    ("app/page", "app/page")
}

async fn removal_takes_long(home: &Home) -> Asked {
    page_is_served(home).await;
    machine(home).hang(Op::StopContainer);
    home.ask(&["delete", "app/page", "--wait=false"]).await;
    ("app/page", "app/page")
}

async fn cannot_be_made(home: &Home) -> Asked {
    for _ in 0..60 {
        machine(home).fail_next(Op::CreateContainer, Fault::Failed("no space left on device".into()));
    }
    home.apply(&page(home, "page").await).await;
    ("app/page", "container/page-web")
}

async fn nothing_comes_of_it(home: &Home) -> Asked {
    page_is_served(home).await;
    machine(home).answer_stale(true);
    home.apply(&changed_page(home).await).await;
    ("app/page", "container/page-web")
}

async fn pull_stalls(home: &Home) -> Asked {
    let (_, image) = pull_takes_long(home).await;
    let name = image.trim_start_matches("image");
    // Each try ends so, and the pause before the next one grows, until it is long enough to be looked at.
    for tried in 1..=STALLS {
        until_reason(home, name, Reason::Pulling).await;
        home.pass_on(STALL_LIMIT);
        until_reason(home, name, Reason::Stalled).await;
        if tried < STALLS {
            home.pass_on(Duration::from_secs(300));
        }
    }
    ("app/page", image)
}

/// After so many tries the next one is over half a minute away.
const STALLS: u32 = 7;

async fn until_reason(home: &Home, image: &str, reason: Reason) {
    home.until(&format!("the image has the reason {reason}"), async || {
        (home.find("Image", image)?.status()["reason"] == reason.as_str()).then_some(())
    })
    .await;
}

async fn engine_is_away(home: &Home) -> Asked {
    page_is_served(home).await;
    machine(home).unreachable_backend(Backend::Engine, true);
    // Everything of the engine is out of sight; each of them says so.
    ("container/page-web", "container/page-web")
}

async fn registry_is_away(home: &Home) -> Asked {
    machine(home).registry_down(true);
    home.apply(&page(home, "page").await).await;
    let image = image_of(home).await;
    ("app/page", image)
}

async fn falls_ill(home: &Home) -> Asked {
    page_is_served(home).await;
    machine(home).behave(&home.engine_name("page-web"), Behaviour::Unhealthy);
    for _ in 0..40 {
        home.pass_on(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ("app/page", "container/page-web")
}

async fn deadline_passes(home: &Home) -> Asked {
    never_healthy(home).await;
    home.until_verdict("Container", "page-web", "Progressing").await;
    for _ in 0..20 {
        home.pass_on(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ("app/page", "container/page-web")
}

async fn migration_fails(home: &Home) -> Asked {
    let mut services = trio(home).await;
    services["migrate"]["command"] = json!(["sh", "-c", "echo no such table; exit 2"]);
    home.apply(&app("trio", &services)).await;
    ("app/trio", "container/trio-migrate")
}

async fn dies_once(home: &Home) -> Asked {
    // Without a health check, so that only time shows that it stays.
    home.install(&app("page", &json!({ "web": { "image": "redis:7", "expose": ["6379"] } }))).await;
    machine(home).exit(&home.engine_name("page-web"), 1);
    ("app/page", "container/page-web")
}

async fn dies_at_once(home: &Home) -> Asked {
    let command = json!(["sh", "-c", "echo cannot open the door; exit 3"]);
    home.apply(&app(
        "page",
        &json!({ "web": { "image": "redis:7", "expose": ["6379"], "command": command } }),
    ))
    .await;
    ("app/page", "container/page-web")
}

async fn changed_by_hand(home: &Home) -> Asked {
    let mut shelf = shelf();
    shelf["spec"]["driftPolicy"] = "Report".into();
    home.apply(&shelf).await;
    home.until_verdict("Volume", "shelf", "Ready").await;
    home.world.chmod(&shelf_leaf(), 0o777).await;
    home.look_again().await;
    ("volume/shelf", "volume/shelf")
}

async fn changed_again_and_again(home: &Home) -> Asked {
    shelf_is_there(home).await;
    for _ in 0..8 {
        home.world.chmod(&shelf_leaf(), 0o777).await;
        home.look_again().await;
        home.settle().await;
        if home.get("Volume", "shelf")["status"]["reason"] == "Contested" {
            break;
        }
        home.pass_on(Duration::from_secs(20));
    }
    ("volume/shelf", "volume/shelf")
}

async fn shelf_is_paused(home: &Home) -> Asked {
    shelf_is_there(home).await;
    home.ask(&["pause", "volume/shelf", "--for", "1h"]).await;
    ("volume/shelf", "volume/shelf")
}

async fn store_is_older(home: &Home) -> Asked {
    home.store().distrust("This store is an older copy", 0).await.unwrap();
    home.apply(&shelf()).await;
    ("volume/shelf", "volume/shelf")
}

async fn folder_is_in_the_way(home: &Home) -> Asked {
    machine(home).lose_leaf(&shelf_leaf());
    home.apply(&shelf()).await;
    ("volume/shelf", "volume/shelf")
}

/// An app with data.
async fn with_data(home: &Home) {
    let image = home.world.image("db:1").await;
    let web = json!({ "image": image, "expose": ["8080"], "volumes": ["./rows:/data"] });
    home.install(&app("page", &json!({ "web": web }))).await;
}

async fn data_is_gone(home: &Home) -> Asked {
    with_data(home).await;
    home.world.remove_leaf(&home.leaf("page", "rows")).await;
    home.look_again().await;
    ("app/page", "volume/page-rows")
}

async fn data_is_a_link(home: &Home) -> Asked {
    with_data(home).await;
    home.world.link_leaf(&home.leaf("page", "rows")).await;
    home.look_again().await;
    ("app/page", "volume/page-rows")
}

async fn name_is_taken(home: &Home) -> Asked {
    home.apply(&json!({
        "apiVersion": "hearth.dev/v1", "kind": "Network", "metadata": { "name": "page", "namespace": "household" },
        "spec": {},
    }))
    .await;
    home.apply(&page(home, "page").await).await;
    ("app/page", "app/page")
}

async fn secret_is_missing(home: &Home) -> Asked {
    let mut page = page(home, "page").await;
    let compose =
        page["spec"]["compose"].as_str().unwrap().replace("\"NAME\":\"page\"", "\"NAME\":\"${DOOR}\"");
    page["spec"]["compose"] = compose.into();
    page["spec"]["values"] =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    home.apply(&page).await;
    ("container/page-web", "container/page-web")
}

async fn package_is_refused(home: &Home) -> Asked {
    let compose = "services:\n  web:\n    image: x\n    privileged: true\n";
    machine(home)
        .put_package("/packages/page", [("compose.yaml".to_owned(), compose.as_bytes().to_vec())].into());
    home.apply(&json!({
        "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": "page", "namespace": "household" },
        "spec": { "slug": "page", "package": { "path": "/packages/page" } },
    }))
    .await;
    ("app/page", "app/page")
}

async fn image_may_not_be_pulled(home: &Home) -> Asked {
    home.apply(&json!({
        "apiVersion": "hearth.dev/v1", "kind": "Image", "metadata": { "name": "mine" },
        "spec": { "reference": "mine/local:1", "pull": "Never" },
    }))
    .await;
    ("image/mine", "image/mine")
}
