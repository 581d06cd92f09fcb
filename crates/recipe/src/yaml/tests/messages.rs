//! Tests of the messages about invalid YAML.

use super::*;

fn check_help(text: &str, problem: &str, part: &str) {
    check_problem(text, problem);
    assert!(help(text).contains(part), "{text}: {}", help(text));
}

#[test]
fn scanner_errors_have_a_fix() {
    for (text, problem, part) in [
        ("a:\n\tb: c\n", "2:1 yaml-syntax a tab cannot be used for indentation", "use spaces"),
        ("a:\n  b: 1\n\tc: 2\n", "3:1 yaml-syntax a tab cannot be used for indentation", "use spaces"),
        ("a:\n  b: 1\n \tc: 2\n", "3:2 yaml-syntax a tab cannot be used for indentation", "use spaces"),
        ("'open\n", "1:1 yaml-syntax the quote that starts here is not closed", "closing '"),
        ("a: & x\n", "1:4 yaml-syntax `&` must be followed by a name here", "quotes"),
        ("a: |\n     \n  x\n", "3:3 yaml-syntax a line of the text block is indented less", "alike"),
        ("a: |\n\tx\n", "2:1 yaml-syntax a tab cannot", "use spaces"),
        ("key: value: x\n", "1:11 yaml-syntax mapping values are not allowed here", "`key: \"value: x\"`"),
        ("key: \"a\": x\n", "1:9 yaml-syntax", "'\"a\": x'"),
        ("a: b\n  c: d\n", "2:4 yaml-syntax mapping values are not allowed here", "align the key"),
        ("a: 'x\nb: c\n", "1:4 yaml-syntax the quote that starts here is not closed", "closing '"),
        ("a: \"x\nb: c\n", "1:4 yaml-syntax the quote that starts here is not closed", "closing \""),
        ("a: it's\nb: \"x", "2:4 yaml-syntax the quote", "closing \""),
        ("a: 'x' y\n", "1:8 yaml-syntax text follows the closing quote", "quotes around the whole"),
        ("a: \"\\d+\"\n", "1:5 yaml-syntax double-quoted text has no escape `\\d`", "single quotes"),
        ("a: [1, 2\nb: 3\n", "1:4 yaml-syntax the list that starts here is not closed", "add `]`"),
        ("a: [1, 2\n", "1:4 yaml-syntax the list that starts here is not closed", "add `]`"),
        ("a: {b: 1\nc: 3\n", "1:4 yaml-syntax the map that starts here is not closed", "add `}`"),
        ("a: {b: 1\n", "1:4 yaml-syntax the map that starts here is not closed", "add `}`"),
        ("a: %x\n", "1:4 yaml-syntax a text without quotes cannot start with `%`", "`\"%x\"`"),
        ("a: @x # c\n", "1:4 yaml-syntax a text without quotes cannot start with `@`", "`\"@x\"`"),
        ("a: `x`\n", "1:4 yaml-syntax a text without quotes cannot start with ``", "`\"`x`\"`"),
        ("a: , b\n", "1:4 yaml-syntax a text cannot start with `,` here", "quotes"),
        ("a: *nope\n", "1:4 yaml-syntax `*nope` is an alias", "`\"*nope\"`"),
        ("a: *.txt foo\n", "1:4 yaml-syntax", ""),
        ("a:\n    b: 1\n  c: 2\n", "3:3 yaml-syntax the indentation does not fit", "align"),
        ("- a\nb: c\n", "2:1 yaml-syntax the indentation does not fit", "align"),
        ("a: 1\nb\nc: 2\n", "2:1 yaml-syntax a `:` is missing", "key: value"),
        ("a: - b\n", "1:4 yaml-syntax a list item cannot start here", "line of its own"),
        ("a: ]\n", "1:4 yaml-syntax `]` closes nothing", "quotes"),
        ("a: [}\n", "1:4 yaml-syntax `[` is closed by `}`", "quotes"),
        ("a: |x\n  t\n", "1:4 yaml-syntax text follows the `|`", "next line"),
        ("a: !e!x 1\n", "1:4 yaml-syntax this `!` starts a tag", "quotes"),
        ("%YAML 2.0\n---\na: 1\n", "1:1 yaml-syntax", ""),
        ("a: \0\n", "1:4 yaml-syntax the character U+0000", "remove it"),
        ("a: \"\u{1}\"\n", "1:5 yaml-syntax the character U+0001", "\\u0001"),
        ("a: |\n  x\u{7}\n", "2:4 yaml-syntax the character U+0007", "remove it"),
        ("# \0\na: 1\n", "1:3 yaml-syntax the character U+0000", "remove it"),
    ] {
        check_help(text, problem, part);
    }
}

