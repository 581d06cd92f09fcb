//! What conditions are worth.

use super::*;

pub(super) fn check(cases: &[(&str, bool)]) {
    let scope = scope();
    for (text, expected) in cases {
        assert_eq!(read(text).holds(&scope), Ok(*expected), "{text}");
    }
}

pub(super) fn check_values(cases: &[(&str, &str)]) {
    let scope = scope();
    for (text, expected) in cases {
        let value = read(text).value(&scope).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.to_json(), *expected, "{text}");
    }
}

#[test]
fn truthiness() {
    check(&[
        ("yes", true),
        ("no", false),
        ("n", true),
        ("-3.14", true),
        ("zero", false),
        ("0.0", false),
        ("status", true),
        ("empty", false),
        ("''", false),
        ("list", true),
        ("none_list", false),
        ("[]", false),
        ("object", true),
        ("none_object", false),
        ("nothing", false),
        ("undefined", false),
        ("true", true),
        ("True", true),
        ("false", false),
        ("False", false),
        ("TRUE", false),
        ("FALSE", false),
        ("none", false),
        ("None", false),
        ("'false'", true),
        ("'0'", true),
    ]);
}

#[test]
fn precedence_and_logic() {
    check(&[
        ("true or false and false", true),
        ("(true or false) and false", false),
        ("not false and false", false),
        ("not (false and false)", true),
        ("not status == 'bad'", true),
        ("!status == 'bad'", true),
        ("not not yes", true),
        ("!!yes", true),
        ("yes && !no || no", true),
        ("no || yes", true),
        ("yes and not no", true),
        ("not in_progress", true),
        ("not\nin_progress", true),
        ("not-ready == 'wait'", true),
        ("(status == 'ok' or status == 'partial') and not skip", true),
        ("no and undefined.lower()", false),
        ("yes or undefined.lower()", true),
        ("yes\n  and\n\tstatus == 'ok'\r\n", true),
        ("(yes)and(yes)", true),
    ]);
}

