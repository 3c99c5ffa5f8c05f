//! Carries out one case, and says how it went.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hearth_engine::Clock;
use serde_json::{Value, json};

use super::asked::AskedFor;
use super::case::{Asking, Case, Named, Step, Verb};
use super::checks::{self, Checked};
use super::home::Home;
use super::matching::{Mismatch, mismatches};
use super::seen::{events_differ, machine_differs, objects_differ};
use super::{answers, others};
use crate::world::crash::Wish;
use crate::world::settle::CALM;
use crate::world::snapshot::Snapshot;
use crate::world::{Trouble, TroubleKind, World};

/// How much of the story is told with a failure.
const TOLD: usize = 15;

/// What is held to besides the steps of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// All of it is applied again: nothing is done and nothing is written.
    Idempotent,
    /// Its last wish is disturbed by a crash at every boundary: it ends the same.
    CrashAnywhere,
    /// All of it is carried out once more, with a restart in the middle: it ends the same.
    Restart,
}

impl Check {
    /// As it is asked for.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::CrashAnywhere => "crash-anywhere",
            Self::Restart => "restart",
        }
    }
}

/// How a case, or one check of it, went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was shown: the case's name, and the check's.
    pub name: String,
    /// The case.
    pub case: String,
    /// The check, where it is one.
    pub check: Option<Check>,
    /// Whether it is about the record beside a case file.
    pub is_of_record: bool,
    /// The file it stands in.
    pub file: PathBuf,
    /// By which seed.
    pub seed: u64,
    /// What was found besides: how many crashes there were.
    pub remark: Option<String>,
    /// Why it was not shown at all.
    pub skipped: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What happened.
    pub story: Vec<String>,
}

/// Why a case failed.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// File and line of the step.
    pub place: String,
    /// What the step does.
    pub step: String,
    /// What went wrong, in one sentence.
    pub said: String,
    /// Which fields are not as they should be, each with what it is of.
    pub fields: Vec<(String, Mismatch)>,
    /// The last of what happened.
    pub last: Vec<String>,
}

/// Carries out a case with these checks.
pub fn run(file: &Path, case: &Case, seed: Option<u64>, wanted: &[Check]) -> Vec<Outcome> {
    let seed = seed.unwrap_or(case.seed);
    let began = Instant::now();
    let mut run = Run {
        home: None,
        asked_for: AskedFor::default(),
        before_last: None,
        end: None,
        wanted: wanted.to_vec(),
    };
    let failure = run.case(case, seed).err();
    let story = run.home.as_ref().map(|home| home.story.lines()).unwrap_or_default();
    let outcome = |took, failure| Outcome {
        seed,
        took,
        failure,
        story: story.clone(),
        ..Outcome::of(file, &case.name)
    };
    let is_well = failure.is_none();
    let mut outcomes = vec![outcome(began.elapsed(), failure)];
    for check in wanted.iter().filter(|_| is_well) {
        let began = Instant::now();
        let checked = run.check(*check, case, seed);
        let name = format!("{} [{}]", case.name, check.word());
        let (remark, skipped, failure) = match checked {
            Ok(Checked::Holds(remark)) => (Some(remark), None, None),
            Ok(Checked::Skipped(why)) => (None, Some(why), None),
            Err(failure) => (None, None, Some(failure)),
        };
        let check = Some(*check);
        outcomes.push(Outcome {
            name,
            check,
            remark,
            skipped,
            story: Vec::new(),
            ..outcome(began.elapsed(), failure)
        });
    }
    outcomes
}

impl Outcome {
    /// A case that went well, so far.
    pub(super) fn of(file: &Path, case: &str) -> Self {
        Self {
            name: case.to_owned(),
            case: case.to_owned(),
            check: None,
            is_of_record: false,
            file: file.to_owned(),
            seed: 0,
            remark: None,
            skipped: None,
            took: Duration::ZERO,
            failure: None,
            story: Vec::new(),
        }
    }

    /// That what happened is what is on record.
    pub fn of_record(file: &Path, record: &Path) -> Self {
        let name = record.file_name().unwrap_or_default().to_string_lossy();
        Self { is_of_record: true, ..Self::of(file, &format!("it happens as {name} tells")) }
    }

    /// It is not what is on record, or nobody can tell: why.
    pub fn fails(&mut self, record: &Path, said: String) {
        self.failure = Some(Failure {
            place: record.display().to_string(),
            step: "the record of what happens".into(),
            said,
            ..Failure::default()
        });
    }
}

