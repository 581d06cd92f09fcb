//! `generate`: a recipe, its tests and a record from a spec in plain words.
//!
//! Executes nothing. Overwrites nothing without `--force`, and writes nothing while a question is open.

mod files;
mod output;
mod proof;
mod spec;
mod surroundings;

use author::{
    brief::{Depth, Pattern},
    intake::{self, Flags, Intake, Stopped},
    name::is_name,
    record::{ProofRecord, record},
};

use self::{files::Destination, surroundings::SpecSurroundings};
use crate::{
    args::generate::{DepthArg, GenerateArgs, PatternArg},
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
    let reading = match intake::read(&intake) {
        Ok(reading) => reading,
        Err(Stopped::Questions(questions)) => {
            output::questions(&questions, args, out);
            return Ok(Exit::Waiting);
        }
        Err(Stopped::NoSuchQuestion(number, count)) => {
            return Err(refused(format!("there is no question {number}: the spec has {count}")));
        }
    };
    let written = author::write(&reading.brief);
    let files = destination.files(&reading.brief, &written);
    files.check(args)?;
    let proof = proof::prove(&files, environment)?;
    let files = if proof.ready { files } else { files.as_drafts() };
    let json = record(&reading, &written, &proof);
    files.write(&json, args)?;
    let missing = surroundings.missing(&reading.brief, environment, &dir);
    let report =
        output::Report { args, reading: &reading, record: &json, files: &files, proof: &proof, missing };
    report.print(out);
    Ok(exit(&proof))
}

fn exit(proof: &ProofRecord) -> Exit {
    if proof.ready { Exit::Success } else { Exit::Failed }
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
