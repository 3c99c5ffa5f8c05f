//! The store's events as objects: `v1` as kubectl reads them, `events.k8s.io/v1` as newer programs do.
//!
//! Events lie outside the one order of changes, so they have a version of their own: the time they last happened,
//! in microseconds. A watch looks into the store once a second, and reads only what went down since it looked.
//!
//! - `feed`: a running watch; `note`: what other programs note.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use hearth_engine::store::{EventQuery, EventRow, Query, Requirement};
use hearth_engine::{Object, Store};
use hearth_meta::resource::Column;
use hearth_meta::{KindInfo, Scope};
use serde_json::{Value, json};

use crate::accept::Form;
use crate::body;
use crate::failure::Failure;
use crate::options;
use crate::paging::{ListMeta, Mark};
use crate::parameters::{Match, Parameters};
use crate::projection::Projection;
use crate::router::{self, Wire};
use crate::target::Target;

pub(crate) mod feed;
mod note;

/// The group newer programs use.
pub(crate) const GROUP: &str = "events.k8s.io";
/// Events about things of the whole machine are shown in this namespace, since every event must lie in one.
const NAMESPACE_OF_MACHINE: &str = "default";

/// What the uid of an event begins with, before its number.
const UID: &str = "event-";

/// Whether a path leads to events.
pub(crate) fn is_place((group, version): (&str, &str), path: &str) -> bool {
    (group.is_empty() || group == GROUP)
        && version == "v1"
        && Target::parse(path).is_some_and(|target| target.plural == "events")
}

/// Whether a kind is that of events.
pub(crate) fn is_kind(kind: &KindInfo) -> bool {
    kind.kind == "Event" && (kind.group.is_empty() || kind.group == GROUP)
}

/// What events are, in the words of the other kinds.
pub(crate) fn kind(group: &'static str) -> KindInfo {
    let about = if group.is_empty() { "involvedObject" } else { "regarding" };
    let message = if group.is_empty() { ".message" } else { ".note" };
    let last = if group.is_empty() { ".lastTimestamp" } else { ".deprecatedLastTimestamp" };
    let column = |name: &str, kind: &str, path: String, description: &str| Column {
        name: name.into(),
        kind: kind.into(),
        json_path: path,
        priority: 0,
        description: description.into(),
    };
    KindInfo {
        short_names: &["ev"],
        columns: vec![
            column("Last Seen", "date", last.into(), "When it last happened"),
            column("Type", "string", ".type".into(), "Whether it calls for attention"),
            column("Reason", "string", ".reason".into(), "Why, in one word"),
            column("Object", "string", format!("{{.{about}.kind}}/{{.{about}.name}}"), "What it happened to"),
            column("Message", "string", message.into(), "What happened"),
        ],
        ..KindInfo::plain(group, "Event", ("events", "event"), Scope::Namespaced)
    }
}

/// One request for events.
#[derive(Clone)]
pub(crate) struct Asked {
    store: Store,
    kind: KindInfo,
    target: Target,
    parameters: Parameters,
    form: Form,
}

/// Answers a request for events.
pub(crate) async fn answer(
    wire: &Wire,
    (group, _): (&str, &str),
    path: &str,
    request: Request,
) -> Result<Response, Failure> {
    let (parts, sent) = request.into_parts();
    let kind = kind(if group.is_empty() { "" } else { GROUP });
    let target = Target::parse(path).ok_or_else(Failure::no_such_place)?;
    let parameters = Parameters::parse(&parts.uri)?;
    let verb = router::verb(&parts.method, target.name.is_some(), parameters.watch)?;
    let granted =
        wire.gate.open(router::actor(&parts.extensions)?, &target.asked(verb, &kind, &parameters))?;
    let store = granted.store().clone();
    let asked = Asked { store, kind, target, parameters, form: Form::wanted(&parts.headers) };
    if asked.target.subresource.is_some() {
        return Err(Failure::no_such_place());
    }
    match (parts.method, asked.target.name.is_some()) {
        (Method::GET, _) if asked.parameters.watch => feed::watch(asked, wire.closing.clone()).await,
        (Method::GET, false) => asked.list().await,
        (Method::GET, true) => asked.get().await,
        (Method::POST, false) => {
            let sent = body::json(&parts.headers, sent).await?;
            note::answer(&asked, &sent, &granted.actor().name).await
        }
        (method, _) => Err(Failure::not_allowed(format!(
            "{method} is not offered here: events are noted and aged by the server"
        ))),
    }
}

