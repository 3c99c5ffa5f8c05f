//! `hearth schema`: the JSON Schema of a kind, by which editors complete and check what people write.

use std::time::Duration;

use clap::Args;
use hearth_kinds::{for_editors, json_schemas};
use serde_json::Value;

use super::client::{Client, Reach};
use super::complete;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::resource::kind_named;
use super::table::Table;
use super::version::of_server;
use crate::cases::schema::{KIND, published};
use crate::server::VERSION;

/// A server that is asked only whether it knows better has this long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Print the JSON Schema of a kind, for editors.
///
/// Of the server, where one answers that is of another version than this program. Without KIND, list what there is.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth schema app > app.json\n  hearth schema case > case.json    (for files of `hearth test`)\n\nThen an editor with a YAML language server knows it by the first line of a file:\n  # yaml-language-server: $schema=app.json"
)]
pub(super) struct Schema {
    /// The kind.
    #[arg(value_name = "KIND", add = complete::kinds_alone())]
    kind: Option<String>,
}

/// Carries out `hearth schema`.
///
/// # Errors
/// An unknown kind, or one without a schema.
pub(super) async fn run(args: Schema, reach: &Reach<'_>, out: &Output) -> Outcome {
    let Some(word) = &args.kind else { return Ok(list(out)) };
    let (name, own) = own(word)?;
    let of_server = match own["title"] == KIND {
        true => None,
        false => of_other_server(&own, reach).await,
    };
    let (schema, whose) = match of_server {
        Some((schema, version)) => (schema, format!("the server, hearth {version}")),
        None => (own, format!("hearth {VERSION}")),
    };
    out.line(&format!("{schema:#}"));
    out.note(&format!("the schema of {whose}; begin files with"));
    out.note(&format!("  # yaml-language-server: $schema={name}.json"));
    Ok(Exit::Done)
}

fn list(out: &Output) -> Exit {
    let mut table = Table::new(&["kind", "for"]);
    for (name, schema) in json_schemas() {
        table.push(vec![name, format!("kind: {}", schema["title"].as_str().unwrap_or_default())]);
    }
    table.push(vec!["case".into(), "files of `hearth test`".into()]);
    table.lines(out).iter().for_each(|line| out.line(line));
    out.note("print one with `hearth schema KIND > KIND.json`, then begin files with");
    out.note("  # yaml-language-server: $schema=KIND.json");
    Exit::Done
}

fn own(word: &str) -> Result<(String, Value), Failure> {
    if word.eq_ignore_ascii_case("case") {
        return Ok(("case".into(), published()));
    }
    let kind = kind_named(word)?;
    json_schemas().into_iter().find(|(name, _)| name == kind.singular).ok_or_else(|| {
        let message =
            format!("{} is a kind of Kubernetes itself; this program carries no schema of it", kind.kind);
        Failure::new(Exit::NotFound, message).next("editors have that of Kubernetes")
    })
}

/// What a server of another version says of the kind; nothing where none answers.
async fn of_other_server(own: &Value, reach: &Reach<'_>) -> Option<(Value, String)> {
    let client = reach.client().await.ok()?;
    let asked = tokio::time::timeout(PATIENCE, ask(&client, own));
    asked.await.ok().flatten()
}

async fn ask(client: &Client, own: &Value) -> Option<(Value, String)> {
    let version = client.get("/version").await.ok()?;
    let version = of_server(&version);
    if version == VERSION {
        return None;
    }
    let document = client.get("/openapi/v3/apis/hearth.dev/v1").await.ok()?;
    Some((of_document(&document, own["title"].as_str()?)?, version.to_owned()))
}

/// The schema of a kind in a document of the protocol.
fn of_document(document: &Value, kind: &str) -> Option<Value> {
    let mut schemas = document["components"]["schemas"].as_object()?.values();
    let is_of = |schema: &&Value| schema["x-kubernetes-group-version-kind"][0]["kind"] == kind;
    let mut schema = schemas.find(is_of)?.clone();
    for_editors(&mut schema, kind);
    Some(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of_document;

    #[test]
    fn a_kind_is_found_in_a_servers_document() {
        let gvk = |kind: &str| json!([{ "group": "hearth.dev", "version": "v1", "kind": kind }]);
        let document = json!({ "components": { "schemas": {
            "dev.hearth.v1.AppList": { "x-kubernetes-group-version-kind": gvk("AppList") },
            "dev.hearth.v1.App": { "type": "object", "x-kubernetes-group-version-kind": gvk("App") },
        } } });
        let schema = of_document(&document, "App").unwrap();
        assert_eq!((schema["title"].as_str(), schema["type"].as_str()), (Some("App"), Some("object")));
        assert!(schema["$schema"].as_str().unwrap().contains("draft-07"));
        assert!(of_document(&document, "Shelf").is_none());
    }
}
