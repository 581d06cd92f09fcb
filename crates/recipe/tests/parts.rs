//! The parts of the language by themselves: conditions, JSON in texts, values, file patterns, who reads what.

#![expect(clippy::panic, reason = "a recipe that cannot be read is a failed test")]

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    condition::Condition,
    digest, document, graph,
    json::extract,
    plan::Plan,
    shell::Piece,
    source::{LineColumn, Place, Sources, Span},
    template::Template,
    value::{Map, Number, Value},
};

fn scope() -> Map {
    let json = r#"{"n": 5, "list": ["a", 3], "object": {"k": "v", "1": "one"}, "sized": {"length": 7}, "path": "C:\\",
        "dotted.name": "d", "object.name": "o"}"#;
    match Value::from_json(json) {
        Ok(Value::Map(members)) => Map::clone(&members),
        _ => Map::new(),
    }
}

#[test]
fn conditions_have_values() {
    for (text, expected) in [
        ("1e3 == 1000", true),
        ("1E3 == 1000", true),
        ("1e-3 == 0.001", true),
        ("1e+3 == 1000", true),
        ("25e-1 == 2.5", true),
        ("0.5 ==.5", true),
        ("n ==.5", false),
        ("n in [.5, 5]", true),
        ("list == '[\"a\",3]'", true),
        ("list == '[3]'", false),
        ("list == 'a'", false),
        ("object == '{}'", false),
        ("'a' == 'a'", true),
        ("'a' == 'b'", false),
        ("object.length == 2", true),
        ("object.missing == ''", true),
        ("sized.length == 7", true),
        ("object[1] == 'one'", true),
        ("dotted.name == 'd' and object.name == 'o'", true),
        ("dotted == '' and object.k == 'v'", true),
        ("object[2] == ''", true),
        ("'it\\' s' == \"it' s\"", true),
        ("'x\\'and y' == \"x'and y\"", true),
        ("'a\\\" and b' == \"a\\\" and b\"", true),
        ("path == 'C:\\' and n == 5", true),
        ("path == 'C:\\' or n", true),
        ("path == 'C:\\'", true),
        ("'it\\' s' == 'x' or path == 'C:\\'", true),
        ("'x\\'and y' == 'q' or path == 'C:\\'", true),
    ] {
        let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(condition.holds(&scope()), Ok(expected), "{text}");
    }
}

#[test]
fn words_of_other_languages_get_a_hint() {
    for (text, help) in [
        ("n ne 5", "write `!=`"),
        ("n eq 5", "write `==`"),
        ("n like 5", "write `'part' in text`, or use `.startswith()`"),
        ("n matches 5", "write `'part' in text`, or use `.startswith()`"),
        ("n if list", "write `and` and `or`"),
        ("n then list", "write `and` and `or`"),
    ] {
        let error = Condition::parse(text).err();
        assert!(error.as_ref().is_some_and(|error| format!("{error:?}").contains(help)), "{text}: {error:?}");
    }
    assert!(Condition::parse(&format!("{}n", "(n) and ".repeat(500))).is_ok());
}

#[test]
fn json_in_a_text() {
    for (text, expected) in [
        ("```json\n{\"a\": 1}\n```", Some("{\"a\":1}")),
        ("so\n```json\n{\"a\": 1}", Some("{\"a\":1}")),
        ("x\n\n```json\n[1]``` and [2]", Some("[1]")),
        ("first\n```json\n[1] ```", Some("[1]")),
        ("```-1```", Some("-1")),
        ("```42```", Some("42")),
        ("a {\"b\" : [ 1 , { \"c\" : 2 } ] } d", Some("{\"b\":[1,{\"c\":2}]}")),
        ("a {\"b\" \"c\"} [2]", Some("[2]")),
        ("a [1 [2]] [3]", Some("[2]")),
        ("a {\"b\nc\": 1} [4]", Some("[4]")),
        ("a {\"b\n[4]", Some("[4]")),
        ("a [1} [5]", Some("[5]")),
        ("```json\n42```", Some("42")),
        ("```json\n42", Some("42")),
        ("none", None),
    ] {
        assert_eq!(extract(text).map(|value| value.to_json()), expected.map(str::to_owned), "{text}");
    }
    let nested = |depth: usize| format!("see {}{} [6]", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(extract(&nested(300)).map(|value| value.to_json()), Some("[6]".to_owned()));
    let open = format!("see {}[7]", "[".repeat(126));
    assert_eq!(extract(&open).map(|value| value.to_json()), Some("[7]".to_owned()));
}

#[test]
fn numbers_keep_their_spelling_where_json_has_it() {
    for (number, json) in [
        (Number::from_f64(3.0), "3"),
        (Number::from_f64(-0.5), "-0.5"),
        (Number::from_f64(-0.0), "0"),
        (Number::from_f64(1e16), "10000000000000000"),
        (Number::from_f64(8_999_999_999_999_999.0), "8999999999999999"),
        (Number::with_value("0x1F", 31.0), "31"),
        (Number::with_value(".inf", f64::INFINITY), "null"),
    ] {
        assert_eq!(Value::Number(number.clone()).to_json(), json, "{number:?}");
    }
}

#[test]
fn files_that_hold_values() {
    for (text, expected) in [
        ("{\"a\": 3.10}", Ok("{\"a\":3.10}")),
        ("\u{feff}[1]", Ok("[1]")),
        ("a: 3.10\n", Ok("{\"a\":3.10}")),
        ("# nothing\n", Err("line 1: the file is empty")),
        ("a: 1\n- b\n", Err("line 2: the indentation does not fit: a key of the map was expected here")),
        ("\n- a\n", Err("line 2: it is not a map of names and values")),
        ("a: 1\na: 2\n", Err("line 2: duplicate key `a`")),
    ] {
        let found = document::read(text.as_bytes());
        let found = found.map(|value| value.to_json()).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
    }
    assert!(document::read(b"a: \xff").is_err());
}

#[test]
fn digests_are_plain_sha256() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest::sha256(b"abc"), abc);
    assert_eq!(digest::sha256_from(&mut &b"abc"[..]).ok().as_deref(), Some(abc));
}

