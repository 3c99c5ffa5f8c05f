//! Work under way, told as it goes: one line per object drawn anew on a terminal, one line per step elsewhere.

use std::cell::RefCell;

use serde_json::Value;
use tokio::time::Instant;

use super::duration;
use super::output::{Output, Tone, paint};
use super::resource::Target;
use super::wait::{Ended, Goal, current_verdict};

/// A line for each object that is waited for.
pub(super) struct Board<'a> {
    out: &'a Output,
    targets: &'a [Target],
    begun: Instant,
    lines: RefCell<Vec<Line>>,
    drawn: RefCell<usize>,
}

#[derive(Clone, Default)]
struct Line {
    text: String,
    /// What makes a new line where lines cannot be drawn anew; a percentage does not.
    step: String,
    last: Value,
    /// What was made for it, as a tree.
    parts: Vec<String>,
}

impl<'a> Board<'a> {
    /// A board with nothing on it yet.
    pub(super) fn new(out: &'a Output, targets: &'a [Target]) -> Self {
        let lines = RefCell::new(vec![Line::default(); targets.len()]);
        Self { out, targets, begun: Instant::now(), lines, drawn: RefCell::new(0) }
    }

    /// Shows how an object stands now; `None` is gone.
    pub(super) fn show(&self, number: usize, object: Option<&Value>) {
        let Some(object) = object else { return };
        let step = step_of(self.out, object);
        let text = format!(
            "{}  {}",
            paint(Tone::Strong, &self.targets[number].to_string()),
            state_of(self.out, object)
        );
        let is_new = {
            let mut lines = self.lines.borrow_mut();
            let is_new = lines[number].step != step;
            let parts = std::mem::take(&mut lines[number].parts);
            lines[number] = Line { text: text.clone(), step, last: object.clone(), parts };
            is_new
        };
        if self.is_live() {
            self.draw();
        } else if is_new {
            self.out.note(&text);
        }
    }

    /// Whether lines are drawn anew in place, so that parts can be shown.
    pub(super) fn is_live(&self) -> bool {
        self.out.is_live() && !self.out.is_quiet()
    }

    /// Where it is drawn.
    pub(super) fn out(&self) -> &'a Output {
        self.out
    }

    /// Shows what was made for an object, below it.
    pub(super) fn show_parts(&self, number: usize, parts: Vec<String>) {
        let is_new = {
            let mut lines = self.lines.borrow_mut();
            std::mem::replace(&mut lines[number].parts, parts.clone()) != parts
        };
        if is_new {
            self.draw();
        }
    }

    /// Takes the lines off the terminal again: how each ended is said next.
    pub(super) fn wipe(&self) {
        let mut drawn = self.drawn.borrow_mut();
        if *drawn > 0 {
            *drawn = self.out.draw(*drawn, &[]);
        }
    }

    /// Says how the waiting for an object ended.
    pub(super) fn close(&self, number: usize, goal: &Goal, ended: &Ended) {
        let target = &self.targets[number];
        let after = duration::shown(i64::try_from(self.begun.elapsed().as_secs()).unwrap_or(i64::MAX));
        let last = self.lines.borrow()[number].last.clone();
        let verdict = last["status"]["summary"].as_str().unwrap_or("Unknown").to_owned();
        let message = match last["status"]["message"].as_str() {
            Some(message) if !message.is_empty() => format!(": {message}"),
            _ => String::new(),
        };
        match ended {
            Ended::Reached if *goal == Goal::Deleted => self.out.line(&format!("{target} deleted")),
            Ended::Reached => {
                self.out.line(&format!("{target} {} after {after}", self.out.verdict(&verdict)))
            }
            Ended::Gone => {
                self.out.say(&format!("{target} is gone: it was deleted meanwhile, or was never there"))
            }
            Ended::Unwell(_) => {
                self.out.say(&format!("{target} {}{message}", self.out.verdict(&verdict)));
                self.out.say(&format!("  see what to do with `hearth why {target}`"));
            }
            Ended::TimedOut => {
                let stands =
                    if current_verdict(&last).is_some() { verdict } else { "not looked at yet".into() };
                self.out
                    .say(&format!("{target} is not {} after {after}; it is {stands}{message}", wanted(goal)));
                self.out.say(&format!("  see why with `hearth why {target}`; the work goes on"));
            }
        }
    }

    fn draw(&self) {
        let lines = self.lines.borrow();
        let mut drawn = self.drawn.borrow_mut();
        let shown: Vec<String> = lines
            .iter()
            .filter(|line| !line.text.is_empty())
            .flat_map(|line| std::iter::once(line.text.clone()).chain(line.parts.iter().cloned()))
            .collect();
        *drawn = self.out.draw(*drawn, &shown);
    }
}

