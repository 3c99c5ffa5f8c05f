//! Bodies in the other encoding of the protocol, for the few requests for which some clients know no other:
//! making a namespace or a secret, and asking what one may do. Answers are always JSON, which they also read.
//!
//! The envelope is `k8s`, a zero byte, and a message with the type and the object. Objects are read by the tables
//! below; a field that is not in them is skipped, as the encoding wants it.

use serde_json::{Map, Value, json};

/// The media type.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

const MAGIC: &[u8] = b"k8s\0";
/// The deepest message in any of the tables, and then some.
const DEEPEST: u32 = 16;

/// What a field holds.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Bytes,
    Flag,
    Texts,
    MapOfTexts,
    MapOfBytes,
    One(Table),
    Many(Table),
}

/// The fields of a message: number, name, what it holds.
type Table = &'static [(u64, &'static str, Shape)];

const OWNER: Table = &[
    (1, "kind", Shape::Text),
    (3, "name", Shape::Text),
    (4, "uid", Shape::Text),
    (5, "apiVersion", Shape::Text),
    (6, "controller", Shape::Flag),
    (7, "blockOwnerDeletion", Shape::Flag),
];

const META: Table = &[
    (1, "name", Shape::Text),
    (2, "generateName", Shape::Text),
    (3, "namespace", Shape::Text),
    (5, "uid", Shape::Text),
    (6, "resourceVersion", Shape::Text),
    (11, "labels", Shape::MapOfTexts),
    (12, "annotations", Shape::MapOfTexts),
    (13, "ownerReferences", Shape::Many(OWNER)),
    (14, "finalizers", Shape::Texts),
];

const RESOURCE: Table = &[
    (1, "namespace", Shape::Text),
    (2, "verb", Shape::Text),
    (3, "group", Shape::Text),
    (4, "version", Shape::Text),
    (5, "resource", Shape::Text),
    (6, "subresource", Shape::Text),
    (7, "name", Shape::Text),
];

const PATH: Table = &[(1, "path", Shape::Text), (2, "verb", Shape::Text)];

const ACCESS: Table =
    &[(1, "resourceAttributes", Shape::One(RESOURCE)), (2, "nonResourceAttributes", Shape::One(PATH))];

const ACCESS_OF: Table = &[
    (1, "resourceAttributes", Shape::One(RESOURCE)),
    (2, "nonResourceAttributes", Shape::One(PATH)),
    (3, "user", Shape::Text),
    (4, "groups", Shape::Texts),
];

/// The objects that are read, by their kind.
const OBJECTS: &[(&str, Table)] = &[
    ("Namespace", &[(1, "metadata", Shape::One(META))]),
    (
        "Secret",
        &[
            (1, "metadata", Shape::One(META)),
            (2, "data", Shape::MapOfBytes),
            (3, "type", Shape::Text),
            (4, "stringData", Shape::MapOfTexts),
            (5, "immutable", Shape::Flag),
        ],
    ),
    ("SelfSubjectAccessReview", &[(1, "metadata", Shape::One(META)), (2, "spec", Shape::One(ACCESS))]),
    (
        "SelfSubjectRulesReview",
        &[(1, "metadata", Shape::One(META)), (2, "spec", Shape::One(&[(1, "namespace", Shape::Text)]))],
    ),
    ("SelfSubjectReview", &[(1, "metadata", Shape::One(META))]),
    ("SubjectAccessReview", &[(1, "metadata", Shape::One(META)), (2, "spec", Shape::One(ACCESS_OF))]),
    ("LocalSubjectAccessReview", &[(1, "metadata", Shape::One(META)), (2, "spec", Shape::One(ACCESS_OF))]),
];

const TYPE: Table = &[(1, "apiVersion", Shape::Text), (2, "kind", Shape::Text)];

/// Reads a body.
///
/// # Errors
/// One sentence that says what is wrong with it.
pub(crate) fn parse(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(MAGIC).ok_or("the body does not begin as this encoding does")?;
    let envelope = fields(envelope)?;
    let part = |number: u64| {
        envelope.iter().find_map(|(found, data)| if *found == number { data.bytes() } else { None })
    };
    let head = message(part(1).unwrap_or_default(), TYPE, DEEPEST)?;
    let kind = head.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let table = OBJECTS.iter().find(|(known, _)| *known == kind);
    let (_, table) = table
        .ok_or_else(|| format!("objects of kind {kind:?} are read as JSON only; send application/json"))?;
    let mut object = message(part(2).unwrap_or_default(), table, DEEPEST)?;
    for (name, value) in head {
        object.insert(name, value);
    }
    object.entry("metadata").or_insert_with(|| json!({}));
    Ok(Value::Object(object))
}

/// One field as it came.
enum Data<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Data<'a> {
    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }
}

