//! A folder of manifests: what its files say is so, and what they do not say any more goes with care.

use std::path::PathBuf;

use hearth::cli::exit::Exit;
use serde_json::{Value, json};

use crate::home::{Home, on_pretend_with_folder, page};

mod killed;

fn at(home: &Home, name: &str) -> PathBuf {
    home.config.manifests.as_ref().expect("this home has a folder").join(name)
}

/// Writes a file as editors do: beside, and then in its place.
fn write(home: &Home, name: &str, documents: &[&Value]) {
    let text: Vec<String> = documents.iter().map(|document| document.to_string()).collect();
    let beside = at(home, &format!(".{name}.swp"));
    std::fs::write(&beside, text.join("\n---\n")).unwrap();
    std::fs::rename(beside, at(home, name)).unwrap();
}

fn lose(home: &Home, name: &str) {
    std::fs::remove_file(at(home, name)).unwrap();
}

fn secret(name: &str, word: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": { "word": word },
    })
}

/// An app that says its level in its environment.
async fn level(home: &Home, name: &str, level: &str) -> Value {
    let mut app = page(home, name).await;
    let mut compose: Value = serde_json::from_str(app["spec"]["compose"].as_str().unwrap()).unwrap();
    compose["services"]["web"]["environment"]["LEVEL"] = level.into();
    app["spec"]["compose"] = compose.to_string().into();
    app
}

async fn until_level(home: &Home, name: &str, level: &str) {
    home.until(&format!("{name} is at level {level}"), async || {
        let container = home.container(&format!("{name}-web")).await?;
        (container.env.get("LEVEL")? == level).then_some(())
    })
    .await;
    home.until_ready(name).await;
}

/// What the server says of the folder.
async fn status(home: &Home) -> (Exit, String) {
    let said = home.hearth(&["recover", "status"]).await;
    (said.exit, said.out + &said.err)
}

async fn until_status(home: &Home, part: &str) -> String {
    home.until(&format!("its status says {part:?}"), async || {
        Some(status(home).await.1).filter(|said| said.contains(part))
    })
    .await
}

/// Lets looks pass until an object is gone.
async fn pass_until_gone(home: &Home, kind: &str, name: &str) {
    home.until(&format!("{kind} {name} is gone"), async || {
        home.pass(1).await;
        home.find(kind, name).is_none().then_some(())
    })
    .await;
}

#[test]
fn pretend_what_a_folder_declares_is_made_changed_put_back_and_goes_with_its_file() {
    on_pretend_with_folder(declared);
}

async fn declared(home: &Home) {
    write(home, "one.yaml", &[&level(home, "one", "1").await]);
    write(home, "rest.yaml", &[&secret("door", "open-1"), &level(home, "two", "1").await]);
    until_level(home, "one", "1").await;
    until_level(home, "two", "1").await;
    let one = home.get("App", "one");
    assert_eq!(one["metadata"]["annotations"]["hearth.dev/declared-in"], "one.yaml");
    let history = home.store().history(&Home::key("App", "one")).await.unwrap();
    assert_eq!(history[0].actor, "manifests/one.yaml");

    // Nothing to do is nothing written.
    home.settle().await;
    let version = home.store().resource_version();
    write(home, "one.yaml", &[&level(home, "one", "1").await]);
    home.pass(3).await;
    assert_eq!(home.store().resource_version(), version);

    write(home, "one.yaml", &[&level(home, "one", "2").await]);
    until_level(home, "one", "2").await;
    home.apply(&level(home, "one", "by hand").await).await;
    until_level(home, "one", "2").await;
    home.apply(&secret("door", "by hand")).await;
    home.until("the secret is the file's again", async || {
        (home.get("Secret", "door")["data"]["word"] == "b3Blbi0x").then_some(())
    })
    .await;
    // What the file says nothing of is left to people.
    home.ask(&["pause", "app/two", "--for", "1h"]).await;
    home.pass(2).await;
    assert!(home.get("App", "two")["metadata"]["annotations"]["hearth.dev/paused-until"].is_string());
    home.ask(&["resume", "app/two"]).await;

    let said = home.hearth(&["delete", "app/one"]).await;
    assert!(format!("{}{}", said.out, said.err).contains("one.yaml"), "{said:?}");
    home.until("it is made anew", async || {
        let now = home.find("App", "one")?;
        (now.uid() != one["metadata"]["uid"]).then_some(())
    })
    .await;
    until_level(home, "one", "2").await;

    lose(home, "one.yaml");
    pass_until_gone(home, "App", "one").await;
    let history = home.store().history(&Home::key("App", "one")).await.unwrap();
    assert_eq!(history.last().unwrap().actor, "manifests/one.yaml");
    home.restart().await;
    home.pass(2).await;
    home.until_ready("two").await;
    assert_eq!(status(home).await.0, Exit::Done);
}

