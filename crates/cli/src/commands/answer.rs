//! `answer`: answers a question of a run, and continues the run.

use engine::run::question::{AnswerRefusal, ChangedContent};
use recipe::typed::typed;
use runtime::{
    report::asks::Ask,
    requests::{AfterAnswer, AnswerOutcome, AnswerRequest, AnswerRequestError, RequestError},
    runs::AnswerError,
    store::folder::RunFolder,
};
use serde_json::json;

use super::stored_runs::{find, not_found, runs_at};
use crate::{
    args::{
        options::{OutputFormat, Reading},
        stored::AnswerArgs,
    },
    commands::run::{Concluding, conclude, request_failed},
    environment::Environment,
    exit::Exit,
    host::{self, StoredRuns},
    out::Out,
    report::{
        failure::Failure,
        hints::Hints,
        questions,
        table::local,
        terminal_listener::{Shown, TerminalListener},
    },
};

/// Answers a question.
pub(crate) fn answer(args: &AnswerArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let answered = request(args).and_then(|request| {
        let runs = runs_at(args.state.state_dir.as_deref(), environment)?;
        let folder = find(&runs, &request.run)?;
        let header = folder.header().map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
        let knowledge =
            environment.machine.knowledge(&header.working_dir).map_err(|error| host::unusable(&error))?;
        let runs = runs.believing(knowledge);
        let request = AnswerRequest { run: folder.id(), ..request };
        answer_run(args, &request, &runs, environment, out)
    });
    answered.map_err(|failure| announced(failure, format, out))
}

/// The same failure; its JSON is on stdout, where one value is promised.
fn announced(failure: Failure, format: OutputFormat, out: &mut Out) -> Failure {
    if format == OutputFormat::Json {
        let (error, code, hints) = (&failure.message, failure.exit.code(), &failure.hints);
        let mut json = json!({ "taken": false, "error": error, "exit_code": code, "hints": hints });
        for (name, value) in &failure.facts {
            json[*name] = value.as_str().into();
        }
        out.json(&json);
    }
    failure
}

/// The request that the command line describes.
fn request(args: &AnswerArgs) -> Result<AnswerRequest, Failure> {
    let (step, choice) = match args.words.as_slice() {
        [choice] => (None, choice.clone()),
        [step, choice] => (Some(step.clone()), choice.clone()),
        _ => return Err(Failure::new(Exit::Invalid, "name the choice: answer RUN [STEP] CHOICE")),
    };
    let mut fields = Vec::new();
    for text in &args.set {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                fields.push((name.trim().to_owned(), typed(value)));
            }
            _ => {
                let message = format!("`--set {text}` is not of the form FIELD=VALUE");
                return Err(Failure::new(Exit::Invalid, message));
            }
        }
    }
    Ok(AnswerRequest {
        run: args.run.clone(),
        step,
        choice,
        fields,
        comment: args.comment.clone(),
        digest: args.digest.clone(),
        origin: Some(host::origin()),
    })
}

fn answer_run(
    args: &AnswerArgs,
    request: &AnswerRequest,
    runs: &StoredRuns,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let options = args.shown.options();
    let then = match args.no_resume {
        true => AfterAnswer::Nothing,
        false => AfterAnswer::Resume(Box::new(options.request(&Reading::default(), environment))),
    };
    let mut listener = TerminalListener::new(&options, format, environment, out)
        .showing(Shown::All, &runs.hints)
        .asking(runs, Some(request.run.clone()));
    let outcome = runs.answer(request, then, &environment.machine, &mut listener);
    match outcome.map_err(|error| explain(error, runs, environment))? {
        AnswerOutcome { result: Some(result), .. } => {
            let request = Concluding { options: &options, format, environment };
            Ok(conclude(runs, *result, &request, out))
        }
        AnswerOutcome { recorded, .. } => {
            let (run, step) = (&recorded.run, &recorded.step);
            let next = match recorded.is_live {
                true => format!("run {run} continues"),
                false => format!("resume the run: {}", runs.hints.command(&format!("resume {run}"))),
            };
            match format {
                OutputFormat::Json => out.json(&json!({
                    "run_id": run, "step": step, "choice": request.choice, "taken": true,
                    "resumed": recorded.is_live,
                })),
                OutputFormat::Text => {
                    out.result(&format!("answered `{step}` with `{}`; {next}", request.choice));
                }
            }
            Ok(Exit::Success)
        }
    }
}

