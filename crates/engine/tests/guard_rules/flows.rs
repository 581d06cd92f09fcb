//! What a script reaches, and what the failure of each command does.

use engine::repair_review::flow::{Found, Level, follow};

/// `+` if a failure counts, `~` if something else may still decide, `-` if it is ignored; then assignments, each
/// with `^`; then the command; then `?` if it may not be reached, `!` if it is turned round, `<` if its input is text
/// of the script, `>` with each file that it writes. Settings of the shell are left out.
fn told(found: &Found) -> String {
    let level = match found.level {
        Level::Counts => "+",
        Level::Maybe => "~",
        Level::Ignored => "-",
    };
    let flag = |on: bool, sign| if on { sign } else { "" };
    let assigned: String = found.assignments.iter().map(|text| format!("{text}^")).collect();
    let mut text = format!("{level}{assigned}{}", found.call.words.join(" "));
    text += flag(found.guarded, "?");
    text += flag(found.negated, "!");
    text += flag(found.is_fed, "<");
    found.writes.iter().for_each(|file| text += &format!(">{file}"));
    text
}

fn reached(text: &str) -> String {
    let flow = follow(text);
    let counted = flow.found.iter().filter(|found| !matches!(found.call.program.as_str(), "set" | "trap"));
    counted.map(told).collect::<Vec<_>>().join(", ")
}

pub(super) fn check(text: &str, expected: &str) {
    assert_eq!(reached(text), expected, "{text}");
}

