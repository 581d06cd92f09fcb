//! The fields of configuration files: a misspelt one is an error, as in recipes.
//!
//! Checks names only; values are checked where they are read.

use recipe::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    yaml::{Node, NodeKind},
};

const ROOT: &[&str] = &["agent", "agents"];
const PROGRAM: &[&str] = &[
    "name",
    "command",
    "args",
    "prompt",
    "answer",
    "model_args",
    "system_prompt_args",
    "dir_args",
    "session_args",
    "rate_limit",
    "auth_failure",
    "env",
];
const EVENTS: &[&str] = &["match", "path"];

/// The first unknown field of a configuration.
pub fn unknown_field(root: &Node) -> Option<Diagnostic> {
    unknown(root, ROOT, "the configuration").or_else(|| {
        let NodeKind::List(programs) = &root.get("agents")?.value.kind else { return None };
        programs.iter().find_map(in_program)
    })
}

fn in_program(program: &Node) -> Option<Diagnostic> {
    unknown(program, PROGRAM, "an agent program").or_else(|| {
        let events = &program.get("answer")?.value.get("events")?.value;
        unknown(events, EVENTS, "`events`")
    })
}

fn unknown(node: &Node, known: &[&str], place: &str) -> Option<Diagnostic> {
    let NodeKind::Map(entries) = &node.kind else { return None };
    let entry = entries.iter().find(|entry| !known.contains(&entry.key.text.as_str()))?;
    let key = &entry.key.text;
    let help = match did_you_mean(key, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("it has {}", known.join(", ")),
    };
    let message = format!("unknown field `{key}` in {place}: {help}");
    Some(Diagnostic::new(Code::UnknownField, entry.key.place, message))
}

#[cfg(test)]
mod tests {
    use recipe::{source::Sources, yaml};

    use super::*;
    use crate::agents::CustomProgram;

    fn check(text: &str, expected: Option<&str>) {
        let mut sources = Sources::default();
        let file = sources.add("configuration", text);
        let root = yaml::parse(&sources, file, &mut Vec::new()).unwrap();
        let found = unknown_field(&root).map(|problem| problem.message);
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn misspelt_fields_are_found() {
        let typo = "unknown field `agnt` in the configuration: did you mean `agent`?";
        check("agnt: x", Some(typo));
        check("colour: x", Some("unknown field `colour` in the configuration: it has agent, agents"));
        let typo = "unknown field `comand` in an agent program: did you mean `command`?";
        check("agents: [{name: a, comand: b}]", Some(typo));
        let typo = "unknown field `pth` in `events`: did you mean `path`?";
        check("agents: [{name: a, answer: {events: {match: {a: b}, pth: c}}}]", Some(typo));
    }

    #[test]
    fn known_fields_are_left_alone() {
        check("agent: x\nagents: [{name: a, command: b, answer: {events: {match: {}, path: c}}}]", None);
        check("agents: 5", None);
        check("agents: [5]", None);
        check("agents: [{name: a, env: {anything: b}}]", None);
    }

    #[test]
    fn the_list_is_the_programs_own() {
        let program: CustomProgram = serde_json::from_str(r#"{"name": "a", "command": "b"}"#).unwrap();
        let json = serde_json::to_value(program).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert!(fields.iter().all(|field| PROGRAM.contains(&field.as_str())), "{fields:?}");
        assert_eq!(fields.len(), PROGRAM.len());
    }
}
