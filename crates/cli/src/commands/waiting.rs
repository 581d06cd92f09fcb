//! `waiting`: everything that waits for a person, over all runs.

use runtime::{os::clock, report::asks::Ask};
use serde_json::{Value as Json, json};

use super::stored_runs::runs_at;
use crate::{
    args::{options::OutputFormat, stored::WaitingArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{
        failure::{Failure, clean},
        hints::Hints,
        questions,
        table::{ago, local},
    },
};

/// Lists everything that waits for a person, oldest first.
pub(crate) fn waiting(args: &WaitingArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let runs = runs_at(args.state.state_dir.as_deref(), environment);
    let runs = runs.map_err(|failure| failure.announce(format, out))?;
    let asks = runs.waiting();
    match format {
        OutputFormat::Json => {
            out.json(&asks.iter().map(|ask| as_json(ask, &runs.hints)).collect::<Vec<_>>());
        }
        OutputFormat::Text if asks.is_empty() => out.notice("nothing waits for a person"),
        OutputFormat::Text => {
            let texts: Vec<String> = asks.iter().map(|ask| as_text(ask, &runs.hints)).collect();
            out.result(&clean(&texts.join("\n\n")));
        }
    }
    Ok(Exit::Success)
}

fn as_text(ask: &Ask, hints: &Hints) -> String {
    let mut lines =
        vec![format!("{}  {}: {}", ask.run_id, ask.step, ask.question.trim_end().replace('\n', "\n    "))];
    lines.push(format!("  recipe:   {}", ask.recipe_name));
    lines.push(format!("  since:    {}", ago(ask.since, clock::now())));
    if let Some(deadline) = ask.deadline {
        let then = ask.on_timeout.as_deref().unwrap_or("fail");
        lines.push(format!("  deadline: {} (then `{then}`)", local(deadline)));
    }
    let how = if ask.choices.is_empty() { "resume:" } else { "answer:" };
    for (at, command) in questions::commands(ask, hints).iter().enumerate() {
        lines.push(format!("  {:<9} {command}", if at == 0 { how } else { "" }));
    }
    lines.join("\n")
}

fn as_json(ask: &Ask, hints: &Hints) -> Json {
    let mut json = json!(ask);
    json["commands"] = json!(questions::commands(ask, hints));
    json["command"] = json["commands"][0].clone();
    json
}
