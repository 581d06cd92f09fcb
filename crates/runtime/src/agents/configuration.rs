//! The configuration file of agent programs: the default program, and descriptions of custom programs.
//!
//! Never searches for the file: the caller passes its text.

use std::path::{Path, PathBuf};

use engine::{
    knowledge::{KnowledgeError, UserKnowledge},
    lint::{LintCode, LintLevel, LintLevels},
};
use recipe::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    source::{Place, Sources},
    yaml::{self, Entry, Node, NodeKind},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{CustomProgram, custom::CustomError, unknown_field};

/// The content of a configuration file.
#[derive(Debug, Default, Deserialize)]
pub struct Configuration {
    /// The agent program for steps that do not name one.
    pub agent: Option<String>,
    /// Descriptions of custom programs.
    pub agents: Vec<CustomProgram>,
    /// What the user adds to the built-in knowledge.
    pub knowledge: UserKnowledge,
    /// The levels of the rules of `lint`.
    #[serde(deserialize_with = "unread")]
    pub lint: LintLevels,
    /// What recipes are generated with, unless a spec says otherwise.
    pub generate: GenerateSettings,
}

/// What recipes are generated with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GenerateSettings {
    /// The agent program that writes.
    pub writer: Option<String>,
    /// The agent programs that review, in turn.
    pub reviewers: Vec<String>,
    pub depth: Option<ReviewDepth>,
}

/// How much review generated recipes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDepth {
    Light,
    Full,
}

/// Only the name of the field is wanted: [`understand`] reads it with its places.
fn unread<'de, D: serde::Deserializer<'de>>(_: D) -> Result<LintLevels, D::Error> {
    Ok(LintLevels::new())
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// It is not YAML, or has unknown fields.
    #[error("line {line}: {message}")]
    Yaml {
        /// The line, from 1.
        line: usize,
        message: String,
    },
    /// The description of a program is invalid.
    #[error(transparent)]
    Program(#[from] CustomError),
}

impl Configuration {
    /// Reads the text of a file in `dir`. A file without fields configures nothing.
    pub fn read(text: &str, dir: &Path) -> Result<Configuration, ConfigurationError> {
        let mut sources = Sources::default();
        let id = sources.add("configuration", text);
        let mut problems = Vec::new();
        let root = yaml::parse(&sources, id, &mut problems);
        let at = |place: Option<Place>, message: String| {
            let line = place.map_or(1, |place| sources.line_column(place).line);
            ConfigurationError::Yaml { line, message }
        };
        problems.extend(root.as_ref().and_then(unknown_field));
        match problems.first() {
            Some(problem) if problem.code == Code::EmptyFile => return Ok(Configuration::default()),
            Some(problem) => return Err(at(problem.place, message(problem))),
            None => {}
        }
        let Some(root) = root else { return Ok(Configuration::default()) };
        let mut configuration = understand(&root).map_err(|(place, message)| at(Some(place), message))?;
        for program in &mut configuration.agents {
            program.check()?;
            locate(program, dir);
        }
        configuration.knowledge.check().map_err(|error| {
            let KnowledgeError::Phrase { number, .. } = &error;
            at(phrase_place(&root, *number), format!("`knowledge`: {error}"))
        })?;
        Ok(configuration)
    }
}

/// The message for a problem in the text; the parser itself speaks of recipes.
fn message(problem: &Diagnostic) -> String {
    match problem.code {
        Code::WrongType => problem.message.replacen("a recipe", "a configuration", 1),
        _ => problem.message.clone(),
    }
}

type WrongPlace = (Place, String);

fn understand(root: &Node) -> Result<Configuration, WrongPlace> {
    let agent = match written(root, "agent") {
        None => None,
        Some(entry) => match value(&entry.value)? {
            Value::String(name) => Some(name),
            _ => return Err(unfit(entry, "the name of a program")),
        },
    };
    let agents = match written(root, "agents") {
        None => Vec::new(),
        Some(Entry { value: Node { kind: NodeKind::List(programs), .. }, .. }) => {
            programs.iter().map(program).collect::<Result<_, _>>()?
        }
        Some(entry) => return Err(unfit(entry, "a list of programs")),
    };
    let knowledge = match written(root, "knowledge") {
        None => UserKnowledge::default(),
        Some(entry) => knowledge(entry)?,
    };
    let generate = match written(root, "generate") {
        None => GenerateSettings::default(),
        Some(entry) => {
            let NodeKind::Map(entries) = &entry.value.kind else {
                return Err(unfit(entry, "a map of settings"));
            };
            decode(entries, &serde_json::Map::new(), (entry.key.place, "`generate`"))?
        }
    };
    let lint = match written(root, "lint") {
        None => LintLevels::new(),
        Some(entry) => lint_levels(entry)?,
    };
    Ok(Configuration { agent, agents, knowledge, generate, lint })
}

/// The levels of the rules of `lint`.
fn lint_levels(entry: &Entry) -> Result<LintLevels, WrongPlace> {
    let NodeKind::Map(rules) = &entry.value.kind else { return Err(unfit(entry, "a map of rules")) };
    let mut levels = LintLevels::new();
    for rule in rules.iter().filter(|rule| !rule.value.is_null()) {
        let name = &rule.key.text;
        let known = LintCode::ALL.iter().map(|code| code.as_str());
        let meant = did_you_mean(name, known).map(|meant| format!(": did you mean `{meant}`?"));
        let unknown = || format!("`lint`: `{name}` is not a rule{}", meant.unwrap_or_default());
        let code = LintCode::named(name).ok_or_else(|| (rule.key.place, unknown()))?;
        let word = rule.value.to_value().render().into_owned();
        let unfit = || format!("`{name}` is `{word}`, but a level is {}", LintLevel::WORDS.join(", "));
        levels.insert(code, LintLevel::named(&word).ok_or_else(|| (rule.value.place, unfit()))?);
    }
    Ok(levels)
}

/// The place of a phrase, by its number from 1.
fn phrase_place(root: &Node, number: usize) -> Option<Place> {
    let phrases = written(&written(root, "knowledge")?.value, "phrases")?;
    let NodeKind::List(list) = &phrases.value.kind else { return None };
    list.get(number - 1).map(|node| node.place)
}

/// A field that has a value.
fn written<'a>(node: &'a Node, name: &str) -> Option<&'a Entry> {
    node.get(name).filter(|entry| !entry.value.is_null())
}

