//! The one place that writes: data to standard output, everything said beside it to standard error.
//!
//! Text is written with colours everywhere; a stream that should have none loses them here. Colour is off for
//! `NO_COLOR`, `TERM=dumb` and anything but a terminal, and on for `--color always` and `CLICOLOR_FORCE`.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal.
    #[default]
    Auto,
    /// Even into a pipe.
    Always,
    /// Not at all.
    Never,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It is well.
    Good,
    /// It moves, or waits.
    Moving,
    /// It is wrong.
    Bad,
    /// It matters less than what stands beside it.
    Faint,
    /// It names something.
    Strong,
    /// One of several speakers, told apart by number.
    Voice(usize),
}

impl Tone {
    fn code(self) -> u8 {
        match self {
            Self::Good => 32,
            Self::Moving => 33,
            Self::Bad => 31,
            Self::Faint => 2,
            Self::Strong => 1,
            Self::Voice(number) => [36, 35, 34, 33, 32, 96][number % 6],
        }
    }
}

/// Puts text into a colour.
pub fn paint(tone: Tone, text: &str) -> String {
    format!("\x1b[{}m{text}\x1b[0m", tone.code())
}

/// The text without colours.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("\x1b[") {
        plain.push_str(&rest[..start]);
        let after = &rest[start + 2..];
        rest = after.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    plain
}

/// How many columns the text takes.
pub fn width_of(text: &str) -> usize {
    plain(text).chars().count()
}

/// Where a command writes. Clones write to the same place.
#[derive(Clone)]
pub struct Output {
    inner: Arc<Inner>,
    /// What is data goes to standard error, since another thing stands on standard output.
    data_is_said: bool,
}

struct Inner {
    out: Mutex<Box<dyn Write + Send>>,
    err: Mutex<Box<dyn Write + Send>>,
    out_is_coloured: bool,
    err_is_coloured: bool,
    ascii: bool,
    width: Option<usize>,
    height: Option<usize>,
    live: bool,
    quiet: bool,
    no_input: bool,
    closed: AtomicBool,
}

