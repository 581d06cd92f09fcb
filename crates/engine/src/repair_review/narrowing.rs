//! Whether a test runner, a linter or a build still looks at as much, and nothing is left out.
//!
//! Options that leave something out, or that make it stricter, are listed by name. Comparisons are judged elsewhere.

use super::{
    checks::CheckKind,
    commands::{Case, Objection},
    comparisons,
    flow::Found,
    names,
    program::Call,
};

/// Options that make a check pass or look at less.
const WEAKENING: [&str; 67] = [
    "--passWithNoTests",
    "--pass-with-no-tests",
    "-k",
    "--ignore",
    "--deselect",
    "--skip",
    "--no-run",
    "--collect-only",
    "--co",
    "--dry-run",
    "--exit-zero",
    "--no-fail",
    "--allow-empty",
    "--help",
    "--version",
    "-run",
    "--run",
    "-h",
    "--testPathIgnorePatterns",
    "--exclude",
    "--no-error-on-unmatched-pattern",
    "-DskipTests",
    "--fail-never",
    "-fn",
    "-Dmaven.test.skip=true",
    "--ignore-errors",
    "-i",
    "--if-present",
    "--suppress-tests",
    "--lf",
    "--last-failed",
    "--sw",
    "-m",
    "--filter",
    "--grep",
    "--testNamePattern",
    "-t",
    "--only",
    "--list",
    "--just-print",
    "-x",
    "--max-warnings",
    "--changed",
    "--onlyChanged",
    "--findRelatedTests",
    "--silence",
    "--no-strict",
    "--allow-failures",
    "--fix",
    "--write",
    "--updateSnapshot",
    "--update-snapshots",
    "--snapshot-update",
    "--tests",
    "-Dtest",
    "-DskipITs",
    "-DfailIfNoTests",
    "-Dmaven.test.failure.ignore",
    "--tag",
    "--testsuite",
    "--group",
    "--exclude-group",
    "--warn-only",
    "--shard",
    "--only-changed",
    "--since",
    "--stepwise",
];

/// Options that leave something out, by program.
const WEAKENING_OF: [(&str, &[&str]); 11] = [
    ("mocha", &["-g", "-f", "--fgrep"]),
    ("playwright", &["-g", "-u"]),
    ("jest", &["-u", "-o"]),
    ("vitest", &["-u"]),
    ("npm", &["-u", "-g"]),
    ("yarn", &["-u", "-g"]),
    ("pnpm", &["-u", "-g"]),
    ("ctest", &["-R", "-E", "-L", "-LE", "-N"]),
    ("go", &["-short", "-skip", "-c"]),
    ("rspec", &["-e", "--example"]),
    ("cargo", &["--lib", "--bin", "--bins", "--doc", "--test", "--example", "--examples", "--cap-lints"]),
];

/// Options that make a program stricter, by program.
const STRICT_OF: [(&str, &[&str]); 12] = [
    ("cargo", &["-D", "--deny", "-Dwarnings", "--workspace", "--all", "--all-targets", "--all-features"]),
    ("pytest", &["--cov-fail-under", "--strict-markers", "--error-for-skips"]),
    ("eslint", &["--max-warnings"]),
    ("stylelint", &["--max-warnings"]),
    ("mypy", &["--strict"]),
    ("tsc", &["--strict"]),
    ("gcc", &["-Werror"]),
    ("g++", &["-Werror"]),
    ("clang", &["-Werror"]),
    ("clang++", &["-Werror"]),
    ("javac", &["-Werror"]),
    ("go", &["-race"]),
];

/// Options whose value is a place, not a selection.
const PLACES: [&str; 12] = [
    "--manifest-path",
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "--directory",
    "--config",
    "--rootdir",
    "--project",
    "-c",
    "--maxfail",
    "-n",
];

/// Why a check cannot replace another one.
pub(super) fn check_objection(
    case: &Case<'_>,
    old: &Found,
    kind: CheckKind,
    new: &Found,
) -> Option<Objection> {
    if old.negated != new.negated {
        return Some(("check_replaced", format!("`{}` is turned round", new.call.words.join(" "))));
    }
    match kind {
        CheckKind::Compare => comparisons::compare_objection(case, old, new),
        _ => {
            let call = |found: &Found| names::without_interpreter(&found.call);
            runner_objection(case, &call(old), &call(new))
        }
    }
}

