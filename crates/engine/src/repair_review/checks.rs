//! Which commands check something: test runners, linters, compilers, and comparisons of files and texts.
//!
//! Known programs count, and scripts whose names say that they check. Any other program of the project is not a check
//! until the recipe says so.

use super::{
    check_names::{COMPARES, COMPILERS, LINTERS, OPTIONS, TESTS, VERBS},
    contained::contained,
    flow::{Found, Level, follow},
    names,
    program::{Call, base_name},
};

/// How a command checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// It runs tests.
    Tests,
    /// It looks for mistakes in sources.
    Lint,
    /// It builds.
    Build,
    /// It compares files, texts or numbers.
    Compare,
}

/// What a command decides about, if anything: besides the well-known checks also pieces of code that refuse something,
/// and calculations.
pub(super) fn judged(call: &Call) -> Option<CheckKind> {
    let refuses = |code: &str| {
        ["assert", "exit(", "raise", "throw", "die", "exit ", "abort"].iter().any(|word| code.contains(word))
    };
    let compares = match call.program.as_str() {
        "((" | "let" | "case" | "expr" => true,
        "awk" | "gawk" | "mawk" => call.operands().next().is_some_and(|code| code.contains("exit")),
        "python" | "python3" | "node" | "perl" | "ruby" | "php" => call.inline_code().is_some_and(refuses),
        _ => false,
    };
    kind(call).or(compares.then_some(CheckKind::Compare))
}

/// How a command checks, if it does.
pub fn kind(call: &Call) -> Option<CheckKind> {
    let verb = call.verbs().first().copied().unwrap_or_default();
    let found = match call.program.as_str() {
        "make" | "gmake" | "just" | "task" | "ninja" if is_test_word(verb) => Some(CheckKind::Tests),
        "make" | "gmake" | "just" | "task" | "ninja" if is_lint_word(verb) => Some(CheckKind::Lint),
        "meson" if verb == "test" => Some(CheckKind::Tests),
        "cargo" => cargo(verb, call),
        "go" => go(verb, call),
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" | "bazel" | "bazelisk" | "dotnet" | "swift"
        | "flutter" | "mix" | "rake" => {
            let tests = call.operands().any(|word| is_test_word(word.rsplit(':').next().unwrap_or(word)));
            Some(if tests { CheckKind::Tests } else { CheckKind::Build })
        }
        "cmake" => call.has("--build").then_some(CheckKind::Build),
        "jq" => {
            let asks = call.has("-e") || call.has("--exit-status") || call.words.len() > 2;
            asks.then_some(CheckKind::Compare)
        }
        "git" => git(verb, call).then_some(CheckKind::Compare),
        "((" => is_comparison(&call.words).then_some(CheckKind::Compare),
        "expr" => expr_compares(call).then_some(CheckKind::Compare),
        "case" => Some(CheckKind::Compare),
        "bash" | "sh" | "zsh" | "php" | "node" | "python" | "python3" | "ruby" | "perl" => given_script(call),
        program => by_name(program),
    };
    found
        .or_else(|| by_verb(call))
        .or_else(|| package_script(call))
        .or_else(|| inside(call))
        .or_else(|| names::check(call))
}

fn by_name(program: &str) -> Option<CheckKind> {
    let tables = [
        (TESTS, CheckKind::Tests),
        (LINTERS, CheckKind::Lint),
        (COMPILERS, CheckKind::Build),
        (COMPARES, CheckKind::Compare),
    ];
    let knows = |names: &str| names.split_whitespace().any(|name| name == program);
    tables.iter().find(|(names, _)| knows(names)).map(|(_, kind)| *kind)
}

/// How a program checks with its verb or option.
fn by_verb(call: &Call) -> Option<CheckKind> {
    let verbs = call.verbs();
    let said = |verb: &&str| match verb.split_once(' ') {
        Some((first, second)) => verbs.len() > 1 && verbs[0] == first && verbs[1] == second,
        None => verbs.first() == Some(verb),
    };
    let own = |name: &str| name == call.program;
    let told = VERBS.iter().filter(|(name, ..)| own(name)).find(|(_, verbs, _)| verbs.iter().any(said));
    let given = || {
        let has = |options: &[&str]| options.iter().any(|option| has_option(call, option));
        OPTIONS.iter().filter(|(name, ..)| own(name)).find(|(_, options, _)| has(options))
    };
    told.or_else(given).map(|(_, _, kind)| *kind)
}

/// Whether an option is given, by itself or with a value.
fn has_option(call: &Call, option: &str) -> bool {
    let valued = |word: &String| option.starts_with("--") && word.split('=').next() == Some(option);
    call.arguments().iter().any(|word| word == option || valued(word))
}