#[test]
fn places_are_lines_and_characters() {
    let mut sources = Sources::default();
    let file = sources.add("f", "aü\nb");
    for (at, line, column) in [(0, 1, 1), (1, 1, 2), (2, 1, 2), (3, 1, 3), (4, 2, 1), (5, 2, 2), (9, 2, 2)] {
        let place = Place { file, span: Span::new(at..at) };
        assert_eq!(sources.line_column(place), LineColumn { line, column }, "{at}");
    }
}

#[test]
fn file_patterns_overlap() {
    for (a, b, expected) in [
        ("**/a.txt", "x/a.txt", true),
        ("**/a.txt", "xa.txt", false),
        ("**/a.txt", "x/ya.txt", false),
        ("x/**", "x/y/z", true),
        ("x**z", "x/y/z", true),
        ("a?c", "a/c", false),
        ("a*c", "a/c", false),
        ("a*", "abc", true),
        ("abc", "a*", true),
        ("a?", "a", false),
    ] {
        assert_eq!(graph::patterns_meet(a, b), expected, "{a} {b}");
    }
}

const TOP: &str = "name: top
context: {goal: g, tone: t, deep: d, kind: leaf}
steps:
- {id: shell, command: 'x {{goal}} {{goal}} \"$RECIPE_VAR_tone\"', working_dir: '{{kind}}', condition: deep}
- {id: agent, prompt: '{{tone}} {{goal}}', model: '{{kind}}', env: {A: '{{deep}}'}}
- {id: nested, recipe: leaf, context: {given: '{{tone}}'}}
- {id: dynamic, recipe: '{{kind}}'}
- {id: last, command: 'x \"$RECIPE_VAR_shell\" $lower $RECIPE_VAR_tone_x'}
";

const LEAF: &str =
    "name: leaf\nsteps:\n- {id: k, command: 'x {{goal}} $RECIPE_VAR_deep'}\noutput: {template: '{{kind}}'}\n";

struct Leaf;

impl Loader for Leaf {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        Ok(Loaded { path: name.to_owned(), bytes: Arc::from(LEAF.as_bytes()) })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        vec!["leaf".to_owned()]
    }
}

fn plan() -> Plan {
    let outcome =
        check(Loaded { path: "top".to_owned(), bytes: Arc::from(TOP.as_bytes()) }, &Leaf, &Given::default());
    outcome.plan.unwrap_or_else(|| panic!("{:?}", outcome.diagnostics))
}

#[test]
fn steps_read_these_names() {
    let plan = plan();
    let known: Vec<String> = ["goal", "tone", "deep", "kind", "shell"].map(str::to_owned).to_vec();
    for (at, own, all) in [
        (0, "deep goal kind", "deep goal kind tone"),
        (1, "deep goal kind tone", "deep goal kind tone"),
        (2, "tone", "deep goal kind tone"),
        (3, "kind", "kind"),
        (4, "", "shell"),
    ] {
        let step = &plan.root().steps[at];
        assert_eq!(graph::reads(step).join(" "), own, "{}", step.id);
        let inputs: BTreeSet<String> = graph::inputs(&plan, step, known.iter());
        assert_eq!(inputs.into_iter().collect::<Vec<_>>().join(" "), all, "{}", step.id);
    }
}

#[test]
fn a_name_that_has_dots_is_read_where_it_is_known() {
    let text = "name: r\ncontext: {a.b: 1}\nsteps: [{id: s, prompt: 'say {{a.b.c}}'}]\n";
    let root = Loaded { path: "top".to_owned(), bytes: Arc::from(text.as_bytes()) };
    let plan = check(root, &Leaf, &Given::default()).plan.unwrap_or_else(|| panic!("{text}"));
    let known = ["a.b".to_owned(), "other".to_owned()];
    let inputs = graph::inputs(&plan, &plan.root().steps[0], known.iter());
    assert_eq!(inputs.into_iter().collect::<Vec<_>>(), ["a", "a.b"]);
}

