//! Which changes of a command are refused, for the step that failed and for the other ones.

use engine::{
    knowledge::{Knowledge, UserKnowledge},
    repair_review::{ReviewVerdict, review},
};

use super::{fits, plan, verdict};

/// The step whose command is changed is the one that failed.
pub(super) const FAILED: &str = "s";
/// Another step failed.
pub(super) const ANOTHER: &str = "other";

fn recipe(command: &str) -> String {
    let lines = command.replace('\n', "\n      ");
    format!(
        "name: r\nsteps:\n  - id: other\n    command: ./other.sh known.txt\n    working_dir: place\n  - id: s\n    \
         command: |\n      {lines}\n"
    )
}

pub(super) fn check_all(failed: &str, cases: &[(&str, &str, &str)]) {
    let judge =
        |before: &str, after: &str| verdict(&plan(&recipe(before), 9), &plan(&recipe(after), 9), failed);
    let found =
        cases.iter().map(|(before, after, expected)| (*before, *after, *expected, judge(before, after)));
    let wrong: Vec<_> = found.filter(|(_, _, loss, found)| !fits(found, loss)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_failed_step_can_still_fail_and_still_works() {
    check_all(
        FAILED,
        &[
            ("./x", "true", "neutered"),
            ("./x", "exit 0", "neutered"),
            ("./x", "./x || true", "failure_ignored neutered"),
            ("./x", "./y", ""),
            ("./x", "./x; true", "failure_ignored neutered"),
            ("./x", "cat f", ""),
            ("./x", "./y; cat f", ""),
            ("./x", "./y; echo", "neutered"),
            ("./x", "set -e; ./y; echo", ""),
            ("./x", "./y || exit 1; echo", ""),
            ("./x", "touch f", ""),
            ("set -e; ./x; ./y", "set -e; ./x; true", "neutered"),
            ("set -e; ./x; ./y", "set -e; ./x; echo; ./z", ""),
            ("set -e; ./x; ./y", "set -e; ./x; ./z; echo", ""),
            ("set -e; ./x; ./y", "set -e; ./x; ./y; echo", ""),
            ("./x", "mkdir -p d && touch d/f", ""),
            ("./x", "git --version", "neutered"),
            ("./x", "! ./x", "neutered"),
            ("./x", "if ./x; then exit 1; fi", "neutered"),
            ("./x", "ls", ""),
            ("ls --bogus", "ls", ""),
            ("date --bogus", "date", ""),
            ("date --bogus", "true", "neutered"),
            ("./x", "date", "neutered"),
            ("./x", "pwd", "neutered"),
            ("./x", "ls . || exit 0", "neutered"),
            ("./x", "sleep 1", "neutered"),
            ("echo a > d/f", "true", "neutered"),
            ("echo a > d/f", "mkdir -p d; echo a > d/f", ""),
            ("./x", "cat f; ./y", ""),
            ("./x", "echo a | grep a", "neutered"),
            ("./x", "echo a | ./y", ""),
            ("./x", "cat f | grep a", ""),
            ("./x", "set +e; ./x", "failure_ignored"),
            ("set +e; ./x", "set +e; ./x -v", ""),
            ("set +o errexit; ./x", "set +e; ./x -v", ""),
            ("true", "exit 0", ""),
            ("false", "true", "neutered"),
            ("cat f", "cat g", ""),
            ("cat f", "ls g", ""),
        ],
    );
}

#[test]
fn what_decided_still_decides() {
    check_all(
        FAILED,
        &[
            ("./x; ./y", "./y", ""),
            ("set -e; ./x; ./y", "./y", ""),
            ("set -e; ./x; ./y", "./x; ./y", "failure_ignored"),
            ("./x", "if ./c; then ./x; fi", "guarded"),
            ("if ./c; then ./x; fi", "if ./d; then ./x; fi", ""),
            ("./x", "./x --dry-run", "effect_neutered"),
            ("./x --dry-run", "./x --dry-run a", ""),
            ("./x", "SKIP_ALL=1 ./x", "switch_added"),
            ("SKIP_ALL=1 ./x", "SKIP_ALL=1 ./x a", ""),
            ("SKIP_ALL=1 ./x", "SKIP_ALL=2 ./x", "switch_added"),
            ("./x", "DEBUG=1 ./x", ""),
        ],
    );
}

#[test]
fn a_check_stays_the_check_that_it_was() {
    check_all(
        FAILED,
        &[
            ("grep a f", "rg a f", ""),
            ("grep a f", "grep a f -v", "check_narrowed"),
            ("egrep a f", "grep a f", ""),
            ("zgrep a f", "diff a f", "check_replaced"),
            ("test -f a", "[ -f a ]", ""),
            ("[[ -f a ]]", "[ -f a ]", ""),
            ("[ a == b ]", "[ a = b ]", ""),
            ("[ $a == b ]", "[ $a = b ]", ""),
            ("test -f a", "grep -f a", "check_replaced"),
            ("grep a f", "grep a known.txt", "expectation_changed"),
            ("grep --bogus a f", "grep a known.txt", ""),
            ("grep --bogus a f", "grep a other.txt", "expectation_changed"),
            ("grep --bogus a f", "grep . f", "expectation_changed"),
            ("grep --quiet a f", "grep a known.txt", "expectation_changed"),
            ("grep --qui a f", "grep a known.txt", "expectation_changed"),
            ("grep --bogus a f", "grep -i a f", "check_narrowed"),
            ("grep a known.txt", "grep a f", "expectation_changed"),
            ("grep a f g", "grep a known.txt", "expectation_changed"),
            ("make", "make test", ""),
            ("make", "pytest", ""),
            ("make", "./build.sh", ""),
            ("make", "eslint .", ""),
            ("pytest", "npm test", ""),
            ("pytest", "make", "check_replaced"),
            ("pytest", "eslint .", "check_replaced"),
            ("eslint .", "ruff .", ""),
            ("eslint .", "pytest", "check_replaced"),
            ("eslint .", "make", "check_replaced"),
            ("pytest", "./t.sh", "check_replaced"),
            ("pytest", "! pytest", "check_replaced"),
            ("grep a f", "echo a | grep a f", "neutered self_satisfied"),
            ("echo a | grep a f", "echo a | grep a f -n", ""),
            ("./x", "echo a | ./x", ""),
        ],
    );
}

#[test]
fn an_effect_still_reaches_the_world() {
    check_all(
        FAILED,
        &[
            ("git push", "git push --dry-run", "effect_neutered"),
            ("git push --dry-run", "git push --dry-run origin", ""),
            ("git push origin a", "git push origin b", ""),
            ("git push origin a", "git push /tmp/x a", "effect_neutered"),
            ("git push /srv/x a", "git push /srv/x b", ""),
            ("git push origin a", "git push ./x.yaml a", ""),
            ("git push origin a", "git push ./x.yml a", ""),
            ("git push origin a", "git push http://localhost/x a", "effect_neutered"),
            ("git push", "npm publish", "effect_lost"),
            ("git push; npm publish", "npm publish", "effect_lost"),
            ("./a && git push", "git push", ""),
            ("git push", "git push || true", "failure_ignored neutered"),
            ("git push || true", "git push; true", ""),
            ("git push || true", "true", "effect_lost"),
        ],
    );
}

#[test]
fn what_a_comparison_relies_on_stays() {
    check_all(
        FAILED,
        &[
            ("cd a; grep b c", "cd d; grep b c", "expectation_changed"),
            ("grep b c", "cd d; grep b c", "expectation_changed"),
            ("grep b c", "cd place; grep b c", ""),
            ("grep b c", "cd known.txt; grep b c", "expectation_changed"),
            ("cd a; grep b c", "cd a; grep b c -n", ""),
            ("cd a; ./x", "cd d; ./x", ""),
            ("E=1; grep $E c", "E=2; grep $E c", "expectation_changed"),
            ("E=1; grep $E c", "E=1; grep $E c -n", ""),
            ("E=1; grep $E c", "E=1; D=2; grep $E c", ""),
            ("E=1; grep $E c", "E=1; ./x; grep $E c", ""),
            ("E=1; ./x", "E=2; ./x", ""),
            ("E=1 grep a c", "E=2 grep a c", ""),
        ],
    );
}

#[test]
fn nobody_writes_what_a_check_looks_at() {
    check_all(
        FAILED,
        &[
            ("grep a f", "echo a > f; grep a f", "self_satisfied"),
            ("grep a f", "echo a > ./f; grep a f", "self_satisfied"),
            ("grep a ./f", "echo a > f; grep a ./f", "self_satisfied"),
            ("grep a f", "echo $a > f; grep a f", "self_satisfied"),
            ("grep a f", "echo `a` > f; grep a f", "self_satisfied"),
            ("grep a f", "echo {{a}} > f; grep a f", "self_satisfied"),
            ("grep a f", "echo a > g; grep a f", ""),
            ("echo a > f; grep a f", "echo a > f; grep a f -n", ""),
            ("echo a > f; grep a f", "echo b > f; grep a f -n", "self_satisfied"),
            ("echo a > g; grep a f", "echo a > f; grep a f -n", "self_satisfied"),
            ("grep a f", "touch f; grep a f", "self_satisfied"),
            ("grep a f", "> f; grep a f", "self_satisfied"),
            ("grep a f", "true > f; grep a f", "self_satisfied"),
            ("grep a f", "sed -i s/b/a/ f; grep a f", "self_satisfied"),
            ("grep a f", "sed s/b/a/ f; grep a f", ""),
            ("grep a f", "cat /dev/null > f; grep a f", "self_satisfied"),
            ("grep a f", "cat g > f; grep a f", "self_satisfied"),
            ("grep a f", "echo a | cat > f; grep a f", "self_satisfied"),
            ("grep a f", "echo a | tee f; grep a f", "self_satisfied"),
            ("grep a f", "./x | tee f; grep a f", "self_satisfied"),
            ("grep a f", "cp g f; grep a f", "self_satisfied"),
            ("grep a f", "cp /dev/null f; grep a f", "self_satisfied"),
            ("grep a f", "dd if=/dev/zero of=f; grep a f", "self_satisfied"),
            ("grep a f", "dd if=g of=f; grep a f", "self_satisfied"),
            ("grep a f", "./x > f; grep a f", "self_satisfied"),
            ("./x > f; grep a f", "./x -v > f; grep a f", ""),
            ("./x > f; grep a f", "echo a > f; grep a f", "self_satisfied"),
            ("! grep a f", "rm -f f; ! grep a f", "self_satisfied"),
            ("grep a f", "{ echo a; } > f; grep a f", "self_satisfied"),
            ("grep a f", "exec > f; echo a; grep a f", "self_satisfied"),
            ("diff f g", "cp g f; diff f g", "self_satisfied"),
            ("cat f | grep a", "echo a > f; cat f | grep a", "self_satisfied"),
            ("./x f | grep a", "echo a > f; ./x f | grep a", "self_satisfied"),
            ("pytest f", "echo a > f; pytest f", "self_satisfied"),
            ("pytest d", "echo a > d/f; pytest d", "self_satisfied"),
            ("pytest d", "pytest d > d/log", ""),
            ("cat f; ./x", "echo a > f; cat f; ./x", ""),
        ],
    );
}

#[test]
fn a_step_that_did_not_fail_keeps_its_command() {
    check_all(
        ANOTHER,
        &[
            ("pytest", "pytest -v", ""),
            ("pytest", "pytest a", "check_narrowed"),
            ("pytest", "npm test", "check_replaced"),
            ("pytest", "make", "check_replaced"),
            ("make", "make test", "check_replaced"),
            ("make", "pytest", "check_replaced"),
            ("make", "./build.sh", "check_replaced"),
            ("make; pytest", "pytest", ""),
            ("make && ./x", "make && ./y", "command_replaced"),
            ("make && ./x", "make && ./x a", "command_replaced"),
            ("make && ./x", "make && ./x -v", ""),
            ("make && ./x", "make", "command_replaced"),
            ("make && cat f", "make", ""),
            ("make && ./x --version", "make", ""),
            ("./x", "./y", ""),
            ("grep a f", "grep a known.txt", "expectation_changed"),
            ("git push origin a", "git push origin b", "effect_changed"),
            ("git push", "git push -v", ""),
            ("./x; git push", "./y; git push", ""),
            ("set -e; ./x; git push", "set -e; ./y; git push", "command_replaced"),
            ("cd a; grep b c", "cd d; grep b c", "expectation_changed"),
            ("make all", "make clean", "check_narrowed"),
            ("cargo build", "cargo check", "check_narrowed"),
            ("npm publish", "true", "effect_lost neutered"),
        ],
    );
}

#[test]
fn a_command_that_the_user_knows_to_succeed_is_no_check() {
    let user: UserKnowledge =
        recipe::document::decode("programs: {announce: {is: [constant]}}").unwrap_or_else(|_| panic!("YAML"));
    let knowledge = Knowledge::extended(&user).unwrap_or_default();
    let [before, after] = ["./check.sh", "announce fine"]
        .map(|command| plan(&format!("name: r\nsteps:\n  - {{id: gate, command: {command}}}\n"), 1));
    let verdict = |knowledge: &Knowledge| {
        review(knowledge, &before, &after, "gate").iter().map(|change| change.verdict).max()
    };
    assert_eq!(verdict(&Knowledge::built_in()), Some(ReviewVerdict::Ask));
    assert_eq!(verdict(&knowledge), Some(ReviewVerdict::Refused));
}
