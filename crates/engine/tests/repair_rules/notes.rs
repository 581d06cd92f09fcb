//! Failures that are written down before a script ends with them, and ends that only a success avoids.

use super::{
    commands::{ANOTHER, FAILED, check_all},
    flows,
};

#[test]
fn a_failure_that_is_written_down_may_count_later() {
    flows::check_all(&[
        ("a || f=1; exit $f", "~a, -f=1^?, +exit $f"),
        ("a || f=0; exit $f", "-a, -f=0^?, +exit $f"),
        ("a || f=; exit $f", "-a, -f=^?, +exit $f"),
        ("a || g=1; exit $f", "-a, -g=1^?, +exit $f"),
        ("a || f=1; exit 0", "-a, -f=1^?, +exit 0"),
        ("a || f=1; b", "-a, -f=1^?, +b"),
        ("a && b || f=1; exit $f", "~a, ~b, -f=1^?, +exit $f"),
        ("a | b; exit ${PIPESTATUS[0]}", "~a, ~b, +exit ${PIPESTATUS[0]}"),
        ("a | b | c; exit ${PIPESTATUS[1]}", "-a, ~b, ~c, +exit ${PIPESTATUS[1]}"),
        ("a | b; exit 0", "-a, -b, +exit 0"),
        ("if a; then b; else f=1; fi; exit $f", "~a, ~b?, -f=1^?, +exit $f"),
        ("if ! a; then f=1; fi; exit $f", "~a, -f=1^?, +exit $f"),
        ("if a; then f=1; fi; exit $f", "~a!, -f=1^?, +exit $f"),
        ("x=$((i + 1)); a", "-x=$((i + 1))^, +a"),
        ("x=$(( $(b) + 1 )); a", "-b, -x=$(( $(b) + 1 ))^, +a"),
        ("x=$((b) | (c)); a", "-b, -c, -x=$((b) | (c))^, +a"),
    ]);
}

#[test]
fn what_only_a_success_avoids_counts() {
    flows::check_all(&[
        ("if a; then exit 0; fi; exit 1", "+a, -exit 0?, +exit 1?"),
        ("if a; then exit 0; fi; exit 0", "-a, -exit 0?, +exit 0?"),
        ("if a; then exit 0; fi; b", "-a, -exit 0?, +b?"),
        ("if a; then exit 0; fi; b && exit 0; exit 1", "~a, -exit 0?, +b?, -exit 0?, +exit 1?"),
        ("a && exit 0; exit 1", "+a, -exit 0?, +exit 1?"),
        ("a && exit 0; exit 0", "-a, -exit 0?, +exit 0?"),
        ("a && exit 0; b; exit 1", "+a, -exit 0?, -b?, +exit 1?"),
        ("! a && exit 0; exit 1", "+a!, -exit 0?, +exit 1?"),
        ("if ! a; then exit 0; fi; exit 1", "+a!, -exit 0?, +exit 1?"),
        ("for i in 1 2; do a && exit 0; sleep 1; done; exit 1", "~a?, -exit 0?, -sleep 1?, +exit 1?"),
        ("for i in 1 2; do a && exit 0; exit 0; done; exit 1", "-a?, -exit 0?, -exit 0?, +exit 1?"),
        ("a && b || (echo no && false)", "+a, +b, +echo no?, +false?"),
        ("a || (echo no && true)", "-a, +echo no?, +true?"),
    ]);
}

#[test]
fn a_check_keeps_its_word() {
    check_all(
        FAILED,
        &[
            ("pytest", "if pytest; then exit 0; fi; exit 1", ""),
            ("pytest", "if pytest; then exit 0; fi; exit 0", "failure_ignored neutered"),
            ("pytest", "pytest && exit 0; exit 1", ""),
            ("pytest", "! pytest && exit 0; exit 1", "check_replaced"),
            ("pytest", "f=0; pytest || f=1; exit $f", "failure_ignored"),
            ("pytest", "f=0; pytest || f=1; exit 0", "failure_ignored neutered"),
            ("nginx -t", "nginx -v", "check_replaced"),
            ("yq -e .a f", "yq .a f", "check_replaced"),
        ],
    );
    check_all(
        ANOTHER,
        &[
            ("git push", "! git push", "effect_neutered"),
            ("git push", "if git push; then false; fi", "effect_neutered"),
            ("git push", "if ! git push; then exit 1; fi", ""),
            ("git push", "if git push; then exit 0; fi; exit 1", ""),
            ("! git push", "git push", ""),
        ],
    );
}
