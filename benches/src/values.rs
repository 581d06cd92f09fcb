//! Large values: what a reference to one costs, against a shell that does the same.

use crate::{
    program::{Bench, bash, compare, measure},
    recipes,
    table::Row,
};

const SIZE: usize = 5_000_000;

/// A value of 5 MB that 50 steps refer to.
pub(crate) fn large(bench: &Bench) -> Vec<Row> {
    let file =
        bench.file("value.txt", &"forty-nine characters and one newline, repeatedly\n".repeat(SIZE / 50));
    let (big, small) = (format!("cat '{}'", file.display()), "echo small".to_owned());
    let mut rows = Vec::new();
    for (what, command, shell) in [
        ("value of 5 MB, 50 steps that refer to it", ": \"{{value}}\"", ": \"$value\""),
        ("value of 5 MB, 50 steps that read it from the context file", ": \"$RECIPE_CONTEXT_FILE\"", ":"),
    ] {
        let recipe = |first: &str| {
            let steps = (2..=51).map(|n| recipes::step(n, command));
            let first = format!("{}\n    output: value\n", recipes::step(1, first).trim_end());
            recipes::of(std::iter::once(first).chain(steps))
        };
        let (one, other) =
            (bench.file("big.yaml", &recipe(&big)), bench.file("little.yaml", &recipe(&small)));
        let run = |recipe: &std::path::Path| {
            let seconds = bench.run(recipe, &[]).seconds;
            bench.forget();
            seconds
        };
        let (measured, floor, ratio) = compare(3, || run(&one), || run(&other));
        rows.push(Row::ratio(&format!("{what} ÷ a small one"), measured, floor, ratio, 2.0));
        if shell == ":" {
            continue;
        }
        let script = format!(
            "for ((i = 0; i < 50; i++)); do bash -c 'value=$(<\"$1\"); {shell}' bash '{}'; done",
            file.display()
        );
        let (measured, floor, ratio) = compare(3, || run(&one), || measure(&mut bash(&script)).seconds);
        rows.push(Row::ratio(&format!("{what} ÷ bash that does the same"), measured, floor, ratio, 1.25));
    }
    rows
}
