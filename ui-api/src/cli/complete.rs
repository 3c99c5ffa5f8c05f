//! What a shell offers after the words so far: kinds, and the names there are on the server.

use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::client::{Client, JSON};
use super::resource::{collection, kind_named, kinds};

/// A person who pressed a key waits no longer than this.
const LIMIT: Duration = Duration::from_secs(2);

/// Completes `KIND/NAME`.
pub(super) fn objects() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current.to_str().unwrap_or_default(), false))
}

/// Completes kinds, by their singular.
pub(super) fn kinds_alone() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let current = current.to_str().unwrap_or_default();
        let found = kinds().iter().filter(|kind| kind.singular.starts_with(current));
        found.map(|kind| CompletionCandidate::new(kind.singular)).collect()
    })
}

/// Completes the names of a kind's objects.
pub(super) fn named(kind: &'static str) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let current = current.to_str().unwrap_or_default();
        let found = names(kind).into_iter().filter(|found| found.starts_with(current));
        found.map(CompletionCandidate::new).collect()
    })
}

/// Completes `KIND/NAME`, and kinds alone.
pub(super) fn kinds_and_objects() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current.to_str().unwrap_or_default(), true))
}

fn candidates(current: &str, or_kinds: bool) -> Vec<CompletionCandidate> {
    let Some((kind, name)) = current.split_once('/') else {
        let plurals = kinds().iter().filter(|_| or_kinds).map(|kind| kind.plural.to_owned());
        let begun = kinds().iter().map(|kind| format!("{}/", kind.singular));
        return begun
            .chain(plurals)
            .filter(|word| word.starts_with(current))
            .map(CompletionCandidate::new)
            .collect();
    };
    let found = names(kind).into_iter().filter(|found| found.starts_with(name));
    found.map(|found| CompletionCandidate::new(format!("{kind}/{found}"))).collect()
}

/// The names of a kind's objects; none where no server answers, since there is nobody to tell why.
fn names(kind: &str) -> Vec<String> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let asked = async {
        let kind = kind_named(kind).ok()?;
        let client = Client::found().await.ok()?;
        let listing = client.list(&collection(&kind, Some(client.namespace())), JSON).await.ok()?;
        let items = listing["items"].as_array()?.iter();
        Some(items.filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned())).collect())
    };
    let answer = runtime.block_on(async { tokio::time::timeout(LIMIT, asked).await });
    answer.ok().flatten().unwrap_or_default()
}
