//! How a command is taken apart: words, what stands around them, and the program that is really meant.

use engine::repair_review::{
    checks,
    effects::{effect, rehearses},
    flow::follow,
    program::Call,
    words::{Token, tokens},
};

/// Words as they are, `;` and the like as they are, redirections with `=`, texts of heredocs with `:`; a word that
/// is only known when it runs has a `$` in front.
fn told(token: Token) -> String {
    match token {
        Token::Word(word) if word.expands => format!("${}", word.text),
        Token::Word(word) => word.text,
        Token::Operator(operator) => operator.to_owned(),
        Token::Redirect(operator) => format!("={operator}"),
        Token::Heredoc(body) => format!(":{body}"),
        Token::Newline => "⏎".to_owned(),
    }
}

#[test]
fn commands_are_taken_apart() {
    for (text, expected) in [
        ("a\tb  c", "a|b|c"),
        ("a;b;;c&d&&e|f||g|&h", "a|;|b|;;|c|&|d|&&|e|||f||||g|||h"),
        ("(a)", "(|a|)"),
        ("a #b;c\nd", "a|⏎|d"),
        ("#b", ""),
        ("a\\\n b", "a|b"),
        ("a \\\nb", "a|b"),
        ("a\\ b \\; c", "a b|;|c"),
        ("a\\", "a"),
        ("'a;b' \"c|d\" 'e'\"f\"g", "a;b|c|d|efg"),
        ("''", ""),
        ("\"a\\$b\\`c\\\\d\"", "a$b`c\\d"),
        ("\"a\\nb\"", "a\\nb"),
        ("\"unclosed", "unclosed"),
        ("\"a$b\" \"`c`\"", "$a$b|$`c`"),
        ("$a $_ $1 $? $@ $* $# $! $-", "$$a|$$_|$$1|$$?|$$@|$$*|$$#|$$!|$$-"),
        ("$ a$ $, $\"b\"", "$|a$|$,|$b"),
        ("${a} ${a:-'}'} b", "$${a}|$${a:-'}'}|b"),
        ("${a:-\"}\"} b", "$${a:-\"}\"}|b"),
        ("${a:-\\}} b", "$${a:-\\}}|b"),
        ("${a:-${b}} c", "$${a:-${b}}|c"),
        ("$(a \")\" b) c", "$$(a \")\" b)|c"),
        ("$(a \"\\\")\" b) c", "$$(a \"\\\")\" b)|c"),
        ("$(a \"$(b \")\")\" c) d", "$$(a \"$(b \")\")\" c)|d"),
        ("$(a \"$b)\" c) d", "$$(a \"$b)\" c)|d"),
        ("$(a \"$b\" c) d", "$$(a \"$b\" c)|d"),
        ("$(a (b) c) d", "$$(a (b) c)|d"),
        ("$(a \\) b) c", "$$(a \\) b)|c"),
        ("`a \\` b` c", "$`a \\` b`|c"),
        ("`a", "$`a"),
        ("`a\\", "$`a\\"),
        ("$(a\\", "$$(a\\"),
        ("${{ x }} y", "$${{x}}|y"),
        ("\"$'a\" b", "$'a|b"),
        ("$(a", "$$(a"),
        ("$'a b' c", "a b|c"),
        ("a{{ b }}c d", "$a{{b}}c|d"),
        ("\"{{ b }} c\"", "${{b}} c"),
        ("{{ b", "{{|b"),
        ("a {b} {{c}}", "a|{b}|${{c}}"),
        ("\"{b} {{c}}\"", "${b} {{c}}"),
        ("a <<\nb", "a|:b\n|⏎"),
        ("{{#if a}}b{{else}}c{{/if}} d", "$b{{else}}c{{/if}}|d"),
        ("{{#if a}} b {{else}} c {{/if}} d", "b|c|d"),
        ("{{#if a", ""),
        ("x=(1 2) y(z", "$x=(1 2)|y|(|z"),
        ("a<b>c", "a|=<|b|=>|c"),
        ("a 2>b 10<c '1'>d", "a|=2>|b|=10<|c|1|=>|d"),
        ("a >>b &>c >&d >|e", "a|=>>|b|=&>|c|=>&|d|=>||e"),
        ("a 2>&1", "a|=2>&|1"),
        ("a <<<b", "a|=<<<|b"),
        ("a >>>>b", "a|=>>>|=>|b"),
        ("a <(b c) >(d)", "a|$<(b c)|$>(d)"),
        ("a 1<(b)", "a|$1<(b)"),
        ("a <<E b\nc\nE\nd", "a|:c\n|b|⏎|d"),
        ("a <<'E F'\nc\nE F\nd", "a|:c\n|⏎|d"),
        ("a << E\nc\nE\nd", "a|:c\n|⏎|d"),
        ("a <<-E\n\tc\n\t\tE\nd", "a|:c\n|⏎|d"),
        ("a <<E\n\tc\n\tE\nE\nd", "a|:\tc\n\tE\n|⏎|d"),
        ("a <<E <<F\nb\nE\nc\nF\nd", "a|:b\n|:c\n|⏎|d"),
        ("a <<E\nb", "a|:b\n|⏎"),
        ("a <<E\nb\n", "a|:b\n|⏎"),
        ("a <<E", "a|:"),
    ] {
        let found: Vec<String> = tokens(text).into_iter().map(told).collect();
        assert_eq!(found.join("|"), expected, "{text}");
    }
}

