//! Writes YAML that every reader takes as it was meant: what another could take for a number, a date or a yes is
//! put in quotes, and long texts keep their lines.

use serde_json::{Map, Value};

/// The value as a YAML document.
pub(super) fn written(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(fields, 0, false, &mut text),
        Value::Array(items) if !items.is_empty() => write_items(items, 0, &mut text),
        leaf => {
            text.push_str(&scalar(leaf, 0));
            text.push('\n');
        }
    }
    text
}

/// Fields one below the other. The first stands on a line already begun where they are an item of a list.
fn write_fields(fields: &Map<String, Value>, depth: usize, mut begun: bool, text: &mut String) {
    for (name, value) in fields {
        if !std::mem::take(&mut begun) {
            indent(depth, text);
        }
        text.push_str(&plain_or_quoted(name));
        text.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                write_fields(inner, depth + 1, false, text);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                write_items(items, depth, text);
            }
            leaf => {
                text.push(' ');
                text.push_str(&scalar(leaf, depth + 1));
                text.push('\n');
            }
        }
    }
}

fn write_items(items: &[Value], depth: usize, text: &mut String) {
    for item in items {
        indent(depth, text);
        text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => write_fields(fields, depth + 1, true, text),
            // A list in a list is rare; as one line it needs no rules of its own.
            Value::Array(_) => text.push_str(&format!("{item}\n")),
            leaf => {
                text.push_str(&scalar(leaf, depth + 1));
                text.push('\n');
            }
        }
    }
}

fn indent(depth: usize, text: &mut String) {
    text.push_str(&"  ".repeat(depth));
}

fn scalar(value: &Value, depth: usize) -> String {
    match value {
        Value::String(text) if fits_a_block(text) => block(text, depth),
        Value::String(text) => plain_or_quoted(text),
        other => other.to_string(),
    }
}

/// Whether a text of several lines can be written line by line.
fn fits_a_block(text: &str) -> bool {
    let begins_well = !text.starts_with([' ', '\n', '\t']);
    let is_printable = text
        .chars()
        .all(|c| c == '\n' || c == '\t' || !(c.is_control() || "\u{85}\u{2028}\u{2029}\u{feff}".contains(c)));
    text.contains('\n') && begins_well && is_printable
}

fn block(text: &str, depth: usize) -> String {
    let body = text.trim_end_matches('\n');
    let keep = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let margin = "  ".repeat(depth);
    let lines =
        body.split('\n').map(|line| if line.is_empty() { String::new() } else { format!("{margin}{line}") });
    let mut written = format!("|{keep}\n{}", lines.collect::<Vec<_>>().join("\n"));
    if keep == "+" {
        // Each further line end is an empty line; the last one is written by the caller.
        written.push_str(&"\n".repeat(text.len() - body.len() - 1));
    }
    written
}

fn plain_or_quoted(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { Value::from(text).to_string() }
}

fn is_plain(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_./:@+=-,()$% ".contains(c);
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "_./".contains(c));
    let ends_well = !text.ends_with([' ', ':']);
    text.chars().all(letters)
        && begins_well
        && ends_well
        && !text.contains(": ")
        && !means_something_else(text)
}

/// Whether some reader takes the text for a number, a date, a truth or nothing.
fn means_something_else(text: &str) -> bool {
    const WORDS: [&str; 13] =
        ["", "null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf"];
    let is_numeric = |c: char| c.is_ascii_hexdigit() || "._:+-xXoOtTzZ ".contains(c);
    let begins_like_one = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || (begins_like_one && text.chars().all(is_numeric))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::written;

    fn comes_back(value: &Value) {
        let text = written(value);
        let documents =
            hearth_charts::yaml::parse_documents("x", &text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(&documents[0].value, value, "\n{text}");
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let texts = [
            "plain",
            "with space",
            "",
            " lead",
            "trail ",
            "yes",
            "No",
            "null",
            "~",
            "1",
            "0755",
            "1_000",
            "1e3",
            "0x1f",
            "1:30",
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "a: b",
            "a #b",
            "#a",
            "- a",
            "-",
            "?",
            "*x",
            "&x",
            "!x",
            "%x",
            "@x",
            "`x",
            "a\nb",
            "a\nb\n",
            "a\n\nb\n\n\n",
            "\na",
            "  a\nb",
            "a\n  b\n\tc\n",
            "\u{0}x",
            "é ✓",
            "\"q\"",
            "'q'",
            "a\\b",
            "x:",
            "{a}",
            "[a]",
            "a, b",
            "http://photos.local:80/",
            "sha256:abc",
            "10.89.4.0/24",
            "${X}",
            "<<",
            "=",
            ".5",
            ".",
            "y",
        ];
        for text in texts {
            comes_back(
                &json!({ "text": text, "list": [text, { "k": text, "z": 1 }], "deep": { "er": { "text": text } } }),
            );
            comes_back(&json!({ "a": 1, text: "key" }));
        }
        comes_back(
            &json!({ "empty": {}, "none": [], "nothing": null, "n": [1, 2.5, true, [1, "a"], {}], "neg": -3 }),
        );
    }

    #[test]
    fn objects_read_as_people_write_them() {
        let object = json!({
            "kind": "App",
            "spec": { "compose": "services:\n  web: {}\n", "values": [{ "name": "TZ", "value": "Europe/Paris" }], "on": "yes" },
        });
        assert_eq!(
            written(&object),
            "kind: App\nspec:\n  compose: |\n    services:\n      web: {}\n  \"on\": \"yes\"\n  values:\n  - name: TZ\n    value: Europe/Paris\n"
        );
    }
}
