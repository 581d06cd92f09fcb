//! A request for a run as its folder stores it: normalised, so that equal requests have equal bytes.
//!
//! Keys are sorted, paths are absolute and defaults are left out. Secrets are masked, and the origin is stored
//! elsewhere.

use std::{collections::BTreeMap, path::PathBuf};

use recipe::{
    digest::sha256,
    plan::Budget,
    value::{Map, Value},
};
use serde::{Deserialize, Serialize};

use super::{AgentChoice, Recovery, TagFilter};
use crate::store::secrets::Mask;

/// The longest value that is stored itself, in bytes.
const LONGEST: usize = 2048;

/// Whether a run may start next to a live one in the same workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// It may not.
    #[default]
    Refused,
    /// The user allows it.
    Allowed,
}

/// Who decides about a repair that no rule decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepairReview {
    /// The agent program that gives a second opinion.
    #[serde(skip_serializing_if = "is_default")]
    pub agent: Option<String>,
    /// What happens to the questions that remain; a person decides if absent.
    #[serde(skip_serializing_if = "asks_a_person")]
    pub questions: Option<Questions>,
}

fn asks_a_person(questions: &Option<Questions>) -> bool {
    questions.unwrap_or_default() == Questions::Person
}

impl RepairReview {
    /// These settings, and those of an earlier request where nothing is set.
    pub(crate) fn or(&self, earlier: &RepairReview) -> RepairReview {
        RepairReview {
            agent: self.agent.clone().or_else(|| earlier.agent.clone()),
            questions: self.questions.or(earlier.questions),
        }
    }
}

/// What happens to a repair that no rule decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Questions {
    /// A person decides.
    #[default]
    Person,
    /// It is refused.
    Refuse,
}

/// The options of a request. An absent one has its default; a resume keeps the run's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestOptions {
    /// The agents of steps that do not choose for themselves.
    #[serde(flatten)]
    pub agent: AgentChoice,
    /// What happens to questions.
    #[serde(flatten)]
    pub asking: AskOptions,
    /// The directory of an audit log, absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub audit_dir: Option<PathBuf>,
    /// The maximum number of runs of auto-fix.
    #[serde(skip_serializing_if = "is_default")]
    pub auto_fix: Option<u32>,
    /// What agents may use.
    #[serde(skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// Whether stale locks of dead runs are cleared.
    #[serde(skip_serializing_if = "is_default")]
    pub clear_stale: bool,
    /// Whether it behaves as wrappers of other runners expect.
    #[serde(skip_serializing_if = "is_default")]
    pub compat: bool,
    /// Whether nothing is executed.
    #[serde(skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// Which tagged steps run.
    #[serde(flatten)]
    pub tags: TagFilter,
    /// How many agents work at the same time.
    #[serde(skip_serializing_if = "is_default")]
    pub max_agents: Option<usize>,
    /// How many steps of a group run at the same time.
    #[serde(skip_serializing_if = "is_default")]
    pub max_parallel: Option<usize>,
    /// Whether auto-fix is switched off.
    #[serde(skip_serializing_if = "is_default")]
    pub no_auto_fix: bool,
    /// Whether files that agents changed are not staged.
    #[serde(skip_serializing_if = "is_default")]
    pub no_auto_stage: bool,
    /// Whether no cleanup step runs after a request to stop.
    #[serde(skip_serializing_if = "is_default")]
    pub no_cleanup: bool,
    /// Directories of recipes, absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub recipe_dirs: Vec<PathBuf>,
    /// Which failed sub-recipes an agent may try to finish.
    #[serde(skip_serializing_if = "is_default")]
    pub recovery: Option<Recovery>,
    /// The agent program that repairs recipes.
    #[serde(skip_serializing_if = "is_default")]
    pub repair_agent: Option<String>,
    /// Who decides about a repair that no rule decides.
    #[serde(skip_serializing_if = "is_default")]
    pub review: RepairReview,
    /// The default timeout of steps in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub step_timeout: Option<f64>,
    /// Whether warnings are errors.
    #[serde(skip_serializing_if = "is_default")]
    pub strict: bool,
}

