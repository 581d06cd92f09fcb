//! The README and the book are true: recipes are valid, commands exist, shown output is real,
//! generated parts are up to date, links work.
//!
//! `UPDATE_DOCS=1 cargo test -p recipe-runner-rs --test docs` writes the generated parts again.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot read the pages fails")]

mod claims;
mod commands;
mod generated;
mod links;
mod pages;
mod picture;
mod recipes;

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let env = env();
    let output = env.run(["man", "pages"]);
    assert_eq!(output.code, 0, "{}", output.all());
    for verb in generated::verbs(&env) {
        let page = std::fs::read_to_string(env.path(&format!("pages/recipe-runner-rs-{verb}.1")));
        assert!(page.is_ok_and(|page| page.contains(".SH SYNOPSIS")), "{verb}");
    }
    assert!(env.run(["man"]).stdout.contains(".SH NAME"));
    assert!(env.run(["man", "--output-format", "json"]).json()["page"].is_string());
}

#[test]
fn the_version_begins_with_the_name_and_the_number() {
    let version = env().run(["--version"]).stdout;
    assert!(
        version.starts_with(concat!("recipe-runner-rs ", env!("CARGO_PKG_VERSION")))
            && version.lines().count() == 1,
        "{version}"
    );
}

#[test]
fn the_tested_agent_programs_are_those_that_are_installed_for_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let (script, page) = (read("tools/real-agents.sh"), read("docs/src/agents.md"));
    let line = script.lines().find_map(|line| line.strip_prefix("versions='")).unwrap_or_default();
    let versions: Vec<&str> =
        line.trim_end_matches('\'').split(' ').filter_map(|word| word.rsplit('@').next()).collect();
    assert_eq!(versions.len(), 5, "{line}");
    for version in versions {
        assert!(page.contains(&format!("| {version} |")), "`docs/src/agents.md` does not name {version}");
    }
}
