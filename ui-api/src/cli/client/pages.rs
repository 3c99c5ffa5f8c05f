//! Lists, read a page at a time: no answer of the server grows without bound, and none of it has to wait for all.

use serde_json::Value;

use super::super::resource::encode;
use super::{Client, Trouble};

/// How many objects are asked for at once, as kubectl does.
const PAGE: usize = 500;

impl Client {
    /// Reads a whole list, of objects or as a table.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(in super::super) async fn list(&self, path: &str, accept: &str) -> Result<Value, Trouble> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let first = format!("{path}{joint}limit={PAGE}");
        let mut whole = self.read(&first, accept).await?;
        while let Some(mark) = mark_of(&whole) {
            match self.read(&format!("{first}&continue={}", encode(&mark)), accept).await {
                Ok(page) => add(&mut whole, page),
                // So much has changed meanwhile that the pages no longer belong together: all of it at once does.
                Err(Trouble::Refused(refusal)) if refusal.code == 410 => {
                    return self.read(path, accept).await;
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(whole)
    }
}

fn mark_of(list: &Value) -> Option<String> {
    list["metadata"]["continue"].as_str().filter(|mark| !mark.is_empty()).map(str::to_owned)
}

/// Puts the next page behind those before it; where the list goes on is said by the newest.
fn add(whole: &mut Value, mut page: Value) {
    for part in ["items", "rows"] {
        if let (Some(before), Some(more)) = (whole[part].as_array_mut(), page[part].as_array_mut()) {
            before.append(more);
        }
    }
    whole["metadata"] = page["metadata"].take();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{add, mark_of};

    #[test]
    fn pages_become_one_list() {
        let mut whole = json!({"metadata": {"resourceVersion": "7", "continue": "x"}, "items": [1, 2]});
        assert_eq!(mark_of(&whole).as_deref(), Some("x"));
        add(&mut whole, json!({"metadata": {"resourceVersion": "7"}, "items": [3]}));
        assert_eq!(whole["items"], json!([1, 2, 3]));
        assert_eq!(mark_of(&whole), None);
        let mut table = json!({"metadata": {"continue": "x"}, "rows": [1], "columnDefinitions": ["c"]});
        add(&mut table, json!({"metadata": {}, "rows": [2], "columnDefinitions": []}));
        assert_eq!((&table["rows"], &table["columnDefinitions"]), (&json!([1, 2]), &json!(["c"])));
    }
}
