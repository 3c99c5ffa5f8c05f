//! A whole home in one file, streamed as it is made, and the copies there are of its store.

use std::io::Write;
use std::path::PathBuf;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use bytes::Bytes;
use hearth_wire::{Actor, Failure};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::routes::Places;
use crate::backup::{Packed, file_name};

/// The one who may have every secret.
const ADMIN: &str = "admin";
/// How many pieces may wait for whoever reads.
const PIECES: usize = 16;

/// Makes a backup and streams it. It needs room for one copy of the store while it is made.
pub(super) async fn answer(
    State(places): State<Places>,
    actor: Option<Extension<Actor>>,
) -> Result<Response, Failure> {
    if actor.is_none_or(|Extension(Actor(name))| name != ADMIN) {
        let message = "a backup holds the key to every secret; only the admin may have it";
        return Err(Failure::new(StatusCode::FORBIDDEN, "Forbidden", message));
    }
    let Ok(alone) = places.backup.clone().try_lock_owned() else {
        let message = "another backup is being made; wait until it is done";
        return Err(Failure::new(StatusCode::CONFLICT, "Conflict", message));
    };
    let failed = |error: anyhow::Error| Failure::internal(format!("no backup could be made: {error:#}"));
    let copy = Temporary::at(places.store.data_dir().join("backup.half")).map_err(failed)?;
    let facts = places.store.copy_to(&copy.0).await.map_err(|error| failed(error.into()))?;
    let now = places.store.clock().now();
    let data_dir = places.store.data_dir().to_owned();
    let (sender, pieces) = mpsc::channel(PIECES);
    let packed = tokio::task::spawn_blocking(move || {
        Packed::new(&copy.0, &data_dir, &facts, now).map(|packed| (packed, copy))
    });
    let (packed, copy) =
        packed.await.map_err(|error| failed(error.into())).and_then(|packed| packed.map_err(failed))?;
    tokio::task::spawn_blocking(move || {
        let mut out = Pieces(sender);
        let written = packed.write(&mut out);
        if let Err(error) = written {
            // Whoever reads finds it cut short.
            tracing::warn!(error = format!("{error:#}"), "a backup was not sent to its end");
        }
        drop((copy, alone));
    });
    let pieces = futures::stream::unfold(pieces, |mut pieces| async {
        pieces.recv().await.map(|piece| (Ok::<_, std::convert::Infallible>(piece), pieces))
    });
    let closing = places.wire.closing.clone().cancelled_owned();
    let pieces = futures::StreamExt::take_until(pieces, closing);
    let name = format!("attachment; filename=\"{}\"", file_name(now));
    let headers = [(CONTENT_TYPE, "application/x-tar".to_owned()), (CONTENT_DISPOSITION, name)];
    tracing::warn!("a backup was made; it holds the key to every secret");
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The rolling copies, oldest first.
pub(super) async fn copies(State(places): State<Places>) -> Result<Json<Value>, Failure> {
    let copies = places.store.copies().map_err(|error| Failure::internal(error.to_string()))?;
    let shown = copies.iter().map(|copy| {
        json!({
            "path": copy.path, "time": copy.at.to_string(), "every": copy.every.word(),
            "resourceVersion": copy.resource_version.to_string(), "bytes": copy.bytes,
        })
    });
    Ok(Json(json!({ "copies": shown.collect::<Vec<_>>() })))
}

/// A file that goes with its end; one that a crash left is removed by the next.
struct Temporary(PathBuf);

impl Temporary {
    fn at(path: PathBuf) -> anyhow::Result<Self> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(Self(path)),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(error = %error, "a temporary copy was gone already");
        }
    }
}

/// What is written becomes pieces of the answer.
struct Pieces(mpsc::Sender<Bytes>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map_err(|_| std::io::Error::new(std::io::ErrorKind::BrokenPipe, "nobody reads it any more"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
