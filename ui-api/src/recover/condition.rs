//! How a store stands that no server has open, in plain words, and the exact next command for each case.

use std::path::Path;

use hearth_engine::store::{Examined, OpenError, examine};
use serde_json::{Value, json};

/// How a store stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// One word of [`CONDITIONS`].
    pub state: &'static str,
    /// What is seen, in one sentence.
    pub message: String,
    /// What to do next, the safest first.
    pub next: Vec<String>,
    /// What it says of itself, where it could be read.
    pub store: Option<Examined>,
}

/// Every word there is for how a store stands.
pub const CONDITIONS: [&str; 9] =
    ["Ready", "ObserveOnly", "None", "InUse", "Lost", "Damaged", "Newer", "WrongKey", "Unreadable"];

impl Condition {
    /// Whether `hearth recover rebuild` may make a store in its place.
    pub fn may_be_rebuilt(&self) -> bool {
        matches!(self.state, "None" | "Lost" | "Damaged" | "WrongKey")
    }

    /// As JSON, for programs.
    pub fn to_value(&self) -> Value {
        let store = self.store.as_ref();
        json!({
            "state": self.state,
            "message": self.message,
            "next": self.next,
            "lineage": store.map(|store| &store.lineage),
            "resourceVersion": store.map(|store| store.resource_version.to_string()),
        })
    }
}

/// Looks at the store in a folder, without changing anything.
pub async fn condition(data_dir: &Path) -> Condition {
    let dir = data_dir.display();
    let serve = format!("hearth serve --data-dir {dir}");
    let rebuild = format!("hearth recover rebuild --data-dir {dir}");
    let restore = format!("hearth restore BACKUP --data-dir {dir}   (a backup, or a copy from {dir}/copies)");
    let of = |state, message: String, next: Vec<String>| Condition { state, message, next, store: None };
    match examine(data_dir).await {
        Ok(None) => of("None", format!("There is no store in {dir}"), vec![serve, rebuild]),
        Ok(Some(examined)) => {
            let (state, message) = match &examined.observe_only {
                Some(why) => ("ObserveOnly", why.clone()),
                None => ("Ready", "The store is whole".to_owned()),
            };
            let next = match state {
                "Ready" => vec![serve],
                _ => vec![serve, "hearth recover status".to_owned(), restore],
            };
            Condition { store: Some(examined), ..of(state, message, next) }
        }
        Err(error) => {
            let message = error.to_string();
            let (state, next) = match &error {
                OpenError::InUse(_) => ("InUse", vec!["hearth recover status".to_owned()]),
                OpenError::Newer { .. } => ("Newer", vec!["run the newer program again".to_owned(), restore]),
                OpenError::Missing { .. } => ("Lost", vec![restore, rebuild]),
                OpenError::Key { .. } => ("WrongKey", vec![restore, rebuild]),
                OpenError::File { source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                    ("Unreadable", vec![format!("see to it that {dir} can be read, as root")])
                }
                // A store whose key is gone has secrets that nobody can read any more.
                OpenError::File { .. } => ("WrongKey", vec![restore, rebuild]),
                damaged if damaged.is_damage() => ("Damaged", vec![restore, rebuild]),
                _ => ("Unreadable", vec![format!("see to the disk that {dir} is on, then try again")]),
            };
            of(state, message, next)
        }
    }
}
