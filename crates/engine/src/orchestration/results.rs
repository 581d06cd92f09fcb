//! Signs of a result in an answer: a path, a diff, a test result, a piece of code or a finding.

use super::{
    answer_text::sentences,
    unreached::is_excuse,
    words::{has, phrase_at, words},
};

/// Whether an answer shows a result.
pub(super) fn has_result(plain: &str) -> bool {
    has_code_block(plain)
        || has_diff(plain)
        || plain.split_whitespace().any(is_reference)
        || has_counted_tests(plain)
        || has_other_test_result(plain)
        || has_place(plain)
        || has_finding(plain)
}

/// Whether a fenced block has content. JSON was replaced by its texts before, so a block with that label is no code.
fn has_code_block(plain: &str) -> bool {
    let mut parts = plain.split("```").skip(1).step_by(2);
    parts.any(|block| {
        let is_json = block.get(..4).is_some_and(|label| label.eq_ignore_ascii_case("json"));
        let content = block.split_once('\n').map_or(block, |(_, content)| content);
        !is_json && !content.trim().is_empty()
    })
}

fn has_diff(plain: &str) -> bool {
    let marks = ["+++ ", "--- a/", "@@ ", "diff --git"];
    plain.lines().any(|line| marks.iter().any(|mark| line.starts_with(mark)))
}

/// Whether a word is a path or a piece of code.
fn is_reference(token: &str) -> bool {
    if token.contains("://") {
        return false;
    }
    let code = token.contains("()") || token.contains("::");
    let word = token.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~' | '_'));
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() || has(&words().not_paths, &bare.to_lowercase()) {
        return false;
    }
    code && token.contains(char::is_alphabetic)
        || is_snake_case(bare)
        || is_slashed_path(word)
        || has_extension(bare)
}

fn is_snake_case(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.contains('_') && word.chars().all(is_name) && word.contains(|c: char| c.is_ascii_lowercase())
}

fn is_slashed_path(word: &str) -> bool {
    if !word.contains('/') {
        return false;
    }
    let lower = word.to_lowercase();
    let known = &words().results;
    let mut parts = lower.split('/').filter(|part| !part.is_empty()).peekable();
    let is_address = parts
        .peek()
        .and_then(|first| first.rsplit_once('.'))
        .is_some_and(|(_, end)| has(&known.domains, end));
    let is_bare = parts.peek().is_none();
    let is_rooted = lower.starts_with(['/', '~']);
    !is_bare && !is_address && (is_rooted || !parts.all(|part| has(&known.slashed, part)))
}

/// Whether a word is the name of a file: a name, a dot and a short extension.
fn has_extension(word: &str) -> bool {
    let word = word.split(':').next().unwrap_or(word);
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let is_extension = (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_lowercase());
    let is_address = has(&words().results.domains, extension);
    !stem.is_empty() && is_extension && !is_address
}

/// `12 passed`, `1 test failed`.
pub(super) fn has_counted_tests(plain: &str) -> bool {
    let lower = plain.to_lowercase();
    let spoken: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
    (0..spoken.len()).filter(|at| is_number(spoken[*at])).any(|at| {
        let rest = &spoken[at + 1..];
        let rest = if matches!(rest.first(), Some(&("test" | "tests"))) { &rest[1..] } else { rest };
        rest.first().is_some_and(|word| has(&words().results.counted, word))
    })
}

/// `all tests pass`, and code at a line or a commit.
fn has_other_test_result(plain: &str) -> bool {
    let lower = plain.to_lowercase();
    let spoken: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != ':').filter(|word| !word.is_empty()).collect();
    (0..spoken.len()).any(|at| phrase_at(&words().results.tests, &spoken[at..]).is_some())
}

/// `line 40`, `commit 3f2a9c1`.
fn has_place(plain: &str) -> bool {
    let lower = plain.to_lowercase();
    let spoken: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_hash = |word: &str| {
        (7..=40).contains(&word.len())
            && word.chars().all(|c| c.is_ascii_hexdigit())
            && word.contains(|c: char| c.is_ascii_digit())
    };
    spoken.windows(2).any(|pair| match pair[0] {
        "line" | "lines" => pair[1].chars().all(|c| c.is_ascii_digit()),
        "commit" => is_hash(pair[1]),
        _ => false,
    })
}

/// A conclusion about something else than the way to the work.
fn has_finding(plain: &str) -> bool {
    let known = &words().results;
    let sentences = sentences(plain);
    sentences.iter().any(|sentence| {
        let sentence: Vec<&str> = sentence.iter().map(String::as_str).collect();
        let parts = sentence.split(|word| matches!(*word, "," | "but" | "so" | "though" | "although"));
        parts.into_iter().any(|part| {
            let joined: Vec<&str> = part.iter().filter(|word| **word != ":").copied().collect();
            let found =
                (0..joined.len()).find_map(|at| Some(at + phrase_at(&known.findings, &joined[at..])?));
            let says = found.is_some_and(|end| end < joined.len() || end > 2);
            says && !is_excuse(part) && !joined.iter().any(|word| has(&known.excuses, word))
        })
    })
}
