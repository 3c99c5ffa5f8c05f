//! Tables: a kind's printed columns, filled from an object.

use hearth_meta::Timestamp;
use hearth_meta::resource::Column;
use serde_json::{Value, json};

use crate::json_path;

/// The columns: the name first, then the kind's own.
pub(crate) fn definitions(columns: &[Column]) -> Vec<Value> {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0, "description": "Its name",
    });
    let own = columns.iter().map(|column| {
        json!({
            "name": column.name,
            // A date arrives as an age in words.
            "type": column.kind,
            "format": "",
            "priority": column.priority,
            "description": column.description,
        })
    });
    std::iter::once(name).chain(own).collect()
}

/// The cells of one object's row. What is not there is null, which clients print as nothing.
/// `filled` are those of the columns without a path, in their order.
pub(crate) fn cells(columns: &[Column], object: &Value, filled: Vec<Value>, now: Timestamp) -> Vec<Value> {
    let mut filled = filled.into_iter();
    let own = columns.iter().map(|column| match column.json_path.is_empty() {
        true => filled.next().unwrap_or_default(),
        false => cell(column, object, now),
    });
    std::iter::once(object["metadata"]["name"].clone()).chain(own).collect()
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    if column.json_path.contains('{') {
        return json_path::fill(&column.json_path, object).into();
    }
    let found = json_path::find(&column.json_path, object);
    let Some(first) = found.first().filter(|value| !value.is_null()) else { return Value::Null };
    match column.kind.as_str() {
        "date" => age_since(first, now).into(),
        "integer" | "number" | "boolean" if !first.is_string() => (*first).clone(),
        _ => found.iter().map(|value| json_path::text(value)).collect::<Vec<_>>().join(",").into(),
    }
}

fn age_since(value: &Value, now: Timestamp) -> String {
    match value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(then) => age(now.as_second() - then.as_second()),
        None => "<unknown>".into(),
    }
}

/// A time span in at most two units, as people read ages.
fn age(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{small_unit}"),
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if seconds < 0 => "0s".into(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if days < 730 => format!("{days}d"),
        () if days < 2920 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use hearth_meta::Timestamp;
    use hearth_meta::resource::Column;
    use serde_json::json;

    use super::{age, cells};

    #[test]
    fn ages_have_at_most_two_units() {
        for (seconds, wanted) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (3 * 86_400, "3d"),
            (100 * 86_400, "100d"),
            (800 * 86_400, "2y70d"),
        ] {
            assert_eq!(age(seconds), wanted);
        }
    }

    #[test]
    fn a_row_has_a_cell_per_column_and_nothing_where_nothing_is() {
        let column = |kind: &str, path: &str| Column {
            name: "C".into(),
            kind: kind.into(),
            json_path: path.into(),
            priority: 0,
            description: String::new(),
        };
        let columns = [
            column("string", ".spec.hosts"),
            column("integer", ".status.restarts"),
            column("string", ".status.message"),
            column("date", ".metadata.creationTimestamp"),
            column("string", "{.spec.kind}/{.spec.name}"),
        ];
        let object = json!({
            "metadata": {"name": "a", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"hosts": ["a.local", "b.local"], "kind": "App", "name": "x"},
            "status": {"restarts": 3},
        });
        let now: Timestamp = "2030-01-01T00:00:30Z".parse().unwrap();
        assert_eq!(
            cells(&columns, &object, Vec::new(), now),
            [json!("a"), json!("a.local,b.local"), json!(3), json!(null), json!("30s"), json!("App/x")]
        );
    }
}
