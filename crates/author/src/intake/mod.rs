//! From a spec and its surroundings to a brief, or to the questions that are open.
//!
//! Questions have stable numbers: an answer never renumbers the others, and a question that follows from an answer comes
//! after those that were known before.

mod answers;
mod assemble;
mod checks;
mod conflicts;
mod effects;
mod heading;
mod question;
mod spec_text;

pub use question::{Cause, Question};
pub use spec_text::{LARGEST_SPEC, SpecError, spec_text};

use crate::{
    brief::{AnsweredBy, Brief, Clarification, Depth, Pattern},
    project::ProjectFiles,
    skills::{RankedSkill, SkillFile},
    spec,
};

/// Everything that generation depends on.
pub struct Intake<'a> {
    /// The text of the spec.
    pub spec: &'a str,
    /// The digest of its bytes.
    pub sha256: String,
    pub place: SpecPlace,
    pub files: &'a dyn ProjectFiles,
    /// The project is in a git work tree.
    pub git: bool,
    /// Those of the project first.
    pub skills: &'a [SkillFile],
    /// The agent programs that are known here.
    pub programs: &'a [String],
    pub settings: GenerateSettings,
    pub flags: Flags,
    /// `--answer`: number and text.
    pub answers: Vec<(usize, String)>,
    /// Answer the rest by rule.
    pub best_judgement: bool,
}

/// Where the spec is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecPlace {
    /// A file, relative to the project.
    File(String),
    /// It is written to this folder beside the recipe, under the stem of the recipe or its name.
    Beside { folder: String, stem: Option<String> },
}

/// `generate:` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GenerateSettings {
    pub writer: Option<String>,
    pub reviewers: Vec<String>,
    pub depth: Option<Depth>,
}

/// Flags that override the words of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub name: Option<String>,
    pub pattern: Option<Pattern>,
    pub depth: Option<Depth>,
    pub writer: Option<String>,
    pub reviewers: Option<Vec<String>>,
    /// `--pr` or `--no-pr`.
    pub pr: Option<bool>,
}

/// A brief, with what the record says besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub brief: Brief,
    /// Every skill with a term of the spec, the best first.
    pub skills: Vec<RankedSkill>,
    /// How many SKILL.md files there were.
    pub skill_files: usize,
}

/// Why there is no brief.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// These questions are open; the answered ones are not among them.
    Questions(Vec<Question>),
    /// `--answer` has a number without a question: the number, and how many questions there are.
    NoSuchQuestion(usize, usize),
}

/// An answer that was given, found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answered {
    question: Question,
    answer: String,
    by: AnsweredBy,
}

/// More rounds than any chain of questions has.
const MOST_ROUNDS: usize = 20;

/// Reads a spec.
pub fn read(intake: &Intake) -> Result<Reading, Stopped> {
    let spec = spec::parse(intake.spec);
    let mut known: Vec<Question> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let answered: Vec<Answered> = known
            .iter()
            .enumerate()
            .filter_map(|(at, question)| answer(intake, &spec, at + 1, question))
            .collect();
        let draft = assemble::assemble(intake, &spec, &answered);
        let is_known = |question: &Question| known.iter().any(|one| one.key() == question.key());
        let new: Vec<Question> =
            draft.questions.iter().filter(|question| !is_known(question)).cloned().collect();
        if !new.is_empty() {
            known.extend(new);
            continue;
        }
        let is_open = |question: &&Question| {
            !answered.iter().any(|one| one.question.key() == question.key()) || draft.is_still_open(question)
        };
        let open: Vec<Question> = numbered(&known).iter().filter(is_open).cloned().collect();
        let unknown = intake.answers.iter().find(|(number, _)| *number == 0 || *number > known.len());
        if let Some((number, _)) = unknown {
            return Err(Stopped::NoSuchQuestion(*number, known.len()));
        }
        if !open.is_empty() {
            return Err(Stopped::Questions(open));
        }
        return Ok(finished(intake, draft, &known, &answered));
    }
    Err(Stopped::Questions(numbered(&known)))
}

fn numbered(questions: &[Question]) -> Vec<Question> {
    let number = |(at, question): (usize, &Question)| Question { number: at + 1, ..question.clone() };
    questions.iter().enumerate().map(number).collect()
}

/// The answer to a question: of the user, of the spec, or by rule.
fn answer(intake: &Intake, spec: &spec::Spec, number: usize, question: &Question) -> Option<Answered> {
    let given = intake.answers.iter().rev().find(|(known, _)| *known == number);
    let made = |answer: String, by| Some(Answered { question: question.clone(), answer, by });
    if let Some((_, text)) = given {
        return made(text.clone(), AnsweredBy::User);
    }
    if let Some(text) = answers::in_spec(spec, question) {
        return made(text, AnsweredBy::Spec);
    }
    intake.best_judgement.then(|| made(question.judgement.clone(), AnsweredBy::Generator)).flatten()
}

fn finished(intake: &Intake, draft: assemble::Draft, known: &[Question], answered: &[Answered]) -> Reading {
    let mut brief = draft.brief;
    for (at, question) in known.iter().enumerate() {
        let Some(one) = answered.iter().find(|one| one.question.key() == question.key()) else { continue };
        brief.clarifications.push(Clarification {
            number: at + 1,
            question: question.text.clone(),
            line: question.line,
            answer: one.answer.clone(),
            answered_by: one.by,
        });
    }
    Reading { brief, skills: draft.skills, skill_files: intake.skills.len() }
}
