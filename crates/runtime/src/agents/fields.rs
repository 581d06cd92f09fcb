//! The fields of configuration files: a misspelt one is an error, as in recipes.
//!
//! Checks names only; values are checked where they are read.

use engine::knowledge::{CausePhrase, ExitMeaning, Program, UserKnowledge, Wrapping};
use recipe::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    yaml::{Entry, Node, NodeKind},
};
use serde::{Deserialize, Deserializer, de::Error, forward_to_deserialize_any};

use super::{
    Configuration, CustomProgram,
    configuration::GenerateSettings,
    custom::EventAnswer,
    events::EventRule,
    permissions::{PermissionLimits, PermissionSettings},
};

/// The first unknown field of a configuration.
pub fn unknown_field(root: &Node) -> Option<Diagnostic> {
    let in_agents = || items(root, "agents").iter().find_map(in_agent_program);
    unknown::<Configuration>(root, "the configuration")
        .or_else(in_agents)
        .or_else(|| in_knowledge(root))
        .or_else(|| unknown::<GenerateSettings>(&root.get("generate")?.value, "`generate`"))
}

fn in_agent_program(program: &Node) -> Option<Diagnostic> {
    unknown::<CustomProgram>(program, "an agent program")
        .or_else(|| unknown::<PermissionSettings>(&program.get("permissions")?.value, "`permissions`"))
        .or_else(|| {
            let levels = members(program, "permissions").iter();
            levels.into_iter().find_map(|level| unknown::<PermissionLimits>(&level.value, "`permissions`"))
        })
        .or_else(|| {
            let events = &program.get("answer")?.value.get("events")?.value;
            unknown::<EventAnswer>(events, "`events`")
        })
        .or_else(|| {
            items(program, "events").iter().find_map(|rule| unknown::<EventRule>(rule, "an event rule"))
        })
}

fn in_knowledge(root: &Node) -> Option<Diagnostic> {
    let knowledge = &root.get("knowledge")?.value;
    let in_program = |entry: &Entry| {
        let program = &entry.value;
        let in_exits = || members(program, "exits").iter().find_map(|exit| in_exit(&exit.value));
        let in_runs = || unknown::<Wrapping>(&program.get("runs")?.value, "`runs`");
        unknown::<Program>(program, "a program").or_else(in_runs).or_else(in_exits)
    };
    let in_phrase = |phrase: &Node| unknown::<CausePhrase>(phrase, "a phrase");
    unknown::<UserKnowledge>(knowledge, "`knowledge`")
        .or_else(|| members(knowledge, "programs").iter().find_map(in_program))
        .or_else(|| items(knowledge, "phrases").iter().find_map(in_phrase))
}

fn in_exit(exit: &Node) -> Option<Diagnostic> {
    unknown::<ExitMeaning>(exit, "`exits`")
}

/// The list in a field; empty if it is something else.
fn items<'a>(node: &'a Node, name: &str) -> &'a [Node] {
    match node.get(name).map(|entry| &entry.value.kind) {
        Some(NodeKind::List(items)) => items,
        _ => &[],
    }
}

/// The map in a field; empty if it is something else.
fn members<'a>(node: &'a Node, name: &str) -> &'a [Entry] {
    match node.get(name).map(|entry| &entry.value.kind) {
        Some(NodeKind::Map(entries)) => entries,
        _ => &[],
    }
}

fn unknown<T: for<'de> Deserialize<'de>>(node: &Node, place: &str) -> Option<Diagnostic> {
    let NodeKind::Map(entries) = &node.kind else { return None };
    let known = field_names::<T>();
    let entry = entries.iter().find(|entry| !known.contains(&entry.key.text.as_str()))?;
    let key = &entry.key.text;
    let help = match did_you_mean(key, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("it has {}", known.join(", ")),
    };
    let message = format!("unknown field `{key}` in {place}: {help}");
    Some(Diagnostic::new(Code::UnknownField, entry.key.place, message))
}

/// The names of the fields of a struct, from its own declaration.
fn field_names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // the error ends the reading right after the names are known
    drop(T::deserialize(FieldNames(&mut names)));
    names
}

struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("only the names are wanted"))
    }

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use recipe::{source::Sources, yaml};

    use super::*;

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
        check(
            "colour: x",
            Some(
                "unknown field `colour` in the configuration: it has agent, agents, knowledge, lint, generate",
            ),
        );
        let typo = "unknown field `comand` in an agent program: did you mean `command`?";
        check("agents: [{name: a, comand: b}]", Some(typo));
        let typo = "unknown field `pth` in `events`: did you mean `path`?";
        check("agents: [{name: a, answer: {events: {match: {a: b}, pth: c}}}]", Some(typo));
        let typo = "unknown field `sesion` in an event rule: did you mean `session`?";
        check("agents: [{name: a, events: [{when: {a: b}, sesion: c}]}]", Some(typo));
    }

    #[test]
    fn known_fields_are_left_alone() {
        check("agent: x\nagents: [{name: a, command: b, answer: {events: {match: {}, path: c}}}]", None);
        check("agents: 5", None);
        check("agents: [5]", None);
        check("agents: [{name: a, env: {anything: b}}]", None);
    }

    #[test]
    fn misspelt_fields_of_knowledge_are_found() {
        let typo = "unknown field `programms` in `knowledge`: did you mean `programs`?";
        check("knowledge: {programms: {}}", Some(typo));
        let typo = "unknown field `efects` in a program: did you mean `effects`?";
        check("knowledge: {programs: {x: {efects: always}}}", Some(typo));
        let typo = "unknown field `skp` in `runs`: did you mean `skip`?";
        check("knowledge: {programs: {x: {runs: {skp: 1}}}}", Some(typo));
        let typo = "unknown field `clas` in `exits`: did you mean `class`?";
        check("knowledge: {programs: {x: {exits: {7: {clas: a}}}}}", Some(typo));
        let typo = "unknown field `wthout` in a phrase: did you mean `without`?";
        check("knowledge: {phrases: [{wthout: [a]}]}", Some(typo));
        check("knowledge: {programs: {anything: {tests: [check]}}, phrases: [{any: [a]}]}", None);
        check("knowledge: 5", None);
    }
}
