//! The meaning of given texts, and their precedence.

use recipe::plan::Unit;

use super::*;

#[test]
fn a_text_of_the_command_line_has_the_type_that_it_looks_like() {
    for (text, kind) in [
        ("true", "a boolean"),
        ("false", "a boolean"),
        ("True", "text"),
        ("yes", "text"),
        ("5", "a number"),
        ("-5", "a number"),
        ("+5", "a number"),
        ("007", "a number"),
        ("1234567890123456789012345", "a number"),
        ("0.75", "a number"),
        ("3.10", "a number"),
        (".5", "a number"),
        ("4517e12", "text"),
        ("1e5", "text"),
        ("1.5e3", "text"),
        ("2.1.0", "text"),
        ("0x1F", "text"),
        ("inf", "text"),
        ("NaN", "text"),
        (".", "text"),
        ("-", "text"),
        ("", "text"),
        (" 5", "text"),
        ("null", "text"),
        ("\"quoted\"", "text"),
        ("{\"a\": [1, 2.50]}", "an object"),
        ("[\"web\", \"api\"]", "a list"),
        ("[]", "a list"),
        ("{broken", "text"),
        ("[x]", "text"),
        ("hello world", "text"),
        ("a=b=c", "text"),
    ] {
        let value = typed(text);
        assert_eq!(value.type_name(), kind, "{text}");
        assert_eq!(value.render(), text, "the spelling is kept");
    }
    assert_eq!(typed("{\"a\": [1, 2.50]}").to_json(), "{\"a\":[1,2.50]}");
}

#[test]
fn an_assignment_has_a_name_and_an_equals_sign() {
    for (text, expected) in [
        ("a=b", Some(("a", "b"))),
        ("a=", Some(("a", ""))),
        ("a=b=c", Some(("a", "b=c"))),
        ("a.b=c", Some(("a.b", "c"))),
        ("a", None),
        ("=b", None),
        ("", None),
    ] {
        let found = assignment(text).ok();
        let found = found.as_ref().map(|(name, value)| (name.as_str(), value.render()));
        assert_eq!(found, expected.map(|(name, value)| (name, value.into())), "{text}");
    }
}

fn unit(text: &str) -> Unit {
    struct Nothing;
    impl recipe::check::Loader for Nothing {
        fn recipe(&self, _: &str, _: &str) -> Result<recipe::check::Loaded, recipe::check::LoadError> {
            Err(recipe::check::LoadError::NotFound { searched: Vec::new() })
        }
        fn agent(&self, _: &recipe::agent_ref::AgentRef, _: &str) -> Option<std::sync::Arc<str>> {
            None
        }
        fn recipe_names(&self) -> Vec<String> {
            Vec::new()
        }
    }
    let text = format!("name: x\nsteps: [{{id: s, command: 'true'}}]\n{text}");
    let loaded = recipe::check::Loaded { path: "x.yaml".to_owned(), bytes: text.as_bytes().into() };
    let checked = recipe::check::check(loaded, &Nothing, &recipe::check::Given::default());
    Unit::clone(checked.plan.unwrap().root())
}

/// The merged values of a recipe whose `context` is `context`, as JSON.
fn check(context: &str, variables: &[(&str, &str)], file: &str, set: &[&str], expected: &str) {
    let unit = unit(context);
    let Value::Map(file) = Value::from_json(file).unwrap() else { panic!("{file}") };
    let own = set.iter().map(|text| assignment(text).unwrap()).collect();
    let outside = Inputs { shared: Map::clone(&file), own };
    let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let values = outside.settings(&unit, variable);
    assert_eq!(Value::map(values).to_json(), expected, "{context} {variables:?} {set:?}");
}

#[test]
fn set_beats_the_file_which_beats_the_environment() {
    let context = "context: {a: 0, b-c: 0, d: {e: 1, f: {g: 2}}}\ninputs: [{name: i}]";
    check(context, &[], "{}", &[], "{}");
    check(context, &[("RECIPE_VAR_a", "1")], "{}", &[], r#"{"a":1}"#);
    check(context, &[("RECIPE_VAR_a", "")], "{}", &[], r#"{"a":""}"#);
    check(context, &[("RECIPE_VAR_b_c", "x"), ("RECIPE_VAR_i", "y")], "{}", &[], r#"{"b-c":"x","i":"y"}"#);
    check(context, &[("RECIPE_VAR_b-c", "x")], "{}", &[], r#"{"b-c":"x"}"#);
    check(context, &[("RECIPE_VAR_undeclared", "1")], "{}", &[], "{}");
    check(context, &[("RECIPE_VAR_a", "1")], r#"{"a": 2}"#, &[], r#"{"a":2}"#);
    check(context, &[("RECIPE_VAR_a", "1")], r#"{"a": 2}"#, &["a=3"], r#"{"a":3}"#);
    check("context_validation: {q: nonempty}", &[("RECIPE_VAR_q", "x")], "{}", &[], r#"{"q":"x"}"#);
    check(context, &[], "{}", &["a=1", "a=2"], r#"{"a":2}"#);
    check(context, &[], r#"{"new": [1]}"#, &["newer=x"], r#"{"new":[1],"newer":"x"}"#);
}

#[test]
fn a_dotted_name_sets_a_member_of_a_declared_map() {
    let context = "context: {a: 0, d: {e: 1, f: {g: 2}}}";
    check(context, &[], "{}", &["d.e=5"], r#"{"d":{"e":5,"f":{"g":2}}}"#);
    check(context, &[], "{}", &["d.f.g=5"], r#"{"d":{"e":1,"f":{"g":5}}}"#);
    check(context, &[], "{}", &["d.new=5"], r#"{"d":{"e":1,"f":{"g":2},"new":5}}"#);
    check(context, &[], "{}", &["d.e=5", "d.f.g=6"], r#"{"d":{"e":5,"f":{"g":6}}}"#);
    check(context, &[], r#"{"d": {"z": 1}}"#, &["d.e=5"], r#"{"d":{"z":1,"e":5}}"#);
    check(context, &[], "{}", &["a.b=5"], r#"{"a.b":5}"#);
    check(context, &[], "{}", &["x.y=5"], r#"{"x.y":5}"#);
}

#[test]
fn a_context_file_is_json_or_yaml() {
    for (text, expected) in [
        ("{\"a\": 1, \"b\": [3.10]}", Ok("{\"a\":1,\"b\":[3.10]}")),
        ("a: 1\nb:\n  - 3.10\n", Ok("{\"a\":1,\"b\":[3.10]}")),
        ("{a: x}", Ok("{\"a\":\"x\"}")),
        ("\u{feff}{\"a\": 1}", Ok("{\"a\":1}")),
        ("on: yes", Ok("{\"on\":\"yes\"}")),
        ("", Err("line 1")),
        ("- a", Err("not a map")),
        ("a: [", Err("line")),
        ("a: 1\na: 2", Err("line 2: duplicate key `a`")),
        ("{\"a\": 1,\n\"a\": 2}", Err("line 2: duplicate key `a`")),
        ("{\"b\": [1.0, null, true, {\"c\": {\"d\": \"\", \"d\": 2}}]}", Err("line 1: duplicate key `d`")),
        ("{\"a\": {\"a\": [{\"a\": -1}, {\"a\": 2.50}]}}", Ok("{\"a\":{\"a\":[{\"a\":-1},{\"a\":2.50}]}}")),
        ("just text", Err("not a map")),
    ] {
        match (document::read(text.as_bytes()).map_err(|error| error.to_string()), expected) {
            (Ok(value), Ok(json)) => assert_eq!(value.to_json(), json, "{text}"),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{text}: {reason}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}