impl Output {
    /// The terminal or pipe this program was started with.
    pub fn standard(colour: Colour, quiet: bool, no_input: bool) -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let wants = |is_terminal: bool| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if set("NO_COLOR") => false,
            Colour::Auto => set("CLICOLOR_FORCE") || (is_terminal && !dumb),
        };
        let size = terminal_size::terminal_size().filter(|_| out_is_terminal);
        Self::new(Inner {
            out_is_coloured: wants(out_is_terminal),
            err_is_coloured: wants(err_is_terminal),
            out: Mutex::new(Box::new(out)),
            err: Mutex::new(Box::new(err)),
            ascii: !speaks_utf8(),
            width: size.map(|(width, _)| usize::from(width.0)),
            height: size.map(|(_, height)| usize::from(height.0)),
            live: out_is_terminal && err_is_terminal && !dumb,
            quiet,
            no_input,
            closed: AtomicBool::new(false),
        })
    }

    /// An output that is kept in memory, as if for a terminal on which lines are drawn anew in place.
    pub fn kept_live(width: usize, height: usize) -> (Self, Kept) {
        Self::kept_as(Some(width), Some(height))
    }

    /// An output that is kept in memory, as if for a terminal of this width (or for a pipe).
    pub fn kept(width: Option<usize>) -> (Self, Kept) {
        Self::kept_as(width, None)
    }

    fn kept_as(width: Option<usize>, height: Option<usize>) -> (Self, Kept) {
        let kept = Kept::default();
        let output = Self::new(Inner {
            out: Mutex::new(Box::new(kept.out.clone())),
            err: Mutex::new(Box::new(kept.err.clone())),
            out_is_coloured: false,
            err_is_coloured: false,
            ascii: false,
            width,
            height,
            live: height.is_some(),
            quiet: false,
            no_input: false,
            closed: AtomicBool::new(false),
        });
        (output, kept)
    }

    fn new(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), data_is_said: false }
    }

    /// Writes a line of data.
    pub fn line(&self, text: &str) {
        if self.data_is_said {
            return self.note(text);
        }
        self.data(&format!("{text}\n"));
    }

    /// Writes data as it is.
    pub fn data(&self, text: &str) {
        let text = if self.inner.out_is_coloured { text.to_owned() } else { plain(text) };
        self.put(&text);
    }

    fn put(&self, text: &str) {
        let mut out = hold(&self.inner.out);
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            // Whoever read this has gone away, as `head` does; those who would go on ask `is_closed`.
            self.inner.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Says something beside the data, unless `--quiet`.
    pub fn note(&self, text: &str) {
        if !self.inner.quiet {
            self.say(text);
        }
    }

    /// Says something that must not be missed.
    pub fn say(&self, text: &str) {
        let text = if self.inner.err_is_coloured { text.to_owned() } else { plain(text) };
        let mut err = hold(&self.inner.err);
        // Nobody is left to be told that telling failed.
        let _ = writeln!(err, "{text}").and_then(|()| err.flush());
    }

    /// Whether lines may be drawn anew in place.
    pub fn is_live(&self) -> bool {
        self.inner.live
    }

    /// Draws lines in place of those drawn before, and returns how many there are now. What does not fit the
    /// terminal is cut: a line that wraps, or scrolls away, could not be drawn over.
    pub fn draw(&self, before: usize, lines: &[String]) -> usize {
        let back = if before > 0 { format!("\x1b[{before}A\x1b[J") } else { String::new() };
        let most = self.inner.height.map_or(usize::MAX, |height| height.saturating_sub(1).max(1));
        let (shown, hidden) =
            if lines.len() > most { lines.split_at(most - 1) } else { (lines, &lines[..0]) };
        let mut shown: Vec<String> = shown.iter().map(|line| self.fitted(line)).collect();
        if !hidden.is_empty() {
            shown.push(format!("and {} more", hidden.len()));
        }
        let end = if shown.is_empty() { "" } else { "\n" };
        // Where to draw is no colour, so it stays where colours are not wanted.
        self.put(&back);
        self.data(&format!("{}{end}", shown.join("\n")));
        shown.len()
    }

    fn fitted(&self, line: &str) -> String {
        match self.inner.width {
            Some(width) if width_of(line) > width => self.cut(&plain(line), width),
            _ => line.to_owned(),
        }
    }

    /// Text without colours, cut to a width.
    pub fn cut(&self, text: &str, width: usize) -> String {
        if text.chars().count() <= width {
            return text.to_owned();
        }
        let end = self.sign("…");
        let kept: String = text.chars().take(width.saturating_sub(end.chars().count())).collect();
        format!("{}{end}", kept.trim_end())
    }

    /// Text broken into lines so that each fits beside a margin of so many columns; one line where there is no limit.
    pub fn wrapped(&self, text: &str, margin: usize) -> Vec<String> {
        let Some(width) = self.inner.width.map(|width| width.saturating_sub(margin).max(20)) else {
            return vec![text.to_owned()];
        };
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let line = lines.last_mut().expect("there is always one");
            if !line.is_empty() && width_of(line) + 1 + width_of(word) > width {
                lines.push(word.to_owned());
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
        }
        lines
    }

    /// One that says beside the data what would else be data: another thing stands there.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { inner: self.inner.clone(), data_is_said: true }
    }

    /// Whether a person may be asked, if there is one.
    pub fn takes_input(&self) -> bool {
        !self.inner.no_input
    }

    /// Whether remarks are not wanted.
    pub fn is_quiet(&self) -> bool {
        self.inner.quiet
    }

    /// Whether nobody reads the data any more.
    pub fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Relaxed)
    }

    /// The columns there are; `None` where there is no limit.
    pub fn width(&self) -> Option<usize> {
        self.inner.width
    }

    /// A sign, or what stands for it where only ASCII is understood.
    pub fn sign(&self, sign: &'static str) -> &'static str {
        if !self.inner.ascii {
            return sign;
        }
        match sign {
            "✓" => "+",
            "✗" => "x",
            "●" => "*",
            "…" => "...",
            "→" => "->",
            "←" => "<-",
            "└─ " => "`- ",
            "├─ " => "|- ",
            "│  " => "|  ",
            other => other,
        }
    }

    /// A verdict with its sign and colour; other words are left as they are.
    pub fn verdict(&self, word: &str) -> String {
        let (sign, tone) = match word {
            "Ready" => ("✓", Tone::Good),
            "Progressing" | "Removing" => ("●", Tone::Moving),
            "Waiting" | "Paused" => ("●", Tone::Moving),
            "NeedsYou" | "Degraded" | "Failed" => ("✗", Tone::Bad),
            _ => return word.to_owned(),
        };
        paint(tone, &format!("{} {word}", self.sign(sign)))
    }
}

fn hold<T: ?Sized>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    locale.is_none_or(|locale| {
        let locale = locale.to_uppercase();
        locale.contains("UTF-8") || locale.contains("UTF8")
    })
}

/// What was written to an [`Output::kept`].
#[derive(Clone, Default)]
pub struct Kept {
    out: Sink,
    err: Sink,
}

impl Kept {
    /// What went to standard output.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// What went to standard error.
    pub fn err(&self) -> String {
        self.err.text()
    }
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn text(&self) -> String {
        String::from_utf8_lossy(&hold(&self.0)).into_owned()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        hold(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Output, Tone, paint, plain, width_of};

    #[test]
    fn colours_are_no_part_of_the_text() {
        let text = format!("a {} c", paint(Tone::Bad, "béd"));
        assert_eq!(plain(&text), "a béd c");
        assert_eq!(width_of(&text), 7);
    }

    #[test]
    fn data_and_remarks_stay_apart() {
        let (output, kept) = Output::kept(None);
        output.line(&output.verdict("Ready"));
        output.note("one thing");
        assert_eq!((kept.out().as_str(), kept.err().as_str()), ("✓ Ready\n", "one thing\n"));
    }
}
