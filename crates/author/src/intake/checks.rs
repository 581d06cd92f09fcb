//! From the words of criteria to checks: what the project supplies, and the questions about what it does not.

use crate::{
    brief::{AnsweredBy, Check, Criterion, FoundCommand, ProjectFacts, SupportKind},
    intake::{
        Answered,
        question::{Cause, Question},
    },
    reading::criterion::{ReadCheck, ReadCriterion},
};

/// What checks need besides their words.
pub(super) struct CheckFacts<'a> {
    pub(super) project: &'a ProjectFacts,
    pub(super) start: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) answered: &'a [Answered],
}

/// The criteria, numbered; and the questions about them.
pub(super) fn checks(read: &[ReadCriterion], facts: &CheckFacts) -> (Vec<Criterion>, Vec<Question>) {
    let (mut criteria, mut questions): (Vec<Criterion>, Vec<Question>) = (Vec::new(), Vec::new());
    for one in read {
        for check in &one.checks {
            let check = match resolve(check, one, facts) {
                Ok(check) => check,
                Err(question) => {
                    questions.push(question);
                    Check::Person
                }
            };
            let number = criteria.len() + 1;
            let (text, line, track) = (one.text.clone(), one.line, one.track.clone());
            criteria.push(Criterion { number, text, line, check, track });
        }
    }
    (criteria, questions)
}

/// The check, or the question that it needs an answer to.
fn resolve(check: &ReadCheck, one: &ReadCriterion, facts: &CheckFacts) -> Result<Check, Question> {
    Ok(match check {
        ReadCheck::Command(check) => Check::Command(check.clone()),
        ReadCheck::Http { method, path, status, contains, port } => {
            let start = match &facts.start {
                Some(start) => start.clone(),
                None => match command(Cause::NoStartCommand, "start", one, facts)? {
                    Some(found) => found.command,
                    None => return Ok(Check::Person),
                },
            };
            let (method, path, contains) = (method.clone(), path.clone(), contains.clone());
            Check::Http { method, path, status: *status, contains, start, port: port.or(facts.port) }
        }
        ReadCheck::FileMentions { path, texts } => {
            Check::FileMentions { path: path.clone(), texts: texts.clone() }
        }
        ReadCheck::FileLacks { path, texts } => Check::FileLacks { path: path.clone(), texts: texts.clone() },
        ReadCheck::FileExists { path, exists } => Check::FileExists { path: path.clone(), exists: *exists },
        ReadCheck::TestsPass { command: Some(command) } => {
            Check::TestsPass { command: command.clone(), found_in: "spec".to_owned() }
        }
        ReadCheck::TestsPass { command: None } => match test_command(one, facts)? {
            Some(found) => Check::TestsPass { command: found.command, found_in: found.found_in },
            None => Check::Person,
        },
        ReadCheck::Supporting { support, command: given } => match given {
            Some(command) => {
                Check::Supporting { support: *support, command: command.clone(), found_in: "spec".to_owned() }
            }
            None => match support_command(*support, one, facts)? {
                Some(found) => {
                    Check::Supporting { support: *support, command: found.command, found_in: found.found_in }
                }
                None => Check::Person,
            },
        },
        ReadCheck::CoveredByTests => match test_command(one, facts)? {
            Some(_) => Check::CoveredByTests,
            None => Check::Person,
        },
        ReadCheck::Person => Check::Person,
    })
}

fn test_command(one: &ReadCriterion, facts: &CheckFacts) -> Result<Option<FoundCommand>, Question> {
    match &facts.project.test {
        Some(found) => Ok(Some(found.clone())),
        None => command(Cause::NoTestCommand, "test", one, facts),
    }
}

/// The answer to the question about the test command.
pub(super) fn answered_test_command(answered: &[Answered]) -> Option<FoundCommand> {
    given(Cause::NoTestCommand, "test", answered).flatten()
}

fn support_command(
    support: SupportKind,
    one: &ReadCriterion,
    facts: &CheckFacts,
) -> Result<Option<FoundCommand>, Question> {
    let (found, subject) = match support {
        SupportKind::Lint => (&facts.project.lint, "lint"),
        SupportKind::Types => (&facts.project.types, "types"),
        SupportKind::Build => (&facts.project.build, "build"),
        SupportKind::Format => (&facts.project.format, "format"),
    };
    match found {
        Some(found) => Ok(Some(found.clone())),
        None => command(Cause::NoCheckCommand, subject, one, facts),
    }
}

/// The command of an answer; none if a person checks instead.
fn command(
    cause: Cause,
    subject: &str,
    one: &ReadCriterion,
    facts: &CheckFacts,
) -> Result<Option<FoundCommand>, Question> {
    given(cause, subject, facts.answered).ok_or_else(|| {
        let text = match subject {
            "start" => format!("Which command starts the server for \"{}\"?", one.text),
            "test" => "Which command runs the tests of this project?".to_owned(),
            "lint" => "Which command lints this project?".to_owned(),
            "types" => "Which command checks the types of this project?".to_owned(),
            "build" => "Which command builds this project?".to_owned(),
            _ => "Which command checks the format of this project?".to_owned(),
        };
        Question {
            number: 0,
            text,
            line: None,
            cause,
            judgement: "No command is known: a person checks this criterion.".to_owned(),
            subject: subject.to_owned(),
            listed: None,
        }
    })
}

/// The given command; `Some(None)` if the generator decided that a person checks.
fn given(cause: Cause, subject: &str, answered: &[Answered]) -> Option<Option<FoundCommand>> {
    let one = answered.iter().find(|one| one.question.cause == cause && one.question.subject == subject)?;
    let command = one.answer.trim().trim_matches('`').to_owned();
    let found_in = if one.by == AnsweredBy::Spec { "spec" } else { "answer" }.to_owned();
    let is_command = one.by != AnsweredBy::Generator && !command.is_empty();
    Some(is_command.then_some(FoundCommand { command, found_in }))
}
