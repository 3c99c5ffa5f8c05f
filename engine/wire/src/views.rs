//! Kinds that nobody stores, for reading alone: what is stored, as clients of the protocol know it from elsewhere, and
//! what stands for the moment.
//!
//! An object of such a kind has the name, the uid and the version of the one it is made of, so that selectors, pages,
//! watches and events go by the same order of changes.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use hearth_engine::Object;
use hearth_engine::store::{Query, Requirement};
use hearth_meta::KindInfo;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::accept::Form;
use crate::access::Granted;
use crate::failure::Failure;
use crate::options;
use crate::paging::ListMeta;
use crate::parameters::Parameters;
use crate::projection::Projection;
use crate::target::Target;
use crate::watch::{DEFAULT_LENGTH, line, streamed};

/// A kind that nobody stores.
#[derive(Clone)]
pub struct View {
    /// What it is. Columns are filled from its objects; those without a path by [`Source::cells`].
    pub kind: KindInfo,
    /// What may be done with it.
    pub verbs: &'static [&'static str],
    /// Parts of its objects that are served beside the protocol, such as `log`.
    pub parts: &'static [&'static str],
    /// What it is made of; `None` where it is served beside the protocol altogether.
    pub source: Option<Source>,
}

/// What the objects of a view are made of.
#[derive(Clone, Copy)]
pub struct Source {
    /// The stored kind.
    pub kind: &'static str,
    /// One of its objects as the view shows it, of the same name, uid and version. Pure.
    pub show: fn(&Object) -> Object,
    /// The cells of those columns that have no path, in their order, from an object as it is shown. Pure.
    pub cells: fn(&Value) -> Vec<Value>,
}

impl Source {
    /// An object as it is shown.
    pub(crate) fn shown(source: Option<Self>, object: &Object) -> Cow<'_, Object> {
        match source {
            Some(source) => Cow::Owned((source.show)(object)),
            None => Cow::Borrowed(object),
        }
    }
}

/// Which objects of a view are asked for by what only the view has.
#[derive(Clone)]
pub(crate) struct Choice {
    source: Source,
    query: Query,
}

impl Choice {
    /// What requirements on fields ask for that what is stored does not have; `None` where they ask for nothing.
    pub(crate) fn of(kind: &KindInfo, source: Source, fields: &[Requirement]) -> Option<Self> {
        let fields: Vec<Requirement> = fields.iter().filter(|field| !is_of_both(field)).cloned().collect();
        let query = Query { kind: kind.kind.to_owned(), fields, ..Query::default() };
        (!query.fields.is_empty()).then_some(Self { source, query })
    }

    /// Whether an object is asked for, once it is shown.
    pub(crate) fn takes(&self, object: &Object) -> bool {
        self.query.matches(&(self.source.show)(object))
    }
}

/// Whether what is stored and what is shown of it have a field alike.
pub(crate) fn is_of_both(requirement: &Requirement) -> bool {
    let (Requirement::In(path, _)
    | Requirement::NotIn(path, _)
    | Requirement::Exists(path)
    | Requirement::Absent(path)) = requirement;
    path.starts_with("metadata.")
}

/// All objects of a kind that stands for the moment.
pub struct Standing<'a> {
    /// The kind.
    pub kind: &'a KindInfo,
    /// The cells of those columns that have no path, in their order, from an object. Pure.
    pub cells: fn(&Value) -> Vec<Value>,
    /// The objects.
    pub objects: Vec<Object>,
    /// All of them again, from time to time, for those who watch; `None` where nobody may.
    pub again: Option<BoxStream<'static, Vec<Object>>>,
    /// What of an object is worth telling when it changes; the rest of it is of the moment. Pure.
    pub lasting: fn(&Object) -> Value,
}

/// Reads what stands for the moment: all objects of a kind, one by its name, or a watch that tells what differs whenever
/// they are looked at again.
///
/// `place` is the path without its group and version.
///
/// # Errors
/// A place or a query that is not understood, or a name that is not there.
pub fn standing<B>(
    granted: &Granted<B>,
    Standing { kind, cells, objects, again, lasting }: Standing<'_>,
    place: &str,
    (uri, headers): (&Uri, &HeaderMap),
    closing: CancellationToken,
) -> Result<Response, Failure> {
    let target = Target::parse(place).ok_or_else(Failure::no_such_place)?;
    target.check_scope(kind)?;
    let parameters = Parameters::parse(uri)?;
    let wanted = Query {
        kind: kind.kind.to_owned(),
        namespace: target.namespace.clone(),
        labels: parameters.labels.clone(),
        fields: parameters.fields.clone(),
    };
    let name = target.name.clone();
    let chosen = move |objects: Vec<Object>| -> Vec<Arc<Object>> {
        let is_named = |object: &Object| name.as_deref().is_none_or(|name| name == object.name());
        let chosen = objects.into_iter().filter(|object| wanted.matches(object) && is_named(object));
        chosen.map(Arc::new).collect()
    };
    let objects = chosen(objects);
    let store = granted.store();
    let projection = Projection::new(kind, Form::wanted(headers), parameters.include, store.clock().now())
        .with_cells(cells);
    let version = store.resource_version();
    if parameters.watch {
        options::check_watch(&parameters)?;
        let mut lines: Vec<_> = objects
            .iter()
            .enumerate()
            .map(|(at, object)| line("ADDED", &projection.next(object, at == 0)))
            .collect();
        if parameters.initial_events == Some(true) && parameters.bookmarks {
            lines.push(line("BOOKMARK", &projection.bookmark(version, true)));
        }
        let clock = store.clock().clone();
        let ends = clock.elapsed().saturating_add(parameters.timeout.unwrap_or(DEFAULT_LENGTH));
        let mut view = Moments { is_first: objects.is_empty(), known: objects, lasting, projection };
        let changes = again.unwrap_or_else(|| stream::pending().boxed());
        let changes = changes.map(move |objects| view.told(chosen(objects))).filter(|frame| {
            let has_something = !frame.is_empty();
            async move { has_something }
        });
        let over = Box::pin(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = clock.sleep_until(ends) => {}
            }
        });
        return Ok(streamed(stream::iter(lines).chain(changes.take_until(over))));
    }
    match &target.name {
        Some(name) => {
            let object = objects.first().ok_or_else(|| Failure::not_found(kind, name))?;
            Ok(Json(projection.one(object)).into_response())
        }
        None => {
            options::check_list(&parameters)?;
            Ok(Json(projection.many(&objects, &ListMeta::whole(version))).into_response())
        }
    }
}

/// What a watch has told of objects that nobody stores.
struct Moments {
    known: Vec<Arc<Object>>,
    lasting: fn(&Object) -> Value,
    projection: Projection,
    is_first: bool,
}

impl Moments {
    /// What differs from what was told, as lines.
    fn told(&mut self, now: Vec<Arc<Object>>) -> Bytes {
        let mut told = Vec::new();
        for object in &now {
            match self.known.iter().find(|known| known.key() == object.key()) {
                None => told.push(("ADDED", object)),
                Some(known) if (self.lasting)(known) != (self.lasting)(object) => {
                    told.push(("MODIFIED", object))
                }
                Some(_) => {}
            }
        }
        let gone = self.known.iter().filter(|known| now.iter().all(|object| object.key() != known.key()));
        told.extend(gone.map(|object| ("DELETED", object)));
        let mut frame = BytesMut::new();
        for (word, object) in told {
            let is_first = std::mem::take(&mut self.is_first);
            frame.put(line(word, &self.projection.next(object, is_first)));
        }
        self.known = now;
        frame.freeze()
    }
}