fn runner_objection(case: &Case<'_>, old: &Call, new: &Call) -> Option<Objection> {
    let words = new.words.join(" ");
    let weak = new.arguments().iter().find(|word| !old.has(word) && is_weakening(&new.program, word));
    if let Some(option) = weak {
        return Some(("check_narrowed", format!("`{option}` leaves something out of `{words}`")));
    }
    let strict = old.arguments().iter().find(|word| old.program == new.program && is_dropped(old, new, word));
    if let Some(option) = strict {
        return Some(("check_narrowed", format!("`{words}` does without `{option}`")));
    }
    let narrower = if case.role.failed {
        let (before, after) = (targets(old), targets(new));
        let (before, after) =
            (&before[verbs(old).min(before.len())..], &after[verbs(new).min(after.len())..]);
        if old.program == new.program { is_narrower(before, after) } else { after.len() > before.len() }
    } else {
        targets(old) != targets(new)
    };
    narrower.then(|| ("check_narrowed", format!("`{words}` looks at less, or at something else")))
}

fn option_name(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn is_weakening(program: &str, word: &str) -> bool {
    let own = WEAKENING_OF.iter().filter(|(name, _)| *name == program).flat_map(|(_, words)| words.iter());
    let known = own.chain(&WEAKENING).any(|option| *option == word || *option == option_name(word));
    let harmless = matches!(
        (program, word),
        ("make" | "gmake", "-k")
            | ("vitest", "--run")
            | ("pytest" | "py.test", "-x")
            | ("black" | "isort", "-t")
    );
    known && !harmless
}

/// Whether an option that makes a check strict is missing, or has a lower value.
fn is_dropped(old: &Call, new: &Call, word: &str) -> bool {
    let strict =
        STRICT_OF.iter().filter(|(name, _)| *name == old.program).flat_map(|(_, words)| words.iter());
    let is_strict = strict.into_iter().any(|option| *option == option_name(word));
    let value = |word: &str| word.split_once('=').and_then(|(_, value)| value.parse::<f64>().ok());
    let as_high = |other: &String| {
        option_name(other) == option_name(word)
            && value(word).zip(value(other)).is_some_and(|(before, after)| after >= before)
    };
    // two names of the same option
    let other_name = matches!(word, "--all" | "--workspace") && (new.has("--all") || new.has("--workspace"));
    is_strict && !new.has(word) && !other_name && !new.arguments().iter().any(as_high)
}

/// Whether a check looks at everything that another one looked at.
pub(super) fn covers(old: &Call, new: &Call) -> bool {
    if comparisons::family(&old.program) != comparisons::family(&new.program) {
        return false;
    }
    let (before, after) = (targets(old), targets(new));
    let verbs = verbs(old).min(before.len());
    let all = after.len() <= verbs && before[..after.len()] == after[..];
    all || before.iter().all(|target| after.contains(target))
}

/// How many words of a runner name the action, before those that name its targets.
fn verbs(call: &Call) -> usize {
    match call.program.as_str() {
        "cargo" if call.has("nextest") => 2,
        "cargo" | "go" | "npm" | "yarn" | "pnpm" | "bun" | "deno" | "make" | "mvn" | "gradle" | "gradlew"
        | "dotnet" | "just" | "ruff" | "swift" | "mix" | "bazel" | "sbt" | "rake" | "biome"
        | "playwright" => 1,
        _ => 0,
    }
}

/// The action and the targets of a runner.
fn targets(call: &Call) -> Vec<&str> {
    let mut found = Vec::new();
    let mut skip = false;
    // `npm run test` is `npm test`
    let runs = matches!(call.program.as_str(), "npm" | "yarn" | "pnpm" | "bun");
    for word in call.arguments().iter().filter(|word| !runs || word.as_str() != "run") {
        let is_place = PLACES.contains(&word.as_str());
        if !skip && !word.starts_with('-') && word.parse::<f64>().is_err() {
            found.push(word.as_str());
        }
        skip = is_place;
    }
    found
}

fn is_narrower(before: &[&str], after: &[&str]) -> bool {
    if before.is_empty() {
        return !after.is_empty();
    }
    let all = |word: &str| matches!(word, "." | "./..." | "./" | "*" | "all");
    if before.iter().any(|word| all(word)) {
        return !after.is_empty() && !after.iter().any(|word| all(word));
    }
    let below = |inner: &str, outer: &str| {
        let outer = outer.trim_end_matches('/');
        inner.strip_prefix(outer).is_some_and(|rest| rest.len() > 1 && rest.starts_with(['/', ':']))
    };
    let dropped = !after.is_empty() && after.len() < before.len();
    dropped || after.iter().any(|new| before.iter().any(|old| below(new, old)))
}
