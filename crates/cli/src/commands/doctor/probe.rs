//! `doctor --agents`: asks an agent program for one word, as a recipe would, and reports what it took.
//!
//! Never keeps anything of the run, and never shows an unknown number as 0.

use std::{fs::File, io::Write as _};

use runtime::{
    machine::local::LocalMachine,
    report::StepResult,
    requests::{RunRequest, Silent},
    runs::Runs,
};
use serde_json::{Value as Json, json};

/// How long a program may take to answer, in seconds.
const LONGEST: u32 = 120;

/// The answer of a program.
#[derive(Debug)]
pub(super) struct Probe {
    /// Why there is no answer.
    pub(super) error: Option<String>,
    model: Option<String>,
    seconds: f64,
    cost_usd: Option<f64>,
}

/// Asks a program for one word.
pub(super) fn ask(name: &str, machine: &LocalMachine) -> Probe {
    match run(name, machine) {
        Ok(step) => Probe {
            error: (!step.error.is_empty()).then(|| step.error.clone()),
            model: step.usage.as_ref().and_then(|usage| usage.model.clone()),
            seconds: step.duration,
            cost_usd: step.usage.as_ref().and_then(|usage| usage.cost_usd),
        },
        Err(error) => Probe { error: Some(error), model: None, seconds: 0.0, cost_usd: None },
    }
}

/// Runs a recipe of one step in a directory of its own.
fn run(name: &str, machine: &LocalMachine) -> Result<StepResult, String> {
    let failed = |error: std::io::Error| error.to_string();
    let place = tempfile::tempdir().map_err(failed)?;
    let dir = place.path().canonicalize().map_err(failed)?;
    let step = json!({
        "id": "ask",
        "prompt": "Answer with the single word: ready",
        "agent_binary": name,
        "permissions": { "level": "read-only", "required": false },
        "auto_stage": false,
        "timeout": LONGEST,
        "retry": { "max_attempts": 1, "on": ["rate_limit"] },
    });
    let recipe = json!({ "name": "doctor", "steps": [step] }).to_string();
    let file = dir.join("doctor.yaml");
    File::create_new(&file).and_then(|mut file| file.write_all(recipe.as_bytes())).map_err(failed)?;
    let runs = Runs::at(dir.join("state"));
    let request = RunRequest::new(file.to_string_lossy(), &machine.cwd);
    let result = runs.run(&request, machine, &mut Silent).map_err(|error| error.to_string())?;
    let failure = result.failure.as_ref().map(|failure| failure.error.clone());
    let step = result.step_results.into_iter().next();
    step.ok_or_else(|| failure.unwrap_or_else(|| "it was not asked".to_owned()))
}

impl Probe {
    pub(super) fn as_json(&self) -> Json {
        json!({
            "answered": self.error.is_none(),
            "error": self.error,
            "model": self.model,
            "seconds": self.seconds,
            "cost_usd": self.cost_usd,
        })
    }

    /// The answer in a few words.
    pub(super) fn in_words(&self) -> String {
        let model = self.model.as_deref().unwrap_or("unknown");
        let cost = self.cost_usd.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}"));
        format!("answered in {:.1} s, model {model}, cost {cost}", self.seconds)
    }
}
