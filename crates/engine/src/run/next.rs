//! What a person can do next, as data. Each surface spells it in its own way: as a command, a button, a link.

use recipe::plan::Budget;
use serde::{Deserialize, Serialize};

/// Something that a person can do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Resume a run.
    Resume {
        /// The run.
        run: String,
        /// How.
        #[serde(default)]
        how: ResumeChoice,
    },
    /// Answer a question of a run.
    Answer {
        /// The run.
        run: String,
        /// The step that asks.
        step: String,
        /// The choice.
        choice: String,
        /// Fields that the answer needs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<String>,
    },
    /// Look at a run.
    Show {
        /// The run.
        run: String,
    },
    /// Read the output of a run.
    Logs {
        /// The run.
        run: String,
        /// Only this step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// Check a recipe.
    Validate {
        /// The recipe.
        recipe: String,
    },
    /// See which programs this machine has.
    Doctor,
    /// Start a run from the beginning.
    Start(Box<StartAgain>),
    /// A command as an older version has stored it.
    #[serde(untagged)]
    Written(String),
}

impl Next {
    /// A plain resume.
    pub fn resume(run: &str) -> Next {
        Next::Resume { run: run.to_owned(), how: ResumeChoice::default() }
    }

    /// A resume with another recipe.
    pub fn resume_with(run: &str, recipe: &str) -> Next {
        let how = ResumeChoice { recipe: Some(recipe.to_owned()), ..ResumeChoice::default() };
        Next::Resume { run: run.to_owned(), how }
    }
}

/// How a run is resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResumeChoice {
    /// With this edited recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// With the repair that waits for a decision.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accept_repair: bool,
    /// Only look at the plan.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
    /// From this step on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Run the steps again whose results the failed step reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun_producers: bool,
    /// Run completed side effects again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun_effects: bool,
    /// Run interrupted steps again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rerun_interrupted: bool,
    /// Leave interrupted steps out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_interrupted: bool,
    /// With this budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// A run to start from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartAgain {
    /// Its recipe, with a name valid in any directory.
    pub recipe: String,
    /// Where it works; absent if that directory was deleted.
    pub working_dir: Option<String>,
    /// Directories of recipes.
    pub recipe_dirs: Vec<String>,
    /// A file with given values.
    pub context_file: Option<String>,
    /// Other given values.
    pub inputs: Vec<(String, StartValue)>,
    /// Variables of the environment.
    pub variables: Vec<(String, StartValue)>,
    /// Its options.
    pub options: Vec<StartOption>,
}

/// A value of a run to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartValue {
    /// This text.
    Text(String),
    /// A secret, which only the environment has.
    Secret,
    /// A value that the person has to choose.
    Missing,
    /// A secret that the person passes in a file, so that no command line has it.
    File,
}

/// An option of a run to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartOption {
    /// Tags of steps that run.
    IncludeTags(Vec<String>),
    /// Tags of steps that do not run.
    ExcludeTags(Vec<String>),
    /// The directory of an audit log.
    AuditDir(String),
    /// The agent program of steps that name none.
    AgentBinary(String),
    /// What agents may do in steps that do not say so.
    Permissions(String),
    /// The default timeout of steps in seconds.
    StepTimeout(f64),
    /// How many steps of a group run at the same time.
    MaxParallel(usize),
    /// How many agents work at the same time.
    MaxAgents(usize),
    /// Every failed sub-recipe may be finished by an agent (`true`), or none.
    Recovery(bool),
    /// Dollars that agents may cost.
    BudgetUsd(f64),
    /// Tokens that agents may use.
    BudgetTokens(u64),
    /// How many agent calls there may be.
    BudgetAgentRuns(u64),
    /// Minutes that agents may work.
    BudgetMinutes(f64),
    /// It behaves as wrappers of other runners expect.
    Compat,
    /// Files that agents changed are not staged.
    NoAutoStage,
    /// No cleanup step runs after a request to stop.
    NoCleanup,
}

/// A piece of advice: what to do, and the action that does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do.
    pub text: String,
    /// The action, after the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Whether the action is part of the last sentence of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inline: bool,
}

impl Advice {
    /// Advice without an action.
    pub fn new(text: impl Into<String>) -> Advice {
        Advice { text: text.into(), next: None, is_inline: false }
    }

    /// Advice with an action.
    pub fn with(text: impl Into<String>, next: Next) -> Advice {
        Advice { text: text.into(), next: Some(next), is_inline: false }
    }

    /// Advice whose last sentence ends with the action.
    pub fn inline(text: impl Into<String>, next: Next) -> Advice {
        Advice { is_inline: true, ..Advice::with(text, next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_survives_json_and_old_texts_are_read() {
        let how = ResumeChoice { plan: true, ..ResumeChoice::default() };
        for (next, json) in [
            (Next::resume("r"), r#"{"resume":{"run":"r","how":{}}}"#),
            (Next::Resume { run: "r".to_owned(), how }, r#"{"resume":{"run":"r","how":{"plan":true}}}"#),
            (Next::Doctor, r#""doctor""#),
            (Next::Written("show r".to_owned()), r#""show r""#),
        ] {
            assert_eq!(serde_json::to_string(&next).unwrap(), json);
            assert_eq!(serde_json::from_str::<Next>(json).unwrap(), next);
        }
    }
}
