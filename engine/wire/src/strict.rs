//! JSON read so that a field that is said twice is noticed: of two words on one thing a reader hears the last, and whoever
//! wrote the first would rely on it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// So many doubled fields are named; whoever sent them mends those first.
const MOST_NAMED: usize = 20;

/// Reads JSON; also the path of each field that is said twice.
///
/// # Errors
/// One sentence that says what is wrong, and where.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), String> {
    let mut doubled = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let place = Place { path: &Path::Root, doubled: &mut doubled };
    let value = place.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map(|value| (value, doubled)).map_err(|error| error.to_string())
}

/// Where a value stands, made into words only where they are needed.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Place<'p, 'd> {
    path: &'p Path<'p>,
    doubled: &'d mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        loop {
            let path = Path::Item(self.path, read.len());
            match items.next_element_seed(Place { path: &path, doubled: &mut *self.doubled })? {
                Some(item) => read.push(item),
                None => return Ok(Value::Array(read)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let path = Path::Field(self.path, &name);
            if read.contains_key(&name) && self.doubled.len() < MOST_NAMED {
                self.doubled.push(path.to_string());
            }
            let value = fields.next_value_seed(Place { path: &path, doubled: &mut *self.doubled })?;
            read.insert(name, value);
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn what_is_said_twice_is_named_and_the_last_word_counts() {
        let text = br#"{"a": 1, "spec": {"b": [{"c": 1, "c": {"d": 2}}], "b e": 0, "b e": 1}, "a": null}"#;
        let (value, doubled) = parse(text).unwrap();
        assert_eq!(value, json!({"a": null, "spec": {"b": [{"c": {"d": 2}}], "b e": 1}}));
        assert_eq!(doubled, ["spec.b[0].c", "spec.b e", "a"]);
    }

    #[test]
    fn everything_else_is_read_as_ever() {
        for text in [
            r#"{"a": [1, -2, 3.5, 18446744073709551615, true, false, null, "x\ny", {}, []]}"#,
            "3",
            "\"\u{fc}\"",
            " [ ] ",
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), (plain, Vec::new()), "{text}");
        }
        for text in ["", "{", "{\"a\"}", "1 2", "nul", "\u{1}", &"[".repeat(200)] {
            assert!(
                serde_json::from_str::<Value>(text).is_err() && parse(text.as_bytes()).is_err(),
                "{text:?}"
            );
        }
    }
}
