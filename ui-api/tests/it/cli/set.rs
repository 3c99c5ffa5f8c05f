//! Setting single fields.

use std::time::Duration;

use hearth::cli::exit::Exit;
use hearth_engine::{Key, Object, WriteOptions};
use serde_json::json;

use super::home::{Home, Said, part_of};

const APP: &str = "apiVersion: hearth.dev/v1\nkind: App\nmetadata: { name: photos, labels: { mine: \"1\" } }\nspec:\n  slug: photos\n  values:\n  - { name: A, value: \"1\" }\n  - { name: TZ, value: UTC }\n  compose: |\n    services: { web: { image: x } }\n";

async fn home() -> Home {
    let home = Home::start().await;
    let file = home.file("photos.yaml", APP);
    assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    home
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_set_and_taken_away_and_what_changes_is_told_by_field() {
    let home = home().await;
    let words = ["values[TZ].value=Europe/Paris", "spec.mainPort=80", "values[A]-", "metadata.labels.mine="];
    let tried = home.run(&[&["set", "app/photos"][..], &words[..], &["--dry-run"][..]].concat()).await;
    assert_eq!(tried.exit, Exit::Done, "{tried:?}");
    for part in [
        "spec.mainPort          unset → 80",
        "spec.values[A].value   1 → unset",
        "spec.values[TZ].value  UTC → Europe/Paris",
        "metadata.labels.mine   1 → unset",
    ] {
        assert!(tried.out.contains(part), "{part} in {}", tried.out);
    }
    assert!(tried.err.contains("nothing was changed"), "{tried:?}");
    let key = Key::new("App", "household", "photos");
    assert_eq!(home.store.get(&key).unwrap().metadata.generation, Some(1));
    let said = home.run(&[&["set", "app", "photos"][..], &words[..]].concat()).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.ends_with("app/photos changed (generation 2)\n"), "{said:?}");
    assert!(said.err.contains("undo: hearth rollback app/photos --to 1"), "{said:?}");
    let object = home.store.get(&key).unwrap();
    assert_eq!(object.spec()["values"], json!([{ "name": "TZ", "value": "Europe/Paris" }]));
    assert_eq!(object.spec()["mainPort"], 80);
    assert!(object.metadata.labels.as_ref().is_none_or(|labels| labels.is_empty()));
    let said = home.run(&[&["set", "app/photos"][..], &words[..]].concat()).await;
    assert!(said.exit == Exit::Done && said.err.contains("app/photos: nothing changes"), "{said:?}");
    assert_eq!(home.store.get(&key).unwrap().metadata.generation, Some(2));
    // What stands is waited for all the same, as it does when it is said once more.
    home.see("App", "photos", json!({ "summary": "Failed", "reason": "x" })).await;
    let again = [&["set", "app/photos"][..], &words[..], &["--wait", "--timeout", "20s"]].concat();
    assert_eq!(home.run(&again).await.exit, Exit::Unwell);
    assert_eq!(home.run(&[&again[..], &["--dry-run"]].concat()).await.exit, Exit::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_the_object_as_a_file_would_declare_it() {
    let home = home().await;
    let said = home.run(&["set", "app/photos", "state=Stopped", "--show", "--dry-run"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(
        said.out.starts_with("apiVersion: hearth.dev/v1\n") && said.out.contains("state: Stopped"),
        "{said:?}"
    );
    assert!(said.err.contains("spec.state  unset → Stopped"), "{said:?}");
    let file = home.file("shown.yaml", &said.out);
    assert_eq!(home.run(&["apply", "-f", &file]).await.out, "app/photos changed\n");
    let said = home.run(&["set", "app/photos", "state=Stopped"]).await;
    assert!(said.err.contains("nothing changes"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_set_says_why_and_all_at_once() {
    let home = home().await;
    let cases: [(&[&str], Exit, &str); 9] = [
        (&["app/photos", "stat=Stopped"], Exit::Usage, "spec has no field \"stat\"; did you mean \"state\"?"),
        (&["app/photos", "state=Stoped"], Exit::Rejected, "did you mean Stopped?"),
        (&["app/photos"], Exit::Usage, "name a field and its value"),
        (&["app/photos", "state"], Exit::Usage, "name a field and its value"),
        (&["app/photo", "state=Stopped"], Exit::NotFound, "did you mean app/photos?"),
        (&["ap/photos", "slug=album"], Exit::Rejected, "is fixed at \"photos\" once chosen"),
        (&["shelf/x", "a=b"], Exit::Usage, "there is no kind \"shelf\""),
        (&["secret/x", "data.pw=hunter2"], Exit::Usage, "hearth apply -f -"),
        (&["app/photos", "state=Stopped", "oops"], Exit::Usage, "\"oops\" changes nothing"),
    ];
    for (words, exit, part) in cases {
        let said = home.run(&[&["set"][..], words].concat()).await;
        assert!(said.exit == exit && said.err.contains(part), "{words:?}: {said:?}");
    }
    let said = home.run(&["set", "app/photos", "stat=x", "mainPort=y"]).await;
    assert!(
        said.err.contains("stat") && said.err.contains("spec.mainPort: must be a whole number"),
        "{said:?}"
    );
    assert_eq!(home.store.get(&Key::new("App", "household", "photos")).unwrap().metadata.generation, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_app_makes_is_set_at_the_app() {
    let home = home().await;
    let owner = home.run(&["get", "app/photos", "-o", "json"]).await.out;
    let owner = serde_json::from_str(&owner).unwrap();
    let spec = json!({ "instance": "x", "path": "data" });
    home.make(part_of(&owner, "Volume", "photos-data", spec)).await;
    let said = home.run(&["set", "volume/photos-data", "mode=0700"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("is made for app/photos"), "{said:?}");
    let said = home.run(&["set", "volume/photos-data", "metadata.labels.mine=1"]).await;
    assert_eq!(said.exit, Exit::Done, "a label is nobody's else: {said:?}");
}

/// Somebody else writes again and again, another field or the very same.
async fn with_somebody_else(home: &Home, field: &str, pause: Duration) -> Vec<Said> {
    let key = Key::new("App", "household", "photos");
    let (store, field) = (home.store.clone(), field.to_owned());
    let stop = tokio_util::sync::CancellationToken::new();
    let others = tokio::spawn({
        let stop = stop.clone();
        async move {
            for round in 0u64.. {
                if stop.is_cancelled() {
                    return;
                }
                let field = field.clone();
                let options = WriteOptions::controller("other");
                let changed = store.update(&key, &options, move |old| {
                    let mut value = old.to_value();
                    value["spec"][&field] = (1000 + round % 5000).into();
                    Object::from_value(value).map_err(hearth_engine::WriteError::Conflict)
                });
                changed.await.unwrap();
                tokio::time::sleep(pause).await;
            }
        }
    });
    let mut ends = Vec::new();
    for port in 1..12 {
        ends.push(home.run(&["set", "app/photos", &format!("mainPort={port}")]).await);
    }
    stop.cancel();
    others.await.unwrap();
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn another_field_that_changes_meanwhile_is_joined_and_the_same_field_is_a_conflict() {
    let home = home().await;
    let ends = with_somebody_else(&home, "healthDeadlineSeconds", Duration::from_millis(30)).await;
    assert!(ends.iter().any(|said| said.exit == Exit::Done), "{ends:?}");
    for said in ends.iter().filter(|said| said.out.contains(" changed ")) {
        // Each write is a generation, theirs as well: what is taken back is this one alone.
        let number = |text: &str, before: &str| -> Option<u64> {
            let rest = text.split_once(before)?.1;
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
        };
        let (made, undo) = (number(&said.out, "(generation "), number(&said.err, "--to "));
        assert!(made.is_some() && made == undo.map(|undo| undo + 1), "{said:?}");
    }
    let object = home.store.get(&Key::new("App", "household", "photos")).unwrap();
    assert!(object.spec()["healthDeadlineSeconds"].as_u64() >= Some(1000), "what they wrote stands");
    let ends = with_somebody_else(&home, "mainPort", Duration::from_millis(2)).await;
    let ends: Vec<Exit> = ends.into_iter().map(|said| said.exit).collect();
    assert!(ends.iter().all(|exit| [Exit::Done, Exit::Conflict].contains(exit)), "{ends:?}");
    assert!(ends.contains(&Exit::Conflict), "nothing of theirs is overwritten unseen: {ends:?}");
}
