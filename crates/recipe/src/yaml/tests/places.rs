//! Tests of the places of nodes and of parts of scalars.

use super::*;

fn slice(sources: &Sources, place: Place) -> String {
    sources.file(place.file).text[place.span.range()].to_owned()
}

/// The value of `v`: where it starts, and what its place covers.
fn check_place(text: &str, at: &str, covered: &str) {
    let (sources, node, diagnostics) = read(text);
    assert_eq!(diagnostics, [], "{text}");
    let root = node.unwrap();
    let place = root.get("v").unwrap().value.place;
    let start = sources.line_column(place);
    assert_eq!(format!("{}:{}", start.line, start.column), at, "{text}");
    assert_eq!(slice(&sources, place), covered, "{text}");
}

#[test]
fn nodes_stand_where_they_were_written() {
    check_place("ü😀: 1\nv: x # c\n", "2:4", "x");
    check_place("{ü😀: ü, v: ü}", "1:12", "ü");
    check_place("v: \"ü x\" # c\n", "1:4", "\"ü x\"");
    check_place("v: 'it''s'\n", "1:4", "'it''s'");
    check_place("v: a\n  b\nw: 1\n", "1:4", "a\n  b");
    check_place("v: |\n  a\n  b\n\n\nw: 1\n", "1:4", "|\n  a\n  b");
    check_place("v: &a !!str >2- # no | here\n   a\nw: 1\n", "1:13", ">2- # no | here\n   a");
    check_place("v: # a | b\n  |\n  x\n", "2:3", "|\n  x");
    check_place("v: |\nw: 1\n", "1:4", "|");
    check_place("v: |", "1:4", "|");
    check_place("v: [1, 2] # c\n", "1:4", "[1, 2]");
    check_place("v: {a: {b: 1}}\n", "1:4", "{a: {b: 1}}");
    check_place("v:\n- 1\n- 2\nw: 1\n", "2:1", "- 1\n- 2");
    check_place("v: # - c\n# - c\n- - 1\n  - 2\nw: 1\n", "3:1", "- - 1\n  - 2");
    check_place("v:\n- |\n  a\n- 2\n", "2:1", "- |\n  a\n- 2");
    check_place("v:\n  - 1\n  - |\n    x\n\nw: 1\n", "2:3", "- 1\n  - |\n    x");
    check_place("v:\n  a: 1\n  b: 2\n\nw: 1\n", "2:3", "a: 1\n  b: 2");
    check_place("v: &x\n  a: 1\nw: 1\n", "2:3", "a: 1");
    check_place("w: &x 12\nv: *x\n", "1:7", "12");
    check_place("v:\nw: 1\n", "1:2", "");
    check_place("w: x\r\nv: y\r\n", "2:4", "y");
    check_place("v: &a#b |\n  x\nw: 1\n", "1:9", "|\n  x");
    check_place("v: &a|b |\n  x\nw: 1\n", "1:9", "|\n  x");
    check_place("v: &a\n- 1\nw: 1\n", "2:1", "- 1");
    check_place("v:\n  [1, 2]\nw: 1\n", "2:3", "[1, 2]");
    check_place("---\nv: |\n  x\n", "2:4", "|\n  x");
    check_place("--- # |\nv:\n- 1\n", "3:1", "- 1");
}

#[test]
fn lists_start_at_their_first_dash() {
    for (text, path, covered) in [
        ("a:\n  v:\n  - 1\n  - 2\nw: 1\n", &["a", "v"][..], "- 1\n  - 2"),
        ("a:\n  v:\n    - 1\n    - 2\nw: 1\n", &["a", "v"], "- 1\n    - 2"),
        ("a:\n  u: 1\n\n  v:\n  # - c\n\n  - 1\nw: 1\n", &["a", "v"], "- 1"),
    ] {
        let (sources, node, _) = read(text);
        let root = node.unwrap();
        let found = path.iter().fold(&root, |node, key| &node.get(key).unwrap().value);
        assert_eq!(slice(&sources, found.place), covered, "{text}");
    }
    let (sources, node, _) = read("v:\n- a\n- - b\n  - c\n- d\n");
    let root = node.unwrap();
    let NodeKind::List(items) = &root.get("v").unwrap().value.kind else { panic!() };
    assert_eq!(slice(&sources, items[1].place), "- b\n  - c");
}

#[test]
fn block_scalars_in_lists_start_at_their_mark() {
    let (sources, node, _) = read("v:\n- |\n  a | b\n- > # x\n  c\n-\n  - |2\n    d\n");
    let root = node.unwrap();
    let NodeKind::List(items) = &root.get("v").unwrap().value.kind else { panic!() };
    assert_eq!(slice(&sources, items[0].place), "|\n  a | b");
    assert_eq!(slice(&sources, items[1].place), "> # x\n  c");
    let NodeKind::List(inner) = &items[2].kind else { panic!() };
    assert_eq!(slice(&sources, inner[0].place), "|2\n    d");
}

#[test]
fn keys_have_their_places() {
    let (sources, node, _) = read("ü: 1\n  \n\"a b\" : 2\n? c\n: 3\n");
    let NodeKind::Map(entries) = node.unwrap().kind else { panic!() };
    let found: Vec<_> = entries.iter().map(|entry| slice(&sources, entry.key.place)).collect();
    assert_eq!(found, ["ü", "\"a b\"", "c"]);
}