struct Run {
    home: Option<Home>,
    asked_for: AskedFor,
    /// The home just before its last wish, and that wish.
    before_last: Option<(World, Wish, Step)>,
    /// Where it ended, and the lasting changes on the way.
    end: Option<(Snapshot, Range<u64>)>,
    wanted: Vec<Check>,
}

impl Run {
    fn case(&mut self, case: &Case, seed: u64) -> Result<(), Failure> {
        let nowhere = |trouble: Trouble| Failure { said: trouble.to_string(), ..Failure::default() };
        let home = self.home.insert(Home::new(seed).map_err(nowhere)?);
        let began = home.world.lasting();
        let last_wish = case.steps.iter().rposition(|step| matches!(step.verb, Verb::Ask(_)));
        for (number, step) in case.steps.iter().enumerate() {
            home.story.step(&step.words);
            is_possible(home, step)?;
            if self.wanted.contains(&Check::CrashAnywhere)
                && Some(number) == last_wish
                && let Verb::Ask(asked) = &step.verb
            {
                let failed = |said: String| failure(home, step, said);
                let wish = home.wish(asked).map_err(failed)?;
                let fork = home.mended_fork(seed).map_err(nowhere)?;
                self.before_last = Some((fork, wish, step.clone()));
            }
            carry_out(home, step)?;
            self.asked_for.take(&step.verb);
        }
        if !home.world.is_served() {
            home.serve().map_err(nowhere)?;
        }
        if case.restless.is_none() {
            let on_the_way = began..home.world.lasting();
            home.story.step("in the end");
            rests(home, case)?;
            self.end = self.wanted.contains(&Check::Restart).then(|| (home.world.snapshot(), on_the_way));
        }
        Ok(())
    }

    fn check(&mut self, check: Check, case: &Case, seed: u64) -> Result<Checked, Failure> {
        let Some(home) = &mut self.home else { return Ok(Checked::Skipped("there is no home".into())) };
        if let Some(why) = &case.restless {
            return Ok(Checked::Skipped(format!("it never comes to rest: {why}")));
        }
        match check {
            Check::Idempotent => {
                let step = the_end(case);
                checks::idempotent(home, &self.asked_for).map_err(|said| failure(home, &step, said))
            }
            Check::CrashAnywhere => {
                let Some((mut world, wish, step)) = self.before_last.take() else {
                    return Ok(Checked::Skipped(checks::NOTHING.into()));
                };
                checks::crash_anywhere(&mut world, &wish).map_err(|trouble| Failure {
                    last: last_lines(&trouble.last),
                    ..failure(home, &step, trouble.said)
                })
            }
            Check::Restart => match self.end.take() {
                Some((_, on_the_way)) if on_the_way.is_empty() => {
                    Ok(Checked::Skipped("nothing lasting happens in it".into()))
                }
                Some((end, on_the_way)) => checks::restarted(case, seed, &end, on_the_way),
                None => Ok(Checked::Skipped("it has no end".into())),
            },
        }
    }
}

/// What holds at the end of every case: once nothing lasting is broken it rests, stays so, and restarts the same.
fn rests(home: &mut Home, case: &Case) -> Result<(), Failure> {
    let step = the_end(case);
    home.mend(None).map_err(|said| failure(home, &step, said))?;
    let told = |home: &Home, trouble: Trouble| failure(home, &step, trouble.said);
    home.world.settle().map_err(|trouble| told(home, trouble))?;
    home.world.is_steady().map_err(|trouble| told(home, trouble))?;
    home.world.judge();
    // Everything has just been looked at in full, and is again when it starts.
    home.world.restarts_the_same_by(CALM).map_err(|trouble| told(home, trouble))
}

/// The end of a case, as a step of it.
pub(super) fn the_end(case: &Case) -> Step {
    let place = case.steps.last().map(|last| last.place.clone()).unwrap_or_default();
    Step { place, words: "the end of the case".into(), verb: Verb::Settle }
}

/// What can be done while nobody serves: to the world, and to wait.
fn needs_no_server(verb: &Verb) -> bool {
    use Verb::{AssertMachine, Break, Mend, Others, Restart, Wait};
    matches!(verb, AssertMachine(_) | Break(_) | Mend(_) | Others(_) | Restart(_) | Wait(_))
}

pub(super) fn is_possible(home: &Home, step: &Step) -> Result<(), Failure> {
    if home.world.is_served() || needs_no_server(&step.verb) {
        return Ok(());
    }
    Err(failure(home, step, "the server is stopped; `restart` starts it again"))
}

