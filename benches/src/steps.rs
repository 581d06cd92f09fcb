//! What a step costs: time to the first one, time for each, memory.

use std::fs;

use crate::{
    program::{Bench, Used, bash, compare, measure, median},
    recipes,
    table::Row,
};

/// From the start of the process.
pub(crate) fn start(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("small.yaml", &recipes::repeat(1, "echo $EPOCHREALTIME"));
    let shell = |_| {
        let used = measure(&mut bash("echo $EPOCHREALTIME"));
        used.stdout.trim().replace(',', ".").parse::<f64>().map_or(0.0, |at| at - used.started)
    };
    let mut spawned = Vec::new();
    let mut running = Vec::new();
    let mut floor = Vec::new();
    for n in 0..21 {
        let used = bench.run(&recipe, &[]);
        spawned.push(first_spawn(bench) - used.started);
        let said = used.stdout.lines().next().unwrap_or_default();
        running.push(said.trim().parse::<f64>().map_or(f64::NAN, |at| at - used.started));
        floor.push(shell(n));
        bench.forget();
    }
    let validate = || {
        let recipe = recipe.clone();
        measure(bench.runner([recipe.as_os_str()]).arg("--validate-only")).seconds
    };
    let (checked, bare, ratio) = compare(31, validate, || measure(&mut bash("true")).seconds);
    vec![
        Row::time("first step started after process start", median(spawned), None, 5e-3),
        Row::time("the same, until its first command runs", median(running), Some(median(floor)), 8e-3),
        Row::ratio("`--validate-only` of a small recipe ÷ `bash -c true`", checked, bare, ratio, 2.0),
    ]
}

/// When the journal of the only run says that a process was started.
pub(crate) fn first_spawn(bench: &Bench) -> f64 {
    last_event(bench, "spawned")
}

/// When an event of this kind last happened in the newest run, in seconds since 1970.
pub(crate) fn last_event(bench: &Bench, kind: &str) -> f64 {
    let runs = fs::read_dir(bench.state().join("runs")).expect("there are runs");
    let newest = runs.flatten().map(|entry| entry.path()).max().expect("there is a run");
    let journal = fs::read_to_string(newest.join("events.jsonl")).expect("it has a journal");
    let needle = format!("\"event\":{{\"{kind}\"");
    let line = journal.lines().rev().find(|line| line.contains(&needle)).expect("it happened");
    let record: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    seconds(record["at"].as_str().unwrap_or_default())
}

/// Seconds since 1970 of `2026-11-15T10:45:04.473123Z`.
fn seconds(timestamp: &str) -> f64 {
    let output = measure(std::process::Command::new("date").args(["-d", timestamp, "+%s.%N"]));
    output.stdout.trim().parse().expect("`date` understands the time")
}

/// Many steps that do nothing, against a shell that starts as many shells.
pub(crate) fn per_step(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut each = Vec::new();
    for (count, times) in [(500, 7), (5_000, 3)] {
        let recipe = bench.file("steps.yaml", &recipes::repeat(count, "true"));
        let script = format!("for ((i = 0; i < {count}; i++)); do bash -c true; done");
        let run = || {
            let seconds = bench.run(&recipe, &[]).seconds;
            bench.forget();
            seconds
        };
        let (measured, floor, ratio) = compare(times, run, || measure(&mut bash(&script)).seconds);
        let figure = format!("{count} `true` steps ÷ a loop of `bash -c true`");
        rows.push(Row::ratio(&figure, measured, floor, ratio, 1.25));
        each.push(ratio);
        rows.extend((count == 5_000).then(|| {
            // both against their own floor: the machine may be busier during one of them
            Row::same("each of 5,000 steps ÷ each of 500", each[1] * 1e-3, each[0] * 1e-3, 0.1)
        }));
    }
    rows
}

/// Outputs that are kept, against none.
pub(crate) fn outputs(bench: &Bench) -> Vec<Row> {
    let with = bench.file("with.yaml", &recipes::with_outputs(2_000));
    let without = bench.file("without.yaml", &recipes::repeat(2_000, "true"));
    let run = |recipe: &std::path::Path| {
        let seconds = bench.run(recipe, &[]).seconds;
        bench.forget();
        seconds
    };
    let (measured, floor, ratio) = compare(3, || run(&with), || run(&without));
    vec![Row::ratio("2,000 steps with outputs ÷ without", measured, floor, ratio, 1.2)]
}

/// Steps that run at the same time.
pub(crate) fn parallel(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("parallel.yaml", &recipes::together(200, "sleep 0.2"));
    let script = "for ((i = 0; i < 200; i++)); do bash -c 'sleep 0.2' & done; wait";
    let run = || bench.run(&recipe, &["--max-parallel", "200"]).seconds;
    let (measured, floor, _) = compare(5, run, || measure(&mut bash(script)).seconds);
    vec![Row::time("200 parallel `sleep 0.2`", measured, Some(floor), 0.6)]
}

/// Peak memory.
pub(crate) fn memory(bench: &Bench) -> Vec<Row> {
    let small = bench.file("small.yaml", &recipes::repeat(3, "echo hello"));
    let printing =
        bench.file("printing.yaml", &recipes::repeat(1, "head -c 1000000000 /dev/zero | tr '\\0' x"));
    let many = bench.file("many.yaml", &recipes::with_outputs(10_000));
    let run = |recipe: &std::path::Path| -> Used {
        let used = bench.run(recipe, &[]);
        bench.forget();
        used
    };
    let figures =
        [("a small recipe", small, 15.0), ("1 GB of output", printing, 30.0), ("10,000 steps", many, 60.0)];
    let mut rows = Vec::new();
    for (what, recipe, target) in figures {
        let used = run(&recipe);
        rows.push(Row::memory(&format!("peak memory: {what}"), used.megabytes, target));
        if what == "10,000 steps" {
            let each = used.seconds / 10_000.0;
            rows.push(Row::time("each of 10,000 steps with outputs", each, None, 5e-3));
        }
    }
    rows
}
