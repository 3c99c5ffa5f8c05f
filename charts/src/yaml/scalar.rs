//! What an unquoted word of YAML means.
//!
//! Source of the rules: the YAML 1.2 core schema, and beside it the older spellings that Docker
//! Compose's parser still reads as numbers and dates: `0777`, `1_000`, `0b101`, `2024-01-01`.
//! `yes` and `on` are text here; fields that want a boolean accept them later.

use crate::node::Value;

/// The short name of a tag: `!!str`, `!reset`; empty when there is none.
pub(crate) type Tag<'a> = &'a str;

/// Gives a scalar its value, from its text, whether it was quoted, and its tag.
///
/// # Errors
/// A sentence when the tag asks for what the text is not (`!!int abc`).
pub(crate) fn resolve(text: &str, quoted: bool, tag: Tag<'_>) -> Result<Value, String> {
    if tag == "!!str" || (quoted && matches!(tag, "" | "!")) {
        return Ok(Value::Text(text.to_owned()));
    }
    let wrong = |what: &str| Err(format!("`{}` is not {what}", shorten(text)));
    match (tag, plain(text)) {
        ("" | "!", value) => Ok(value),
        ("!!null", value @ Value::Null) => Ok(value),
        ("!!bool", value @ Value::Bool(_)) => Ok(value),
        ("!!int", value @ (Value::Int(_) | Value::Large(_))) => Ok(value),
        ("!!float", Value::Int(value)) => Ok(Value::Float(value as f64)),
        ("!!float", value @ Value::Float(_)) => Ok(value),
        ("!!timestamp", value @ Value::Time(_)) => Ok(value),
        ("!!null", _) => wrong("empty"),
        ("!!bool", _) => wrong("true or false"),
        ("!!int", _) => wrong("a whole number"),
        ("!!float", _) => wrong("a number"),
        ("!!timestamp", _) => wrong("a date"),
        ("!!binary", _) => Err("binary values are not supported".to_owned()),
        // A tag nobody knows says nothing about the value; it stays text.
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() > 20 {
        text.chars().take(17).chain("...".chars()).collect()
    } else {
        text.to_owned()
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes()[0] {
        b'.' => dotted(text),
        b'0'..=b'9' | b'+' | b'-' => time(text).or_else(|| number(&text.replace('_', ""))),
        _ => None,
    };
    number.unwrap_or_else(|| Value::Text(text.to_owned()))
}

/// `.5`: a fraction that begins with its point.
fn dotted(text: &str) -> Option<Value> {
    let digits = text.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let float = digits.then(|| text.parse::<f64>().ok()).flatten()?;
    Some(Value::Float(float))
}

fn number(text: &str) -> Option<Value> {
    integer(text).or_else(|| {
        let value = is_float(text).then(|| text.parse::<f64>().ok()).flatten()?;
        // Too large to hold: the parser we agree with leaves such a word as text.
        value.is_finite().then_some(Value::Float(value))
    })
}

/// Whole numbers in the bases `0x`, `0b`, `0o` and the old `0777`, with an optional sign.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, &lower[..]),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    match (negative, i64::try_from(value)) {
        (false, Ok(value)) => Some(Value::Int(value)),
        (true, Ok(value)) => Some(Value::Int(-value)),
        (true, Err(_)) if value == 1 << 63 => Some(Value::Int(i64::MIN)),
        // Unsigned numbers take no sign, not even a plus.
        (false, Err(_)) if !text.starts_with('+') => Some(Value::Large(value)),
        _ => None,
    }
}

/// Digits, a point, digits, an exponent; nothing else.
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = digits(rest);
    rest = &rest[whole..];
    if let Some(after) = rest.strip_prefix('.') {
        let fraction = digits(after);
        if whole + fraction == 0 {
            return false;
        }
        rest = &after[fraction..];
    } else if whole == 0 {
        return false;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else { return rest.is_empty() };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

/// Dates: `2024-01-31`, with a time after `T`, `t` or a space. Gives RFC 3339.
fn time(text: &str) -> Option<Value> {
    let year = text.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()))?;
    let rest = text[4..].strip_prefix('-')?;
    let (month, rest) = one_or_two(rest)?;
    let (day, rest) = one_or_two(rest.strip_prefix('-')?)?;
    let leap = year.parse::<u32>().is_ok_and(|y| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
    let longest = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if day < 1 || day > longest {
        return None;
    }
    let date = format!("{year}-{month:02}-{day:02}");
    let clock = match rest.as_bytes().first() {
        None => "00:00:00Z".to_owned(),
        Some(b'T' | b't') => clock(&rest[1..], true)?,
        Some(b' ') => clock(&rest[1..], false)?,
        Some(_) => return None,
    };
    Some(Value::Time(format!("{date}T{clock}")))
}

fn one_or_two(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text.get(..digits).filter(|part| !part.is_empty())?.parse().ok()?, &text[digits..]))
}

/// `15:04:05.9`, then `Z` or `+02:00` where a zone is wanted, and nothing where it is not.
fn clock(text: &str, zone: bool) -> Option<String> {
    let (hour, rest) = one_or_two(text)?;
    let (minute, rest) = one_or_two(rest.strip_prefix(':')?)?;
    let (second, rest) = one_or_two(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = fraction(rest)?;
    let zone = match (zone, rest) {
        (false, "") | (true, "Z") => "Z".to_owned(),
        (true, offset) => offset_of(offset)?,
        _ => return None,
    };
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

fn fraction(text: &str) -> Option<(String, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return Some((String::new(), text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let kept = rest[..digits.min(9)].trim_end_matches('0');
    Some((if kept.is_empty() { String::new() } else { format!(".{kept}") }, &rest[digits..]))
}

fn offset_of(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 6 && matches!(bytes[0], b'+' | b'-') && bytes[3] == b':';
    let digits = shaped && [1, 2, 4, 5].iter().all(|&index| bytes[index].is_ascii_digit());
    let valid = digits && text[1..3] <= *"24" && text[4..6] < *"60";
    valid.then(|| if &text[1..] == "00:00" { "Z".to_owned() } else { text.to_owned() })
}
