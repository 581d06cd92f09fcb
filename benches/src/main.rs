//! Measures every promised figure and prints one table: figure, measured, floor, ratio, target, verdict.
//!
//! Floors are taken in the same run, interleaved with what they are compared with, and medians are used: the
//! table means the same on a busy machine. Never part of the program; see `README.md` beside it.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a tool for people at a terminal")]

mod agents;
mod language;
mod program;
mod recipes;
mod steps;
mod stored;
mod table;
mod values;

use table::Row;

/// A group of figures that can be measured alone.
type Figures = (&'static str, fn(&program::Bench) -> Vec<Row>);

const ALL: &[Figures] = &[
    ("start", steps::start),
    ("steps", steps::per_step),
    ("outputs", steps::outputs),
    ("parallel", steps::parallel),
    ("memory", steps::memory),
    ("agents", agents::agents),
    ("resume", stored::resume),
    ("runs", stored::runs),
    ("values", values::large),
    ("language", language::reading),
    ("conditions", language::conditions),
];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = asked.iter().find(|word| ALL.iter().all(|(name, _)| name != word)) {
        let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        println!("`{unknown}` is not measured here; known: {}", known.join(", "));
        return;
    }
    let bench = program::Bench::new();
    println!("{}", table::heading());
    for (name, measure) in ALL {
        if asked.is_empty() || asked.iter().any(|word| word == name) {
            measure(&bench).iter().for_each(|row| println!("{row}"));
        }
    }
}