/// What happens to questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskOptions {
    /// Answers that are given beforehand, by the paths of the questions.
    #[serde(skip_serializing_if = "is_default")]
    pub answers: BTreeMap<String, engine::run::question::GivenAnswer>,
    /// Whether the run stays and waits for answers; a matter of the process, not of the run.
    #[serde(skip)]
    pub wait: bool,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A request for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRequest {
    /// Whether it may run next to a live run.
    pub beside: Beside,
    /// Given values by name.
    pub inputs: BTreeMap<String, StoredInput>,
    /// The options.
    pub options: RequestOptions,
    /// The recipe: its absolute path, or the name of a built-in one.
    pub recipe: String,
    /// The working directory, absolute.
    pub working_dir: PathBuf,
}

/// A given value of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredInput {
    /// A value; a secret one is masked.
    Value(Value),
    /// A long value, by the SHA-256 of its text.
    Sha256(String),
}

/// Given values in the form for files; `mask` knows which ones are secret.
pub fn store_inputs(values: &Map, mask: &Mask) -> BTreeMap<String, StoredInput> {
    let stored = |name: &String, value: &Value| {
        let value = normal(&mask.value(name, value));
        let text = value.render();
        match text.len() > LONGEST {
            true => StoredInput::Sha256(sha256(text.as_bytes())),
            false => StoredInput::Value(value.clone()),
        }
    };
    values.iter().map(|(name, value)| (name.clone(), stored(name, value))).collect()
}

/// The same for equal values: keys are sorted. A number that JSON cannot spell as it was given is kept as text.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) if value.to_json() != number.as_str() => Value::text(number.as_str()),
        Value::List(items) => Value::list(items.iter().map(normal).collect()),
        Value::Map(members) => {
            let mut members: Map =
                members.iter().map(|(name, value)| (name.clone(), normal(value))).collect();
            members.sort_keys();
            Value::map(members)
        }
        value => value.clone(),
    }
}

impl RequestOptions {
    /// The same for equal requests: the order of tags means nothing.
    pub(crate) fn sort_tags(&mut self) {
        for tags in [&mut self.tags.include_tags, &mut self.tags.exclude_tags] {
            tags.sort();
            tags.dedup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_left_out_and_keys_are_sorted() {
        let mut request = StoredRequest {
            beside: Beside::Refused,
            inputs: BTreeMap::new(),
            options: RequestOptions::default(),
            recipe: "/r.yaml".to_owned(),
            working_dir: "/w".into(),
        };
        let empty = r#"{"beside":"refused","inputs":{},"options":{},"recipe":"/r.yaml","working_dir":"/w"}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), empty);
        assert_eq!(serde_json::from_str::<StoredRequest>(empty).unwrap(), request);
        request.options = RequestOptions {
            agent: AgentChoice {
                agent_binary: Some("a".to_owned()),
                permissions: Some(recipe::syntax::PermissionLevel::Edit),
            },
            asking: AskOptions { answers: [("q".to_owned(), Default::default())].into(), wait: true },
            audit_dir: Some("/a".into()),
            auto_fix: Some(1),
            budget: Budget { usd: Some(1.0), ..Budget::default() },
            clear_stale: true,
            compat: true,
            dry_run: true,
            tags: TagFilter { exclude_tags: vec!["x".to_owned()], include_tags: vec!["y".to_owned()] },
            max_agents: Some(1),
            max_parallel: Some(2),
            no_auto_fix: true,
            no_auto_stage: true,
            no_cleanup: true,
            recipe_dirs: vec!["/d".into()],
            recovery: Some(Recovery::Off),
            repair_agent: Some("b".to_owned()),
            review: RepairReview { agent: Some("c".to_owned()), questions: Some(Questions::Refuse) },
            step_timeout: Some(1.0),
            strict: true,
        };
        let json = serde_json::to_value(&request).unwrap();
        let keys: Vec<&String> = json["options"].as_object().unwrap().keys().collect();
        assert!(keys.is_sorted() && keys.len() == 22, "{keys:?}");
    }

    #[test]
    fn secrets_are_masked_and_long_values_are_stored_by_their_digest() {
        let long = "x".repeat(LONGEST + 1);
        let values: Map = [("api_key", "hidden-value"), ("who", "you"), ("long", long.as_str())]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect();
        let mut mask = Mask::default();
        mask.learn(&values);
        let stored = serde_json::to_string(&store_inputs(&values, &mask)).unwrap();
        assert_eq!(
            stored,
            format!(
                r#"{{"api_key":{{"value":"[REDACTED]"}},"long":{{"sha256":"{}"}},"who":{{"value":"you"}}}}"#,
                sha256(long.as_bytes())
            )
        );
    }
}
