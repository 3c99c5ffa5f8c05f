//! Containers and networks whose objects are lost: many at once are a question to a person, and the answer is kept.

use hearth::cli::exit::Exit;
use hearth_engine::store::{Deletion, Preconditions};
use hearth_engine::{Object, WriteOptions};

use crate::home::{Home, on_pretend, on_real, page};

#[test]
fn pretend_containers_that_lost_their_objects_are_asked_about_and_go_or_stay_as_a_person_says() {
    on_pretend(async |home: &Home| lost(home, 12).await);
}

#[test]
fn real_containers_that_lost_their_objects_are_asked_about_and_go_or_stay_as_a_person_says() {
    on_real(async |home: &Home| lost(home, 3).await);
}

async fn lost(home: &Home, count: usize) {
    let names: Vec<String> = (0..count).map(|n| format!("lost{n}")).collect();
    for name in &names {
        home.apply(&page(home, name).await).await;
    }
    home.install(&page(home, "kept").await).await;
    for name in &names {
        home.until_ready(name).await;
    }
    // Paused, so that nobody makes anew what is about to be lost.
    home.ask(&["pause", "--all", "--for", "1h"]).await;
    home.settle().await;
    for name in &names {
        lose(home, name).await;
    }
    home.ask(&["resume", "--all"]).await;

    let what = format!("{count} of {} have no object in the store", count + 2);
    let asked = home
        .until("a person is asked", async || {
            home.pass(1).await;
            let said = home.hearth(&["recover", "status"]).await;
            let both = ["containers", "networks"]
                .iter()
                .all(|kind| said.out.contains(&format!("Of {kind}, {what}")));
            both.then_some(said)
        })
        .await;
    assert_eq!(asked.exit, Exit::Unwell);
    let names_them =
        |name: &String| asked.out.contains(&format!("was made for Container household/{name}-web"));
    assert!(names.iter().all(names_them), "{}", asked.out);
    home.pass(5).await;
    for name in &names {
        assert!(
            home.container(&format!("{name}-web")).await.is_some(),
            "nothing goes before there is an answer"
        );
    }

    let wrong = home.hearth(&["recover", "remove-orphans", "containers", "--set", "0123456789ab"]).await;
    assert_eq!(wrong.exit, Exit::Conflict, "{wrong:?}");
    home.ask(&["recover", "keep-orphans", "networks", "--yes"]).await;
    home.ask(&["recover", "remove-orphans", "containers", "--yes"]).await;
    home.until("the containers are gone", async || {
        for name in &names {
            if home.container(&format!("{name}-web")).await.is_some() {
                return None;
            }
        }
        Some(())
    })
    .await;
    let status = home.ask(&["recover", "status"]).await;
    assert!(status.contains("Of networks, these have no object and are kept"), "{status}");
    home.restart().await;
    home.pass(5).await;
    for name in &names {
        let network = home.hands.networks.inspect(&home.engine_name(name)).await.unwrap();
        assert!(network.is_some(), "what is kept stays");
    }
    assert_eq!(home.verdict("App", "kept"), "Ready");
    home.until_served("kept").await;
    home.ask(&["recover", "remove-orphans", "networks", "--yes"]).await;
    home.until("the networks are gone", async || {
        home.pass(1).await;
        let network = home.hands.networks.inspect(&home.engine_name("lost0")).await.unwrap();
        network.is_none().then_some(())
    })
    .await;
}

/// Takes the objects of an app out of the store, and nothing off the machine.
async fn lose(home: &Home, app: &str) {
    let store = home.store();
    let uid = home.find("App", app).unwrap().uid().to_owned();
    let children = store.owned_by(&uid);
    let forget = async |object: &Object| {
        for finalizer in object.metadata.finalizers.iter().flatten() {
            store.drop_finalizer(&object.key(), object.uid(), finalizer).await.unwrap();
        }
        let deletion = Deletion { key: object.key(), preconditions: Preconditions::default() };
        store.delete(deletion, &WriteOptions::controller("bad-luck")).await.unwrap();
    };
    for child in children.iter().filter(|child| child.kind != "Image") {
        forget(child).await;
    }
    forget(&home.find("App", app).unwrap()).await;
}
