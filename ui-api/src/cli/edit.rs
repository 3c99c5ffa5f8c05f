//! `hearth edit`: an object in a person's own editor.
//!
//! What is saved is read and judged here and on the server; with problems it is opened again, each at its line. What
//! others changed meanwhile is joined with it field by field. Whatever goes wrong, the text stays in its file.

use clap::Args;
use hearth_meta::Problem;
use http::Method;
use serde_json::Value;

use super::client::{Client, JSON, Trouble};
use super::complete;
use super::consent;
use super::differences::{lines_of, preview_of};
use super::exit::{Exit, Failure, Outcome};
use super::manifest::Manifest;
use super::output::Output;
use super::resource::{Target, parse_one};
use super::rollback::undo;

mod buffer;
mod merge;
mod editor;

use buffer::Buffer;
pub(super) use buffer::shown;
pub(super) use editor::is_open as is_editor_open;

/// How often a write is tried again when only something else has changed in between.
const TRIES: usize = 10;

/// Open an object in an editor, and write what is saved.
///
/// Shows what would change before it is sent. Problems come back as comments at their lines.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth edit app/photos\n  hearth edit app/photos --editor 'code --wait'\n  hearth edit app/photos --yes"
)]
pub(super) struct Edit {
    /// The object, as KIND/NAME.
    #[arg(required = true, value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// The editor [default: $VISUAL, else $EDITOR, else vi].
    #[arg(long, value_name = "COMMAND")]
    editor: Option<String>,
    /// Do not ask before it is sent.
    #[arg(long)]
    yes: bool,
}

/// One sitting: what was there when it was opened, and the file it is edited in.
struct Sitting<'a> {
    target: &'a Target,
    client: &'a Client,
    /// What the text goes out from: the object as it was opened, with what others made of a field where the person
    /// was told of that.
    base: Value,
    buffer: Buffer,
}

/// How a look at what was saved ended.
enum Judged {
    /// Nothing differs from what is there.
    Unchanged,
    /// It can be sent.
    Good {
        /// What is to be written.
        wanted: Value,
        /// What of it stood there when it was read last.
        theirs: Value,
    },
    /// Something is wrong; each with its line in the text, where it has one.
    Bad(Vec<Problem>),
}

/// Carries out `hearth edit`.
///
/// # Errors
/// No such object, an editor that failed, problems that were not mended, no server. The text is kept and its file named.
pub(super) async fn run(args: Edit, client: &Client, out: &Output) -> Outcome {
    let target = parse_one(&args.object, client.namespace())?;
    if target.kind.is_secret {
        let message = format!("{target} is not opened in an editor, which keeps copies of what it shows");
        return Err(Failure::usage(message).next("write it with `hearth apply -f -`"));
    }
    let object = client.one(&target).await?;
    let buffer = Buffer::make(&target, &object)?;
    let mut sitting = Sitting { target: &target, client, base: buffer::shown(&object), buffer };
    match sitting.hold(&args, out).await {
        Ok(exit) => {
            sitting.buffer.remove();
            Ok(exit)
        }
        Err(failure) => {
            out.say(&format!("what you wrote is in {}", sitting.buffer.path().display()));
            Err(failure)
        }
    }
}

