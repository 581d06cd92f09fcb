//! Tests of files that are made to cost time or memory, and of random ones.

use proptest::prelude::*;

use super::{
    super::shared::{MAX_DEPTH, MAX_NODES, MAX_TEXT},
    *,
};

fn bomb(levels: usize) -> String {
    let mut text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..=levels {
        let item = format!("*l{}, ", level - 1);
        text += &format!("l{level}: &l{level} [{}]\n", item.repeat(10));
    }
    text
}

fn nested_indent(levels: usize) -> String {
    (0..levels).map(|level| format!("{}a:\n", " ".repeat(level))).collect()
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("a: {}", "[".repeat(100_000)),
        "{a: ".repeat(100_000),
        format!("a:\n {}x", "- ".repeat(100_000)),
        format!("a: {}", "{".repeat(100_000)),
        format!("a: {}", "[{".repeat(100_000)),
        "? ".repeat(100_000),
        nested_indent(1_400),
    ] {
        let found = problems(&text);
        let last = found.last().unwrap();
        assert!(last.contains("too-complex lists and maps nest more than 100 levels"), "{last}");
        assert!(found.len() <= 2, "{found:?}");
    }
}

#[test]
fn a_hundred_levels_are_fine_and_one_more_is_not() {
    let lists = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(problems(&lists(MAX_DEPTH - 1)), [""; 0]);
    assert_eq!(problems(&lists(MAX_DEPTH)).len(), 1);
    let nested = |inner: usize, outer: usize| {
        let (open, close) = ("[".repeat(inner), "]".repeat(inner));
        format!("a: &a {open}{close}\nb: {}*a{}", "[".repeat(outer), "]".repeat(outer))
    };
    assert_eq!(problems(&nested(50, 49)), [""; 0]);
    check_problem(&nested(50, 50), "2:54 too-complex lists and maps nest");
}

#[test]
fn bombs_are_refused_without_being_expanded() {
    check_problem(&bomb(9), "5:");
    assert!(problems(&bomb(9))[0].contains("too-complex the file has more than 100000 nodes"));
    assert_eq!(problems(&bomb(2)), [""; 0]);
    let merges: String = (1..40)
        .map(|at| format!("m{at}: &m{at} {{<<: [*m{p}, *m{p}], k{at}: [*m{p}]}}\n", p = at - 1))
        .collect();
    assert!(problems(&format!("m0: &m0 {{a: 1}}\n{merges}"))[0].contains("too-complex"));
}

#[test]
fn texts_count_too() {
    let long = "x".repeat(500_000);
    let text = format!("a: &a {long}\nb: [{}]\n", "*a, ".repeat(10_000));
    let found = problems(&text);
    assert!(
        found[0].contains(&format!("too-complex the file has more than {MAX_TEXT} bytes of text")),
        "{found:?}"
    );
    let (keys, copies) = (3, 20);
    let exact = |more: usize| {
        let (shared, rest) = (499_999, MAX_TEXT - keys - copies * 499_999 + more);
        let aliases = "*a, ".repeat(copies - 1);
        format!("a: &a {}\nb: [{aliases}]\nc: {}\n", "x".repeat(shared), "x".repeat(rest))
    };
    assert_eq!(problems(&exact(0)), [""; 0]);
    check_problem(&exact(1), "3:4 too-complex");
    let keys = format!("m: &m {{\"{}\": 1}}\nb: [{}]\n", "k".repeat(1000), "*m, ".repeat(20_000));
    assert!(problems(&keys)[0].contains("too-complex"));
}

#[test]
fn many_nodes_are_refused() {
    check_problem(&format!("a: [{}]", "1,".repeat(MAX_NODES)), "1:");
    assert_eq!(problems(&format!("a: [{}]", "1,".repeat(MAX_NODES - 3))), [""; 0]);
}

