//! What conditions are refused, and in which words.

use super::*;
use ConditionErrorKind::{ForbiddenName, Syntax, UnknownFunction, UnknownMethod, WrongArguments};

/// Kind, message, the text at the place, help.
type Expected<'a> = (ConditionErrorKind, &'a str, &'a str, Option<&'a str>);

/// The first thing that is wrong with it.
fn refused(text: &str) -> ConditionError {
    Condition::parse(text).expect_err(text).remove(0)
}

fn check(text: &str, (kind, message, place, help): Expected<'_>) {
    let error = refused(text);
    assert_eq!(error.kind, kind, "{text}");
    assert_eq!(error.message, message, "{text}");
    assert_eq!(&text[error.at.clone()], place, "{text}");
    assert_eq!(error.help.as_deref(), help, "{text}");
}

fn check_syntax(cases: &[(&str, &str, &str)]) {
    for (text, message, place) in cases {
        let error = refused(text);
        assert_eq!((error.kind, error.message.as_str()), (Syntax, *message), "{text}");
        assert_eq!(&text[error.at.clone()], *place, "{text}");
    }
}

#[test]
fn habits_from_other_languages() {
    check_syntax(&[
        ("status == 'ok' AND x", "unexpected `AND`: write `and`", "AND"),
        ("a OR b", "unexpected `OR`: write `or`", "OR"),
        ("a Or b", "unexpected `Or`: write `or`", "Or"),
        ("NOT a", "unexpected `NOT`: write `not`", "NOT"),
        ("a IN b", "unexpected `IN`: write `in`", "IN"),
        ("a is None", "unexpected `is`", "is"),
        ("a is not None", "unexpected `is`", "is"),
        ("a = 'x'", "unexpected `=`: write `==`", "="),
        ("a === 'x'", "unexpected `===`: write `==`", "==="),
        ("a !== 'x'", "unexpected `!==`: write `!=`", "!=="),
        ("a <> 'x'", "unexpected `<>`: write `!=`", "<>"),
        ("a & b", "unexpected `&`: write `and`", "&"),
        ("a | b", "unexpected `|`: write `or`", "|"),
        ("a contains 'x'", "unexpected `contains`: write `'part' in text`", "contains"),
        ("a not b", "unexpected `not`: write `not in`", "not"),
        ("a == not b", "unexpected `not`: put parentheses around it and its operand", "not"),
        ("a + 1 == 2", "unexpected `+`: conditions have no arithmetic", "+"),
        ("(a) -1", "unexpected `-1`: conditions have no arithmetic", "-1"),
        ("a == -b", "unexpected `-`: conditions have no arithmetic", "-"),
        ("{{a}} == 'x'", "unexpected `{{`: write the name alone, without `{{` and `}}`", "{{"),
        ("$a == 'x'", "unexpected `$`: write the name alone, without `$`", "$"),
        ("a == ‘x’", "unexpected `‘`: write `'` or `\"` around text", "‘"),
        ("a ? b : c", "unexpected `?`: write `and` and `or`", "?"),
    ]);
}

#[test]
fn broken_texts() {
    check_syntax(&[
        ("a b", "unexpected `b`", "b"),
        ("a == 'x' 'y'", "unexpected `'y'`", "'y'"),
        ("a)", "unexpected `)`", ")"),
        ("(a", "the condition ends where `)` is expected", ""),
        ("(a or b", "the condition ends where `)` is expected", ""),
        ("()", "unexpected `)`", ")"),
        ("[a", "the condition ends where `,` or `]` is expected", ""),
        ("a[0", "the condition ends where `]` is expected", ""),
        ("a[]", "unexpected `]`", "]"),
        ("a[1.5]", "an index is a whole number or a text", "1.5"),
        ("a[true]", "an index is a whole number or a text", "true"),
        ("len(a", "the condition ends where `,` or `)` is expected", ""),
        ("a ==", "the condition ends where a value is expected", ""),
        ("== a", "unexpected `==`", "=="),
        ("and a", "unexpected `and`", "and"),
        ("a and", "the condition ends where a value is expected", ""),
        ("a or or b", "unexpected `or`", "or"),
        ("not", "the condition ends where a value is expected", ""),
        ("a in", "the condition ends where a value is expected", ""),
        ("a.", "the condition ends where a name after the dot is expected", ""),
        ("a..b", "unexpected `.`", "."),
        (".a", "unexpected `.`", "."),
        ("a.'b'", "unexpected `'b'`", "'b'"),
        ("'open", "the text that starts here has no closing single quote", "'open"),
        (r"a == 'x\' or", "the text that starts here has no closing single quote", r"'x\' or"),
        ("a == \"open'", "the text that starts here has no closing double quote", "\"open'"),
        ("5-3", "`5-3` is not a number", "5-3"),
        ("a == 1.2.3", "`1.2.3` is not a number", "1.2.3"),
        ("a == 2024-01-31", "`2024-01-31` is not a number", "2024-01-31"),
        ("a == -5x", "`-5x` is not a number", "-5x"),
        ("a @ b", "unexpected `@`", "@"),
        ("a \u{1} b", "unexpected `\\u{1}`", "\u{1}"),
        ("a; b", "unexpected `;`", ";"),
        ("", "the condition is empty", ""),
        ("  \n ", "the condition is empty", "  \n "),
    ]);
}

