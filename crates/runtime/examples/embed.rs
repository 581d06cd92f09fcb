//! A recipe that is checked and run from Rust: `cargo run -p runtime --example embed RECIPE`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, error::Error, path::PathBuf, time::Duration};

use recipe::check::Checked;
use runtime::{
    machine::{local::LocalMachine, variables::Variables},
    requests::{Listener, RunRequest},
    run::{Notice, Reporter},
    runs::Runs,
};

/// Prints warnings, and every event of the journal as it happens.
struct Printer;

impl Listener for Printer {
    fn checked(&mut self, checked: &Checked) {
        for problem in &checked.diagnostics {
            println!("{}: {}", problem.code.as_str(), problem.message);
        }
    }

    fn warning(&mut self, text: &str) {
        println!("warning: {text}");
    }

    fn note(&mut self, text: &str) {
        println!("{text}");
    }

    fn reporter(&mut self) -> Box<dyn Reporter + '_> {
        Box::new(Printer)
    }
}

impl Reporter for Printer {
    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::Event { record, .. } = notice {
            println!("{} {:?}", record.seq, record.event);
        }
    }

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn wants_output(&self) -> bool {
        false
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let recipe = env::args().nth(1).ok_or("name a recipe")?;
    let cwd = env::current_dir()?;
    let machine = LocalMachine {
        variables: Variables::new(env::vars_os()),
        cwd: cwd.clone(),
        home: env::var_os("HOME").map(PathBuf::from),
        ..LocalMachine::default()
    };
    let request = RunRequest::new(recipe, &cwd);
    let result = Runs::at(cwd.join("state")).run(&request, &machine, &mut Printer)?;
    println!("success: {}, output: {:?}", result.success, result.output);
    Ok(())
}
