//! Watching many kinds and namespaces through one answer, for screens that show all of a home.
//!
//! `?of=apps&of=containers/anna@1234` asks for the apps of every namespace, and for what became of anna's containers
//! since version 1234: `of=PLURAL[.GROUP][/NAMESPACE][:LABELS][@VERSION]`, each a part with rights, a list and a place of
//! its own. LABELS select as `labelSelector` does: `of=apps:tier=a,shared!=no`. Events (`of=events/anna`) lie outside the one
//! order of changes, so their versions are told apart from all others'; those that are dropped for their age are not told.
//! The answer is server-sent events: a browser's `EventSource` reads it, and whoever reads lines reads those that begin
//! with `data:`. Each holds one object of JSON with a `type` and, in `of`, the part it is about:
//!
//! | type | what it says |
//! |---|---|
//! | `LIST` | the whole list of this part follows; what was known of it is to be forgotten |
//! | `ADDED`, `MODIFIED`, `DELETED` | what became of `object`, as in any watch |
//! | `BOOKMARK` | the list is out; from here on changes are told |
//! | `ERROR` | 403: this part may not be watched; 410: too much was missed of it, and a list follows |
//! | `BEAT` | nothing else to say for a while; how far each part has come |
//!
//! The id of an event tells how far every part had come with it. An `EventSource` brings it back by itself after a cut
//! (`Last-Event-ID`), and the parts go on from there. To whoever reads slowly, what changed several times meanwhile is
//! told once, as it is by then; who needs every state on the way has the plain watch.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::{Query as QueryString, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use hearth_engine::Query;
use hearth_engine::store::parse_selector;
use hearth_meta::{KindInfo, Scope};

use crate::access::{Actor, Asked};
use crate::events;
use crate::failure::Failure;
use crate::router::{self, Wire};

mod feed;
mod part;

use feed::Feed;
use part::Part;

/// How many parts one answer may have.
const MOST: usize = 64;
/// What a browser brings back after a cut.
const LAST_EVENT_ID: &str = "last-event-id";
/// Stands in an id for a part whose list is not out yet.
const NOWHERE: &str = "-";

/// Answers with everything that is watched. See the module.
pub async fn watch_together(State(wire): State<Wire>, request: Request) -> Response {
    begin(&wire, &request).unwrap_or_else(IntoResponse::into_response)
}

fn begin(wire: &Wire, request: &Request) -> Result<Response, Failure> {
    let actor = router::actor(request.extensions())?;
    let places = places(request.uri())?;
    let come_to = come_to(request.headers(), places.len())?;
    let mut parts = parts(wire, actor, &places)?;
    for ((part, place), come_to) in parts.iter_mut().zip(&places).zip(come_to) {
        part.begin(come_to.or(place.version));
    }
    let lines = stream::unfold(Feed::new(wire, parts), Feed::frame);
    let body = Body::from_stream(lines.map(Ok::<_, std::convert::Infallible>));
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response())
}

/// One part as it is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    plural: String,
    group: Option<String>,
    namespace: Option<String>,
    labels: String,
    version: Option<u64>,
}

impl Place {
    fn parse(text: &str) -> Result<Self, String> {
        let (rest, version) = match text.split_once('@') {
            Some((rest, version)) => {
                let number = version.parse();
                let number = number.map_err(|_| format!("{version:?} is not a resourceVersion"))?;
                (rest, Some(number).filter(|version| *version > 0))
            }
            None => (text, None),
        };
        let (rest, labels) = rest.split_once(':').unwrap_or((rest, ""));
        parse_selector(labels).map_err(|why| format!("{labels:?} selects no labels: {why}"))?;
        let (what, namespace) = match rest.split_once('/') {
            Some((what, namespace)) if !namespace.is_empty() && !namespace.contains('/') => {
                (what, Some(namespace.to_owned()))
            }
            Some(_) => return Err("write it as PLURAL, or PLURAL/NAMESPACE, and :LABELS after it".to_owned()),
            None => (rest, None),
        };
        let (plural, group) = match what.split_once('.') {
            Some((plural, group)) => (plural, Some(group.to_owned())),
            None => (what, None),
        };
        Ok(Self { plural: plural.to_owned(), group, namespace, labels: labels.to_owned(), version })
    }

