//! `hearth top`: what containers use now.

use std::collections::HashMap;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::client::Client;
use super::complete;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::progress::bytes;
use super::resource::{encode, parse_one};
use super::table::Table;

/// Where it is asked.
const PLACE: &str = "/hearth/v1/usage";
/// How far apart the two readings are from which it follows how busy a container is.
const APART: Duration = Duration::from_secs(1);

/// Show what containers use of the processor and of memory, the busiest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hearth top\n  hearth top app/photos\n  hearth top -A --sort memory")]
pub(super) struct Top {
    /// Only this app or container, as KIND/NAME.
    #[arg(value_name = "KIND/NAME", add = complete::objects())]
    object: Vec<String>,
    /// In every namespace.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// By what to sort.
    #[arg(long, value_enum, default_value_t, value_name = "cpu|memory", hide_possible_values = true)]
    sort: Sort,
    /// Print as JSON.
    #[arg(short, long, value_name = "json")]
    output: Option<Form>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Sort {
    #[default]
    Cpu,
    Memory,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Json,
}

/// One container.
struct Used {
    namespace: String,
    name: String,
    /// Thousandths of a processor; absent where one of the two readings is missing.
    millicpus: Option<u64>,
    memory: Option<u64>,
    unknown: Option<String>,
}

/// Carries out `hearth top`.
///
/// # Errors
/// No such object, no server, or one whose container engine does not answer.
pub(super) async fn run(args: Top, client: &Client, out: &Output) -> Outcome {
    let only = match args.object.as_slice() {
        [] => None,
        words => Some(parse_one(words, client.namespace())?),
    };
    if let Some(target) = &only {
        if !["App", "Container"].contains(&target.kind.kind) {
            return Err(Failure::usage(format!(
                "{target} uses nothing of its own; name an app or a container"
            )));
        }
        client.one(target).await?;
    }
    let is_meant = |item: &Value| match &only {
        Some(target) => {
            let field = if target.kind.kind == "App" { "app" } else { "name" };
            item["namespace"].as_str() == target.namespace.as_deref() && item[field] == *target.name
        }
        None => args.all_namespaces || item["namespace"] == *client.namespace(),
    };
    let here = only.as_ref().and_then(|target| target.namespace.as_deref()).unwrap_or(client.namespace());
    let place = match args.all_namespaces {
        true => PLACE.to_owned(),
        false => format!("{PLACE}?namespace={}", encode(here)),
    };
    let first = client.get(&place).await?;
    tokio::time::sleep(APART).await;
    let second = client.get(&place).await?;
    let mut used = compare(&first, &second);
    let meant: Vec<bool> = items(&second).map(is_meant).collect();
    let mut number = 0;
    used.retain(|_| {
        number += 1;
        meant[number - 1]
    });
    match args.sort {
        Sort::Cpu => used.sort_by_key(|each| std::cmp::Reverse((each.millicpus, each.memory))),
        Sort::Memory => used.sort_by_key(|each| std::cmp::Reverse((each.memory, each.millicpus))),
    }
    if args.output.is_some() {
        let items: Vec<Value> = used.iter().map(shown).collect();
        out.line(&format!("{:#}", json!({ "items": items })));
    } else if used.is_empty() {
        out.note("nothing runs here");
    } else {
        table(&used, args.all_namespaces).lines(out).iter().for_each(|line| out.line(line));
    }
    used.iter().filter_map(|each| Some((each, each.unknown.as_ref()?))).for_each(|(each, why)| {
        out.note(&format!("container/{}: {why}", each.name));
    });
    Ok(Exit::Done)
}

fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// What each used between two readings.
fn compare(first: &Value, second: &Value) -> Vec<Used> {
    let id = |item: &Value| (item["namespace"].to_string(), item["name"].to_string());
    let before: HashMap<_, _> = items(first).map(|item| (id(item), item)).collect();
    let of = |item: &Value| {
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        let millicpus = before.get(&id(item)).and_then(|before| {
            let since = |field: &str| item[field].as_u64()?.checked_sub(before[field].as_u64()?);
            // One that was started anew in between has counted from the beginning.
            since("processorNanos")?.saturating_mul(1000).checked_div(since("atNanos")?)
        });
        Used {
            namespace: text("namespace"),
            name: text("name"),
            millicpus,
            memory: item["memoryBytes"].as_u64(),
            unknown: item["unknown"].as_str().map(str::to_owned),
        }
    };
    items(second).map(of).collect()
}

fn table(used: &[Used], namespaces: bool) -> Table {
    let mut headings = vec!["name", "cpu", "memory"];
    if namespaces {
        headings.insert(0, "namespace");
    }
    let mut table = Table::new(&headings);
    for each in used {
        let memory = each.memory.map(|count| bytes(i64::try_from(count).unwrap_or(i64::MAX)));
        let mut cells = vec![
            each.name.clone(),
            each.millicpus.map_or_else(unknown, share),
            memory.unwrap_or_else(unknown),
        ];
        if namespaces {
            cells.insert(0, each.namespace.clone());
        }
        table.push(cells);
    }
    table
}

fn unknown() -> String {
    "?".to_owned()
}

/// Of one processor, in percent with one place.
fn share(millicpus: u64) -> String {
    format!("{}.{} %", millicpus / 10, millicpus % 10)
}

fn shown(used: &Used) -> Value {
    json!({
        "namespace": used.namespace, "name": used.name, "millicpus": used.millicpus,
        "memoryBytes": used.memory, "unknown": used.unknown,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compare, share};

    #[test]
    fn how_busy_it_is_follows_from_two_readings_of_the_same_container() {
        let at = |at: u64, nanos: u64| json!({ "items": [{ "namespace": "h", "name": "a", "atNanos": at, "processorNanos": nanos, "memoryBytes": 7 }] });
        let busy = |first, second| compare(&first, &second)[0].millicpus;
        assert_eq!(busy(at(0, 0), at(1_000_000_000, 250_000_000)), Some(250));
        assert_eq!(busy(at(0, 900), at(1_000_000_000, 100)), None, "it was started anew");
        assert_eq!(busy(json!({ "items": [] }), at(1, 1)), None, "it was not there before");
        assert_eq!(busy(at(5, 5), at(5, 5)), None, "no time has passed");
        assert_eq!((share(250), share(1503)), ("25.0 %".into(), "150.3 %".into()));
    }
}
