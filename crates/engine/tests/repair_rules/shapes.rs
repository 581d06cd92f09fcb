//! A check keeps its word, in every shape of a script.

use super::commands::{ANOTHER, FAILED, check_all};

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
