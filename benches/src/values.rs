//! Large values: what a reference to one costs, against a small one and against a shell that does the same.

use std::path::{Path, PathBuf};

use crate::{
    program::{Bench, bash, measure},
    recipes,
    table::Row,
    turns::Pair,
};

const SIZE: usize = 5_000_000;

/// A value of 5 MB that 50 steps refer to.
pub(crate) fn large(bench: &Bench) -> Vec<Row> {
    let file =
        bench.file("value.txt", &"forty-nine characters and one newline, repeatedly\n".repeat(SIZE / 50));
    let mut rows = Vec::from(mentioned(bench, &file));
    rows.push(in_context_file(bench, &file));
    rows
}

fn mentioned(bench: &Bench, file: &Path) -> [Row; 2] {
    let (big, small) = recipes_with(bench, file, ": \"{{value}}\"");
    let script = format!(
        "for ((i = 0; i < 50; i++)); do bash -c 'value=$(<\"$1\"); : \"$value\"' bash '{}'; done",
        file.display()
    );
    let shell = || measure(&mut bash(&script)).seconds;
    let times =
        bench.in_turn(3, &[&|| bench.run(&big, &[]).seconds, &|| bench.run(&small, &[]).seconds, &shell]);
    let what = "value of 5 MB, 50 steps that refer to it";
    [
        Row::ratio(&format!("{what} ÷ a small one"), Pair::of(&times[0], &times[1]), 2.0),
        Row::ratio(&format!("{what} ÷ bash that does the same"), Pair::of(&times[0], &times[2]), 1.25),
    ]
}

fn in_context_file(bench: &Bench, file: &Path) -> Row {
    let (big, small) = recipes_with(bench, file, ": \"$RECIPE_CONTEXT_FILE\"");
    let pair = bench.compare(3, &|| bench.run(&big, &[]).seconds, &|| bench.run(&small, &[]).seconds);
    let what = "value of 5 MB, 50 steps that read it from the context file";
    Row::ratio(&format!("{what} ÷ a small one"), pair, 2.0)
}

/// A recipe with a large value and one with a small value, each with 50 steps that run this command.
fn recipes_with(bench: &Bench, file: &Path, command: &str) -> (PathBuf, PathBuf) {
    let recipe = |first: &str| {
        let steps = (2..=51).map(|n| recipes::step(n, command));
        let first = format!("{}\n    output: value\n", recipes::step(1, first).trim_end());
        recipes::of(std::iter::once(first).chain(steps))
    };
    let big = recipe(&format!("cat '{}'", file.display()));
    (bench.file("big.yaml", &big), bench.file("little.yaml", &recipe("echo small")))
}