fn wanted(goal: &Goal) -> String {
    match goal {
        Goal::Deleted => "gone".into(),
        Goal::Verdict(verdict) => verdict.to_string(),
        Goal::Condition(name, status) => format!("{name}={status}"),
    }
}

/// What distinguishes one step of the work from the next: everything but how much of it is done.
fn step_of(out: &Output, object: &Value) -> String {
    let mut object = object.clone();
    if let Some(progress) = object["status"]["progress"].as_object_mut() {
        progress.retain(|field, _| !["done", "of"].contains(&field.as_str()));
    }
    state_of(out, &object)
}

/// An object's verdict, and how far it is or why it stands so.
pub(super) fn state_of(out: &Output, object: &Value) -> String {
    let status = &object["status"];
    let is_going = !object["metadata"]["deletionTimestamp"].is_null();
    match status["summary"].as_str() {
        Some("Removing" | "NeedsYou") if is_going => {}
        // Any other verdict is from before the removal was asked for.
        _ if is_going => return "removal asked for".into(),
        _ if current_verdict(object).is_none() => return "asked for".into(),
        _ => {}
    }
    let verdict = out.verdict(status["summary"].as_str().unwrap_or("Unknown"));
    let (progress, message) =
        (shown_progress(&status["progress"]), status["message"].as_str().unwrap_or_default());
    match (progress, message) {
        (Some(progress), "") => format!("{verdict}  {progress}"),
        (Some(progress), message) => format!("{verdict}  {progress}: {message}"),
        (None, "") => verdict,
        (None, message) => format!("{verdict}  {message}"),
    }
}

/// `step 2/5 Pulling 61% (70 of 205 MiB)`.
pub(super) fn shown_progress(progress: &Value) -> Option<String> {
    let step = progress["step"].as_str()?;
    let mut text = format!("step {}/{} {step}", progress["index"], progress["total"]);
    if let (Some(done), Some(of)) = (progress["done"].as_i64(), progress["of"].as_i64())
        && of > 0
    {
        text.push_str(&format!(" {}%", done.clamp(0, of) * 100 / of));
        match progress["unit"].as_str() {
            Some("Bytes") => text.push_str(&format!(" ({} of {})", bytes(done), bytes(of))),
            _ => text.push_str(&format!(" ({done} of {of})")),
        }
    }
    Some(text)
}

/// A size as people read it: `1.2 GiB`.
pub(super) fn bytes(count: i64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let (mut whole, mut tenths, mut unit) = (count, 0, 0);
    for number in 0..UNITS.len() {
        unit = number;
        tenths = (whole % 1024) * 10 / 1024;
        whole /= 1024;
        if whole < 1024 {
            break;
        }
    }
    if whole >= 10 { format!("{whole} {}", UNITS[unit]) } else { format!("{whole}.{tenths} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::output::Output;
    use super::super::resource::{Target, kind_named};
    use super::super::wait::{Ended, Goal};
    use super::{Board, bytes, shown_progress};

    #[test]
    fn progress_is_told_in_steps_and_amounts() {
        let progress = json!({ "step": "Pulling", "index": 2, "total": 5, "unit": "Bytes", "done": 73_400_320, "of": 214_958_080 });
        assert_eq!(shown_progress(&progress).unwrap(), "step 2/5 Pulling 34% (70 MiB of 205 MiB)");
        assert_eq!(shown_progress(&json!(null)), None);
        assert_eq!((bytes(12), bytes(1_300_000_000_000)), ("12 B".into(), "1.1 TiB".into()));
    }

    #[test]
    fn a_pipe_sees_one_line_a_step_and_not_one_a_percent() {
        let (out, kept) = Output::kept(None);
        let targets = [Target::new(kind_named("app").unwrap(), "household", "photos")];
        let board = Board::new(&out, &targets);
        let at = |done: i64| {
            json!({
                "metadata": { "generation": 1 },
                "status": {
                    "observedGeneration": 1,
                    "summary": "Progressing",
                    "progress": { "step": "Pulling", "index": 1, "total": 2, "done": done, "of": 100 },
                },
            })
        };
        (1..=3).for_each(|done| board.show(0, Some(&at(done))));
        board.close(0, &Goal::parse("ready").unwrap(), &Ended::TimedOut);
        let said = kept.err();
        assert_eq!(said.matches("step 1/2").count(), 1, "{said}");
        assert!(said.contains("app/photos is not Ready after 0s; it is Progressing"), "{said}");
    }
}
