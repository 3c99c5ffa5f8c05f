//! A server that is killed just before or just after any one of its steps, of every kind: it goes on from there, does
//! nothing twice, and takes nothing for somebody's meddling.
//!
//! Just before a step its intent is open and nothing is done; just after it the step is done and neither verified nor
//! closed, which is the same for the next start as a crash between the two, since to verify changes nothing. What is
//! between the close, the status and the next step is between two writes of the store, and is looked at last.

use hearth_engine::Query;
use hearth_pretend::{Machine, Op};
use serde_json::{Value, json};

use crate::home::{Home, app, on_pretend};

/// What an install does, and how many of each are looked at: the first, the second.
const INSTALL: [(Op, usize); 11] = [
    (Op::SaveFiles, 0),
    (Op::CreateNetwork, 0),
    (Op::PullImage, 1),
    (Op::MakeLeaf, 0),
    (Op::WriteProxy, 0),
    (Op::CreateContainer, 0),
    (Op::CreateContainer, 1),
    (Op::StartContainer, 0),
    (Op::StartContainer, 1),
    (Op::ConnectNetwork, 0),
    (Op::WriteProxy, 1),
];

/// What a removal does.
const REMOVAL: [(Op, usize); 11] = [
    (Op::WriteProxy, 0),
    (Op::StopContainer, 0),
    (Op::RemoveContainer, 0),
    (Op::RemoveContainer, 1),
    (Op::DisconnectNetwork, 0),
    (Op::RemoveNetwork, 0),
    (Op::RemoveLeaf, 0),
    (Op::RemoveLeaf, 1),
    (Op::RemoveImage, 0),
    (Op::RemoveImage, 1),
    (Op::RemoveFiles, 0),
];

#[test]
fn pretend_a_server_killed_just_before_any_step_of_any_kind_takes_it_once() {
    on_pretend(async |home| at_every_step(home, Machine::stop_before).await);
}

#[test]
fn pretend_a_server_killed_just_after_any_step_of_any_kind_does_not_take_it_again() {
    on_pretend(async |home| at_every_step(home, Machine::stop_after).await);
}

async fn at_every_step(home: &Home, stop: fn(&Machine, Op, usize)) {
    for (index, ((install, nth), (removal, nth_removal))) in INSTALL.into_iter().zip(REMOVAL).enumerate() {
        let name = format!("app-{index}");
        // Every app has images of its own, so that they are pulled and removed with it.
        let declared = small(&name);
        killed_at(home, stop, (install, nth), async || home.apply(&declared).await).await;
        home.until_ready(&name).await;
        home.until_served(&name).await;
        stands_as_made_once(home, &name).await;

        killed_at(home, stop, (removal, nth_removal), async || {
            home.ask(&["delete", &format!("app/{name}"), "--yes", "--wait", "false"]).await;
        })
        .await;
        home.until_gone("App", &name).await;
        home.settle().await;
        is_gone(home, &name).await;
    }
}

/// Does something, and kills the server when it comes to that call.
async fn killed_at(
    home: &Home,
    stop: fn(&Machine, Op, usize),
    (op, nth): (Op, usize),
    wish: impl AsyncFnOnce(),
) {
    let machine = home.world.pretend().unwrap();
    let stopped = machine.stopped();
    stop(machine, op, nth);
    wish().await;
    home.until(&format!("it comes to call {nth} of {op:?}"), async || {
        (machine.stopped() > stopped).then_some(())
    })
    .await;
    home.cut_off().await;
    machine.forget_plans();
    home.serve().await;
}

#[test]
fn pretend_a_server_killed_after_any_write_of_an_install_or_a_removal_goes_on() {
    on_pretend(async |home| {
        for writes in (1..=45).step_by(4) {
            let name = format!("app-{writes}");
            let declared = small(&name);
            killed_after(home, writes, async || home.apply(&declared).await).await;
            home.until_ready(&name).await;
            stands_as_made_once(home, &name).await;
            killed_after(home, writes, async || {
                home.ask(&["delete", &format!("app/{name}"), "--yes", "--wait", "false"]).await;
            })
            .await;
            home.until_gone("App", &name).await;
            home.settle().await;
            is_gone(home, &name).await;
        }
    });
}

/// Does something, and kills the server once so many writes went down, or it is at rest before that.
async fn killed_after(home: &Home, writes: u64, wish: impl AsyncFnOnce()) {
    let end = home.store().resource_version() + writes;
    wish().await;
    let mut calm = 0;
    while home.store().resource_version() < end && calm < 200 {
        calm = if home.engine().is_idle() { calm + 1 } else { 0 };
        tokio::task::yield_now().await;
    }
    home.cut_off().await;
    home.serve().await;
}

/// Two services of which one runs once, each with data.
fn small(name: &str) -> Value {
    let image = |service: &str| format!("registry.home/{name}/{service}:1");
    let services = json!({
        "web": {
            "image": image("web"), "expose": ["8080"], "volumes": ["./pages:/data"], "stop_grace_period": "1s",
            "depends_on": { "job": { "condition": "service_completed_successfully" } },
        },
        "job": { "image": image("job"), "restart": "no", "volumes": ["./work:/data"] },
    });
    let mut app = app(name, &services);
    app["spec"]["dataPolicy"] = "Delete".into();
    app
}

async fn stands_as_made_once(home: &Home, name: &str) {
    home.settle().await;
    let machine = home.world.pretend().unwrap();
    let writes = machine.writes();
    let count = |what: &str, part: &str| {
        writes.get(&format!("{what} {}", home.engine_name(&format!("{name}{part}")))).copied().unwrap_or(0)
    };
    for part in ["-web", "-job"] {
        // A call that was never carried out is not counted.
        assert_eq!(count("create container", part), 1, "{name}{part} is made once");
        assert_eq!(count("start container", part), 1, "{name}{part} is started once");
        let drifted = home.count("Container", &format!("{name}{part}"), "Drifted", "").await;
        assert_eq!(drifted, 0, "{name}{part}: nobody meddled");
    }
    assert_eq!(count("create network", ""), 1, "network {name} is made once");
    for kind in ["Network", "Route", "App"] {
        assert_eq!(home.count(kind, name, "Drifted", "").await, 0, "{kind} {name}: nobody meddled");
    }
    home.world.mark().await;
    home.look_again().await;
    home.settle().await;
    assert_eq!(home.world.changes().await, Vec::<String>::new(), "{name}: there is nothing left to do");
}

async fn is_gone(home: &Home, name: &str) {
    let left = home.store().list(&Query::of(Query::EVERY_KIND)).items;
    let left: Vec<String> = left
        .iter()
        .filter(|object| object.name() == name || object.name().contains(&format!("{name}-")))
        .map(|object| object.key().to_string())
        .collect();
    assert_eq!(left, Vec::<String>::new());
    let (containers, networks) = home.world.names().await;
    let ours = |all: &[String]| all.iter().filter(|each| each.contains("household")).count();
    assert_eq!((ours(&containers), ours(&networks)), (0, 0), "{containers:?} {networks:?}");
    // The proxy's own.
    assert_eq!(home.hands.volumes.list().await.unwrap().len(), 2);
    for service in ["web", "job"] {
        let image = format!("registry.home/{name}/{service}:1");
        assert!(home.hands.images.inspect(&image).await.unwrap().is_none(), "{image}");
    }
    assert_eq!(home.page(name).await.status, 404);
}
