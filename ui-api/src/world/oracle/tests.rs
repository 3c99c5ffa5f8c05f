use std::time::Duration;

use hearth_capabilities::Volumes;
use hearth_capabilities::volumes::Leaf;
use hearth_pretend::Op;
use serde_json::json;

use super::container_named;
use crate::world::hands::Gated;
use crate::world::settle::key;
use crate::world::{Point, TroubleKind, Verdict, World};

fn served() -> World {
    let mut world = World::new(1).unwrap();
    world.start().unwrap();
    world.settle().unwrap();
    world
}

#[test]
fn a_look_is_known_by_its_container_in_whatever_namespace_it_is() {
    let mut world = served();
    world.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kids" } })).unwrap();
    let compose = json!({ "services": { "web": { "image": "registry.home/web:1" } } }).to_string();
    let app = json!({
        "apiVersion": "hearth.dev/v1", "kind": "App", "metadata": { "name": "page", "namespace": "kids" },
        "spec": { "slug": "page", "compose": compose },
    });
    world.apply(&app).unwrap();
    world.settle().unwrap();
    let container = world.store().get(&key("Container", "kids/page-web")).unwrap();
    let known = container_named(&world.store(), "hearth_kids_page-web");
    assert_eq!(known.as_deref(), Some(container.uid()));
    assert!(container_named(&world.store(), "hearth-system_caddy").is_some());
    assert_eq!(container_named(&world.store(), "somebodys"), None);
}

#[test]
fn data_that_goes_slowly_is_judged_as_that_which_goes_at_once() {
    for how in [Verdict::Go, Verdict::Slow(Duration::from_secs(5))] {
        let mut world = served();
        let leaf = Leaf { instance: "somebodys".into(), path: "letters".into() };
        let made = world.machine.clone();
        world.ask(made.make(&leaf, "a mark", None, None)).unwrap();
        world.judge();
        let told = how.clone();
        world.faults = Box::new(move |point| match point {
            Point::Call(Op::RemoveLeaf, _) => told.clone(),
            _ => Verdict::Go,
        });
        let hands = Gated::hands(&world.machine, &world.gates, &world.clock);
        let removed = world.spawn(async move { hands.volumes.remove(&leaf, "a mark").await });
        let trouble = world.until_over(removed).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Broken, "{how:?}: {trouble}");
        assert!(trouble.said.contains("nobody wished it"), "{how:?}: {trouble}");
    }
}
