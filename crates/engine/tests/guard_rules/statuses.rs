//! What is known of a whole script before it runs, and what makes every end of it a good one.

use engine::repair_review::flow::{Status, follow};

use super::flows::check;

#[test]
fn a_trap_that_ends_well_swallows_every_failure() {
    for (text, expected) in [
        ("trap 'exit 0' EXIT; a", "-a"),
        ("trap 'exit 0' 0; a", "-a"),
        ("trap 'exit 0' ERR; a", "-a"),
        ("trap 'echo; exit 0' INT EXIT; a", "-a"),
        ("trap 'exit 0' INT; a", "+a"),
        ("trap 'exit 1' EXIT; a", "+a"),
        ("trap 'rm x' EXIT; a", "+a"),
        ("trap EXIT; a", "+a"),
        ("trap exit EXIT; a", "+a"),
        ("trap 'if true; then exit $x; fi' EXIT; a", "+a"),
        ("trap 'if b; then :; elif exit $x; then :; fi' EXIT; a", "-a"),
        ("trap 'exit 0' EXIT; trap 'rm x' INT; a", "-a"),
        ("trap 'rm x && exit 0' EXIT; a", "-a"),
        ("f() { exit 0; }; trap f EXIT; a", "-a"),
        ("trap 'rc=$?; rm x; exit $rc' EXIT; a", "+a"),
        ("trap 'exit 0' DEBUG; a", "-a"),
    ] {
        check(text, expected);
        assert_eq!(follow(text).status == Status::Ok, expected == "-a", "{text}");
    }
}

#[test]
fn what_is_known_of_a_whole_script() {
    use Status::*;
    for (text, expected) in [
        ("a", Unknown),
        ("echo a", Ok),
        ("export A=b", Ok),
        ("[ x ]", Ok),
        ("[ '' ]", Fail),
        ("a; true", Ok),
        ("a; false", Fail),
        ("a && false", Fail),
        ("a && true", Unknown),
        ("a || false", Unknown),
        ("a || true", Ok),
        ("true && a", Unknown),
        ("false || a", Unknown),
        ("false || true", Ok),
        ("true && false", Fail),
        ("false && a", Fail),
        ("a || b || true", Ok),
        ("a &", Ok),
        ("false &", Ok),
        ("a | true", Ok),
        ("a | false", Fail),
        ("a | exit 0", Ok),
        ("a | exit 1", Fail),
        ("set -o pipefail; a | true", Unknown),
        ("set -o pipefail; a | false", Fail),
        ("set -o pipefail; true", Ok),
        ("! a", Unknown),
        ("! false", Ok),
        ("! true | false", Ok),
        ("(exit 0)", Ok),
        ("(exit 1)", Fail),
        ("{ exit 1; }", Exit(Some(false))),
        ("bash -c 'exit 1'", Fail),
        ("X=1", Ok),
        ("X=$(a)", Unknown),
        ("if true; then exit 1; fi", Exit(Some(false))),
        ("if false; then exit 1; fi", Ok),
        ("if false; then a; else exit 0; fi", Exit(Some(true))),
        ("if a; then true; fi", Unknown),
        ("if a; then true; else exit 0; fi", Unknown),
        ("if a; then exit 1; fi; true", Unknown),
        ("a || exit 1; true", Unknown),
        ("a || exit 0", Ok),
        ("set -e; a; true", Unknown),
        ("set -e; true", Ok),
        ("set -e; f() { a; return 0; }; f", Unknown),
        ("a || exit 1 & true", Ok),
        ("return 1", Exit(Some(false))),
        ("f() { a; }; f; return 1", Exit(Some(false))),
        ("if a; then exit; fi; true", Ok),
        ("set -n; a", Exit(Some(true))),
        ("exec false", Exit(Some(false))),
        ("date +%F", Ok),
        ("date -u", Ok),
        ("date -d x", Unknown),
        ("set -e; a; exit 0", Exit(Some(true))),
        ("exec true", Exit(Some(true))),
        ("exec a", Exit(None)),
        ("((1))", Ok),
        ("((n > 1))", Unknown),
        ("while a; do true; done", Unknown),
        ("for x in 1 2; do true; done", Unknown),
        ("case x in x) true;; esac", Unknown),
        ("f() { true; }", Ok),
        ("f() { return 0; }; f", Ok),
        ("f() { return 1; }; f", Fail),
        ("set -e; false; true", Fail),
        ("a; exit 0; false", Exit(Some(true))),
    ] {
        assert_eq!(follow(text).status, expected, "{text}");
    }
}

#[test]
fn the_stop_at_failures_is_turned_off_in_two_ways() {
    for (text, expected) in [
        ("set +e; a", true),
        ("set +o errexit; a", true),
        ("set -e; a", false),
        ("set -o errexit; a", false),
        ("set +x; a", false),
        ("set +o pipefail; a", false),
        ("a +e", false),
    ] {
        assert_eq!(follow(text).forgives, expected, "{text}");
    }
}
