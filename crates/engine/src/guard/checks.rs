//! Which commands check something: test runners, linters, compilers, and comparisons of files and texts.
//!
//! Known programs count, and scripts that say by their names that they check; any other program of the project itself
//! is nobody's check until the recipe says so.

use super::{names, program::Call};

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

const TESTS: [&str; 27] = [
    "pytest",
    "py.test",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tox",
    "nox",
    "unittest",
    "rspec",
    "minitest",
    "phpunit",
    "ctest",
    "bats",
    "playwright",
    "cypress",
    "ginkgo",
    "behave",
    "karma",
    "tap",
    "nextest",
    "cucumber",
    "pest",
    "gotestsum",
    "busted",
    "prove",
    "trial",
];

const LINTERS: [&str; 32] = [
    "eslint",
    "ruff",
    "flake8",
    "pylint",
    "mypy",
    "pyright",
    "shellcheck",
    "tsc",
    "golangci-lint",
    "staticcheck",
    "hadolint",
    "yamllint",
    "markdownlint",
    "stylelint",
    "rubocop",
    "biome",
    "actionlint",
    "tflint",
    "jsonlint",
    "xmllint",
    "clippy",
    "ktlint",
    "swiftlint",
    "vale",
    "ansible-lint",
    "cargo-deny",
    "semgrep",
    "bandit",
    "oxlint",
    "clang-tidy",
    "cppcheck",
    "vulture",
];

const COMPILERS: [&str; 18] = [
    "rustc", "gcc", "g++", "cc", "c++", "clang", "clang++", "javac", "ninja", "kotlinc", "swiftc", "ghc",
    "scalac", "msbuild", "nvcc", "meson", "make", "gmake",
];

const COMPARES: [&str; 10] = ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "[[", "zgrep"];

/// What a command decides about, if it does: beside the well-known checks also what the shell itself compares, and
/// pieces of code that refuse something.
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

/// What a command checks, if it does.
pub fn kind(call: &Call) -> Option<CheckKind> {
    let program = call.program.as_str();
    let verb = call.verbs().first().copied().unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| call.has(word));
    match program {
        "make" | "gmake" | "just" | "task" if is_test_word(verb) => Some(CheckKind::Tests),
        "make" | "gmake" | "just" | "task" if is_lint_word(verb) => Some(CheckKind::Lint),
        "cargo" => cargo(verb, call),
        "npm" | "yarn" | "pnpm" | "bun" | "deno" => package_script(call),
        "go" => go(verb),
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" | "bazel" | "dotnet" | "swift" | "flutter" | "mix"
        | "rake" => {
            let tests = call.operands().any(|word| is_test_word(word.rsplit(':').next().unwrap_or(word)));
            Some(if tests { CheckKind::Tests } else { CheckKind::Build })
        }
        "cmake" => has(&["--build"]).then_some(CheckKind::Build),
        "black" | "isort" | "prettier" | "rustfmt" | "gofmt" => {
            has(&["--check", "-c", "-l", "--list-different", "--check-only", "-d"]).then_some(CheckKind::Lint)
        }
        "terraform" | "helm" | "nginx" | "docker-compose" => {
            matches!(verb, "validate" | "lint").then_some(CheckKind::Lint)
        }
        "jq" => (has(&["-e", "--exit-status"]) || call.words.len() > 2).then_some(CheckKind::Compare),
        "git" => {
            (verb == "diff" && has(&["--exit-code", "--quiet", "--check"])).then_some(CheckKind::Compare)
        }
        "sha256sum" | "md5sum" | "sha1sum" | "shasum" | "sha512sum" => {
            has(&["-c", "--check"]).then_some(CheckKind::Compare)
        }
        _ if TESTS.contains(&program) => Some(CheckKind::Tests),
        _ if LINTERS.contains(&program) => Some(CheckKind::Lint),
        _ if COMPILERS.contains(&program) => Some(CheckKind::Build),
        _ if COMPARES.contains(&program) => Some(CheckKind::Compare),
        _ => names::check(call),
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
        "test" | "t" | "nextest" => Some(CheckKind::Tests),
        "clippy" | "deny" | "audit" => Some(CheckKind::Lint),
        "fmt" => call.has("--check").then_some(CheckKind::Lint),
        "build" | "check" | "b" | "c" | "doc" => Some(CheckKind::Build),
        _ => None,
    }
}

fn go(verb: &str) -> Option<CheckKind> {
    match verb {
        "test" => Some(CheckKind::Tests),
        "vet" => Some(CheckKind::Lint),
        "build" => Some(CheckKind::Build),
        _ => None,
    }
}

fn package_script(call: &Call) -> Option<CheckKind> {
    let mut operands = call.verbs().into_iter();
    let verb = operands.next()?;
    let script = if matches!(verb, "run" | "run-script") { operands.next()? } else { verb };
    if is_test_word(script) && script != "ci" {
        Some(CheckKind::Tests)
    } else if is_lint_word(script) {
        Some(CheckKind::Lint)
    } else if script.starts_with("build") {
        Some(CheckKind::Build)
    } else {
        None
    }
}
