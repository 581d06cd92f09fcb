//! Every code can happen: one text for each.

use std::collections::BTreeSet;

use recipe::{
    check::Given,
    diagnostic::{Code, Diagnostic},
};

use crate::shelf::{STEP, check_bytes, check_files, check_given, with_field, with_step};

/// Texts that produce exactly one code each.
fn texts() -> Vec<(Code, String)> {
    let step = |fields: &str| with_step(&format!("command: x\n{fields}"));
    let steps = |text: &str| format!("name: r\nsteps: [{text}]\n");
    vec![
        (Code::TooLarge, "#".repeat(1_100_000)),
        (Code::TooComplex, format!("name: {}", "[".repeat(500))),
        (Code::YamlSyntax, "name: [".to_owned()),
        (Code::EmptyFile, String::new()),
        (Code::SeveralDocuments, format!("{STEP}---\n{STEP}")),
        (Code::DuplicateKey, with_field("name: again")),
        (Code::WrongType, with_field("tags: 1")),
        (Code::NulCharacter, with_step("command: \"echo a\\0b\"")),
        (Code::MissingField, steps("{command: x}")),
        (Code::EmptyField, steps("{id: '', command: x}")),
        (Code::FieldTypo, step("tiemout: 1")),
        (Code::UnknownField, step("x-mine: 1")),
        (Code::ForeignField, step("needs: [a]")),
        (Code::UnknownWord, step("type: bahs")),
        (Code::OutOfRange, step("retry: 0")),
        (Code::NoSteps, "name: r\n".to_owned()),
        (Code::DuplicateId, steps("{id: a, command: x}, {id: a, command: x}")),
        (Code::BadId, steps("{id: a/b, command: x}")),
        (Code::NothingToDo, steps("{id: a}")),
        (Code::Contradiction, step("type: agent\nprompt: x")),
        (Code::NoEffect, step("model: x")),
        (Code::IgnoredLines, with_step("command: |\n  a\n  b")),
        (Code::RetriedEffect, step("idempotent: false\nretry: 2")),
        (Code::BadRegex, with_field("inputs: [{name: a, pattern: '(a'}]")),
        (Code::WrongDefault, with_field("inputs: [{name: a, type: integer, default: x}]")),
        (Code::UndefinedVariable, with_step("command: echo {{nope}}")),
        (Code::NameCollision, with_field("context: {a-b: 1, a_b: 1}")),
        (Code::AliasCollision, with_field("context: {ab: 1, AB: 1}")),
        (Code::IdNotStored, with_field("context: {s: 1}")),
        (Code::DuplicateName, with_field("inputs: [{name: a}, {name: a}]")),
        (Code::BadName, step("output: a b")),
        (Code::BadPattern, step("produces: ['[a']")),
        (Code::EnsureRule, step("ensure: [{}]")),
        (Code::TemplateSyntax, with_step("command: echo {{a")),
        (Code::ConditionSyntax, step("condition: a b")),
        (Code::TemplateInCondition, step("condition: \"'{{a}}' == 'b'\"")),
        (Code::UnknownFunction, step("condition: f(1)")),
        (Code::UnknownMethod, step("condition: a.f()")),
        (Code::WrongArguments, step("condition: len()")),
        (Code::ForbiddenName, step("condition: a__b")),
        (Code::ValueAsCode, with_field("context: {a: 1}").replace("echo", "eval {{a}}")),
        (Code::UnknownRecipe, with_step("recipe: nowhere")),
        (Code::CircularExtends, with_field("extends: r")),
        (Code::UnknownStep, step("depends_on: [other]")),
        (Code::LaterStep, step("depends_on: [s]")),
        (
            Code::UnknownProperty,
            steps("{id: a, command: x}, {id: b, command: x, condition: steps.a.broken}"),
        ),
        (
            Code::ReservedName,
            steps("{id: failure, command: x}, {id: b, when: failed, command: x}"),
        ),
        (
            Code::CircularNeeds,
            "name: r\nschedule: graph\nsteps: [{id: a, command: x, depends_on: [b]}, {id: b, command: x, depends_on: [a]}]\n".to_owned(),
        ),
        (
            Code::UnorderedWriters,
            "name: r\nschedule: graph\nsteps: [{id: a, command: x, output: v}, {id: b, command: x, output: v}]\n".to_owned(),
        ),
        (
            Code::GroupReopened,
            steps(
                "{id: a, command: x, parallel_group: g}, {id: b, command: x}, {id: c, command: x, parallel_group: g}",
            ),
        ),
        (
            Code::GroupDependency,
            steps(
                "{id: a, command: x, parallel_group: g}, {id: b, command: x, parallel_group: g, depends_on: [a]}",
            ),
        ),
        (Code::LimitExceeded, with_field("recursion: {max_total_steps: 0}")),
        (Code::NoPrompt, with_step("agent: known")),
        (Code::UnresolvedAgent, with_step("agent: nobody\nprompt: p")),
    ]
}

