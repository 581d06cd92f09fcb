//! What may stand in the place of a command, and what a comparison expects: the fine points of both.

use super::commands::{ANOTHER, FAILED, check_all};

#[test]
fn a_command_has_a_counterpart_of_its_own() {
    check_all(
        FAILED,
        &[
            ("./x > f", "echo a > f", "neutered"),
            ("set -e; pytest a; pytest b", "set -e; pytest c", "check_replaced"),
            ("set -e; pytest; jest", "set -e; npm test", "check_replaced"),
            ("pytest --cov-fail-under=80", "pytest --cov-fail-under=80.0", ""),
            ("curl -f http://h/f", "curl http://h/f", "check_narrowed"),
            ("curl --fail http://h", "curl -f http://h", ""),
        ],
    );
    check_all(
        ANOTHER,
        &[
            ("set -e; git push > log; exit 0", "set -e; echo > log; exit 0", "effect_lost neutered"),
            ("set -e; gradle publish a; gradle publish b", "set -e; gradle publish a", "effect_changed"),
        ],
    );
}

#[test]
fn a_variable_counts_where_a_comparison_reads_it() {
    check_all(
        FAILED,
        &[
            ("E=1; grep $E c", "grep $E c", "expectation_changed"),
            ("E=1; grep a c", "grep a c", ""),
            ("E=1; grep a c", "echo $E; grep a c", ""),
            ("D=1; E=1; grep $E c", "D=1; grep $E c", "expectation_changed"),
            ("grep $EF c", "E=2; grep $EF c", ""),
            ("grep $E_F c", "E=2; grep $E_F c", ""),
            ("grep $E/c f", "E=2; grep $E/c f", "expectation_changed"),
        ],
    );
}

#[test]
fn what_is_expected_is_told_from_where_it_is_looked_for() {
    check_all(
        FAILED,
        &[
            ("awk '/a/{exit 1}' f", "gawk '/a/{exit 1}' f", ""),
            ("awk '/a/{exit 1}' f", "mawk '/b/{exit 1}' f", "expectation_changed"),
            ("cat f | jq -e .a", "cat g | jq -e .a", "expectation_changed"),
            ("cat x | diff a b", "cat y | diff a b", ""),
            ("cat f | diff - g", "cat h | diff - g", "expectation_changed"),
            ("grep a < f 2> e", "grep a < f 2> g", ""),
            ("grep a < f 2> e", "grep a < g 2> e", "expectation_changed"),
            ("python3 -c 'assert a == 1'", "python3 -c 'assert a != 1'", "expectation_changed"),
            ("python3 -c 'assert a == 1'", "python3 -c 'assert a==1'", ""),
            ("python3 -c 'assert a == 12'", "python3 -c 'assert a == (1, 2)'", "expectation_changed"),
        ],
    );
}

#[test]
fn a_grep_looks_for_what_it_did_and_as_strictly() {
    check_all(
        FAILED,
        &[
            ("grep 'a|b' f", "egrep 'a|b' f", "check_narrowed"),
            ("grep 'a|b' f", "rg 'a|b' f", "check_narrowed"),
            ("fgrep a. f", "grep a. f", "check_narrowed"),
            ("grep -- -a f", "grep -- -b f", "expectation_changed"),
            ("grep -f a b", "grep -f c b", "expectation_changed"),
        ],
    );
}

#[test]
fn a_check_is_satisfied_only_through_what_it_looks_at() {
    check_all(
        FAILED,
        &[
            ("pytest f", "echo a > g; pytest f", ""),
            ("pytest ''", "echo a > /x; pytest ''", ""),
            ("test -d d", "./x > d/f; test -d d", ""),
        ],
    );
}
