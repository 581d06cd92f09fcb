//! Delivery: flags, contradictions and approval.

use crate::{
    brief::{AnsweredBy, Approval, Delivery, Effect, EffectKind},
    intake::{
        Answered,
        question::{Cause, Question},
    },
    reading::delivery::ReadDelivery,
};

/// The delivery, with the questions about it. `risk` is the reason why a person approves in any case.
pub(super) fn delivery(
    read: ReadDelivery,
    flag: Option<bool>,
    risk: Option<&str>,
    answered: &[Answered],
) -> (Delivery, Vec<Question>) {
    let mut questions = Vec::new();
    let mut effects = read.effects;
    let wants_pr = effects.iter().position(|effect| effect.kind == EffectKind::Pr);
    let keeps_pr = match (flag, wants_pr, &read.refuses_pr) {
        (Some(flag), ..) => flag,
        (None, Some(at), Some((text, line))) => {
            let question = pr_question(&effects[at], text, *line);
            let answer = answer_to(&question, answered).map(says_yes);
            questions.push(question);
            answer.unwrap_or(false)
        }
        (None, wanted, _) => wanted.is_some(),
    };
    match (keeps_pr, wants_pr) {
        (false, _) => effects.retain(|effect| effect.kind != EffectKind::Pr),
        (true, None) => {
            // a push is part of opening the pull request
            effects.retain(|effect| effect.kind != EffectKind::Push);
            effects.insert(
                0,
                Effect {
                    kind: EffectKind::Pr,
                    base: None,
                    command: None,
                    text: "--pr".to_owned(),
                    line: None,
                },
            );
        }
        (true, Some(_)) => {}
    }
    let mut approval = read.approval;
    if let (None, Some(risk), false) = (&approval, risk, effects.is_empty() || read.needs_no_approval) {
        approval = Some(Approval { reason: risk.to_owned(), line: None });
    }
    let outside = effects.iter().find(|effect| effect.kind != EffectKind::Pr);
    if let (Some(effect), None, false) = (outside, &approval, read.needs_no_approval) {
        let question = approval_question(effect);
        if answer_to(&question, answered).is_some_and(says_yes) {
            let by = answered.iter().find(|one| one.question.key() == question.key()).map(|one| one.by);
            let reason = match by {
                Some(AnsweredBy::Generator) => "best judgement: no rule about approval was given",
                _ => "the answer to the question about approval",
            };
            approval = Some(Approval { reason: reason.to_owned(), line: effect.line });
        }
        questions.push(question);
    }
    let approval = approval.filter(|_| !effects.is_empty());
    (Delivery { effects, approval }, questions)
}

fn answer_to<'a>(question: &Question, answered: &'a [Answered]) -> Option<&'a str> {
    answered.iter().find(|one| one.question.key() == question.key()).map(|one| one.answer.as_str())
}

/// Everything but a clear no.
fn says_yes(answer: &str) -> bool {
    let first = answer.trim().to_lowercase();
    let first = first.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    !["no", "not", "never", "false", "without", "none", "don"].contains(&first.as_str())
}

fn pr_question(effect: &Effect, refusal: &str, line: usize) -> Question {
    Question {
        number: 0,
        text: format!(
            "The spec says \"{}\" and \"{refusal}\": should the recipe open a pull request?",
            effect.text
        ),
        line: Some(line),
        cause: Cause::Contradiction,
        judgement: "No. A pull request can be opened later; it cannot be taken back.".to_owned(),
        subject: "pr".to_owned(),
        listed: None,
    }
}

fn approval_question(effect: &Effect) -> Question {
    Question {
        number: 0,
        text: format!("\"{}\" reaches the outside: should a person approve it first?", effect.text),
        line: effect.line,
        cause: Cause::EffectWithoutApproval,
        judgement: "Yes. The run waits for a person before it.".to_owned(),
        subject: "approval".to_owned(),
        listed: None,
    }
}
