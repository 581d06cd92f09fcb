//! One change of a repair: what it changes, the verdict, the rule, and who decided.

use serde::{Deserialize, Serialize};

/// One change of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What it changes.
    pub what: ChangedPart,
    /// The step; absent for settings of the recipe.
    pub step: Option<String>,
    /// The verdict.
    pub verdict: ReviewVerdict,
    /// The rule that gives the verdict.
    pub rule: ReviewRule,
    /// Who decided.
    pub decided_by: DecidedBy,
}

/// What a change changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedPart {
    /// All steps of the recipe together.
    Steps,
    /// A step that is new.
    AddedStep,
    /// A step that is gone.
    RemovedStep,
    /// The order of steps.
    Order,
    /// The kind of a step.
    Kind,
    /// The command of a bash step.
    Command,
    /// The prompt of an agent step.
    Prompt,
    /// Another setting, by its name.
    Setting(String),
    /// A value of the context, by its name.
    Value(String),
}

/// A verdict about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// It may be used.
    Accepted,
    /// A second agent or a person decides.
    Ask,
    /// It is not used.
    Refused,
}

/// Who decided about a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The rule alone.
    Rule,
    /// An agent that reviewed the repair.
    Agent {
        /// The agent program.
        name: String,
        /// Its reason.
        why: String,
    },
    /// A flag or a setting of the user.
    Policy,
    /// A person.
    Person,
}

/// The rule that gives a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewRule {
    /// More than half of the steps are gone.
    StepsLost,
    /// A check that did not fail is gone.
    CheckRemoved,
    /// Something that changes the world outside is gone, or only rehearsed.
    EffectLost,
    /// Something that changes the world outside may now be skipped.
    EffectConditional,
    /// Something that changes the world outside no longer waits for its check.
    EffectBeforeCheck,
    /// The command succeeds whatever happens.
    AlwaysSucceeds,
    /// The failure of a command is ignored now.
    FailureIgnored,
    /// A gate, a limit or a timeout is looser.
    Loosened,
    /// What happens after a failure has changed.
    FailurePolicyChanged,
    /// Hooks run around every check.
    HooksChanged,
    /// The list of secrets has changed.
    SecretsChanged,
    /// The new step changes nothing outside, and nothing that a check looks at.
    NoEffects,
    /// The prompt has at least half as many words as before.
    PromptKept,
    /// No check depends on the exit code of this step alone.
    NotAVerification,
    /// A few misspelled words are corrected.
    Correction,
    /// A name that led nowhere leads to a value now.
    NameResolves,
    /// It is stricter than before.
    Stricter,
    /// The commands are the same, only their form differs.
    SameCommands,
    /// The command of a check has changed.
    CheckChanged,
    /// The command of an outside effect has changed.
    EffectChanged,
    /// The new step may change files, or more.
    MayHaveEffects,
    /// The script cannot be parsed.
    NotParsed,
    /// A question to a person has changed.
    QuestionChanged,
    /// No rule decides about this part.
    NoRule,
}

impl ReviewRule {
    /// The verdict of this rule.
    pub fn verdict(self) -> ReviewVerdict {
        match self {
            ReviewRule::StepsLost
            | ReviewRule::CheckRemoved
            | ReviewRule::EffectLost
            | ReviewRule::EffectConditional
            | ReviewRule::EffectBeforeCheck
            | ReviewRule::AlwaysSucceeds
            | ReviewRule::FailureIgnored
            | ReviewRule::Loosened
            | ReviewRule::FailurePolicyChanged
            | ReviewRule::HooksChanged
            | ReviewRule::SecretsChanged => ReviewVerdict::Refused,
            ReviewRule::NoEffects
            | ReviewRule::PromptKept
            | ReviewRule::NotAVerification
            | ReviewRule::Correction
            | ReviewRule::NameResolves
            | ReviewRule::Stricter
            | ReviewRule::SameCommands => ReviewVerdict::Accepted,
            ReviewRule::CheckChanged
            | ReviewRule::EffectChanged
            | ReviewRule::MayHaveEffects
            | ReviewRule::NotParsed
            | ReviewRule::QuestionChanged
            | ReviewRule::NoRule => ReviewVerdict::Ask,
        }
    }

