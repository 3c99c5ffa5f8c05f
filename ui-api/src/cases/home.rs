//! The home that a case is carried out in: a world, what lasts in it, and the story of it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::case::{Asking, Named};
use super::story::Story;
use crate::world::crash::{Asked, Wish};
use crate::world::settle::CALM;
use crate::world::{Trouble, World};

/// How something that lasts is over, in this home or in one that was forked from it.
pub(super) type Mend = Rc<dyn Fn(&mut World)>;

/// A home, and what goes on in it.
pub(super) struct Home {
    pub(super) world: World,
    pub(super) story: Story,
    /// Whether faults at counted moments are dealt out.
    pub(super) armed: Rc<Cell<bool>>,
    /// What lasts until it is mended, by what it is called.
    pub(super) lasting: BTreeMap<String, Mend>,
}

impl Home {
    /// A new home, served and at rest.
    pub(super) fn new(seed: u64) -> Result<Self, Trouble> {
        let mut home = Self {
            world: World::new(seed)?,
            story: Story::default(),
            armed: Rc::default(),
            lasting: BTreeMap::new(),
        };
        home.serve()?;
        home.world.quiet_for(CALM)?;
        home.story.begin(&home.world);
        home.world.teller = Some(home.story.teller());
        Ok(home)
    }

    /// Starts serving, judged from here on: while nobody served, no status could be true.
    pub(super) fn serve(&mut self) -> Result<(), Trouble> {
        self.world.judge();
        self.world.start()
    }

    /// What is asked for, as a wish: packages are laid on the disk, and changes made to what stands now.
    pub(super) fn wish(&self, asked: &[Asking]) -> Result<Wish, String> {
        let mut wish = Vec::new();
        for one in asked {
            match one {
                Asking::Package(path, files) => self.world.machine.put_package(path, files.clone()),
                Asking::Apply(object) => wish.push(Asked::Apply(object.clone())),
                Asking::Delete(named) => {
                    let name = format!("{}/{}", named.key.namespace, named.key.name);
                    wish.push(Asked::Delete { kind: named.key.kind.to_string(), name });
                }
                Asking::Change(named, change) => {
                    let object = self.find(named).ok_or_else(|| format!("{named} is not there"))?;
                    wish.push(Asked::Apply(changed(object, change)));
                }
            }
        }
        Ok(Wish::of(wish))
    }

    /// The same home as a crash would leave it now, in which what lasts is over.
    pub(super) fn mended_fork(&self, seed: u64) -> Result<World, Trouble> {
        let mut fork = self.world.fork(seed)?;
        self.lasting.values().for_each(|mend| mend(&mut fork));
        Ok(fork)
    }

    /// An object as it stands.
    pub(super) fn find(&self, named: &Named) -> Option<Value> {
        self.world.store().get(&named.key).map(|object| object.to_value())
    }
}

/// An object with some fields otherwise; null removes one. What only the server sets is left out.
fn changed(object: Value, change: &Value) -> Value {
    let mut object = as_declared(object);
    merge(&mut object, change);
    object
}

/// An object as it stands, as somebody would declare it.
pub(super) fn as_declared(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&field.as_str()));
    }
    object
}

/// Sets fields as a change says; null removes one.
pub(super) fn merge(value: &mut Value, change: &Value) {
    let Value::Object(fields) = change else {
        *value = change.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    for (field, change) in fields {
        if change.is_null() {
            value.as_object_mut().map(|fields| fields.remove(field));
        } else {
            merge(&mut value[field.as_str()], change);
        }
    }
}
