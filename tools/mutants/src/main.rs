//! Which small changes of the language and the engine does no test notice? Writes all of them into a copy of the
//! project, builds its tests once, and runs them with one change at a time.
//!
//! Never changes the project: everything it writes is below `target/mutants`.

mod explained;
mod generate;
mod mutant;
mod options;
mod project;
mod sweep;
mod switches;
mod trial;

use std::{io, process::ExitCode};

use explained::Explained;
use options::Options;
use project::{Mutated, Project};
use trial::Tests;

fn main() -> ExitCode {
    let options = match Options::from(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match search(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every mutant is noticed or explained, and everything explained is true.
fn search(options: &Options) -> io::Result<bool> {
    let project = Project::open(&options.project)?;
    let explained = Explained::read(&project.root)?;
    let all = project.mutated()?;
    let stale = explained.stale(&all);
    for name in &stale {
        println!("explained, but does not exist: {name}");
    }
    let chosen: Vec<Mutated> = all.into_iter().filter(|file| options.takes_file(&file.file)).collect();
    let (known, open): (Vec<_>, Vec<_>) = chosen
        .iter()
        .flat_map(|file| &file.mutants)
        .filter(|mutant| options.takes(mutant))
        .partition(|mutant| explained.has(mutant));
    if options.list {
        open.iter().for_each(|mutant| println!("{mutant}"));
        return Ok(stale.is_empty());
    }
    project.copy_with(&chosen)?;
    let mut tests = Tests::build(&project, &options.crates())?;
    tests.run_unchanged(options.seconds)?;
    tests.summary().for_each(|line| println!("{line}"));
    let figures = sweep::sweep(&tests, &open, options.jobs)?;
    figures.write_left(&project.scratch().join("left.txt"))?;
    println!("{figures}, {} explained", known.len());
    let mut is_good = stale.is_empty() && figures.left.is_empty();
    if options.again {
        let again = sweep::sweep(&tests, &known, options.jobs)?;
        for mutant in &again.noticed {
            println!("explained, but noticed: {mutant}");
        }
        println!("of those explained: {again}");
        is_good &= again.noticed.is_empty();
    }
    Ok(is_good)
}
