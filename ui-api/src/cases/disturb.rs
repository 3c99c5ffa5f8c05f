//! Faults at counted moments: the so-manieth call, write or event, or after so many happenings.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use hearth_capabilities::{Fault as Told, Happening};
use hearth_engine::WriteError;
use hearth_pretend::Op;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::breaks;
use super::case::{Act, Break, Broken, Fault};
use super::home::Home;
use super::parse::Reader;
use super::schema::{CALL_ANSWERS, EVENT_ANSWERS};
use crate::cli::duration;
use crate::world::{Point, Trouble, TroubleKind, Verdict, Verdicts};

/// For how many happenings a home is disturbed where nothing is said.
pub(super) const HAPPENINGS: u64 = 500;
/// How long what hangs or is slow takes where nothing is said.
const TIME: Duration = Duration::from_secs(30);
/// How many looks ago a stale answer is from where nothing is said.
const LOOKS: usize = 4;
/// What may be done at a moment.
const ACTS: [&str; 5] = ["apply", "change", "delete", "break", "restart"];
/// What a fault begins with.
const WHERE: [&str; 4] = ["call", "event", "write", "at"];

/// Reads the faults of a `disturb`.
pub(super) fn parse(reader: &mut Reader<'_>, at: &str, value: &Value) -> (u64, Vec<Fault>) {
    let happenings = value["happenings"].as_u64().unwrap_or(HAPPENINGS);
    let faults = value["faults"].as_array().cloned().unwrap_or_default();
    if faults.is_empty() && value.get("happenings").is_none() {
        reader.problem(at, "needs faults, or for how many happenings it goes on without any");
    }
    let mut read = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let at = format!("{at}.faults[{number}]");
        let one = one(reader, &at, fault);
        if let Some(Fault::At(moment, _)) = &one
            && *moment >= happenings
        {
            let said = format!("never comes: the step is over after {happenings} happenings");
            reader.problem(&format!("{at}.at"), said);
        }
        read.extend(one);
    }
    (happenings, read)
}

fn one(reader: &mut Reader<'_>, at: &str, fault: &Value) -> Option<Fault> {
    let begins: Vec<&str> = WHERE.iter().copied().filter(|field| fault.get(*field).is_some()).collect();
    let number = |field: &str| fault[field].as_u64();
    let times = number("times").unwrap_or(1);
    let read = match begins.as_slice() {
        ["call"] => call(fault, number("nth").unwrap_or(0), times),
        ["event"] => event(fault, number("event").unwrap_or(0), times),
        ["write"] => write(fault, number("write").unwrap_or(0), times),
        ["at"] => return moment(reader, at, fault, number("at").unwrap_or(0)),
        _ => Err(format!("is at one place: {}", WHERE.join(", "))),
    };
    reader.told(at, read)
}

fn event(fault: &Value, nth: u64, times: u64) -> Result<Fault, String> {
    let time = fault["for"].as_str().map(duration::parse).transpose()?.unwrap_or(TIME);
    let (verdict, details): (_, &[&str]) = match fault["answer"].as_str() {
        Some("lost") => (Verdict::Lost, &[]),
        Some("twice") => (Verdict::Slow(Duration::ZERO), &[]),
        Some("late") => (Verdict::Late(time), &["for"]),
        _ => return Err(format!("an event may be {}", EVENT_ANSWERS.join(" or "))),
    };
    breaks::no_more_than(fault, details, &["event", "times", "answer"])?;
    Ok(Fault::Event(nth, times, verdict))
}

fn write(fault: &Value, nth: u64, times: u64) -> Result<Fault, String> {
    let verdict = match fault["answer"].as_str() {
        Some("full") => Verdict::Full,
        Some("refused") | None => Verdict::Lost,
        Some(_) => return Err("a write may be refused, or full".into()),
    };
    breaks::no_more_than(fault, &[], &["write", "times", "answer"])?;
    Ok(Fault::Write(nth, times, verdict))
}

