//! The schemas in the older form of OpenAPI and the encoding older clients read alone: they explain fields by it, check
//! them before they send them, and learn which kinds can be tried without being kept.
//!
//! It is made of the same documents as the newer form. Only what such clients read is written: of paths those that patch,
//! of schemas types, fields, descriptions and identities.

use std::collections::BTreeMap;

use serde_json::Value;

/// What names a kind, in both forms.
const IDENTITY: &str = "x-kubernetes-group-version-kind";
/// Fields of schemas that are told as they are, as extensions.
const EXTENSIONS: [&str; 3] = [IDENTITY, "x-kubernetes-list-type", "x-kubernetes-list-map-keys"];

/// The document, encoded.
pub(super) fn encoded<'a>(documents: impl Iterator<Item = &'a Value>) -> Vec<u8> {
    let (mut paths, mut schemas) = (BTreeMap::new(), BTreeMap::new());
    for document in documents {
        paths.extend(document["paths"].as_object().into_iter().flatten());
        schemas.extend(document["components"]["schemas"].as_object().into_iter().flatten());
    }
    let info = Message::default().text(1, "hearth").text(2, "v1");
    let paths = paths.into_iter().filter_map(|(path, item)| {
        let patch = item.get("patch")?;
        Some(named(path, Message::default().message(8, operation(patch))))
    });
    let paths = paths.fold(Message::default(), |all, path| all.message(2, path));
    let definitions = schemas.into_iter().map(|(name, schema)| named(name, self::schema(schema)));
    let definitions = definitions.fold(Message::default(), |all, definition| all.message(1, definition));
    Message::default().text(1, "2.0").message(2, info).message(8, paths).message(9, definitions).0
}

/// What has a name and a value.
fn named(name: &str, value: Message) -> Message {
    Message::default().text(1, name).message(2, value)
}

/// What a patch takes, of which only the query is told, and of what kind it is.
fn operation(patch: &Value) -> Message {
    let names = patch["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|parameter| parameter["name"].as_str());
    let told = names.fold(Message::default(), |told, name| {
        let query = Message::default().text(2, "query").text(4, name);
        // A parameter, that is in no body, that is of the query.
        let parameter = Message::default()
            .message(1, Message::default().message(2, Message::default().message(3, query)));
        told.message(8, parameter)
    });
    told.message(13, extension(IDENTITY, &patch[IDENTITY]))
}

/// JSON is YAML, in which extensions are told.
fn extension(name: &str, value: &Value) -> Message {
    named(name, Message::default().text(2, &value.to_string()))
}

fn schema(schema: &Value) -> Message {
    let mut told = Message::default();
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        // Whatever stands beside a reference would be refused, but for what it is told to mean.
        let name = reference.rsplit('/').next().unwrap_or_default();
        return told.text(1, &format!("#/definitions/{name}")).maybe_text(4, &schema["description"]);
    }
    told = told.maybe_text(2, &schema["format"]).maybe_text(4, &schema["description"]);
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        told = told.text(19, required);
    }
    let inner = &schema["additionalProperties"];
    if inner.is_object() {
        told = told.message(21, Message::default().message(1, self::schema(inner)));
    }
    // What keeps whatever it is given has no type that could be checked.
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true
        || schema["x-kubernetes-int-or-string"] == true;
    if let Some(kind) = schema["type"].as_str().filter(|_| !is_open) {
        told = told.message(22, Message::default().text(1, kind));
    }
    if schema["items"].is_object() {
        told = told.message(23, Message::default().message(1, self::schema(&schema["items"])));
    }
    if let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty() && !is_open) {
        let fields = fields.iter().map(|(name, field)| named(name, self::schema(field)));
        told = told.message(25, fields.fold(Message::default(), |all, field| all.message(1, field)));
    }
    for name in EXTENSIONS.iter().filter(|name| !schema[**name].is_null()) {
        told = told.message(31, extension(name, &schema[*name]));
    }
    told
}

/// A message in the making. Every field that is needed here holds a text or a message, which are both written as their
/// length and their bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn maybe_text(self, field: u64, text: &Value) -> Self {
        match text.as_str() {
            Some(text) => self.text(field, text),
            None => self,
        }
    }

    fn message(self, field: u64, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        const HAS_LENGTH: u64 = 2;
        self.number(field << 3 | HAS_LENGTH);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Message, encoded, schema};

    #[test]
    fn numbers_and_texts_are_written_as_the_encoding_has_them() {
        let mut message = Message::default();
        message.number(300);
        assert_eq!(message.0, [0xac, 0x02]);
        assert_eq!(Message::default().text(1, "ab").0, [0x0a, 2, b'a', b'b']);
        assert_eq!(Message::default().text(31, "").0, [0xfa, 0x01, 0]);
    }

    #[test]
    fn a_reference_stands_alone_and_what_is_open_has_no_type() {
        let reference =
            json!({ "allOf": [{ "$ref": "#/components/schemas/Meta" }], "default": {}, "type": "object" });
        assert_eq!(schema(&reference).0, Message::default().text(1, "#/definitions/Meta").0);
        let open =
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "Any" });
        assert_eq!(schema(&open).0, Message::default().text(4, "Any").0);
        let list = json!({ "type": "array", "items": { "type": "string" } });
        let text = || Message::default().message(22, Message::default().text(1, "string"));
        let wanted = Message::default()
            .message(22, Message::default().text(1, "array"))
            .message(23, Message::default().message(1, text()));
        assert_eq!(schema(&list).0, wanted.0);
    }

    #[test]
    fn of_paths_only_patches_are_told() {
        let with = |verb: &str| json!({ "paths": { "/things/{name}": { verb: { "parameters": [{ "name": "dryRun" }] } } } });
        let (read, patched) = (encoded([&with("get")].into_iter()), encoded([&with("patch")].into_iter()));
        let has = |bytes: &[u8]| bytes.windows(6).any(|part| part == b"dryRun");
        assert!(!has(&read) && has(&patched));
    }
}
