//! The mark at the end of a page, which the client brings back to read on.
//!
//! It says all that is needed, so that nothing is kept for a client that may never come: the version the first page
//! stood for, the last thing that was shown, and how much was left. To clients it is one word without a meaning.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The form of the marks that are given out now. Those of an earlier program are refused.
const FORM: u8 = 1;

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    #[serde(rename = "v")]
    form: u8,
    /// The version the list stands for; none where it goes on with what stands when it is asked for.
    #[serde(rename = "rv", skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<u64>,
    /// The last thing that was shown.
    #[serde(rename = "start")]
    pub(crate) after: [String; 2],
    /// How much is left, where it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<usize>,
}

impl Mark {
    /// A mark behind this.
    pub(crate) fn new(at: u64, after: [String; 2], left: Option<usize>) -> Self {
        Self { form: FORM, at: Some(at), after, left }
    }

    /// The same place in what stands by then.
    pub(crate) fn in_what_stands(self) -> Self {
        Self { at: None, left: None, ..self }
    }

    /// As one word that needs no escaping in a query.
    pub(crate) fn encode(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let word = serde_json::to_value(k8s_openapi::ByteString(text)).unwrap_or_default();
        word.as_str().unwrap_or_default().trim_end_matches('=').replace('+', "-").replace('/', "_")
    }

    /// Reads a mark.
    ///
    /// # Errors
    /// A refusal that says what to do.
    pub(crate) fn decode(word: &str) -> Result<Self, Failure> {
        let padding = "=".repeat((4 - word.len() % 4) % 4);
        let word = format!("{}{padding}", word.replace('-', "+").replace('_', "/"));
        let bytes = serde_json::from_value::<k8s_openapi::ByteString>(word.into());
        let mark = bytes.ok().and_then(|bytes| serde_json::from_slice::<Self>(&bytes.0).ok());
        mark.filter(|mark| mark.form == FORM).ok_or_else(|| {
            Failure::bad_request(
                "continue: this is not a mark of this server; bring back metadata.continue of the page before as it came, or leave it out to begin anew",
            )
        })
    }
}

/// What is said of a list beside its items.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    /// The version it stands for.
    pub(crate) version: u64,
    /// Where it goes on.
    pub(crate) next: Option<Mark>,
    /// How much is left, where it was counted.
    pub(crate) left: Option<usize>,
}

impl ListMeta {
    /// A list that is whole.
    pub(crate) fn whole(version: u64) -> Self {
        Self { version, ..Self::default() }
    }

    /// In the words of the protocol.
    pub(crate) fn to_value(&self) -> serde_json::Value {
        let mut said = serde_json::json!({ "resourceVersion": self.version.to_string() });
        if let Some(next) = &self.next {
            said["continue"] = next.encode().into();
            if let Some(left) = self.left {
                said["remainingItemCount"] = left.into();
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn a_mark_comes_back_as_it_went() {
        for name in ["a", "photos", "something-rather-long.with-dots", "ü?>"] {
            let mark = Mark::new(7, ["household".into(), name.into()], Some(3));
            let word = mark.encode();
            assert!(word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{word}");
            assert_eq!(Mark::decode(&word).unwrap(), mark);
        }
    }

    #[test]
    fn what_is_no_mark_is_refused() {
        let cut = Mark::new(7, ["a".into(), "b".into()], None).encode();
        let other_form = "eyJ2IjoyLCJydiI6Nywic3RhcnQiOlsiYSIsImIiXX0";
        for word in ["", "x", "????", "eyJ9", &cut[..cut.len() - 3], other_form] {
            let refused = Mark::decode(word).unwrap_err().to_value();
            assert_eq!(refused["code"], 400, "{word}");
            assert!(refused["message"].as_str().unwrap().contains("metadata.continue"), "{refused}");
        }
    }
}
