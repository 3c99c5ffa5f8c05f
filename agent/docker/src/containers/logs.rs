//! From the pieces Docker sends of a log to lines.
//!
//! Docker cuts a line of more than 16 KiB into pieces and dates each of them; only the last ends with a line break.

use bollard::container::LogOutput;
use hearth_capabilities::containers::LogLine;
use hearth_meta::Timestamp;

/// The most that is kept of one line. What is longer comes as several lines.
const LONGEST_LINE: usize = 1024 * 1024;

/// Puts lines together, for standard output and standard error apart.
#[derive(Default)]
pub(super) struct Lines {
    output: Option<LogLine>,
    error: Option<LogLine>,
}

impl Lines {
    /// Takes the next piece; a line that is whole with it is returned.
    pub(super) fn take(&mut self, piece: LogOutput) -> Option<LogLine> {
        let is_error = matches!(piece, LogOutput::StdErr { .. });
        let bytes = piece.into_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let (at, rest) = dated(&text);
        let whole = rest.ends_with('\n');
        let rest = rest.strip_suffix('\n').unwrap_or(rest);
        let rest = rest.strip_suffix('\r').unwrap_or(rest);
        let slot = if is_error { &mut self.error } else { &mut self.output };
        let line = slot.get_or_insert_with(|| LogLine { at, is_error, text: String::new() });
        line.text.push_str(rest);
        if whole || line.text.len() >= LONGEST_LINE { slot.take() } else { None }
    }

    /// What is left when the log ends in the middle of a line.
    pub(super) fn rest(&mut self) -> Option<LogLine> {
        self.output.take().or_else(|| self.error.take())
    }
}

/// The time Docker puts before each piece, and the piece.
fn dated(text: &str) -> (Option<Timestamp>, &str) {
    match text.split_once(' ') {
        Some((time, rest)) => time.parse().map_or((None, text), |time| (Some(time), rest)),
        // An empty piece has no space after its time.
        None => {
            text.trim_end().parse().map_or((None, text), |time| (Some(time), &text[text.trim_end().len()..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, LogOutput};

    fn out(text: &str) -> LogOutput {
        LogOutput::StdOut { message: text.to_owned().into() }
    }

    #[test]
    fn a_line_has_its_time_and_no_end() {
        let line = Lines::default().take(out("2026-11-29T20:38:32.235807213Z one  two\r\n")).unwrap();
        assert_eq!((line.text.as_str(), line.is_error), ("one  two", false));
        assert_eq!(line.at.unwrap().to_string(), "2026-11-29T20:38:32.235807213Z");
    }

    #[test]
    fn an_empty_line_is_a_line() {
        for text in ["2026-11-29T20:38:32Z \n", "2026-11-29T20:38:32Z\n"] {
            let line = Lines::default().take(out(text)).unwrap();
            assert_eq!((line.text.as_str(), line.at.is_some()), ("", true));
        }
    }

    #[test]
    fn a_cut_line_comes_whole_with_the_time_it_began() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(out("2026-11-29T20:38:32Z aaa")), None);
        let error = LogOutput::StdErr { message: "2026-11-29T20:38:33Z oh\n".into() };
        assert!(lines.take(error).unwrap().is_error);
        let line = lines.take(out("2026-11-29T20:38:34Z bbb\n")).unwrap();
        assert_eq!(line.text, "aaabbb");
        assert_eq!(line.at.unwrap().to_string(), "2026-11-29T20:38:32Z");
    }

    #[test]
    fn what_is_left_at_the_end_is_told() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(out("2026-11-29T20:38:32Z half")), None);
        assert_eq!(lines.rest().unwrap().text, "half");
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn an_undated_piece_is_kept_as_it_is() {
        let line = Lines::default().take(out("no time here\n")).unwrap();
        assert_eq!((line.text.as_str(), line.at), ("no time here", None));
    }
}
