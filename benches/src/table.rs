//! Rows of the table, as Markdown. Never measures.

use std::fmt;

/// One figure.
pub(crate) struct Row {
    figure: String,
    measured: String,
    floor: String,
    ratio: String,
    target: String,
    is_met: bool,
}

/// The head of the table.
pub(crate) fn heading() -> &'static str {
    "| figure | measured | floor | ratio | target | |\n|---|---|---|---|---|---|"
}

impl Row {
    /// A time that is judged by how often its floor fits into it.
    pub(crate) fn ratio(figure: &str, measured: f64, floor: f64, ratio: f64, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: time(measured),
            floor: time(floor),
            ratio: format!("{ratio:.2}"),
            target: format!("≤ {target}"),
            is_met: ratio <= target,
        }
    }

    /// A time that is judged by itself; the floor, if any, is shown beside it.
    pub(crate) fn time(figure: &str, measured: f64, floor: Option<f64>, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: time(measured),
            floor: floor.map_or_else(String::new, time),
            ratio: floor.map_or_else(String::new, |floor| format!("{:.2}", measured / floor)),
            target: format!("≤ {}", time(target)),
            is_met: measured <= target,
        }
    }

    /// A time that is judged by how much longer than its floor it is.
    pub(crate) fn more(figure: &str, measured: f64, floor: f64, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: time(measured),
            floor: time(floor),
            ratio: format!("{:.2}", measured / floor),
            target: format!("≤ {} more", time(target)),
            is_met: measured - floor <= target,
        }
    }

    /// A share of one processor.
    pub(crate) fn share(figure: &str, share: f64, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: format!("{:.2} %", share * 100.0),
            floor: String::new(),
            ratio: String::new(),
            target: format!("≤ {} %", target * 100.0),
            is_met: share <= target,
        }
    }

    /// Megabytes of memory.
    pub(crate) fn memory(figure: &str, megabytes: f64, target: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: format!("{megabytes:.1} MB"),
            floor: String::new(),
            ratio: String::new(),
            target: format!("≤ {target} MB"),
            is_met: megabytes <= target,
        }
    }

    /// Two times that ought to be the same, up to a share of the first.
    pub(crate) fn same(figure: &str, measured: f64, floor: f64, share: f64) -> Row {
        Row {
            figure: figure.to_owned(),
            measured: time(measured),
            floor: time(floor),
            ratio: format!("{:.2}", measured / floor),
            target: format!("1 ± {share}"),
            is_met: (measured / floor - 1.0).abs() <= share,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { figure, measured, floor, ratio, target, is_met } = self;
        let verdict = if *is_met { "ok" } else { "over" };
        write!(f, "| {figure} | {measured} | {floor} | {ratio} | {target} | {verdict} |")
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.0} ns", s * 1e9),
    }
}
