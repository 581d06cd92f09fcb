//! Rules that read the events of an agent program: what each event says about its answer, its tools, its usage and its
//! end. Every rule that fits an event applies, in order.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call_state::{CallState, preview, say};
use super::path::{all, as_text, at, fits, total, words};
use super::tools::{ResultRule, ToolRule};
use super::{AgentEvent, AgentFailure};

/// What an event means. Paths look like `message.text`, `items.0`, or `items.*.name` for all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventRule {
    /// All of these fit: a path and its text. `*` matches any letters, and `|` separates alternatives; `<any>` is any value, `<none>`
    /// no value, `<text>` a text, `<object>` an object.
    pub when: BTreeMap<String, String>,
    /// One of these fits, if there are any.
    pub any: BTreeMap<String, String>,
    /// The other way to fit `any`: the event has only these fields.
    pub or_only: Vec<String>,
    /// None of these fits.
    pub unless: BTreeMap<String, String>,
    /// The id of the session.
    pub session: Option<String>,
    pub model: Option<String>,
    /// A map whose first name is the model, if it is not known yet.
    pub model_names: Option<String>,
    /// The id of a message: a new one begins a new answer, and `adds` counts only then.
    pub message: Option<String>,
    /// The next text begins a new answer.
    pub new_answer: bool,
    /// Text of the agent.
    pub text: Option<TextRule>,
    /// The use of a tool.
    pub tool: Option<ToolRule>,
    /// The end of a use of a tool.
    pub result: Option<ResultRule>,
    /// Usage of the whole call.
    pub sets: BTreeMap<UsageField, String>,
    /// Usage that is added up; `<one>` is 1.
    pub adds: BTreeMap<UsageField, String>,
    /// A step of the program begins or ends.
    pub step: Option<StepEdge>,
    /// Tools that the agent was not allowed to use.
    pub denied: Option<String>,
    /// A problem that does not end the call.
    pub complains: Option<Complaint>,
    /// The call failed.
    pub fails: Option<FailRule>,
    /// The call is finished.
    pub ends: Option<EndRule>,
    /// Rules for each item of a list in the event.
    pub each: Option<EachRule>,
}

/// Text of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextRule {
    at: String,
    #[serde(rename = "as")]
    way: TextWay,
    /// The text is an answer even without an event that ends the call, unless a step is open.
    #[serde(default)]
    settles: bool,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TextWay {
    /// The answer so far.
    Whole,
    /// The next part of the answer.
    Part,
    /// The next part of the answer, which may end inside a word.
    Delta,
    /// No answer, but shown.
    Shown,
}

/// A number of the usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageField {
    InputTokens,
    OutputTokens,
    /// Input tokens read from a cache.
    CacheReadTokens,
    /// Input tokens written into a cache.
    CacheWriteTokens,
    /// Cost in dollars.
    CostUsd,
    /// Turns of the conversation.
    Turns,
}

/// The begin or the end of a step of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEdge {
    /// It begins: the call is not finished.
    Begins,
    Ends,
}

/// A problem that does not end the call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Complaint {
    /// Where the message is: the first of these with a text.
    at: Vec<String>,
    /// The message otherwise.
    #[serde(rename = "default")]
    otherwise: String,
    /// Where the HTTP status is.
    status: Option<String>,
}

/// How the call failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailRule {
    /// Where the message is: the first of these with a text.
    at: Vec<String>,
    /// The message otherwise.
    #[serde(rename = "default")]
    otherwise: String,
    /// Where the HTTP status is.
    status: Option<String>,
    /// Where the number of seconds to wait is.
    retry_after: Option<String>,
    /// Where the text so far is.
    answer: Option<String>,
    /// The kind of the failure; without it, status and message decide.
    #[serde(rename = "as")]
    kind: Option<FailKind>,
    /// The message may be text of the model, so that only an error line in it counts.
    may_be_prose: bool,
    /// The program continues after this event.
    still_running: bool,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailKind {
    /// A limit on turns, budget or length is reached.
    Limit,
    /// The request is refused.
    Refused,
}

/// How the call is finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndRule {
    /// Where the answer is; the text so far if absent.
    answer: Option<String>,
    /// Where the exit code is: another one than 0 is a failure.
    exit_code: Option<String>,
}

/// Rules for each item of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EachRule {
    at: String,
    events: Vec<EventRule>,
}

/// Applies all rules that fit; false if none does.
pub(super) fn read(
    rules: &[EventRule],
    event: &Value,
    draft: &mut CallState,
    out: &mut Vec<AgentEvent>,
) -> bool {
    let mut is_known = false;
    for rule in rules.iter().filter(|rule| rule.fits(event)) {
        is_known = true;
        rule.apply(event, draft, out);
    }
    is_known
}

impl EventRule {
    fn fits(&self, event: &Value) -> bool {
        let one = |(path, wanted): (&String, &String)| fits(at(event, path), wanted);
        let has_only = || {
            let is_listed = |key: &String| self.or_only.contains(key);
            !self.or_only.is_empty() && event.as_object().is_some_and(|all| all.keys().all(is_listed))
        };
        self.when.iter().all(one)
            && (self.any.is_empty() || self.any.iter().any(one) || has_only())
            && !self.unless.iter().any(one)
    }