#[test]
fn pretend_what_is_not_the_folders_or_declared_twice_is_told_and_left() {
    on_pretend_with_folder(conflicts);
}

async fn conflicts(home: &Home) {
    home.apply(&secret("mine", "hand-made")).await;
    write(home, "mine.yaml", &[&secret("mine", "from a file")]);
    until_status(home, "mine.yaml:1").await;
    home.until_told("Secret", "mine", "NotTakenOver", "", 0).await;
    home.pass(2).await;
    assert_eq!(home.count("Secret", "mine", "NotTakenOver", "").await, 1, "told once");
    assert_eq!(home.get("Secret", "mine")["data"]["word"], "aGFuZC1tYWRl");
    let mut given = secret("mine", "hand-made");
    given["metadata"]["annotations"] = json!({ "hearth.dev/declared-in": "mine.yaml" });
    home.apply(&given).await;
    home.until("the file has it", async || {
        (home.get("Secret", "mine")["data"]["word"] == "ZnJvbSBhIGZpbGU=").then_some(())
    })
    .await;

    // A copy that a person makes of it is that person's, and does not go for want of a file.
    let mut copy = home.get("Secret", "mine");
    copy["metadata"] = json!({ "name": "copy", "annotations": copy["metadata"]["annotations"] });
    home.apply(&copy).await;

    write(home, "twice.yaml", &[&secret("mine", "another")]);
    until_status(home, "mine.yaml and twice.yaml").await;
    home.until_told("Secret", "mine", "DeclaredTwice", "", 0).await;
    home.pass(2).await;
    assert_eq!(home.get("Secret", "mine")["data"]["word"], "ZnJvbSBhIGZpbGU=");
    lose(home, "mine.yaml");
    home.until("the other file has it", async || {
        (home.get("Secret", "mine")["data"]["word"] == "YW5vdGhlcg==").then_some(())
    })
    .await;
    assert!(home.find("Secret", "copy").is_some());

    let mut wrong = page(home, "wrong").await;
    wrong["spec"]["compose"] = "services: { web: { image: a, privileged: true } }".into();
    write(home, "wrong.yaml", &[&wrong]);
    let said = until_status(home, "privileged").await;
    assert!(said.contains("wrong.yaml:1:"), "{said}");
}

#[test]
fn pretend_nothing_goes_while_the_folder_cannot_be_read_and_the_rest_is_applied() {
    on_pretend_with_folder(blind);
}

