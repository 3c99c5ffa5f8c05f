//! `hearth get`: objects as the server lists them, in a table or in a form for programs.

use clap::{Args, ValueEnum};
use hearth_meta::{Scope, Timestamp};
use serde_json::{Value, json};

use super::client::{Client, JSON, TABLE, Trouble};
use super::exit::{Exit, Failure, Outcome};
use super::jsonpath::Template;
use super::output::{Output, Tone, paint};
use super::resource::{Asked, Target, collection, encode, parse_asked};
use super::table::{Columns, Table};
use super::yaml;

/// List objects, problems first.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth get apps\n  hearth get app/photos -o yaml\n  hearth get containers -A -o wide -w\n  hearth get apps -o jsonpath='{.items[*].status.url}'\n  hearth get all"
)]
pub(super) struct Get {
    /// KIND, KIND,KIND, all, KIND NAME..., or KIND/NAME...
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
    /// In every namespace.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only with these labels, such as hearth.dev/app=photos.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// table, wide, yaml, json, name, or jsonpath=TEMPLATE.
    #[arg(short, long, default_value = "table", value_parser = Form::parse)]
    output: Form,
    /// Go on, and show every change.
    #[arg(short, long)]
    watch: bool,
    /// Also the fields that say who set which field.
    #[arg(long)]
    show_managed_fields: bool,
}

/// In which form objects are shown.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A table; `true` with every column.
    Table(bool),
    /// Documents for people and programs.
    Text(Language),
    /// One `kind/name` a line.
    Name,
    /// Parts of it.
    Path(Template),
}

/// In which language whole objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Form {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(template) = text.strip_prefix("jsonpath=") {
            return Template::parse(template).map(Self::Path);
        }
        match text {
            "table" => Ok(Self::Table(false)),
            "wide" => Ok(Self::Table(true)),
            "yaml" => Ok(Self::Text(Language::Yaml)),
            "json" => Ok(Self::Text(Language::Json)),
            "name" => Ok(Self::Name),
            _ => Err("write table, wide, yaml, json, name or jsonpath=TEMPLATE".into()),
        }
    }
}

/// Carries out `hearth get`.
///
/// # Errors
/// An unknown kind, no such object, no server.
pub(super) async fn run(args: Get, client: &Client, out: &Output) -> Outcome {
    let asked = parse_asked(&args.what, client.namespace())?;
    if args.watch {
        return watch(&args, asked, client, out).await;
    }
    match (&args.output, asked) {
        (Form::Table(wide), Asked::Kinds(kinds)) => {
            let many = kinds.len() > 1;
            let mut is_first = true;
            for kind in kinds {
                let columns = columns(
                    *wide,
                    args.all_namespaces && kind.scope == Scope::Namespaced,
                    many.then_some(kind.singular),
                );
                let served = client.read(&list_path(&args, client, &kind), TABLE).await?;
                let mut table = Table::default();
                table.take(&served, &columns, Timestamp::now());
                if table.is_empty() && many {
                    continue;
                }
                if !is_first {
                    out.line("");
                }
                is_first = false;
                if table.is_empty() {
                    out.note(&nothing(&args, client, kind.plural, kind.scope));
                    continue;
                }
                print(table, out);
            }
            if is_first && many {
                out.note(&nothing(&args, client, "objects", Scope::Namespaced));
            }
            Ok(Exit::Done)
        }
        (Form::Table(wide), Asked::Objects(targets)) => tables_of(*wide, &targets, client, out).await,
        (form, asked) => documents(form, &args, asked, client, out).await,
    }
}

fn columns(wide: bool, namespaces: bool, kinds: Option<&'static str>) -> Columns {
    Columns { wide, namespaces, kinds }
}

fn print(mut table: Table, out: &Output) {
    table.sort();
    table.lines(out).iter().for_each(|line| out.line(line));
}

fn nothing(args: &Get, client: &Client, what: &str, scope: Scope) -> String {
    let chosen = if args.selector.is_some() { " with these labels" } else { "" };
    if args.all_namespaces || scope == Scope::Cluster {
        format!("no {what}{chosen}")
    } else {
        format!("no {what}{chosen} in namespace {}", client.namespace())
    }
}