fn call(fault: &Value, nth: u64, times: u64) -> Result<Fault, String> {
    let word = fault["call"].as_str().unwrap_or_default();
    let op = Op::ALL.iter().copied().find(|op| name(*op) == word).ok_or_else(|| {
        let known: Vec<String> = Op::ALL.iter().map(|op| name(*op)).collect();
        let meant = hearth_meta::problem::nearest(word, known.iter().map(String::as_str));
        let hint =
            meant.map_or_else(|| format!("it may be {}", known.join(", ")), |m| format!("did you mean {m}?"));
        format!("there is no call {word:?}; {hint}")
    })?;
    let time = fault["for"].as_str().map(duration::parse).transpose()?.unwrap_or(TIME);
    let looks = fault["looks"].as_u64().and_then(|looks| usize::try_from(looks).ok());
    let verdict = match fault["answer"].as_str() {
        Some("blind") => Verdict::Fail(Told::Blind("no answer: connection refused".into())),
        Some("failed") => Verdict::Fail(Told::Failed("the engine says no".into())),
        Some("refused") => Verdict::Fail(Told::Refused("the engine does not allow it".into())),
        Some("lost") => Verdict::Lost,
        Some("hangs") => Verdict::Hang(time),
        Some("slow") => Verdict::Slow(time),
        Some("stale") => Verdict::Stale(looks.unwrap_or(LOOKS)),
        Some("empty") => Verdict::Empty,
        Some("partial") => Verdict::Partial,
        _ => return Err(format!("say how the call is answered: {}", CALL_ANSWERS.join(", "))),
    };
    let details: &[&str] = match verdict {
        Verdict::Hang(_) | Verdict::Slow(_) => &["for"],
        Verdict::Stale(_) => &["looks"],
        _ => &[],
    };
    breaks::no_more_than(fault, details, &["call", "of", "nth", "times", "answer"])?;
    Ok(Fault::Call { op, of: fault["of"].as_str().map(str::to_owned), nth, times, verdict })
}

fn moment(reader: &mut Reader<'_>, at: &str, fault: &Value, moment: u64) -> Option<Fault> {
    let acts: Vec<&str> = ACTS.iter().copied().filter(|act| fault.get(*act).is_some()).collect();
    let [act] = acts.as_slice() else {
        reader.problem(at, format!("does one thing at that moment: write one of {}", ACTS.join(", ")));
        return None;
    };
    reader.told(at, breaks::no_more_than(fault, &[act], &["at"]))?;
    let (place, value) = (format!("{at}.{act}"), &fault[*act]);
    let act = match *act {
        "break" => {
            let broken = reader.told(&place, breaks::parse(value))?;
            if matches!(broken.what, Broken::Stopped) {
                let said =
                    "nothing happens while the server is stopped; write `restart`, or that it is killed";
                reader.problem(&place, said);
                return None;
            }
            Act::Break(broken)
        }
        "restart" => Act::Restart,
        verb => Act::Ask(reader.asked(&place, verb, value, false)),
    };
    Some(Fault::At(moment, act))
}

/// An operation as a case calls it, such as `createContainer`.
pub(super) fn name(op: Op) -> String {
    let name = format!("{op:?}");
    name[..1].to_lowercase() + &name[1..]
}

/// Which faults have come up, by their numbers.
type Seen = Rc<RefCell<BTreeSet<usize>>>;

/// Tells each point how to go on by the faults, while they are armed.
fn verdicts(faults: &[Fault], armed: &Rc<Cell<bool>>, seen: &Seen) -> Verdicts {
    let (faults, armed, seen) = (faults.to_vec(), armed.clone(), seen.clone());
    // Of calls about one thing alone, each fault counts its own.
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    Box::new(move |point| {
        if !armed.get() {
            return Verdict::Go;
        }
        let mut told = Verdict::Go;
        for (number, fault) in faults.iter().enumerate() {
            let (from, times, verdict) = match (fault, point) {
                (Fault::Call { op, of, nth, times, verdict }, Point::Call(called, object))
                    if op == called && of.as_ref().is_none_or(|of| of == object) =>
                {
                    (*nth, *times, verdict.clone())
                }
                // That somebody listens again is known to whoever does.
                (Fault::Event(nth, times, verdict), Point::Event(_, happening))
                    if *happening != Happening::Listening =>
                {
                    (*nth, *times, verdict.clone())
                }
                (Fault::Write(nth, times, verdict), Point::Write) => (*nth, *times, verdict.clone()),
                _ => continue,
            };
            let count = counts.entry(number).or_default();
            if (from..from.saturating_add(times)).contains(count) && told == Verdict::Go {
                told = verdict;
                seen.borrow_mut().insert(number);
            }
            *count += 1;
        }
        told
    })
}