#[test]
fn sharing_costs_no_more_than_the_file() {
    // each anchor holds all the ones inside it: copies would be quadratic
    let open: String = (0..90).map(|at| format!("&a{at} [x, ")).collect();
    let text = format!("a: {open}{}{}", "1, ".repeat(50_000), "]".repeat(90));
    assert!(tree(&text).get("a").is_some());
}

#[test]
fn recursive_aliases_are_errors() {
    check_problem("a: &a [*a]\n", "1:8 too-complex the alias `*a` is inside its own anchor");
    check_problem("a: &a\n  b: {c: *a}\n", "2:10 too-complex the alias");
    check_problem("a: &a\n  <<: *a\n", "2:7 ");
    let (_, node, _) = read("a: &a {b: *a, c: d}\n");
    assert_eq!(node.unwrap().to_value().to_json(), r#"{"a":{"b":"*a","c":"d"}}"#);
}

/// Each part of each scalar must come from the same bytes, unless it was escaped or folded.
fn check_pieces(text: &str, node: &Node) {
    match &node.kind {
        NodeKind::List(items) => items.iter().for_each(|item| check_pieces(text, item)),
        NodeKind::Map(entries) => entries.iter().for_each(|entry| check_pieces(text, &entry.value)),
        NodeKind::Scalar(scalar) => {
            for (at, character) in scalar.text.char_indices() {
                let place = scalar.place_of(node.place, at..at + character.len_utf8());
                let written = text.get(place.span.range());
                assert!(written.is_some(), "{place:?} of {scalar:?}");
                let exact = character.is_alphanumeric() && scalar.style != TextStyle::DoubleQuoted;
                if exact && !scalar.pieces.is_empty() {
                    assert_eq!(written, Some(character.to_string().as_str()), "{scalar:?}");
                }
            }
        }
    }
}

fn check_any(text: &str) {
    let (_, node, diagnostics) = read(text);
    assert!(node.is_some() || !diagnostics.is_empty());
    for found in &diagnostics {
        let range = found.place.unwrap().span.range();
        assert!(text.get(range.clone()).is_some(), "{range:?} {}", found.message);
    }
    if let Some(node) = node {
        assert!(text.get(node.place.span.range()).is_some());
        node.to_value();
        check_pieces(text, &node);
    }
}

fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "a",
        "b",
        "ü",
        "😀",
        "1",
        "{{x}}",
        ":",
        ": ",
        "- ",
        "? ",
        "\n",
        "\n ",
        "\n  ",
        "\n    ",
        "\n\n",
        "\r\n",
        "[",
        "]",
        "{",
        "}",
        ",",
        ", ",
        "|",
        ">",
        "|-\n  ",
        ">+\n  ",
        "|2\n  ",
        "'",
        "''",
        "\"",
        "\\n",
        "\\\n",
        "\\u00e9",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "!x ",
        "# c",
        " #",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "\t",
        " ",
        "~",
        "@",
        "`",
        "\0",
        "\u{7f}",
        "\u{85}",
        "\u{feff}",
        "key: ",
        "key:\n  ",
        "x: ",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn random_text_never_panics(text in ".{0,60}") {
        check_any(&text);
    }

    #[test]
    fn token_soup_never_panics(text in tokens()) {
        check_any(&text);
    }

    #[test]
    fn soup_in_a_map_never_panics(text in tokens()) {
        check_any(&format!("a: 1\nv: {text}\nw: 2\n"));
    }

    #[test]
    fn blocks_are_always_placed(lines in prop::collection::vec("( {0,2}[a-z]{1,3}|)", 1..8), mark in "[|>][+-]?") {
        let body: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        check_any(&format!("v: {mark}\n  x\n{body}\nw: 1\n"));
        let root = tree(&format!("v: {mark}\n  x\n{body}\nw: 1\n"));
        let NodeKind::Scalar(scalar) = &root.get("v").unwrap().value.kind else { panic!() };
        prop_assert!(!scalar.pieces.is_empty());
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = decode(&bytes).map(|text| check_any(&text));
    }
}
