//! What has happened in a world: counts, and the last lines of its trace.

use std::collections::VecDeque;

/// How many lines of the trace are kept for a failure.
const KEPT_LINES: usize = 300;

/// What has happened so far.
#[derive(Clone, Default)]
pub struct Happened {
    pub count: u64,
    pub commits: u64,
    /// Calls that change the machine.
    pub changes: u64,
    /// Over every line of the trace.
    pub hash: u64,
    /// Happenings since there last was nothing to do for a while.
    pub(crate) without_pause: u64,
    last: VecDeque<String>,
}

impl Happened {
    /// Notes a line of the trace.
    pub fn line(&mut self, line: String) {
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if self.last.len() == KEPT_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// The last lines of the trace.
    pub fn tail(&self, lines: usize) -> String {
        let skipped = self.last.len().saturating_sub(lines);
        self.last.iter().skip(skipped).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