    /// Its code for machines.
    pub fn code(self) -> &'static str {
        match self {
            ReviewRule::StepsLost => "steps_lost",
            ReviewRule::CheckRemoved => "check_removed",
            ReviewRule::EffectLost => "effect_lost",
            ReviewRule::EffectConditional => "effect_conditional",
            ReviewRule::EffectBeforeCheck => "effect_before_check",
            ReviewRule::AlwaysSucceeds => "always_succeeds",
            ReviewRule::FailureIgnored => "failure_ignored",
            ReviewRule::Loosened => "loosened",
            ReviewRule::FailurePolicyChanged => "failure_policy_changed",
            ReviewRule::HooksChanged => "hooks_changed",
            ReviewRule::SecretsChanged => "secrets_changed",
            ReviewRule::NoEffects => "no_effects",
            ReviewRule::PromptKept => "prompt_kept",
            ReviewRule::NotAVerification => "not_a_verification",
            ReviewRule::Correction => "correction",
            ReviewRule::NameResolves => "name_resolves",
            ReviewRule::Stricter => "stricter",
            ReviewRule::SameCommands => "same_commands",
            ReviewRule::CheckChanged => "check_changed",
            ReviewRule::EffectChanged => "effect_changed",
            ReviewRule::MayHaveEffects => "may_have_effects",
            ReviewRule::NotParsed => "not_parsed",
            ReviewRule::QuestionChanged => "question_changed",
            ReviewRule::NoRule => "no_rule",
        }
    }

    /// The rule in words.
    pub fn words(self) -> &'static str {
        match self {
            ReviewRule::StepsLost => "more than half of the steps are gone",
            ReviewRule::CheckRemoved => "a check is gone",
            ReviewRule::EffectLost => "an outside effect is gone or only rehearsed",
            ReviewRule::EffectConditional => "an outside effect may now be skipped",
            ReviewRule::EffectBeforeCheck => "an outside effect no longer waits for its check",
            ReviewRule::AlwaysSucceeds => "the command now succeeds whatever happens",
            ReviewRule::FailureIgnored => "a failure is now ignored",
            ReviewRule::Loosened => "it is looser than before",
            ReviewRule::FailurePolicyChanged => "it changes what happens after a failure",
            ReviewRule::HooksChanged => "it changes the hooks, which run around every check",
            ReviewRule::SecretsChanged => "it changes which values are secret",
            ReviewRule::NoEffects => {
                "the new step changes nothing outside, and nothing that a check looks at"
            }
            ReviewRule::PromptKept => "the prompt has at least half as many words as before",
            ReviewRule::NotAVerification => "the step is not a check",
            ReviewRule::Correction => "misspelled words are corrected",
            ReviewRule::NameResolves => "a name that led nowhere leads to a value now",
            ReviewRule::Stricter => "it is stricter than before",
            ReviewRule::SameCommands => "the commands are the same",
            ReviewRule::CheckChanged => "the step is a check",
            ReviewRule::EffectChanged => "the step changes the world outside",
            ReviewRule::MayHaveEffects => "the new step may change something",
            ReviewRule::NotParsed => "the script cannot be parsed",
            ReviewRule::QuestionChanged => "the step asks a person",
            ReviewRule::NoRule => "no rule decides about it",
        }
    }
}

impl ChangedPart {
    /// The part in words.
    pub fn words(&self) -> String {
        match self {
            ChangedPart::Steps => "the steps".to_owned(),
            ChangedPart::AddedStep => "a new step".to_owned(),
            ChangedPart::RemovedStep => "a removed step".to_owned(),
            ChangedPart::Order => "the order of steps".to_owned(),
            ChangedPart::Kind => "the kind of the step".to_owned(),
            ChangedPart::Command => "the command".to_owned(),
            ChangedPart::Prompt => "the prompt".to_owned(),
            ChangedPart::Setting(name) => format!("`{name}`"),
            ChangedPart::Value(name) => format!("the value `{name}`"),
        }
    }
}

impl Change {
    /// Leaves the decision to a person: the change is part of a question to people.
    pub(super) fn doubt(&mut self) {
        (self.rule, self.verdict) = (ReviewRule::QuestionChanged, ReviewRule::QuestionChanged.verdict());
    }

    /// The change, the rule, and who decided if it was not the rule: in one line.
    pub fn describe(&self) -> String {
        let place = self.step.as_ref().map(|step| format!("`{step}`: ")).unwrap_or_default();
        let decided = match &self.decided_by {
            DecidedBy::Rule => String::new(),
            DecidedBy::Agent { name, why } => format!(" (`{name}`: {why})"),
            DecidedBy::Policy => " (by --accept-repairs)".to_owned(),
            DecidedBy::Person => " (by a person)".to_owned(),
        };
        format!("{place}{}: {}{decided}", self.what.words(), self.rule.words())
    }
}