async fn tables_of(wide: bool, targets: &[Target], client: &Client, out: &Output) -> Outcome {
    let mut failed = None;
    let mixed = targets.iter().any(|target| target.kind.kind != targets[0].kind.kind);
    let mut tables: Vec<(&'static str, Table)> = Vec::new();
    for target in targets {
        match client.read(&target.path(), TABLE).await {
            Ok(served) => {
                let columns = columns(wide, false, mixed.then_some(target.kind.singular));
                let at = tables.iter().position(|(kind, _)| *kind == target.kind.kind).unwrap_or_else(|| {
                    tables.push((target.kind.kind, Table::default()));
                    tables.len() - 1
                });
                tables[at].1.take(&served, &columns, Timestamp::now());
            }
            // The others are still shown; the first that is missing decides how the command ends.
            Err(trouble) if trouble.is_not_found() => {
                let missing = client.missing(target).await;
                failed = failed.or(Some(missing));
            }
            Err(trouble) => return Err(trouble.into()),
        }
    }
    for (at, (_, table)) in tables.into_iter().enumerate() {
        if at > 0 {
            out.line("");
        }
        print(table, out);
    }
    failed.map_or(Ok(Exit::Done), Err)
}

/// Where the objects of a kind are listed that are asked for.
fn list_path(args: &Get, client: &Client, kind: &hearth_meta::KindInfo) -> String {
    let namespace = (!args.all_namespaces).then(|| client.namespace());
    let path = collection(kind, namespace);
    match &args.selector {
        Some(selector) => format!("{path}?labelSelector={}", encode(selector)),
        None => path,
    }
}

async fn documents(form: &Form, args: &Get, asked: Asked, client: &Client, out: &Output) -> Outcome {
    let shown = match asked {
        Asked::Objects(targets) if targets.len() == 1 => client.one(&targets[0]).await?,
        Asked::Objects(targets) => {
            let mut items = Vec::new();
            for target in &targets {
                items.push(client.one(target).await?);
            }
            list_of(items)
        }
        Asked::Kinds(kinds) => {
            let mut items = Vec::new();
            for kind in kinds {
                let listing = client.get(&list_path(args, client, &kind)).await?;
                items
                    .extend(listing["items"].as_array().into_iter().flatten().map(|item| named(item, &kind)));
            }
            list_of(items)
        }
    };
    let shown = if args.show_managed_fields { shown } else { without_managed_fields(shown) };
    show(form, &shown, out);
    Ok(Exit::Done)
}

fn list_of(items: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items })
}

/// Items of a list need not say their kind; on their own they must.
fn named(item: &Value, kind: &hearth_meta::KindInfo) -> Value {
    let mut named = json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    for (field, value) in item.as_object().into_iter().flatten() {
        named[field] = value.clone();
    }
    named
}

fn without_managed_fields(mut shown: Value) -> Value {
    let strip = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    strip(&mut shown);
    shown.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().for_each(strip);
    shown
}

fn show(form: &Form, shown: &Value, out: &Output) {
    match form {
        Form::Table(_) | Form::Name => {
            let one = std::slice::from_ref(shown);
            let items = shown["items"].as_array().map_or(one, Vec::as_slice);
            items.iter().filter_map(Target::of).for_each(|target| out.line(&target.to_string()));
        }
        Form::Text(Language::Yaml) => out.data(&yaml::written(shown)),
        Form::Text(Language::Json) => out.line(&format!("{shown:#}")),
        Form::Path(template) => out.line(&template.fill(shown)),
    }
}

/// Shows every change. On a terminal the table is drawn anew; elsewhere each change is a line.
async fn watch(args: &Get, asked: Asked, client: &Client, out: &Output) -> Outcome {
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
            let listing = client.read(&path, accept).await?;
            from = listing["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            if is_table {
                screen.start(&listing);
            } else {
                listing["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|item| show(&args.output, &without_managed_fields(named(item, &kind)), out));
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
                _ if !is_table => show(&args.output, &without_managed_fields(object.clone()), out),
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