async fn blind(home: &Home) {
    for name in ["a", "b", "c", "d"] {
        write(home, &format!("{name}.yaml"), &[&secret(name, "1")]);
    }
    home.until("all are made", async || home.find("Secret", "d").map(|_| ())).await;
    until_status(home, "4 objects in 4 files").await;

    std::fs::write(at(home, "bad.yaml"), "kind: App\nmetadata: [\n").unwrap();
    until_status(home, "mend bad.yaml").await;
    lose(home, "a.yaml");
    write(home, "e.yaml", &[&secret("e", "1")]);
    home.until("what can be read is applied", async || home.find("Secret", "e").map(|_| ())).await;
    home.pass(3).await;
    assert!(home.find("Secret", "a").is_some(), "it may be what the broken file declares");
    lose(home, "bad.yaml");
    pass_until_gone(home, "Secret", "a").await;

    // A link that leads nowhere is a file that is there and cannot be read.
    std::os::unix::fs::symlink("/nowhere/at/all", at(home, "linked.yaml")).unwrap();
    until_status(home, "mend linked.yaml").await;
    lose(home, "b.yaml");
    home.pass(3).await;
    assert!(home.find("Secret", "b").is_some());
    lose(home, "linked.yaml");
    pass_until_gone(home, "Secret", "b").await;

    let folder = home.config.manifests.clone().expect("this home has a folder");
    let aside = folder.with_file_name("aside");
    std::fs::rename(&folder, &aside).unwrap();
    home.pass(2).await;
    until_status(home, "it is not there").await;
    home.pass(3).await;
    home.restart().await;
    home.pass(3).await;
    for name in ["c", "d", "e"] {
        assert!(home.find("Secret", name).is_some(), "{name}");
    }
    std::fs::rename(&aside, &folder).unwrap();
    home.pass(1).await;
    until_status(home, "3 objects in 3 files").await;
    // The folder is listened to though it is another one now.
    write(home, "c.yaml", &[&secret("c", "2")]);
    home.until("a change in it is seen", async || {
        (home.get("Secret", "c")["data"]["word"] == "Mg==").then_some(())
    })
    .await;
}

#[test]
fn pretend_twelve_apps_whose_files_are_lost_stay_until_a_person_answers() {
    on_pretend_with_folder(twelve);
}

const TWELVE: [&str; 12] = [
    "app01", "app02", "app03", "app04", "app05", "app06", "app07", "app08", "app09", "app10", "app11",
    "app12",
];

async fn twelve(home: &Home) {
    let file = |name: &str| format!("{name}.yaml");
    let mut apps = Vec::new();
    for name in TWELVE {
        let app = page(home, name).await;
        write(home, &file(name), &[&app]);
        apps.push(app);
    }
    for name in TWELVE {
        home.until_ready(name).await;
    }
    let uids = || TWELVE.map(|name| home.get("App", name)["metadata"]["uid"].clone());
    let before = uids();

    TWELVE.iter().for_each(|name| lose(home, &file(name)));
    until_status(home, "declares nothing any more").await;
    home.pass(3).await;
    assert_eq!(uids(), before);
    let (exit, said) = status(home).await;
    assert_eq!(exit, Exit::Unwell);
    assert!(TWELVE.iter().all(|name| said.contains(name)), "{said}");
    home.until_told("App", "app01", "RemovalHeld", "", 0).await;

    TWELVE.iter().zip(&apps).for_each(|(name, app)| write(home, &file(name), &[app]));
    home.until("nothing is asked any more", async || (status(home).await.0 == Exit::Done).then_some(()))
        .await;
    assert_eq!(uids(), before);

    TWELVE[..6].iter().for_each(|name| lose(home, &file(name)));
    until_status(home, "6 of the 12 objects").await;
    home.ask(&["recover", "keep-undeclared"]).await;
    until_status(home, "Somebody said that they stay").await;
    home.pass(3).await;
    assert_eq!(uids(), before);
    home.ask(&["recover", "remove-undeclared"]).await;
    for name in &TWELVE[..6] {
        home.until_gone("App", name).await;
    }
    let history = home.store().history(&Home::key("App", "app01")).await.unwrap();
    assert_eq!(history.last().unwrap().actor, "admin");

    home.pass(1).await;
    for name in &TWELVE[6..11] {
        lose(home, &file(name));
        pass_until_gone(home, "App", name).await;
        // The next one is no part of this one's minute.
        home.pass(1).await;
    }
    lose(home, &file("app12"));
    until_status(home, "declares nothing any more").await;
    home.pass(2).await;
    assert!(home.find("App", "app12").is_some(), "an empty folder is no wish");
    home.ask(&["delete", "app/app12"]).await;
    home.until_gone("App", "app12").await;
}
