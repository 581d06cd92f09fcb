//! Conditions of protected steps: they can still hold, and say the same.

use super::{fits, plan, verdict};

fn recipe(condition: Option<&str>) -> String {
    let line = condition.map(|text| format!("    condition: {text:?}\n")).unwrap_or_default();
    format!(
        "name: r\ncontext: {{a: 1, b: 2, c: 3, d: 4, e: 5}}\nsteps:\n  - id: other\n    command: ./x\n  - id: s\n    \
         command: pytest\n{line}"
    )
}

fn check(failed: &str, before: Option<&str>, after: Option<&str>, expected: &str) {
    let found = verdict(&plan(&recipe(before), 9), &plan(&recipe(after), 9), failed);
    assert!(fits(found, expected), "{found}: {before:?} -> {after:?}, {failed} failed");
}

#[test]
fn a_condition_that_no_value_meets_is_refused() {
    for (text, expected) in [
        ("false", "condition_never"),
        ("1 == 2", "condition_never"),
        ("a", "condition_added"),
        ("not a", "condition_added"),
        ("a == true", "condition_added"),
        ("a == false", "condition_added"),
        ("a == ''", "condition_added"),
        ("a == 'green' and b == 'red'", "condition_added"),
        ("a == \"green\"", "condition_added"),
        ("a == 'green' and a == 'red'", "condition_never"),
        ("a > 5 and a < 7", "condition_added"),
        ("a < 5 and a > 3", "condition_added"),
        ("a == 5 and b == 6", "condition_added"),
        ("a > 7 and a < 5", "condition_never"),
        ("a > 1.5", "condition_added"),
        ("a < 2", "condition_added"),
        ("a > 2000000", "condition_added"),
        ("len(a) > 50", "condition_added"),
        ("'x' in a", "condition_added"),
        ("a.lower() == 'A'", "condition_added"),
        ("unheard_of", "condition_never"),
        ("unheard_of and a", "condition_never"),
        ("other == 'x'", "condition_added"),
        ("a == 1 and b and a == 2 and b and a == 3 and b and a == 4 and b", "condition_never"),
        ("a == 'p' and a == 'q' and b and c and d and e", "condition_added"),
    ] {
        check("s", None, Some(text), expected);
        check("other", None, Some(text), expected);
    }
}

#[test]
fn a_condition_may_be_corrected_where_the_step_failed() {
    for (before, after, failed, another) in [
        ("a", "a", "", ""),
        ("a  == 'x'", "a == \\\"x\\\"", "", ""),
        ("a", "b", "", "condition_changed"),
        ("a == 1", "a == 2", "", "condition_changed"),
        ("unheard_of", "not unheard_of", "", "condition_changed"),
        ("a", "not unheard_of", "condition_changed", "condition_changed"),
        ("a", "b or unheard_of", "condition_changed", "condition_changed"),
        ("a", "false", "condition_never", "condition_never"),
    ] {
        let after = after.replace("\\\"", "\"");
        check("s", Some(before), Some(&after), failed);
        check("other", Some(before), Some(&after), another);
    }
    check("s", Some("a"), None, "");
    check("other", Some("a"), None, "");
}
