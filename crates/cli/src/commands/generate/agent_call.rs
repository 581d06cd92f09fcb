//! One call of an agent that helps to write a recipe: in an empty directory of its own, with a limit of time.
//!
//! Never keeps anything of the run.

use std::{fs::File, io::Write as _};

use runtime::{
    machine::{
        local::{Allowance, LocalMachine},
        programs::{Presence, binary, look_for},
    },
    requests::{AgentChoice, RunRequest, Silent},
    runs::Runs,
};
use serde_json::json;

/// An answer, and what it took.
pub(super) struct AgentAnswer {
    pub(super) text: String,
    /// As reported, else bytes ÷ 4, prompt and answer together.
    pub(super) tokens: u64,
}

/// Roughly how many tokens a text has.
pub(super) fn estimated_tokens(texts: &[&str]) -> u64 {
    texts.iter().map(|text| text.len() as u64).sum::<u64>() / 4
}

/// The program that is asked: `--agent-binary`, else the usual one.
pub(super) fn program(asked: Option<&str>, machine: &LocalMachine) -> Result<String, String> {
    let choice = AgentChoice { agent_binary: asked.map(str::to_owned), ..AgentChoice::default() };
    let settings =
        machine.agents(&choice, Allowance::default(), &machine.cwd).map_err(|error| error.to_string())?;
    Ok(settings.program().to_owned())
}

/// Whether a program is installed here.
pub(super) fn is_installed(program: &str, machine: &LocalMachine) -> bool {
    let Ok(settings) = machine.agents(&AgentChoice::default(), Allowance::default(), &machine.cwd) else {
        return false;
    };
    let found = binary(program, &settings).map(|binary| look_for(&binary, &machine.bare()));
    matches!(found, Some(Presence::Found(_)))
}

/// Asks a program once.
pub(super) fn ask(
    program: &str,
    prompt: &str,
    seconds: u32,
    machine: &LocalMachine,
) -> Result<AgentAnswer, String> {
    let failed = |error: std::io::Error| error.to_string();
    let place = tempfile::tempdir().map_err(failed)?;
    let dir = place.path().canonicalize().map_err(failed)?;
    let step = json!({
        "id": "ask",
        "prompt": "{{task}}",
        "agent_binary": program,
        "permissions": { "level": "read-only", "required": false },
        "auto_stage": false,
        "timeout": seconds,
        "retry": { "max_attempts": 1, "on": ["rate_limit"] },
    });
    let recipe = json!({ "name": "generate", "inputs": [{ "name": "task" }], "steps": [step] }).to_string();
    let file = dir.join("generate.yaml");
    File::create_new(&file).and_then(|mut file| file.write_all(recipe.as_bytes())).map_err(failed)?;
    let work = dir.join("work");
    std::fs::create_dir(&work).map_err(failed)?;
    let request = RunRequest::new(file.to_string_lossy(), &work).set("task", prompt);
    let runs = Runs::at(dir.join("state"));
    let result = runs.run(&request, machine, &mut Silent).map_err(|error| error.to_string())?;
    let failure = result.failure.as_ref().map(|failure| failure.error.clone());
    let step = result.step_results.into_iter().next().filter(|_| result.success);
    let step = step.ok_or_else(|| failure.unwrap_or_else(|| "it was not asked".to_owned()))?;
    let text = step.output.clone();
    let reported = step.usage.as_ref().and_then(|usage| {
        let (input, output) = (usage.input_tokens, usage.output_tokens);
        (input.is_some() || output.is_some()).then(|| input.unwrap_or(0) + output.unwrap_or(0))
    });
    let tokens = reported.unwrap_or_else(|| estimated_tokens(&[prompt, &text]));
    Ok(AgentAnswer { text, tokens })
}
