//! The parser of shell commands: what is reached, what counts, and what only looks like a command.

use super::{
    effects,
    flow::{Level, Status, follow},
    words::{Token, tokens},
};

mod tables;

fn words(text: &str) -> Vec<String> {
    let words = tokens(text).into_iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.text),
        _ => None,
    });
    words.collect()
}

#[test]
fn words_lose_their_quotes() {
    for (text, expected) in [
        ("a 'b c' \"d e\" f\\ g", vec!["a", "b c", "d e", "f g"]),
        ("echo a#b # c d", vec!["echo", "a#b"]),
        ("cat <<EOF\ngit push\nEOF\nls", vec!["cat", "ls"]),
        ("cat <<-'E' > f\n\tx\n\tE\nls", vec!["cat", "f", "ls"]),
        ("echo $(git push 'a)b') x", vec!["echo", "$(git push 'a)b')", "x"]),
        ("echo {{ name }}s", vec!["echo", "{{name}}s"]),
        ("a=(1 2) b", vec!["a=(1 2)", "b"]),
        ("echo 2>&1 >out", vec!["echo", "1", "out"]),
        ("x\\\ny", vec!["xy"]),
        ("'unclosed", vec!["unclosed"]),
        ("$(", vec!["$("]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

fn check_push(text: &str, expected: Option<(Level, bool)>) {
    let flow = follow(text);
    let push = flow.found.iter().find(|found| effects::effect(&found.call).as_deref() == Some("git push"));
    assert_eq!(push.map(|found| (found.level, found.guarded)), expected, "{text}");
}

#[test]
fn pushes_that_count() {
    for text in [
        "git push",
        "set -e\ngit push\necho done",
        "git add -A && git push",
        "cd app; git push",
        "bash -c 'git push'",
        "(cd app && git push)",
        "push() { git push; }; push",
        "if ! git push; then echo no; exit 1; fi",
        "git push || { echo no; exit 1; }",
        "sudo -u me env A=b timeout 10 git push",
        "echo x | git push",
        "if true; then git push; fi",
        "{ git push; }",
        "false || git push",
    ] {
        check_push(text, Some((Level::Counts, false)));
    }
}

#[test]
fn pushes_that_do_not_count() {
    for text in [
        "git push || true",
        "git push || :",
        "git push; true",
        "git push\nexit 0",
        "git push || echo failed",
        "git push | cat",
        "git push &",
        "set +e; git push; echo",
        "if git push; then :; fi",
        "timeout 1 git push || true",
        "bash -c 'git push || true'",
        "trap 'exit 0' EXIT; git push",
        "git push || cat log",
    ] {
        check_push(text, Some((Level::Ignored, false)));
    }
}

#[test]
fn pushes_that_are_none() {
    for text in [
        "# git push",
        "echo 'git push'",
        "cat <<EOF\ngit push\nEOF",
        "exit 0; git push",
        "true || git push",
        "false && git push",
        "if false; then git push; fi",
        "push() { git push; }",
        "echo git push",
        ": git push",
        "for x in; do git push; done",
        "while false; do git push; done",
    ] {
        check_push(text, None);
    }
}

#[test]
fn what_is_known_before_a_run() {
    for (text, expected) in [
        ("", Status::Ok),
        ("true", Status::Ok),
        ("false", Status::Fail),
        ("exit 0", Status::Exit(Some(true))),
        ("echo a; exit 3", Status::Exit(Some(false))),
        ("./x || true", Status::Ok),
        ("[ 1 = 1 ]", Status::Ok),
        ("[ 1 = 2 ]", Status::Fail),
        ("! true", Status::Fail),
        ("./x", Status::Unknown),
        ("test -d /", Status::Ok),
        ("diff a a", Status::Ok),
        ("diff a b", Status::Unknown),
        ("python3 -c 'print(1)'", Status::Ok),
    ] {
        assert_eq!(follow(text).status, expected, "{text}");
    }
}

#[test]
fn hostile_commands_are_read_in_linear_time() {
    for text in [
        "$(".repeat(50_000),
        "\"$(".repeat(50_000),
        "{ ".repeat(50_000),
        "if ".repeat(50_000),
        "(".repeat(50_000),
        "a || ".repeat(50_000),
        "f() { f; f; }; f".repeat(2_000),
        "{{".repeat(50_000),
        "<<E ".repeat(20_000),
        "case x in ".repeat(20_000),
        "true\n".repeat(50_000),
        "true &\n".repeat(50_000),
    ] {
        follow(&text);
    }
}
