//! The options of a run, as its folder stores them. Decides nothing.

use std::{collections::BTreeMap, path::PathBuf};

pub use engine::run::recipe_step::Recovery;
use recipe::syntax::PermissionLevel;
use serde::{Deserialize, Serialize};

/// Options of a run that a resume keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Which tagged steps run.
    #[serde(flatten)]
    pub tags: TagFilter,
    /// `--max-parallel`.
    pub max_parallel: usize,
    /// `--max-agents`.
    pub max_agents: Option<usize>,
    /// `--step-timeout`.
    pub step_timeout: Option<f64>,
    /// `--agent-binary` and `--permissions`.
    #[serde(flatten)]
    pub agent: AgentChoice,
    /// Environment variables that chose the agent program, or led to recipes and agents: another shell may not have
    /// them.
    #[serde(alias = "agent_variables", skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// `--no-auto-stage`.
    pub no_auto_stage: bool,
    /// `--recovery`.
    pub recovery: Recovery,
    /// `--audit-dir`.
    pub audit_dir: Option<PathBuf>,
    /// `--auto-fix`.
    pub auto_fix: Option<u32>,
    /// `--no-auto-fix`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_auto_fix: bool,
    /// `--repair-agent`.
    pub repair_agent: Option<String>,
    /// `--review-agent` and `--accept-repairs`.
    #[serde(skip_serializing_if = "super::request::is_default")]
    pub review: super::RepairReview,
    /// The file with the number of runs that auto-fix has left.
    pub auto_fix_budget: Option<PathBuf>,
    /// `--budget-usd` and the others.
    pub budget: recipe::plan::Budget,
    /// Additional directories of recipes, absolute.
    pub recipe_dirs: Vec<PathBuf>,
    /// Variables `RECIPE_VAR_…` of the environment for names of sub-recipes.
    #[serde(skip_serializing_if = "engine::run::env_overrides::EnvOverrides::is_empty")]
    pub ambient: engine::run::env_overrides::EnvOverrides,
    /// `--compat`: the run has a log in its folder that other programs follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compat: bool,
    /// What happens to questions.
    #[serde(flatten)]
    pub asking: super::AskOptions,
    #[serde(flatten)]
    pub switches: Switches,
}

/// Options that are on or off.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Switches {
    /// `--strict`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// `--no-cleanup`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_cleanup: bool,
}

/// The agents of steps that do not choose for themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentChoice {
    /// `--agent-binary`: a program, or several with commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_binary: Option<String>,
    /// `--permissions`.
    #[serde(rename = "agent_permissions", skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionLevel>,
}

impl AgentChoice {
    /// This choice, and that of an earlier request where nothing is chosen.
    pub(crate) fn or(&self, earlier: &AgentChoice) -> AgentChoice {
        AgentChoice {
            agent_binary: self.agent_binary.clone().or_else(|| earlier.agent_binary.clone()),
            permissions: self.permissions.or(earlier.permissions),
        }
    }
}

/// Which tagged steps run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TagFilter {
    /// `--exclude-tags`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_tags: Vec<String>,
    /// `--include-tags`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include_tags: Vec<String>,
}
