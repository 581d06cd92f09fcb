//! Whatever is written, a check ends with diagnostics or a plan, never with a crash.

use proptest::prelude::*;
use recipe::syntax;

use crate::shelf::{check_bytes, check_files};

fn word() -> impl Strategy<Value = String> {
    let mut words: Vec<String> = syntax::reference()
        .iter()
        .flat_map(|(_, fields)| fields.iter().map(|field| field.name.to_owned()))
        .collect();
    for extra in
        ["<<", "r", "x", "ü", "a-b", "a_b", "{{x}}", "{{#if x}}", "comand", "~", "1", "true", "&a", "*a"]
    {
        words.push(extra.to_owned());
    }
    prop::sample::select(words)
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        word(),
        word().prop_map(|word| format!("\"{word} \\t {{{{{word}}}}}\"")),
        word().prop_map(|word| format!("[{word}, {word}]")),
        word().prop_map(|word| format!("{{{word}: {word}}}")),
        word().prop_map(|word| format!("|\n      {word}\n      {{{{{word}")),
        word().prop_map(|word| format!("{word} == '{word}' or {word}(1)")),
        Just(String::new()),
        (-3i32..300).prop_map(|number| number.to_string()),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec!["", "  ", "    ", "  - ", "      ", "- "]);
    (indent, word(), value()).prop_map(|(indent, key, value)| format!("{indent}{key}: {value}\n"))
}

fn step() -> impl Strategy<Value = String> {
    let fields = prop::collection::vec((word(), value()), 0..5);
    (word(), fields).prop_map(|(id, fields)| {
        let fields: String = fields.iter().map(|(key, value)| format!("    {key}: {value}\n")).collect();
        format!("  - id: {id}\n    command: x\n{fields}")
    })
}

proptest! {
    #[test]
    fn soup_of_fields(lines in prop::collection::vec(line(), 0..25)) {
        let text = format!("name: r\nsteps:\n  - id: s\n    command: x\n{}", lines.concat());
        check_files(&[("r.yaml", &text)], &["x"]);
        check_files(&[("r.yaml", &lines.concat())], &[]);
    }

    #[test]
    fn steps_with_random_fields(steps in prop::collection::vec(step(), 1..6)) {
        let text = format!("name: r\nsteps:\n{}", steps.concat());
        let checked = check_files(&[("r.yaml", &text)], &["x"]);
        for diagnostic in &checked.diagnostics {
            if let Some(place) = diagnostic.place {
                checked.sources.line_column(place);
            }
        }
        prop_assert!(checked.plan.is_some() || !checked.diagnostics.is_empty());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_bytes(&bytes);
    }
}
