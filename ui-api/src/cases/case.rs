//! A case as it is run: what its file says, understood and judged.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_engine::Key;
use hearth_meta::{KindInfo, SignedDuration};
use hearth_pretend::{Backend, Op};
use serde_json::Value;

use crate::world::{About, Verdict};

/// A case: what is asked for, what happens, and what must come of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The sentence it is told by.
    pub name: String,
    /// Which order of happenings it is shown in.
    pub seed: u64,
    /// Why the home never comes to rest at the end, where that is so.
    pub restless: Option<String>,
    /// What is done and what must come of it.
    pub steps: Vec<Step>,
}

/// One step of a case.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its file and line, such as `cases/photos.yaml:12`.
    pub place: String,
    /// What it does, in a few words.
    pub words: String,
    /// What it does.
    pub verb: Verb,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Asks for something.
    Ask(Vec<Asking>),
    /// Asks for something that must be refused, with these words.
    Refused(Vec<Asking>, Value),
    /// Goes on until nothing moves.
    Settle,
    /// Lets time pass.
    Wait(Duration),
    /// Goes on until objects are so, for so long at most.
    Until(Vec<(Named, Value)>, Duration),
    /// Objects are so.
    Assert(Vec<(Named, Value)>),
    /// The machine is so.
    AssertMachine(Value),
    /// Something happens to the world.
    Break(Break),
    /// What lasts is over: all of it, or what is named.
    Mend(Option<Vec<String>>),
    /// The server is killed and starts again, perhaps with another seed.
    Restart(Option<u64>),
    /// What `hearth why` answers.
    Why(Vec<(Named, Value)>),
    /// What is among the events.
    Events(Vec<(Named, Vec<Value>)>),
    /// Something that is not Hearth's is made.
    Others(Others),
    /// Goes on for so many happenings with faults.
    Disturb(u64, Vec<Fault>),
}

/// One thing that is asked for.
#[derive(Clone, Debug)]
pub enum Asking {
    /// That an object be.
    Apply(Value),
    /// That fields of an object be otherwise.
    Change(Named, Value),
    /// That an object be no more.
    Delete(Named),
    /// A package folder on the machine's disk, which objects name.
    Package(String, BTreeMap<String, Vec<u8>>),
}

/// An object by the name a case calls it.
#[derive(Clone)]
pub struct Named {
    /// Its kind.
    pub kind: Arc<KindInfo>,
    /// Which one.
    pub key: Key,
    /// As it is written.
    pub written: String,
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key)
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Something that happens to the world behind Hearth's back.
#[derive(Clone, Debug)]
pub struct Break {
    /// What it happens to.
    pub what: Broken,
    /// When it is over by itself.
    pub lasts: Option<Duration>,
}

/// What is broken, and how.
#[derive(Clone, Debug)]
pub enum Broken {
    /// A container, and what becomes of it.
    Container(String, Blow),
    /// A network is removed.
    NetworkRemoved(String),
    /// Something foreign is set on a network.
    NetworkEdited(String),
    /// What a registry makes of an image: a word of the schema.
    Image(String, String),
    /// The containers of an image end again and again.
    ImageFails(String, i64, Duration),
    /// The folder of a volume: a word of the schema, and a mode.
    Volume(String, String, Option<u32>),
    /// A part of the machine answers nothing.
    Unreachable(Backend),
    /// No registry answers.
    NoRegistry,
    /// The engine forgot everything.
    Forgetful,
    /// Containers that do not run were taken away.
    Pruned,
    /// Images that are not used were taken away.
    PrunedImages,
    /// The proxy lost its configuration.
    ProxyEmptied,
    /// The store cannot write.
    StoreFull,
    /// Nothing is told of what happens.
    EventsLost,
    /// What happens to these is told so much later.
    EventsLate(Vec<About>, Duration),
    /// Every stream of events breaks off.
    EventsBroken,
    /// The server is killed, and comes up again; at once, or after as long as it lasts.
    Killed,
    /// The server is killed, and stays down until a restart.
    Stopped,
    /// The wall clock is set by so much.
    Clock(SignedDuration),
}

/// What becomes of a container.
#[derive(Clone, Debug)]
pub enum Blow {
    /// A word of the schema that needs no more.
    Word(String),
    /// Its process ends with a code.
    Exits(i64),
    /// Its process ends with a code after so long, each time.
    Fails(i64, Duration),
    /// Variables of it are changed.
    Edited(BTreeMap<String, String>),
    /// It leaves a network.
    Disconnected(String),
}

/// Something that is not Hearth's.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// A container.
    pub container: Option<String>,
    /// A network.
    pub network: Option<String>,
    /// The network's subnet.
    pub subnet: String,
    /// The container's image.
    pub image: String,
    /// Whether the container runs.
    pub runs: bool,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// One fault at a counted moment.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Calls of an operation, perhaps of one thing: from the so-manieth, so many of them.
    Call {
        /// Which operation.
        op: Op,
        /// About which thing alone.
        of: Option<String>,
        /// From which one.
        nth: u64,
        /// How many.
        times: u64,
        /// How they go on.
        verdict: Verdict,
    },
    /// Events, from the so-manieth, so many of them.
    Event(u64, u64, Verdict),
    /// Writes of the store that do not succeed, from the so-manieth, so many of them.
    Write(u64, u64, Verdict),
    /// After so many happenings, something is done.
    At(u64, Act),
}

/// What is done at a counted moment.
#[derive(Clone, Debug)]
pub enum Act {
    /// Something is asked for, and nobody waits for the answer.
    Ask(Vec<Asking>),
    /// Something happens to the world.
    Break(Break),
    /// The server is killed and starts again.
    Restart,
}

/// A file of cases.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}
