//! `generate`: a recipe, its tests and a record from a spec in plain words.
//!
//! Executes nothing unless `--run` asks for it. Overwrites nothing without `--force`, and writes nothing while a question is open.

mod agent_call;
mod files;
mod improve;
mod output;
mod proof;
mod spec;
mod surroundings;

use author::{
    brief::{Depth, Pattern},
    intake::{self, Flags, Intake, Stopped},
    name::is_name,
    record::record,
};

use clap::Parser as _;
use serde_json::json;

use self::{
    files::{Destination, GeneratedFiles},
    improve::{Authored, Writing},
    surroundings::SpecSurroundings,
};
use super::run;
use crate::{
    args::{
        Cli,
        generate::{DepthArg, GenerateArgs, PatternArg},
        options::OutputFormat,
    },
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// Generates a recipe.
pub(crate) fn generate(
    args: &GenerateArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let dir = args
        .working_dir
        .as_deref()
        .map_or_else(|| environment.machine.cwd.clone(), |dir| environment.absolute(dir));
    if !dir.is_dir() {
        return Err(refused(format!("`{}` is not a directory", dir.display())));
    }
    let spec = spec::read(args, environment, &dir)?;
    let destination = Destination::new(args, environment, &dir)?;
    let surroundings = SpecSurroundings::read(environment, &dir)?;
    let flags = flags(args, &destination, &surroundings)?;
    let intake = Intake {
        spec: &spec.text,
        sha256: spec.sha256.clone(),
        place: spec.place(&destination),
        files: &surroundings.files,
        git: surroundings.git,
        skills: &surroundings.skills,
        programs: &surroundings.programs,
        settings: surroundings.settings.clone(),
        flags,
        answers: answers(args)?,
        best_judgement: args.best_judgement,
    };
    let mut reading = match intake::read(&intake) {
        Ok(reading) => reading,
        Err(Stopped::Questions(questions)) => {
            output::questions(&questions, args, out);
            return Ok(Exit::Waiting);
        }
        Err(Stopped::NoSuchQuestion(number, count)) => {
            return Err(refused(format!("there is no question {number}: the spec has {count}")));
        }
    };
    let writing = Writing { args, brief: &reading.brief, destination: &destination, environment };
    let Authored { written, files, proof, author, refined, warning } = writing.write()?;
    reading.brief.notes.warnings.extend(warning);
    let files = if proof.ready { files } else { files.into_drafts() };
    let mut json = record(&reading, &written, &proof);
    json["author"] = author.into();
    if !refined.is_empty() {
        json["refine"] = json!({ "diff": refined });
    }
    files.write(&json, args)?;
    let missing = surroundings.missing(&reading.brief, environment, &dir);
    let report =
        output::Report { args, reading: &reading, record: &json, files: &files, proof: &proof, missing };
    report.print(out);
    match (proof.ready, args.run) {
        (true, true) => execute(&files, args, environment, out),
        (true, false) => Ok(Exit::Success),
        (false, _) => Ok(Exit::Failed),
    }
}

/// Runs the recipe, as its path on the command line would.
fn execute(
    files: &GeneratedFiles,
    args: &GenerateArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut line = vec!["recipe-runner-rs".into(), files.folder.join(files.recipe_name()).into_os_string()];
    if let Some(dir) = &args.working_dir {
        line.extend(["-C".into(), environment.absolute(dir).into_os_string()]);
    }
    if args.format.output_format == OutputFormat::Json {
        line.extend(["--output-format".into(), "json".into()]);
    }
    let parsed = Cli::try_parse_from(line).map_err(|error| refused(error.to_string()))?;
    run::run(parsed.run, environment, out)
}

/// A request that cannot be generated from: nothing was written.
pub(super) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(Exit::BadArguments, message)
        .fact("stage", "generate")
        .hint("stage: generate. No file was written and nothing was executed.")
        .hint(format!("what a spec has: `{}`", plain("generate --help")))
}

/// `--answer N=TEXT`.
fn answers(args: &GenerateArgs) -> Result<Vec<(usize, String)>, Failure> {
    let read = |text: &String| {
        let (number, answer) = text.split_once('=')?;
        let number = number.trim().parse().ok()?;
        (!answer.trim().is_empty()).then(|| (number, answer.trim().to_owned()))
    };
    let wrong = |text: &String| refused(format!("`--answer {text}` is not of the form N=TEXT"));
    args.answers.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect()
}

fn flags(
    args: &GenerateArgs,
    destination: &Destination,
    surroundings: &SpecSurroundings,
) -> Result<Flags, Failure> {
    if let Some(name) = args.name.as_deref().filter(|name| !is_name(name)) {
        return Err(refused(format!("`{name}` cannot be a name: use letters, digits, `-` and `_`")));
    }
    let named = args.writer.iter().chain(args.reviewers.iter().flatten());
    if let Some(unknown) = named.into_iter().find(|name| !surroundings.programs.contains(name)) {
        let known = surroundings.programs.join(", ");
        return Err(refused(format!("agent program `{unknown}` is not known: use one of {known}")));
    }
    let pr = match (args.pr, args.no_pr) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    Ok(Flags {
        name: args.name.clone().or_else(|| destination.name()),
        pattern: args.pattern.map(|pattern| match pattern {
            PatternArg::Pipeline => Pattern::Pipeline,
            PatternArg::Graph => Pattern::Graph,
            PatternArg::Supervisor => Pattern::Supervisor,
        }),
        depth: args.depth.map(|depth| match depth {
            DepthArg::Light => Depth::Light,
            DepthArg::Full => Depth::Full,
        }),
        writer: args.writer.clone(),
        reviewers: args.reviewers.clone(),
        pr,
    })
}