fn unfit(entry: &Entry, wanted: &str) -> WrongPlace {
    let message = format!("`{}` is {wanted}, but this is {}", entry.key.text, entry.value.type_name());
    (entry.key.place, message)
}

fn value(node: &Node) -> Result<Value, WrongPlace> {
    serde_json::to_value(node.to_value()).map_err(|error| (node.place, error.to_string()))
}

fn program(node: &Node) -> Result<CustomProgram, WrongPlace> {
    let NodeKind::Map(entries) = &node.kind else {
        let message = format!("a program of `agents` is a map of fields, but this is {}", node.type_name());
        return Err((node.place, message));
    };
    let required = [("name".to_owned(), Value::from("?"))];
    decode(entries, &serde_json::Map::from_iter(required), (node.place, "a program of `agents`"))
}

/// Reads a map of fields. Each field is read alone first, with the required ones, to find the one that is wrong.
fn decode<T: DeserializeOwned>(
    entries: &[Entry],
    required: &serde_json::Map<String, Value>,
    (place, what): (Place, &str),
) -> Result<T, WrongPlace> {
    let mut members = serde_json::Map::new();
    for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
        let value = value(&entry.value)?;
        let mut alone = required.clone();
        alone.insert(entry.key.text.clone(), value.clone());
        serde_json::from_value::<T>(alone.into())
            .map_err(|error| (entry.key.place, format!("`{}`: {error}", entry.key.text)))?;
        members.insert(entry.key.text.clone(), value);
    }
    serde_json::from_value(members.into()).map_err(|error| (place, format!("{what}: {error}")))
}

