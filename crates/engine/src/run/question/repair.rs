//! Questions about repairs of auto-fix: no step of the recipe asks them.

use super::QuestionStatus;
use crate::run::{event::Answered, state::RunState};

/// The beginning of the paths of questions about repairs.
const REPAIR: &str = "auto-fix/repair-";
/// The choice that uses a repair.
pub const ACCEPT: &str = "accept";
/// The choice that does not use it.
pub const REFUSE: &str = "refuse";

/// The path of the question about a repair.
pub fn repair_path(number: u32) -> String {
    format!("{REPAIR}{number}")
}

/// Whether a question is about a repair, and not a step of the recipe.
pub fn is_repair(path: &str) -> bool {
    path.starts_with(REPAIR)
}

/// What a person decided about a repair that the run has not used yet.
#[derive(Clone, Debug, PartialEq)]
pub enum RepairDecision {
    /// The question waits.
    Open,
    /// It is to be used.
    Accepted(Box<Answered>),
    /// It is not to be used.
    Refused(Box<Answered>),
}

impl RunState {
    /// The decision about the repair whose question the run has not left behind; absent if there is none.
    pub fn repair_decision(&self) -> Option<RepairDecision> {
        let repairs = self.questions.iter().filter(|(path, _)| is_repair(path));
        repairs.into_iter().find_map(|(_, asked)| match &asked.status {
            QuestionStatus::Open => Some(RepairDecision::Open),
            QuestionStatus::Answered(answered) if answered.choice == ACCEPT => {
                Some(RepairDecision::Accepted(answered.clone()))
            }
            QuestionStatus::Answered(answered) => Some(RepairDecision::Refused(answered.clone())),
            QuestionStatus::Closed(_) | QuestionStatus::Withdrawn => None,
        })
    }

    /// The questions whose answers no step has used yet.
    pub fn unused_answers(&self) -> Vec<&Answered> {
        let unused = self.questions.values().filter_map(|asked| match &asked.status {
            QuestionStatus::Answered(answered) => Some(&**answered),
            _ => None,
        });
        unused.collect()
    }
}