#[test]
fn duplicate_json_keys_are_refused() {
    for (text, expected) in [
        (r#"{"a": 1, "b": {"a": 1}}"#, ""),
        (r#"{"a": 1, "a": 2}"#, "duplicate key `a`"),
        ("{\"a\": [1,\n {\"b\": 1, \"b\": 2}]}", "duplicate key `b`"),
        // what is no JSON may be YAML
        ("{a: x}", ""),
        ("a: x", ""),
        // a number is kept as it is written
        (r#"{"a": 1e999}"#, ""),
    ] {
        let reported = recipe::document::read(text.as_bytes()).err().map(|error| error.to_string());
        assert_eq!(reported.is_some(), !expected.is_empty(), "{text}: {reported:?}");
        assert!(reported.unwrap_or_default().contains(expected), "{text}");
    }
}

#[test]
fn a_nul_is_found_at_any_depth() {
    for (json, expected) in [
        (r#""a\u0000b""#, true),
        (r#"[1, ["\u0000"]]"#, true),
        (r#"{"a": {"b": "\u0000"}}"#, true),
        (r#"{"a": [null, true, 1.5, "x", {}, []]}"#, false),
    ] {
        let value = recipe::value::Value::from_json(json).unwrap();
        assert_eq!(value.holds_nul(), expected, "{json}");
    }
}

#[test]
fn a_step_reads_some_of_these_names() {
    let plan = plan();
    for (at, names, expected) in [
        (0, "goal", Some("goal")),
        (0, "tone", Some("tone")),
        (0, "shell", None),
        (0, "", None),
        (2, "deep", Some("deep")),
        (2, "shell", None),
        (4, "shell", Some("shell")),
        (4, "tone lower", None),
    ] {
        let step = &plan.root().steps[at];
        let names: HashSet<String> = names.split_whitespace().map(str::to_owned).collect();
        assert_eq!(graph::reads_one_of(&plan, step, &names).as_deref(), expected, "{} {names:?}", step.id);
    }
    let edges = graph::edges_in(&plan, plan.root());
    let to_last: Vec<(usize, &str)> =
        edges.iter().filter(|edge| edge.to == 4).map(|edge| (edge.from, edge.link.as_str())).collect();
    assert_eq!(to_last, [(0, graph::Link::Value.as_str())]);
}

#[test]
fn a_command_is_cut_into_texts_and_holes() {
    for (text, expected) in [
        ("a {{n}} b {{list}} c {{n}}", "a |0| b |1| c |0 for n list"),
        ("{{#if n}}x {{n}}{{else}}y{{/if}}z", "x |0|z for n"),
        ("{{#if nobody}}x{{else}}y {{object.k}}{{/if}}", "y |0 for object.k"),
    ] {
        let template = Template::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let scope = scope();
        let (pieces, paths) = template.pieces(&scope);
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Hole(number) => number.to_string(),
        });
        let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
        let reported = format!("{} for {}", pieces.collect::<Vec<_>>().join("|"), paths.join(" "));
        assert_eq!(reported, expected, "{text}");
    }
}

#[test]
fn comments_of_a_command_read_nothing() {
    let names = |count: usize| (0..count).map(|at| format!("{{{{nobody{at}}}}} ")).collect::<String>();
    for (command, expected) in [
        ("echo {{nobody}}", 1),
        ("# {{nobody}}\necho", 0),
        ("echo a # {{nobody}}\necho", 0),
        ("echo a # {{nobody}} {{nobody2}}\necho", 0),
        ("echo '#' {{nobody}}", 1),
        ("echo a#{{nobody}}", 1),
        ("# a\necho {{nobody}}", 1),
        ("echo {{goal}} '# {{nobody}}'", 1),
        ("echo {{goal}} # {{goal}} {{nobody}}", 0),
        ("{{#if goal}}'{{else}}x{{/if}} # {{nobody}}'", 1),
        ("{{#if goal}}x{{else}}'{{/if}} # {{nobody}}'", 1),
        ("{{#if goal}}x {{nobody}}{{else}}y {{nobody2}}{{/if}}", 2),
        (&format!("# {}", names(200)), 0),
        // every name is a search: of so many none is made
        (&format!("# {}", names(201)), 201),
    ] {
        let lines = command.replace('\n', "\n    ");
        let text = format!("name: t\ncontext: {{goal: g}}\nsteps:\n- id: s\n  command: |\n    {lines}\n");
        let loaded = Loaded { path: "t".to_owned(), bytes: Arc::from(text.as_bytes()) };
        let found = check(loaded, &Leaf, &Given::default()).diagnostics;
        let named = found.iter().filter(|diagnostic| diagnostic.message.contains("nobody")).count();
        assert_eq!(named, expected, "{command}: {found:?}");
    }
}
