//! What would come of a wish on the machine, in words: as the controllers would plan it, never guessed.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use hearth_engine::controller::{Blind, Foreseen};
use hearth_engine::{Engine, Object, Store, WriteError, WriteOptions};
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
        told.push(Effect::of("its data stays as it is".into()));
    }
    Ok(told.into_iter().map(|effect| effect.words).collect())
}

/// One thing that would happen.
struct Effect {
    words: String,
    ends_something: bool,
}

impl Effect {
    /// One that takes nothing away.
    fn of(words: String) -> Self {
        Self { words, ends_something: false }
    }
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
            return Ok(made(child).map(Effect::of).into_iter().collect());
        };
        let spec = child.spec().clone();
        let change = move |old: &Object| {
            let mut new = old.clone();
            new.body.insert("spec".into(), spec);
            Ok(new)
        };
        let options = WriteOptions { dry_run: true, ..WriteOptions::controller("app") };
        let tried = match self.store.update(&key, &options, change).await {
            Ok(tried) => tried,
            Err(error) => return refused(child, error),
        };
        if depth < DEEPEST { self.at(&tried, depth + 1).await } else { Ok(Vec::new()) }
    }
}

/// What it means that a part could not be tried as it would be written: what the rules refuse will not be, and where
/// the try itself failed nothing is known.
fn refused(child: &Object, error: WriteError) -> Result<Vec<Effect>, Blind> {
    let name = format!("{}/{}", child.kind.to_lowercase(), child.name());
    let why = match error {
        // It went while this was looked at, and would be made.
        WriteError::NotFound(_) => return Ok(made(child).map(Effect::of).into_iter().collect()),
        WriteError::Invalid(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            problems.join("; ")
        }
        WriteError::Forbidden(why) => why,
        other => return Err(Blind(format!("{name} could not be tried: {other}"))),
    };
    Ok(vec![Effect::of(format!("{name} stays as it is, since it is refused: {why}"))])
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

#[cfg(test)]
mod tests {
    use hearth_engine::{Object, WriteError};
    use hearth_meta::Problem;
    use serde_json::json;

    use super::refused;

    #[test]
    fn what_could_not_be_tried_is_never_told_as_nothing() {
        let child =
            json!({ "apiVersion": "hearth.dev/v1", "kind": "Container", "metadata": { "name": "web" } });
        let child = Object::from_value(child).unwrap();
        let told = |error| match refused(&child, error) {
            Ok(effects) => effects.into_iter().map(|effect| effect.words).collect::<Vec<_>>().join(", "),
            Err(blind) => format!("unknown: {}", blind.0),
        };
        assert_eq!(told(WriteError::NotFound(child.key())), "container/web is made");
        let problem = Problem::new("spec.image", "is required");
        let refusal = "container/web stays as it is, since it is refused: ";
        assert_eq!(told(WriteError::Invalid(vec![problem])), format!("{refusal}spec.image: is required"));
        assert_eq!(told(WriteError::Forbidden("no".into())), format!("{refusal}no"));
        for error in
            [WriteError::Closed, WriteError::Storage("full".into()), WriteError::Conflict("x".into())]
        {
            assert!(told(error).starts_with("unknown: container/web could not be tried"));
        }
    }
}