#[test]
fn unquoted_templates_are_recognised() {
    let message = "yaml-syntax `{{` starts a YAML map here; put quotes around the text";
    check_help("command: {{x}}\n", &format!("1:10 {message}"), "`\"{{x}}\"`");
    check_help("command: {{ x.y }} and more # c\n", &format!("1:10 {message}"), "`\"{{ x.y }} and more\"`");
    check_help("a:\n  - {{x}}\n", &format!("2:5 {message}"), "`\"{{x}}\"`");
    check_help("a: {b: {{x}}}\n", &format!("1:8 {message}"), "");
    check_help("a: {{x}}: b\n", &format!("1:4 {message}"), "");
    check_help("a: {{x\nb: 1\n", &format!("1:4 {message}"), "");
    assert_eq!(problems("a: {{x}}\nb: {{y}}\n").len(), 2);
    assert_eq!(problems("a: {{x}}\nb: [\n").len(), 2);
    let (_, node, _) = read("a: {{x}}\nb: 1\n");
    assert_eq!(node.unwrap().to_value().to_json(), r#"{"a":"{{x}}","b":1}"#);
}

/// The text above the caret.
fn check_covered(text: &str, covered: &str) {
    let (sources, _, diagnostics) = read(text);
    let place = diagnostics[0].place.unwrap();
    assert_eq!(&sources.file(place.file).text[place.span.range()], covered, "{text}");
}

#[test]
fn carets_cover_the_mistake() {
    for (text, covered) in [
        ("a: ]\n", "]"),
        ("a: `ü`\n", "`"),
        ("a: \u{1}\n", "\u{1}"),
        ("a: [1\nb: 2\n", "["),
        ("a: {{x}} and\n", "{{x}}"),
        ("a: {{x\nb: 1\n", "{{x"),
        ("a: *nope\n", "*nope"),
    ] {
        check_covered(text, covered);
    }
}

#[test]
fn only_short_texts_are_repeated() {
    for (text, is_shown) in [("x".repeat(119), true), ("x".repeat(120), false), ("x".repeat(500), false)] {
        let help = help(&format!("a: @{text}\n"));
        assert_eq!(help.contains("`\"@x"), is_shown, "{help}");
    }
    assert!(help("a: @x # c\n").contains("`\"@x\"`"));
}

#[test]
fn every_unknown_alias_is_reported() {
    assert_eq!(problems("a: *x\nb: *y\nc: &x 1\n").len(), 2);
}

#[test]
fn bytes_are_decoded_or_refused() {
    assert_eq!(decode(b"\xEF\xBB\xBFa: 1").unwrap(), "a: 1");
    assert_eq!(decode(b"").unwrap(), "");
    assert_eq!(decode("ü: 1\nüx\u{7f}".as_bytes()).unwrap(), "ü: 1\nüx\u{7f}");
    let error = decode(b"a: 1\n\xC3\xBCx\xFF\n").unwrap_err();
    assert_eq!(error, DecodeError::NotUtf8 { line: 2, column: 3, byte: 0xFF });
    assert!(error.to_diagnostic().message.contains("line 2, column 3"));
    assert_eq!(error.to_diagnostic().code, Code::NotUtf8);
    assert!(decode(b"\xFF\xFEa\0").is_err());
    assert!(decode(b"a\xC3").is_err());
    assert!(decode(&vec![b'a'; MAX_BYTES]).is_ok());
    let error = decode(&vec![b'a'; MAX_BYTES + 1]).unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
}