    fn apply(&self, event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
        let path = |path: &Option<String>| path.as_ref().and_then(|path| words(event, path));
        draft.set_session(path(&self.session).as_deref(), out);
        draft.set_model(path(&self.model).as_deref(), out);
        self.take_model_names(event, draft, out);
        let is_new = match path(&self.message) {
            Some(id) => draft.begin_message(&id),
            None => true,
        };
        if self.new_answer {
            draft.begin_answer();
        }
        self.count(event, draft, is_new);
        if let Some(edge) = self.step {
            draft.in_step = edge == StepEdge::Begins;
            draft.is_settled = false;
            draft.done &= !draft.in_step;
        }
        if let Some(text) = &self.text {
            text.apply(event, draft, out);
        }
        if let Some(rule) = &self.tool {
            out.push(rule.event(event));
        }
        if let Some(rule) = &self.result {
            out.push(rule.event(event));
        }
        if let Some(each) = &self.each {
            let items = at(event, &each.at).and_then(Value::as_array);
            for item in items.into_iter().flatten() {
                read(&each.events, item, draft, out);
            }
        }
        for name in self.denied.iter().flat_map(|path| all(event, path)).filter_map(Value::as_str) {
            draft.deny(preview(name));
        }
        if let Some(complaint) = &self.complains {
            draft.complain(&complaint.message(event), out);
        }
        if let Some(failure) = &self.fails {
            failure.apply(event, draft);
        }
        if let Some(end) = &self.ends {
            end.apply(event, draft);
        }
    }

    fn take_model_names(&self, event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
        let names = self.model_names.as_ref().and_then(|path| at(event, path)?.as_object());
        let first = names.and_then(|names| names.keys().next());
        if draft.usage.model.is_none() {
            draft.set_model(first.map(String::as_str), out);
        }
    }

    fn count(&self, event: &Value, draft: &mut CallState, is_new: bool) {
        let usage = &mut draft.usage;
        for (field, path) in &self.sets {
            match field.tokens(usage) {
                Some(number) => *number = total(event, path),
                None => usage.cost_usd = at(event, path).and_then(Value::as_f64),
            }
        }
        for (field, path) in self.adds.iter().filter(|_| is_new) {
            match field.tokens(usage) {
                Some(sum) => super::call_state::add(sum, total(event, path)),
                None => {
                    let cost = at(event, path).and_then(Value::as_f64).filter(|cost| *cost > 0.0);
                    usage.cost_usd = cost.map(|cost| cost + usage.cost_usd.unwrap_or(0.0)).or(usage.cost_usd);
                }
            }
        }
    }
}

impl UsageField {
    /// The number; `None` for the cost.
    fn tokens(self, usage: &mut super::Usage) -> Option<&mut Option<u64>> {
        match self {
            UsageField::InputTokens => Some(&mut usage.input_tokens),
            UsageField::OutputTokens => Some(&mut usage.output_tokens),
            UsageField::CacheReadTokens => Some(&mut usage.cache_read_tokens),
            UsageField::CacheWriteTokens => Some(&mut usage.cache_write_tokens),
            UsageField::Turns => Some(&mut usage.turns),
            UsageField::CostUsd => None,
        }
    }
}

impl TextRule {
    fn apply(&self, event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) {
        let text = words(event, &self.at).unwrap_or_default();
        match self.way {
            TextWay::Whole if !text.is_empty() => draft.answer.set(&text),
            TextWay::Part | TextWay::Delta if !draft.done => draft.say_more(&text),
            _ => {}
        }
        draft.is_settled = self.settles && !draft.in_step;
        match self.way {
            TextWay::Delta if !text.is_empty() => out.push(AgentEvent::Piece { text: text.into_owned() }),
            _ => say(&text, out),
        }
    }
}

/// The first text at one of these paths.
fn message(event: &Value, paths: &[String], otherwise: &str) -> String {
    let found = paths.iter().filter_map(|path| words(event, path)).find(|text| !text.is_empty());
    found.map_or_else(|| otherwise.to_owned(), Cow::into_owned)
}

impl Complaint {
    fn message(&self, event: &Value) -> String {
        let message = message(event, &self.at, &self.otherwise);
        match self.status.as_ref().and_then(|path| total(event, path)) {
            Some(status) => format!("{message} (status {status})"),
            None => message,
        }
    }
}

impl FailRule {
    fn apply(&self, event: &Value, draft: &mut CallState) {
        let message = message(event, &self.at, &self.otherwise);
        let answer = self.answer.as_ref().and_then(|path| words(event, path));
        if let Some(answer) = answer.filter(|answer| !answer.is_empty()) {
            draft.answer.set(&answer);
        }
        match self.status.as_ref().and_then(|path| total(event, path)) {
            None if self.may_be_prose => draft.fail_in_words(&message),
            status => draft.fail(status, &message),
        }
        match self.kind {
            Some(FailKind::Limit) => draft.failure = Some(AgentFailure::Limit { message }),
            Some(FailKind::Refused) => {
                draft.failure = Some(AgentFailure::Refused { status: None, message });
            }
            None => {}
        }
        let seconds = self.retry_after.as_ref().and_then(|path| at(event, path));
        if let Some(AgentFailure::RateLimited { retry_after, .. }) = &mut draft.failure {
            *retry_after = seconds.and_then(|wait| as_text(wait).parse().ok()).or(*retry_after);
        }
        draft.done &= !self.still_running;
    }
}

impl EndRule {
    fn apply(&self, event: &Value, draft: &mut CallState) {
        let Some(path) = &self.exit_code else {
            return match self.answer.as_ref().map(|path| words(event, path)) {
                None => draft.finish(None),
                Some(Some(answer)) => draft.finish(Some(&answer)),
                // `null`: an end without an answer is not a result
                Some(None) => draft.done = false,
            };
        };
        match total(event, path) {
            Some(0) => draft.finish(None),
            Some(code) if draft.failure.is_none() => {
                let complaint = draft.complaint.take();
                draft.fail(None, &complaint.unwrap_or_else(|| format!("exit code {code}")));
            }
            // The name of the field can be hidden; then the exit code of the process decides.
            _ => draft.done = true,
        }
    }
}
