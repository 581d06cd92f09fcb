//! Examples say in their first comment how they are run and what they print; here that is read and tried.
//!
//! `#   $ COMMAND` is followed by lines of stdout, in order but not without gaps; `…` stands for anything, and
//! `(exit code N)` says how it ends, if not with 0.
#![expect(clippy::unwrap_used, reason = "an example that cannot be read fails its test")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use testkit::TestEnv;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A world with a copy of the examples.
pub(crate) fn world() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let copied = env.shell(&format!("cp -R '{}' examples", root().join("examples").display()));
    assert_eq!(copied.code, 0, "{}", copied.all());
    env
}

/// The recipe files of a directory of examples.
pub(crate) fn recipes(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(dir)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names
        .filter(|name| name.ends_with(".yaml") && !name.ends_with(".test.yaml"))
        .map(|name| format!("{dir}/{name}"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{dir}");
    files
}

/// A command of a comment, with what it should do.
struct Claim {
    command: String,
    lines: Vec<String>,
    code: i32,
}

fn claims(text: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut open = false;
    for line in text.lines().take_while(|line| line.starts_with('#')) {
        let Some(line) = line.strip_prefix("#   ") else {
            open = false;
            continue;
        };
        if let Some(command) = line.strip_prefix("$ ") {
            claims.push(Claim { command: command.to_owned(), lines: Vec::new(), code: 0 });
            open = true;
        } else if let Some(claim) = claims.last_mut().filter(|_| open) {
            match line.strip_prefix("(exit code ").and_then(|rest| rest.strip_suffix(')')) {
                Some(code) => claim.code = code.parse().unwrap(),
                None => claim.lines.push(line.to_owned()),
            }
        }
    }
    claims
}

/// Whether a line is what was claimed, with `…` for anything.
fn matches(line: &str, claimed: &str) -> bool {
    let mut parts = claimed.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || claimed.ends_with('…')
}

/// RetryCounts everything that the comment of a recipe claims.
pub(crate) fn check(env: &TestEnv, file: &str) {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let claims = claims(&text);
    assert!(!claims.is_empty(), "{file} does not say how it is run");
    for Claim { command, lines, code } in claims {
        let output = env.shell(&format!("recipe-runner-rs() {{ \"$RUNNER\" \"$@\"; }}\n{command}"));
        assert_eq!(output.code, code, "{file}: {command}\n{}", output.all());
        let mut printed = output.stdout.lines();
        for claimed in &lines {
            let found = printed.any(|line| matches(line, claimed));
            assert!(found, "{file}: {command}\nexpected: {claimed}\n{}", output.all());
        }
    }
}
