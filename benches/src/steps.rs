//! What a step costs: time to the first one, time for each, memory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    program::{Bench, Used, bash, measure},
    recipes::{self, Condition},
    table::Row,
    turns::Pair,
};

/// From the start of the process.
pub(crate) fn start(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("small.yaml", &recipes::repeat(1, "echo $EPOCHREALTIME"));
    let run = || {
        let used = bench.run(&recipe, &[]);
        (last_event(bench, "spawned") - used.started, since_start(&used))
    };
    let shell = || (f64::NAN, since_start(&measure(&mut bash("echo $EPOCHREALTIME"))));
    let times = bench.in_turn(21, &[&run, &shell]);
    let spawned: Vec<f64> = times[0].iter().map(|taken| taken.0).collect();
    let [running, floor] = [0, 1].map(|at| times[at].iter().map(|taken| taken.1).collect::<Vec<f64>>());
    let validate = || measure(bench.runner([recipe.as_os_str()]).arg("--validate-only")).seconds;
    let whole = || bench.run(&recipe, &[]).seconds;
    let shell = || measure(&mut bash("true")).seconds;
    let times = bench.in_turn(31, &[&validate, &shell, &whole]);
    let pair = |one: usize, floor: usize| Pair::of(&times[one], &times[floor]);
    vec![
        Row::time(
            "first step started after process start ÷ `bash` to its first command",
            Pair::of(&spawned, &floor),
            5e-3,
        ),
        Row::time("the same, until its first command runs", Pair::of(&running, &floor), 8e-3),
        Row::ratio("`--validate-only` of a small recipe ÷ `bash -c true`", pair(0, 1), 2.0),
        Row::more("a run of one step ÷ its validation", pair(2, 0), 5e-3),
    ]
}

/// From the start of the process to the first of very many steps, with conditions and without.
pub(crate) fn long(bench: &Bench) -> Vec<Row> {
    let recipe = |condition: Condition| {
        // the first step fails, and ends the run
        let first = format!("{}    output: value_1\n", recipes::step(1, "exit 3"));
        let more = (2..=4_000).map(|n| recipes::linked(n, condition));
        recipes::of([first].into_iter().chain(more))
    };
    let with = bench.file("with.yaml", &recipe(Condition::Some));
    let without = bench.file("without.yaml", &recipe(Condition::None));
    let to_first = |recipe: &Path| {
        bench.start_afresh();
        let used = measure(bench.runner([recipe.as_os_str()]).arg("--quiet"));
        assert_eq!(used.code, Some(1));
        last_event(bench, "spawned") - used.started
    };
    let pair = bench.compare(7, &|| to_first(&with), &|| to_first(&without));
    vec![Row::time("first of 4,000 steps with conditions started ÷ without conditions", pair, 0.15)]
}

/// Sub-recipes in sub-recipes, each with one step, against the same steps in one recipe.
pub(crate) fn nested(bench: &Bench) -> Vec<Row> {
    let (depth, calls) = (5, 20);
    for (name, text) in recipes::chain(depth, "true") {
        bench.file(&name, &text);
    }
    let outermost = (1..=calls).map(|n| recipes::call(&format!("call-{n}"), 1));
    let deep = bench.file("deep.yaml", &recipes::of(outermost));
    let flat = bench.file("flat.yaml", &recipes::repeat(depth * calls, "true"));
    let pair = bench.compare(9, &|| bench.run(&deep, &[]).seconds, &|| bench.run(&flat, &[]).seconds);
    vec![Row::ratio("100 steps in sub-recipes five deep ÷ the same steps in one recipe", pair, 1.25)]
}

/// How long after its start a program printed the time.
fn since_start(used: &Used) -> f64 {
    let said = used.stdout.lines().next().unwrap_or_default().trim().replace(',', ".");
    said.parse::<f64>().map_or(f64::NAN, |at| at - used.started)
}

/// The folder of the newest run.
pub(crate) fn newest_run(bench: &Bench) -> PathBuf {
    let runs = fs::read_dir(bench.state().join("runs")).expect("there are runs");
    runs.flatten().map(|entry| entry.path()).max().expect("there is a run")
}

