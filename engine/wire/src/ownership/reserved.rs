//! Managers that are the server's own: what it goes by in their entries must not be for clients to write.

use hearth_meta::Problem;
use serde_json::Value;

/// Why nobody may be this manager.
pub(crate) fn refusal(manager: &str) -> String {
    format!("{manager:?} is the server's own and marks what it keeps itself; say another name")
}

/// Keeps the entries of these managers as they stand where a client writes `managedFields` itself: it may bring them
/// back as it read them, and leaving them out does not forget them.
///
/// # Errors
/// Each entry that is not one that stands.
pub(crate) fn keep(old: &Value, new: &mut Value, reserved: &[&str]) -> Result<(), Vec<Problem>> {
    // Not by index, since what a client sends need not have the shape.
    let said = new.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
    let Some(said) = said.and_then(Value::as_array_mut) else { return Ok(()) };
    let is_reserved = |entry: &Value| entry["manager"].as_str().is_some_and(|name| reserved.contains(&name));
    let stand = old["metadata"]["managedFields"].as_array().into_iter().flatten();
    let stand: Vec<&Value> = stand.filter(|entry| is_reserved(entry)).collect();
    let forged = said.iter().enumerate().filter(|(_, entry)| is_reserved(entry) && !stand.contains(entry));
    let problems: Vec<Problem> = forged
        .map(|(index, entry)| {
            let manager = entry["manager"].as_str().unwrap_or_default();
            Problem::new(format!("metadata.managedFields[{index}].manager"), refusal(manager))
        })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let left_out: Vec<Value> = stand.into_iter().filter(|entry| !said.contains(entry)).cloned().collect();
    said.extend(left_out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::keep;

    fn object(managers: &[(&str, &str)]) -> Value {
        let entry = |(manager, field): &(&str, &str)| json!({"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {*field: {}}}});
        json!({"metadata": {"managedFields": managers.iter().map(entry).collect::<Vec<_>>()}})
    }

    fn kept(old: &[(&str, &str)], new: &[(&str, &str)]) -> Result<Value, Vec<String>> {
        let mut value = object(new);
        let kept = keep(&object(old), &mut value, &["server"]);
        kept.map(|()| value).map_err(|problems| problems.into_iter().map(|problem| problem.field).collect())
    }

    #[test]
    fn an_entry_of_the_servers_own_is_brought_back_as_it_was_and_neither_made_nor_changed_nor_forgotten() {
        let (ours, theirs) = (("server", "f:a"), ("ana", "f:b"));
        assert_eq!(kept(&[ours], &[theirs, ours]), Ok(object(&[theirs, ours])));
        assert_eq!(kept(&[ours, theirs], &[]), Ok(object(&[ours])));
        assert_eq!(kept(&[theirs], &[theirs, ours]), Err(vec!["metadata.managedFields[1].manager".into()]));
        let wider = kept(&[ours], &[("server", "f:b")]);
        assert_eq!(wider, Err(vec!["metadata.managedFields[0].manager".into()]));
        let mut silent = json!({"metadata": {}});
        keep(&object(&[ours]), &mut silent, &["server"]).unwrap();
        assert_eq!(silent, json!({"metadata": {}}));
        for misshapen in
            [json!({"metadata": "no"}), json!({"metadata": {"managedFields": "no"}}), json!("no")]
        {
            let mut value = misshapen.clone();
            keep(&object(&[ours]), &mut value, &["server"]).unwrap();
            assert_eq!(value, misshapen);
        }
    }
}
