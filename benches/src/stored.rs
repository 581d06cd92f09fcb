//! What is stored: going on with a long run, and many runs.

use std::process::Command;

use crate::{
    program::{Bench, bash, measure},
    recipes,
    steps::{last_event, newest_run},
    table::Row,
    turns::Pair,
};

/// From the start of the process to the start of the step that is to be done again, against reading the journal.
pub(crate) fn resume(bench: &Bench) -> Vec<Row> {
    let count = 5_000;
    let last = recipes::step(count + 1, "exit 3");
    let steps = (1..=count).map(|n| recipes::step(n, "true")).chain([last]);
    let recipe = bench.file("long.yaml", &recipes::of(steps));
    bench.start_afresh();
    let used = measure(bench.runner([recipe.as_os_str()]).arg("--quiet"));
    assert_eq!(used.code, Some(1));
    let journal = newest_run(bench).join("events.jsonl");
    let go_on = || {
        let used = measure(bench.runner(["resume", "last", "--quiet"]).env("LC_ALL", "C"));
        assert_eq!(used.code, Some(1));
        last_event(bench, "spawned") - used.started
    };
    let pair = bench.compare(7, &go_on, &|| measure(Command::new("cat").arg(&journal)).seconds);
    vec![Row::time("resume of a 5,000-step run, to its next step ÷ `cat` of its journal", pair, 0.2)]
}

/// A directory with many runs, against reading as much of it with the programs of the system.
pub(crate) fn runs(bench: &Bench) -> Vec<Row> {
    copy_runs(bench);
    // gathers the facts that later calls read
    measure(&mut bench.runner(["health"]));
    let dir = bench.state().join("runs");
    let seconds = |arguments: &'static [&str]| move || measure(&mut bench.runner(arguments)).seconds;
    let shell = |script: &str| {
        let script = format!("cd '{}' && {script}", dir.display());
        move || measure(&mut bash(&script)).seconds
    };
    let times = bench.in_turn(
        5,
        &[
            &seconds(&["runs"]),
            &seconds(&["runs", "--output-format", "json"]),
            &shell("find . -name run.json -exec cat {} +"),
            &seconds(&["show", "last"]),
            &shell("ls"),
            &seconds(&["health"]),
        ],
    );
    let row = |what: &str, at: usize, floor: usize| Row::time(what, Pair::of(&times[at], &times[floor]), 0.5);
    vec![
        row("`runs` with 10,000 runs ÷ `cat` of each `run.json`", 0, 2),
        row("`runs` as JSON with 10,000 runs ÷ the same", 1, 2),
        row("`show last` with 10,000 runs ÷ `ls` of them", 3, 4),
        row("`health` of 10,000 runs, once it has read them ÷ `cat` of each `run.json`", 5, 2),
    ]
}

/// One run and 10,000 copies of it.
fn copy_runs(bench: &Bench) {
    let recipe = bench.file("small.yaml", &recipes::repeat(3, "echo hello"));
    bench.run(&recipe, &[]);
    let one = newest_run(bench);
    for n in 0..10_000 {
        let copy = bench.state().join("runs").join(format!("20200101-000000-{n:05}copy"));
        let run = bash(&format!(
            "mkdir '{copy}' && cd '{one}' && cp -r run.json events.jsonl lock sources '{copy}'",
            copy = copy.display(),
            one = one.display()
        ));
        assert_eq!(measure(&mut { run }).code, Some(0));
    }
}
