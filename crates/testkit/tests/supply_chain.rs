//! What the dependencies may be: the lists of `deny.toml`, checked against `Cargo.lock` and `cargo metadata`, so that
//! they hold wherever the tests run. cargo-deny, where it is installed, looks closer (`just deny`).
#![expect(clippy::unwrap_used, reason = "a test that cannot read the house fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The texts in quotes in a list of a table of `deny.toml`.
fn list(table: &str, name: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let table = text.split(&format!("\n[{table}]\n")).nth(1).unwrap().split("\n[").next().unwrap().to_owned();
    let list = table.split(&format!("\n{name} = [")).nth(1).unwrap().split(']').next().unwrap().to_owned();
    let lines = list.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What `Cargo.lock` says of a field, for every package that has it.
fn locked(field: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let prefix = format!("{field} = \"");
    text.lines().filter_map(|line| line.strip_prefix(&prefix)?.strip_suffix('"')).map(str::to_owned).collect()
}

/// Every package that is built here; without the network, those for other systems may be missing.
fn packages() -> Vec<Value> {
    let rustc = Command::new(env!("CARGO")).arg("-vV").output().unwrap().stdout;
    let about = String::from_utf8(rustc).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    let metadata = |more: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--format-version", "1", "--locked", "--offline"]).args(more);
        let output = cargo.current_dir(root()).output().unwrap();
        output.status.success().then(|| serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let all = metadata(&[]).or_else(|| metadata(&["--filter-platform", &host])).unwrap();
    all["packages"].as_array().unwrap().clone()
}

/// Whether a licence expression can be met with the allowed licences: `OR` needs one side, `AND` both.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim().replace('/', " OR ");
    if let Some((left, right)) = split_outside(&expression, " AND ") {
        return is_met(left, allowed) && is_met(right, allowed);
    }
    if let Some((left, right)) = split_outside(&expression, " OR ") {
        return is_met(left, allowed) || is_met(right, allowed);
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_met(inner, allowed),
        None => allowed.contains(&expression),
    }
}

/// Splits at an operator outside parentheses.
fn split_outside<'a>(expression: &'a str, operator: &str) -> Option<(&'a str, &'a str)> {
    let outside = |at: usize| expression[..at].matches('(').count() == expression[..at].matches(')').count();
    let (at, _) = expression.match_indices(operator).find(|(at, _)| outside(*at))?;
    Some((&expression[..at], &expression[at + operator.len()..]))
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Zlib", true),
        ("(MIT OR Zlib) AND GPL-3.0", false),
        ("MIT WITH exception", false),
        ("", false),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_licence_is_allowed_and_every_allowed_one_is_needed() {
    let allowed = list("licenses", "allow");
    let packages = packages();
    let theirs = || packages.iter().filter(|package| !package["source"].is_null());
    assert!(theirs().count() > 50);
    for package in theirs() {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_met(licence, &allowed), "{} has the licence `{licence}`", package["name"]);
    }
    for licence in &allowed {
        let mentioned =
            |package: &Value| package["license"].as_str().unwrap_or_default().contains(licence.as_str());
        assert!(theirs().any(mentioned), "no dependency has the licence `{licence}`: take it off the list");
    }
}

#[test]
fn nothing_banned_is_locked_and_everything_comes_from_the_registry() {
    let names = locked("name");
    let banned = list("bans", "deny");
    assert!(names.len() > 100 && banned.len() >= 8, "{banned:?}");
    for name in banned {
        assert!(!names.contains(&name), "`{name}` is banned in deny.toml");
    }
    let sources = locked("source");
    assert!(!sources.is_empty() && sources.iter().all(|source| source == CRATES_IO), "{sources:?}");
    assert_eq!(sources.len(), locked("checksum").len(), "every package has a checksum");
}

#[test]
fn no_version_is_left_open() {
    for package in packages().iter().filter(|package| package["source"].is_null()) {
        for dependency in package["dependencies"].as_array().unwrap() {
            let open = dependency["req"] == "*" && dependency["path"].is_null();
            assert!(!open, "{} leaves the version of {} open", package["name"], dependency["name"]);
        }
    }
}
