//! Spans of time as people write them (`90s`, `5m`, `1h30m`) and as they read them.

use std::time::Duration;

/// Reads a span: numbers with s, m, h or d; a bare number is seconds.
///
/// # Errors
/// One sentence with how to write it.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is not a span of time; write it as 90s, 5m, 1h30m or 2d");
    let (mut seconds, mut digits) = (0u64, String::new());
    for letter in text.chars() {
        let unit = match letter {
            '0'..='9' => {
                digits.push(letter);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(bad()),
        };
        let number: u64 = digits.parse().map_err(|_| bad())?;
        seconds = number.checked_mul(unit).and_then(|more| seconds.checked_add(more)).ok_or_else(bad)?;
        digits.clear();
    }
    match (digits.as_str(), text) {
        (_, "") => Err(bad()),
        ("", _) => Ok(Duration::from_secs(seconds)),
        (bare, all) if bare == all => bare.parse().map(Duration::from_secs).map_err(|_| bad()),
        _ => Err(bad()),
    }
}

/// A span in at most two units: `45s`, `12m`, `3h20m`, `40d`.
pub(crate) fn shown(seconds: i64) -> String {
    let two = |large: i64, unit: char, small: i64, small_unit: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{small_unit}"),
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        ..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse, shown};

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, seconds) in
            [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5_400), ("2d", 172_800), ("0s", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "m", "5 m", "1h30", "-5s", "1.5h", "99999999999999999999s"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_are_shown_short() {
        let cases = [
            (45, "45s"),
            (119, "119s"),
            (150, "2m30s"),
            (720, "12m"),
            (12_000, "3h20m"),
            (86_400, "24h"),
            (3_456_000, "40d"),
        ];
        for (seconds, text) in cases {
            assert_eq!(shown(seconds), text);
        }
    }
}
