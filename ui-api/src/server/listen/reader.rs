//! A connection whose other end has to read: whoever takes nothing of what it is sent for too long is let go.
//!
//! Without an end to it, a few hundred clients that asked for much and read nothing would hold every place there is.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that breaks off where nothing of what is written is taken for so long.
pub(super) struct MustRead<S> {
    stream: S,
    limit: Duration,
    /// Since something is to be written and nothing is taken.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> MustRead<S> {
    pub(super) fn within(limit: Duration, stream: S) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// What a write came to. Each that takes something begins the time anew: slow is not stalled.
    fn in_time(&mut self, context: &mut Context<'_>, wrote: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let limit = self.limit;
        ready!(self.stalled.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(context));
        let why = format!("nothing that was sent was read for {} seconds", limit.as_secs());
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MustRead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MustRead<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.in_time(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