    /// As events name it.
    fn name(&self) -> String {
        let group = self.group.as_ref().map(|group| format!(".{group}")).unwrap_or_default();
        let namespace = self.namespace.as_ref().map(|namespace| format!("/{namespace}")).unwrap_or_default();
        let labels = if self.labels.is_empty() { String::new() } else { format!(":{}", self.labels) };
        format!("{}{group}{namespace}{labels}", self.plural)
    }

    /// What it is of, among what is stored and the events.
    fn kind(&self, wire: &Wire) -> Option<KindInfo> {
        let is_named = |kind: &&KindInfo| {
            kind.plural == self.plural && self.group.as_ref().is_none_or(|group| *group == kind.group)
        };
        if let Some(kind) = wire.gate.kinds().find(is_named) {
            return Some(kind.clone());
        }
        ["", events::GROUP].map(events::kind).into_iter().find(|kind| is_named(&kind))
    }
}

/// What is asked for; everything that is wrong with it is told at once.
fn places(uri: &Uri) -> Result<Vec<Place>, Failure> {
    let QueryString(pairs) = QueryString::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|error| Failure::bad_request(format!("the query string is not understood: {error}")))?;
    let (mut places, mut problems, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (_, value) in pairs.iter().filter(|(name, _)| name == "of") {
        match Place::parse(value) {
            Ok(place) if names.insert(place.name()) => places.push(place),
            Ok(_) => problems.push(format!("of={value}: is asked for twice")),
            Err(why) => problems.push(format!("of={value}: {why}")),
        }
    }
    if places.is_empty() && problems.is_empty() {
        problems.push("of: is required, once for each that is to be watched, such as of=apps".to_owned());
    }
    if places.len() > MOST {
        problems.push(format!("of: {} are too many for one stream; at most {MOST}", places.len()));
    }
    if problems.is_empty() { Ok(places) } else { Err(Failure::bad_request(problems.join("; "))) }
}

/// How far each part had come before a cut.
fn come_to(headers: &HeaderMap, parts: usize) -> Result<Vec<Option<u64>>, Failure> {
    let said = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if said.is_empty() {
        return Ok(vec![None; parts]);
    }
    let read = |word: &str| if word == NOWHERE { Some(None) } else { word.parse().ok().map(Some) };
    let read: Option<Vec<Option<u64>>> = said.split(',').map(read).collect();
    read.filter(|read| read.len() == parts).ok_or_else(|| {
        Failure::bad_request("Last-Event-ID: is not an id of this stream; leave it out to begin anew")
    })
}

/// The parts, each for what was granted. One that is refused says so in its place; where all are, nothing begins.
fn parts(wire: &Wire, actor: &Actor, places: &[Place]) -> Result<Vec<Part>, Failure> {
    let (mut parts, mut problems, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for place in places {
        let Some(kind) = place.kind(wire) else {
            let mut known: Vec<&str> = wire.gate.kinds().map(|kind| kind.plural).collect();
            known.push("events");
            let name = place.name();
            problems.push(format!("of={name}: is none of the kinds here: {}", known.join(", ")));
            continue;
        };
        if kind.scope == Scope::Cluster && place.namespace.is_some() {
            problems.push(format!("of={}: {} lie in no namespace", place.name(), kind.plural));
            continue;
        }
        let asked = |verb| Asked::of(verb, &kind, place.namespace.as_deref().unwrap_or_default(), "");
        let granted = actor.check(&asked("list")).and_then(|()| wire.gate.open(actor, &asked("watch")));
        if let Err(refusal) = &granted {
            refusals.push(refusal.clone());
        }
        let labels = parse_selector(&place.labels).unwrap_or_default();
        let query = Query { namespace: place.namespace.clone(), labels, ..Query::of(kind.kind) };
        parts.push(Part::new(place.name(), kind, query, granted, wire));
    }
    if !problems.is_empty() {
        return Err(Failure::bad_request(problems.join("; ")));
    }
    match refusals.into_iter().next() {
        Some(first) if parts.iter().all(Part::is_refused) => Err(first),
        _ => Ok(parts),
    }
}

#[cfg(test)]
mod tests;