#[test]
fn commands_inside_of_words_are_taken_out() {
    for (text, expected) in [
        ("a $(b c) `d e` <(f) \"$(g)\"", vec!["b c", "d e", "f", "g"]),
        ("$(b $(c))", vec!["b $(c)"]),
        ("x=(1 2)", vec!["1 2"]),
        ("'$(a)' ${b}", vec![]),
        ("$(", vec![""]),
        ("`", vec![""]),
    ] {
        let inner = tokens(text).into_iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.inner),
            _ => None,
        });
        assert_eq!(inner.flatten().collect::<Vec<_>>(), expected, "{text}");
    }
}

/// The last command of a text.
fn call(text: &str) -> Call {
    follow(text).found.last().map(|found| found.call.clone()).expect("a command")
}

#[test]
fn the_program_behind_its_wrappers() {
    for (text, expected) in [
        ("/usr/bin/git push", "/usr/bin/git push"),
        ("sudo git push", "git push"),
        ("sudo -u me -E git push", "git push"),
        ("env -i A=b git push", "git push"),
        ("nice -n 5 git push", "git push"),
        ("timeout 10 git push", "git push"),
        ("timeout -k 5 10 git push", "git push"),
        ("timeout --signal=KILL 10 git push", "git push"),
        ("gtimeout 10 git push", "git push"),
        ("nice 10 git", "10 git"),
        ("sudo A=b git", "A=b git"),
        ("env ./a=b git", "./a=b git"),
        ("npx -p jest jest", "jest jest"),
        ("npx -y jest", "jest"),
        ("uv run pytest", "pytest"),
        ("uv sync", "uv sync"),
        ("uv run", "uv run"),
        ("poetry run -q pytest a", "pytest a"),
        ("bundle exec rspec", "rspec"),
        ("bundle run rspec", "bundle run rspec"),
        ("python3 -m pytest a", "pytest a"),
        ("python3.12 -m pytest", "pytest"),
        ("python3 -m", "python3 -m"),
        ("python3 -c a", "python3 -c a"),
        ("ruby -m a", "ruby -m a"),
        ("sudo env timeout 3 uv run python -m pytest", "pytest"),
        ("sudo", "sudo"),
        ("env", "env"),
        ("timeout 10", "10"),
        ("time -p a", "-p a"),
    ] {
        assert_eq!(call(text).words.join(" "), expected, "{text}");
    }
    assert_eq!(call("/usr/bin/git push").program, "git");
}

#[test]
fn the_verb_behind_the_options() {
    for (text, expected) in [
        ("git push", "push"),
        ("git -C dir push origin", "push origin"),
        ("git -c a=b --no-pager push", "push"),
        ("cargo +nightly test -q a", "test a"),
        ("kubectl -n ns apply", "apply"),
        ("oc -n ns apply", "apply"),
        ("helm -n ns upgrade", "upgrade"),
        ("make -n all", "all"),
        ("git -C", ""),
        ("git", ""),
    ] {
        assert_eq!(call(text).verbs().join(" "), expected, "{text}");
    }
}

#[test]
fn what_cannot_fail_in_a_way_that_matters() {
    for (text, expected) in [
        ("true", true),
        ("echo a", true),
        ("cat f", true),
        ("git --version", true),
        ("git help", true),
        ("git --version a", false),
        ("git", false),
        ("git push", false),
        ("python3 -c 'print(1)'", true),
        ("python3 -c 'assert a'", false),
        ("node -e 'throw 1'", false),
        ("python3 -x -c 'print(1)'", true),
        ("python3 a.py", false),
        ("python3 -c", false),
        ("./x -c 'print(1)'", false),
    ] {
        assert_eq!(call(text).is_toothless(), expected, "{text}");
    }
}

