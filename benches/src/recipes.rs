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

/// A step that reads the value of the one before it and keeps its own; with a condition on that value, or without.
pub(crate) fn linked(n: usize, condition: Condition) -> String {
    let before = n.saturating_sub(1);
    let condition = match condition {
        Condition::Some => format!("    condition: value_{before} != 'stop'\n"),
        Condition::None => String::new(),
    };
    let command = format!("echo \"{{{{value_{before}}}}}\"");
    format!("{}{condition}    output: value_{n}\n", step(n, &command))
}

/// Whether a step has a condition.
#[derive(Clone, Copy)]
pub(crate) enum Condition {
    Some,
    None,
}

/// Sub-recipes that call each other, each with one step of its own: their names and texts, the outermost first.
pub(crate) fn chain(depth: usize, command: &str) -> Vec<(String, String)> {
    let level = |n: usize| {
        let next = (n < depth).then(|| call("next", n + 1));
        (format!("level-{n}.yaml"), of([step(n, command)].into_iter().chain(next)))
    };
    (1..=depth).map(level).collect()
}

/// A step that runs the sub-recipe of this level.
pub(crate) fn call(id: &str, level: usize) -> String {
    format!("  - id: {id}\n    recipe: level-{level}\n")
}
