//! Going back to an earlier spec: shown first, written as a new wish, and taken back just the same.

use hearth::cli::exit::Exit;
use serde_json::json;

use super::home::{Home, part_of};

fn app(image: &str) -> String {
    format!(
        "apiVersion: hearth.dev/v1\nkind: App\nmetadata: {{ name: photos }}\nspec:\n  slug: photos\n  compose: |\n    services:\n      web: {{ image: {image} }}\n"
    )
}

async fn with_three_generations() -> Home {
    let home = Home::start().await;
    for image in ["one", "two", "three"] {
        let file = home.file("photos.yaml", &app(image));
        assert_eq!(home.run(&["apply", "-f", &file]).await.exit, Exit::Done);
    }
    home
}

async fn image_of(home: &Home) -> String {
    home.run(&["get", "app/photos", "-o", "jsonpath={.spec.compose}"]).await.out
}

#[tokio::test(flavor = "multi_thread")]
async fn it_shows_the_difference_writes_it_and_says_how_to_undo_it() {
    let home = with_three_generations().await;
    let said = home.run(&["rollback", "app/photos", "--dry-run"]).await;
    assert_eq!(said.exit, Exit::Differs, "{said:?}");
    assert!(
        said.out.contains("-   web: { image: three }") && said.out.contains("+   web: { image: two }"),
        "{said:?}"
    );
    assert!(
        said.err.contains("data is not brought back") && said.err.contains("nothing was changed"),
        "{said:?}"
    );
    assert!(image_of(&home).await.contains("three"));
    let said = home.run(&["rollback", "app/photos"]).await;
    assert_eq!(said.exit, Exit::Done, "{said:?}");
    assert!(said.out.ends_with("app/photos is as at generation 2 again (generation 4)\n"), "{said:?}");
    assert!(said.err.contains("undo: hearth rollback app/photos --to 3"), "{said:?}");
    assert!(image_of(&home).await.contains("two"));
    // Undone just as it says.
    assert_eq!(home.run(&["rollback", "app/photos", "--to", "3"]).await.exit, Exit::Done);
    assert!(image_of(&home).await.contains("three"));
    assert_eq!(home.run(&["rollback", "app/photos", "--to", "1"]).await.exit, Exit::Done);
    assert!(image_of(&home).await.contains("one"));
    let said = home.run(&["rollback", "app/photos", "--to", "1"]).await;
    assert!(said.exit == Exit::Done && said.err.contains("already"), "{said:?}");
    let said = home.run(&["history", "app/photos"]).await;
    assert_eq!(said.out.matches("changed by admin").count(), 5, "each is a write like any other: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_brought_back_is_said() {
    let home = with_three_generations().await;
    let said = home.run(&["rollback", "app/photos", "--to", "9"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("it has 1, 2, 3"), "{said:?}");
    let said = home.run(&["rollback", "app/photos", "--to", "nonsense"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("revision/nonsense"), "{said:?}");
    let secret = home
        .file("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { pw: hunter2 }\n");
    assert_eq!(home.run(&["apply", "-f", &secret]).await.exit, Exit::Done);
    let said = home.run(&["rollback", "secret/s"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("not kept anywhere"), "{said:?}");
    let app = home.app("album").await;
    home.make(part_of(&app, "Volume", "album-data", json!({ "path": "data", "instance": "album" }))).await;
    let said = home.run(&["rollback", "volume/album-data"]).await;
    assert!(said.exit == Exit::Rejected && said.err.contains("hearth rollback app/album"), "{said:?}");
    let said = home.run(&["rollback", "app/album"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("no earlier spec"), "{said:?}");
    home.take_down_later("App", "photos");
    home.run(&["delete", "app/photos", "--timeout", "30s"]).await;
    let said = home.run(&["rollback", "app/photos"]).await;
    assert!(said.exit == Exit::NotFound && said.err.contains("hearth recover adopt app/photos"), "{said:?}");
    let said = home.run(&["rollback", "app/fotos"]).await;
    assert_eq!(said.exit, Exit::NotFound, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_there_for_programs_too_and_for_kinds_of_the_whole_machine() {
    let home = with_three_generations().await;
    let said = home.run(&["history", "app/photos", "-o", "json"]).await;
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(told["items"][1]["generation"], 2);
    assert!(told["items"][0]["spec"]["compose"].as_str().unwrap().contains("one"));
    let said = home.run(&["history", "namespace/household"]).await;
    assert!(said.exit == Exit::Done && said.out.contains("created by"), "{said:?}");
}
