//! Whether a check still checks as much: the same files and texts, and no part left out.
//!
//! Options that leave something out are known by name; names that are corrected have to be in use already.

use super::{
    checks::CheckKind,
    commands::{Case, Objection},
    flow::Found,
    program::Call,
    world,
};

/// Options that make a check pass or look at less.
const WEAKENING: [&str; 48] = [
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
];

/// Options whose value says where, not what.
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

/// Why a check will not do in the place of another.
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
        CheckKind::Compare => compare_objection(case, &old.call, &new.call),
        _ => runner_objection(case, &old.call, &new.call),
    }
}

fn runner_objection(case: &Case<'_>, old: &Call, new: &Call) -> Option<Objection> {
    let words = new.words.join(" ");
    let name = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
    let weak = new.arguments().iter().find(|word| {
        let known = WEAKENING.contains(&word.as_str()) || WEAKENING.contains(&name(word).as_str());
        let harmless = matches!(new.program.as_str(), "make" | "gmake") && word.as_str() == "-k";
        let run = word.as_str() == "--run" && new.program == "vitest";
        known && !old.has(word) && !harmless && !run
    });
    if let Some(option) = weak {
        return Some(("check_narrowed", format!("`{option}` leaves something out of `{words}`")));
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

/// How many words of a runner say what it does, before those that say to what.
fn verbs(call: &Call) -> usize {
    match call.program.as_str() {
        "cargo" if call.has("nextest") => 2,
        "cargo" | "go" | "npm" | "yarn" | "pnpm" | "bun" | "deno" | "make" | "mvn" | "gradle" | "gradlew"
        | "dotnet" | "just" | "ruff" | "swift" | "mix" | "bazel" | "sbt" | "rake" | "biome"
        | "playwright" => 1,
        _ => 0,
    }
}

/// What a runner is told to do, and what it is pointed at.
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

fn compare_objection(case: &Case<'_>, old: &Call, new: &Call) -> Option<Objection> {
    let words = new.words.join(" ");
    if let Some(option) = loosened_option(old, new) {
        return Some(("check_narrowed", format!("`{option}` makes `{words}` easier to pass")));
    }
    let (before, after) = (expectations(old), expectations(new));
    if before == after {
        return None;
    }
    let changed =
        ("expectation_changed", format!("`{words}` expects something else than `{}`", old.words.join(" ")));
    if !case.role.failed || before.len() != after.len() {
        return Some(changed);
    }
    let corrected = before.iter().zip(&after).filter(|(old, new)| old != new).all(|(old, new)| {
        world::mentions(case.unit, case.id, new) && !world::mentions(case.unit, case.id, old)
    });
    (!corrected).then_some(changed)
}

/// What a comparison expects: its operands, and for `test` its operators too.
fn expectations(call: &Call) -> Vec<&str> {
    let is_test = matches!(call.program.as_str(), "test" | "[" | "[[");
    let words = call.arguments().iter().map(String::as_str);
    words
        .filter(|word| !matches!(*word, "]" | "]]"))
        .filter(|word| is_test || !word.starts_with('-'))
        .map(|word| if is_test && word == "==" { "=" } else { word.trim_start_matches("./") })
        .collect()
}

fn loosened_option<'a>(old: &'a Call, new: &'a Call) -> Option<&'a str> {
    let added = |loose: &dyn Fn(&str) -> bool| {
        new.arguments().iter().map(String::as_str).find(|word| loose(word) && !old.has(word))
    };
    match new.program.as_str() {
        "grep" | "egrep" | "fgrep" | "rg" => {
            let has = |call: &Call, letter: char| {
                call.arguments()
                    .iter()
                    .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
            };
            let gained = ['v', 'i', 'L'].iter().any(|letter| has(new, *letter) && !has(old, *letter));
            let lost = ['x', 'w', 'F'].iter().any(|letter| has(old, *letter) && !has(new, *letter));
            let long =
                added(&|word| matches!(word, "--invert-match" | "--ignore-case" | "--files-without-match"));
            long.or_else(|| (gained || lost).then(|| new.words.get(1).map_or("", String::as_str)))
        }
        "diff" | "cmp" => added(&|word| {
            word.contains("ignore")
                || matches!(word, "-w" | "-b" | "-B" | "-i" | "-I")
                || word.starts_with("-n")
        }),
        "jq" => old
            .arguments()
            .iter()
            .map(String::as_str)
            .find(|word| matches!(*word, "-e" | "--exit-status") && !new.has(word)),
        "git" => {
            old.arguments().iter().map(String::as_str).find(|word| word.starts_with("--") && !new.has(word))
        }
        "sha256sum" | "md5sum" | "shasum" => added(&|word| matches!(word, "--ignore-missing" | "--quiet")),
        _ => None,
    }
}
