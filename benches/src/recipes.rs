//! Recipes of any size. Never more than text.

/// A recipe of `count` steps that all run this command; `{n}` in it is the number of the step.
pub(crate) fn repeat(count: usize, command: &str) -> String {
    of((1..=count).map(|n| step(n, command)))
}

/// A recipe whose outputs go under names of their own.
pub(crate) fn with_outputs(count: usize) -> String {
    of((1..=count).map(|n| format!("{}\n    output: value_{n}\n", step(n, "echo value {n}").trim_end())))
}

/// One parallel group.
pub(crate) fn together(count: usize, command: &str) -> String {
    of((1..=count).map(|n| format!("{}\n    parallel_group: all\n", step(n, command).trim_end())))
}

/// A recipe of these steps.
pub(crate) fn of(steps: impl IntoIterator<Item = String>) -> String {
    let head = "name: measured\nrecursion:\n  max_total_steps: 100000\nsteps:\n";
    steps.into_iter().fold(head.to_owned(), |text, step| text + &step)
}

/// A step.
pub(crate) fn step(n: usize, command: &str) -> String {
    format!("  - id: step-{n}\n    command: |\n      {}\n", command.replace("{n}", &n.to_string()))
}
