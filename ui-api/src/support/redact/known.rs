//! Secrets that are known, in every form in which they may be repeated.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::text::{REDACTED, is_harmless};

/// A shorter text is part of too many others; where it stands as a value of its own it is taken out all the same.
const SHORTEST: usize = 5;

/// What is known to be secret, longest first when used.
#[derive(Default)]
pub(super) struct Known {
    forms: BTreeSet<(Reverse<usize>, String)>,
}

impl Known {
    /// Remembers a secret: as it is, line by line, as JSON writes it, in base64 and in an address.
    pub(super) fn learn(&mut self, secret: &str) {
        let secret = secret.trim();
        // `true` under a name like `useToken` would take half of everything out.
        if secret.len() < SHORTEST || (is_harmless(secret) && secret.len() < 8) || is_word_of_ours(secret) {
            return;
        }
        let json = serde_json::Value::from(secret).to_string();
        let base64 =
            serde_json::to_value(k8s_openapi::ByteString(secret.as_bytes().to_vec())).unwrap_or_default();
        let base64 = base64.as_str().unwrap_or_default().trim_end_matches('=').to_owned();
        let forms = [secret.to_owned(), json[1..json.len() - 1].to_owned(), base64, encoded(secret)];
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST).map(str::to_owned);
        for form in forms.into_iter().chain(lines) {
            self.forms.insert((Reverse(form.len()), form));
        }
    }

    /// The text without any of them.
    pub(super) fn without(&self, said: &str) -> String {
        let mut clean = said.to_owned();
        for (_, form) in &self.forms {
            if clean.contains(form.as_str()) {
                clean = clean.replace(form.as_str(), REDACTED);
            }
        }
        clean
    }
}

/// Words that stand everywhere, whatever they are given as.
fn is_word_of_ours(secret: &str) -> bool {
    const WORDS: [&str; 9] =
        ["(secret)", REDACTED, "hearth", "household", "system", "required", "optional", "false", "Opaque"];
    WORDS.contains(&secret)
}

fn encoded(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}
