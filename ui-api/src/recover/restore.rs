//! Brings an app and its parts back into a store, each with the uid it had, so that what stands is its own again.

use hearth_engine::{Key, Object, Store, WriteError, WriteOptions};
use serde_json::json;

use hearth_controllers::app::Record;

/// What came of an app.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// How many objects are back.
    pub objects: usize,
    /// What is not, and why.
    pub problems: Vec<String>,
    /// The uids of parts that are not back: whoever declares one again gets its uid.
    pub missing: Vec<(Key, String)>,
}

/// Brings back an app with its parts. What is there already as it was is success, so that this may be done again.
///
/// # Errors
/// Why the app itself is not back; then none of its parts is.
pub async fn restore(store: &Store, record: &Record, options: &WriteOptions) -> Result<Restored, String> {
    let namespace = record.app.metadata.namespace.clone().unwrap_or_default();
    make_namespace(store, &namespace, options).await?;
    put(store, record.app.clone(), options).await?;
    let mut restored = Restored { objects: 1, ..Restored::default() };
    for part in &record.parts {
        match put(store, part.clone(), options).await {
            Ok(()) => restored.objects += 1,
            Err(why) => {
                restored.problems.push(format!("{}: {why}", part.key()));
                restored.missing.push((part.key(), part.uid().to_owned()));
            }
        }
    }
    for (name, key) in record.secrets() {
        if !has_secret(store, &namespace, &name, &key) {
            let message =
                format!("Secret {namespace}/{name} with the key {key} is used by {}", record.app.key());
            restored.problems.push(format!("{message}; declare it again"));
        }
    }
    Ok(restored)
}

async fn put(store: &Store, object: Object, options: &WriteOptions) -> Result<(), String> {
    let (key, uid) = (object.key(), object.uid().to_owned());
    match store.restore(object, options).await {
        Ok(_) => Ok(()),
        Err(WriteError::AlreadyExists(_)) => match store.get(&key) {
            Some(there) if there.uid() == uid => Ok(()),
            _ => Err(format!("{key} exists here already and is another one; rename or delete it first")),
        },
        Err(error) => Err(error.to_string()),
    }
}

/// A namespace goes with nothing that is lost, so it is simply made.
async fn make_namespace(store: &Store, name: &str, options: &WriteOptions) -> Result<(), String> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let namespace = Object::from_value(namespace)?;
    match store.create(namespace, options).await {
        Ok(_) | Err(WriteError::AlreadyExists(_)) => Ok(()),
        Err(error) => Err(format!("its namespace {name} could not be made: {error}")),
    }
}

/// Whether a key of a Secret is there.
pub fn has_secret(store: &Store, namespace: &str, name: &str, key: &str) -> bool {
    let secret = store.get(&Key::new("Secret", namespace, name));
    secret.is_some_and(|secret| secret.body.get("data").is_some_and(|data| data.get(key).is_some()))
}
