//! Whether the criteria prove a behaviour, and the question if they do not.

use crate::{
    brief::{Check, Criterion, Targets},
    intake::question::{Cause, Question},
    reading::pattern,
};

/// Whether a check proves a behaviour; documents are their own proof.
pub(super) fn is_proof(check: &Check, targets: &Targets) -> bool {
    match check {
        Check::Supporting { .. } => false,
        Check::FileMentions { .. } | Check::FileLacks { .. } | Check::FileExists { .. } => {
            pattern::is_documents(targets)
        }
        _ => true,
    }
}

/// Asks for criteria where there are none, or none that proves a behaviour.
pub(super) fn proof_questions(
    criteria: Vec<Criterion>,
    goal: &str,
    targets: &Targets,
    questions: &mut Vec<Question>,
) -> Vec<Criterion> {
    let of_spec: Vec<&Criterion> = criteria.iter().filter(|one| one.line > 0).collect();
    let (cause, text, line) = if of_spec.is_empty() {
        (
            Cause::NoCriterion,
            "Which behaviour shows that the work is done? The spec has no acceptance criterion.".to_owned(),
            None,
        )
    } else if !of_spec.iter().any(|one| is_proof(&one.check, targets)) {
        let text = format!("Which behaviour shows success? \"{}\" is no proof of one.", of_spec[0].text);
        (Cause::OnlyShapeCriteria, text, Some(of_spec[0].line))
    } else {
        return criteria;
    };
    let first = goal.lines().next().unwrap_or_default();
    let judgement = match first.is_empty() {
        true => "A person decides whether the work is done.".to_owned(),
        false => format!("A person decides whether the goal is reached: {first}"),
    };
    questions.push(Question {
        number: 0,
        text,
        line,
        cause,
        judgement,
        subject: "criterion".to_owned(),
        listed: None,
    });
    criteria
}
