//! Whether a check still looks at as much, and expects the same.

use super::commands::{ANOTHER, FAILED, check_all};

#[test]
fn no_option_leaves_something_out() {
    check_all(
        FAILED,
        &[
            ("pytest", "pytest -k a", "check_narrowed"),
            ("pytest", "pytest --ignore=a", "check_narrowed"),
            ("pytest -k a", "pytest -k a -v", ""),
            ("pytest", "pytest -v", ""),
            ("make all", "make -k all", ""),
            ("make test", "make -i test", "check_narrowed"),
            ("vitest", "vitest --run", ""),
            ("jest", "jest --run", "check_narrowed"),
            ("vitest", "vitest --changed", "check_narrowed"),
        ],
    );
}

#[test]
fn a_check_is_not_pointed_at_less() {
    check_all(
        FAILED,
        &[
            ("pytest", "pytest a", "check_narrowed"),
            ("pytest a", "pytest", ""),
            ("pytest a b", "pytest a", "check_narrowed"),
            ("pytest a", "pytest b", ""),
            ("pytest a", "pytest a/b", "check_narrowed"),
            ("pytest a/", "pytest a/b", "check_narrowed"),
            ("pytest a", "pytest a/", ""),
            ("pytest a", "pytest ab", ""),
            ("pytest a.py", "pytest a.py::b", "check_narrowed"),
            ("pytest .", "pytest a", "check_narrowed"),
            ("pytest .", "pytest a .", ""),
            ("pytest .", "pytest", ""),
            ("go test ./...", "go test ./a", "check_narrowed"),
            ("cargo test", "cargo test a", "check_narrowed"),
            ("cargo test", "cargo t", ""),
            ("cargo nextest run", "cargo nextest run a", "check_narrowed"),
            ("npm run test", "npm run test a", "check_narrowed"),
            ("npm test", "npm run test", ""),
            ("npm run test", "npm test", ""),
            ("cargo test", "cargo test --manifest-path a", ""),
            ("pytest", "pytest -n 4", ""),
            ("pytest", "npm test", ""),
            ("pytest", "npm test a", "check_narrowed"),
            ("pytest a", "npm test b", ""),
            ("make", "make all", ""),
        ],
    );
    check_all(
        ANOTHER,
        &[
            ("pytest a", "pytest b", "check_narrowed"),
            ("pytest a", "pytest a -v", ""),
            ("pytest -c x", "pytest -c y", ""),
            ("npm test", "npm run test", ""),
            ("just test", "just test run", "check_narrowed"),
        ],
    );
}

#[test]
fn a_comparison_is_as_hard_to_pass() {
    check_all(
        FAILED,
        &[
            ("grep a f", "grep -q a f", ""),
            ("grep a f", "grep -i a f", "check_narrowed"),
            ("grep -i a f", "grep -qi a f", ""),
            ("grep a f", "grep --ignore-case a f", "check_narrowed"),
            ("grep --ignore-case a f", "grep -q --ignore-case a f", ""),
            ("grep a f", "grep --line-buffered a f", ""),
            ("grep a f", "grep vi f", "expectation_changed"),
            ("grep -x a f", "grep a f", "check_narrowed"),
            ("grep -x a f", "grep -xq a f", ""),
            ("rg -w a f", "rg a f", "check_narrowed"),
            ("diff a b", "diff -w a b", "check_narrowed"),
            ("diff a b", "diff -u a b", ""),
            ("diff a b", "diff --ignore-blank-lines a b", "check_narrowed"),
            ("diff -w a b", "diff -w -u a b", ""),
            ("cmp a b", "cmp -n5 a b", "check_narrowed"),
            ("jq -e .a f", "jq .a f", "check_narrowed"),
            ("jq -e .a f", "jq -e -r .a f", ""),
            ("jq .a f", "jq -r .a f", ""),
            ("jq -r .a f", "jq .a f", ""),
            ("git diff --exit-code", "git diff --quiet", "check_narrowed"),
            ("git diff --exit-code", "git diff --exit-code --stat", ""),
            ("git diff --quiet -w", "git diff --quiet", ""),
            ("sha256sum -c f", "sha256sum -c --ignore-missing f", "check_narrowed"),
            ("sha256sum -c f", "sha256sum -c --strict f", ""),
            ("sha256sum -c --quiet f", "sha256sum -c --quiet --strict f", ""),
            ("test -f a", "test -e a", "expectation_changed"),
            ("test -f ./a", "test -f a", ""),
            ("[ $a -gt 3 ]", "[ $a -gt 2 ]", "expectation_changed"),
            ("[ -f a ]", "[[ -f a ]]", ""),
            ("grep a f", "grep b f", "expectation_changed"),
            ("grep == f", "grep = f", "expectation_changed"),
            ("grep a f", "grep a f ]", "expectation_changed"),
            ("! grep a f", "grep a f", "check_replaced"),
        ],
    );
}
