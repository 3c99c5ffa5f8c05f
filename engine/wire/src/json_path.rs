//! The simple JSON paths of printed columns: `.a.b`, `.a[0]`, `.a[*].b`, `.a[?(@.type=="Ready")].status`.

use serde_json::Value;

/// The values a path leads to, in order; none where it leads nowhere.
pub(crate) fn find<'v>(path: &str, value: &'v Value) -> Vec<&'v Value> {
    let mut found = vec![value];
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        let (step, after) = next_step(rest);
        found = found.into_iter().flat_map(|value| take(step, value)).collect();
        rest = after;
    }
    found
}

/// Fills a text with what the paths in its braces lead to: `{.a}/{.b}`.
pub(crate) fn fill(template: &str, value: &Value) -> String {
    let mut filled = String::new();
    for (index, part) in template.split('{').enumerate() {
        match part.split_once('}').filter(|_| index > 0) {
            Some((path, after)) => {
                filled.extend(find(path, value).first().map(|found| text(found)));
                filled.push_str(after);
            }
            None => filled.push_str(part),
        }
    }
    filled
}

/// A value as a person reads it.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Splits off `.name` or `[...]`. A dot in a name is written `\.`.
fn next_step(path: &str) -> (&str, &str) {
    if path.starts_with('[') {
        let end = path.find(']').map_or(path.len(), |at| at + 1);
        return path.split_at(end);
    }
    let name = path.strip_prefix('.').unwrap_or(path);
    let offset = path.len() - name.len();
    let mut escaped = false;
    let end = name.char_indices().find(|(_, letter)| {
        let ends = !escaped && (*letter == '.' || *letter == '[');
        escaped = *letter == '\\';
        ends
    });
    // A path that starts with a bracket after a dot would otherwise never get shorter.
    path.split_at(end.map_or(path.len(), |(at, _)| at + offset).max(1))
}

fn take<'v>(step: &str, value: &'v Value) -> Vec<&'v Value> {
    if let Some(inner) = step.strip_prefix('[').map(|step| step.trim_end_matches(']')) {
        return take_items(inner, value);
    }
    let name = step.trim_start_matches('.').replace('\\', "");
    if name.is_empty() { vec![value] } else { value.get(&name).into_iter().collect() }
}

fn take_items<'v>(inner: &str, value: &'v Value) -> Vec<&'v Value> {
    let quoted = inner.trim_matches(['\'', '"']);
    if quoted.len() != inner.len() {
        return value.get(quoted).into_iter().collect();
    }
    let Some(items) = value.as_array() else { return Vec::new() };
    if inner == "*" {
        return items.iter().collect();
    }
    if let Ok(index) = inner.parse::<usize>() {
        return items.get(index).into_iter().collect();
    }
    let condition = inner.strip_prefix("?(@").map(|rest| rest.trim_end_matches(')'));
    let Some((path, wanted)) = condition.and_then(|condition| condition.split_once("==")) else {
        return Vec::new();
    };
    let wanted = wanted.trim().trim_matches(['\'', '"']);
    items
        .iter()
        .filter(|item| find(path.trim(), item).first().is_some_and(|found| text(found) == wanted))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{find, text};

    #[test]
    fn paths_lead_through_maps_lists_and_conditions() {
        let value = json!({
            "a": {"b.c": 1, "list": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        for (path, wanted) in [
            (".a.list[1].status", "False"),
            (".a.list[*].type", "Ready Other"),
            (".a.list[?(@.type==\"Ready\")].status", "True"),
            (".a['b.c']", "1"),
            (".a.b\\.c", "1"),
            (".a.nothing.at.all", ""),
            (".a.list[?(@.type)]", ""),
            (".[", ""),
        ] {
            let found: Vec<String> = find(path, &value).iter().map(|value| text(value)).collect();
            assert_eq!(found.join(" "), wanted, "{path}");
        }
    }
}
