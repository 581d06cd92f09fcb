//! Trees of scripts: shapes, words, templates, and scripts without a tree.

use super::*;

/// The simple commands of a script, one text for each.
fn commands(script: &str) -> Option<Vec<String>> {
    let list = parse(script)?;
    let texts = list
        .simple_commands()
        .into_iter()
        .map(|words| words.iter().map(ShellWord::text).collect::<Vec<_>>().join(" "));
    Some(texts.collect())
}

#[test]
fn simple_commands_are_found_everywhere() {
    for (script, expected) in [
        ("a 'b c' \"d e\" f\\ g", vec!["a b c d e f g"]),
        ("# git push\necho a#b # c", vec!["echo a#b"]),
        ("cat <<EOF\ngit push\nEOF\nls", vec!["cat", "ls"]),
        ("echo \"x $(git push 'a)b')\" `pwd`", vec!["echo x $(git push 'a)b') `pwd`", "git push a)b", "pwd"]),
        ("a && b || c | d; e &", vec!["a", "b", "c", "d", "e"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("while a; do b; done; for x in $(c); do d; done", vec!["a", "b", "c", "d"]),
        ("case $x in a) b ;; *) c ;; esac", vec!["b", "c"]),
        ("f() { a; }; (b); { c; }", vec!["a", "b", "c"]),
        ("[[ -f a && $b == c ]] && (( n > 1 ))", vec!["[[ -f a && $b == c ]]", "(( n>1 ))"]),
        ("diff <(sort a) b", vec!["diff <( sort a ) b", "sort a"]),
        ("X=1 Y=$(a) b", vec!["b", "a"]),
        ("git push origin {{ branch }} > {{out.dir}}/log", vec!["git push origin {{branch}}"]),
        ("echo \"{{a}} and '{{b}}'\"", vec!["echo {{a}} and '{{b}}'"]),
    ] {
        let found = commands(script);
        let mut expected = expected;
        let mut found = found.unwrap_or_else(|| panic!("{script}"));
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{script}");
    }
}

#[test]
fn a_script_that_bash_would_refuse_has_no_tree() {
    for script in ["if true; then", "echo 'open", "a |", "( a", "{{#if x}}a{{/if}}", "echo $("] {
        assert_eq!(parse(script), None, "{script}");
    }
}

#[test]
fn the_shape_is_the_same_if_only_words_differ() {
    let marks = |script: &str| -> Vec<&'static str> {
        let list = parse(script).unwrap_or_default();
        list.nodes()
            .into_iter()
            .filter_map(|node| match node {
                SyntaxNode::Mark(mark) => Some(mark),
                _ => None,
            })
            .collect()
    };
    assert_eq!(marks("a b > c"), marks("x y > z"));
    for other in ["a b", "a b >> c d", "! a b > c", "a b > c &", "(a b > c)", "a b > c; d", "a b > c || d"] {
        assert_ne!(marks("a b > c"), marks(other), "{other}");
    }
}

#[test]
fn hostile_scripts_take_little_time() {
    let began = std::time::Instant::now();
    for part in [
        "(",
        "((",
        "{ ",
        "if ",
        "$(",
        "\"$(",
        "a || ",
        "a | ",
        "case x in a) ",
        "while ",
        "`",
        "[[ ( ",
        "! ",
        "f() { ",
        "<(",
        "${a:-",
        "$((",
        "a=(",
        " <<E ",
        "{{",
        "\u{E000}",
        "if x; then case x in a) ((",
    ] {
        for count in [3, 7, 9, 40, 3_000] {
            parse(&part.repeat(count));
        }
    }
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn damaged_scripts_never_panic() {
    let seeds = [
        "if ! git push origin {{x}}; then echo \"no $(date)\" >&2; exit 1; fi",
        "case $(cat out.txt) in OK) ;; *) exit 1 ;; esac",
        "cat > f <<'E'\na $(b)\nE\nfor i in 1 2; do f \"$i\" || break; done",
        "[[ $(cat o) =~ ^OK ]] && (( $(wc -l < o) >= 10 ))",
    ];
    let signs: Vec<char> = "()[]{}<>|&;$`\"'\\!*?# \n=aé🦀0".chars().collect();
    let mut state = 88_172_645_463_325_252u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..3_000 {
        let mut script: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..1 + random(5) {
            let at = random(script.len());
            match random(3) {
                0 => drop(script.remove(at)),
                1 => script[at] = signs[random(signs.len())],
                _ => script.insert(at, signs[random(signs.len())]),
            }
        }
        parse(&script.into_iter().collect::<String>());
    }
}
