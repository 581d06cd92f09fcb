//! What values of each type become, and which ones do not fit.

use super::*;
use crate::typed::typed;

fn pattern(text: &str) -> InputType {
    InputType::Text(Some(Pattern::parse(text).unwrap()))
}

fn choice() -> InputType {
    InputType::Choice(vec!["dev".to_owned(), "prod".to_owned(), "1".to_owned()])
}

fn exists(path: &str) -> bool {
    ["src", "2024"].contains(&path)
}

#[test]
fn values_get_the_type_of_their_input() {
    for (kind, given, expected) in [
        (InputType::Text(None), "007", r#""007""#),
        (InputType::Text(None), "true", r#""true""#),
        (InputType::Text(None), "[1,  2]", r#""[1,  2]""#),
        (InputType::Text(None), " ", r#"" ""#),
        (pattern("v[0-9]+|w"), "v12", r#""v12""#),
        (InputType::Number, "3.10", "3.10"),
        (InputType::Number, " 1e3 ", "1e+3"),
        (InputType::Number, "", "null"),
        (InputType::Integer, "3.0", "3"),
        (InputType::Integer, "+3", "3"),
        (InputType::Integer, "007", "7"),
        (InputType::Integer, "-000", "0"),
        (InputType::Integer, "-0.0", "0"),
        (InputType::Integer, "-12", "-12"),
        (InputType::Integer, "1e3", "1000"),
        (InputType::Integer, "123456789012345678901234567890", "123456789012345678901234567890"),
        (InputType::Boolean, "Yes", "true"),
        (InputType::Boolean, "1", "true"),
        (InputType::Boolean, "TRUE", "true"),
        (InputType::Boolean, "no", "false"),
        (InputType::Boolean, "0", "false"),
        (InputType::Boolean, "", "null"),
        (choice(), "prod", r#""prod""#),
        (choice(), "1", r#""1""#),
        (choice(), "", "null"),
        (InputType::List, "a, b ,,c", r#"["a","b","c"]"#),
        (InputType::List, r#"["a", 2]"#, r#"["a",2]"#),
        (InputType::List, " [1]", "[1]"),
        (InputType::List, "7", r#"["7"]"#),
        (InputType::List, "", "[]"),
        (InputType::Path, "src", r#""src""#),
        (InputType::Path, "2024", r#""2024""#),
        (InputType::Json, r#"{"a": [1]}"#, r#"{"a":[1]}"#),
        (InputType::Json, r#""x""#, r#""x""#),
        (InputType::Json, "null", "null"),
        (InputType::Json, "7", "7"),
        (InputType::Secret, "12345678", r#""12345678""#),
    ] {
        let value = kind.fit(&typed(given), &exists).unwrap();
        assert_eq!(value.to_json(), expected, "{} {given}", kind.word());
        // a value that was fitted fits again: sub-recipes inherit it
        if kind != InputType::Json {
            assert_eq!(kind.fit(&value, &exists).unwrap().to_json(), expected, "{} {given}", kind.word());
        }
    }
    assert_eq!(InputType::Integer.fit(&Value::from(4.0), &exists).unwrap().render(), "4");
    for kind in [InputType::Text(None), InputType::List, InputType::Json, InputType::Secret] {
        assert_eq!(kind.fit(&Value::Null, &exists), Ok(Value::Null));
    }
}

#[test]
fn a_value_that_does_not_fit_is_described() {
    for (kind, given, expected) in [
        (pattern("v[0-9]+|w"), "v12x", "must match the pattern `v[0-9]+|w`, but it is `v12x`"),
        (pattern("a|ab"), "xa", "must match the pattern `a|ab`, but it is `xa`"),
        (InputType::Number, "1,5", "must be a number, but it is `1,5`"),
        (InputType::Number, "1e999", "must be a number, but it is `1e999`"),
        (InputType::Number, "true", "must be a number, but it is `true`"),
        (InputType::Integer, "2.5", "must be a whole number, but it is `2.5`"),
        (InputType::Integer, "1e300", "must be a whole number, but it is `1e300`"),
        (InputType::Integer, "x", "must be a whole number, but it is `x`"),
        (InputType::Boolean, "maybe", "must be `true` or `false` (also yes, no, 1, 0), but it is `maybe`"),
        (InputType::Boolean, "1.0", "must be `true` or `false` (also yes, no, 1, 0), but it is `1.0`"),
        (choice(), "prd", "must be one of `dev`, `prod`, `1`, but it is `prd`; did you mean `prod`?"),
        (choice(), "1.0", "must be one of `dev`, `prod`, `1`, but it is `1.0`"),
        (InputType::List, "[1", "must be a JSON list or texts with commas between them, but it is `[1`"),
        (
            InputType::List,
            r#"{"a": 1}"#,
            r#"must be a JSON list or texts with commas between them, but it is `{"a": 1}`"#,
        ),
        (InputType::Path, "nowhere", "must be a path that exists, but `nowhere` does not"),
        (InputType::Json, "{a}", "must be JSON, but it is `{a}`: key must be a string at line 1 column 2"),
    ] {
        let value = typed(given);
        let misfit = kind.fit(&value, &exists).unwrap_err();
        assert_eq!(misfit.sentence(Some(&value)), expected, "{} {given}", kind.word());
        let hidden = misfit.sentence(None);
        assert!(
            hidden.ends_with("but its value is not (it is secret)") || kind == InputType::Json,
            "{hidden}"
        );
        assert!(!hidden.contains(given) || given == "xa", "{hidden}");
    }
    let list = Value::list(vec![Value::from("x")]);
    for (kind, expected) in [
        (InputType::Text(None), "must be text, but it is a list"),
        (InputType::Secret, "must be text, but it is a list"),
        (InputType::Path, "must be a path that exists, but it is a list"),
        (InputType::Integer, "must be a whole number, but it is a list"),
    ] {
        assert_eq!(kind.fit(&list, &exists).unwrap_err().sentence(Some(&list)), expected);
    }
}

#[test]
fn a_pattern_that_cannot_be_used_says_why() {
    for (text, expected) in
        [("(a", "unclosed group"), ("a)(b", "unopened group"), ("[z-a]", "invalid character class range")]
    {
        let error = Pattern::parse(text).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    assert_eq!(Pattern::parse("(?x) a # b").map(|_| ()).unwrap_err(), "unclosed group");
}
