//! What an agent program may do: how each is limited, which ones can be, and arguments that would undo it.

use std::collections::BTreeMap;

use recipe::syntax::PermissionLevel;
use serde::{Deserialize, Serialize};

use super::{CustomProgram, Program, limits};

/// How a program is limited to each level; a level that is absent cannot be had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionSettings {
    /// It changes nothing.
    #[serde(rename = "read-only", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<PermissionLimits>,
    /// It changes files, and runs nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<PermissionLimits>,
    /// It does everything, without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<PermissionLimits>,
}

/// How a program is limited to one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionLimits {
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables, set whatever the user has set.
    pub env: BTreeMap<String, String>,
    /// Options that would undo the limit.
    pub contradicts: Vec<String>,
}

impl PermissionSettings {
    /// How the program is limited to a level.
    pub fn of(&self, level: PermissionLevel) -> Option<&PermissionLimits> {
        match level {
            PermissionLevel::ReadOnly => self.read_only.as_ref(),
            PermissionLevel::Edit => self.edit.as_ref(),
            PermissionLevel::Full => self.full.as_ref(),
        }
    }

    /// The limits of all levels.
    pub(super) fn all(&self) -> impl Iterator<Item = &PermissionLimits> {
        [&self.read_only, &self.edit, &self.full].into_iter().flatten()
    }
}

/// The parts of a request that decide which arguments the runner sets.
#[derive(Clone, Copy, Debug)]
pub struct SetArguments {
    /// What the agent may do.
    pub level: PermissionLevel,
    /// Whether there is a model.
    pub model: bool,
    /// Whether there is a system prompt.
    pub system_prompt: bool,
}

impl Program {
    /// Whether it can be limited to a level; every program may do everything.
    pub fn can(&self, level: PermissionLevel) -> bool {
        level == PermissionLevel::Full || self.description.permissions.of(level).is_some()
    }

    /// Variables that it needs to do everything as root.
    pub fn needs_as_root(&self) -> impl Iterator<Item = (&str, &str)> {
        self.description.root_env.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether it can continue a session.
    pub fn has_sessions(&self) -> bool {
        !self.description.session_args.is_empty()
    }

    /// Whether a failed call that said this had no session to continue.
    pub fn lacks_session(&self, said: &str) -> bool {
        limits::says_any(said, &self.description.session_gone)
    }

    /// The first of these arguments that contradicts one that the runner sets.
    pub fn contradiction<'a>(&self, args: &'a [String], set: SetArguments) -> Option<&'a str> {
        let description = &self.description;
        let groups: [(&[String], bool); 5] = [
            (&description.args, true),
            (&description.all_tools_args, true),
            (&description.session_args, true),
            (&description.model_args, set.model),
            (&description.system_prompt_args, set.system_prompt),
        ];
        let own = groups.into_iter().filter(|(_, is_set)| *is_set).flat_map(|(args, _)| args);
        let limits = description.permissions.of(set.level);
        let limiting = limits.into_iter().flat_map(|limits| limits.args.iter().chain(&limits.contradicts));
        let all = own.chain(&description.contradicts).chain(limiting);
        let refused: Vec<&str> = all.filter_map(|arg| option(arg)).collect();
        args.iter().map(String::as_str).find(|arg| option(arg).is_some_and(|name| refused.contains(&name)))
    }
}

/// The name of an option; absent if an argument is a value.
fn option(arg: &str) -> Option<&str> {
    let name = arg.split('=').next().unwrap_or(arg);
    (name.len() > 1 && name.starts_with('-')).then_some(name)
}

/// The names of programs that can be limited to a level.
pub fn able(level: PermissionLevel, custom: &[CustomProgram]) -> Vec<String> {
    let known = Program::known_names().map(str::to_owned);
    let described = custom.iter().map(|program| program.name.clone());
    let mut names: Vec<String> = known.chain(described).collect();
    names.dedup();
    names.retain(|name| Program::named(name, custom).is_some_and(|program| program.can(level)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_of_the_known_programs() {
        for (name, levels) in [
            ("claude", [true, true]),
            ("codex", [true, true]),
            ("copilot", [true, true]),
            ("gemini", [true, true]),
            ("opencode", [true, true]),
            ("amplifier", [false, false]),
        ] {
            let program = Program::named(name, &[]).unwrap();
            let can = [PermissionLevel::ReadOnly, PermissionLevel::Edit].map(|level| program.can(level));
            assert_eq!(can, levels, "{name}");
            assert!(program.can(PermissionLevel::Full), "{name}");
        }
        assert_eq!(able(PermissionLevel::Edit, &[]), ["claude", "codex", "copilot", "gemini", "opencode"]);
    }

    #[test]
    fn arguments_that_contradict_ours() {
        let set = |level| SetArguments { level, model: true, system_prompt: false };
        for (name, level, args, expected) in [
            ("claude", PermissionLevel::Full, ["--max-turns", "3"], None),
            ("claude", PermissionLevel::Full, ["--output-format=json", ""], Some("--output-format=json")),
            ("claude", PermissionLevel::Full, ["--model", "x"], Some("--model")),
            ("claude", PermissionLevel::Full, ["--permission-mode", "plan"], Some("--permission-mode")),
            ("claude", PermissionLevel::Full, ["--allowedTools", "Bash"], None),
            ("claude", PermissionLevel::ReadOnly, ["--allowedTools", "Bash"], Some("--allowedTools")),
            ("claude", PermissionLevel::Full, ["--add-dir", "/x"], None),
            ("codex", PermissionLevel::ReadOnly, ["-c", "sandbox_mode=x"], Some("-c")),
            ("codex", PermissionLevel::Full, ["-c", "a=b"], None),
            ("codex", PermissionLevel::Full, ["--sandbox", "read-only"], Some("--sandbox")),
            ("gemini", PermissionLevel::Full, ["-", "value"], None),
        ] {
            let args = args.map(str::to_owned);
            let program = Program::named(name, &[]).unwrap();
            assert_eq!(program.contradiction(&args, set(level)), expected, "{name} {args:?}");
        }
    }
}
