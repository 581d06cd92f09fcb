//! A recipe that is checked and run from Rust: `cargo run -p runtime --example embed RECIPE`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{env, error::Error, path::PathBuf, time::Duration};

use recipe::{
    check::{Given, check},
    value::Map,
};
use runtime::{
    agents::AgentSettings,
    machine::{
        discovery::{Library, Setup},
        host::Host,
    },
    run::{Notice, Reporter},
    runs::{ConcurrencyPolicy, Runs, Start},
    store::{folder::Options, sources::Recording},
};

/// Prints every event of the journal as it happens.
struct Events;

impl Reporter for Events {
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
    let asked = env::args().nth(1).ok_or("name a recipe")?;
    let cwd = env::current_dir()?;
    let library = Library::new(Setup { cwd: cwd.clone(), working_dir: cwd.clone(), ..Setup::default() });
    // everything that the check reads is kept with the run, so that a resume reads the same
    let recording = Recording::new(&library);
    let loaded = library.root(&asked).map_err(|error| format!("{error:?}"))?;
    recording.root(&loaded);

    let checked = check(loaded, &recording, &Given::default());
    for problem in &checked.diagnostics {
        println!("{}: {}", problem.code.as_str(), problem.message);
    }
    let plan = checked.plan.ok_or("the recipe is invalid")?;

    let home = env::var_os("HOME").map(PathBuf::from);
    let host = Host {
        env: env::vars_os().collect(),
        home,
        grace: Duration::from_secs(5),
        is_root: false,
        guardian: None,
        named: Vec::new(),
    };
    let start = Start {
        plan,
        given: Map::new(),
        options: Options { max_parallel: 4, ..Options::default() },
        agents: AgentSettings::default(),
        host,
        working_dir: cwd.clone(),
        recording: &recording,
        dry_run: false,
        others: ConcurrencyPolicy::default(),
        request: None,
        origin: None,
    };
    let result = Runs::at(cwd.join("state")).start(start, &mut Events)?;
    println!("success: {}, output: {:?}", result.success, result.output);
    Ok(())
}
