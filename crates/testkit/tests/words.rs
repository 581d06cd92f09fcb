//! The words of comments, messages and documentation: plain English, and one word for each thing.

use testkit::project::{documents, sources};

/// Words that hide who does something or what it is about. Name the program, the step or the person instead.
const RIDDLES: &[&str] = &["nobody", "somebody", "whoever", "mend", "mends", "mended", "all the same"];
/// Words that have a better form: `sub-recipe`, `inside`, `outside`.
const REPLACED: &[&str] = &["nested recipe", "nested recipes", "inside of", "outside of"];

/// Tests whose comments are checked too.
const TESTS: &[&str] = &["crates/cli/tests/", "crates/recipe/"];

/// The words of a text in lower case, each between spaces.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// The comments of a file. Doc comments of the syntax are left out: they are the text of the reference.
fn comments(path: &str, text: &str) -> String {
    let is_reference = path.starts_with("crates/recipe/src/syntax/");
    let comment = |line: &str| match line.trim_start() {
        line if line.starts_with("/// ") && is_reference => None,
        line if line.starts_with("//") => Some(line.to_owned()),
        line => line.rsplit_once(" // ").map(|(_, comment)| comment.to_owned()),
    };
    text.lines().filter_map(comment).collect::<Vec<_>>().join(" ")
}

/// The string literals of a file, without its tests. A `"` inside a raw string ends the literal early, which is
/// harmless: the words are the same.
fn literals(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut literals = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.replace("\\\"", "");
        literals.extend(line.split('"').skip(1).step_by(2).flat_map(|literal| [literal, "\n"]));
    }
    literals
}

/// The prose of a Markdown file: without code blocks and code in lines.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    };
    let lines: Vec<&str> = text.lines().filter(is_prose).collect();
    lines.join("\n").split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The banned words in a text, each with the path.
fn found(path: &str, text: &str, banned: &[&str]) -> Vec<String> {
    let words = words(text);
    let used = banned.iter().filter(|word| words.contains(&format!(" {word} ")));
    used.map(|word| format!("{path}: {word}")).collect()
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.split('/').nth(2) == Some("src") && !path.contains("/tests")
}

#[test]
fn comments_use_plain_words() {
    let files = sources();
    let is_checked = |path: &str| is_source(path) || TESTS.iter().any(|tests| path.starts_with(tests));
    let found: Vec<String> = files
        .iter()
        .filter(|(path, _)| is_checked(path))
        .flat_map(|(path, text)| found(path, &comments(path, text), RIDDLES))
        .collect();
    assert!(found.is_empty(), "say it in plain words: {found:#?}");
    let text = comments("a.rs", "let a = 1; // Mended, all\n    /// the same");
    assert_eq!(words(&text), " mended all the same ", "comments are read across lines");
}

#[test]
fn messages_use_plain_words() {
    let banned = [RIDDLES, REPLACED].concat();
    let files = sources();
    let found: Vec<String> = files
        .iter()
        .filter(|(path, _)| is_source(path))
        .flat_map(|(path, text)| found(path, &literals(text), &banned))
        .collect();
    assert!(found.is_empty(), "say it in plain words: {found:#?}");
    let text = "// \"a\"\nlet b = (\"c \\\"d\\\"\", \"e\");\n#[cfg(test)]\nmod tests {\n\"f\"}";
    assert_eq!(words(&literals(text)), " c d e ");
}

#[test]
fn documents_use_plain_words() {
    let banned = [RIDDLES, REPLACED].concat();
    let files = documents();
    assert!(files.contains_key("docs/src/running.md"), "the book is read");
    let found: Vec<String> =
        files.iter().flat_map(|(path, text)| found(path, &prose(text), &banned)).collect();
    assert!(found.is_empty(), "say it in plain words: {found:#?}");
    assert_eq!(words(&prose("a `b` c\n```sh\nd\n```\ne")), " a c e ");
}