fn knowledge(entry: &Entry) -> Result<UserKnowledge, WrongPlace> {
    let NodeKind::Map(_) = &entry.value.kind else { return Err(unfit(entry, "a map of fields")) };
    let mut knowledge = UserKnowledge::default();
    let none = serde_json::Map::new();
    match written(&entry.value, "programs") {
        None => {}
        Some(Entry { value: Node { kind: NodeKind::Map(programs), .. }, .. }) => {
            for program in programs {
                let NodeKind::Map(entries) = &program.value.kind else {
                    return Err(unfit(program, "a map of fields"));
                };
                let read = decode(entries, &none, (program.key.place, "a program of `knowledge`"))?;
                knowledge.programs.insert(program.key.text.clone(), read);
            }
        }
        Some(entry) => return Err(unfit(entry, "a map of programs")),
    }
    match written(&entry.value, "phrases") {
        None => {}
        Some(Entry { value: Node { kind: NodeKind::List(phrases), .. }, .. }) => {
            for phrase in phrases {
                let NodeKind::Map(entries) = &phrase.kind else {
                    let message = format!(
                        "a phrase of `knowledge` is a map of fields, but this is {}",
                        phrase.type_name()
                    );
                    return Err((phrase.place, message));
                };
                knowledge.phrases.push(decode(entries, &none, (phrase.place, "a phrase of `knowledge`"))?);
            }
        }
        Some(entry) => return Err(unfit(entry, "a list of phrases")),
    }
    Ok(knowledge)
}

/// Resolves a relative command against the directory of the configuration, not the one of a step.
fn locate(program: &mut CustomProgram, dir: &Path) {
    if let Some(command) = program.command.as_mut().filter(|command| command.contains('/')) {
        let path: PathBuf = dir.join(&*command).components().collect();
        *command = path.to_string_lossy().into_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Configuration::read(text, Path::new("/d")) {
            Ok(read) => {
                let names: Vec<&str> = read.agents.iter().map(|program| program.name.as_str()).collect();
                format!("{} [{}]", read.agent.unwrap_or_else(|| "-".to_owned()), names.join(" "))
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_configures_nothing_is_taken() {
        for text in [
            "",
            "\n\n",
            "# nothing yet\n",
            "agents:\n",
            "agents: []\n",
            "agent:\n",
            "agents:\n  # - name: a\n",
            "{}\n",
        ] {
            assert_eq!(read(text), "- []", "{text:?}");
        }
        assert_eq!(read("agent: codex\nagents:\n"), "codex []");
        assert_eq!(read("agents:\n  - name: a\n    args:\n    env:\n  - {name: b}\n"), "- [a b]");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_line() {
        for (text, expected) in [
            ("\nknowledge: []\n", "line 2: `knowledge` is a map of fields, but this is a list"),
            (
                "knowledge:\n  programs:\n    x:\n      effects: sometimes\n",
                "line 4: `effects`: expected `always` or a list of patterns",
            ),
            (
                "knowledge:\n  phrases: [{class: environment.disk}]\n",
                "line 2: `knowledge`: phrase 1 of `phrases`: a phrase needs words in `any`",
            ),
            ("- a\n", "line 1: a configuration is a map of fields, but this is a list"),
            ("text\n", "line 1: a configuration is a map of fields, but this is text"),
            ("\nagent: 5\n", "line 2: `agent` is the name of a program, but this is a number"),
            ("agent: x\nagents: {mine: 1}\n", "line 2: `agents` is a list of programs, but this is a map"),
            ("agents:\n  - mine\n", "line 2: a program of `agents` is a map of fields, but this is text"),
            ("agents:\n  - args: []\n", "line 2: a program of `agents`: missing field `name`"),
            (
                "agents:\n  - name: a\n    args: -x\n",
                "line 3: `args`: invalid type: string \"-x\", expected a sequence",
            ),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
        let said = read("agents:\n  - name: a\n    prompt: telepathy\n");
        assert!(said.starts_with("line 3: `prompt`: unknown variant `telepathy`"), "{said}");
        let said = read("knowledge:\n  phrases:\n    - class: environment.nothing\n");
        assert!(said.starts_with("line 3: `class`: unknown variant `environment.nothing`"), "{said}");
    }
}