impl Asked {
    /// A watch of one namespace, or of all, from a version on, or from all that stands; it does not end by itself.
    pub(crate) fn on_and_on(
        store: Store,
        kind: KindInfo,
        namespace: Option<String>,
        labels: Vec<Requirement>,
        from: Option<u64>,
    ) -> Self {
        let target = Target { namespace, plural: kind.plural.to_owned(), name: None, subresource: None };
        let parameters = Parameters {
            labels,
            resource_version: from,
            timeout: Some(Duration::MAX),
            ..Parameters::default()
        };
        Self { store, kind, target, parameters, form: Form::Object }
    }

    /// The events asked for, oldest first, and the version of the newest.
    async fn read(&self) -> Result<(Vec<Arc<Object>>, u64), Failure> {
        let (rows, newest) = self.rows().await?;
        Ok((self.chosen(&rows), newest))
    }

    async fn rows(&self) -> Result<(Vec<EventRow>, u64), Failure> {
        let rows = self.store.events(&self.query()).await;
        let mut rows = rows.map_err(|error| Failure::of_write(error, &self.kind, ""))?;
        rows.sort_by_key(|row| (row.last_at, row.id));
        let newest = rows.last().map_or(1, version_of);
        Ok((rows, newest))
    }

    /// What the store can select by, to keep its answer small; the rest is selected by [`Asked::chosen`].
    fn query(&self) -> EventQuery {
        let term = |names: [&str; 2]| {
            self.parameters.fields.iter().find_map(|requirement| match requirement {
                Requirement::In(field, values) if names.contains(&field.as_str()) && values.len() == 1 => {
                    values.first().filter(|value| !value.is_empty()).cloned()
                }
                _ => None,
            })
        };
        EventQuery {
            namespace: self.target.namespace.clone().filter(|namespace| namespace != NAMESPACE_OF_MACHINE),
            kind: term(["involvedObject.kind", "regarding.kind"]),
            name: term(["involvedObject.name", "regarding.name"]),
            uid: term(["involvedObject.uid", "regarding.uid"]),
        }
    }

    fn chosen(&self, rows: &[EventRow]) -> Vec<Arc<Object>> {
        let wanted = Query {
            kind: "Event".into(),
            namespace: self.target.namespace.clone(),
            labels: self.parameters.labels.clone(),
            fields: self.parameters.fields.clone(),
        };
        let objects = rows.iter().filter_map(|row| self.object(row)).filter(|object| wanted.matches(object));
        let objects =
            objects.filter(|object| self.target.name.as_deref().is_none_or(|name| name == object.name()));
        objects.map(Arc::new).collect()
    }

