//! Parts of pages that are made from the program: the fields of recipes, the events, the help of every command.

use std::fs;

use recipe::syntax;
use serde_json::Value as Json;
use testkit::TestEnv;

use crate::pages::root;

const BEGIN: &str = "<!-- generated: begin -->";
const END: &str = "<!-- generated: end -->";

/// Compares the generated part of a page, or writes it if that is asked for.
fn check_page(path: &str, generated: &str) {
    let file = root().join(path);
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has a generated part");
    let (_, after) = rest.split_once(END).expect("the generated part ends");
    let wanted = format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", generated.trim());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &wanted).unwrap();
    } else {
        assert!(
            wanted == text,
            "{path} is out of date; write it again: UPDATE_DOCS=1 cargo test -p recipe-runner-rs --test docs"
        );
    }
}

#[test]
fn the_reference_lists_every_field() {
    check_page("docs/src/reference/recipe.md", &fields_page(syntax::reference()));
}

#[test]
fn the_reference_lists_every_field_of_test_files() {
    check_page("docs/src/reference/test-files.md", &fields_page(recipe::test_file::reference()));
}

fn fields_page(shapes: Vec<(&'static str, &'static [syntax::shape::Field])>) -> String {
    let mut page = String::new();
    for (name, fields) in shapes {
        page.push_str(&format!("## {}\n\n| field | value | meaning |\n|---|---|---|\n", title(name)));
        for field in fields {
            let required = if field.required { " **Required.**" } else { "" };
            let value = value_words(&(field.schema)()).replace('|', "\\|");
            page.push_str(&format!("| `{}` | {value} | {}{required} |\n", field.name, field.doc.trim()));
        }
        page.push('\n');
    }
    page
}

fn title(name: &str) -> String {
    match name {
        "recipe" => "Recipe".to_owned(),
        "step" => "Step".to_owned(),
        "test file" => "Test file".to_owned(),
        "case" => "Case".to_owned(),
        other => format!("The {other}"),
    }
}

/// A schema in a few words.
fn value_words(schema: &Json) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> =
            words.iter().filter_map(Json::as_str).map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    match schema["$ref"].as_str() {
        Some("#/$defs/matcher") => return "value or matcher".to_owned(),
        Some("#/$defs/stub") => return "stub".to_owned(),
        _ => {}
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(value_words).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Json::String(kind) => match kind.as_str() {
            "boolean" => "`true` or `false`".to_owned(),
            "integer" => "whole number".to_owned(),
            "array" => format!("list of {}", plural(&value_words(&schema["items"]))),
            "object" if schema["additionalProperties"].is_object() => {
                format!("map of names to {}", plural(&value_words(&schema["additionalProperties"])))
            }
            "object" => "map".to_owned(),
            other => other.to_owned(),
        },
        Json::Array(_) => "text".to_owned(),
        _ => "any value".to_owned(),
    }
}

fn plural(words: &str) -> String {
    match words {
        "text" | "any value" => format!("{words}s"),
        "map" => "maps".to_owned(),
        other => other.to_owned(),
    }
}

/// The names of all events: the error about an unknown one lists them.
fn event_names() -> Vec<String> {
    let error = serde_json::from_str::<engine::Event>("{\"none\": {}}").unwrap_err().to_string();
    let (_, names) = error.split_once("expected one of ").expect("the error lists the names");
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_reference_lists_every_event() {
    let schema = fs::read_to_string(root().join("schema/event.schema.json")).unwrap();
    let schema: Json = serde_json::from_str(&schema).unwrap();
    let mut page = "| event | means |\n|---|---|\n".to_owned();
    let mut described = Vec::new();
    for event in schema["properties"]["event"]["oneOf"].as_array().unwrap() {
        let name = event["required"][0].as_str().unwrap();
        page.push_str(&format!("| `{name}` | {} |\n", event["description"].as_str().unwrap()));
        described.push(name.to_owned());
    }
    let mut names = event_names();
    names.sort();
    described.sort();
    assert_eq!(described, names, "schema/event.schema.json describes every event");
    check_page("docs/src/reference/formats.md", &page);
}

#[test]
fn the_reference_shows_the_help_of_every_command() {
    let env = crate::env();
    let mut page = format!("## recipe-runner-rs\n\n```text\n{}```\n", help(&env, &[]));
    for verb in verbs(&env) {
        page.push_str(&format!("\n## {verb}\n\n```text\n{}```\n", help(&env, &[&verb])));
    }
    check_page("docs/src/reference/commands.md", &page);
}

/// The commands that `--help` lists.
pub(crate) fn verbs(env: &TestEnv) -> Vec<String> {
    let help = help(env, &[]);
    let is_verb = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().filter(is_verb).map(str::to_owned);
    let verbs: Vec<String> = help.lines().filter_map(name).collect();
    assert!(verbs.len() > 10, "{help}");
    verbs
}

fn help(env: &TestEnv, verb: &[&str]) -> String {
    let output = env.run(verb.iter().chain(&["--help"]));
    assert_eq!(output.code, 0, "{}", output.all());
    output.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn files_of_the_repository_are_shown_as_they_are() {
    for page in crate::pages::pages() {
        for block in page.blocks() {
            let Some(name) = block.file().filter(|name| name.starts_with("crates/")) else { continue };
            let file = fs::read_to_string(root().join(name)).unwrap();
            assert_eq!(block.text, file, "{} shows {name}", page.path);
        }
    }
}
