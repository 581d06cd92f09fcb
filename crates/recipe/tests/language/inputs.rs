//! Typed inputs: their declarations, and the values that they make.

use recipe::{
    diagnostic::Code,
    plan::Unit,
    typed::typed,
    value::{Map, Value},
};

use crate::shelf::{check_files, with_field};

/// The codes and messages for a recipe with these inputs.
fn reported(inputs: &str) -> Vec<(Code, String)> {
    let text = with_field(&format!("inputs: [{inputs}]"));
    let found = check_files(&[("r.yaml", &text)], &[]).diagnostics;
    assert!(found.iter().all(|problem| problem.place.is_some() && problem.help.is_some()), "{found:?}");
    found.into_iter().map(|problem| (problem.code, problem.message)).collect()
}

fn unit(fields: &str) -> Unit {
    let checked = check_files(&[("r.yaml", &with_field(fields))], &[]);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    checked.plan.map(|plan| Unit::clone(plan.root())).unwrap_or_default()
}

#[test]
fn a_wrong_declaration_is_reported() {
    for (inputs, code, message) in [
        ("{name: a, type: string}", Code::UnknownWord, "`string` is not a valid `type`"),
        ("{name: a, type: integr}", Code::UnknownWord, "`integr` is not a valid `type`"),
        ("{name: a, choices: [x]}", Code::Contradiction, "an input without a type takes no `choices`"),
        (
            "{name: a, type: list, choices: [x]}",
            Code::Contradiction,
            "an input of type `list` takes no `choices`",
        ),
        ("{name: a, type: choice}", Code::MissingField, "the input has no `choices`"),
        ("{name: a, type: choice, choices: []}", Code::EmptyField, "`choices` of the input is empty"),
        (
            "{name: a, type: choice, choices: [x, '']}",
            Code::EmptyField,
            "one of the `choices` of the input is empty",
        ),
        (
            "{name: a, type: integer, pattern: x}",
            Code::Contradiction,
            "an input of type `integer` takes no `pattern`",
        ),
        (
            "{name: a, type: text, pattern: '[a'}",
            Code::BadRegex,
            "`pattern` is not a regular expression: unclosed character class",
        ),
        (
            "{name: a, type: integer, default: 2.5}",
            Code::WrongDefault,
            "`default` must be a whole number, but it is `2.5`",
        ),
        (
            "{name: a, pattern: v.*, default: w}",
            Code::WrongDefault,
            "`default` must match the pattern `v.*`, but it is `w`",
        ),
        (
            "{name: a, type: choice, choices: [dev, prod], default: prd}",
            Code::WrongDefault,
            "`default` must be one of `dev`, `prod`, but it is `prd`; did you mean `prod`?",
        ),
        (
            "{name: a, type: secret, default: [hidden-value]}",
            Code::WrongDefault,
            "`default` must be text, but its value is not (it is secret)",
        ),
    ] {
        assert_eq!(reported(inputs), [(code, message.to_owned())], "{inputs}");
    }
}

#[test]
fn all_wrong_declarations_are_reported_together() {
    let found = reported(
        "{name: a, type: integer, default: x, pattern: y}, {name: b, choices: [x]}, {name: c, type: flag}",
    );
    let codes: Vec<Code> = found.into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, [Code::WrongDefault, Code::Contradiction, Code::Contradiction, Code::UnknownWord]);
}

#[test]
fn a_type_of_another_language_gets_a_suggestion() {
    for (word, meant) in [("string", "text"), ("bool", "boolean"), ("int", "integer"), ("intger", "integer")]
    {
        let text = with_field(&format!("inputs: [{{name: a, type: {word}}}]"));
        let found = check_files(&[("r.yaml", &text)], &[]).diagnostics;
        assert_eq!(found[0].label, format!("did you mean `{meant}`?"));
    }
}

#[test]
fn a_value_of_the_context_must_fit_the_input_of_its_name() {
    let text = with_field("context: {a: x}\ninputs: [{name: a, type: number}]");
    let found = check_files(&[("r.yaml", &text)], &[]).diagnostics;
    assert_eq!(found[0].message, "`a` must be a number, but it is `x`");
}

#[test]
fn a_default_may_be_empty_and_a_path_need_not_exist_yet() {
    for inputs in [
        "{name: a, type: path, default: nowhere/at/all}",
        "{name: a, type: integer, default: ''}",
        "{name: a, type: choice, choices: [1, yes], default: yes}",
        "{name: a, type: list, default: [x]}",
        "{name: a, type: json, default: {x: 1}}",
        "{name: a, type: boolean, default: no}",
    ] {
        assert_eq!(reported(inputs), [], "{inputs}");
    }
}

#[test]
fn a_secret_input_is_one_of_the_secrets() {
    let unit =
        unit("context: {b: 1}\nsecrets: [b]\ninputs: [{name: a, type: secret}, {name: c, type: text}]");
    assert_eq!(unit.secrets, ["b", "a"]);
}

#[test]
fn values_of_a_context_get_their_types() {
    let unit = unit(
        "inputs: [{name: n, type: integer}, {name: on, type: boolean}, {name: any}, {name: x, type: list}]",
    );
    let given = [("n", "4.0"), ("on", "No"), ("any", "4.0"), ("x", "a,b"), ("other", "yes")];
    let context: Map = given.map(|(name, text)| (name.to_owned(), typed(text))).into_iter().collect();
    let fitted = Value::map(unit.fitted(context)).to_json();
    assert_eq!(fitted, r#"{"n":4,"on":false,"any":4.0,"x":["a","b"],"other":"yes"}"#);
    // a value that does not fit stays as it is, and is reported before the first step
    assert_eq!(unit.fitted_value("n", &typed("x")), Value::from("x"));
}