/// What somebody asked for without waiting for the answer.
type Asked = JoinHandle<Result<(), WriteError>>;

impl Home {
    /// Goes on for so many happenings, with faults.
    ///
    /// # Errors
    /// Where something that must always hold does not, what is to be changed or broken is not there, or a fault
    /// never came up.
    pub(super) fn disturbed(&mut self, happenings: u64, faults: &[Fault]) -> Result<(), Trouble> {
        let seen = Seen::default();
        self.world.faults = verdicts(faults, &self.armed, &seen);
        self.armed.set(true);
        let began = self.world.happened.count;
        let mut acts: Vec<(u64, &Act)> = faults
            .iter()
            .filter_map(|fault| if let Fault::At(at, act) = fault { Some((*at, act)) } else { None })
            .collect();
        acts.sort_by_key(|(at, _)| *at);
        let mut acts = acts.into_iter().peekable();
        let mut asked = Vec::new();
        while self.world.happened.count - began < happenings {
            while let Some((at, act)) = acts.next_if(|(at, _)| self.world.happened.count - began >= *at) {
                let when = format!("after {at} happenings");
                asked.extend(self.perform(act).map_err(|trouble| trouble.of(&when))?);
            }
            self.world.step()?;
        }
        self.armed.set(false);
        self.tell_refusals(asked);
        let never = |(number, fault): (usize, &Fault)| {
            let is_due = !matches!(fault, Fault::At(..)) && !seen.borrow().contains(&number);
            is_due.then(|| {
                format!("fault {number} never comes up in {happenings} happenings: {}", in_words(fault))
            })
        };
        let never: Vec<String> = faults.iter().enumerate().filter_map(never).collect();
        if never.is_empty() { Ok(()) } else { Err(self.wrong(never.join("\n"))) }
    }

    /// What was refused meanwhile is part of the story; a disk that is full refuses everything.
    fn tell_refusals(&self, asked: Vec<Asked>) {
        for asked in asked {
            // What is yet to be answered will be; what died with a server was never answered.
            if asked.is_finished()
                && let Some(Ok(Err(error))) = asked.now_or_never()
            {
                self.story.step(&format!("what was asked for meanwhile is refused: {error}"));
            }
        }
    }

    fn wrong(&self, said: String) -> Trouble {
        self.world.trouble(TroubleKind::World, said)
    }

    fn perform(&mut self, act: &Act) -> Result<Option<Asked>, Trouble> {
        match act {
            Act::Ask(asked) => {
                let wish = self.wish(asked).map_err(|said| self.wrong(said))?;
                return Ok(Some(wish.ask(&self.world)));
            }
            Act::Break(Break { what: Broken::Killed, lasts }) => self.dies(*lasts)?,
            Act::Break(broken) => self.suffer(broken).map_err(|said| self.wrong(said))?,
            Act::Restart => self.dies(None)?,
        }
        Ok(None)
    }

    /// The server dies, and comes up on a sound disk and machine: what goes wrong then goes wrong in a home that runs.
    fn dies(&mut self, down: Option<Duration>) -> Result<(), Trouble> {
        self.armed.set(false);
        self.world.over_at_once();
        let mended = self.mend(None);
        self.world.crash();
        self.world.stay_down(down.unwrap_or_default());
        self.serve()?;
        self.armed.set(true);
        mended.map_err(|said| self.wrong(said))
    }
}

/// A fault as a case says it, for whoever looks for it there.
fn in_words(fault: &Fault) -> String {
    match fault {
        Fault::Call { op, of: None, nth, .. } => format!("call {} {nth}", name(*op)),
        Fault::Call { op, of: Some(of), nth, .. } => format!("call {} {nth} of {of}", name(*op)),
        Fault::Event(nth, ..) => format!("event {nth}"),
        Fault::Write(nth, ..) => format!("write {nth}"),
        Fault::At(at, _) => format!("at {at}"),
    }
}
