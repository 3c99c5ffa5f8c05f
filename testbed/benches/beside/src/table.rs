//! One table for people, and all figures for programs.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::growth::Grown;
use crate::sample::{median, range};

/// One comparison: the figures of each round.
#[derive(Serialize)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: String,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// Hearth's.
    pub(crate) ours: Vec<f64>,
    /// The other's; none where there is nothing to compare with.
    pub(crate) theirs: Vec<f64>,
    /// Who the other is.
    pub(crate) beside: &'static str,
    /// What was to be reached.
    pub(crate) goal: &'static str,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: &'static str, beside: &'static str) -> Self {
        Self { what: what.into(), unit, ours: Vec::new(), theirs: Vec::new(), beside, goal: "" }
    }

    pub(crate) fn goal(mut self, goal: &'static str) -> Self {
        self.goal = goal;
        self
    }

    /// Of each round, since both sides of one met the same machine.
    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }
}

/// Prints all comparisons.
pub(crate) fn print(rows: &[Row]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "| what | unit | Hearth | other | beside | ratio (least to most) | goal |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for row in rows {
        let ratios = row.ratios();
        let (least, most) = range(&ratios);
        let ratio = match ratios.len() {
            0 => String::new(),
            _ => format!("{:.2} ({least:.2} to {most:.2})", median(&ratios)),
        };
        let theirs = if row.theirs.is_empty() { String::new() } else { rounded(median(&row.theirs)) };
        writeln!(
            out,
            "| {} | {} | {} | {theirs} | {} | {ratio} | {} |",
            row.what,
            row.unit,
            rounded(median(&row.ours)),
            row.beside,
            row.goal
        )?;
    }
    Ok(())
}

fn rounded(value: f64) -> String {
    if value >= 100.0 || value == value.trunc() { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Writes every figure of every round to a file.
pub(crate) fn save(file: &Path, rows: &[Row], grown: &[Grown]) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&json!({"compared": rows, "grown": grown}))?;
    Ok(std::fs::write(file, text + "\n")?)
}
