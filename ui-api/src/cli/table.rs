//! Tables as the server lays them out, fitted to the width there is; problems come first.

use hearth_meta::{Timestamp, Verdict};
use serde_json::Value;

use super::duration;
use super::output::{Output, Tone, paint, plain, width_of};

/// The narrowest a column of sentences may become before the line is left to wrap.
const NARROWEST: usize = 16;
const GAP: &str = "  ";

/// A table: headings, and rows of as many cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    headings: Vec<String>,
    rows: Vec<Row>,
    /// Told once by the server; the tables of a watch that follow leave it out.
    definitions: Vec<Value>,
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// What tells it from the other rows: the uid, where there is one.
    pub(super) key: String,
    cells: Vec<String>,
    /// Which cell holds the verdict, and where that stands in the order of rows.
    verdict: Option<(usize, usize)>,
}

impl Table {
    /// A table with these headings.
    pub(super) fn new(headings: &[&str]) -> Self {
        Self { headings: headings.iter().map(|heading| heading.to_uppercase()).collect(), ..Self::default() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(Row { key: String::new(), cells, verdict: None });
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes rows from a table of the server; a row of the same object replaces the one before it.
    pub(super) fn take(&mut self, table: &Value, options: &Columns, now: Timestamp) {
        if let Some(definitions) = table["columnDefinitions"].as_array().filter(|told| !told.is_empty()) {
            self.definitions.clone_from(definitions);
        }
        let definitions = self.definitions.as_slice();
        let shown = |at: &usize| options.wide || definitions[*at]["priority"].as_i64().unwrap_or(0) == 0;
        let columns: Vec<usize> = (0..definitions.len()).filter(shown).collect();
        if self.headings.is_empty() && !columns.is_empty() {
            let names =
                columns.iter().filter_map(|at| definitions[*at]["name"].as_str()).map(str::to_uppercase);
            self.headings = if options.namespaces { vec!["NAMESPACE".to_owned()] } else { Vec::new() };
            self.headings.extend(names);
        }
        let status = self.headings.iter().position(|heading| heading == "STATUS");
        for row in table["rows"].as_array().into_iter().flatten() {
            let mut row = read_row(row, &columns, definitions, options, now);
            row.verdict = status.and_then(|at| Some((at, verdict_rank(row.cells.get(at)?)?)));
            match self.rows.iter_mut().find(|old| old.key == row.key && !row.key.is_empty()) {
                Some(old) => *old = row,
                None => self.rows.push(row),
            }
        }
    }

    /// Takes the rows of a table of the server away again.
    pub(super) fn drop_rows(&mut self, table: &Value) {
        let gone: Vec<&str> = table["rows"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|row| row["object"]["metadata"]["uid"].as_str())
            .collect();
        self.rows.retain(|row| !gone.contains(&row.key.as_str()));
    }

    /// The rows, problems first, then by namespace and name.
    pub(super) fn sort(&mut self) {
        self.rows.sort_by(|a, b| (a.rank(), &a.cells).cmp(&(b.rank(), &b.cells)));
    }

    /// The lines of the table, headings included.
    pub(super) fn lines(&self, out: &Output) -> Vec<String> {
        self.fitted(out, out.width())
    }

    /// The lines of the table, for a place where each will be moved in by two columns.
    pub(super) fn inner_lines(&self, out: &Output) -> Vec<String> {
        self.fitted(out, out.width().map(|width| width.saturating_sub(2)))
    }

    fn fitted(&self, out: &Output, width: Option<usize>) -> Vec<String> {
        let widths = self.widths(width);
        let heading = lay(&self.headings, &widths, out);
        std::iter::once(paint(Tone::Faint, &heading))
            .chain(self.rows.iter().map(|row| lay(&row.cells_for(out), &widths, out)))
            .collect()
    }

    /// One row as a line of its own, for output that grows and is never drawn anew.
    pub(super) fn line_of(&self, key: &str, out: &Output) -> Option<String> {
        let row = self.rows.iter().find(|row| row.key == key)?;
        Some(lay(&row.cells_for(out), &self.widths(out.width()), out))
    }

    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| width_of(heading)).collect();
        for row in &self.rows {
            for (number, (width, cell)) in widths.iter_mut().zip(&row.cells).enumerate() {
                // A verdict is shown with its sign before it.
                let sign = if row.is_verdict(number) { 2 } else { 0 };
                *width = (*width).max(width_of(cell) + sign);
            }
        }
        let Some(limit) = limit else { return widths };
        let taken =
            |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        // Names and verdicts stay whole; sentences give way first, then whatever is widest.
        while taken(&widths) > limit {
            let sentence = self.headings.iter().position(|heading| SENTENCES.contains(&heading.as_str()));
            let sentence = sentence.filter(|at| widths[*at] > NARROWEST);
            let widest = (1..widths.len()).filter(|at| widths[*at] > NARROWEST).max_by_key(|at| widths[*at]);
            let Some(at) = sentence.or(widest) else { break };
            widths[at] = NARROWEST.max(widths[at].saturating_sub(taken(&widths) - limit));
        }
        widths
    }
}

