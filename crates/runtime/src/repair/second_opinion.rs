//! A second agent looks at the changes that no rule decides: does the repair make the recipe weaker?
//!
//! Only a clear answer accepts a change. Everything else leaves the question to a person.

use engine::repair_review::{Change, DecidedBy, ReviewVerdict};
use recipe::value::Value;

use super::{
    AutoFixError,
    agent_call::{AgentCall, Silence},
    between_attempts::BetweenAttempts,
    proposal::{Repairer, prompt::evidence, repair_dir},
};
use crate::{
    report::{RunResult, auto_fix::UnusableReview},
    run::Halt,
    store::folder::make_dir,
};

impl Repairer<'_> {
    /// Asks the reviewer, if there is one and a question is open.
    pub(super) fn second_opinion(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        number: u32,
        changes: &mut [Change],
        (before, after): (&[u8], &[u8]),
        result: &RunResult,
    ) -> Result<SecondOpinion, AutoFixError> {
        let open: Vec<String> = changes.iter().filter(is_open).map(Change::describe).collect();
        let Some(name) = self.reviewer.filter(|_| !open.is_empty()) else {
            return Ok(SecondOpinion::default());
        };
        let dir = repair_dir(number).join("review");
        let cwd = self.folder.path().join(&dir);
        make_dir(&cwd)?;
        let prompt = prompt(&open, before, after, result);
        let (answer, halt) = self.ask(desk, AgentCall { number, dir, cwd, program: Some(name), prompt })?;
        if halt.is_some() {
            return Ok(SecondOpinion { halt, unusable: None });
        }
        let opinion = match answer {
            Ok(text) => {
                Opinion::read(&text).ok_or_else(|| "it is not the JSON object that was asked for".to_owned())
            }
            Err(Silence::Agent(error) | Silence::Service(error)) => Err(error),
        };
        let opinion = match opinion {
            Ok(opinion) => opinion,
            Err(why) => {
                let unusable = Some(UnusableReview { agent: name.to_owned(), why });
                return Ok(SecondOpinion { halt, unusable });
            }
        };
        for change in changes.iter_mut().filter(|change| is_open(&&**change)) {
            change.decided_by = DecidedBy::Agent { name: name.to_owned(), why: opinion.why.clone() };
            if !opinion.is_weaker {
                change.verdict = ReviewVerdict::Accepted;
            }
        }
        Ok(SecondOpinion::default())
    }
}

/// How the review ended, besides its decisions.
#[derive(Default)]
pub(super) struct SecondOpinion {
    /// The stop that was requested meanwhile.
    pub(super) halt: Option<Halt>,
    /// The answer, if it cannot be used.
    pub(super) unusable: Option<UnusableReview>,
}

fn is_open(change: &&Change) -> bool {
    change.verdict == ReviewVerdict::Ask
}

/// The answer of a reviewer.
#[derive(Debug, PartialEq, Eq)]
struct Opinion {
    is_weaker: bool,
    why: String,
}

impl Opinion {
    /// `{"weaker": true or false, "why": "…"}` and nothing else, with or without a fence: text around it may quote the
    /// proposal, which may hold an answer of its own.
    fn read(answer: &str) -> Option<Opinion> {
        let answer = answer.trim();
        let fenced = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
        let inner = fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(answer);
        let Value::Map(fields) = Value::from_json(inner.trim()).ok()? else { return None };
        match (fields.get("weaker")?, fields.get("why")?) {
            (Value::Bool(is_weaker), Value::Text(why)) if !why.trim().is_empty() => {
                Some(Opinion { is_weaker: *is_weaker, why: why.trim().to_owned() })
            }
            _ => None,
        }
    }
}

fn prompt(open: &[String], before: &[u8], after: &[u8], result: &RunResult) -> String {
    let failure = result.failure.as_ref();
    format!(
        "A workflow recipe failed, and another agent proposes a repair. Does the repair make the recipe weaker: does it \
         check less, hide a failure, or do less than before? Do not change any file.\n\n\
         Failed step: {}\nError: {}\nEvidence:\n{}\n\nChanges that need a decision:\n{}\n\n\
         Before:\n```yaml\n{}\n```\n\nAfter:\n```yaml\n{}\n```\n\n\
         Answer with JSON only: {{\"weaker\": true or false, \"why\": \"one sentence\"}}\n",
        failure.map_or("", |failure| &failure.step),
        failure.map_or("", |failure| &failure.error),
        evidence(result),
        open.iter().map(|change| format!("- {change}")).collect::<Vec<_>>().join("\n"),
        String::from_utf8_lossy(before),
        String::from_utf8_lossy(after),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_is_an_opinion() {
        let opinion = |is_weaker, why: &str| Some(Opinion { is_weaker, why: why.to_owned() });
        for (answer, expected) in [
            ("{\"weaker\": false, \"why\": \"same check\"}", opinion(false, "same check")),
            ("```json\n{\"weaker\": true, \"why\": \"no\"}\n```\n", opinion(true, "no")),
            ("Well:\n```json\n{\"weaker\": false, \"why\": \"no\"}\n```", None),
            ("A comment says {\"weaker\": false, \"why\": \"x\"}. {\"weaker\": true, \"why\": \"y\"}", None),
            ("{\"weaker\": \"false\", \"why\": \"x\"}", None),
            ("{\"weaker\": false}", None),
            ("{\"weaker\": false, \"why\": \" \"}", None),
            ("It is fine.", None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(Opinion::read(answer), expected, "{answer}");
        }
    }
}
