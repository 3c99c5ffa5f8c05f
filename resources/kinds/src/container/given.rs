//! Files a container is given: settings and secrets its author keeps outside the image.

use hearth_meta::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EnvPart;
use crate::shared::SecretKeyRef;

/// A file the container may read and not write, with what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GivenFile {
    /// Where it appears, an absolute path.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Its mode in octal, such as `0444`.
    pub mode: String,
    /// Its owner's number in the container.
    #[serde(default)]
    pub uid: u32,
    /// Its group's number in the container.
    #[serde(default)]
    pub gid: u32,
    /// What is in it, put together from texts and secrets, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<EnvPart>,
    /// The file of its App that is in it, byte for byte, in the place of `parts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_app: Option<AppFile>,
}

/// A file of an App's package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppFile {
    /// Its path in the package.
    #[schemars(length(min = 1))]
    pub path: String,
    /// A keyed hash of its bytes, so that another content is another wish.
    pub hash: String,
}

impl GivenFile {
    /// The secrets its content needs.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretKeyRef> {
        self.parts.iter().filter_map(|part| part.secret_key_ref.as_ref())
    }

    /// The mode as a number, where it is readable.
    pub fn mode_bits(&self) -> Option<u32> {
        u32::from_str_radix(&self.mode, 8).ok().filter(|bits| *bits <= 0o777)
    }

    pub(super) fn check(&self, field: &str) -> Vec<Problem> {
        let one_part = self.parts.iter().all(|part| part.text.is_some() != part.secret_key_ref.is_some());
        let checks = [
            (
                self.mode_bits().is_none(),
                "mode",
                format!("{:?} is not a mode in octal such as \"0444\"", self.mode),
            ),
            (!one_part, "parts", "each needs exactly one of text and secretKeyRef".to_owned()),
            (
                self.of_app.is_some() && !self.parts.is_empty(),
                "ofApp",
                "stands beside parts; keep one".to_owned(),
            ),
        ];
        let wrong = checks.into_iter().filter(|(wrong, _, _)| *wrong);
        wrong.map(|(_, name, message)| Problem::new(format!("{field}.{name}"), message)).collect()
    }
}
