//! A whole home in one file, streamed as it is made, and the copies there are of its store.

use std::io::Write;
use std::path::PathBuf;

use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hearth_wire::Failure;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::places::Allowed;
use crate::backup::{Packed, file_name};

/// How many pieces may wait for whoever reads.
const PIECES: usize = 16;

/// Makes a backup and streams it. It needs room for one copy of the store while it is made.
pub(super) async fn answer(Allowed(inside): Allowed) -> Result<Response, Failure> {
    let (store, behind) = (inside.store(), inside.behind());
    let Ok(alone) = behind.backup.clone().try_lock_owned() else {
        let message = "another backup is being made; wait until it is done";
        return Err(Failure::new(StatusCode::CONFLICT, "Conflict", message));
    };
    let failed = |error: anyhow::Error| Failure::internal(format!("no backup could be made: {error:#}"));
    let copy = Temporary::at(store.data_dir().join("backup.half")).map_err(failed)?;
    let facts = store.copy_to(&copy.0).await.map_err(|error| failed(error.into()))?;
    let now = store.clock().now();
    let data_dir = store.data_dir().to_owned();
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
    let closing = behind.closing.clone().cancelled_owned();
    let pieces = futures::StreamExt::take_until(pieces, closing);
    let name = format!("attachment; filename=\"{}\"", file_name(now));
    let headers = [(CONTENT_TYPE, "application/x-tar".to_owned()), (CONTENT_DISPOSITION, name)];
    tracing::warn!(actor = inside.actor().told(), "a backup was made; it holds the key to every secret");
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The rolling copies, oldest first.
pub(super) async fn copies(Allowed(inside): Allowed) -> Result<Json<Value>, Failure> {
    let copies = inside.store().copies().map_err(|error| Failure::internal(error.to_string()))?;
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
