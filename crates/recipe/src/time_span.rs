//! Times as people write them: `90`, `90s`, `1.5h`, `1h30m`.
//!
//! Never guesses a unit: a number beside other parts needs one.

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeSpanError {
    /// It has no number, or characters that belong to no time.
    #[error("`{0}` is not a time: write seconds such as `90`, or units such as `90s`, `10m` and `1h30m`")]
    NotATime(String),
    /// A number after other parts has no unit.
    #[error("the last number of `{0}` has no unit: write `{0}m` or `{0}s`")]
    NoUnit(String),
    /// A unit is not known.
    #[error("`{0}` is not a unit of time: use `ms`, `s`, `m`, `h` or `d`, as in `1h30m`")]
    UnknownUnit(String),
}

/// The seconds that a text means: a number of seconds, or numbers with units.
pub fn parse(text: &str) -> Result<f64, TimeSpanError> {
    let text = text.trim();
    let not_a_time = || TimeSpanError::NotATime(text.to_owned());
    let (mut seconds, mut rest, mut is_first) = (0.0, text, true);
    while !rest.is_empty() || is_first {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let number = number(digits).ok_or_else(not_a_time)?;
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = match unit {
            "" if !after.is_empty() => return Err(not_a_time()),
            "" if is_first => 1.0,
            "" => return Err(TimeSpanError::NoUnit(text.to_owned())),
            _ => factor(unit).ok_or_else(|| TimeSpanError::UnknownUnit(unit.to_owned()))?,
        };
        seconds += number * factor;
        rest = after.trim_start();
        is_first = false;
    }
    Ok(seconds)
}

/// A number of digits with at most one point between them.
fn number(digits: &str) -> Option<f64> {
    let is_whole = digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with('.');
    digits.parse().ok().filter(|_| is_whole)
}

fn factor(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(0.001),
        "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3_600.0),
        "d" => Some(86_400.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_times_have_units_decimals_and_sequences() {
        for (text, seconds) in [
            ("90", 90.0),
            ("0", 0.0),
            ("1.5", 1.5),
            ("90s", 90.0),
            ("500ms", 0.5),
            ("10m", 600.0),
            ("2h", 7_200.0),
            ("1.5h", 5_400.0),
            ("1d", 86_400.0),
            ("1h30m", 5_400.0),
            ("1h 30m", 5_400.0),
            ("1d2h3m4s5ms", 93_784.005),
        ] {
            let found = parse(text);
            assert!(found.as_ref().is_ok_and(|found| (found - seconds).abs() < 1e-9), "{text}: {found:?}");
        }
    }

    #[test]
    fn d5_a_number_after_a_unit_needs_one_too() {
        for text in
            ["", "s", "h1", "1..5s", ".5s", "5.", "-5s", "1h-30m", "1:30", "1,5h", "1e3s", "5 6", "٣s"]
        {
            assert!(parse(text).is_err(), "{text}: {:?}", parse(text));
        }
        assert_eq!(parse("1h30"), Err(TimeSpanError::NoUnit("1h30".to_owned())));
        assert_eq!(parse("5min"), Err(TimeSpanError::UnknownUnit("min".to_owned())));
        assert_eq!(parse("5M"), Err(TimeSpanError::UnknownUnit("M".to_owned())));
    }
}
