//! What would come of a wish on the machine, in words: as the controllers would plan it, never guessed.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use hearth_engine::controller::{Blind, Foreseen};
use hearth_engine::{Engine, Object, Store, WriteOptions};
use serde_json::Value;

use super::places::Inside;

/// An app writes its parts, and they write nothing; deeper there is nothing to ask.
const DEEPEST: usize = 3;
/// How long people wait for it.
const LIMIT: Duration = Duration::from_secs(15);

/// What would be done if an object became what it is given as. Nothing where nothing would be, or nobody knows its kind.
///
/// # Errors
/// Where the machine cannot be seen, so that nothing is known.
pub(super) async fn of(inside: &Inside, object: &Object) -> Result<Vec<String>, Blind> {
    let Some(engine) = &inside.behind().engine else { return Ok(Vec::new()) };
    let look = Look { store: inside.store(), engine };
    let told = tokio::time::timeout(LIMIT, look.at(object, 0)).await;
    let mut told =
        told.unwrap_or_else(|_| Err(Blind(format!("no answer within {} seconds", LIMIT.as_secs()))))?;
    let ends_something = told.iter().any(|effect| effect.ends_something);
    if object.kind == "App" && ends_something && has_data(inside.store(), object) {
        told.push(Effect { words: "its data stays as it is".into(), ends_something: false });
    }
    Ok(told.into_iter().map(|effect| effect.words).collect())
}

/// One thing that would happen.
struct Effect {
    words: String,
    ends_something: bool,
}

struct Look<'a> {
    store: &'a Store,
    engine: &'a Engine,
}

/// What a look comes to.
type Told<'a> = Pin<Box<dyn Future<Output = Result<Vec<Effect>, Blind>> + Send + 'a>>;

impl Look<'_> {
    fn at<'a>(&'a self, object: &'a Object, depth: usize) -> Told<'a> {
        Box::pin(async move {
            let steps = match self.engine.foresee(object).await {
                Some(steps) => steps?,
                None => return Ok(Vec::new()),
            };
            let mut told = Vec::new();
            for child in steps.iter().flat_map(|step| &step.writes) {
                told.extend(self.written(child, depth).await?);
            }
            told.extend(own(object, &steps));
            Ok(told)
        })
    }

    /// What would come of an object that is written on the way.
    async fn written(&self, child: &Object, depth: usize) -> Result<Vec<Effect>, Blind> {
        let key = child.key();
        if self.store.get(&key).is_none() {
            return Ok(made(child)
                .map(|words| Effect { words, ends_something: false })
                .into_iter()
                .collect());
        };
        let spec = child.spec().clone();
        let change = move |old: &Object| {
            let mut new = old.clone();
            new.body.insert("spec".into(), spec);
            Ok(new)
        };
        let options = WriteOptions { dry_run: true, ..WriteOptions::controller("app") };
        // What the rules would refuse is told when the app says so in its status.
        let Ok(tried) = self.store.update(&key, &options, change).await else { return Ok(Vec::new()) };
        if depth < DEEPEST { self.at(&tried, depth + 1).await } else { Ok(Vec::new()) }
    }
}

/// What the steps do that write nothing, as one line about the object.
fn own(object: &Object, steps: &[Foreseen]) -> Vec<Effect> {
    let steps: Vec<&Foreseen> = steps.iter().filter(|step| step.writes.is_empty()).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let name = format!("{}/{}", object.kind.to_lowercase(), object.name());
    let ends_something = steps.iter().any(|step| step.takes_away);
    let words = if ends_something && !object.is_going() {
        format!("{name} is stopped, removed and made anew")
    } else {
        let doing: Vec<String> = steps.iter().map(|step| lower(&step.doing)).collect();
        format!("{name}: {}", doing.join(", "))
    };
    vec![Effect { words, ends_something }]
}

/// What a new part means to people; the rest only carries it.
fn made(child: &Object) -> Option<String> {
    let text = |field: &str| child.spec()[field].as_str().unwrap_or_default().to_owned();
    match child.kind.as_str() {
        "Image" => Some(format!("image {} is pulled where it is not here", text("reference"))),
        "Container" => Some(format!("container/{} is made", child.name())),
        "Volume" => Some(format!("a folder of data is made: {}", text("path"))),
        "Route" => Some(format!("it answers at {}", hosts(child).join(", "))),
        _ => None,
    }
}

fn hosts(route: &Object) -> Vec<String> {
    let hosts = route.spec()["hosts"].as_array().into_iter().flatten();
    hosts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn has_data(store: &Store, app: &Object) -> bool {
    store.owned_by(app.uid()).iter().any(|child| child.kind == "Volume")
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
