//! What instances of a loop cost, against as many steps.

use std::path::Path;

use crate::{
    program::{Bench, measure},
    recipes,
    steps::last_event,
    table::Row,
    turns::Pair,
};

/// A recipe with a list of `count` numbers, and a step for each of them.
fn each(count: usize, more: &str) -> String {
    let list = format!("printf '[%s]' \"$(seq -s, 1 {count})\"");
    let looped = "  - id: each\n    for_each: \"{{step-1}}\"\n    max_items: 10000\n    command: 'true'\n";
    recipes::of([recipes::step(1, &list), looped.to_owned(), more.to_owned()])
}

/// 1,000 instances, and the resume of 10,000.
pub(crate) fn instances(bench: &Bench) -> Vec<Row> {
    let looped = bench.file("each.yaml", &each(1_000, ""));
    let flat = bench.file("flat.yaml", &recipes::repeat(1_001, "true"));
    let run = |recipe: &Path| bench.run(recipe, &[]);
    let times = bench.compare(5, &|| run(&looped).seconds, &|| run(&flat).seconds);
    let memory = Pair::once(run(&looped).megabytes, run(&flat).megabytes);
    let failing = recipes::step(10_002, "exit 3");
    let looped = bench.file("each.yaml", &each(10_000, &failing));
    let steps = (1..=10_001).map(|n| recipes::step(n, "true")).chain([failing]);
    let flat = bench.file("flat.yaml", &recipes::of(steps));
    let resumes = Pair::of(&resumed(bench, &looped), &resumed(bench, &flat));
    vec![
        Row::ratio("1,000 instances of a `for_each` step ÷ 1,001 steps", times, 1.2),
        Row::ratio("peak memory of the same", memory, 1.2),
        Row::ratio("resume of 10,000 instances, to the next step ÷ of 10,001 steps", resumes, 2.0),
    ]
}

/// The times from the start of a resume to the step that it does again.
fn resumed(bench: &Bench, recipe: &Path) -> Vec<f64> {
    bench.start_afresh();
    assert_eq!(measure(bench.runner([recipe.as_os_str()]).arg("--quiet")).code, Some(1));
    let go_on = |_| {
        let used = measure(bench.runner(["resume", "last", "--quiet"]).env("LC_ALL", "C"));
        assert_eq!(used.code, Some(1));
        last_event(bench, "spawned") - used.started
    };
    (0..5).map(go_on).collect()
}
