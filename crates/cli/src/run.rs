//! Running a recipe: what is refused before anything runs.
//!
//! Never starts a run that was not checked completely.

use recipe::check::Checked;
use serde_json::{Value as Json, json};

use crate::{
    args::{ExplainArgs, RunArgs, ValidateArgs, options::OutputFormat},
    diagnostics,
    environment::Environment,
    exit::Exit,
    explain,
    failure::Failure,
    out::Out,
    reading, validate,
};

/// Runs a recipe, or only looks at it if the flags say so.
pub(crate) fn run(args: RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let Some(asked) = args.recipe.clone().filter(|asked| !asked.is_empty()) else {
        return Err(reading::nothing_asked());
    };
    if args.validate_only {
        return validate::validate(&validate_args(args, asked), environment, out);
    }
    if args.explain {
        return explain::explain(&explain_args(args, asked), environment, out);
    }
    let outside = reading::outside(&args.context, environment)?;
    let library = reading::library(&args.places, environment);
    let format = args.format.output_format;
    let loaded = match reading::find(&library, &asked) {
        Ok(loaded) => loaded,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let checked = reading::examine(&library, loaded, &outside, &args.strictness);
    if checked.plan.is_none() || !args.options.quiet {
        reading::report(&checked, environment, out);
    }
    let plan = match reading::accept(checked) {
        Ok(plan) => plan,
        Err(refused) => return Ok(report_refused(&refused, &asked, format, out)),
    };
    let settings = outside.settings(plan.root(), |name| environment.raw(name));
    execute(&plan, &settings)
}

/// The one place where a checked recipe and its values are handed to what runs them.
fn execute(plan: &recipe::plan::Plan, settings: &recipe::value::Map) -> Result<Exit, Failure> {
    let message = format!("recipe `{}` is valid, but this build cannot run recipes", plan.root().name);
    Err(Failure::new(Exit::Broken, message).hint(format!("{} values were given", settings.len())))
}

fn report_missing(failure: &Failure, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(asked.to_owned(), failure.exit);
        result["error"] = json!(failure.message);
        out.json(&result);
    }
    failure.report(out)
}

fn report_refused(refused: &Checked, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(reading::name_of(&refused.sources, asked), Exit::Invalid);
        result["error"] = json!(diagnostics::summary(&refused.diagnostics, &refused.sources));
        result["diagnostics"] = json!(diagnostics::problems(&refused.diagnostics, &refused.sources));
        out.json(&result);
    }
    Exit::Invalid
}

/// The result of a run that never started.
fn refusal(recipe_name: String, exit: Exit) -> Json {
    json!({
        "recipe_name": recipe_name,
        "success": false,
        "outcome": "refused",
        "exit_code": exit.code(),
        "error": null,
        "diagnostics": [],
        "step_results": [],
    })
}

fn validate_args(args: RunArgs, asked: String) -> ValidateArgs {
    ValidateArgs {
        recipes: vec![asked],
        places: args.places,
        context: args.context,
        strictness: args.strictness,
        format: args.format,
    }
}

fn explain_args(args: RunArgs, asked: String) -> ExplainArgs {
    ExplainArgs {
        recipe: Some(asked),
        graph: args.graph,
        places: args.places,
        context: args.context,
        tags: args.tags,
        strictness: args.strictness,
        format: args.format,
    }
}
