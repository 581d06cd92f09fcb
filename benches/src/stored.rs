//! What is stored: going on with a long run, and many runs.

use std::fs;

use crate::{
    program::{Bench, measure, median},
    recipes,
    steps::last_event,
    table::Row,
};

/// From the start of the process to the start of the step that is to be done again.
pub(crate) fn resume(bench: &Bench) -> Vec<Row> {
    let count = 5_000;
    let last = recipes::step(count + 1, "exit 3");
    let steps = (1..=count).map(|n| recipes::step(n, "true")).chain([last]);
    let recipe = bench.file("long.yaml", &recipes::of(steps));
    let used = measure(bench.runner([recipe.as_os_str()]).arg("--quiet"));
    assert_eq!(used.code, Some(1));
    let times = (0..7).map(|_| {
        let used = measure(bench.runner(["resume", "last", "--quiet"]).env("LC_ALL", "C"));
        assert_eq!(used.code, Some(1));
        last_event(bench, "spawned") - used.started
    });
    let measured = median(times.collect());
    bench.forget();
    vec![Row::time("resume of a 5,000-step run, to its next step", measured, None, 0.2)]
}

/// A directory with many runs.
pub(crate) fn runs(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("small.yaml", &recipes::repeat(3, "echo hello"));
    bench.run(&recipe, &[]);
    let dir = bench.state().join("runs");
    let one = fs::read_dir(&dir).expect("there are runs").flatten().next().expect("there is one").path();
    for n in 0..10_000 {
        let copy = dir.join(format!("20200101-000000-{n:05}copy"));
        fs::create_dir(&copy).expect("a folder can be made");
        for file in ["run.json", "events.jsonl", "lock"] {
            fs::copy(one.join(file), copy.join(file)).expect("a file can be copied");
        }
    }
    let mut rows = Vec::new();
    for (what, arguments) in [
        ("`runs`", &["runs"][..]),
        ("`runs` as JSON", &["runs", "--output-format", "json"]),
        ("`show last`", &["show", "last"]),
    ] {
        let times = (0..5).map(|_| measure(&mut bench.runner(arguments)).seconds);
        rows.push(Row::time(&format!("{what} with 10,000 runs"), median(times.collect()), None, 0.5));
    }
    bench.forget();
    rows
}