fn message(bytes: &[u8], table: Table, deep: u32) -> Result<Map<String, Value>, String> {
    let deep = deep.checked_sub(1).ok_or("the body is nested too deep")?;
    let mut read = Map::new();
    for (number, data) in fields(bytes)? {
        let Some((_, name, shape)) = table.iter().find(|(known, ..)| *known == number) else { continue };
        match (shape, data) {
            (Shape::Flag, Data::Number(number)) => drop(read.insert((*name).into(), (number != 0).into())),
            (Shape::Text, Data::Bytes(bytes)) => {
                // Every text is sent, set or not.
                if !bytes.is_empty() {
                    read.insert((*name).into(), text(bytes)?.into());
                }
            }
            (Shape::Bytes, Data::Bytes(bytes)) => drop(read.insert((*name).into(), base64(bytes))),
            (Shape::One(table), Data::Bytes(bytes)) => {
                drop(read.insert((*name).into(), message(bytes, table, deep)?.into()))
            }
            (Shape::Many(table), Data::Bytes(bytes)) => {
                push(&mut read, name, message(bytes, table, deep)?.into())
            }
            (Shape::Texts, Data::Bytes(bytes)) => push(&mut read, name, text(bytes)?.into()),
            (Shape::MapOfTexts, Data::Bytes(bytes)) => entry(&mut read, name, bytes, Shape::Text, deep)?,
            (Shape::MapOfBytes, Data::Bytes(bytes)) => entry(&mut read, name, bytes, Shape::Bytes, deep)?,
            _ => return Err(format!("the field {name} is not of its type")),
        }
    }
    Ok(read)
}

fn push(read: &mut Map<String, Value>, name: &str, value: Value) {
    if let Value::Array(items) = read.entry(name).or_insert_with(|| json!([])) {
        items.push(value);
    }
}

/// A map is a list of messages with a key and a value.
fn entry(
    read: &mut Map<String, Value>,
    name: &str,
    bytes: &[u8],
    value: Shape,
    deep: u32,
) -> Result<(), String> {
    const OF_TEXTS: Table = &[(1, "key", Shape::Text), (2, "value", Shape::Text)];
    const OF_BYTES: Table = &[(1, "key", Shape::Text), (2, "value", Shape::Bytes)];
    let table = if matches!(value, Shape::Bytes) { OF_BYTES } else { OF_TEXTS };
    let mut one = message(bytes, table, deep)?;
    let key = one.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
    let value = one.remove("value").unwrap_or_else(|| "".into());
    if let Value::Object(entries) = read.entry(name).or_insert_with(|| json!({})) {
        entries.insert(key, value);
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text in the body is not UTF-8".into())
}

fn base64(bytes: &[u8]) -> Value {
    serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec())).unwrap_or_default()
}

fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Data<'_>)>, String> {
    const SHORT: &str = "the body ends in the middle of a field";
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes).ok_or(SHORT)?;
        let mut take = |length: usize| -> Result<&[u8], String> {
            let (taken, rest) = bytes.split_at_checked(length).ok_or(SHORT)?;
            bytes = rest;
            Ok(taken)
        };
        let data = match tag & 7 {
            0 => Data::Number(number(&mut bytes).ok_or(SHORT)?),
            1 => Data::Bytes(take(8)?),
            2 => {
                let length =
                    number(&mut bytes).and_then(|length| usize::try_from(length).ok()).ok_or(SHORT)?;
                let (taken, rest) = bytes.split_at_checked(length).ok_or(SHORT)?;
                bytes = rest;
                Data::Bytes(taken)
            }
            5 => Data::Bytes(take(4)?),
            other => return Err(format!("the body has a field of the unknown type {other}")),
        };
        found.push((tag >> 3, data));
    }
    Ok(found)
}

/// A number in groups of seven bits, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAGIC, parse};

    fn field(number: u8, data: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(data.len()).unwrap()], data].concat()
    }

    fn body(kind: &str, object: &[u8]) -> Vec<u8> {
        let head = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &head), field(2, object)].concat()
    }

    #[test]
    fn a_secret_is_read_as_it_would_be_in_json() {
        let meta =
            [field(1, b"s"), field(3, b""), field(11, &[field(1, b"a"), field(2, b"b")].concat())].concat();
        let data = [field(1, b"pw"), field(2, b"old")].concat();
        let read = parse(&body("Secret", &[field(1, &meta), field(2, &data), field(3, b"Opaque")].concat()))
            .unwrap();
        let wanted = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"a": "b"}},
            "data": {"pw": "b2xk"}, "type": "Opaque",
        });
        assert_eq!(read, wanted);
    }

    #[test]
    fn what_is_cut_short_or_not_known_is_refused() {
        let whole = body("Namespace", &field(1, &field(1, b"kids")));
        assert_eq!(parse(&whole).unwrap()["metadata"]["name"], "kids");
        for end in 0..whole.len() - 1 {
            // Some beginnings are whole messages themselves; none may do harm.
            let _ = parse(&whole[..end]);
        }
        for wrong in [
            &b"{}"[..],
            b"k8s\0\x0a\xff",
            b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
            &body("Pod", b""),
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
