//! The words about stubs in messages: their keys, and the lines that a test file needs.

use recipe::{
    plan::{JsonMode, Step},
    test_file::StubKey,
};

use super::AgentRole;

/// A key as it is written.
pub(super) fn words(key: &StubKey) -> String {
    match key {
        StubKey::Steps(pattern) => pattern.as_str().to_owned(),
        StubKey::Recovery(pattern) => format!("recovery:{}", pattern.as_str()),
        StubKey::Repair => "repair".to_owned(),
    }
}

/// The lines that a test file needs for a stub.
pub(super) fn lines(key: &str, reply: &str) -> String {
    let key = without_instances(key);
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_/.".contains(c));
    let key = if is_plain { key } else { format!("{key:?}") };
    format!("    stubs:\n      {key}: {reply}")
}

/// What a stub for an agent could answer.
pub(super) fn suggestion(role: AgentRole, step: &Step) -> &'static str {
    match role {
        AgentRole::Recovery => "{answer: \"STATUS: COMPLETE\"}",
        AgentRole::Repair => "{answer: the repaired recipe}",
        AgentRole::Step if step.json_schema.is_some() => "{auto: true}",
        AgentRole::Step if step.json != JsonMode::Text => "{json: {}}",
        AgentRole::Step => "{answer: done}",
    }
}

/// A key that names every instance of the loops in it.
fn without_instances(key: &str) -> String {
    let plain = |segment: &str| match segment.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, _)) => name.to_owned(),
        None => segment.to_owned(),
    };
    key.split('/').map(plain).collect::<Vec<_>>().join("/")
}
