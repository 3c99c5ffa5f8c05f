//! How Docker Compose, a Go program, prints numbers, times and spans of time as text.

/// A number as it reads inside text: six digits before the exponent form begins.
pub(crate) fn float(value: f64) -> String {
    digits(value, format!("{value:e}"))
}

/// The same for a number of single precision.
pub(crate) fn single(value: f32) -> String {
    digits(f64::from(value), format!("{value:e}"))
}

/// `exponential` is the shortest exact form, `1.5e-7`.
fn digits(value: f64, exponential: String) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    plain(mantissa, exponent)
}

/// Moves the point of `1.234` by `exponent` places.
fn plain(mantissa: &str, exponent: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let point = exponent + 1;
    if point <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if digits.len() <= point {
        return format!("{sign}{digits}{}", "0".repeat(point - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..point], &digits[point..])
}

/// A time of RFC 3339 as it reads inside text: `2024-01-01 10:00:00 +0000 UTC`, `... +0200 +0200`.
pub(crate) fn time(text: &str) -> String {
    let Some((date, rest)) = text.split_once('T') else { return text.to_owned() };
    match rest.strip_suffix('Z') {
        Some(time) => format!("{date} {time} +0000 UTC"),
        None => {
            let (time, zone) = rest.split_at(rest.rfind(['+', '-']).unwrap_or(rest.len()));
            let zone = zone.replace(':', "");
            format!("{date} {time} {zone} {zone}")
        }
    }
}

const SECOND: u64 = 1_000_000_000;

/// A span of time: `1m30s`, `1.5s`, `100ms`, `0s`.
pub(crate) fn duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    if total < SECOND {
        return match total {
            0 => "0s".to_owned(),
            1..1_000 => format!("{sign}{total}ns"),
            1_000..1_000_000 => format!("{sign}{}µs", fraction(total, 1_000)),
            _ => format!("{sign}{}ms", fraction(total, 1_000_000)),
        };
    }
    let seconds = total / SECOND;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let rest = fraction(total % (60 * SECOND), SECOND);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{rest}s"),
        (0, _) => format!("{sign}{minutes}m{rest}s"),
        _ => format!("{sign}{hours}h{minutes}m{rest}s"),
    }
}

fn fraction(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
}
