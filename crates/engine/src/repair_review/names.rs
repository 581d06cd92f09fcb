//! The meaning of names of scripts, targets and tasks: `./run-tests.sh` checks, `node scripts/publish.js` publishes.
//!
//! Never reads the files themselves.

use super::{
    checks::CheckKind,
    program::{Call, base_name},
};

/// Programs that run the script that they are given.
const INTERPRETERS: [&str; 18] = [
    "bash", "sh", "zsh", "dash", "ksh", "source", ".", "python", "python3", "node", "nodejs", "ruby", "perl",
    "php", "lua", "Rscript", "ts-node", "tsx",
];

/// Extensions of scripts.
const ENDINGS: [&str; 15] =
    ["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua", "ps1", "R"];

const EFFECTS: [&str; 9] =
    ["deploy", "redeploy", "undeploy", "publish", "push", "release", "ship", "rollout", "upload"];

const CHECKS: [&str; 13] = [
    "test",
    "tests",
    "check",
    "checks",
    "verify",
    "validate",
    "spec",
    "specs",
    "e2e",
    "smoke",
    "selftest",
    "unittest",
    "unittests",
];

const LINTS: [&str; 4] = ["lint", "lints", "typecheck", "linter"];

/// First words of names of scripts that only prepare something.
const MAKERS: [&str; 18] = [
    "setup", "make", "gen", "generate", "create", "install", "prepare", "build", "clean", "start", "stop",
    "update", "fetch", "download", "seed", "mock", "init", "reset",
];

/// Words of names that belong to tests without being a test.
const BESIDE_TESTS: [&str; 13] = [
    "data", "util", "utils", "server", "fixture", "fixtures", "deps", "env", "helper", "helpers", "config",
    "stub", "report",
];

/// First words of names of scripts that verify or prepare an effect: `verify-deploy.sh`, `assembleRelease`.
const BEFORE_EFFECTS: [&str; 14] = [
    "test", "tests", "check", "verify", "validate", "lint", "build", "assemble", "bundle", "compile", "is",
    "draft", "plan", "prepare",
];

/// The words of a name, without its directory and its extension: `deployWeb-prod.sh` has `deploy`, `web` and `prod`.
fn words(name: &str) -> Vec<String> {
    let file = base_name(name);
    let stem = match file.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.contains(&ending) => stem,
        _ => file,
    };
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in stem.chars() {
        let parts = matches!(c, '-' | '_' | ':' | '.' | '+');
        if parts || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !parts) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the name of a script, a target or a task says that it changes the world outside.
pub(super) fn is_named_for_effect(name: &str) -> bool {
    let words = words(name);
    let Some(first) = words.first() else { return false };
    let acts = words.iter().any(|word| EFFECTS.contains(&word.as_str()));
    // `pr` alone is a program that prints
    let asks = words.len() > 1 && words.iter().any(|word| word == "pr");
    let stays = words.iter().any(|word| word == "local");
    (acts || asks) && !stays && !BEFORE_EFFECTS.contains(&first.as_str())
}

/// Whether two names contain the same effect verb.
pub(super) fn share_effect(left: &str, right: &str) -> bool {
    let verbs = |text: &str| -> Vec<String> {
        let all = text.split(' ').flat_map(words);
        all.filter(|word| EFFECTS.contains(&word.as_str())).collect()
    };
    let known = verbs(left);
    verbs(right).iter().any(|verb| known.contains(verb))
}

fn has_ending(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending))
}

/// The script that a command runs: the argument of an interpreter, or the command itself if it is a file.
pub(super) fn script(call: &Call) -> Option<&str> {
    let program = call.words.first()?;
    if is_interpreter(&call.program) {
        if call.inline_code().is_some() || only_reads(call) {
            return None;
        }
        let files = || call.operands().filter(|word| has_ending(word) || word.contains('/'));
        return files().next().or_else(|| call.operands().next());
    }
    (program.contains('/') || has_ending(program)).then_some(program)
}

/// Whether a program only runs scripts.
pub(super) fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program)
}

/// Whether an interpreter checks its script without running it: `bash -n`, `node --check`.
fn only_reads(call: &Call) -> bool {
    let flags = || call.arguments().iter().take_while(|word| word.starts_with('-'));
    let short = |word: &String, flag: char| !word.starts_with("--") && word.contains(flag);
    match call.program.as_str() {
        "bash" | "sh" | "zsh" | "dash" | "ksh" => flags().any(|word| short(word, 'n') || word == "--version"),
        "node" | "nodejs" => flags().any(|word| word == "-c" || word == "--check"),
        "ruby" | "perl" => flags().any(|word| short(word, 'c')),
        "php" => flags().any(|word| word == "-l"),
        _ => false,
    }
}

/// The arguments after the script.
pub(super) fn script_arguments<'c>(call: &'c Call, script: &str) -> &'c [String] {
    let at = call.words.iter().position(|word| word == script);
    at.and_then(|at| call.words.get(at + 1..)).unwrap_or_default()
}

/// The same call without the interpreter before its script.
pub(super) fn without_interpreter(call: &Call) -> Call {
    match script(call) {
        Some(script) => {
            let arguments = script_arguments(call, script).iter().cloned();
            let words = [script.to_owned()].into_iter().chain(arguments).collect();
            Call { program: base_name(script).to_owned(), words }
        }
        None => call.clone(),
    }
}

/// How a script checks, according to its name or its directory.
pub(super) fn check(call: &Call) -> Option<CheckKind> {
    let tests = |word: &String| word == "--test" || word.starts_with("--test-reporter");
    if call.program == "node" && call.arguments().iter().any(tests) {
        return Some(CheckKind::Tests);
    }
    let script = script(call)?;
    let is_file = has_ending(script) || script.contains('/');
    if !is_file || is_named_for_effect(script) || matches!(call.program.as_str(), "source" | ".") {
        return None;
    }
    let words = words(script);
    let (first, last) = (words.first()?.as_str(), words.last()?.as_str());
    let is_beside = |word: &str| MAKERS.contains(&word) || BESIDE_TESTS.contains(&word);
    if MAKERS.contains(&first) || is_beside(last) {
        return None;
    }
    let named = |known: &[&str]| known.contains(&first) || known.contains(&last);
    let dir = script.rsplit('/').nth(1).unwrap_or_default();
    let among_tests = has_ending(script) && matches!(dir, "test" | "tests" | "spec" | "specs" | "e2e");
    if named(&LINTS) {
        Some(CheckKind::Lint)
    } else if named(&CHECKS) || among_tests || (words.len() == 1 && first == "ci") {
        Some(CheckKind::Tests)
    } else {
        None
    }
}
