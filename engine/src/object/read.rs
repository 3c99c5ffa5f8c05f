//! Reading an object from JSON in one pass.
//!
//! A derived reader would first gather every field as something in between, since only what is left over is the body;
//! a start reads every object there is.

use std::fmt::{Formatter, Result as Formatted};

use hearth_meta::ObjectMeta;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Map;

use super::Object;

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object;

    fn expecting(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str("an object with apiVersion, kind and metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Object, A::Error> {
        let (mut api_version, mut kind, mut metadata) = (None, None, None::<ObjectMeta>);
        let mut body = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let is_twice = match name.as_str() {
                "apiVersion" => api_version.replace(fields.next_value()?).is_some(),
                "kind" => kind.replace(fields.next_value()?).is_some(),
                "metadata" => metadata.replace(fields.next_value()?).is_some(),
                _ => body.insert(name.clone(), fields.next_value()?).is_some(),
            };
            if is_twice {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
        }
        Ok(Object {
            api_version: api_version.ok_or_else(|| A::Error::missing_field("apiVersion"))?,
            kind: kind.ok_or_else(|| A::Error::missing_field("kind"))?,
            metadata: metadata.ok_or_else(|| A::Error::missing_field("metadata"))?,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::Object;

    #[test]
    fn an_object_reads_back_as_it_was_written() {
        let value = json!({
            "apiVersion": "test.dev/v1", "kind": "Lamp", "metadata": {"name": "desk", "labels": {"a": "b"}},
            "spec": {"color": "red"}, "data": null, "list": [1, 2.5, {"deep": true}],
        });
        let object = Object::from_value(value.clone()).unwrap();
        assert_eq!(object.to_value(), value);
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(serde_json::from_str::<Object>(&text).unwrap(), object);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn what_is_no_object_is_refused_by_the_field_that_is_missing_or_wrong() {
        let whole = json!({"apiVersion": "v1", "kind": "Lamp", "metadata": {"name": "desk"}});
        for field in ["apiVersion", "kind", "metadata"] {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(field);
            let error = Object::from_value(part).unwrap_err();
            assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        }
        assert!(Object::from_value(json!({"apiVersion": "v1", "kind": 7, "metadata": {}})).is_err());
        assert!(Object::from_value(json!([])).is_err());
        let twice = r#"{"apiVersion": "v1", "kind": "Lamp", "metadata": {}, "spec": 1, "spec": 2}"#;
        let error = serde_json::from_str::<Object>(twice).unwrap_err().to_string();
        assert!(error.contains("duplicate field `spec`"), "{error}");
    }
}
