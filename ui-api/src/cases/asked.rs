//! What a case has asked for so far, so that all of it can be asked for again.

use hearth_engine::Key;
use serde_json::Value;

use super::case::{Act, Asking, Fault, Verb};
use super::home::{Home, as_declared, merge};
use crate::world::crash::{Asked, Wish};

/// Every object that was asked for, the one whose wish is oldest first.
#[derive(Default)]
pub(super) struct AskedFor(Vec<(Key, Last)>);

/// What is known of the last wish for an object.
enum Last {
    /// It is to be so.
    Declared(Value),
    /// What it says in full only the store knows: it was changed without being declared, or nobody waited for the
    /// answer.
    Unknown,
    /// It is to be no more.
    Deleted,
}

impl AskedFor {
    /// Takes what a step asks for, once it is carried out.
    pub(super) fn take(&mut self, verb: &Verb) {
        match verb {
            Verb::Ask(asked) => asked.iter().for_each(|one| self.one(one)),
            Verb::Disturb(_, faults) => {
                for fault in faults {
                    if let Fault::At(_, Act::Ask(asked)) = fault {
                        asked.iter().for_each(|one| self.soon(one));
                    }
                }
            }
            _ => {}
        }
    }

    fn one(&mut self, asked: &Asking) {
        match asked {
            Asking::Apply(object) => self.put(key_of(object), Last::Declared(object.clone())),
            Asking::Delete(named) => self.put(named.key.clone(), Last::Deleted),
            Asking::Change(named, change) => {
                let known = self.0.iter_mut().find(|(key, _)| *key == named.key);
                match known {
                    Some((_, Last::Declared(object))) => merge(object, change),
                    _ => self.put(named.key.clone(), Last::Unknown),
                }
            }
            Asking::Package(..) => {}
        }
    }

    /// Nobody waited for the answer, so it may have been refused.
    fn soon(&mut self, asked: &Asking) {
        match asked {
            Asking::Apply(object) => self.put(key_of(object), Last::Unknown),
            Asking::Delete(named) | Asking::Change(named, _) => self.put(named.key.clone(), Last::Unknown),
            Asking::Package(..) => {}
        }
    }

    fn put(&mut self, key: Key, last: Last) {
        self.0.retain(|(other, _)| *other != key);
        self.0.push((key, last));
    }

    /// Whether nothing was ever asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of it that stands, to be asked for once more.
    ///
    /// # Errors
    /// What was asked for stands, and none of it can be asked for again.
    pub(super) fn again(&self, home: &Home) -> Result<Wish, String> {
        let (mut again, mut left) = (Vec::new(), Vec::new());
        for (key, last) in &self.0 {
            let Some(stands) = home.world.store().get(key) else { continue };
            match last {
                Last::Declared(object) => again.push(Asked::Apply(object.clone())),
                _ if stands.is_going() => left.push(key.to_string()),
                Last::Unknown => again.push(Asked::Apply(as_declared(stands.to_value()))),
                // Somebody else wants it.
                Last::Deleted => {}
            }
        }
        if again.is_empty() && !left.is_empty() {
            return Err(format!("nothing can be applied again: {} is still being removed", left.join(", ")));
        }
        Ok(Wish::of(again))
    }
}

/// The key of an object that was judged, and so names its kind and, where it has one, its namespace.
fn key_of(object: &Value) -> Key {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    Key::new(word(&object["kind"]), word(&metadata["namespace"]), word(&metadata["name"]))
}
