//! `hearth get --watch`: every change as it happens.

use hearth_meta::{Scope, Timestamp};
use serde_json::Value;

use super::super::client::{Client, JSON, TABLE, Trouble};
use super::super::exit::{Exit, Failure, Outcome};
use super::super::output::{Output, Tone, paint};
use super::super::resource::Asked;
use super::super::table::{Columns, Table};
use super::form::{Form, named, show};
use super::{Get, columns, list_path};

/// Shows every change. On a terminal the table is drawn anew; elsewhere each change is a line.
pub(super) async fn watch(args: &Get, asked: Asked, client: &Client, out: &Output) -> Outcome {
    let (kind, path) = match asked {
        Asked::Kinds(kinds) if kinds.len() == 1 => (kinds[0].clone(), list_path(args, client, &kinds[0])),
        Asked::Objects(targets) if targets.len() == 1 => (targets[0].kind.clone(), targets[0].alone()),
        _ => return Err(Failure::usage("one kind or one object can be watched at a time")),
    };
    let is_table = matches!(args.output, Form::Table(_));
    let columns = columns(
        matches!(args.output, Form::Table(true)),
        args.all_namespaces && kind.scope == Scope::Namespaced,
        None,
    );
    let accept = if is_table { TABLE } else { JSON };
    let mut screen = Screen { out, table: Table::default(), columns, drawn: 0 };
    let mut from = String::new();
    loop {
        if from.is_empty() {
            let listing = client.list(&path, accept).await?;
            from = listing["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            if is_table {
                screen.start(&listing);
            } else {
                listing["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|item| show(&args.output, &args.cleaned(named(item, &kind)), out));
            }
        }
        let joint = if path.contains('?') { '&' } else { '?' };
        let watched = format!("{path}{joint}watch=true&allowWatchBookmarks=true&resourceVersion={from}");
        let mut events = match client.lines(&watched, accept).await {
            Ok(events) => events,
            Err(Trouble::Refused(refusal)) if refusal.code == 410 => {
                from.clear();
                continue;
            }
            Err(trouble) => return Err(trouble.into()),
        };
        while let Some(event) = events.next_event().await? {
            let object = &event["object"];
            if event["type"] == "ERROR" {
                from.clear();
                break;
            }
            if let Some(version) = version_of(object) {
                from = version;
            }
            match event["type"].as_str() {
                Some("BOOKMARK") => {}
                _ if !is_table => show(&args.output, &args.cleaned(object.clone()), out),
                word => screen.change(object, word == Some("DELETED")),
            }
            if out.is_closed() {
                return Ok(Exit::Done);
            }
        }
    }
}

/// How far a watch has come with this event.
fn version_of(object: &Value) -> Option<String> {
    let own = object["metadata"]["resourceVersion"].as_str();
    let of_row = || object["rows"][0]["object"]["metadata"]["resourceVersion"].as_str();
    own.filter(|version| !version.is_empty()).or_else(of_row).map(str::to_owned)
}

struct Screen<'a> {
    out: &'a Output,
    table: Table,
    columns: Columns,
    drawn: usize,
}

impl Screen<'_> {
    fn start(&mut self, listing: &Value) {
        self.table = Table::default();
        self.table.take(listing, &self.columns, Timestamp::now());
        self.table.sort();
        if self.out.is_live() {
            self.draw();
        } else {
            self.table.lines(self.out).iter().for_each(|line| self.out.line(line));
        }
    }

    fn change(&mut self, served: &Value, gone: bool) {
        let key = served["rows"][0]["object"]["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        self.table.take(served, &self.columns, Timestamp::now());
        let line = self.table.line_of(&key, self.out);
        if gone {
            self.table.drop_rows(served);
        }
        if self.out.is_live() {
            self.table.sort();
            self.draw();
        } else if let Some(line) = line {
            self.out.line(&if gone { format!("{line}  {}", paint(Tone::Faint, "(deleted)")) } else { line });
        }
    }

    fn draw(&mut self) {
        self.drawn = self.out.draw(self.drawn, &self.table.lines(self.out));
    }
}
