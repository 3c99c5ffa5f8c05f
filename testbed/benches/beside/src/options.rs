//! What can be asked for on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

/// Hearth's engine beside etcd and kube-runtime.
#[derive(Parser)]
pub(crate) struct Options {
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// How often each comparison is made, the sides in turns.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// How long each side goes each time.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// How many write at once, each in turn.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    pub(crate) writers: Vec<usize>,
    /// The program of etcd.
    #[arg(long, default_value = "etcd")]
    pub(crate) etcd: PathBuf,
    /// Where both sides keep their files: one disk for both.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Writes every figure to this file.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// How many objects a home grows to.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
    /// Measures the home in this folder and nothing else; how each size is looked at in a process of its own.
    #[arg(long, hide = true)]
    pub(crate) measure: Option<PathBuf>,
}

/// A part of the bench.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Durable writes, and how soon a watcher has them.
    Writes,
    /// Turns of the engine, and who is starved.
    Turns,
    /// A home that grows.
    Growth,
}

impl Options {
    pub(crate) fn asks_for(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    /// How long each side goes each time.
    pub(crate) fn length(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// A fresh folder on the disk that was asked for.
    pub(crate) fn folder(&self) -> std::io::Result<tempfile::TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("hearth-beside-");
        match &self.dir {
            Some(dir) => builder.tempdir_in(dir),
            None => builder.tempdir(),
        }
    }
}
