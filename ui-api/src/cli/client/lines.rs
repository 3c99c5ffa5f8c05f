//! An answer that comes line by line, such as a watch or a log.

use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use super::trouble::{Trouble, root_cause};

/// An answer that comes line by line.
pub(in crate::cli) struct Lines {
    pub(super) body: Body,
    pub(super) kept: Vec<u8>,
    pub(super) address: String,
}

impl Lines {
    /// The next line without its end; `None` once the server has ended the answer.
    ///
    /// # Errors
    /// The connection broke.
    pub(in crate::cli) async fn next(&mut self) -> Result<Option<String>, Trouble> {
        loop {
            if let Some(end) = self.kept.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.kept.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.kept.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => {
                    return Err(Trouble::Unreachable {
                        address: self.address.clone(),
                        why: root_cause(&error),
                    });
                }
                None if self.kept.is_empty() => return Ok(None),
                None => {
                    return Ok(Some(String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned()));
                }
            }
        }
    }

    /// The next event of a watch; lines that are none are passed over.
    ///
    /// # Errors
    /// The connection broke.
    pub(in crate::cli) async fn next_event(&mut self) -> Result<Option<Value>, Trouble> {
        while let Some(line) = self.next().await? {
            if let Ok(event) = serde_json::from_str(&line) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}