/// Why a question could not be answered.
fn explain(error: AnswerRequestError, runs: &StoredRuns, environment: &Environment) -> Failure {
    let error = match error {
        AnswerRequestError::Answer(error) => error,
        AnswerRequestError::Resume { recorded, error } => {
            let failure = match *error {
                RequestError::Accept(error) => Failure::new(Exit::Conflict, error.to_string()),
                RequestError::Resume(error) => Failure::new(Exit::Broken, error.to_string()),
                error => request_failed(error, runs, &Default::default(), environment),
            };
            let resume = runs.hints.command(&format!("resume {}", recorded.run));
            return failure.hint(format!("the answer is recorded; when this is fixed, resume: {resume}"));
        }
    };
    let message = error.to_string();
    match error {
        AnswerError::Find(error) => not_found(&error, runs),
        AnswerError::Open(error) => Failure::new(Exit::Broken, error.to_string()),
        AnswerError::NoStep { open, run, .. } => {
            let failure = Failure::new(Exit::Invalid, message);
            match open.is_empty() {
                true => failure.hint(format!("look at it: {}", runs.hints.command(&format!("show {run}")))),
                false => failure.hint("name one of these questions"),
            }
        }
        AnswerError::Several { .. } => Failure::new(Exit::Invalid, message).hint("name one of them"),
        AnswerError::NoQuestion { run } => Failure::new(Exit::Conflict, message)
            .hint(format!("look at it: {}", runs.hints.command(&format!("show {run}")))),
        AnswerError::Busy { run, .. } => Failure::new(Exit::Conflict, message)
            .hint(format!("try again later, or watch it: {}", runs.hints.command(&format!("logs {run} -f")))),
        AnswerError::Refused { question, refusal, folder } => {
            refused(&question, refusal, &folder, &runs.hints)
        }
    }
}

/// Why an answer was not taken.
fn refused(ask: &Ask, refusal: AnswerRefusal, folder: &RunFolder, hints: &Hints) -> Failure {
    let (run, step) = (&ask.run_id, &ask.step);
    let resume = || hints.command(&format!("resume {run}"));
    let failure = match refusal {
        AnswerRefusal::Unfit(problems) => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let failure =
                Failure::new(Exit::Invalid, format!("the answer does not fit: {}", texts.join("; ")));
            questions::commands(ask, hints).into_iter().fold(failure, Failure::hint)
        }
        AnswerRefusal::Already(answered) => {
            let (by, via, at) = (&answered.by, answered.via.as_str(), local(answered.at));
            let message =
                format!("`{step}` was already answered: `{}` by {by} via {via}, {at}", answered.choice);
            Failure::new(Exit::Conflict, message).fact("choice", &answered.choice).fact("by", by)
        }
        AnswerRefusal::Withdrawn => Failure::new(
            Exit::Conflict,
            format!("`{step}` does not wait for an answer: its run has ended or gone on without it"),
        )
        .hint(format!("a resume puts the question again: {}", resume())),
        AnswerRefusal::Late(deadline) => {
            let message = format!("the time for an answer to `{step}` was over at {}", local(deadline));
            let on_timeout = ask.on_timeout.as_deref().unwrap_or("fail");
            Failure::new(Exit::Conflict, message)
                .hint(format!("`on_timeout: {on_timeout}` counts as the answer; to continue: {}", resume()))
        }
        AnswerRefusal::Changed(changes) => {
            let failure = Failure::new(
                Exit::Conflict,
                format!("what `{step}` shows has changed since the question was put; it is put again"),
            );
            with_question(changes.iter().fold(failure, changed), ask, folder, hints)
        }
        AnswerRefusal::OtherContents => {
            let message = format!(
                "the digest is not that of the question `{step}`, which may have been put again since"
            );
            with_question(Failure::new(Exit::Conflict, message), ask, folder, hints)
        }
        AnswerRefusal::NotUsable { why } => {
            let failure = Failure::new(Exit::Conflict, format!("the repair cannot be accepted: {why}"));
            let refuse = hints.command(&format!("answer {run} {step} refuse"));
            failure.hint(format!("refuse it: {refuse}"))
        }
        AnswerRefusal::Unreadable { name, why } => {
            let message = format!("`{name}`, which `{step}` shows, cannot be read any more: {why}");
            let failure = Failure::new(Exit::Conflict, message).hint("put the file back, then answer again");
            with_question(failure, ask, folder, hints)
        }
    };
    failure.fact("run_id", run).fact("step", step).fact("digest", &ask.digest)
}

/// The same failure with what the question shows now, and the commands that answer it.
fn with_question(failure: Failure, ask: &Ask, folder: &RunFolder, hints: &Hints) -> Failure {
    let failure = questions::shown(ask, folder.path()).into_iter().fold(failure, Failure::hint);
    questions::commands(ask, hints).into_iter().fold(failure, Failure::hint)
}

fn changed(failure: Failure, change: &ChangedContent) -> Failure {
    let what = &change.name;
    match change.difference.trim_end() {
        "" => failure.hint(format!("changed: {what}")),
        lines => {
            let failure = failure.hint(format!("changed: {what}"));
            lines.lines().fold(failure, |failure, line| failure.hint(format!("  {line}")))
        }
    }
}
