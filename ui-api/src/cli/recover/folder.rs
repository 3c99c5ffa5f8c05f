//! The manifests folder in `hearth recover`: how it stands, and an answer to what it asks.

use hearth_meta::Problem;
use http::Method;
use serde_json::{Value, json};

use super::super::client::{Client, JSON, Trouble};
use super::super::exit::{Exit, Outcome};
use super::super::output::Output;

/// The place of the folder, of its question and of the answer.
const PLACE: &str = "/hearth/v1/manifests";

/// How the folder stands; null where the server keeps none.
pub(super) async fn ask(client: &Client) -> Result<Value, Trouble> {
    Ok(client.get(PLACE).await?["manifests"].clone())
}

/// Whether it waits for a person.
pub(super) fn asks(folder: &Value) -> bool {
    folder["question"].is_object() && folder["question"]["kept"] != true
}

/// Answers its question, about exactly what is listed now.
///
/// # Errors
/// No server, or one that asks something else by now.
pub(super) async fn answer(remove: bool, client: &Client, out: &Output) -> Outcome {
    let question = ask(client).await?["question"].clone();
    let Some(id) = question["id"].as_str() else {
        out.note("the manifests folder asks nothing");
        return Ok(Exit::Done);
    };
    client.send(Method::POST, PLACE, JSON, &json!({ "question": id, "remove": remove })).await?;
    let fate = if remove { "deletion asked for" } else { "kept" };
    listed(&question["removes"]).for_each(|name| out.line(&format!("{name} {fate}")));
    Ok(Exit::Done)
}

fn listed(names: &Value) -> impl Iterator<Item = &str> {
    names.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Tells how the folder stands, where there is one.
pub(super) fn tell(folder: &Value, out: &Output) {
    if folder.is_null() {
        return;
    }
    let word = |field: &str| folder[field].as_str().unwrap_or_default();
    let name = word("folder");
    out.line(&format!("Folder {name}: {} objects in {} files", folder["objects"], folder["files"]));
    if !folder["blind"].is_null() {
        out.line(&format!("Nothing is removed because of {name}: {}", word("blind")));
    }
    if !folder["unwatched"].is_null() {
        out.line(&format!("Changes in {name} are noticed within a minute: {}", word("unwatched")));
    }
    let problems: Vec<Problem> = serde_json::from_value(folder["problems"].clone()).unwrap_or_default();
    problems.iter().for_each(|problem| out.line(&format!("  {problem}")));
    let question = &folder["question"];
    if !question.is_object() {
        return;
    }
    let why = question["why"].as_str().unwrap_or_default();
    out.line(&format!("{why}. They stay until somebody says otherwise:"));
    listed(&question["removes"]).for_each(|name| out.line(&format!("  {name}")));
    out.line(match asks(folder) {
        false => {
            "Somebody said that they stay; `hearth recover remove-undeclared` deletes them all the same."
        }
        true => {
            "Bring the files back, or answer with `hearth recover remove-undeclared` or \
             `hearth recover keep-undeclared`."
        }
    });
}