pub(super) fn check_all(cases: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = cases.iter().map(|(text, _)| (*text, reached(text))).collect();
    let wrong = found.iter().zip(cases).filter(|(found, case)| found.1 != case.1);
    let wrong: Vec<String> = wrong.map(|(found, case)| format!("{found:?} is not {:?}", case.1)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_list_ends_as_its_last_command_does() {
    check_all(&[
        ("a", "+a"),
        ("a; b", "-a, +b"),
        ("a\nb\n", "-a, +b"),
        ("{ a; b; }; c", "-a, -b, +c"),
        ("(a; b)", "-a, +b"),
        ("false; a", "-false, +a"),
        ("exit 1; a", "-exit 1"),
        ("(exit 1); a", "-exit 1, +a"),
        ("(exit 0); a", "-exit 0, +a"),
        ("bash -c 'exit 1'; a", "-exit 1, +a"),
        ("eval 'a; b'", "-a, +b"),
        ("a\n)\nb", "-a, +b"),
        ("{ (a); b; }; c", "-a, -b, +c"),
        ("(a) && b", "+a, +b"),
        ("; a;; b", "-a, +b"),
    ]);
}

#[test]
fn the_stop_at_failures_makes_every_command_count() {
    check_all(&[
        ("set -e; a; b", "+a, +b"),
        ("set -o errexit; a; b", "+a, +b"),
        ("set -x -o errexit; a; b", "+a, +b"),
        ("set -o nounset; a; b", "-a, +b"),
        ("set errexit; a; b", "-a, +b"),
        ("set -x errexit; a; b", "-a, +b"),
        ("set -x; a; b", "-a, +b"),
        ("set --help; a; b", "-a, +b"),
        ("set nounset; a; b", "-a, +b"),
        ("bash -c 'a; b'", "-a, +b"),
        ("bash -ec 'a; b'", "+a, +b"),
        ("set -e; bash -c 'a; b'", "-a, +b"),
        ("bash -ec a; b; c", "-a, -b, +c"),
        ("bash -c 'a | b'", "-a, +b"),
        ("bash --verbose -c 'a; b'", "-a, +b"),
        ("set -e; set +e; a; b", "-a, +b"),
        ("set -e; set +o errexit; a; b", "-a, +b"),
        ("set -e; (a; b); c", "+a, +b, +c"),
        ("(set -e; a; b); c", "-a, -b, +c"),
        ("(set -e); a; b", "-a, +b"),
        ("{ set -e; }; a; b", "+a, +b"),
        ("set -e; a | b; c", "-a, +b, +c"),
        ("set -e; false; a", "+false"),
        ("set -e; false || true; a", "-false, +true, +a"),
        ("set -e; if false; a; then b; fi", "-false, -a, +b?"),
        ("set -e; { a; b; } || c; d", "-a, -b, +c?, +d"),
        ("set -e; a && b; c", "-a, +b?, +c"),
        ("set -e; f() { a; b; }; f; c", "+a, +b, +c"),
        ("set -e; if a; b; then c; fi; d", "-a, -b, +c?, +d"),
        ("set -e; while a; do b; done; c", "-a?, +b?, +c"),
        ("set -e; while a; b; do c; done; d", "-a?, -b?, +c?, +d"),
    ]);
}

#[test]
fn a_pipeline_ends_as_its_last_command_does() {
    check_all(&[
        ("a | b", "-a, +b"),
        ("a | b | c", "-a, -b, +c"),
        ("a |& b", "-a, +b"),
        ("a |\nb", "-a, +b"),
        ("set -o pipefail; a | b", "+a, +b"),
        ("set -euo pipefail; a | b; c", "+a, +b, +c"),
        ("set -o pipefail; set +o pipefail; a | b", "-a, +b"),
        ("(set -o pipefail); a | b", "-a, +b"),
        ("set -o posix; a | b", "-a, +b"),
        ("set -x pipefail; a | b", "-a, +b"),
        ("set -e; a |\nb", "-a, +b"),
        ("! a", "+a!"),
        ("! ! a", "+a"),
        ("! a | b", "-a!, +b!"),
        ("time a", "+a"),
        ("a | exit 1; b", "-a, -exit 1, +b"),
        ("a | exit 0; b", "-a, -exit 0, +b"),
        ("a | { b && exit 0; }; c", "-a, -b, -exit 0?, +c"),
    ]);
}

#[test]
fn a_chain_counts_as_far_as_nothing_catches_it() {
    check_all(&[
        ("a && b", "+a, +b"),
        ("a &&\nb", "+a, +b"),
        ("a && b; c", "-a, -b?, +c"),
        ("a || b", "~a, +b?"),
        ("a || b; c", "-a, -b?, +c"),
        ("a && b || c", "~a, ~b, +c?"),
        ("a || b && c", "~a, +b?, +c"),
        ("a || true", "-a, +true?"),
        ("a || false", "+a, +false?"),
        ("a || exit 1; b", "+a, -exit 1?, +b"),
        ("a || exit 0; b", "-a, -exit 0?, +b?"),
        ("a && exit 0; b", "-a, -exit 0?, +b?"),
        ("a && exit; b", "-a, -exit?, +b?"),
        ("a || exit; b", "+a, -exit?, +b"),
        ("a || { echo no; exit; }; b", "-a, +echo no?, -exit?, +b?"),
        ("die() { echo $1; exit 1; }; a || die no; b", "+a, -echo $1?, -exit 1?, +b"),
        ("set -e; ! a; b", "-a!, +b"),
        ("a || echo no", "-a, +echo no?"),
        ("a || cat log", "-a, +cat log?"),
        ("a || { cat log; }", "-a, +cat log?"),
        ("a || (cat log)", "-a, +cat log?"),
        ("a || { cat log; b; }", "~a, -cat log?, +b?"),
        ("a || { cat log; b && c; }", "~a, -cat log?, +b?, +c?"),
        ("a || { echo no; exit 1; }; b", "+a, -echo no?, -exit 1?, +b"),
        ("a || (echo no; exit 1); b", "-a, -echo no?, -exit 1?, +b"),
        ("a || (echo no; exit 1)", "+a, -echo no?, +exit 1?"),
        ("a || ! true", "+a, +true?!"),
        ("a || ! false", "-a, +false?!"),
        ("a || x | false", "+a, -x?, +false?"),
        ("a || x | exit 0", "-a, -x?, +exit 0?"),
        ("a || if b; then c; fi", "~a, -b?, +c?"),
        ("true || a", "~true"),
        ("false && a", "+false"),
        ("true && a", "+true, +a"),
        ("false || a", "~false, +a"),
        ("exit 0 || a", "~exit 0"),
        ("a || true && b", "-a, +true?, +b"),
        ("a && b || true", "-a, -b, +true?"),
        ("a && false || b", "~a, ~false, +b"),
        ("a && false && b", "+a, +false"),
        ("a || true || b", "-a, ~true?"),
        ("f() { f; }; a || f", "~a"),
        ("f() { g; }; g() { exit 1; }; a || f", "+a, +exit 1?"),
        ("f() { g; }; g() { h; }; h() { exit 1; }; a || f", "~a, +exit 1?"),
    ]);
}

#[test]
fn a_status_that_is_kept_may_count_later() {
    check_all(&[
        ("a; exit $?", "+a, +exit $?"),
        ("a; exit", "+a, +exit"),
        ("a; b; exit", "~a, +b, +exit"),
        ("a; exit $x", "~a, +exit $x"),
        ("a; return $rc", "~a, +return $rc"),
        ("a; rc=$?; b; exit $rc", "+a, -rc=$?^, ~b, +exit $rc"),
        ("a; rc=$?; rc=0; exit $rc", "~a, -rc=$?^, -rc=0^, +exit $rc"),
        ("a; rc=$?; exit $other", "~a, -rc=$?^, +exit $other"),
        ("a; exit 1", "-a, +exit 1"),
        ("a; 'exit' $?", "-a, +exit $?"),
        ("a; [ $? -eq 0 ]", "~a, +[ $? -eq 0 ]"),
        ("a; test $? = 0; b", "~a, -test $? = 0, +b"),
        ("a; [ $x -eq 0 ]", "-a, +[ $x -eq 0 ]"),
        ("a; echo $?", "-a, +echo $?"),
        ("a && b; exit $?", "+a, +b, +exit $?"),
        ("exit $?; a; b", "-exit $?"),
        ("exit; a", "-exit"),
        ("exit 256; a", "-exit 256"),
        ("exec a; b", "+a"),
        ("exec true; b", "+true"),
        ("exec > f; b", "-exec>f, +b"),
        ("(exec a); b", "-a, +b"),
        ("set -n; a", ""),
        ("eval exit 0; a", "-exit 0"),
        ("a; rc=$?; [ $rc = 0 ] || exit $rc; b", "~a, -rc=$?^, -[ $rc = 0 ], -exit $rc?, +b"),
        ("(a; exit $?); b", "-a, -exit $?, +b"),
        ("a; exit $? &", "~a, -exit $?"),
        ("a; X=1; b", "-a, -X=1^, +b"),
        ("a; X=1 Y=2; b", "-a, -X=1^Y=2^, +b"),
        ("a; rc=$?", "-a, -rc=$?^"),
    ]);
}

#[test]
fn nobody_hears_of_what_runs_in_the_background() {
    check_all(&[
        ("a &", "-a"),
        ("a & b", "-a, +b"),
        ("set -e; a & b; wait", "~a, +b, +wait"),
        ("set -e; a & wait", "~a, +wait"),
        ("set -e; wait; a & b", "+wait, -a, +b"),
        ("set -e; wait & a", "-wait, +a"),
        ("set -e; false & a", "-false, +a"),
        ("a && exit 0 & b", "-a, -exit 0?, +b"),
    ]);
}

#[test]
fn a_condition_counts_if_its_failure_is_refused() {
    check_all(&[
        ("if a; then b; fi", "-a, +b?"),
        ("if a; then b; else c; fi", "-a, +b?, +c?"),
        ("if a; then b; else exit 1; fi", "+a, +b?, +exit 1?"),
        ("if a; then b; else exit 0; fi", "-a, +b?, +exit 0?"),
        ("if a; then b; else false; fi", "+a, +b?, +false?"),
        ("if a; then b; else exit 1; false; true; fi", "+a, +b?, -exit 1?"),
        ("if ! a; then exit 1; fi; b", "+a, -exit 1?, +b"),
        ("if ! a; then b; fi", "-a!, +b?"),
        ("if a; then exit 1; fi; b", "+a!, -exit 1?, +b"),
        ("if a; then b; elif c; then d; else exit 1; fi", "-a, +b?, +c?, +d?, +exit 1?"),
        ("if ! a || b; then exit 1; fi", "-a!, -b?, +exit 1?"),
        ("if ! a; b; then exit 1; fi", "-a!, -b, +exit 1?"),
        ("if a; then b; elif true; then c; fi", "-a, +b?, -true?, +c?"),
        ("if a; then b; else exit; fi; c", "+a, -b?, -exit?, +c"),
        ("if true; then a; else b; fi", "-true, +a"),
        ("if false; then a; else b; fi", "-false, +b"),
        ("if a; then b; elif c; then d; else e; fi", "-a, +b?, -c?, +d?, +e?"),
        ("if false; then b; elif c; then d; else e; fi", "-false, -c, +d?, +e?"),
        ("(if a; then b; else exit 1; fi); c", "-a, -b?, -exit 1?, +c"),
    ]);
}

#[test]
fn loops_and_cases_may_do_nothing() {
    check_all(&[
        ("while a; do b; done", "-a?, +b?"),
        ("until a; do b; done", "~a, +b?"),
        ("while ! a; do b; done", "~a, +b?"),
        ("while false; do b; done", "-false?"),
        ("while ! a; b; do c; done", "-a?!, -b?, +c?"),
        ("case $(a) in b) c;; esac", "-a, +c?"),
        ("for x in 1 2; do a; done", "+a?"),
        ("for x in 1; do a; done", "+a?"),
        ("for x in; do a; done", ""),
        ("for x; do a; done", "+a?"),
        ("select x in 1 2; do a; done", "+a?"),
        ("for x in 1\ndo a\ndone; b", "-a?, +b"),
        ("case x in a) b;; c) d;; esac", "+b?, +d?"),
        ("case x in esac; a", "+a"),
        ("case $x in a) ;; *) exit 1;; esac", "+case $x a) *)!, +exit 1?"),
        ("case x in\na) b ;;\n*) c ; d ;;\nesac; e", "-b?, -c?, -d?, +e"),
        ("case x in a) if b; then c; fi;; esac", "-b?, +c?"),
    ]);
}

#[test]
fn functions_do_what_they_say_when_they_are_called() {
    check_all(&[
        ("f() { a; }; b", "+b"),
        ("f() { a; b; }; f", "-a, +b"),
        ("f() (a; b); f; c", "-a, -b, +c"),
        ("f()\n{ a; }\nf", "+a"),
        ("function f { a; }; f", "+a"),
        ("function f() { a; }; f", "+a"),
        ("f() { return 0; }; f; a", "-return 0, +a"),
        ("f() { return 1; }; f; a", "-return 1, +a"),
        ("f() { exit 0; }; f; a", "-exit 0"),
        ("f() { a && return; b; }; f", "-a, -return?, +b?"),
        ("f() { a || return 1; b; }; f; c", "-a, -return 1?, -b, +c"),
        ("f() { a || return 1; b; }; f", "+a, -return 1?, +b"),
        ("f() { if a; then b; else return 1; fi; }; f", "+a, +b?, +return 1?"),
        ("alias a=true; a f", "-alias a=true, +true"),
        ("hash -p /bin/true b; b f", "-hash -p /bin/true b, +/bin/true"),
        ("hash a b; b", "-hash a b, +b"),
        ("'if' a; b", "-if a, +b"),
        ("\"if\" a; b", "-if a, +b"),
        ("\\if a; b", "-if a, +b"),
    ]);
}

#[test]
fn what_is_inside_of_words_runs_too() {
    check_all(&[
        ("X=1", "-X=1^"),
        ("X=1 a", "+X=1^a"),
        ("X=1 Y[0]=2 Z+=3 _1=4 a", "+X=1^Y[0]=2^Z+=3^_1=4^a"),
        ("1X=1 a", "+1X=1 a"),
        ("X-Y=1 a", "+X-Y=1 a"),
        ("a X=1", "+a X=1"),
        ("X=$(a)", "+a, -X=$(a)^"),
        ("X=$(a; b)", "-a, +b, -X=$(a; b)^"),
        ("X=$(set -e; a; b); c", "-a, -b, -X=$(set -e; a; b)^, +c"),
        ("X=$(a) b", "-a, +X=$(a)^b"),
        ("echo $(a)", "-a, +echo $(a)"),
        ("echo `a`", "-a, +echo `a`"),
        ("b <(a)", "-a, +b <(a)"),
        ("[[ a && b ]]; c", "-[[ a && b ]], +c"),
        ("[[ a ]] && b", "+[[ a ]], +b"),
        ("[[ a > b ]]; c", "-[[ a > b ]], +c"),
        ("(( a > 1 )) && b", "+(( a>1 )), +b"),
        ("((a))\nb", "-(( a )), +b"),
        ("((a); b)", "-a, +b"),
        ("'[[' a && b", "+[[ a, +b"),
    ]);
}

#[test]
fn inputs_and_outputs_belong_to_their_command() {
    check_all(&[
        ("a > f 2>&1", "+a>f"),
        ("a >> f", "+a>f"),
        ("a &> f", "+a>f"),
        ("a >| f", "+a>f"),
        ("a 2> f", "+a>f"),
        ("a < f", "+a"),
        ("> f", "->f"),
        ("> f 2>&1", "->f"),
        ("< f", "-"),
        ("a > f b", "+a b>f"),
        ("{ a; } > f; b", "-a>f, +b"),
        ("tee f < g", "+tee f>f"),
        ("echo x | a", "-echo x, +a<"),
        ("printf x | a", "-printf x, +a<"),
        ("yes | a", "-yes, +a<"),
        ("echo $x | a", "-echo $x, +a"),
        ("echo x y{{z}} | a", "-echo x y{{z}}, +a"),
        ("cat f | a", "-cat f, +a"),
        ("{ echo x; } | a", "-echo x, +a"),
        ("echo x | a | b", "-echo x, -a<, +b"),
        ("echo x | cat | a", "-echo x, -cat<, +a<"),
        ("echo x | cat $f | a", "-echo x, -cat $f<, +a"),
        ("echo x | { a; } | b", "-echo x, -a<, +b"),
        ("a <<< x", "+a<"),
        ("a <<< $x", "+a"),
        ("a <<E\n$x\nE", "+a"),
        ("a <<E\n{{x}}\nE", "+a"),
        ("node <<E\nx\nE", "+node -e x\n"),
        ("python3 - <<E\nx\nE", "+python3 -c x\n"),
        ("python3 -u <<E\nx\nE", "+python3 -u -c x\n"),
        ("python3 -mx <<E\nx\nE", "+python3 -mx<"),
        ("python3 ff <<E\nx\nE", "+python3 ff<"),
        ("a <<E\nx\nE\nb", "-a<, +b"),
        ("echo x | { a; b; }", "-echo x, -a<, +b<"),
        ("echo x | X=1", "-echo x, -X=1^<"),
    ]);
}

#[test]
fn deep_scripts_are_followed_to_a_depth() {
    let nested = |depth: usize| format!("{}a{}", "( ".repeat(depth), ")".repeat(depth));
    check(&nested(50), "+a");
    let grouped = |depth: usize| format!("{}a{}", "{ ".repeat(depth), "; }".repeat(depth));
    check(&grouped(60), "+a");
    check(&grouped(61), "-{ a, +}");
    let calls = |count: usize| -> String {
        let chain = (0..count).map(|at| format!("f{at}() {{ f{}; }}; ", at + 1));
        format!("{}f{count}() {{ a; }}; f0", chain.collect::<String>())
    };
    check(&calls(39), "+a");
    check(&calls(40), "");
    let kept = |between: usize| format!("a; rc=$?; {}exit $rc", "b; ".repeat(between));
    assert!(reached(&kept(49)).starts_with("+a"));
    assert!(reached(&kept(50)).starts_with("~a"));
    let piped = follow("a | b | c | d | e | f | g | h | i | j");
    assert_eq!(piped.found[9].feeds.len(), 8);
    check(&format!("{}a", "(true); ".repeat(200)), &format!("{}+a", "-true, ".repeat(200)));
}