/// When an event of this kind last happened in the newest run, in seconds since 1970.
pub(crate) fn last_event(bench: &Bench, kind: &str) -> f64 {
    let journal = fs::read_to_string(newest_run(bench).join("events.jsonl")).expect("it has a journal");
    let needle = format!("\"event\":{{\"{kind}\"");
    let line = journal.lines().rev().find(|line| line.contains(&needle)).expect("it happened");
    let record: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    seconds(record["at"].as_str().unwrap_or_default())
}

/// Seconds since 1970 of `2026-11-15T10:45:04.473123Z`.
fn seconds(timestamp: &str) -> f64 {
    let output = measure(Command::new("date").args(["-d", timestamp, "+%s.%N"]));
    output.stdout.trim().parse().expect("`date` understands the time")
}

/// Many steps that do nothing, against a shell that starts as many shells.
pub(crate) fn per_step(bench: &Bench) -> Vec<Row> {
    let [few, many] = [(500, 7), (5_000, 3)].map(|(count, rounds)| {
        let recipe = bench.file("steps.yaml", &recipes::repeat(count, "true"));
        let script = format!("for ((i = 0; i < {count}; i++)); do bash -c true; done");
        bench.compare(rounds, &|| bench.run(&recipe, &[]).seconds, &|| measure(&mut bash(&script)).seconds)
    });
    vec![
        Row::ratio("500 `true` steps ÷ a loop of `bash -c true`", few, 1.25),
        Row::ratio("5,000 `true` steps ÷ a loop of `bash -c true`", many, 1.25),
        // both against their own floor: the machine may be busier during one of them
        Row::same("each of 5,000 steps ÷ each of 500", many.ratio, few.ratio, 0.1),
    ]
}

/// Outputs that are kept, against none.
pub(crate) fn outputs(bench: &Bench) -> Vec<Row> {
    let with = bench.file("with.yaml", &recipes::with_outputs(2_000));
    let without = bench.file("without.yaml", &recipes::repeat(2_000, "true"));
    let run = |recipe: &Path| bench.run(recipe, &[]).seconds;
    let pair = bench.compare(3, &|| run(&with), &|| run(&without));
    vec![Row::ratio("2,000 steps with outputs ÷ without", pair, 1.2)]
}

/// Steps that run at the same time.
pub(crate) fn parallel(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("parallel.yaml", &recipes::together(200, "sleep 0.2"));
    let script = "for ((i = 0; i < 200; i++)); do bash -c 'sleep 0.2' & done; wait";
    let run = || bench.run(&recipe, &["--max-parallel", "200"]).seconds;
    let pair = bench.compare(5, &run, &|| measure(&mut bash(script)).seconds);
    vec![Row::time("200 parallel `sleep 0.2` ÷ `bash` that does the same", pair, 0.6)]
}

/// Peak memory, against a shell that does the same.
pub(crate) fn memory(bench: &Bench) -> Vec<Row> {
    let print = "head -c 1000000000 /dev/zero | tr '\\0' x";
    let small = bench.file("small.yaml", &recipes::repeat(3, "echo hello"));
    let printing = bench.file("printing.yaml", &recipes::repeat(1, print));
    let many = bench.file("many.yaml", &recipes::with_outputs(10_000));
    let loop_of = |count: usize, command: &str| {
        measure(&mut bash(&format!("for ((i = 0; i < {count}; i++)); do bash -c '{command}'; done")))
    };
    let row = |what: &str, used: &Used, floor: &Used, target: f64| {
        let figure = format!("peak memory: {what} ÷ `bash` that does the same");
        Row::memory(&figure, Pair::once(used.megabytes, floor.megabytes), target)
    };
    let (long, loop_10_000) = (bench.run(&many, &[]), loop_of(10_000, "echo value"));
    let each = Pair::once(long.seconds, loop_10_000.seconds).each(10_000);
    vec![
        row("a small recipe", &bench.run(&small, &[]), &loop_of(3, "echo hello"), 15.0),
        row("1 GB of output", &bench.run(&printing, &[]), &measure(&mut bash(print)), 30.0),
        row("10,000 steps", &long, &loop_10_000, 60.0),
        Row::time("each of 10,000 steps with outputs ÷ `bash` that prints as much", each, 5e-3),
    ]
}
