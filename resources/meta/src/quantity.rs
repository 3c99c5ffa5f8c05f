//! Kubernetes quantities as people write them (`2Gi`, `500m`), as numbers.

/// Bytes from a quantity such as `64Mi`, `2Gi`, `1G` or `1048576`.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn parse_bytes(text: &str) -> Result<i64, String> {
    const SUFFIXES: [(&str, i64); 8] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
    ];
    let (digits, unit) = SUFFIXES
        .iter()
        .find_map(|(suffix, unit)| text.strip_suffix(suffix).map(|d| (d, *unit)))
        .unwrap_or((text, 1));
    let number: i64 =
        digits.parse().map_err(|_| format!("{text:?} is not a size; write it as 64Mi or 2Gi"))?;
    if number < 0 {
        return Err(format!("{text:?} is below zero"));
    }
    number.checked_mul(unit).ok_or_else(|| format!("{text:?} is too large"))
}

/// Thousandths of a processor from a quantity such as `2`, `0.5` or `500m`.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn parse_millicpus(text: &str) -> Result<i64, String> {
    let bad = || format!("{text:?} is not a number of processors; write it as 2, 0.5 or 500m");
    if let Some(milli) = text.strip_suffix('m') {
        return milli.parse().ok().filter(|m| *m >= 0).ok_or_else(bad);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.chars().all(|c| c.is_ascii_digit()) {
        return Err(bad());
    }
    let whole: i64 = whole.parse().map_err(|_| bad())?;
    let fraction: i64 = format!("{fraction:0<3}").parse().map_err(|_| bad())?;
    whole.checked_mul(1000).and_then(|m| m.checked_add(fraction)).filter(|m| *m >= 0).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::{parse_bytes, parse_millicpus};

    #[test]
    fn sizes_and_processors_parse() {
        assert_eq!(parse_bytes("64Mi"), Ok(64 << 20));
        assert_eq!(parse_bytes("1G"), Ok(1_000_000_000));
        assert_eq!(parse_bytes("12"), Ok(12));
        assert!(parse_bytes("1.5Gi").is_err() && parse_bytes("-1").is_err() && parse_bytes("").is_err());
        assert_eq!(parse_millicpus("2"), Ok(2000));
        assert_eq!(parse_millicpus("0.5"), Ok(500));
        assert_eq!(parse_millicpus("250m"), Ok(250));
        assert!(parse_millicpus("a").is_err() && parse_millicpus("0.12345").is_err());
    }
}