#[test]
fn every_code_can_happen() {
    let mut seen = BTreeSet::new();
    for (code, text) in texts() {
        let mut found: Vec<Code> =
            check_files(&[("r.yaml", &text)], &[]).diagnostics.iter().map(|told| told.code).collect();
        found.dedup();
        assert_eq!(found, [code], "{}", &text[..text.len().min(400)]);
        seen.insert(code);
    }
    seen.extend(check_bytes(b"name: \xff\n").diagnostics.iter().map(|told| told.code));
    seen.extend(deep_recipes());
    seen.extend(from_the_command_line(&["topc"], &["fats"]).iter().map(|told| told.code));
    let all: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    assert_eq!(seen, all);
}

fn deep_recipes() -> Vec<Code> {
    let texts: Vec<(String, String)> =
        (0..30).map(|at| (format!("r{at}.yaml"), format!("{STEP}extends: r{}\n", at + 1))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    check_files(&files, &[]).diagnostics.iter().map(|told| told.code).collect()
}

/// What is told about names and tags that were typed.
fn from_the_command_line(typed: &[&str], tags: &[&str]) -> Vec<Diagnostic> {
    let text = "name: r\ncontext: {topic: 1}\nsteps:\n  - {id: s, command: 'echo {{topic}} $FROM_ENV', when_tags: [fast]}\n";
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let given = Given { names: owned(typed), typed: owned(typed), tags: owned(tags), ..Given::default() };
    check_given(text, &given).diagnostics
}

/// Whether a text says what to do, and not only that something is wrong.
fn is_help(help: Option<&str>) -> bool {
    help.is_some_and(|help| help.split_whitespace().count() >= 2 && !help.starts_with("here"))
}

#[test]
fn every_problem_has_a_fix() {
    for code in Code::ALL {
        assert!(is_help(Some(code.advice())), "{}", code.as_str());
    }
    for (code, text) in texts() {
        for told in check_files(&[("r.yaml", &text)], &[]).diagnostics {
            assert!(is_help(told.help.as_deref()), "{}: {:?}", code.as_str(), told.help);
            assert_ne!(told.label, "here", "{}", code.as_str());
        }
    }
    let step = |fields: &str| with_step(&format!("command: x\n{fields}"));
    for (text, part) in [
        (step("condition: a b"), "expected here"),
        (step("condition: a :="), "write `==`"),
        (step("condition: 'a :'"), "quotes"),
        (step("condition: a =="), "a value"),
        (step("condition: \"'a\""), "closing '"),
        (step("condition: x[1.5]"), "x[0]"),
        (step("condition: len()"), "`len(a)`"),
        (step("condition: min(1)"), "`min(a, b)`"),
        (step("condition: a.strip(1)"), "`.strip()`"),
        (step("condition: a.replace(1)"), "`text.replace(a, b)`"),
        (step("depends_on: [other]"), "the steps are `s`"),
        (step("depends_on: [ss]"), "the steps are `s`"),
        (with_step("recipe: nowhere"), "-R DIR"),
        (with_step("command: '{{ x'"), "add `}}`"),
        (
            with_step("command: 'echo {{nmae}}'").replace("name: r", "name: r\ncontext: {name: x}"),
            "did you mean `name`?",
        ),
        (step("model: x"), "remove `model`"),
        (step("timeout: -1"), "number"),
        (with_field("tags: 1"), "tags"),
        (with_field("name: ''"), "rename"),
    ] {
        let told = check_files(&[("r.yaml", &text)], &[]).diagnostics;
        let helps: Vec<&str> = told.iter().filter_map(|told| told.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.contains(part)), "{text}: {part}: {helps:?}");
    }
}

#[test]
fn words_are_unique_and_plain() {
    let words: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words.len(), Code::ALL.len());
    for word in words {
        assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'8'), "{word}");
    }
}
