//! Whether an answer is hollow: its agent could not reach the work or said nothing, and neither machines nor the answer
//! show a result. In doubt it is not.

use super::{
    answer_text::{plain_text, sentences},
    kinds::{GoalStatus, TaskType},
    results::{has_counted_tests, has_result},
    unreached::says_unreached,
};

/// How much of each end of a very long answer is read, in bytes.
const MOST_END: usize = 100_000;

/// Whether there is evidence of work, as machines see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenWork {
    /// There is some.
    Seen,
    /// There is none.
    None,
}

/// What the rules say about an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HollowVerdict {
    /// Whether it is hollow.
    pub hollow: bool,
    /// The status that follows from the rules alone; `UNKNOWN` if the answer has to be judged.
    pub verdict: GoalStatus,
    /// Why, a sentence each.
    pub reasons: Vec<&'static str>,
}

/// Judges the answer of a task of this type.
pub fn judge_hollow(task_type: TaskType, work: SeenWork, answer: &str) -> HollowVerdict {
    let plain = shortened(&plain_text(answer));
    let is_silent = !plain.contains(char::is_alphanumeric);
    let is_unreached = !is_silent && says_unreached(&sentences(&plain));
    let has_result = has_result(&plain);
    let hollow = work == SeenWork::None && (is_silent || is_unreached) && !has_result;
    let mut reasons = Vec::new();
    let mut reason = |holds: bool, text| reasons.extend(holds.then_some(text));
    reason(is_silent, "the agent said nothing");
    reason(is_unreached, "the agent says that it could not reach the work");
    reason(work == SeenWork::Seen, "there is evidence of work");
    reason(work == SeenWork::None, "there is no evidence of work");
    reason(has_result, "the answer names a result");
    reason(!has_result && !is_silent, "the answer names no path, diff, test result, code or finding");
    let verdict = match task_type {
        _ if hollow => GoalStatus::Hollow,
        TaskType::Question => GoalStatus::Answered,
        TaskType::Development if work == SeenWork::None && !has_counted_tests(&plain) => {
            GoalStatus::NotAchieved
        }
        _ => GoalStatus::Unknown,
    };
    HollowVerdict { hollow, verdict, reasons }
}

/// The beginning and the end of a very long answer.
fn shortened(plain: &str) -> String {
    if plain.len() <= 2 * MOST_END {
        return plain.to_owned();
    }
    let near =
        |from: usize| (from..plain.len()).find(|at| plain.is_char_boundary(*at)).unwrap_or(plain.len());
    let (start, end) = (near(MOST_END), near(plain.len() - MOST_END));
    format!("{}\n{}", &plain[..start], &plain[end..])
}
