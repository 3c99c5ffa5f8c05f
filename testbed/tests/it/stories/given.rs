//! Files an app is given: settings and secrets from its compose file, where its services can read them and nobody else.

use serde_json::{Value, json};

use crate::home::{Home, app, on_pretend, on_real};

/// Nothing else contains them.
const FIRST: &str = "open-sesame-41d0";
const SECOND: &str = "close-sesame-58ee";

#[test]
fn pretend_an_app_reads_its_configs_and_secrets_and_gets_new_ones_when_they_change() {
    on_pretend(given);
}

#[test]
fn real_an_app_reads_its_configs_and_secrets_and_gets_new_ones_when_they_change() {
    on_real(given);
}

async fn given(home: &Home) {
    home.apply(&secret(FIRST)).await;
    home.install(&door(home, "one", FIRST).await).await;
    let before = home.container("door-web").await.unwrap();
    let mounted: Vec<(&str, bool)> =
        before.mounts.iter().map(|mount| (mount.path.as_str(), mount.read_only)).collect();
    let wanted = [("/etc/door.conf", true), ("/etc/settings/hall", true), ("/run/secrets/word", true)];
    assert_eq!(mounted, wanted);
    assert!(
        !before.env.values().any(|value| value.contains(FIRST)),
        "it is in a file and not in the environment"
    );
    assert_eq!(home.container("door-idle").await.unwrap().mounts, []);
    let idle = home.id("door-idle").await;

    // A new secret: the check of the new container wants the new word, in both files that hold it.
    home.apply(&secret(SECOND)).await;
    home.until("the container that reads the new word", async || {
        (home.container("door-web").await?.id != before.id).then_some(())
    })
    .await;
    home.apply(&door(home, "one", SECOND).await).await;
    home.until_ready("door").await;

    // Another setting: the same.
    let before = home.id("door-web").await;
    home.apply(&door(home, "two", SECOND).await).await;
    home.until("the container that reads the new setting", async || {
        (home.container("door-web").await?.id != before).then_some(())
    })
    .await;
    home.until_ready("door").await;
    assert_eq!(
        home.count("Container", "door-web", "Drifted", "").await,
        0,
        "newer wishes are nobody's meddling"
    );

    // A file that was changed by hand is seen at the next look, and what read it is made anew.
    let container = home.container("door-web").await.unwrap();
    let word = container.mounts.iter().find(|mount| mount.path == "/run/secrets/word").unwrap();
    home.world.overwrite(&word.host_path, "by hand").await;
    home.look_again().await;
    home.until_told("Container", "door-web", "Drifted", "spec.files", 0).await;
    home.until("the container that reads the right word again", async || {
        (home.container("door-web").await?.id != container.id).then_some(())
    })
    .await;
    home.until_ready("door").await;
    assert_eq!(home.id("door-idle").await, idle, "who reads none of it runs on");
    written_nowhere(home).await;
}

/// An app whose health says whether it reads what it should.
async fn door(home: &Home, hall: &str, word: &str) -> Value {
    let test = format!(
        "[ \"$$(cat /etc/settings/hall)\" = {hall} ] && [ \"$$(cat /run/secrets/word)\" = {word} ] && \
         [ \"$$(cat /etc/door.conf)\" = \"word = {word}\" ] && [ \"$$(stat -c %a /run/secrets/word)\" = 400 ]"
    );
    let web = json!({
        "image": home.world.image("web:1").await, "user": "1000:1000", "expose": ["8080"],
        "configs": [
            { "source": "conf", "target": "/etc/door.conf" },
            { "source": "hall", "target": "/etc/settings/hall", "mode": "0440", "uid": "1000", "gid": "1000" },
        ],
        "secrets": ["word"],
        "healthcheck": { "test": ["CMD-SHELL", test], "interval": "1s", "timeout": "5s", "retries": 30 },
        "stop_grace_period": "1s",
    });
    let idle = json!({ "image": home.world.image("web:1").await, "stop_grace_period": "1s" });
    let mut door = app("door", &json!({ "web": web, "idle": idle }));
    let compose = json!({
        "services": { "web": web, "idle": idle },
        "configs": { "conf": { "content": "word = ${WORD}" }, "hall": { "environment": "HALL" } },
        "secrets": { "word": { "environment": "WORD" } },
    });
    door["spec"]["compose"] = compose.to_string().into();
    door["spec"]["values"] = json!([
        { "name": "WORD", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } },
        { "name": "HALL", "value": hall },
    ]);
    door
}

fn secret(word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "household" },
        "stringData": { "word": word },
    })
}

/// The word stands in no object, history, event or answer, though the health check of this story names it.
async fn written_nowhere(home: &Home) {
    let mut texts: Vec<(String, String)> = Vec::new();
    for object in home.store().all().iter().filter(|object| object.kind != "Secret") {
        let mut value = object.to_value();
        // What this story itself wrote into its check.
        value["spec"]["compose"].take();
        value["spec"]["health"].take();
        texts.push((object.key().to_string(), value.to_string()));
    }
    for words in [&["why", "app/door"][..], &["events", "app/door"], &["history", "secret/door"]] {
        let said = home.hearth(words).await;
        texts.push((words.join(" "), said.out + &said.err));
    }
    let events = home.store().events(&Default::default()).await.unwrap();
    texts.push(("events".into(), format!("{events:?}")));
    let container = home.container("door-web").await.unwrap();
    texts.push(("labels and variables".into(), format!("{:?}{:?}", container.labels, container.env)));
    for (place, text) in &texts {
        assert!(!text.contains(FIRST) && !text.contains(SECOND), "the word is in {place}");
    }
}