/// Checks the place of `part` in the text of `v`: at `at`, written as `written`.
fn check_part(text: &str, part: &str, at: &str, written: &str) {
    let (sources, node, diagnostics) = read(text);
    assert_eq!(diagnostics, [], "{text}");
    let root = node.unwrap();
    let value = &root.get("v").unwrap().value;
    let NodeKind::Scalar(scalar) = &value.kind else { panic!("{text}") };
    let start = scalar.text.find(part).unwrap_or_else(|| panic!("{:?} in {text}", scalar.text));
    let place = scalar.place_of(value.place, start..start + part.len());
    let found = sources.line_column(place);
    assert_eq!(format!("{}:{}", found.line, found.column), at, "{part} in {text}");
    assert_eq!(slice(&sources, place), written, "{part} in {text}");
}

#[test]
fn parts_of_scalars_are_found_again() {
    check_part("v: a {{x}} b\n", "{{x}}", "1:6", "{{x}}");
    check_part("v: ü😀 {{x}} b\n", "{{x}}", "1:7", "{{x}}");
    check_part("v: one\n   two\n\n   {{x}}\n", "{{x}}", "4:4", "{{x}}");
    check_part("v: one\n   two\n\n   {{x}}\n", "o\n{{", "2:6", "o\n\n   {{");
    check_part("v: 'it''s {{x}}'\n", "{{x}}", "1:11", "{{x}}");
    check_part("v: 'it''s {{x}}'\n", "'", "1:7", "''");
    check_part("v: 'a  \n\n  {{x}} b'\n", "{{x}}", "3:3", "{{x}}");
    check_part("v: \"a {{x}}\"\n", "{{x}}", "1:7", "{{x}}");
    check_part("v: \"\\ta\\u00e9\\x41\\U0001F600 {{x}}\"\n", "{{x}}", "1:29", "{{x}}");
    check_part("v: \"\\ta\\u00e9\\x41\\U0001F600 {{x}}\"\n", "é", "1:8", "\\u00e9");
    check_part("v: \"\\ud83d\\ude00{{x}}\"\n", "{{x}}", "1:17", "{{x}}");
    check_part("v: \"\\uffff{{x}}\"\n", "{{x}}", "1:11", "{{x}}");
    check_part("v: \"a \\\n   b {{x}}\n   c\"\n", "{{x}}", "2:6", "{{x}}");
    check_part("v: \"a \\\n   b {{x}}\n   c\"\n", "c", "3:4", "c");
    check_part("v: |\n  one\n  {{x}}\n", "{{x}}", "3:3", "{{x}}");
    check_part("v: |\n  one\n\n  {{x}}\n", "{{x}}", "4:3", "{{x}}");
    check_part("v: |\n\n\n    one\n      {{x}}\n    two\n", "{{x}}", "5:7", "{{x}}");
    check_part("v: |2\n   one\n\n  {{x}}\n", "{{x}}", "4:3", "{{x}}");
    check_part("v: |+\n  one\n\n\n", "\n\n", "2:6", "\n\n");
    check_part("v: |\r\n  one\r\n  {{x}}\r\n", "{{x}}", "3:3", "{{x}}");
    check_part("v: |\n  one\n  {{x}}", "{{x}}", "3:3", "{{x}}");
    check_part("v: |\n\n  \tone\n   \n  {{x}}", "{{x}}", "5:3", "{{x}}");
    check_part("v: >\n  one\n  two\n\n  {{x}}\n", "{{x}}", "5:3", "{{x}}");
    check_part("v: >\n  one\n  two\n\n  {{x}}\n", "e t", "2:5", "e\n  t");
    check_part("v: >\n  one\n    more\n    {{a}}\n  two\n\n\n  {{x}}\n", "{{x}}", "8:3", "{{x}}");
    check_part("v: >\n  one\n    more\n    {{a}}\n  two\n\n\n  {{x}}\n", "{{a}}", "4:5", "{{a}}");
    check_part("v: >-\n\n  one\n  {{x}}\n\nw: 1\n", "{{x}}", "4:3", "{{x}}");
    check_part("a:\n  - b: >-\n      x\nv:\n  >+\n  ü {{x}}\n\n", "{{x}}", "6:5", "{{x}}");
}

#[test]
fn unplaceable_parts_point_at_the_whole_scalar() {
    let root = tree("v: abc\n");
    let value = &root.get("v").unwrap().value;
    let NodeKind::Scalar(scalar) = &value.kind else { panic!() };
    assert_eq!(scalar.place_of(value.place, 2..9), value.place);
    assert_eq!(scalar.place_of(value.place, 3..3).span, Span { start: 6, end: 6 });
    assert_eq!(scalar.place_of(value.place, 1..1).span, Span { start: 4, end: 4 });
    assert_eq!(scalar.place_of(value.place, 0..0).span, Span { start: 3, end: 3 });
    // the end of a text is where it ends, not where its block does
    let root = tree("v: |-\n  abc\n\nw: 1\n");
    let value = &root.get("v").unwrap().value;
    let NodeKind::Scalar(scalar) = &value.kind else { panic!() };
    assert_eq!(scalar.place_of(value.place, 3..3).span, Span { start: 11, end: 11 });
}
