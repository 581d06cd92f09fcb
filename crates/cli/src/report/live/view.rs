//! The screen during a run: one line for each running step, and one for the run.
//!
//! Pure: a state, a time and a size in, lines out.

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;

use super::text::{columns, fit, squeeze};
use crate::report::words::so_far;

/// Spaces for each level of nesting.
const INDENT: usize = 2;
/// The fewest lines of the view.
const FEWEST: usize = 4;
/// The fewest columns that have room for steps.
const NARROWEST: usize = 10;

/// A run in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Name of its recipe.
    pub(crate) recipe: String,
    /// When it started, or was resumed.
    pub(crate) since: Option<Timestamp>,
    /// Finished steps of the recipe.
    pub(crate) done: usize,
    /// All steps of the recipe.
    pub(crate) total: usize,
    /// Why it is being stopped.
    pub(crate) stopping: Option<String>,
    /// Running steps in order, with the steps of sub-recipes below their recipe step.
    pub(crate) rows: Vec<Row>,
}

/// A running step.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) depth: usize,
    pub(crate) path: String,
    /// Its name.
    pub(crate) id: String,
    /// `4/23`.
    pub(crate) counter: String,
    /// When it was started.
    pub(crate) since: Option<Timestamp>,
    /// What it is doing.
    pub(crate) doing: Doing,
}

/// What a step is doing.
#[derive(Clone, Debug)]
pub(crate) enum Doing {
    /// No output so far.
    Nothing,
    /// Its last output, or its current activity.
    At(String),
    /// It waits for a retry.
    Waiting {
        /// The time of the retry.
        until: Timestamp,
        /// Why the last one failed.
        why: String,
    },
}

/// Columns and lines of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) lines: usize,
}

/// The lines to show; none is as wide as the terminal, so that no line wraps.
pub(crate) fn lines(view: &View, now: Timestamp, size: Size) -> Vec<String> {
    let room = size.columns.saturating_sub(1);
    if room < NARROWEST {
        return vec![footer(view, now, room)];
    }
    let most = (size.lines / 2).max(FEWEST) - 1;
    let shown = if view.rows.len() > most { most - 1 } else { view.rows.len() };
    let table = Columns::of(&view.rows[..shown], now, room);
    let mut lines: Vec<String> =
        view.rows[..shown].iter().map(|row| row_line(row, &table, now, room)).collect();
    if shown < view.rows.len() {
        lines.push(fit(&format!("  … and {} more running", view.rows.len() - shown), room).into_owned());
    }
    lines.push(footer(view, now, room));
    lines
}

/// The widths of the columns before the last one.
struct Columns {
    name: usize,
    counter: usize,
    time: usize,
}

impl Columns {
    fn of(rows: &[Row], now: Timestamp, room: usize) -> Columns {
        let widest = |width: &dyn Fn(&Row) -> usize| rows.iter().map(width).max().unwrap_or(0);
        Columns {
            // leaves room for the last column
            name: widest(&|row| indent(row, room) + columns(&row.id)).min((room / 3).max(12)),
            counter: widest(&|row| columns(&row.counter)),
            time: widest(&|row| columns(&time(row, now))),
        }
    }
}

fn time(row: &Row, now: Timestamp) -> String {
    so_far(since(row.since, now))
}

fn indent(row: &Row, room: usize) -> usize {
    (row.depth * INDENT).min(room / 4)
}

fn row_line(row: &Row, table: &Columns, now: Timestamp, room: usize) -> String {
    let indent = indent(row, room);
    let (icon, doing) = match &row.doing {
        Doing::Nothing => ('▶', String::new()),
        Doing::At(what) => ('▶', what.clone()),
        Doing::Waiting { until, why } => {
            ('↻', format!("next attempt in {}: {why}", so_far(left(*until, now))))
        }
    };
    let id = squeeze(&row.id, table.name.saturating_sub(indent).max(1));
    let padding = " ".repeat((table.name + 1).saturating_sub(indent + columns(&id)));
    let (counter, time) = (&row.counter, time(row, now));
    let head = format!("{id}{padding}{counter:>0$}  {time:>1$}", table.counter, table.time);
    let used = indent + 2;
    let head = fit(&head, room.saturating_sub(used)).into_owned();
    let rest = room.saturating_sub(used + columns(&head) + 2);
    let icon_style = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let mut line = format!("{}{icon_style}{icon}{icon_style:#} {head}", " ".repeat(indent));
    if !doing.is_empty() && rest >= 4 {
        let dim = Style::new().dimmed();
        line.push_str(&format!("  {dim}{}{dim:#}", fit(&doing, rest)));
    }
    line
}

fn footer(view: &View, now: Timestamp, room: usize) -> String {
    let time = so_far(since(view.since, now));
    let text = match &view.stopping {
        Some(why) => format!("{why}, {time}, {}", view.recipe),
        None => format!("{} of {} done, {time}, {}", view.done, view.total, view.recipe),
    };
    let dim = Style::new().dimmed();
    format!("{dim}{}{dim:#}", fit(&text, room))
}

fn since(from: Option<Timestamp>, now: Timestamp) -> f64 {
    from.map_or(0.0, |from| (now.as_millisecond() - from.as_millisecond()).max(0) as f64 / 1000.0)
}

/// Seconds left, rounded up: the countdown ends with 1, not with 0.
fn left(until: Timestamp, now: Timestamp) -> f64 {
    ((until.as_millisecond() - now.as_millisecond()).max(0) as f64 / 1000.0).ceil()
}
