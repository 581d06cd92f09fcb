//! Measures every promised figure and prints one table: figure, measured, floor, ratio, target, verdict; and beside it
//! what other programs take for the same work.
//!
//! Floors are taken in the same run, in turn with what they are compared with, and medians are used: the ratios mean the
//! same on a busy machine. Never part of the program; see `README.md` beside it.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a tool for people at a terminal")]

mod agents;
mod language;
mod loops;
mod others;
mod program;
mod recipes;
mod sizes;
mod steps;
mod stored;
mod system_calls;
mod table;
mod tests;
mod turns;
mod values;

use program::{Bench, bash, measure};
use table::Row;

/// A group of figures that can be measured alone.
type Figures = (&'static str, fn(&Bench) -> Vec<Row>);

const ALL: &[Figures] = &[
    ("start", steps::start),
    ("long", steps::long),
    ("steps", steps::per_step),
    ("calls", system_calls::of_a_step),
    ("nested", steps::nested),
    ("loops", loops::instances),
    ("outputs", steps::outputs),
    ("parallel", steps::parallel),
    ("memory", steps::memory),
    ("agents", agents::agents),
    ("resume", stored::resume),
    ("runs", stored::runs),
    ("result", sizes::result),
    ("values", values::large),
    ("language", language::reading),
    ("conditions", language::conditions),
    ("tests", tests::cases),
];

/// The group that has a table of its own.
const OTHERS: &str = "others";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, asked): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with("--"));
    let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).chain([OTHERS]).collect();
    let unknown = asked.iter().find(|word| !known.contains(word));
    if let Some(unknown) = unknown.or(flags.iter().find(|flag| **flag != "--quick")) {
        println!("`{unknown}` is not measured here; known: {}, --quick", known.join(", "));
        return;
    }
    let bench = Bench::new(if flags.is_empty() { usize::MAX } else { 1 });
    print_tables(&bench, &|name| asked.is_empty() || asked.contains(&name));
}

fn print_tables(bench: &Bench, is_asked: &dyn Fn(&str) -> bool) {
    println!("{}\n", conditions(bench));
    let groups: Vec<&Figures> = ALL.iter().filter(|(name, _)| is_asked(name)).collect();
    if !groups.is_empty() {
        println!("{}", table::heading());
    }
    for (_, measure) in &groups {
        bench.settle();
        measure(bench).iter().for_each(|row| println!("{row}"));
    }
    if is_asked(OTHERS) {
        bench.settle();
        if !groups.is_empty() {
            println!();
        }
        others::side_by_side(bench);
    }
}

/// What the machine is like: without it, no figure means anything.
fn conditions(bench: &Bench) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kind = measure(&mut bash(&format!("stat -f -c %T '{}'", bench.home().display()))).stdout;
    let is_busy = load
        .first()
        .and_then(|load| load.parse().ok())
        .is_some_and(|load: f64| load > processors as f64 / 2.0);
    format!(
        "Load average at the start {} on {processors} processors, files on {}.{}",
        load.join(" "),
        kind.trim(),
        if is_busy {
            " The machine is busy: only the ratios mean something, times are upper bounds."
        } else {
            ""
        }
    )
}
