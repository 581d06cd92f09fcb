//! Hostile bytes for every reader of texts: the kept corpora, changed at random for a bounded time. Longer runs:
//! `just fuzz`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot read its corpus has failed; it says how much it tried"
)]

#[path = "../../../fuzz/bounded.rs"]
mod bounded;
#[path = "../../../fuzz/targets.rs"]
mod targets;

/// Pieces that readers are known to care about.
const WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{#if x}}",
    "{{else}}",
    "{{/if}}",
    "\0",
    "'",
    "\"",
    "$(",
    ")",
    "`",
    "<<E\n",
    "\nE\n",
    "$((",
    "))",
    "${",
    "}",
    "[",
    "]",
    "{",
    ",",
    ": ",
    "\n- ",
    "&a ",
    "*a",
    "<<: ",
    "|\n  ",
    "not in ",
    " and ",
    " or ",
    "==",
    "__",
    "\\",
    "#",
    "\t",
    "ü",
    "steps:\n",
    "  - id: a\n    command: x\n",
    "~",
    "null",
    "1e3",
    "-",
    ".length",
    "[0]",
    "```json\n",
    "```",
];

#[test]
fn recipes() {
    bounded::run("recipe", &["fuzz/corpus/recipe"], WORDS, targets::recipe);
}

#[test]
fn conditions() {
    bounded::run("condition", &["fuzz/corpus/condition"], WORDS, targets::condition);
}

#[test]
fn templates() {
    bounded::run("template", &["fuzz/corpus/template"], WORDS, targets::template);
}

#[test]
fn shell_commands() {
    bounded::run("shell", &["fuzz/corpus/shell"], WORDS, targets::shell);
}

#[test]
fn json_in_text() {
    bounded::run("json", &["fuzz/corpus/json"], WORDS, targets::json);
}

#[test]
fn context_files() {
    bounded::run("document", &["fuzz/corpus/document"], WORDS, targets::document);
}