#[test]
fn help_shows_a_correct_form() {
    let help = "`x is None` is written `not x`, and `x is not None` is written `x`; two values are compared with `==`";
    check("a is None", (Syntax, "unexpected `is`", "is", Some(help)));
    check("a b", (Syntax, "unexpected `b`", "b", Some("`and`, `or` or the end is expected here")));
    check("a == )", (Syntax, "unexpected `)`", ")", Some("a value is expected here")));
}

#[test]
fn chained_comparisons() {
    let chained = "comparisons cannot be chained";
    check("1 < x < 3", (Syntax, chained, "< 3", Some("write `1 < x and x < 3`")));
    check("a == b == 'c'", (Syntax, chained, "== 'c'", Some("write `a == b and b == 'c'`")));
    check("a in b not  in c", (Syntax, chained, "not  in c", Some("write `a in b and b not  in c`")));
}

#[test]
fn unknown_calls() {
    let functions = "the functions are `int`, `float`, `str`, `bool`, `len`, `min`, `max`";
    let function = |name: &str| format!("there is no function `{name}`");
    for (text, name, help) in [
        ("lenn(a)", "lenn", "did you mean `len`?"),
        ("flaot(a)", "flaot", "did you mean `float`?"),
        ("Len(a)", "Len", "did you mean `len`?"),
        ("lower(a)", "lower", "`lower` is a method: write `text.lower()`"),
        ("import_module('os')", "import_module", functions),
        ("NOT(a)", "NOT", "write `not`"),
    ] {
        check(text, (UnknownFunction, &function(name), name, Some(help)));
    }
    let method = |name: &str| format!("there is no method `.{name}()`");
    for (text, name, help) in [
        ("a.lowr()", "lowr", "did you mean `.lower()`?"),
        ("a.startsWith('x')", "startsWith", "did you mean `.startswith()`?"),
        ("a.b.len()", "len", "`len` is a function: write `len(value)`"),
    ] {
        check(text, (UnknownMethod, &method(name), name, Some(help)));
    }
}

#[test]
fn wrong_arguments() {
    for (text, message, place, help) in [
        ("a and len()", "`len()` takes 1 argument, but gets 0", "len()", "`len(a)`"),
        ("len(a, b)", "`len()` takes 1 argument, but gets 2", "len(a, b)", "`len(a)`"),
        ("min(a)", "`min()` takes at least 2 arguments, but gets 1", "min(a)", "`min(a, b)`"),
        ("a.strip('x')", "`.strip()` takes no arguments, but gets 1", "strip('x')", "`.strip()`"),
        (
            "a.replace('x')",
            "`.replace()` takes 2 arguments, but gets 1",
            "replace('x')",
            "`text.replace(a, b)`",
        ),
        (
            "a.split('x', 1)",
            "`.split()` takes 0 or 1 arguments, but gets 2",
            "split('x', 1)",
            "`text.split(a)`",
        ),
        ("a.find()", "`.find()` takes 1 argument, but gets 0", "find()", "`text.find(a)`"),
    ] {
        let error = refused(text);
        let help_text = error.help.clone().unwrap_or_default();
        assert!(help_text.contains(help), "{text}: {help_text}");
        check(text, (WrongArguments, message, place, error.help.as_deref()));
    }
}