impl Sitting<'_> {
    async fn hold(&mut self, args: &Edit, out: &Output) -> Outcome {
        loop {
            editor::open(args.editor.clone(), self.buffer.path().to_owned()).await?;
            let is_new = self.buffer.read()?;
            if !is_new {
                return match self.buffer.problems() {
                    [] => Ok(self.nothing(out)),
                    problems => Err(still_wrong(problems)),
                };
            }
            match self.judge().await? {
                Judged::Unchanged => return Ok(self.nothing(out)),
                Judged::Bad(problems) => {
                    problems.iter().for_each(|problem| out.say(&problem.to_string()));
                    self.buffer.show(problems)?;
                }
                Judged::Good { wanted, theirs } => return self.send(args, wanted, theirs, out).await,
            }
        }
    }

    fn nothing(&self, out: &Output) -> Exit {
        out.note(&format!("{}: nothing was changed", self.target));
        Exit::Done
    }

    /// Reads what was saved, joins it with what is there now, and has the server try it.
    async fn judge(&mut self) -> Result<Judged, Failure> {
        let namespace = self.target.namespace.as_deref().unwrap_or_default();
        let manifest = match Manifest::read_text(self.buffer.text(), namespace) {
            Ok(manifest) => manifest,
            Err(problems) => return Ok(Judged::Bad(problems)),
        };
        if manifest.target.path() != self.target.path() {
            let message =
                format!("must stay that of {}; another object is made with `hearth apply`", self.target);
            return Ok(Judged::Bad(vec![manifest.locate(Problem::new("metadata.name", message))]));
        }
        let now = self.client.one(self.target).await?;
        let (mine, theirs) = (buffer::shown(&manifest.value), buffer::shown(&now));
        if self.base == mine {
            return Ok(Judged::Unchanged);
        }
        let merged = merge::three_ways(&self.base, &mine, &theirs);
        if !merged.conflicts.is_empty() {
            let tell =
                |conflict: &merge::Conflict| manifest.locate(Problem::new(&conflict.field, conflict.words()));
            let problems = merged.conflicts.iter().map(tell).collect();
            // There the text goes out from what others made of it from now on, so that saving it again is an answer.
            // What they changed elsewhere is not in the text, and is joined with it again.
            self.base = merge::rebased(&self.base, &mine, &theirs);
            return Ok(Judged::Bad(problems));
        }
        let wanted = buffer::into(&now, &merged.value);
        let path =
            format!("{}?fieldManager=hearth-edit&fieldValidation=Strict&dryRun=All", self.target.path());
        match self.client.send(Method::PUT, &path, JSON, &wanted).await {
            Ok(_) => Ok(Judged::Good { wanted, theirs }),
            // Only its status changed since it was read; the write itself is tried again when that happens.
            Err(Trouble::Refused(refusal)) if refusal.code == 409 => Ok(Judged::Good { wanted, theirs }),
            Err(Trouble::Refused(refusal)) if !refusal.problems.is_empty() => Ok(Judged::Bad(
                refusal.problems.into_iter().map(|problem| manifest.locate(problem)).collect(),
            )),
            Err(Trouble::Refused(refusal)) if [400, 422].contains(&refusal.code) => {
                Ok(Judged::Bad(vec![manifest.locate(Problem::new("", refusal.message))]))
            }
            Err(trouble) => Err(trouble.into()),
        }
    }

    async fn send(&self, args: &Edit, mut wanted: Value, theirs: Value, out: &Output) -> Outcome {
        let change = preview_of(self.target, &buffer::shown(&wanted), self.client).await?;
        lines_of(&change, out).iter().for_each(|line| out.line(line));
        if !args.yes {
            consent::ask("this would be sent", "add --yes to send it without being asked", out).await?;
        }
        let new = buffer::shown(&wanted);
        for _ in 0..TRIES {
            let path = format!("{}?fieldManager=hearth-edit&fieldValidation=Strict", self.target.path());
            match self.client.send(Method::PUT, &path, JSON, &wanted).await {
                Err(Trouble::Refused(refusal)) if refusal.code == 409 => {}
                written => {
                    let written = written?;
                    let generation = written["metadata"]["generation"].as_i64().unwrap_or(1);
                    out.line(&format!("{} changed (generation {generation})", self.target));
                    if let Some(undo) = undo(self.target, self.client, &wanted, &written) {
                        out.note(&undo);
                    }
                    return Ok(Exit::Done);
                }
            }
            let now = self.client.one(self.target).await?;
            if buffer::shown(&now) != theirs {
                let message = format!("{} was changed by somebody else at the same moment", self.target);
                return Err(Failure::new(Exit::Conflict, message)
                    .next("edit it again; what they changed is then joined with yours"));
            }
            wanted = buffer::into(&now, &new);
        }
        Err(Failure::new(Exit::Conflict, format!("{} changes all the time", self.target)))
    }
}

fn still_wrong(problems: &[Problem]) -> Failure {
    let shown = problems.iter().map(ToString::to_string).collect();
    let is_conflict = problems.iter().any(|problem| problem.message.starts_with(merge::CHANGED_MEANWHILE));
    let exit = if is_conflict { Exit::Conflict } else { Exit::Rejected };
    Failure::new(exit, "it was saved as it was, with these problems; nothing was changed").after(shown)
}
