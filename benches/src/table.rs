//! Rows of the table, as Markdown. Never measures.

use std::fmt;

use crate::turns::Pair;

/// One figure.
pub(crate) struct Row {
    figure: String,
    measured: String,
    floor: String,
    ratio: f64,
    target: String,
    /// Whether the target is met; `None` if nothing was measured.
    is_met: Option<bool>,
}

/// The head of the table.
pub(crate) fn heading() -> &'static str {
    "| figure | measured | floor | ratio | target | |\n|---|---|---|---|---|---|"
}

impl Row {
    /// A time that is judged by how often its floor fits into it.
    pub(crate) fn ratio(figure: &str, pair: Pair, target: f64) -> Row {
        Row {
            target: format!("≤ {target}"), is_met: Some(pair.ratio <= target), ..Row::times(figure, pair)
        }
    }

    /// A time that is judged by itself.
    pub(crate) fn time(figure: &str, pair: Pair, target: f64) -> Row {
        let is_met = Some(pair.measured <= target);
        Row { target: format!("≤ {}", time(target)), is_met, ..Row::times(figure, pair) }
    }

    /// A time that is judged by how much longer than its floor it is.
    pub(crate) fn more(figure: &str, pair: Pair, target: f64) -> Row {
        let is_met = Some(pair.measured - pair.floor <= target);
        Row { target: format!("≤ {} more", time(target)), is_met, ..Row::times(figure, pair) }
    }

    /// A share of one processor.
    pub(crate) fn share(figure: &str, share: f64, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: format!("{:.2} %", share * 100.0),
            floor: "one processor".to_owned(),
            ratio: share,
            target: format!("≤ {}", target),
            is_met: Some(share <= target),
        }
    }

    /// Megabytes of memory.
    pub(crate) fn memory(figure: &str, pair: Pair, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: megabytes(pair.measured),
            floor: megabytes(pair.floor),
            ratio: pair.ratio,
            target: format!("≤ {target} MB"),
            is_met: Some(pair.measured <= target),
        }
    }

    /// A number of something.
    pub(crate) fn count(figure: &str, pair: Pair, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: format!("{:.1}", pair.measured),
            floor: format!("{:.1}", pair.floor),
            ratio: pair.ratio,
            target: format!("≤ {target}"),
            is_met: Some(pair.measured <= target),
        }
    }

    /// Bytes, in kilobytes.
    pub(crate) fn kilobytes(figure: &str, pair: Pair, target: f64) -> Row {
        let kilobytes = |bytes: f64| format!("{:.1} kB", bytes / 1e3);
        Row {
            figure: figure.to_owned(),
            measured: kilobytes(pair.measured),
            floor: kilobytes(pair.floor),
            ratio: pair.ratio,
            target: format!("≤ {}", kilobytes(target)),
            is_met: Some(pair.measured <= target),
        }
    }

    /// A figure that this machine cannot give, and why.
    pub(crate) fn unmeasured(figure: &str, why: &str) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: format!("not measured: {why}"),
            floor: String::new(),
            ratio: f64::NAN,
            target: String::new(),
            is_met: None,
        }
    }

    /// Two ratios that ought to be the same, up to a share of the first.
    pub(crate) fn same(figure: &str, measured: f64, floor: f64, share: f64) -> Row {
        let ratio = measured / floor;
        Row {
            figure: figure.to_owned(),
            measured: format!("{measured:.2} floors"),
            floor: format!("{floor:.2} floors"),
            ratio,
            target: format!("1 ± {share}"),
            is_met: Some((ratio - 1.0).abs() <= share),
        }
    }

    /// Two times, not judged yet.
    fn times(figure: &str, pair: Pair) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: time(pair.measured),
            floor: time(pair.floor),
            ratio: pair.ratio,
            target: String::new(),
            is_met: None,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { figure, measured, floor, ratio, target, is_met } = self;
        let Some(is_met) = is_met else { return write!(f, "| {figure} | {measured} | | | | |") };
        let verdict = if *is_met { "ok" } else { "over" };
        write!(f, "| {figure} | {measured} | {floor} | {ratio:.2} | {target} | {verdict} |")
    }
}

/// A time in the unit that suits it.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.0} ns", s * 1e9),
    }
}

/// Memory, or the size of a file.
pub(crate) fn megabytes(megabytes: f64) -> String {
    format!("{megabytes:.1} MB")
}

#[cfg(test)]
mod tests {
    use super::{Row, time};
    use crate::turns::Pair;

    #[test]
    fn rows() {
        let check = |row: Row, expected: &str| assert_eq!(row.to_string(), expected);
        let pair = Pair::once(3e-3, 2e-3);
        check(Row::ratio("a", pair, 1.5), "| a | 3.00 ms | 2.00 ms | 1.50 | ≤ 1.5 | ok |");
        check(Row::ratio("a", pair, 1.25), "| a | 3.00 ms | 2.00 ms | 1.50 | ≤ 1.25 | over |");
        check(Row::time("a", pair, 5e-3), "| a | 3.00 ms | 2.00 ms | 1.50 | ≤ 5.00 ms | ok |");
        check(Row::more("a", pair, 5e-4), "| a | 3.00 ms | 2.00 ms | 1.50 | ≤ 500.00 µs more | over |");
        check(Row::share("a", 0.01, 0.02), "| a | 1.00 % | one processor | 0.01 | ≤ 0.02 | ok |");
        check(
            Row::memory("a", Pair::once(30.0, 3.0), 15.0),
            "| a | 30.0 MB | 3.0 MB | 10.00 | ≤ 15 MB | over |",
        );
        check(Row::count("a", Pair::once(30.0, 3.0), 45.0), "| a | 30.0 | 3.0 | 10.00 | ≤ 45 | ok |");
        check(
            Row::kilobytes("a", Pair::once(30e3, 3e3), 20e3),
            "| a | 30.0 kB | 3.0 kB | 10.00 | ≤ 20.0 kB | over |",
        );
        check(Row::unmeasured("a", "no b"), "| a | not measured: no b | | | | |");
        check(Row::same("a", 2.0, 1.6, 0.1), "| a | 2.00 floors | 1.60 floors | 1.25 | 1 ± 0.1 | over |");
    }

    #[test]
    fn what_could_not_be_measured_is_over() {
        let row = Row::ratio("a", Pair::once(f64::NAN, 1.0), 2.0);
        assert!(row.to_string().ends_with("| over |"));
    }

    #[test]
    fn units() {
        let check = |seconds, expected| assert_eq!(time(seconds), expected);
        check(2.5, "2.50 s");
        check(2.5e-3, "2.50 ms");
        check(2.5e-6, "2.50 µs");
        check(25e-9, "25 ns");
    }
}
