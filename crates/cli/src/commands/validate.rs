//! `validate` and `--validate-only`: every problem of every named recipe.
//!
//! Never runs anything.

use recipe::{check::Checked, plan::Plan, test_file::is_test_file};
use runtime::{
    machine::discovery::Library,
    requests::{AgentChoice, Inputs},
};
use serde::Serialize;

use crate::{
    args::{ValidateArgs, options::OutputFormat},
    commands::test,
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{
        diagnostics::{self, Problem},
        failure::Failure,
    },
};

/// The result as JSON.
#[derive(Serialize)]
struct Verdict {
    valid: bool,
    diagnostics: Vec<Problem>,
}

/// Checks all named recipes.
pub(crate) fn validate(
    args: &ValidateArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    if args.recipes.is_empty() {
        return Err(load_recipe::nothing_asked("validate RECIPE…"));
    }
    let inputs = load_recipe::inputs(&args.reading.context, environment)?;
    let library = load_recipe::library(&args.reading.places, environment);
    let mut verdict = Verdict { valid: true, diagnostics: Vec::new() };
    let mut exit = Exit::Success;
    for asked in &args.recipes {
        if is_test_file(asked) {
            exit = worse(exit, validate_tests(asked, args, (&library, environment), out, &mut verdict));
            continue;
        }
        let fitted = |checked| {
            load_recipe::fitted(checked, &AgentChoice::default(), &args.reading.places, environment)
        };
        let one = match examine(args, &library, asked, &inputs).map(fitted) {
            Ok(checked) => judge(&checked, args, environment, out, &mut verdict),
            Err(failure) => miss(&failure, out, &mut verdict),
        };
        exit = worse(exit, one);
    }
    verdict.valid = exit == Exit::Success;
    if args.format.output_format == OutputFormat::Json {
        out.json(&verdict);
    }
    Ok(exit)
}

/// Checks a test file beside its recipe.
fn validate_tests(
    asked: &str,
    args: &ValidateArgs,
    (library, environment): (&Library, &Environment),
    out: &mut Out,
    verdict: &mut Verdict,
) -> Exit {
    let refused = match test::check_file(asked, library, environment) {
        Ok(loaded) => {
            if args.format.output_format == OutputFormat::Text {
                let cases = loaded.file.cases.len();
                let plural = if cases == 1 { "" } else { "s" };
                let recipe = &loaded.plan.root().path;
                out.result(&format!("✓ {} is valid: {cases} case{plural} of {recipe}", loaded.shown));
            }
            return Exit::Success;
        }
        Err(refused) => refused,
    };
    let (exit, problems) = refused.report(environment, out);
    verdict.diagnostics.extend(problems);
    exit
}

fn examine(args: &ValidateArgs, library: &Library, asked: &str, inputs: &Inputs) -> Result<Checked, Failure> {
    let loaded = load_recipe::find(library, asked)?;
    // with several recipes it is unknown which one a tag is meant for
    let tags = if args.recipes.len() == 1 { args.reading.tags.all() } else { Vec::new() };
    Ok(load_recipe::examine(library, loaded, inputs, tags, &args.reading.strictness))
}

fn judge(
    checked: &Checked,
    args: &ValidateArgs,
    environment: &Environment,
    out: &mut Out,
    verdict: &mut Verdict,
) -> Exit {
    verdict.diagnostics.extend(diagnostics::problems(&checked.diagnostics, &checked.sources));
    match args.format.output_format {
        OutputFormat::Text => load_recipe::report(checked, environment, out),
        OutputFormat::Json if !checked.diagnostics.is_empty() => {
            out.notice(&diagnostics::summary(&checked.diagnostics, &checked.sources));
        }
        OutputFormat::Json => {}
    }
    let Some(plan) = &checked.plan else { return Exit::Invalid };
    if args.format.output_format == OutputFormat::Text {
        out.result(&praise(plan));
    }
    Exit::Success
}

fn praise(plan: &Plan) -> String {
    let root = plan.root();
    let steps = root.steps.len();
    let more = match plan.units.len() - 1 {
        0 => String::new(),
        1 => ", 1 sub-recipe".to_owned(),
        more => format!(", {more} sub-recipes"),
    };
    let plural = if steps == 1 { "" } else { "s" };
    format!("✓ {} is valid: recipe `{}`, {steps} step{plural}{more}", root.path, root.name)
}

fn miss(failure: &Failure, out: &mut Out, verdict: &mut Verdict) -> Exit {
    let help = (!failure.hints.is_empty()).then(|| failure.hints.join("\n"));
    verdict.diagnostics.push(Problem::outside("unknown-recipe", failure.message.clone(), help));
    failure.report(out)
}

/// The worse of two exits: an invalid recipe is worse than a missing one.
fn worse(a: Exit, b: Exit) -> Exit {
    match (a, b) {
        (Exit::Invalid, _) | (_, Exit::Invalid) => Exit::Invalid,
        (Exit::Success, other) | (other, _) => other,
    }
}
