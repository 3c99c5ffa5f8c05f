//! Faults at counted moments: the so-manieth call, write or event, or after so many happenings.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use hearth_capabilities::{Fault as Told, Happening};
use hearth_pretend::Op;
use serde_json::Value;

use super::breaks;
use super::case::{Act, Fault};
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
/// What a fault begins with.
const WHERE: [&str; 4] = ["call", "event", "write", "at"];

/// Reads the faults of a `disturb`.
pub(super) fn parse(reader: &mut Reader<'_>, at: &str, value: &Value) -> Vec<Fault> {
    let faults = value["faults"].as_array().cloned().unwrap_or_default();
    if faults.is_empty() {
        reader.problem(at, "needs faults");
    }
    let each = |(number, fault): (usize, Value)| one(reader, &format!("{at}.faults[{number}]"), &fault);
    faults.into_iter().enumerate().filter_map(each).collect()
}

fn one(reader: &mut Reader<'_>, at: &str, fault: &Value) -> Option<Fault> {
    let begins: Vec<&str> = WHERE.iter().copied().filter(|field| fault.get(*field).is_some()).collect();
    let number = |field: &str| fault[field].as_u64();
    let times = number("times").unwrap_or(1);
    let read = match begins.as_slice() {
        ["call"] => call(fault, number("nth").unwrap_or(0), times),
        ["event"] => {
            let answer = fault["answer"].as_str().unwrap_or_default();
            let verdict = if answer == "twice" { Verdict::Slow(Duration::ZERO) } else { Verdict::Lost };
            match EVENT_ANSWERS.contains(&answer) {
                true => Ok(Fault::Event(number("event").unwrap_or(0), times, verdict)),
                false => Err(format!("an event may be {}", EVENT_ANSWERS.join(" or "))),
            }
        }
        ["write"] => match fault["answer"].as_str() {
            Some("full") => Ok(Fault::Write(number("write").unwrap_or(0), times, Verdict::Full)),
            Some("refused") | None => Ok(Fault::Write(number("write").unwrap_or(0), times, Verdict::Lost)),
            Some(_) => Err("a write may be refused, or full".into()),
        },
        ["at"] => return moment(reader, at, fault, number("at").unwrap_or(0)),
        _ => Err(format!("is at one place: {}", WHERE.join(", "))),
    };
    reader.told(at, read)
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
    Ok(Fault::Call { op, of: fault["of"].as_str().map(str::to_owned), nth, times, verdict })
}

fn moment(reader: &mut Reader<'_>, at: &str, fault: &Value, moment: u64) -> Option<Fault> {
    for verb in ["apply", "change", "delete"] {
        if let Some(value) = fault.get(verb) {
            let asked = reader.asked(&format!("{at}.{verb}"), verb, value, false);
            return Some(Fault::At(moment, Act::Ask(asked)));
        }
    }
    if let Some(value) = fault.get("break") {
        let broken = reader.told(&format!("{at}.break"), breaks::parse(value))?;
        return Some(Fault::At(moment, Act::Break(broken)));
    }
    if fault.get("restart").is_some() {
        return Some(Fault::At(moment, Act::Restart));
    }
    reader.problem(at, "does nothing at that moment: write apply, change, delete, break or restart");
    None
}

/// An operation as a case calls it, such as `createContainer`.
pub(super) fn name(op: Op) -> String {
    let name = format!("{op:?}");
    name[..1].to_lowercase() + &name[1..]
}

/// Tells each point how to go on by the faults, while they are armed.
pub(super) fn verdicts(faults: &[Fault], armed: &Rc<Cell<bool>>, full: &Rc<Cell<bool>>) -> Verdicts {
    let (faults, armed, full) = (faults.to_vec(), armed.clone(), full.clone());
    // Of calls about one thing alone, each fault counts its own.
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    Box::new(move |point| {
        if matches!(point, Point::Write) && full.get() {
            return Verdict::Full;
        }
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
            if (from..from + times).contains(count) && told == Verdict::Go {
                told = verdict;
            }
            *count += 1;
        }
        told
    })
}

impl Home {
    /// Goes on for so many happenings, with faults.
    ///
    /// # Errors
    /// Where something that must always hold does not, or what is to be broken is not there.
    pub(super) fn disturbed(&mut self, happenings: u64, faults: &[Fault]) -> Result<(), Trouble> {
        self.world.faults = verdicts(faults, &self.armed, &self.store_is_full);
        self.armed.set(true);
        let began = self.world.happened.count;
        let mut acts: Vec<(u64, &Act)> = faults
            .iter()
            .filter_map(|fault| if let Fault::At(at, act) = fault { Some((*at, act)) } else { None })
            .collect();
        acts.sort_by_key(|(at, _)| *at);
        let mut acts = acts.into_iter().peekable();
        while self.world.happened.count - began < happenings {
            while let Some((_, act)) = acts.next_if(|(at, _)| self.world.happened.count - began >= *at) {
                self.perform(act)?;
            }
            self.world.step()?;
        }
        self.armed.set(false);
        Ok(())
    }

    fn perform(&mut self, act: &Act) -> Result<(), Trouble> {
        match act {
            Act::Ask(asked) => self.ask_soon(asked),
            Act::Break(broken) => {
                // What is not there any more cannot be broken.
                let _ = self.suffer(broken);
                Ok(())
            }
            Act::Restart => {
                // It comes up on a sound disk and machine; what goes wrong then goes wrong in a home that runs.
                self.armed.set(false);
                self.world.over_at_once();
                let mended = self.mend(None);
                self.world.crash();
                self.serve()?;
                self.armed.set(true);
                mended.map_err(|said| self.world.trouble(TroubleKind::World, said))
            }
        }
    }
}