#[test]
fn scripts_inside_of_a_command() {
    for (text, expected) in [
        (vec!["bash", "-c", "a"], Some("a")),
        (vec!["sh", "-ec", "a"], Some("a")),
        (vec!["bash", "-e", "-c", "a"], Some("a")),
        (vec!["bash", "--rc", "a"], None),
        (vec!["bash", "a.sh"], None),
        (vec!["bash", "-e", "a.sh"], None),
        (vec!["bash", "abc", "a"], None),
        (vec!["bash", "-c"], None),
        (vec!["eval", "a"], Some("a")),
        (vec!["eval", "a", "b"], Some("a b")),
        (vec!["bash", "-n", "-c", "a"], None),
        (vec!["bash", "-nc", "a"], None),
        (vec!["eval"], None),
        (vec!["git", "-c", "a"], None),
    ] {
        let words: Vec<String> = text.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(Call { program: words[0].clone(), words }.script().as_deref(), expected, "{text:?}");
    }
}

#[test]
fn checks_are_known_by_program_and_verb() {
    use checks::CheckKind::*;
    for (text, expected) in [
        ("make check", Some(Tests)),
        ("make ci", Some(Tests)),
        ("make test-unit", Some(Tests)),
        ("make testing", Some(Build)),
        ("make vet", Some(Lint)),
        ("make typecheck", Some(Lint)),
        ("make type-check", Some(Lint)),
        ("npm ci", None),
        ("npm run ci", None),
        ("npm run build:web", Some(Build)),
        ("npm run start", None),
        ("npm run", None),
        ("npm", None),
        ("npm install", None),
        ("npm run-script test:unit", Some(Tests)),
        ("yarn typecheck", Some(Lint)),
        ("jq . f", Some(Compare)),
        ("jq -e", Some(Compare)),
        ("jq .", None),
        ("git diff --quiet", Some(Compare)),
        ("git --check", None),
        ("helm lint", Some(Lint)),
        ("helm list", None),
        ("mvn -q verify", Some(Tests)),
        ("black -l 80 .", Some(Lint)),
    ] {
        assert_eq!(checks::kind(&call(text)), expected, "{text}");
    }
}

#[test]
fn substitutions_in_quotes_are_followed_to_a_depth() {
    let deep = |depth: usize| {
        let inner = (0..depth).fold("x \")\"".to_owned(), |inner, _| format!("x \"$({inner})\""));
        tokens(&format!("a $({inner}); b")).into_iter().map(told).next_back()
    };
    for (depth, is_followed) in [(0, true), (1, true), (19, true), (20, false), (30, false)] {
        assert_eq!(deep(depth).as_deref() == Some("b"), is_followed, "{depth}");
    }
}

#[test]
fn effects_are_known_by_program_and_verb() {
    for (text, expected) in [
        ("twine upload d", Some("twine upload")),
        ("twine check d", None),
        ("./deploy.sh", Some("deploy.sh")),
        ("bash scripts/deploy-web.sh", Some("deploy-web.sh")),
        ("ssh host ./deploy.sh", Some("ssh ./deploy.sh")),
        ("ssh host uptime", None),
        ("make deploy", Some("make deploy")),
        ("just publish", Some("just publish")),
        ("make test", None),
        ("vercel --prod", Some("vercel --prod")),
        ("hub pull-request", Some("hub pull-request ")),
        ("heroku container:release web", Some("heroku container:release")),
        ("./deployment-notes.sh", None),
        ("vercel deploy", Some("vercel deploy")),
        ("mvn deploy", Some("mvn deploy")),
        ("mvn test", None),
        ("gcloud run deploy x", Some("gcloud deploy")),
        ("heroku ps", None),
        ("az vm delete", Some("az delete")),
        ("gh workflow run x", Some("gh workflow run")),
        ("gh run workflow", None),
        ("hub release create", Some("hub release create")),
        ("curl --request PUT url", Some("curl send")),
        ("curl --request=PUT url", Some("curl send")),
        ("curl -T f url", Some("curl send")),
        ("curl --json a url", Some("curl send")),
        ("wget url", None),
    ] {
        assert_eq!(effect(&call(text)).as_deref(), expected, "{text}");
    }
    assert_eq!(rehearses(&call("git push --dry-run")), Some("--dry-run"));
    assert_eq!(rehearses(&call("git push")), None);
}
