//! Hostile bytes for every reader of what a run stored, was configured with, or was told by an agent. Longer runs:
//! `just fuzz`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot read its corpus has failed; it says how much it tried"
)]

#[path = "../../../fuzz/bounded.rs"]
mod bounded;
#[path = "../../../fuzz/run_targets.rs"]
mod run_targets;

/// Pieces of JSON, of journals and of what programs print.
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "\n",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "-1",
    "1e999",
    "0.1",
    "18446744073709551616",
    "\u{feff}",
    "\0",
    "ü",
    "\r\n",
    "{}",
    "[]",
    "\"\"",
    "{\"type\":\"result\"}",
    "\"type\":",
    "\"result\"",
    "\"text\":",
    "\"message\":",
    "\"content\":",
    "\"is_error\":true,",
    "\"usage\":{},",
    "\"session_id\":\"s\",",
    "\"item\":",
    "\"part\":",
    "\"data\":",
    "\"error\":",
    "429",
    "rate limit",
    "401",
    "{\"type\":\"result\",\"result\":\"x\"}\n",
    "\"seq\":",
    "\"attempt\":",
    "\"path\":\"n/k\",",
    "\"path\":\"n\",",
    "\"path\":\"zz\",",
    "4294967295",
    "\"status\":\"failed\"",
    "\"status\":\"completed\"",
    "\"sum\":\"00000000\"",
    "{\"seq\":1,\"at\":\"2026-11-15T11:10:59Z\",\"event\":{\"recipe_entered\":{\"path\":\"n\",\"unit\":\"child.yaml\"}}}\n",
    "{\"seq\":1,\"at\":\"2026-11-15T11:10:59Z\",\"event\":{\"step_started\":{\"path\":\"q\",\"attempt\":1}}}\n",
    "{\"seq\":1,\"at\":\"2026-11-15T11:10:59Z\",\"event\":{\"recipe_stopped\":{\"path\":\"n\",\"error\":\"x\"}}}\n",
    "{\"seq\":1,\"at\":\"2026-11-15T11:10:59Z\",\"event\":{\"step_skipped\":{\"path\":\"n/big\",\"reason\":\"condition\"}}}\n",
    "../outside",
    "inner/x",
    "/etc/hostname",
    "..",
    "\"file\":",
    "\"kind\":\"agent\"",
    "\"name\":\"a\"",
];

/// Pieces of `.env` files, of configurations, and of what agents say.
const TEXT: &[&str] = &[
    "\n",
    "=",
    "\"",
    "'",
    "\\",
    "#",
    " #",
    "export ",
    "A=",
    "B_2=\"",
    "\\n",
    "\\\"",
    "\t",
    "\r\n",
    "ü",
    "\u{a0}",
    "\0",
    "```",
    "````",
    "```yaml\n",
    "```yml\n",
    "~~~",
    "steps:\n",
    "name: x\n",
    "extends: y\n",
    "  - id: a\n",
    "STATUS: COMPLETE\n",
    "UNRECOVERABLE",
    "unrecoverable: ",
    "recovered",
    "not ",
    "RECOVERED.",
    "ß",
    "ı",
    "ſ",
    "\u{2019}",
    "never",
    "if ",
    "agents:\n",
    "- name: a\n",
    "  args: [",
    "]",
    "{",
    "}",
    "{{",
    "}}",
    "{prompt}",
    "{prompt_file}",
    "{answer_file}",
    "{options}",
    "{model}",
    "{cwd}",
    "{session}",
    "{system_prompt}",
    "  prompt: file\n",
    "  prompt: argument\n",
    "  answer: file\n",
    "  answer: {json: a.b}\n",
    "  answer: {events: {match: {type: result}, path: a.0}}\n",
    "  command: ./x\n",
    "  env: {A: b}\n",
    "agent: x\n",
    "&a ",
    "*a",
    ": ",
    ", ",
];

#[test]
fn the_kept_journals_are_good() {
    for name in ["golden", "events"] {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal").join(name);
        let records = runtime::store::journal::read(&path).unwrap();
        assert!(records.len() >= 12, "{name}: {}", records.len());
    }
}

#[test]
fn journals() {
    bounded::run("journal", &["fuzz/corpus/journal"], JSON, run_targets::journal);
}

#[test]
fn headers_and_reports() {
    bounded::run("header", &["fuzz/corpus/header"], JSON, run_targets::header);
}

#[test]
fn indexes_of_sources() {
    bounded::run("index", &["fuzz/corpus/index"], JSON, run_targets::index);
}

#[test]
fn streams_of_agent_programs() {
    let folders = ["fuzz/corpus/stream", "crates/runtime/tests/transcripts"];
    bounded::run("stream", &folders, JSON, run_targets::stream);
}

#[test]
fn dotenv_files() {
    bounded::run("dotenv", &["fuzz/corpus/dotenv"], TEXT, run_targets::dotenv);
}

#[test]
fn configurations_of_agents() {
    bounded::run("configuration", &["fuzz/corpus/configuration"], TEXT, run_targets::configuration);
}

#[test]
fn repaired_recipes_in_answers() {
    bounded::run("answer", &["fuzz/corpus/answer"], TEXT, run_targets::answer);
}

#[test]
fn verdicts_on_recoveries() {
    bounded::run("verdict", &["fuzz/corpus/verdict"], TEXT, run_targets::verdict);
}
