//! Tests of the YAML reader: typing, keys, merges, places and messages.

mod hostile;
mod messages;
mod places;

use super::*;
use crate::source::Sources;

fn read(text: &str) -> (Sources, Option<Node>, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let file = sources.add("test.yaml", text);
    let mut diagnostics = Vec::new();
    let node = parse(&sources, file, &mut diagnostics);
    (sources, node, diagnostics)
}

fn tree(text: &str) -> Node {
    let (_, node, diagnostics) = read(text);
    assert_eq!(diagnostics, [], "{text}");
    node.unwrap()
}

/// The tree as JSON.
fn check(text: &str, expected: &str) {
    assert_eq!(tree(text).to_value().to_json(), expected, "{text}");
}

/// All problems, each as `line:column code message`.
fn problems(text: &str) -> Vec<String> {
    let (sources, _, diagnostics) = read(text);
    let show = |found: &Diagnostic| {
        let at = sources.line_column(found.place.unwrap());
        format!("{}:{} {} {}", at.line, at.column, found.code.as_str(), found.message)
    };
    diagnostics.iter().map(show).collect()
}

fn check_problem(text: &str, expected: &str) {
    let found = problems(text);
    assert_eq!(found.len(), 1, "{text}: {found:#?}");
    assert!(found[0].starts_with(expected), "{text}\n  found {}\n  expected {expected}", found[0]);
}

fn help(text: &str) -> String {
    read(text).2[0].help.clone().unwrap()
}

#[test]
fn plain_scalars_are_typed_by_the_core_rules() {
    for (written, kind, json) in [
        ("yes", "text", "\"yes\""),
        ("no", "text", "\"no\""),
        ("on", "text", "\"on\""),
        ("off", "text", "\"off\""),
        ("true", "a boolean", "true"),
        ("True", "a boolean", "true"),
        ("FALSE", "a boolean", "false"),
        ("tRue", "text", "\"tRue\""),
        ("3.10", "a number", "3.10"),
        ("1.0", "a number", "1.0"),
        ("0x1F", "a number", "31"),
        ("0o17", "a number", "15"),
        ("0xZ", "text", "\"0xZ\""),
        ("0x", "text", "\"0x\""),
        ("007", "a number", "7"),
        ("-12", "a number", "-12"),
        ("+1", "a number", "1"),
        (".5", "a number", "0.5"),
        ("1e3", "a number", "1e3"),
        ("12e03", "a number", "12e03"),
        ("4517e12", "a number", "4517e12"),
        ("1234567890123456789012345", "a number", "1234567890123456789012345"),
        ("2024-01-01", "text", "\"2024-01-01\""),
        ("1_000", "text", "\"1_000\""),
        ("1.2.3", "text", "\"1.2.3\""),
        (".inf", "text", "\".inf\""),
        (".nan", "text", "\".nan\""),
        ("inf", "text", "\"inf\""),
        (".", "text", "\".\""),
        ("~", "nothing", "null"),
        ("null", "nothing", "null"),
        ("Null", "nothing", "null"),
        ("nULL", "text", "\"nULL\""),
        ("", "nothing", "null"),
        ("''", "text", "\"\""),
        ("\"1\"", "text", "\"1\""),
        ("'true'", "text", "\"true\""),
        ("'false'", "text", "\"false\""),
        ("!!str 1", "text", "\"1\""),
        ("!!str", "text", "\"\""),
        ("!!int \"5\"", "a number", "5"),
        ("!!bool 'true'", "a boolean", "true"),
        ("a#b", "text", "\"a#b\""),
        ("http://x", "text", "\"http://x\""),
    ] {
        let root = tree(&format!("v: {written}\n"));
        let node = &root.get("v").unwrap().value;
        assert_eq!(node.type_name(), kind, "{written}");
        if !json.contains('e') || kind != "a number" {
            assert_eq!(node.to_value().to_json(), json, "{written}");
        }
        if kind == "a number" && !written.starts_with('!') {
            assert_eq!(node.to_value().render(), written);
        }
    }
}

