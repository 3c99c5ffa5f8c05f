//! A server that is stopped or killed in the middle of its work goes on where it was, and nothing is done twice.

use hearth_engine::Query;

use crate::home::{Home, app, on_pretend, on_real, trio};

#[test]
fn pretend_a_server_killed_in_the_middle_of_an_install_goes_on_and_doubles_nothing() {
    on_pretend(killed);
}

#[test]
fn real_a_server_killed_in_the_middle_of_an_install_goes_on_and_doubles_nothing() {
    on_real(killed);
}

async fn killed(home: &Home) {
    home.apply(&app("trio", &trio(home).await)).await;
    let moments: [(&str, &str, &str); 4] = [
        ("Image", "", "an image is asked for"),
        ("Container", "", "containers are declared"),
        ("Container", "trio-db", "the database runs"),
        ("Container", "trio-migrate", "the migration is over"),
    ];
    for (index, (kind, name, what)) in moments.into_iter().enumerate() {
        home.until(what, async || {
            let listed = home.store().list(&Query::of(kind)).items;
            let of_the_app = listed.iter().filter(|object| !object.name().contains("caddy"));
            let is_it = |object: &hearth_engine::Object| match name {
                "" => true,
                "trio-db" => object.name() == name && object.status()["state"] == "running",
                _ => object.name() == name && !object.status()["completedAt"].is_null(),
            };
            of_the_app.into_iter().any(|object| is_it(object)).then_some(())
        })
        .await;
        // Killed and told to stop by turns.
        if index % 2 == 0 {
            home.cut_off().await;
            home.serve().await;
        } else {
            home.restart().await;
        }
    }
    home.until_ready("trio").await;
    home.until_served("trio").await;

    let count = |kind: &str| home.store().list(&Query::of(kind).within("household")).items.len();
    assert_eq!(["App", "Container", "Network", "Volume", "Route", "Revision"].map(count), [1, 3, 1, 2, 1, 1]);
    let folder = home.data("trio", "migrations");
    assert_eq!(home.world.runs(&home.engine_name("trio-migrate"), &folder).await, 1);
    let mut listed: Vec<String> =
        home.hands.containers.list().await.unwrap().into_iter().map(|container| container.name).collect();
    listed.retain(|name| name.starts_with(&home.config.name_prefix));
    listed.sort();
    let mut wanted =
        ["system/caddy", "trio-db", "trio-migrate", "trio-web"].map(|name| home.engine_name(name));
    wanted.sort();
    assert_eq!(listed, wanted);
    let (_, mut networks) = home.world.names().await;
    networks.sort();
    assert_eq!(networks, [home.engine_name("system/control"), home.engine_name("trio")]);
    let drifted = async |name: &str| home.count("Container", name, "Drifted", "").await;
    for name in ["trio-web", "trio-db", "trio-migrate"] {
        assert_eq!(drifted(name).await, 0, "{name}: what was interrupted is nobody's meddling");
    }
    home.settle().await;
    home.world.mark().await;
    home.look_again().await;
    assert_eq!(home.world.changes().await, Vec::<String>::new());
}
