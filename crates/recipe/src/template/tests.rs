//! What templates give, and which mistakes are found in them.

use super::*;
use crate::{
    scope::Foreseen,
    value::{Map, Value},
};

fn scope() -> Map {
    let Value::Map(map) = Value::from_json(
        r#"{"name": "Ada", "n": 3.10, "yes": true, "empty": "", "deploy": {"target": "prod", "hosts": ["a", "b"]},
            "json": "{\"ok\": [1, 2]}", "my-name": "hyphen", "list": [1, 2, 3], "obj": {"a": 1}, "none": null}"#,
    )
    .unwrap() else {
        panic!("a map")
    };
    Map::clone(&map)
}

#[test]
fn values_are_put_in() {
    for (template, expected) in [
        ("plain", "plain"),
        ("", ""),
        ("hi {{name}}!", "hi Ada!"),
        ("{{ name }}", "Ada"),
        ("{{n}}", "3.10"),
        ("{{yes}}", "true"),
        ("[{{undefined}}]", "[]"),
        ("[{{none}}]", "[]"),
        ("{{deploy.target}}", "prod"),
        ("{{deploy.hosts[1]}}", "b"),
        ("{{deploy.hosts[-1]}}", "b"),
        ("{{deploy.hosts.length}}", "2"),
        ("{{name.length}}", "3"),
        ("{{deploy.hosts}}", r#"["a","b"]"#),
        ("{{obj}}", r#"{"a":1}"#),
        ("{{json.ok[0]}}", "1"),
        ("{{my-name}}", "hyphen"),
        ("{{{name}}}", "{Ada}"),
        ("{{.Names}} {{}} {{\"a\": 1}} { {", "{{.Names}} {{}} {{\"a\": 1}} { {"),
        ("awk '{{ print $1 }'", "awk '{{ print $1 }'"),
        ("awk '{{ print $1 }' {{n}}", "awk '{{ print $1 }' 3.10"),
        ("awk '{{ print \"a\" }'", "awk '{{ print \"a\" }'"),
        ("{{ x = 1; f(x) }", "{{ x = 1; f(x) }"),
        ("docker ps --format '{{", "docker ps --format '{{"),
        ("{{- range . }", "{{- range . }"),
        ("echo ${{", "echo ${{"),
        ("{{#if yes}}A{{else}}B{{/if}}", "A"),
        ("{{#if empty}}A{{else}}B{{/if}}", "B"),
        ("{{#if empty}}A{{/if}}.", "."),
        ("{{#if yes}}{{#if empty}}x{{else}}{{name}}{{/if}}{{/if}}", "Ada"),
    ] {
        assert_eq!(Template::parse(template).unwrap().render(&scope()), expected, "{template}");
    }
}

#[test]
fn a_path_continues_after_a_name_with_dots() {
    let json = r#"{"a.b": {"c": "X", "l": [1, 2]}, "v1.2": "{\"z\": [7]}", "a.b.d": "own", "m": {"k": {"x": 1}, "n": null},
        "m.k": {"x": 2, "y": 3}, "m.n": {"o": 4}, "l.l": [1, 2, 3]}"#;
    let Ok(Value::Map(scope)) = Value::from_json(json) else { panic!("a map") };
    for (path, expected) in [
        ("a.b.c", "X"),
        ("a.b.l[1]", "2"),
        ("a.b.l.length", "2"),
        ("a.b.d", "own"),
        ("a.b.nope", ""),
        ("a", ""),
        ("v1.2.z", "[7]"),
        ("v1.2.z[0]", "7"),
        ("l.l[0]", "1"),
        ("l.l.length", "3"),
        // a way through plain names comes first
        ("m.k.x", "1"),
        ("m.k.y", "3"),
        ("m.n.o", "4"),
    ] {
        let template = Template::parse(&format!("{{{{{path}}}}}")).unwrap();
        assert_eq!(template.render(&**scope), expected, "{path}");
    }
}

#[test]
fn unknown_values_stay_as_written() {
    let unknown = ["late", "v1.2"].map(str::to_owned).into();
    for (template, expected) in [
        ("{{ late }} {{late.a[0]}} {{name}}", "{{ late }} {{late.a[0]}} Ada"),
        ("{{v1.2}} {{v1.2.z}} [{{v1}}]", "{{v1.2}} {{v1.2.z}} []"),
        ("<{{#if late}}A {{name}}{{else}}B{{/if}}>", "<{{#if late}}A {{name}}{{else}}B{{/if}}>"),
        ("{{#if yes}}{{#if late}}A{{/if}} {{name}}{{/if}}", "{{#if late}}A{{/if}} Ada"),
        ("{{#if empty}}{{late}}{{else}}B{{/if}}", "B"),
    ] {
        let scope = Foreseen { scope: &scope(), unknown: &unknown };
        assert_eq!(Template::parse(template).unwrap().render(&scope), expected, "{template}");
    }
    let scope = Foreseen { scope: &scope(), unknown: &unknown };
    assert_eq!(Template::parse("{{late}}").unwrap().value(&scope), Value::from("{{late}}"));
}

#[test]
fn mistakes_are_found_with_their_place() {
    for (template, at, message) in [
        ("a {{name", 2..8, "not closed"),
        ("a {{ name", 2..9, "not closed"),
        ("a {{ name }", 2..11, "not closed"),
        ("\"{{ name\" b", 1..11, "not closed"),
        ("{{  a.b[0]", 0..10, "not closed"),
        ("{{ name, and more", 0..17, "not closed"),
        ("{{ name\n{{n}}", 0..7, "not closed"),
        ("{{name {{n}}", 0..12, "not closed"),
        ("{{#if x}}a", 0..9, "not closed"),
        ("{{#if x}}a{{else}}b", 0..9, "not closed"),
        ("{{else}}", 0..8, "without an"),
        ("x{{/if}}", 1..8, "closes nothing"),
        ("{{#each x}}", 0..11, "not a block"),
        ("{{#if x}}a{{/each}}", 10..19, "not a block"),
        ("{{#if}}a{{/if}}", 0..7, "not a block"),
        ("{{#if x}}{{else}}{{else}}{{/if}}", 17..25, "second"),
        ("{{ x | upper }}", 0..15, "not a name"),
        ("{{a b}}", 0..7, "not a name"),
        ("{{a..b}}", 0..8, "not a name"),
        ("{{a[x]}}", 0..8, "not a name"),
    ] {
        let errors = Template::parse(template).unwrap_err();
        assert_eq!(errors.len(), 1, "{template}: {errors:?}");
        assert!(errors[0].message.contains(message), "{template}: {}", errors[0].message);
        assert_eq!(errors[0].at, at, "{template}");
    }
}

#[test]
fn all_mistakes_of_a_text_are_found() {
    for (template, starts) in [
        ("{{a b}} {{c d}} {{e f}}", &[0, 8, 16][..]),
        ("{{a b}} {{ok}} {{c", &[0, 15]),
        ("{{a {{b {{c", &[0, 4, 8]),
        ("{{else}}{{/if}}{{#each x}}{{/each}}{{/with}}", &[0, 8, 15, 26, 35]),
        ("{{#if a b}}{{c d}}{{else}}{{e f}}{{/if}}", &[0, 11, 26]),
        ("{{#if a b}}{{c d}}", &[0, 11]),
        ("{{#if}}a{{/if}} {{x y}}", &[0, 16]),
        ("{{#if x} a {{else}} b {{/if}} {{x y}}", &[0, 30]),
        ("{{#if x}}a{{/if {{x y}}", &[10, 16]),
        ("{{#if x}}{{else}}{{else}}{{else}}{{/if}}", &[17, 25]),
        ("{{#if x}}{{#if y}}", &[0, 9]),
    ] {
        let errors = Template::parse(template).unwrap_err();
        let found: Vec<usize> = errors.iter().map(|error| error.at.start).collect();
        assert_eq!(found, starts, "{template}: {errors:?}");
    }
    assert_eq!(Template::parse(&"{{a ".repeat(200_000)).unwrap_err().len(), parser::MAX_ERRORS);
}

#[test]
fn deep_blocks_are_refused() {
    assert!(Template::parse(&"{{#if x}}".repeat(10_000)).is_err());
    for open in ["{{#if x}}", "{{#if x}}{{else}}"] {
        let nested = |levels: usize| format!("{}{}", open.repeat(levels), "{{/if}}".repeat(levels));
        assert!(Template::parse(&nested(50)).is_ok(), "{open}");
        let errors = Template::parse(&nested(51)).unwrap_err();
        assert_eq!(errors.len(), 1, "{open}: {errors:?}");
        assert_eq!(errors[0].message, "`{{#if}}` nests more than 50 levels deep", "{open}");
    }
}

#[test]
fn one_hole_keeps_its_type() {
    assert_eq!(Template::parse("{{ yes }}").unwrap().value(&scope()), Value::Bool(true));
    assert_eq!(Template::parse("{{yes}}.").unwrap().value(&scope()), Value::from("true."));
}
