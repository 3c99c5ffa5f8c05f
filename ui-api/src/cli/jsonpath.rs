//! The templates of `-o jsonpath=...`: text with parts of an object in braces, as kubectl has them.
//!
//! Covered: `{.a.b}`, `{.list[0]}`, `{.list[-1]}`, `{.list[*].name}`, `{.map['key.with.dots']}`,
//! `{.list[?(@.type=="Ready")].status}`, `{range .items[*]}...{end}`, `{"text"}`. A path without braces is taken
//! as one in braces.

use serde_json::Value;

/// A template.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Path(Vec<Step>),
    Range(Vec<Step>, Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    Where { path: Vec<Step>, is_equal: bool, value: String },
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// One sentence with the part that is not understood.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            return Ok(Self(vec![Piece::Path(parse_path(text)?)]));
        }
        let mut rest = text;
        let pieces = parse_pieces(&mut rest, false)?;
        Ok(Self(pieces))
    }

    /// The template with its parts filled in from an object.
    pub(super) fn fill(&self, object: &Value) -> String {
        let mut filled = String::new();
        fill(&self.0, object, &mut filled);
        filled
    }
}

fn parse_pieces(rest: &mut &str, within_range: bool) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    loop {
        let Some((before, after)) = rest.split_once('{') else {
            if within_range {
                return Err("a {range ...} needs its {end}".into());
            }
            push_text(&mut pieces, rest);
            return Ok(pieces);
        };
        push_text(&mut pieces, before);
        let close = closing(after).ok_or("a { needs its }")?;
        let inside = after[..close].trim();
        *rest = &after[close + 1..];
        match inside {
            "end" if within_range => return Ok(pieces),
            "end" => return Err("{end} without its {range ...}".into()),
            _ => {}
        }
        if let Some(path) = inside.strip_prefix("range ") {
            let path = parse_path(path.trim())?;
            pieces.push(Piece::Range(path, parse_pieces(rest, true)?));
        } else if let Some(quoted) = inside.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            push_text(&mut pieces, &quoted.replace("\\n", "\n").replace("\\t", "\t"));
        } else {
            pieces.push(Piece::Path(parse_path(inside)?));
        }
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

/// Where a brace closes that stands in no quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Some(at),
            _ => {}
        }
    }
    None
}

fn parse_path(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text.trim().trim_start_matches(['$', '@']);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = bracket_end(after).ok_or_else(|| format!("{text:?}: a [ needs its ]"))?;
            steps.push(parse_bracket(&after[..end])?);
            rest = &after[end + 1..];
            continue;
        }
        let after = rest.strip_prefix('.').unwrap_or(rest);
        let end = after.find(['.', '[']).unwrap_or(after.len());
        match &after[..end] {
            "" if end < after.len() && after.starts_with('[') => {}
            "" if after.is_empty() => {}
            "" => return Err(format!("{text:?}: .. is not understood here; write the whole path")),
            "*" => steps.push(Step::All),
            name => steps.push(Step::Field(name.to_owned())),
        }
        rest = &after[end..];
    }
    Ok(steps)
}

fn bracket_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn parse_bracket(inside: &str) -> Result<Step, String> {
    let inside = inside.trim();
    if inside == "*" {
        return Ok(Step::All);
    }
    if let Some(name) = unquoted(inside) {
        return Ok(Step::Field(name.to_owned()));
    }
    if let Some(test) = inside.strip_prefix("?(").and_then(|test| test.strip_suffix(')')) {
        let bad = || format!("[{inside}] is not understood; write [?(@.name==\"value\")]");
        let (path, value, is_equal) = match test.split_once("==") {
            Some((path, value)) => (path, value, true),
            None => test.split_once("!=").map(|(path, value)| (path, value, false)).ok_or_else(bad)?,
        };
        let value = unquoted(value.trim()).unwrap_or(value.trim()).to_owned();
        return Ok(Step::Where { path: parse_path(path)?, is_equal, value });
    }
    inside
        .parse()
        .map(Step::Index)
        .map_err(|_| format!("[{inside}] is not understood; write a number, * or 'name'"))
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

fn fill(pieces: &[Piece], object: &Value, into: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => into.push_str(text),
            Piece::Path(steps) => {
                let found: Vec<String> = follow(object, steps).into_iter().map(text_of).collect();
                into.push_str(&found.join(" "));
            }
            Piece::Range(steps, inner) => {
                for item in follow(object, steps) {
                    fill(inner, item, into);
                }
            }
        }
    }
}

fn follow<'a>(from: &'a Value, steps: &[Step]) -> Vec<&'a Value> {
    let mut found = vec![from];
    for step in steps {
        found = found.into_iter().flat_map(|value| step_from(value, step)).collect();
    }
    found
}

fn step_from<'a>(value: &'a Value, step: &Step) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Index(index) => {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            let at = if *index < 0 {
                items.len().checked_sub(index.unsigned_abs() as usize)
            } else {
                usize::try_from(*index).ok()
            };
            at.and_then(|at| items.get(at)).into_iter().collect()
        }
        Step::All => match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        },
        Step::Where { path, is_equal, value: wanted } => {
            let holds = |item: &&Value| {
                follow(item, path).into_iter().any(|found| text_of(found) == *wanted) == *is_equal
            };
            value.as_array().into_iter().flatten().filter(holds).collect()
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Template;

    #[test]
    fn parts_of_an_object_fill_the_template() {
        let object = json!({
            "status": {
                "url": "http://x", "n": 3,
                "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Routed", "status": "False" }],
            },
            "metadata": { "labels": { "hearth.dev/app": "photos" } },
        });
        let cases = [
            ("{.status.url}", "http://x"),
            (".status.n", "3"),
            ("status.url", "http://x"),
            ("{.status.conditions[0].type}/{.status.conditions[-1].type}", "Ready/Routed"),
            ("{.status.conditions[*].status}", "True False"),
            ("{.status.conditions[?(@.type==\"Ready\")].status}", "True"),
            ("{.status.conditions[?(@.type!='Ready')].status}", "False"),
            ("{.metadata.labels['hearth.dev/app']}", "photos"),
            ("{range .status.conditions[*]}{.type}={.status}{\"\\n\"}{end}", "Ready=True\nRouted=False\n"),
            ("{.nothing.here}", ""),
        ];
        for (template, filled) in cases {
            assert_eq!(Template::parse(template).unwrap().fill(&object), filled, "{template}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for bad in ["{.a", "{range .a}", "{end}", "{.a[b]}", "{..a}", "{.a[?(x)]}", "{.a[0}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }
}