/// Headings under which sentences stand.
const SENTENCES: [&str; 3] = ["WHY", "MESSAGE", "WHAT"];

/// Which columns are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Columns {
    /// Also those of low priority.
    pub(super) wide: bool,
    /// The namespace before all others.
    pub(super) namespaces: bool,
    /// The kind before the name, as `app/photos`.
    pub(super) kinds: Option<&'static str>,
}

impl Row {
    fn cells_for(&self, out: &Output) -> Vec<String> {
        let shown = |(number, cell): (usize, &String)| {
            if self.is_verdict(number) { out.verdict(cell) } else { cell.clone() }
        };
        self.cells.iter().enumerate().map(shown).collect()
    }

    fn is_verdict(&self, number: usize) -> bool {
        self.verdict.is_some_and(|(at, _)| at == number)
    }

    fn rank(&self) -> usize {
        self.verdict.map_or(Verdict::ALL.len(), |(_, rank)| rank)
    }
}

fn read_row(row: &Value, columns: &[usize], definitions: &[Value], options: &Columns, now: Timestamp) -> Row {
    let metadata = &row["object"]["metadata"];
    let mut cells: Vec<String> =
        columns.iter().map(|at| cell_text(&row["cells"][*at], &definitions[*at], now)).collect();
    if let (Some(kind), Some(name)) = (options.kinds, cells.first_mut()) {
        *name = format!("{kind}/{name}");
    }
    if options.namespaces {
        cells.insert(0, metadata["namespace"].as_str().unwrap_or_default().to_owned());
    }
    Row { key: metadata["uid"].as_str().unwrap_or_default().to_owned(), cells, verdict: None }
}

fn cell_text(cell: &Value, definition: &Value, now: Timestamp) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) if definition["type"] == "date" || definition["format"] == "date" => {
            age(text, now)
        }
        Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

/// How long ago a time was, if the text is one.
pub(super) fn age(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        Ok(then) => duration::shown(now.as_second() - then.as_second()),
        Err(_) => text.to_owned(),
    }
}

/// The order in which verdicts are shown: what is wrong before what moves, what moves before what rests.
fn verdict_rank(word: &str) -> Option<usize> {
    const ORDER: [Verdict; 8] = [
        Verdict::Failed,
        Verdict::NeedsYou,
        Verdict::Degraded,
        Verdict::Waiting,
        Verdict::Removing,
        Verdict::Progressing,
        Verdict::Paused,
        Verdict::Ready,
    ];
    ORDER.iter().position(|verdict| verdict.as_str() == word)
}

fn lay(cells: &[String], widths: &[usize], out: &Output) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        if !line.is_empty() {
            line.push_str(GAP);
        }
        let cell = if width_of(cell) > *width { out.cut(&plain(cell), *width) } else { cell.clone() };
        let blank = width.saturating_sub(width_of(&cell));
        line.push_str(&cell);
        line.push_str(&" ".repeat(blank));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests;
