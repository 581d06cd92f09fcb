//! Every shown command exists, and shown output is real output.

use testkit::TestEnv;

use crate::pages::{Block, Page, pages, pages_with_recipes};

/// Makes the program's name work in a shell line, with nothing but its arguments being read.
const PARSED: &str = r#"recipe-runner-rs() { "$RUNNER" "$@" --help >/dev/null || touch refused; }"#;
/// Makes the program's name work in a shell line.
const REAL: &str = r#"recipe-runner-rs() { "$RUNNER" "$@"; }; exec 2>&1"#;

#[test]
fn every_command_exists() {
    let mut count = 0;
    for page in pages() {
        for command in commands(&page) {
            let env = crate::env();
            let output = env.shell(&format!("{PARSED}; {command}"));
            assert!(!env.path("refused").exists(), "{}: {command}\n{}", page.path, output.all());
            count += 1;
        }
    }
    assert!(count >= 30, "{count} commands were found");
}

/// Commands in blocks that are not run, and in the text between blocks.
fn commands(page: &Page) -> Vec<String> {
    let shown =
        |block: &Block| ["console", "sh", "bash"].contains(&block.language.as_str()) && !block.is("run");
    let blocks = page.blocks();
    let lines = blocks.iter().filter(|block| shown(block)).flat_map(|block| lines(&block.text));
    let prose = page.prose();
    let spans = prose.split('`').skip(1).step_by(2).map(str::to_owned);
    let whole = |span: &String| !span.contains(['…', '[', '<', '\n']);
    let ours = |line: &String| {
        let mut words = line.split(' ').skip_while(|word| word.contains('='));
        words.next() == Some("recipe-runner-rs") && words.next().is_some()
    };
    lines.chain(spans.filter(whole)).filter(ours).collect()
}

/// The commands of a block: lines after a prompt if there are prompts, lines that go on being joined.
fn lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let prompts = joined.lines().any(|line| line.starts_with("$ "));
    let line = |line: &str| match prompts {
        true => line.strip_prefix("$ ").map(str::to_owned),
        false => Some(line.to_owned()),
    };
    joined.lines().filter_map(line).collect()
}

#[test]
fn shown_output_is_real_output() {
    let mut count = 0;
    for page in pages_with_recipes() {
        let world = page.world();
        for block in page.blocks().iter().filter(|block| block.is("run")) {
            for (command, expected) in sessions(&block.text) {
                check(&page, block, &world, &command, &expected);
                count += 1;
            }
        }
    }
    assert!(count >= 10, "{count} commands were run");
}

fn sessions(text: &str) -> Vec<(String, String)> {
    let mut sessions: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), sessions.last_mut()) {
            (Some(command), _) => sessions.push((command.to_owned(), String::new())),
            (None, Some((_, expected))) => expected.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    sessions
}

fn check(page: &Page, block: &Block, world: &TestEnv, command: &str, expected: &str) {
    let printed = world.shell(&format!("{REAL}; {command}")).stdout;
    let printed = printed.replace(&*world.dir().to_string_lossy(), "~/project");
    // some machines do not let ordinary users isolate the network
    let printed = printed.strip_prefix("network: not isolated\n").unwrap_or(&printed);
    assert!(
        matches(expected.trim_end(), printed.trim_end()),
        "{}:{}: {command}\n--- shown\n{expected}--- printed\n{printed}",
        page.path,
        block.line
    );
}

/// Whether a text is the shown one; `…` stands for anything.
fn matches(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn an_ellipsis_matches_anything() {
    for (shown, printed, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a…", "abc", true),
        ("a…c", "abc", true),
        ("a…c", "abcd", false),
        ("a…c…e", "abcde", true),
        ("a…x…e", "abcde", false),
    ] {
        assert_eq!(matches(shown, printed), expected, "{shown} {printed}");
    }
}
