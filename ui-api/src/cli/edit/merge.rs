//! Joining what a person wrote with what others changed meanwhile, field by field. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// How the words of a conflict begin.
pub(super) const CHANGED_MEANWHILE: &str = "was changed meanwhile";

/// What came of it.
pub(super) struct Merged {
    /// Both joined; where they are against each other, what the person wrote.
    pub(super) value: Value,
    /// Where they are against each other.
    pub(super) conflicts: Vec<Conflict>,
}

/// A field that both changed, each in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Its path.
    pub(super) field: String,
    /// What it is there now; absent where it was taken away.
    theirs: Option<String>,
}

impl Conflict {
    /// What a person is told.
    pub(super) fn words(&self) -> String {
        let there =
            self.theirs.as_deref().map_or("taken away".to_owned(), |theirs| format!("it is {theirs} now"));
        format!(
            "{CHANGED_MEANWHILE}: {there}; save it with anything changed to say that what stands here is meant"
        )
    }
}

/// Joins both with what they went out from.
pub(super) fn three_ways(base: &Value, mine: &Value, theirs: &Value) -> Merged {
    let mut conflicts = Vec::new();
    let value = joined(Some(base), Some(mine), Some(theirs), "", &mut conflicts).unwrap_or(Value::Null);
    Merged { value, conflicts }
}

/// What the person's text goes out from once they were told of every conflict: what it went out from, and at each field
/// that both changed what others made of it.
pub(super) fn rebased(base: &Value, mine: &Value, theirs: &Value) -> Value {
    settled(Some(base), Some(mine), Some(theirs)).unwrap_or(Value::Null)
}

fn settled(base: Option<&Value>, mine: Option<&Value>, theirs: Option<&Value>) -> Option<Value> {
    if mine == theirs || theirs == base || mine == base {
        return base.cloned();
    }
    let maps = (mine.and_then(Value::as_object), theirs.and_then(Value::as_object));
    let (Some(mine_fields), Some(their_fields)) = maps else { return theirs.cloned() };
    let empty = Map::new();
    let base_fields = base.and_then(Value::as_object).unwrap_or(&empty);
    let names: BTreeSet<&String> =
        mine_fields.keys().chain(their_fields.keys()).chain(base_fields.keys()).collect();
    let of = |name: &String| settled(base_fields.get(name), mine_fields.get(name), their_fields.get(name));
    let all: Map<String, Value> =
        names.into_iter().filter_map(|name| Some((name.clone(), of(name)?))).collect();
    (base.is_some() || !all.is_empty()).then_some(Value::Object(all))
}

fn joined(
    base: Option<&Value>,
    mine: Option<&Value>,
    theirs: Option<&Value>,
    path: &str,
    conflicts: &mut Vec<Conflict>,
) -> Option<Value> {
    if mine == theirs || theirs == base {
        return mine.cloned();
    }
    if mine == base {
        return theirs.cloned();
    }
    let empty = Map::new();
    // Only maps are joined from within; what one took away and the other changed is against each other.
    let maps = (mine.and_then(Value::as_object), theirs.and_then(Value::as_object));
    let (Some(mine_fields), Some(their_fields)) = maps else {
        let shown = theirs.map(|value| match value.as_str() {
            Some(text) if text.contains('\n') => format!("another text of {} lines", text.lines().count()),
            _ => value.to_string(),
        });
        conflicts.push(Conflict { field: path.to_owned(), theirs: shown });
        return mine.cloned();
    };
    let base_fields = base.and_then(Value::as_object).unwrap_or(&empty);
    let names: BTreeSet<&String> =
        mine_fields.keys().chain(their_fields.keys()).chain(base_fields.keys()).collect();
    let mut all = Map::new();
    for name in names {
        let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let of = |fields: &'_ Map<String, Value>| fields.get(name).cloned();
        let (base, mine, theirs) = (of(base_fields), of(mine_fields), of(their_fields));
        let value = joined(base.as_ref(), mine.as_ref(), theirs.as_ref(), &below, conflicts);
        all.extend(value.map(|value| (name.clone(), value)));
    }
    Some(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{rebased, three_ways};

    #[test]
    fn what_each_changed_alone_is_kept_from_both() {
        let base = json!({ "spec": { "a": 1, "b": 1, "gone": 1, "deep": { "x": 1, "y": 1 } } });
        let mine = json!({ "spec": { "a": 2, "b": 1, "gone": 1, "deep": { "x": 2, "y": 1 }, "new": 1 } });
        let theirs = json!({ "spec": { "a": 1, "b": 3, "deep": { "x": 1, "y": 3 } } });
        let merged = three_ways(&base, &mine, &theirs);
        assert_eq!(merged.value, json!({ "spec": { "a": 2, "b": 3, "deep": { "x": 2, "y": 3 }, "new": 1 } }));
        assert!(merged.conflicts.is_empty());
    }

    #[test]
    fn what_both_changed_is_told_by_field_unless_they_agree() {
        let base = json!({ "spec": { "a": 1, "list": [1], "agreed": 1, "took": 1 } });
        let mine = json!({ "spec": { "a": 2, "list": [1, 2], "agreed": 5, "took": 2 } });
        let theirs = json!({ "spec": { "a": 3, "list": [1, 3], "agreed": 5 } });
        let merged = three_ways(&base, &mine, &theirs);
        let fields: Vec<&str> = merged.conflicts.iter().map(|conflict| conflict.field.as_str()).collect();
        assert_eq!(fields, ["spec.a", "spec.list", "spec.took"]);
        assert_eq!(merged.value, mine, "nothing of what the person wrote is lost");
        assert!(merged.conflicts[0].words().contains("it is 3 now"));
        assert!(merged.conflicts[2].words().contains("taken away"));
    }

    #[test]
    fn saved_again_after_a_conflict_only_what_was_told_of_is_overruled() {
        let base = json!({ "spec": { "a": 1, "b": 1, "took": 1, "c": 1 } });
        let mine = json!({ "spec": { "a": 2, "b": 1, "took": 2, "c": 9 }, "labels": { "x/y.z": "mine" } });
        let theirs =
            json!({ "spec": { "a": 3, "b": 3, "c": 1, "new": 1 }, "labels": { "x/y.z": "t", "w": "t" } });
        assert_eq!(three_ways(&base, &mine, &theirs).conflicts.len(), 3);
        let base = rebased(&base, &mine, &theirs);
        assert_eq!(base, json!({ "spec": { "a": 3, "b": 1, "c": 1 }, "labels": { "x/y.z": "t" } }));
        let again = three_ways(&base, &mine, &theirs);
        assert!(again.conflicts.is_empty());
        assert_eq!(
            again.value,
            json!({
                "spec": { "a": 2, "b": 3, "took": 2, "c": 9, "new": 1 },
                "labels": { "x/y.z": "mine", "w": "t" },
            })
        );
    }
}
