//! Sizes, spans of time, booleans and numbers as people write them in compose files.
//!
//! Sources: the Compose specification (byte values, durations), and for what it leaves open the
//! behaviour of Docker Compose: units are binary, `d` and `w` are spans too, `on` is true.

/// `512m`, `1.5 GiB`, `64kb`, `1024`: bytes, in powers of 1024.
///
/// # Errors
/// A sentence that says what a size looks like.
pub(crate) fn bytes(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is not a size; write it like 512m or 1.5g");
    let (number, suffix) = match text.split_once(' ') {
        Some(parts) => parts,
        None => {
            let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.').ok_or_else(wrong)?;
            text.split_at(end + 1)
        }
    };
    let size = float(number).ok_or_else(wrong)?;
    if size < 0.0 || size.is_nan() {
        return Err(wrong());
    }
    let suffix = suffix.to_lowercase();
    let factor: f64 = match suffix.strip_suffix("ib").or_else(|| suffix.strip_suffix('b')).unwrap_or(&suffix)
    {
        "" if suffix != "ib" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0f64.powi(4),
        "p" => 1024.0f64.powi(5),
        _ => return Err(wrong()),
    };
    Ok(truncated(size * factor))
}

/// A number to a whole one; what does not fit becomes the smallest one, as on the processors
/// Docker Compose is built for.
pub(crate) fn truncated(value: f64) -> i64 {
    if value.is_nan() || value >= 9_223_372_036_854_775_808.0 { i64::MIN } else { value as i64 }
}

/// `30s`, `1m30s`, `1.5h`, `2d`, `1w`, `0`: nanoseconds.
///
/// # Errors
/// A sentence that says what a span of time looks like.
pub(crate) fn duration(text: &str) -> Result<i64, String> {
    let wrong = || format!("`{text}` is not a duration; write it like 30s or 1m30s");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let (part, left) = duration_part(rest).ok_or_else(wrong)?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = left;
    }
    Ok(if negative { -total } else { total })
}

/// One number with its unit, and what follows it.
fn duration_part(text: &str) -> Option<(i64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = &text[..digits(text)];
    let mut rest = &text[whole.len()..];
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        fraction = &after[..digits(after)];
        rest = &after[fraction.len()..];
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let unit = unit_of(unit)?;
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut value = whole.checked_mul(unit)?;
    if !fraction.is_empty() {
        value = value.checked_add(fraction_of(fraction, unit))?;
    }
    Some((value, rest))
}

fn unit_of(unit: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000_000;
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86_400 * SECOND,
        "w" => 604_800 * SECOND,
        _ => return None,
    })
}

/// The digits after the point, as part of a unit. Digits beyond what a number holds are dropped.
fn fraction_of(digits: &str, unit: i64) -> i64 {
    let (mut value, mut scale) = (0i64, 1f64);
    for digit in digits.bytes() {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(i64::from(digit - b'0')));
        let Some(next) = next else { break };
        (value, scale) = (next, scale * 10.0);
    }
    (value as f64 * (unit as f64 / scale)) as i64
}

/// Booleans in every spelling of YAML 1.1, whatever their case.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "true" | "y" | "yes" | "on" => Ok(true),
        "false" | "n" | "no" | "off" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

/// A whole number in decimal digits with an optional sign, nothing else.
pub(crate) fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// A number the way Go reads one: decimal, with `inf` and `nan`, never with spaces.
/// Hexadecimal floats and digit separators, which nobody writes, are not numbers here.
pub(crate) fn float(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let infinite_by_name = text.to_lowercase().contains("inf");
    (value.is_finite() || value.is_nan() || infinite_by_name).then_some(value)
}

/// A text of octal digits: permission bits.
pub(crate) fn octal(text: &str) -> Result<i64, String> {
    i64::from_str_radix(text, 8).map_err(|_| format!("`{text}` is not a file mode; write it like \"0440\""))
}
