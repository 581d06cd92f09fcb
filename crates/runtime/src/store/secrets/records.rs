//! The secrets in what a run records: items of loops, results and answers.

use engine::{Event, RunState};
use recipe::{
    plan::{JsonMode, Step},
    value::Value,
};

use super::Mask;

impl Mask {
    /// Learns the secret items of the loop that a step entered.
    pub fn learn_items(&mut self, state: &RunState, path: &str) {
        let frame = state.step(path).and_then(|step| step.frame).map(|frame| &state.frames[frame]);
        if let Some(looped) = frame.and_then(|frame| frame.looped.as_ref())
            && let Some(each) = looped.each()
        {
            looped.items.iter().for_each(|item| self.learn_value(&each.item, item));
        }
    }

    /// Learns the secrets in the result of a step.
    pub fn learn_result(&mut self, step: &Step, value: &Value) {
        if let Some(name) = &step.store {
            self.learn_value(name, value);
        }
        if let (Value::Text(text), true) = (value, step.json != JsonMode::Text) {
            self.learn_members(text);
        }
    }

    /// Learns the secret fields of an answer.
    pub fn learn_answer(&mut self, state: &RunState, event: &Event) {
        let Event::Answered(answered) = event else { return };
        let Some(asked) = state.questions.get(&answered.path) else { return };
        for field in asked.put.fields.iter().filter(|field| field.is_secret()) {
            answered.fields.get(&field.name).into_iter().for_each(|value| self.learn_all(value));
        }
    }
}