    fn object(&self, row: &EventRow) -> Option<Object> {
        let about = reference(&self.store, row);
        let namespace = row.note.about.namespace.clone().unwrap_or_else(|| NAMESPACE_OF_MACHINE.into());
        let metadata = json!({
            "name": format!("{}.{:x}", row.note.about.name, row.id),
            "namespace": namespace,
            "uid": format!("{UID}{}", row.id),
            "resourceVersion": version_of(row).to_string(),
            "creationTimestamp": whole_seconds(row.first_at),
        });
        let (first, last) = (whole_seconds(row.first_at), whole_seconds(row.last_at));
        let value = if self.kind.group.is_empty() {
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about,
                "reason": row.note.reason, "message": row.note.message, "type": row.note.kind.as_str(),
                "count": row.count, "firstTimestamp": first, "lastTimestamp": last, "eventTime": null,
                "source": { "component": row.note.reporter },
                "reportingComponent": row.note.reporter, "reportingInstance": "",
            })
        } else {
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata, "regarding": about,
                "reason": row.note.reason, "note": row.note.message, "type": row.note.kind.as_str(),
                "action": row.note.reason, "eventTime": microseconds(row.first_at),
                "deprecatedCount": row.count, "deprecatedFirstTimestamp": first, "deprecatedLastTimestamp": last,
                "deprecatedSource": { "component": row.note.reporter },
                "reportingController": row.note.reporter, "reportingInstance": "",
            })
        };
        Object::from_value(value).ok()
    }

    fn projection(&self) -> Projection {
        Projection::new(&self.kind, self.form, self.parameters.include, self.store.clock().now())
    }

    /// Pages go by when an event last happened. One that happens again between two pages is left to the watch that
    /// goes on from the version of the first.
    async fn list(&self) -> Result<Response, Failure> {
        options::check_list(&self.parameters)?;
        let mark = self.parameters.next.as_deref().map(Mark::decode).transpose()?;
        let (mut rows, newest) = self.rows().await?;
        let at = mark.as_ref().and_then(|mark| mark.at).unwrap_or(newest);
        if self.parameters.resource_version_match == Some(Match::Exact)
            && self.parameters.resource_version != Some(newest)
        {
            return Err(Failure::expired("events as they stood earlier are not kept; ask without a version"));
        }
        let after = mark.map(|mark| place_of(&mark)).transpose()?;
        rows.retain(|row| {
            version_of(row) <= at && after.is_none_or(|after| (version_of(row), row.id) > after)
        });
        let mut objects = self.chosen(&rows);
        let left = objects.len().saturating_sub(self.parameters.limit.unwrap_or(usize::MAX));
        objects.truncate(objects.len() - left);
        let selects = !self.parameters.labels.is_empty() || !self.parameters.fields.is_empty();
        let last = objects.last().filter(|_| left > 0);
        let next = last.map(|last| {
            let id = last.uid().trim_start_matches(UID).to_owned();
            Mark::new(at, [last.resource_version().to_string(), id], None)
        });
        let meta = ListMeta { version: at, next, left: (!selects).then_some(left) };
        Ok(Json(self.projection().many(&objects, &meta)).into_response())
    }

    async fn get(&self) -> Result<Response, Failure> {
        let (objects, _) = self.read().await?;
        let name = self.target.name.as_deref().unwrap_or_default();
        let object = objects.first().ok_or_else(|| Failure::not_found(&self.kind, name))?;
        Ok(Json(self.projection().one(object)).into_response())
    }
}

/// The time and the number of the last event on the page before.
fn place_of(mark: &Mark) -> Result<(u64, i64), Failure> {
    let [at, id] = &mark.after;
    at.parse().ok().zip(id.parse().ok()).ok_or_else(|| {
        Failure::bad_request(
            "continue: this mark is of a list in another place; bring it back to where it came from",
        )
    })
}

fn reference(store: &Store, row: &EventRow) -> Value {
    let about = &row.note.about;
    let mut reference = json!({ "kind": about.kind, "name": about.name, "uid": row.note.uid });
    if let Some(namespace) = &about.namespace {
        reference["namespace"] = namespace.as_str().into();
    }
    if let Some(kind) = store.kind(&about.kind) {
        reference["apiVersion"] = kind.api_version().into();
    }
    reference
}

fn version_of(row: &EventRow) -> u64 {
    u64::try_from(row.last_at.as_microsecond()).unwrap_or(1)
}

/// Times of events are told without fractions, as clients of the older form read them.
fn microseconds(at: hearth_meta::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

fn whole_seconds(time: hearth_meta::Timestamp) -> String {
    let seconds = hearth_meta::Timestamp::from_second(time.as_second());
    seconds.unwrap_or(time).to_string()
}