/// A script of a well-known name under any interpreter: `python manage.py test`, `php vendor/bin/phpunit`.
fn given_script(call: &Call) -> Option<CheckKind> {
    if call.inline_code().is_some() {
        return None;
    }
    let at = call.words.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    let words = call.words[at..].to_vec();
    let script = Call { program: base_name(&words[0]).to_owned(), words };
    // a script may have the name of a builtin
    by_verb(&script).or_else(|| by_name(&script.program).filter(|kind| *kind != CheckKind::Compare))
}

/// How a command in a container checks.
fn inside(call: &Call) -> Option<CheckKind> {
    let inner = contained(call)?;
    let Some(script) = inner.script() else { return kind(&inner) };
    let flow = follow(&script);
    let decides = |found: &&Found| found.level == Level::Counts && !found.call.is_constant();
    flow.found.iter().rev().find(decides).and_then(|found| kind(&found.call))
}

/// Whether a calculation only compares, and changes no variable.
fn is_comparison(words: &[String]) -> bool {
    let text = words.get(1).map(String::as_str).unwrap_or_default();
    let plain = ["==", "!=", "<=", ">="].iter().fold(text.to_owned(), |text, sign| text.replace(sign, " "));
    !["=", "++", "--"].iter().any(|sign| plain.contains(sign))
}

/// Whether `expr` compares, and does not count.
fn expr_compares(call: &Call) -> bool {
    const SIGNS: [&str; 10] = ["=", "==", "!=", "<", "<=", ">", ">=", ":", "|", "&"];
    call.arguments().iter().any(|word| SIGNS.contains(&word.as_str()) || word == "match")
}

fn git(verb: &str, call: &Call) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| call.has(word));
    match verb {
        "diff" | "diff-index" | "diff-files" | "diff-tree" => has(&["--exit-code", "--quiet", "--check"]),
        "merge-base" => has(&["--is-ancestor"]),
        "ls-files" => has(&["--error-unmatch"]),
        "show-ref" | "rev-parse" => has(&["--verify", "--exists"]),
        _ => false,
    }
}

fn is_test_word(word: &str) -> bool {
    ["test", "tests", "check", "verify", "spec", "e2e", "t", "ci"].iter().any(|known| {
        word == *known || word.starts_with(&format!("{known}:")) || word.starts_with(&format!("{known}-"))
    })
}

fn is_lint_word(word: &str) -> bool {
    word.starts_with("lint")
        || word.starts_with("typecheck")
        || word.starts_with("type-check")
        || word == "vet"
}

fn cargo(verb: &str, call: &Call) -> Option<CheckKind> {
    match verb {
        "test" | "t" | "nextest" | "tarpaulin" | "llvm-cov" | "miri" | "mutants" | "insta" => {
            Some(CheckKind::Tests)
        }
        "clippy" | "deny" | "audit" | "machete" | "udeps" | "semver-checks" | "vet" | "spellcheck" => {
            Some(CheckKind::Lint)
        }
        "fmt" | "sort" => call.has("--check").then_some(CheckKind::Lint),
        "build" | "check" | "b" | "c" | "doc" | "hack" => Some(CheckKind::Build),
        _ => None,
    }
}

fn go(verb: &str, call: &Call) -> Option<CheckKind> {
    match verb {
        "test" => Some(CheckKind::Tests),
        "vet" => Some(CheckKind::Lint),
        "build" => Some(CheckKind::Build),
        "mod" => call.has("verify").then_some(CheckKind::Lint),
        _ => None,
    }
}

/// Programs whose `run` runs a script of the project by name.
const SCRIPT_RUNNERS: [&str; 15] = [
    "npm", "yarn", "pnpm", "bun", "deno", "composer", "hatch", "pdm", "pixi", "devbox", "poetry", "turbo",
    "lerna", "rush", "poe",
];

fn package_script(call: &Call) -> Option<CheckKind> {
    if !SCRIPT_RUNNERS.contains(&call.program.as_str()) {
        return None;
    }
    let mut operands = call.verbs().into_iter();
    let verb = operands.next()?;
    let runs = matches!(verb, "run" | "run-script" | "task" | "workspace" | "workspaces");
    let script = if runs { operands.next()? } else { verb };
    if is_test_word(script) && script != "ci" {
        Some(CheckKind::Tests)
    } else if is_lint_word(script) || (!runs && script == "audit") || (script == "fmt" && call.has("--check"))
    {
        Some(CheckKind::Lint)
    } else if script.starts_with("build") {
        Some(CheckKind::Build)
    } else {
        None
    }
}
