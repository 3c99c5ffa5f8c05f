//! How tables look, and in which order.

use serde_json::{Value, json};

use super::super::output::{Output, plain};
use super::{Columns, Table};

fn served() -> Value {
    let column =
        |name: &str, kind: &str, priority: i64| json!({ "name": name, "type": kind, "priority": priority });
    let row = |name: &str, status: &str, why: &str, at: &str| {
        json!({
            "cells": [name, status, format!("{name}-1"), format!("http://{name}.local"), why, at, name],
            "object": { "metadata": { "uid": name, "name": name, "namespace": "household" } },
        })
    };
    json!({
        "columnDefinitions": [
            column("Name", "string", 0), column("Status", "string", 0), column("Version", "string", 0),
            column("Address", "string", 0), column("Why", "string", 0), column("Age", "date", 0), column("Slug", "string", 1),
        ],
        "rows": [
            row("vault", "Ready", "", "2026-01-01T00:00:00Z"),
            row("photos", "Waiting", "volume household/photos-pgdata: the disk was not found", "2026-03-01T00:00:00Z"),
            row("jellyfin", "Failed", "the job migrate ended with exit code 3", "2026-03-02T11:58:30Z"),
        ],
    })
}

fn lines(width: Option<usize>, columns: Columns) -> Vec<String> {
    let (out, _) = Output::kept(width);
    let mut table = Table::default();
    table.take(&served(), &columns, "2026-03-02T12:00:00Z".parse().unwrap());
    table.sort();
    table.lines(&out).iter().map(|line| plain(line)).collect()
}

#[test]
fn problems_come_first_and_a_wide_terminal_shows_everything() {
    assert_eq!(
        lines(Some(200), Columns::default()),
        [
            "NAME      STATUS     VERSION     ADDRESS                WHY                                                     AGE",
            "jellyfin  ✗ Failed   jellyfin-1  http://jellyfin.local  the job migrate ended with exit code 3                  90s",
            "photos    ● Waiting  photos-1    http://photos.local    volume household/photos-pgdata: the disk was not found  36h",
            "vault     ✓ Ready    vault-1     http://vault.local                                                             60d",
        ]
    );
}

#[test]
fn at_80_columns_sentences_give_way_and_names_stay_whole() {
    let lines = lines(Some(80), Columns::default());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert_eq!(lines[1], "jellyfin  ✗ Failed   jellyfin-1  http://jellyfin.local  the job migrate en…  90s");
}

#[test]
fn a_pipe_is_never_cut_and_wide_adds_columns() {
    let columns = Columns { wide: true, namespaces: true, kinds: Some("app") };
    let lines = lines(None, columns);
    assert!(lines[0].starts_with("NAMESPACE  NAME") && lines[0].ends_with("SLUG"), "{lines:#?}");
    assert!(
        lines[2].starts_with("household  app/photos") && lines[2].contains("the disk was not found"),
        "{lines:#?}"
    );
}
