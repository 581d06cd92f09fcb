//! What is masked and what is not.

use super::*;

#[test]
fn a_secret_name_counts_at_any_depth() {
    for json in [
        r#"{"api_token": "ListTok11"}"#,
        r#"{"cfg": {"api_token": "ListTok11"}}"#,
        r#"{"cfg": {"list": [{"api_token": "ListTok11"}]}}"#,
        r#"{"cfg": [[{"a": {"PASSWORD": [{"x": "ListTok11"}]}}]]}"#,
    ] {
        let Ok(Value::Map(context)) = Value::from_json(json) else { panic!("a map") };
        let mut mask = Mask::default();
        mask.learn(&context);
        assert_eq!(mask.text("a ListTok11 b"), "a [REDACTED] b", "{json}");
        for (name, value) in context.iter() {
            assert!(!mask.value(name, value).to_json().contains("ListTok11"), "{json}");
        }
    }
}

#[test]
fn a_declared_name_may_lead_into_a_value() {
    let json = r#"{"cfg": {"v": "S3cr3tV4lue!", "w": "seen"}, "list": [{"v": "L1stV4lue!"}], "v": "open"}"#;
    let Ok(Value::Map(context)) = Value::from_json(json) else { panic!("a map") };
    let mut mask = Mask::new(["cfg.v".to_owned(), "list.v".to_owned()]);
    mask.learn(&context);
    assert_eq!(mask.text("S3cr3tV4lue! L1stV4lue! seen open"), "[REDACTED] [REDACTED] seen open");
    let shown = |name: &str| mask.value(name, &context[name]).to_json();
    assert_eq!(shown("cfg"), r#"{"v":"[REDACTED]","w":"seen"}"#);
    assert_eq!(shown("list"), r#"[{"v":"[REDACTED]"}]"#);
    assert_eq!(shown("v"), r#""open""#);
}

#[test]
fn what_a_quotation_leaves_of_a_secret_is_masked() {
    let mut mask = Mask::default();
    mask.learn_value("api_key", &Value::from("Zq8Wk3Lm9Xv2Rt7B"));
    for (text, expected) in [
        ("begins with `abc Zq8Wk3Lm9X`", "begins with `abc [REDACTED]`"),
        ("begins with `Zq8Wk3…`", "begins with `[REDACTED]…`"),
        ("abc Zq8Wk3Lm", "abc [REDACTED]"),
        ("last on stderr:\nv2Rt7Bbbbb", "last on stderr:\n[REDACTED]bbbb"),
        ("9Xv2Rt7B", "[REDACTED]"),
        ("Zq8Wk3 and v2Rt7B", "Zq8Wk3 and v2Rt7B"),
        ("Zq8Wk", "Zq8Wk"),
        ("Zq8Wk3Lm9Xv2Rt7B Zq8Wk3Lm\nk3Lm9Xv2Rt7B", "[REDACTED] [REDACTED]\n[REDACTED]"),
    ] {
        assert_eq!(mask.quotation(text), expected, "{text}");
    }
    for whole in ["Zq8Wk3Lm", "abc Zq8Wk3Lm\n9Xv2Rt7B"] {
        assert_eq!(mask.text(whole), whole);
        assert_eq!(mask.value("plain", &Value::from(whole)), Value::from(whole));
    }
    let mut mask = Mask::default();
    mask.learn_value("api_key", &Value::from("ééééééééé"));
    assert_eq!(mask.quotation("éééééééé\nx"), "[REDACTED]\nx");
}

#[test]
fn members_of_json_are_masked_before_anybody_has_read_it() {
    for (text, expected) in [
        (r#"{"access_token": "S3cretVal99x"}"#, r#"{"access_token": "[REDACTED]"}"#),
        (r#"{"a":1,"API_Key" :\t"ab\"cdef","b":"x"}"#, r#"{"a":1,"API_Key" :\t"[REDACTED]","b":"x"}"#),
        (r#"  "password": "long and cut"#, r#"  "password": "[REDACTED]"#),
        (r#"{"key": "value", "keys": "values"}"#, r#"{"key": "[REDACTED]", "keys": "values"}"#),
        (r#"{"token": "abc"}"#, r#"{"token": "abc"}"#),
        (r#"{"name": "token", "x": "y"}"#, r#"{"name": "token", "x": "y"}"#),
        (r#"{"max_tokens": 4096}"#, r#"{"max_tokens": 4096}"#),
        ("no quotes at all: token", "no quotes at all: token"),
        (r#"["token", "secret-thing"]"#, r#"["token", "secret-thing"]"#),
        (r#"a "quote"#, r#"a "quote"#),
    ] {
        let text = text.replace("\\t", "\t");
        let masked = without_members(text.as_bytes().to_vec());
        assert_eq!(String::from_utf8_lossy(&masked), expected.replace("\\t", "\t"), "{text}");
    }
}

#[test]
fn booleans_and_short_numbers_are_masked_by_name_only() {
    let mut mask = Mask::default();
    let Ok(Value::Map(context)) =
        Value::from_json(r#"{"a_key": true, "b_key": "true", "c_key": 1234567, "d_key": 12345678}"#)
    else {
        panic!("a map")
    };
    mask.learn(&context);
    assert_eq!(mask.text("true 1234567 12345678"), "true 1234567 [REDACTED]");
    for (name, value) in context.iter() {
        assert_eq!(mask.value(name, value), Value::from(MASK), "{name}");
    }
}

#[test]
fn secrets_that_overlap_are_masked_whole() {
    let mut mask = Mask::default();
    for value in ["abcd", "cdefghij", "cdef", "klmn"] {
        mask.learn_value("key", &Value::from(value));
    }
    for (text, expected) in [
        ("abcdefghij", "[REDACTED]"),
        ("xabcdefghijy", "x[REDACTED]y"),
        ("abcdabcd", "[REDACTED][REDACTED]"),
        ("cdefghijklmn", "[REDACTED][REDACTED]"),
        ("abc cdef ghij", "abc [REDACTED] ghij"),
    ] {
        assert_eq!(mask.text(text), expected, "{text}");
        assert_eq!(mask.bytes(text.as_bytes()), expected.as_bytes(), "{text}");
    }
    assert_eq!(mask.bytes(b"\xff klmn \xfe").as_ref(), b"\xff [REDACTED] \xfe");
}

#[test]
fn lines_of_a_secret_are_secret() {
    let mut mask = Mask::default();
    mask.learn_value("ssh_key", &Value::from("abcdefg\nhijk\nlmn\n"));
    for (text, expected) in [
        ("v=abcdefg", "v=[REDACTED]"),
        ("hijk", "[REDACTED]"),
        ("lmn", "lmn"),
        ("abcdefg\nhijk\nlmn", "[REDACTED]"),
    ] {
        assert_eq!(mask.text(text), expected, "{text}");
    }
}

#[test]
fn words_of_the_run_itself_are_shown() {
    let mut mask = Mask::default().of_run("20261115-192427-2607bt6");
    mask.words.extend(["build".to_owned()]);
    for (name, value) in
        [("my_key", "2026"), ("build_key", "build"), ("a_key", "failed"), ("pw_key", "hunter2x")]
    {
        mask.learn_value(name, &Value::from(value));
    }
    for (text, expected) in [
        ("resume 20261115-192427-2607bt6", "resume 20261115-192427-2607bt6"),
        ("2026 20261115-192427-2607bt6 2026", "[REDACTED] 20261115-192427-2607bt6 [REDACTED]"),
        ("20261115-192427-other", "[REDACTED]1115-192427-other"),
        ("build: bash step failed: hunter2x", "build: bash step failed: [REDACTED]"),
    ] {
        assert_eq!(mask.text(text), expected, "{text}");
    }
    assert_eq!(mask.value("build_key", &Value::from("build")), Value::from(MASK));
}

#[test]
fn a_secret_is_masked_without_the_space_around_it() {
    for value in ["S3cr3tV4lue!\n", "\nS3cr3tV4lue!", "  S3cr3tV4lue!\r\n"] {
        let mut mask = Mask::default();
        mask.learn_value("api_key", &Value::from(value));
        assert_eq!(mask.text("a S3cr3tV4lue! b\nc"), "a [REDACTED] b\nc", "{value:?}");
    }
    let mut mask = Mask::default();
    mask.learn_value("api_key", &Value::from(" a \n"));
    assert!(mask.is_empty(), "three characters of it are space");
}

#[test]
fn secrets_are_masked_by_name_and_by_value() {
    let mut mask = Mask::new(["declared".to_owned()]);
    let context = [
        ("api_token", Value::from("s3cr3t-value")),
        ("declared", Value::from("also hidden")),
        ("PASSWORD", Value::from("abc")),
        ("plain", Value::from("seen")),
    ];
    mask.learn(&context.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    for (text, expected) in [
        ("x s3cr3t-value y", "x [REDACTED] y"),
        ("also hidden", "[REDACTED]"),
        ("abc", "abc"),
        ("seen", "seen"),
    ] {
        assert_eq!(mask.text(text), expected);
    }
    assert_eq!(mask.value("PASSWORD", &Value::from("abc")), Value::from(MASK));
    assert_eq!(mask.value("plain", &Value::from("seen")), Value::from("seen"));
    assert_eq!(mask.value("monkey", &Value::from("banana")), Value::from("banana"));
}
