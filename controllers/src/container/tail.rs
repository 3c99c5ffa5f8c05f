//! The last lines a container wrote, fit to be shown: without the values of its secrets, and without what a terminal
//! would obey.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use hearth_capabilities::containers::{ContainerFacts, LogOptions};
use hearth_engine::controller::Wanted;
use hearth_kinds::Container;
use hearth_meta::difference::SECRET;

use super::ContainerController;
use super::observe::secret_value;

/// How many lines are kept.
const LINES: u32 = 20;
/// How much of each line is kept, in characters.
const LONGEST: usize = 300;
/// A log that does not come must not keep the rest from being seen.
const LIMIT: Duration = Duration::from_secs(5);

impl ContainerController {
    /// The last lines; `None` where they cannot be had now.
    pub(super) async fn log_tail(
        &self,
        container: &ContainerFacts,
        secrets: &BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let options = LogOptions { tail: Some(LINES), ..LogOptions::default() };
        let read = async {
            let lines = self.hands.containers.logs(&container.id, &options).await.ok()?;
            let lines = lines.take(LINES as usize).filter_map(|line| std::future::ready(line.ok()));
            Some(lines.map(|line| fit_to_show(&line.text, secrets)).collect::<Vec<_>>().await)
        };
        match select(Box::pin(read), self.store.clock().sleep(LIMIT)).await {
            Either::Left((lines, _)) => lines,
            Either::Right(_) => None,
        }
    }

    /// Every value that its log must not show: of the secrets it refers to, and of the variables that are hidden.
    pub(super) fn secrets_of(
        &self,
        wanted: &Wanted<Container>,
        hidden: impl Iterator<Item = String>,
    ) -> BTreeSet<String> {
        let spec = &wanted.object.spec;
        let given = spec.files.iter().flat_map(|file| file.secrets());
        let refers = spec.env.iter().flat_map(|env| env.secrets()).chain(given);
        let values = refers.filter_map(|secret| secret_value(&self.store, wanted.namespace(), secret).ok());
        // Of a text of several lines each is one that a log may show.
        let lines = |value: String| value.lines().map(str::to_owned).collect::<Vec<_>>();
        values.chain(hidden).flat_map(lines).filter(|line| !line.trim().is_empty()).collect()
    }
}

fn fit_to_show(line: &str, secrets: &BTreeSet<String>) -> String {
    let mut text = line.to_owned();
    let mut longest_first: Vec<&String> = secrets.iter().collect();
    longest_first.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    for secret in longest_first {
        text = text.replace(secret.as_str(), SECRET);
    }
    // Only then is it cut, so that no part of a secret stays.
    without_controls(&text).chars().take(LONGEST).collect()
}

/// Without colours and whatever else a terminal would obey.
fn without_controls(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            if letters.next_if_eq(&'[').is_some() {
                while letters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
            }
            letters.next();
        } else if letter == '\t' || !letter.is_control() {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::fit_to_show;

    #[test]
    fn secrets_colours_and_what_is_too_long_are_left_out() {
        let secrets = ["hunter2".to_owned(), "hunter2-long".to_owned()].into();
        let shown = fit_to_show("\u{1b}[31merror\u{1b}[0m: pw=hunter2-long, hunter2\r\tend", &secrets);
        assert_eq!(shown, "error: pw=(secret), (secret)\tend");
        assert_eq!(fit_to_show(&"x".repeat(5000), &secrets).len(), 300);
    }
}