#[test]
fn logic_gives_the_value_that_decides() {
    check_values(&[
        ("empty or 'default'", r#""default""#),
        ("status or 'default'", r#""ok""#),
        ("status and n", "5"),
        ("empty and n", r#""""#),
        ("no or zero", "0"),
        ("not n", "false"),
        ("int(str(x).strip() or '1')", "1"),
        ("(empty or 'ABC').lower()", r#""abc""#),
        ("[empty or 1, status]", r#"[1,"ok"]"#),
    ]);
    check(&[("int(str(x).strip() or '1') > 1", false), ("int(str(n).strip() or '1') > 1", true)]);
}

#[test]
fn equality() {
    check(&[
        ("status == 'ok'", true),
        ("status == \"ok\"", true),
        ("status != 'ok'", false),
        ("'OK' == 'ok'", false),
        ("5 == '5'", true),
        ("'5' == 5", true),
        ("n == '5'", true),
        ("n == 5", true),
        ("n == 5.0", true),
        ("(n) == 5", true),
        ("5.0 == '5'", true),
        ("5 == '5.0'", false),
        ("n == '5.0'", false),
        ("5 == '05'", false),
        ("5 == '+5'", false),
        ("1000 == '1e3'", false),
        ("7 in ['007']", false),
        ("7 in ['7']", true),
        ("5 == 'five'", false),
        ("5 != '5'", false),
        ("zero == '0'", true),
        ("count5 == 5", true),
        ("pi == '3.10'", true),
        ("pi == 3.1", true),
        ("big == 9007199254740993", true),
        ("big == 9007199254740992", false),
        ("yes == true", true),
        ("yes == 'true'", true),
        ("yes == 'True'", true),
        ("yes == 'TRUE'", false),
        ("yes != 'true'", false),
        ("'false' == no", true),
        ("no == 'False'", true),
        ("no == 'true'", false),
        ("truthy_text == true", true),
        ("truthy_text == false", false),
        ("no == ''", false),
        ("yes == 1", false),
        ("undefined == ''", true),
        ("undefined == none", true),
        ("undefined == 0", false),
        ("undefined == false", false),
        ("undefined != 'x'", true),
        ("list == ['a', 'b', 3]", true),
        ("list == ['a', 'b']", false),
        ("list == '[\"a\",\"b\",3]'", true),
        ("object == '{\"k\":\"v\"}'", true),
        ("none_list == []", true),
        ("none_list == none_object", false),
        ("status == status", true),
        ("('a' == 'a') == ('b' == 'b')", true),
    ]);
}

#[test]
fn ordering() {
    check(&[
        ("n > 0", true),
        ("n > 0 and n < 10", true),
        ("n >= 5", true),
        ("n <= 5", true),
        ("n < 5", false),
        ("-7 < -6.5", true),
        (".5 < 1", true),
        ("1e3 > 999", true),
        ("'abc' < 'abd'", true),
        ("'10' < '9'", true),
        ("'10' < 9", false),
        ("'10' > 9", true),
        ("9 < '10'", true),
        ("' 10 ' > 9", true),
        ("'ten' > 9", false),
        ("'ten' < 9", false),
        ("'inf' > 9", false),
        ("undefined > 0", false),
        ("undefined <= 0", false),
        ("undefined < undefined", false),
        ("yes > 0", false),
        ("yes >= true", false),
        ("list > 0", false),
        ("response.data.count > 0", false),
        ("result.data.count > 0", true),
        ("max(n, 80) >= 80", true),
        ("5<n", false),
        ("n>-1", true),
    ]);
}

#[test]
fn membership() {
    check(&[
        ("'ERROR' in log", true),
        ("'WARN' in log", false),
        ("'WARN' not in log", true),
        ("'ERROR' not in log", false),
        ("'WARN' not   in log", true),
        ("'WARN' not\n\tin log", true),
        ("'a' in list", true),
        ("3 in list", true),
        ("'3' in list", true),
        ("'z' in list", false),
        ("'z' not in list", true),
        ("status in ['ok', 'fine']", true),
        ("status not in ['ok', 'fine']", false),
        ("n in [1, '5']", true),
        ("status in 'blocked,ok'", true),
        ("5 in '5 apples'", true),
        ("pi in 'v3.10'", true),
        ("yes in 'it is true'", true),
        ("'' in log", true),
        ("undefined in log", false),
        ("undefined not in log", true),
        ("'k' in object", false),
        ("'k' not in object", true),
        ("'k' in undefined", false),
        ("'5' in n", false),
        ("'x' in []", false),
        ("not 'WARN' in log", true),
        ("'y' in result.tags", true),
    ]);
}

#[test]
fn paths_and_indexes() {
    check_values(&[
        ("result.status", r#""OK""#),
        ("result.data.count", "3"),
        ("result['data']['count']", "3"),
        ("result[\"data\"].count", "3"),
        ("result.in", "1"),
        ("result.missing.deeper", "null"),
        ("status.missing", "null"),
        ("list[0]", r#""a""#),
        ("list[-1]", "3"),
        ("list[9]", "null"),
        ("list[-9]", "null"),
        ("list[i]", r#""b""#),
        ("list[undefined]", "null"),
        ("list.0", r#""a""#),
        ("list.length", "3"),
        ("umlaut.length", "2"),
        ("object[key]", r#""v""#),
        ("object[key or 'x']", r#""v""#),
        ("text.a[1].b", r#""deep""#),
        ("text['a'][0]", "1"),
        ("csv.split(',')[1]", r#""b""#),
        ("csv.split(',')[-1].upper()", r#""D""#),
        ("csv.split(',').length", "4"),
        ("(result).data.count", "3"),
        ("['x', 'y'][1]", r#""y""#),
        ("build-all", r#""built""#),
        ("2fa", r#""on""#),
        ("1e", "null"),
        ("result . status", r#""OK""#),
        ("[1, 'a', [true],]", r#"[1,"a",[true]]"#),
        ("list[9223372036854775807]", "null"),
        ("list[-1e300]", "null"),
    ]);
}

#[test]
fn text_literals() {
    check_values(&[
        (r#"'it\'s'"#, r#""it's""#),
        (r#""say \"hi\"""#, r#""say \"hi\"""#),
        (r#"'a"b'"#, r#""a\"b""#),
        (r#"'\"'"#, r#""\"""#),
        (r"'a\\b'", r#""a\\b""#),
        (r"'\\'", r#""\\""#),
        (r"'\n\t\d'", r#""\\n\\t\\d""#),
        ("'two\nlines'", r#""two\nlines""#),
        ("'ünï'", r#""ünï""#),
        ("'and' or 'x'", r#""and""#),
    ]);
}

#[test]
fn a_backslash_may_end_a_text() {
    check_values(&[
        (r"path.replace('\', '/')", r#""C:/home/me""#),
        (r"path.replace('\\', '/')", r#""C:/home/me""#),
        (r"path.replace('\', '')", r#""C:homeme""#),
        (r"path.replace('\', '/').startswith('C:/home')", "true"),
        (r"path.endswith('\')", "false"),
        (r#"path.replace("\", "/")"#, r#""C:/home/me""#),
        (r"'\' in path", "true"),
        (r"'\'", r#""\\""#),
        (r"path.count('\') == path.count('\')", "true"),
        (r"path.replace('\', '/') == 'it\'s'", "false"),
        (r"['\', 'x']", r#"["\\","x"]"#),
    ]);
}

#[test]
fn names_are_listed_with_their_places() {
    let text = "a.b[0].strip() == x['k'] and len(list[i].z) or f[g(1)] not in 'c'".replace("g(1)", "int(h)");
    let found: Vec<String> =
        read(&text).names().into_iter().map(|(path, at)| format!("{path}={}", &text[at])).collect();
    assert_eq!(found, ["a.b[0]=a.b[0]", "x.k=x['k']", "list=list", "i=i", "f=f", "h=h"]);
    assert!(read("true and 'x' == 5").names().is_empty());
    assert_eq!(read("( a )").names()[0].1, 2..3);
}

#[test]
fn large_texts_are_shared() {
    let large = Value::text("x".repeat(10_000_000));
    let scope: Map = [("big".to_string(), large.clone())].into_iter().collect();
    for text in ["big", "big or 'x'", "(big)", "str(big)", "big.strip()", "max(big, 'a')", "[big][0]"] {
        let (Ok(Value::Text(found)), Value::Text(large)) = (read(text).value(&scope), &large) else {
            panic!("{text}")
        };
        assert!(std::sync::Arc::ptr_eq(&found, large), "{text}");
    }
    for (text, expected) in
        [("big == 'x'", false), ("'xy' in big", false), ("len(big) == 10000000", true), ("big == 5", false)]
    {
        assert_eq!(read(text).holds(&scope), Ok(expected), "{text}");
    }
}

#[test]
fn numbers_are_kept_as_written() {
    let scope: Map =
        [("v".to_string(), Value::Number(Number::parse("4517e12").unwrap()))].into_iter().collect();
    assert_eq!(read("str(v)").value(&scope), Ok(Value::from("4517e12")));
    assert_eq!(read("v == '4517e12'").holds(&scope), Ok(true));
}
