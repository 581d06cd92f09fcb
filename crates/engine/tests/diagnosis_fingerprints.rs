//! Which words of a failure change by themselves, and which tell it from another one.

use engine::{
    Outcome,
    failure::{Class, Facts, fingerprint, fingerprint_of_all, normalize},
};

#[test]
fn words_that_change_by_themselves_are_taken_out() {
    let same = |left: &str, right: &str| normalize(left) == normalize(right);
    for (left, right, expected) in [
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "6fa459ea-ee8a-3ca4-894e-db77e160355e", true),
        ("wxyz04e0-wxyz-wxyz-wxyz-wxyzwxyzwxyz", "stuv04e0-stuv-stuv-stuv-stuvstuvstuv", false),
        ("took 5min", "took 7min", true),
        ("took 5apples", "took 7pears", false),
        ("took fives", "took sevens", false),
        ("abc123", "def456", true),
        ("main.rs", "lib.rs", false),
        ("1.5:40", "1.5:41", true),
        ("foo:40", "foo:41", true),
        ("foo.c:40", "foo.c:41", false),
        ("0x12", "0x34", false),
        ("2m 3s", "3s", true),
        ("3 apples", "3 pears", false),
        ("req_aB3xYz9w", "req_cD4uVw8k", true),
        ("req_aB3xYz9", "req_cD4uVw8", false),
        ("gh1234wxyz", "gh5678wxyz", true),
        ("ghij1234wxyz", "ghij5678wxyz", true),
        ("ghijk1234wxyz", "ghijk5678wxyz", false),
        ("page 3 is bad", "line 3 is bad", false),
        ("an_unusually_long_name_is_no_run", "an_unusually_long_name_is_not_one", false),
        ("abcdefgh-030405-a1b2c3d", "abcdefgi-030405-a1b2c3d", false),
    ] {
        assert_eq!(
            same(left, right),
            expected,
            "{left} / {right}: {} / {}",
            normalize(left),
            normalize(right)
        );
    }
}

#[test]
fn several_that_fail_beside_each_other_are_one_failure() {
    let all =
        |names: &[&str]| fingerprint_of_all(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(all(&[]), None);
    assert_eq!(all(&["a"]).as_deref(), Some("a"));
    assert_eq!(all(&["a", "b"]), all(&["a", "b"]));
    assert_eq!(all(&["a", "b"]).map(|name| name.len()), Some(16));
    for other in [&["a"][..], &["b"], &["ab"], &["a", "c"], &["a", "b", "c"]] {
        assert_ne!(all(&["a", "b"]), all(other), "{other:?}");
    }
}

#[test]
fn the_words_of_a_cause_do_not_count() {
    let of = |problem: &str| {
        let outcome = Some(Outcome::NotJson { problem: problem.to_owned() });
        fingerprint("s", Class::Unknown, &Facts { outcome, ..Facts::default() })
    };
    assert_eq!(of("there is no JSON in `abc`"), of("there is no JSON in `xyz`"));
}