#[test]
fn trees_have_the_shape_that_was_written() {
    check("a:\n- 1\n- b: 2\n  c: [x, {y: z}]\n", r#"{"a":[1,{"b":2,"c":["x",{"y":"z"}]}]}"#);
    check("---\na: 1\n...\n", r#"{"a":1}"#);
    check("%YAML 1.2\n---\na: 1\n", r#"{"a":1}"#);
    check("---\n---\na: 1\n---\n", r#"{"a":1}"#);
    check("1: a\ntrue: b\n~: c\n1.0: d\n", r#"{"1":"a","true":"b","~":"c","1.0":"d"}"#);
    check("? a\n: b\n", r#"{"a":"b"}"#);
    check("{a: b}", r#"{"a":"b"}"#);
    check("a: |\n  x\n   y\n\nb: >-\n  x\n  y\n\n  z\n", r#"{"a":"x\n y\n","b":"x y\nz"}"#);
    check("a: [b: c]\n", r#"{"a":[{"b":"c"}]}"#);
    check(&format!("{}a: 1\n{}b: 2\n", "# c\n".repeat(500), "# c\n".repeat(500)), r#"{"a":1,"b":2}"#);
}

#[test]
fn aliases_and_merges_are_expanded() {
    check("a: &x {p: 1}\nb: *x\n", r#"{"a":{"p":1},"b":{"p":1}}"#);
    check("a: &x name\n*x : 1\n", r#"{"a":"name","name":1}"#);
    check("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", r#"{"a":{"p":1,"q":2},"b":{"p":1,"q":3}}"#);
    check("a: &x {p: 1}\nb: {q: 3, <<: *x}\n", r#"{"a":{"p":1},"b":{"q":3,"p":1}}"#);
    check("b:\n  <<: [{p: 1}, {p: 2, q: 2}]\n", r#"{"b":{"p":1,"q":2}}"#);
    check(
        "x: &x {p: 1}\ny: &y {<<: *x, q: 2}\nz: {<<: *y}\n",
        r#"{"x":{"p":1},"y":{"p":1,"q":2},"z":{"p":1,"q":2}}"#,
    );
    check("a: {\"<<\": {p: 1}, '<<x': 2}\n", r#"{"a":{"<<":{"p":1},"<<x":2}}"#);
    check("a: {!!str <<: {p: 1}}\n", r#"{"a":{"<<":{"p":1}}}"#);
    check("a: &x 1\nb: &x 2\nc: *x\n", r#"{"a":1,"b":2,"c":2}"#);
    check_problem("a: {<<: 5}\n", "1:9 wrong-type `<<` merges maps, but this is a number");
    check_problem("a: {<<: [{p: 1}, x]}\n", "1:18 wrong-type `<<` merges maps, but this is text");
    check_problem("x: &x [1]\na:\n  <<: *x\n", "3:3 wrong-type `<<` merges maps");
    check_problem("a:\n  <<: {p: 1}\n  <<: {q: 1}\n", "3:3 duplicate-key duplicate key `<<`");
}

#[test]
fn merged_entries_have_their_places() {
    let (sources, node, _) = read("a: &x\n  p: 1\nb:\n  <<: *x\n");
    let root = node.unwrap();
    let entry = root.get("b").unwrap().value.get("p").unwrap();
    assert_eq!(sources.line_column(entry.key.place).line, 2);
    assert_eq!(sources.line_column(entry.value.place).line, 2);
}

#[test]
fn every_duplicate_key_is_reported() {
    assert_eq!(
        problems("a: 1\nb: {x: 1, x: 2}\n'a': 2\na: 3\n"),
        [
            "2:11 duplicate-key duplicate key `x`",
            "3:1 duplicate-key duplicate key `a`",
            "4:1 duplicate-key duplicate key `a`",
        ]
    );
    assert!(help("a: 1\n\na: 2\n").contains("line 1"));
    let (_, node, _) = read("a: 1\na: 2\n");
    assert_eq!(node.unwrap().to_value().to_json(), r#"{"a":1}"#);
}

#[test]
fn no_text_may_hold_a_nul() {
    check_problem("a: \"b\\0\"\n", "1:4 nul-character");
    check_problem("a: [{\"b\\0\": 1}]\n", "1:6 nul-character");
    check("a: '\\0'\n", r#"{"a":"\\0"}"#);
}

#[test]
fn a_recipe_must_be_a_map_of_fields() {
    check_problem("", "1:1 empty-file");
    check_problem("# only\n# comments\n", "1:1 empty-file");
    check_problem("---\n...\n", "1:1 empty-file");
    check_problem("- a\n", "1:1 wrong-type a recipe is a map of fields, but this is a list");
    check_problem("hello\n", "1:1 wrong-type a recipe is a map of fields, but this is text");
    check_problem("null\n", "1:1 wrong-type a recipe is a map of fields, but this is nothing");
    check_problem("a: 1\n---\nb: 2\n", "2:1 several-documents");
    check_problem("a: 1\n---\n---\nb: 2\n", "3:1 several-documents");
    check_problem("? [a]\n: b\n", "1:3 wrong-type a key must be text, but this is a list");
    check_problem("{a: b}: c\n", "1:1 wrong-type a key must be text, but this is a map");
}
