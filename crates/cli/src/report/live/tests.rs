//! The layout of a run in progress.

use anstream::adapter::strip_str;
use jiff::Timestamp;

use super::{
    text::columns,
    view::{Doing, Row, Size, View, lines},
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MIN)
}

fn row(depth: usize, id: &str, counter: &str, doing: Doing) -> Row {
    let since = Some(at(100));
    Row { depth, path: id.to_owned(), id: id.to_owned(), counter: counter.to_owned(), since, doing }
}

fn says(what: &str) -> Doing {
    Doing::At(what.to_owned())
}

fn view(rows: Vec<Row>) -> View {
    View { recipe: "deploy".to_owned(), since: Some(at(90)), done: 3, total: 23, stopping: None, rows }
}

/// The lines at second 108, without colours.
fn shown(view: &View, columns: usize, height: usize) -> Vec<String> {
    let lines = lines(view, at(108), Size { columns, lines: height });
    lines.iter().map(|line| strip_str(line).to_string()).collect()
}

#[track_caller]
fn check(rows: Vec<Row>, width: usize, expected: &[&str]) {
    let shown = shown(&view(rows), width, 24);
    assert_eq!(shown, expected);
    assert!(shown.iter().all(|line| columns(line) < width));
}

#[test]
fn one_step_has_one_line_above_the_run() {
    check(
        vec![row(0, "build", "4/23", says("compiling"))],
        80,
        &["▶ build 4/23  8s  compiling", "3 of 23 done, 18s, deploy"],
    );
}

#[test]
fn a_silent_step_shows_its_time_only() {
    check(
        vec![row(0, "build", "4/23", Doing::Nothing)],
        80,
        &["▶ build 4/23  8s", "3 of 23 done, 18s, deploy"],
    );
}

#[test]
fn nested_and_parallel_steps_are_indented_and_aligned() {
    check(
        vec![
            row(0, "all", "4/23", Doing::Nothing),
            row(1, "compile", "1/3", says("a.c")),
            row(1, "lint", "2/3", says("b.c")),
        ],
        80,
        &[
            "▶ all       4/23  8s",
            "  ▶ compile  1/3  8s  a.c",
            "  ▶ lint     2/3  8s  b.c",
            "3 of 23 done, 18s, deploy",
        ],
    );
}

#[test]
fn waiting_counts_down() {
    let waiting = Doing::Waiting { until: at(120), why: "exit code 3".to_owned() };
    check(
        vec![row(0, "fetch", "2/23", waiting)],
        80,
        &["↻ fetch 2/23  8s  next attempt in 12s: exit code 3", "3 of 23 done, 18s, deploy"],
    );
}

#[test]
fn narrow_terminals_get_less_of_everything() {
    check(
        vec![row(0, "a-very-long-name-of-a-step-12", "4/23", says("日本語日本語日本語日本語日本語"))],
        40,
        &["▶ a-very…tep-12 4/23  8s  日本語日本語…", "3 of 23 done, 18s, deploy"],
    );
}

#[test]
fn no_line_is_ever_as_wide_as_the_terminal() {
    let rows: Vec<Row> =
        (0..12).map(|depth| row(depth, &"名前-name".repeat(depth + 1), "10/200", says("x y"))).collect();
    for width in [1, 2, 5, 10, 20, 39, 40, 41, 80, 200] {
        for line in shown(&view(rows.clone()), width, 60) {
            assert!(columns(&line) < width.max(2), "{width}: {line}");
        }
    }
}

#[test]
fn more_steps_than_lines_are_counted() {
    let rows: Vec<Row> = (0..40).map(|at| row(0, &format!("s{at}"), "1/40", Doing::Nothing)).collect();
    let shown = shown(&view(rows), 80, 12);
    assert_eq!(shown.len(), 6);
    assert_eq!(shown[4], "  … and 36 more running");
}

#[test]
fn a_run_that_is_told_to_stop_says_so() {
    let mut view = view(Vec::new());
    view.stopping = Some("stopping".to_owned());
    assert_eq!(shown(&view, 80, 24), ["stopping, 18s, deploy"]);
}

#[test]
fn clocks_that_go_backwards_do_no_harm() {
    let view = view(vec![row(0, "a", "1/1", Doing::Nothing)]);
    let lines = lines(&view, at(0), Size { columns: 80, lines: 24 });
    assert_eq!(strip_str(&lines[0]).to_string(), "▶ a 1/1  0s");
}
