//! A secret: who uses it gets the new one, and it is written nowhere.

use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Home, on_pretend, on_real, page};

/// Nothing else contains them.
const FIRST: &str = "open-sesame-7c1f";
const SECOND: &str = "close-sesame-93ab";

#[test]
fn pretend_a_changed_secret_restarts_its_users_alone_and_is_written_nowhere() {
    on_pretend(changed);
}

#[test]
fn real_a_changed_secret_restarts_its_users_alone_and_is_written_nowhere() {
    on_real(changed);
}

async fn changed(home: &Home) {
    home.apply(&secret(FIRST)).await;
    let mut user = page(home, "user").await;
    let compose = user["spec"]["compose"].as_str().unwrap().to_owned();
    let mut compose: Value = serde_json::from_str(&compose).unwrap();
    compose["services"]["web"]["environment"]["DOOR"] = "${DOOR}".into();
    compose["services"]["web"]["environment"]["URL"] = "door://${DOOR}@home".into();
    user["spec"]["compose"] = compose.to_string().into();
    user["spec"]["values"] =
        json!([{ "name": "DOOR", "valueFrom": { "secretKeyRef": { "name": "door", "key": "word" } } }]);
    home.install(&user).await;
    home.install(&page(home, "bystander").await).await;
    let (before, bystander) = (home.container("user-web").await.unwrap(), home.id("bystander-web").await);
    assert_eq!(before.env["DOOR"], FIRST);
    assert_eq!(before.env["URL"], format!("door://{FIRST}@home"));

    home.apply(&secret(SECOND)).await;
    home.until("the new secret is in force", async || {
        let container = home.container("user-web").await?;
        (container.env["DOOR"] == SECOND).then_some(())
    })
    .await;
    home.until_ready("user").await;
    home.until_served("user").await;
    assert_ne!(home.id("user-web").await, before.id);
    assert_eq!(home.id("bystander-web").await, bystander);
    assert_eq!(
        home.count("Container", "user-web", "Drifted", "").await,
        0,
        "a newer wish is nobody's meddling"
    );

    home.world.replace(&home.engine_name("user-web"), &crate::home::Alteration::Env).await;
    home.until_told("Container", "user-web", "Drifted", "", 0).await;
    home.until_ready("user").await;
    written_nowhere(home).await;
}

fn secret(word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "door", "namespace": "household" },
        "stringData": { "word": word },
    })
}

async fn written_nowhere(home: &Home) {
    let mut texts: Vec<(String, String)> = Vec::new();
    for object in home.store().all().iter().filter(|object| object.kind != "Secret") {
        texts.push((object.key().to_string(), object.to_value().to_string()));
    }
    for object in home.store().all() {
        let history = home.store().history(&object.key()).await.unwrap();
        texts.push((format!("history of {}", object.key()), format!("{history:?}")));
    }
    let events = home.store().events(&Default::default()).await.unwrap();
    texts.push(("events".into(), format!("{events:?}")));
    for words in [
        &["diff", "app/user"][..],
        &["why", "app/user"],
        &["describe", "app/user"],
        &["events", "app/user"],
        &["history", "secret/door"],
        &["history", "app/user"],
        &["logs", "app/user"],
        &["get", "all", "-A", "-o", "yaml"],
    ] {
        let said = home.hearth(words).await;
        texts.push((words.join(" "), said.out + &said.err));
    }
    let container = home.container("user-web").await.unwrap();
    texts.push(("labels".into(), format!("{:?}", container.labels)));
    for (place, text) in &texts {
        assert!(!betrays(text.as_bytes()), "the secret is in {place}");
    }
    home.stop().await;
    no_file_betrays(&home.config.data_dir);
    home.serve().await;
}

fn no_file_betrays(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_file_betrays(&path);
        } else if path.is_file() {
            assert!(!betrays(&std::fs::read(&path).unwrap()), "the secret is in {}", path.display());
        }
    }
}

/// Whether bytes hold a secret, plainly or as an API writes it.
fn betrays(bytes: &[u8]) -> bool {
    // What stands for them in base64 wherever they begin in a longer text would differ; alone they read like this.
    let encoded = ["b3Blbi1zZXNhbWUtN2MxZg", "Y2xvc2Utc2VzYW1lLTkzYWI"];
    [FIRST, SECOND]
        .iter()
        .chain(&encoded)
        .any(|word| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
}
