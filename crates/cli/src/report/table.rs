//! Runs as a table, and times as text.

use anstyle::{AnsiColor, Style};
use engine::{
    RunStatus,
    run::origin::{Origin, Surface},
};
use jiff::{Timestamp, tz::TimeZone};
use runtime::runs::RunSummary;

use crate::report::{
    failure::clean,
    live::{columns, fit},
    usage::known_usage,
    words::{duration, first_line},
    wrap::cut_off,
};

/// The reader of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A user at a terminal with this many columns: there is a heading, and no line wraps. A long
    /// error has a line of its own.
    Person { columns: usize },
    /// Another program, or a file: one complete line for each run.
    Program,
}

/// The lines of a table of runs.
pub(crate) fn lines(runs: &[RunSummary], now: Timestamp, reader: Reader) -> Vec<String> {
    let rows: Vec<[String; 6]> = runs.iter().map(|run| cells(run, now, reader)).collect();
    let heading = ["RUN", "STATUS", "STARTED", "TOOK", "RECIPE", ""].map(str::to_owned);
    let widths: Vec<usize> = (0..4)
        .map(|at| {
            let cells = rows.iter().chain(matches!(reader, Reader::Person { .. }).then_some(&heading));
            cells.map(|row| row[at].chars().count()).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &[String; 6], status: Option<RunStatus>| {
        let [run, word, started, took, recipe, error] = row;
        let padding = " ".repeat(widths[1].saturating_sub(word.chars().count()));
        let front = widths.iter().sum::<usize>() + 8;
        let rest = match reader {
            Reader::Person { columns } => with_error(recipe, error, front, columns),
            Reader::Program => format!("{recipe}{error}"),
        };
        let word = status.map_or_else(|| word.clone(), painted);
        format!(
            "{run:<0$}  {word}{padding}  {started:<1$}  {took:>2$}  {rest}",
            widths[0], widths[2], widths[3]
        )
    };
    let first = matches!(reader, Reader::Person { .. }).then(|| line(&heading, None));
    let rest = rows.iter().zip(runs).map(|(row, run)| line(row, Some(run.status)));
    first.into_iter().chain(rest).collect()
}

/// The end of a line: the recipe, and the error. An error that does not fit has a line of its own.
fn with_error(recipe: &str, error: &str, front: usize, columns: usize) -> String {
    let room = columns.saturating_sub(front + 1).max(20);
    if self::columns(recipe) + self::columns(error) <= room {
        return format!("{recipe}{error}");
    }
    let below = format!("    {}", error.trim());
    let below = if self::columns(&below) < columns { below } else { cut_off(&below, columns) };
    let below = if error.is_empty() { String::new() } else { format!("\n{below}") };
    format!("{}{below}", fit(recipe, room))
}

fn cells(run: &RunSummary, now: Timestamp, reader: Reader) -> [String; 6] {
    let error = run.error.as_deref().map(|error| format!("  {}", first_line(error))).unwrap_or_default();
    let spent = run.usage.as_ref().map(|usage| format!("  [{}]", known_usage(usage))).unwrap_or_default();
    let other = run.origin.as_ref().filter(|origin| origin.surface != Surface::Cli);
    let asked = other.map(|origin| format!("  [{}]", origin_words(origin))).unwrap_or_default();
    let started = match reader {
        Reader::Person { .. } => ago(run.started_at, now),
        Reader::Program => local(run.started_at),
    };
    [
        clean(&run.run_id),
        run.status.as_str().to_owned(),
        started,
        run.duration.map_or_else(|| "?".to_owned(), duration),
        clean(&format!("{}{asked}{spent}", run.recipe_name)),
        clean(&error),
    ]
}

/// Where a request came from: `by alice (web)`.
pub(crate) fn origin_words(origin: &Origin) -> String {
    let surface = origin.surface.as_str();
    match &origin.actor {
        Some(actor) => format!("by {actor} ({surface})"),
        None => surface.to_owned(),
    }
}

/// The word for a status, in its colour.
pub(crate) fn painted(status: RunStatus) -> String {
    let colour = match status {
        RunStatus::Completed => AnsiColor::Green,
        RunStatus::Failed => AnsiColor::Red,
        RunStatus::Running => AnsiColor::Cyan,
        RunStatus::Interrupted | RunStatus::Waiting | RunStatus::Cancelled => AnsiColor::Yellow,
    };
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{}{style:#}", status.as_str())
}

/// A local time: `2026-03-01 14:05:09`.
pub(crate) fn local(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `5 minutes ago`; a date if it is long ago, or in the future because the clock was set.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = match now.as_second() - at.as_second() {
        -3600..0 => 0,
        seconds => usize::try_from(seconds).unwrap_or(usize::MAX),
    };
    let say = |number: usize, noun: &str| format!("{} ago", crate::report::words::count(number, noun));
    match seconds {
        0..5 => "just now".to_owned(),
        5..60 => say(seconds, "second"),
        60..3600 => say(seconds / 60, "minute"),
        3600..86_400 => say(seconds / 3600, "hour"),
        86_400..1_209_600 => say(seconds / 86_400, "day"),
        _ => at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    fn run(id: &str, status: RunStatus, error: Option<&str>) -> RunSummary {
        RunSummary {
            run_id: id.to_owned(),
            recipe_name: "deploy".to_owned(),
            status,
            started_at: Timestamp::UNIX_EPOCH,
            duration: Some(1.5),
            reason: None,
            error: error.map(str::to_owned),
            working_dir: "/".into(),
            pid: None,
            usage: None,
            origin: None,
        }
    }

    #[test]
    fn columns_are_aligned_and_nothing_wraps() {
        let now = Timestamp::from_second(7200).unwrap_or(Timestamp::MIN);
        let runs = [
            run("a", RunStatus::Completed, None),
            run("bbb", RunStatus::Failed, Some("step `x` failed: it was really very bad\nmore")),
        ];
        let shown: Vec<String> = lines(&runs, now, Reader::Person { columns: 70 })
            .iter()
            .map(|line| strip_str(line).to_string())
            .collect();
        assert_eq!(
            shown,
            [
                "RUN  STATUS     STARTED      TOOK  RECIPE",
                "a    completed  2 hours ago  1.5s  deploy",
                "bbb  failed     2 hours ago  1.5s  deploy\n    step `x` failed: it was really very bad",
            ]
        );
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        for (json, expected) in [
            (r#"{"runs": 1}"#, "deploy  [agents: 1 call]"),
            (r#"{"runs": 2, "model": "m"}"#, "deploy  [agents: 2 calls, m]"),
            (
                r#"{"runs": 1, "input_tokens": 5, "output_tokens": 0, "cost_usd": 0.5}"#,
                "deploy  [agents: 1 call, 5 tokens, $0.5000]",
            ),
        ] {
            let usage = serde_json::from_str(json).ok();
            assert!(usage.is_some(), "{json}");
            let shown = cells(
                &RunSummary { usage, ..run("a", RunStatus::Completed, None) },
                Timestamp::UNIX_EPOCH,
                Reader::Program,
            );
            assert_eq!(shown[4], expected);
        }
    }

    #[test]
    fn an_origin_is_shown_unless_it_is_the_command_line() {
        for (surface, actor, expected) in [
            (Surface::Cli, Some("alice"), "deploy"),
            (Surface::Web, Some("alice"), "deploy  [by alice (web)]"),
            (Surface::Hook, None, "deploy  [hook]"),
        ] {
            let (request_id, at) = ("1".to_owned(), Timestamp::UNIX_EPOCH);
            let origin = Some(Origin { surface, actor: actor.map(str::to_owned), request_id, at });
            let shown = RunSummary { origin, ..run("a", RunStatus::Completed, None) };
            assert_eq!(cells(&shown, at, Reader::Program)[4], expected);
        }
    }

    #[test]
    fn programs_get_one_whole_line_per_run() {
        let runs = [run("a", RunStatus::Failed, Some(&"x".repeat(300)))];
        let shown = lines(&runs, Timestamp::UNIX_EPOCH, Reader::Program);
        assert_eq!(shown.len(), 1);
        assert!(shown[0].ends_with(&"x".repeat(300)));
    }

    #[test]
    fn times_are_told_from_now() {
        for (seconds, expected) in [
            (0, "just now"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (7200, "2 hours ago"),
            (86_400 * 3, "3 days ago"),
            (-60, "just now"),
            (-86_400 * 3, "1970-01-01"),
        ] {
            let now = Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
            assert_eq!(ago(Timestamp::UNIX_EPOCH, now), expected);
        }
    }
}