pub(super) fn carry_out(home: &mut Home, step: &Step) -> Result<(), Failure> {
    let done = match &step.verb {
        Verb::Ask(asked) => match home.wish(asked) {
            Ok(wish) => wish.fulfil(&mut home.world).map_err(Wrong::Trouble),
            Err(said) => Err(Wrong::Said(said)),
        },
        Verb::Refused(asked, said) => refused(home, asked, said),
        Verb::Settle => home.world.settle().map_err(Wrong::Trouble),
        Verb::Wait(time) if !home.world.is_served() => {
            home.world.stay_down(*time);
            Ok(())
        }
        Verb::Wait(time) => home.world.wait(*time).map_err(Wrong::Trouble),
        Verb::Until(expected, within) => until(home, expected, *within),
        Verb::Assert(expected) => as_said(objects_differ(home, expected), "not as the case says"),
        Verb::AssertMachine(expected) => {
            as_said(machine_differs(home, expected), "the machine is not as the case says")
        }
        Verb::Break(broken) => home.suffer(broken).map_err(Wrong::Said),
        Verb::Mend(names) => home.mend(names.as_deref()).map_err(Wrong::Said),
        Verb::Restart(seed) => restart(home, *seed).map_err(Wrong::Trouble),
        Verb::Why(expected) => answers::why_differs(home, expected)
            .map_err(Wrong::Trouble)
            .and_then(|differ| as_said(differ, "`hearth why` says something else")),
        Verb::Events(expected) => events_differ(home, expected)
            .map_err(Wrong::Trouble)
            .and_then(|differ| as_said(differ, "no such event")),
        Verb::Others(thing) => others::make(&home.world.machine, thing).map_err(Wrong::Said),
        Verb::Disturb(happenings, faults) => home.disturbed(*happenings, faults).map_err(Wrong::Trouble),
    };
    done.map_err(|wrong| match wrong {
        Wrong::Trouble(trouble) => failure(home, step, trouble.said),
        Wrong::Said(said) => failure(home, step, said),
        Wrong::Fields(said, fields) => Failure { fields, ..failure(home, step, said) },
    })
}

/// Why a step failed.
enum Wrong {
    Trouble(Trouble),
    Said(String),
    Fields(String, Vec<(String, Mismatch)>),
}

pub(super) fn failure(home: &Home, step: &Step, said: impl Into<String>) -> Failure {
    let lines = home.story.lines();
    let last = lines[lines.len().saturating_sub(TOLD)..].to_vec();
    Failure {
        place: step.place.clone(),
        step: step.words.clone(),
        said: said.into(),
        fields: Vec::new(),
        last,
    }
}

fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TOLD)..].iter().map(|line| (*line).to_owned()).collect()
}

fn as_said(fields: Vec<(String, Mismatch)>, said: &str) -> Result<(), Wrong> {
    if fields.is_empty() { Ok(()) } else { Err(Wrong::Fields(said.to_owned(), fields)) }
}

fn restart(home: &mut Home, seed: Option<u64>) -> Result<(), Trouble> {
    home.world.crash();
    if let Some(seed) = seed {
        home.world.reseed(seed);
    }
    home.serve()
}

fn refused(home: &mut Home, asked: &[Asking], wanted: &Value) -> Result<(), Wrong> {
    let wish = home.wish(asked).map_err(Wrong::Said)?;
    match wish.fulfil(&mut home.world) {
        Ok(()) => Err(Wrong::Said("it was taken, and should have been refused".into())),
        Err(trouble) if trouble.kind == TroubleKind::Refused => {
            // A text is part of what is said; anything else is compared as usual.
            let wanted = if wanted.is_string() { json!({ "$contains": wanted }) } else { wanted.clone() };
            let fields = mismatches(&wanted, &Value::from(trouble.said));
            let told = |mismatch| ("the refusal".to_owned(), mismatch);
            as_said(fields.into_iter().map(told).collect(), "it was refused in other words")
        }
        Err(trouble) => Err(Wrong::Trouble(trouble)),
    }
}

fn until(home: &mut Home, expected: &[(Named, Value)], within: Duration) -> Result<(), Wrong> {
    let limit = home.world.clock.elapsed() + within;
    let mut looked = None;
    loop {
        // Objects change with the store alone.
        let commits = home.world.happened.commits;
        if looked != Some(commits) {
            looked = Some(commits);
            let fields = objects_differ(home, expected);
            if fields.is_empty() {
                return Ok(());
            }
        }
        if home.world.clock.elapsed() > limit {
            return as_said(objects_differ(home, expected), "it never came to be as the case says");
        }
        home.world.step_or_restart().map_err(Wrong::Trouble)?;
    }
}
