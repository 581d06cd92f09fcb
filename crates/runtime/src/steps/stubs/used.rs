//! The calls of a test case so far: which answer of a stub the next one gets.

use std::collections::HashMap;

use recipe::test_file::{Stub, StubKey, StubPlan, StubReply};
use serde::{Deserialize, Serialize};

use super::{CaseError, StepCall};

/// A call of a step in a test case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StubCalled {
    /// The step; `recovery:PATH` and `repair` for the agents around them.
    pub path: String,
    /// Which attempt.
    pub attempt: u32,
    /// The stub that answered; `None` if the step ran for real.
    pub stub: Option<usize>,
    /// Which of its answers.
    pub(super) entry: usize,
    /// How many calls of the same path the same answer got before.
    pub(super) before: usize,
    /// Whether a loop decided which of its answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_in_loop: bool,
    /// The prompt that an agent got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// The calls so far, and the mistakes of the case.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub(super) calls: Vec<StubCalled>,
    pub(super) errors: Vec<CaseError>,
    /// How many calls a list has answered one after the other.
    per_call: HashMap<usize, usize>,
    /// How many calls of a path an answer got.
    answered: HashMap<(usize, usize, String), usize>,
}

impl Used {
    /// Which answer of a stub a call gets, and how many calls of the same path got it before.
    pub(super) fn place(&self, number: usize, stub: &Stub, call: &StepCall) -> (usize, usize) {
        let entry = match (&stub.plan, call.instance.filter(|_| !names_instance(&stub.key))) {
            (StubPlan::Every(_), _) => 0,
            (StubPlan::Each(_), Some(instance)) => instance,
            (StubPlan::Each(replies), None) => {
                return in_turn(replies, self.per_call.get(&number).copied().unwrap_or(0));
            }
        };
        let before = self.answered.get(&(number, entry, call.path.clone())).copied().unwrap_or(0);
        (entry, before)
    }

    /// Takes a call in.
    pub(super) fn note(&mut self, stubs: &[Stub], call: StubCalled) {
        if let Some(number) = call.stub.filter(|number| *number < stubs.len()) {
            *self.per_call.entry(number).or_default() += usize::from(!call.is_in_loop);
            *self.answered.entry((number, call.entry, call.path.clone())).or_default() += 1;
        }
        self.calls.push(call);
    }
}

/// The place of a call in a list: an answer and those that follow from it with `then` are calls of their own.
fn in_turn(replies: &[StubReply], call: usize) -> (usize, usize) {
    let mut rest = call;
    for (entry, reply) in replies.iter().enumerate() {
        let calls = std::iter::successors(Some(reply), |reply| reply.then.as_deref()).count();
        match rest.checked_sub(calls) {
            None => return (entry, rest),
            Some(left) => rest = left,
        }
    }
    (replies.len(), 0)
}

/// Whether a key names one instance of a loop.
pub(super) fn names_instance(key: &StubKey) -> bool {
    matches!(key, StubKey::Steps(pattern) | StubKey::Recovery(pattern) if pattern.as_str().contains('['))
}
