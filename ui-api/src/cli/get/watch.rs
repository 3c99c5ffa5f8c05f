//! `hearth get --watch`: every change as it happens.

use futures::future::select_all;
use hearth_meta::{KindInfo, Scope, Timestamp};
use serde_json::Value;

use super::super::client::{Client, JSON, Lines, TABLE, Trouble};
use super::super::exit::{Exit, Failure, Outcome};
use super::super::output::{Output, Tone, paint};
use super::super::resource::{Asked, collection};
use super::super::table::{Columns, Table};
use super::form::{Form, named, show};
use super::{Get, columns, list_path, query_of};

/// Shows every change. On a terminal the table is drawn anew; elsewhere each change is a line.
pub(super) async fn watch(args: &Get, asked: Asked, client: &Client, out: &Output) -> Outcome {
    let (kind, path) = match asked {
        Asked::Kinds(kinds) if kinds.len() == 1 => (kinds[0].clone(), list_path(args, client, &kinds[0])),
        Asked::Objects(targets) if targets.len() == 1 => (targets[0].kind.clone(), targets[0].alone()),
        _ => return Err(Failure::usage("one kind or one object can be watched at a time")),
    };
    if matches!(args.output, Form::Columns(_)) {
        return Err(Failure::usage("columns of your own cannot be watched; use -o jsonpath=TEMPLATE"));
    }
    let is_table = matches!(args.output, Form::Table(_));
    let columns = columns(
        matches!(args.output, Form::Table(true)),
        args.all_namespaces && kind.scope == Scope::Namespaced,
        None,
    );
    let accept = if is_table { TABLE } else { JSON };
    let mut screen = Screen { out, table: Table::default(), columns, drawn: 0 };
    loop {
        let mut sources = begin(args, &kind, &path, accept, client).await?;
        if is_table {
            screen.start(sources.iter().map(|source| &source.listing));
        } else {
            let items = sources.iter().flat_map(|source| source.listing["items"].as_array());
            items.flatten().for_each(|item| show(&args.output, &args.cleaned(named(item, &kind)), out));
        }
        while let Some((word, object)) = next_of(&mut sources, accept, client).await? {
            match word.as_str() {
                "BOOKMARK" => {}
                _ if !is_table => show(&args.output, &args.cleaned(object), out),
                word => screen.change(&object, word == "DELETED"),
            }
            if out.is_closed() {
                return Ok(Exit::Done);
            }
        }
    }
}

/// Objects that are watched in one place.
struct Source {
    path: String,
    listing: Value,
    from: String,
    events: Option<Lines>,
}

/// What stands: where it was asked for, or, where one may not look everywhere, in each namespace one may look into.
async fn begin(
    args: &Get,
    kind: &KindInfo,
    path: &str,
    accept: &str,
    client: &Client,
) -> Result<Vec<Source>, Trouble> {
    let refused = match client.list(path, accept).await {
        Ok(listing) => return Ok(vec![Source::of(path.to_owned(), listing)]),
        Err(trouble) if trouble.is_forbidden() && args.all_namespaces && kind.scope == Scope::Namespaced => {
            trouble
        }
        Err(trouble) => return Err(trouble),
    };
    let mut sources = Vec::new();
    for namespace in client.seen_namespaces().await? {
        let path = format!("{}{}", collection(kind, Some(&namespace)), query_of(args));
        match client.list(&path, accept).await {
            Ok(listing) => sources.push(Source::of(path, listing)),
            Err(trouble) if trouble.is_forbidden() => {}
            Err(trouble) => return Err(trouble),
        }
    }
    if sources.is_empty() { Err(refused) } else { Ok(sources) }
}

impl Source {
    fn of(path: String, listing: Value) -> Self {
        let from = listing["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        Self { path, listing, from, events: None }
    }

    /// Goes on from where it is; what changed before that is not told again.
    async fn open(&mut self, accept: &str, client: &Client) -> Result<(), Trouble> {
        let (path, from) = (&self.path, &self.from);
        let joint = if path.contains('?') { '&' } else { '?' };
        let watched = format!("{path}{joint}watch=true&allowWatchBookmarks=true&resourceVersion={from}");
        self.events = Some(client.lines(&watched, accept).await?);
        Ok(())
    }
}

/// The next change of any of them; `None` where too much was missed, so that it has to begin anew.
async fn next_of(
    sources: &mut [Source],
    accept: &str,
    client: &Client,
) -> Result<Option<(String, Value)>, Trouble> {
    loop {
        for source in sources.iter_mut().filter(|source| source.events.is_none()) {
            match source.open(accept, client).await {
                Err(Trouble::Refused(refusal)) if refusal.code == 410 => return Ok(None),
                other => other?,
            }
        }
        let waiting = sources.iter_mut().enumerate().filter_map(|(at, source)| {
            let events = source.events.as_mut()?;
            Some(Box::pin(async move { (at, events.next_event().await) }))
        });
        let ((at, event), ..) = select_all(waiting).await;
        let Some(mut event) = event? else {
            sources[at].events = None;
            continue;
        };
        if event["type"] == "ERROR" {
            return Ok(None);
        }
        if let Some(version) = version_of(&event["object"]) {
            sources[at].from = version;
        }
        let word = event["type"].as_str().unwrap_or_default().to_owned();
        return Ok(Some((word, event["object"].take())));
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
    fn start<'l>(&mut self, listings: impl Iterator<Item = &'l Value>) {
        self.table = Table::default();
        listings.for_each(|listing| self.table.take(listing, &self.columns, Timestamp::now()));
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