#[test]
fn all_mistakes_of_a_condition_are_found() {
    for (text, places) in [
        ("foo(1) and bar(2) and a.baz()", &["foo", "bar", "baz"][..]),
        ("foo(bar(a.baz(1)), len())", &["foo", "bar", "baz", "len()"]),
        ("a[true] or b.strip(1) or min(2)", &["true", "strip(1)", "min(2)"]),
        ("__a and b__c == foo('x__y')", &["__a", "b__c", "foo", "x__y"]),
        ("__import__('os')", &["__import__"]),
        ("a.one().two().three", &["one", "two"]),
        // after a syntax error nothing is known
        ("foo(1) and b c and bar(2)", &["foo", "c"]),
        ("foo(1) @ bar(2)", &["@"]),
        ("foo(1", &["foo", ""]),
    ] {
        let errors = Condition::parse(text).expect_err(text);
        let found: Vec<&str> = errors.iter().map(|error| &text[error.at.clone()]).collect();
        assert_eq!(found, places, "{text}");
    }
    let many = format!("a{}", " or foo() or b__c".repeat(20_000));
    assert_eq!(Condition::parse(&many).expect_err("many").len(), 2 * parser::MAX_ERRORS);
}

#[test]
fn double_underscores() {
    for (text, word) in [
        ("x.__class__", "__class__"),
        ("__import__('os')", "__import__"),
        ("a == 'x__y'", "x__y"),
        ("ü__ and", "ü__"),
        ("a.b__c)", "b__c"),
    ] {
        let message = format!("`{word}` contains a double underscore, which conditions reject");
        check(text, (ForbiddenName, &message, word, Some("use a name with single underscores")));
    }
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    let deep = |open: &str, close: &str, count| format!("{}a{}", open.repeat(count), close.repeat(count));
    let shapes =
        [("(", ")"), ("[", "]"), ("not ", ""), ("!", ""), ("len(", ")"), ("x[", "]"), ("'a'.find(", ")")];
    for (open, close) in shapes {
        assert!(read(&deep(open, close, 100)).holds(&Map::new()).is_ok() || open == "'a'.find(");
        for count in [101, 10_000] {
            let error = refused(&deep(open, close, count));
            assert_eq!(error.message, "the condition nests more than 100 levels deep", "{open}");
        }
    }
    for (link, first) in
        [(" or b", "a"), (" and true", "true"), (".strip()", "'a'"), (".b", "a"), ("[0]", "a")]
    {
        assert!(read(&format!("{first}{}", link.repeat(100_000))).holds(&Map::new()).is_ok(), "{link}");
    }
    assert!(Condition::parse(&"(".repeat(1_000_000)).is_err());
    assert!(Condition::parse(&r"'\' ".repeat(200_000)).is_err());
}

#[test]
fn evaluation_errors_name_the_part() {
    let scope = scope();
    for (text, kind, message, place) in [
        ("n.lower() == 'x'", EvalErrorKind::NotText, "`.lower()` needs text, but `n` is a number", "n"),
        (
            "undefined.strip()",
            EvalErrorKind::NotText,
            "`.strip()` needs text, but `undefined` is nothing",
            "undefined",
        ),
        (
            "result.tags.upper()",
            EvalErrorKind::NotText,
            "`.upper()` needs text, but `result.tags` is a list",
            "result.tags",
        ),
        (
            "object.title()",
            EvalErrorKind::NotText,
            "`.title()` needs text, but `object` is an object",
            "object",
        ),
        ("(yes).lower()", EvalErrorKind::NotText, "`.lower()` needs text, but `(yes)` is a boolean", "(yes)"),
        (
            "csv.split(',').lower()",
            EvalErrorKind::NotText,
            "`.lower()` needs text, but `csv.split(',')` is a list",
            "csv.split(',')",
        ),
        (
            "status.startswith(undefined)",
            EvalErrorKind::NotText,
            "`.startswith()` needs text, but `undefined` is nothing",
            "undefined",
        ),
        ("status.join('x')", EvalErrorKind::NotList, "`.join()` needs a list, but `'x'` is text", "'x'"),
        ("5.lower()", EvalErrorKind::NotText, "`.lower()` needs text, but `5` is a number", "5"),
    ] {
        let error = read(text).holds(&scope).expect_err(text);
        assert_eq!(
            (error.kind, error.message.as_str(), &text[error.at.clone()]),
            (kind, message, place),
            "{text}"
        );
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn growth_is_bounded() {
    let text = format!("'a'{}", ".replace('a', 'aaaaaaaaaa')".repeat(30));
    let error = read(&text).holds(&Map::new()).expect_err("too large");
    assert_eq!(error.kind, EvalErrorKind::TooLarge);
    assert!(error.message.starts_with("`.replace()` makes too large a text of `'a'.replace("), "{error}");
    let half = [("half".to_string(), Value::text("x".repeat(32 << 20)))].into_iter().collect::<Map>();
    assert!(read("''.join([half, half])").holds(&half).is_ok());
    let error = read("'-'.join([half, half])").holds(&half).expect_err("one byte too many");
    assert_eq!(error.message, "`.join()` makes too large a text of `[half, half]`");
}
