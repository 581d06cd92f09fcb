//! The limits of a proof: what cannot be seen, must not be repeated, or has no meaning is never a met rule.

use serde_json::{Value as Json, json};

use crate::{checked, commit, env, found, met, one, repository};

/// The changed files that `max_changed_files: 0` finds.
fn changed(step: &Json) -> Vec<String> {
    let listed = found(step, 0).split_once(": ").map_or("", |(_, files)| files);
    listed.split(", ").filter(|file| !file.is_empty()).map(|file| file.replace('`', "")).collect()
}

#[test]
fn patterns_may_lead_above_the_directory_of_the_step() {
    let world = || env().file("w/src/a", "1").file("w/tests/golden/g", "g").file("near/g", "g");
    for is_git in [true, false] {
        for (pattern, file, is_named) in [
            ("../tests/**", "../tests/golden/g", true),
            ("../tests", "../tests/golden/g", true),
            ("../**", "../tests/golden/g", true),
            ("../**", "a", true),
            ("../src/a", "a", true),
            ("./../tests/golden/../golden/g", "../tests/golden/g", true),
            ("../../near/**", "../../near/g", true),
            ("../../near", "../../near/new", true),
            ("**", "../tests/golden/g", false),
            ("**/g", "../tests/golden/g", false),
        ] {
            let env = world();
            if is_git {
                assert_eq!(env.shell("cd w && git init -q . && git add -A").code, 0);
            }
            let command = format!("command: 'echo 2 > {file}'");
            let rules = format!("ensure: [{{unchanged: ['{pattern}']}}, {{changed: ['{pattern}']}}]");
            let step = env.json(&one(&[&command, "working_dir: w/src", &rules]), &[]).step("work");
            assert_eq!(met(&step), [!is_named, is_named], "{pattern} {file} {is_git} {step:#}");
            if is_named {
                assert_eq!(found(&step, 1), format!("`{file}`"), "{pattern}");
            }
        }
    }
    // a value of the run may be an absolute path
    let env = world();
    let rules = "ensure: [{unchanged: ['{{dir}}/near/**']}, {file: '{{dir}}/near/*'}]";
    let dir = format!("dir={}", env.path("").display());
    let output = env.json(&one(&["command: echo 2 > near/g", rules]), &["--set", &dir]);
    assert_eq!(met(&output.step("work")), [false, true], "{}", output.all());
}

#[test]
fn files_behind_a_link_are_seen() {
    for is_git in [true, false] {
        let env = env().file("golden/g", "1").file("other/g", "1");
        assert_eq!(env.shell("ln -s golden link").code, 0);
        if is_git {
            commit(&env);
        }
        for command in ["echo 2 > link/g", "rm link; ln -s other link"] {
            let step = checked(&env, command, "[{unchanged: ['link/**']}]");
            assert_eq!(met(&step), [false], "{command} {is_git} {step:#}");
        }
    }
}

#[test]
fn a_pattern_without_a_meaning_is_not_met() {
    let env = repository();
    for (pattern, found_words) in [
        ("{{empty}}", "that `empty` has no value"),
        ("{{empty}}/**", "that `empty` has no value"),
        ("src/{{nosuch}}/**", "that `nosuch` has no value"),
        ("{{stars}}", "that `***` is not a file pattern: too many stars"),
        ("{{home}}", "that `~/x` is not a file pattern: `~` is not replaced by the home directory"),
        ("{{open}}", "that `a[` is not a file pattern: its `[` is not closed"),
    ] {
        for rule in ["changed", "unchanged", "only_changed", "file"] {
            let list = if rule == "file" { format!("'{pattern}'") } else { format!("['{pattern}']") };
            let recipe = one(&["command: 'true'", &format!("ensure: [{{{rule}: {list}}}]")]);
            let recipe = format!("{recipe}context: {{empty: '', stars: '***', open: 'a[', home: '~/x'}}\n");
            let output = env.json(&recipe, &[]);
            let step = output.step("work");
            assert_eq!((output.code, found(&step, 0)), (1, found_words), "{rule} {pattern} {}", output.all());
        }
    }
}

#[test]
fn a_directory_that_is_gone_proves_nothing() {
    let env = env().file("gone/a", "1").file("a", "1");
    let rules = "ensure: [{file: a}, {unchanged: [b]}, {command: 'true'}, {condition: work == 'done'}]";
    let fields = ["command: 'rm -r ../gone; echo done'", "working_dir: gone", rules];
    let output = env.json(&one(&fields), &[]);
    let step = output.step("work");
    assert_eq!(met(&step), [false, false, false, true], "{}", output.all());
    assert!(found(&step, 0).starts_with("that the working directory `"), "{step:#}");
    assert!(found(&step, 0).ends_with("` does not exist"), "{step:#}");
}

#[test]
fn a_name_without_any_value_proves_nothing() {
    let env = env();
    for (condition, is_met, words) in [
        ("nosuch != 'x'", false, "`nosuch` is not defined"),
        ("not nosuch", false, "`nosuch` is not defined"),
        ("nosuch.member == ''", false, "`nosuch.member` is not defined"),
        ("work.failed == '' and nosuch != 'x'", false, "`nosuch` is not defined"),
        ("work.tests_pased > 0", false, "`work.tests_pased` is nothing"),
        ("work.tests > 0 or nosuch == 'x'", true, "`work.tests` is `3`"),
        ("work.tests != None", true, "`work.tests` is `3`"),
        ("empty == ''", true, "`empty` is ``"),
    ] {
        let rules = format!("ensure: [{{condition: \"{condition}\"}}]");
        let recipe = one(&["command: 'echo \"{\\\"tests\\\": 3}\"'", "parse_json: true", &rules]);
        let output = env.json(&format!("{recipe}context: {{empty: ''}}\n"), &[]);
        let step = output.step("work");
        assert_eq!(met(&step), [is_met], "{condition} {}", output.all());
        assert!(found(&step, 0).contains(words), "{condition} {step:#}");
    }
    let recipe = one(&["command: echo hi", "ensure: [{condition: nosuch != 'x'}]"]);
    let strict = env.json(&recipe, &["--strict"]);
    assert!(strict.code == 2 && strict.all().contains("nosuch"), "{}", strict.all());
}

#[test]
fn git_does_not_hide_changes() {
    let setup = [
        "mkdir d; echo 1 > flagged; echo 1 > skipped; printf 'a\\n' > lines; printf 'a\\n' > other",
        "git init -q . && echo 'lines text=auto' > .gitattributes && printf '*.log\\nout/\\nrecipe.yaml\\n' > .gitignore",
        "git config user.name a; git config user.email a@b",
        "git add -A && git commit -qm first && mkdir out && echo 1 > out/old && echo 1 > old.log",
        "git update-index --assume-unchanged flagged && git update-index --skip-worktree skipped",
    ]
    .join("\n");
    for (command, expected) in [
        ("echo 2 > flagged", vec!["flagged"]),
        ("echo 2 > skipped", vec!["skipped"]),
        ("git update-index --assume-unchanged other; echo 2 > other", vec!["other"]),
        ("git update-index --skip-worktree other; rm other", vec!["other"]),
        ("git update-index --assume-unchanged other", vec![]),
        ("printf 'a\\r\\n' > lines", vec!["lines"]),
        ("printf 'a\\r\\n' > lines; printf 'a\\n' > lines", vec![]),
        ("echo '* text=auto' > .git/info/attributes; printf 'a\\r\\n' > other", vec!["other"]),
        (
            "git config filter.lie.clean 'echo a'; echo 'other filter=lie' > .git/info/attributes; echo 2 > other",
            vec!["other"],
        ),
        ("git config core.fileMode false; chmod +x other", vec!["other"]),
        ("echo 2 > other; git commit -qam two; git replace HEAD~1 HEAD", vec!["other"]),
        ("echo new > made; echo made >> .git/info/exclude", vec!["made"]),
        ("echo new > made; echo made >> .gitignore", vec![".gitignore", "made"]),
        (
            "echo 1 > src-made; echo src-made > d/.gitignore; echo 1 > d/src-made",
            vec!["d/.gitignore", "d/src-made", "src-made"],
        ),
        ("echo recipe.yaml > .gitignore", vec![".gitignore"]),
        ("echo recipe.yaml > .gitignore; echo 2 > out/old; echo 3 > out/new", vec![".gitignore"]),
        ("echo x >> .gitignore; echo 2 > new.log; echo 2 > out/x", vec![".gitignore"]),
        ("echo 2 > new.log", vec![]),
        ("git add -f old.log", vec![]),
        ("git rm -q --cached other; echo other >> .git/info/exclude", vec![]),
        ("git rm -q --cached other; echo other >> .git/info/exclude; echo 2 > other", vec!["other"]),
    ] {
        let env = env();
        let made = env.shell(&setup);
        assert_eq!(made.code, 0, "{}", made.all());
        let step = checked(&env, command, "[{max_changed_files: 0}]");
        assert_eq!(changed(&step), expected, "{command}: {step:#}");
    }
}

#[test]
fn repositories_inside_are_compared_file_by_file() {
    let setup = [
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b",
        "git init -q lib && echo 1 > lib/x && git -C lib add -A && git -C lib commit -qm lib",
        "git init -q w && cd w && echo recipe.yaml > .gitignore && mkdir plain && echo 1 > plain/p && git add -A",
        "git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm first",
        "git init -q near && echo 1 > near/n && echo 1 > loose",
    ]
    .join("\n");
    for (command, expected) in [
        ("true", vec![]),
        ("echo 2 > sub/x", vec!["sub/x"]),
        ("git -C sub update-index --assume-unchanged x; echo 2 > sub/x", vec!["sub/x"]),
        ("echo 2 > sub/x; git -C sub -c user.name=a -c user.email=a@b commit -qam two", vec!["sub/x"]),
        ("echo 2 > near/n; echo 2 > near/new", vec!["near/n", "near/new"]),
        ("git -C near add -A", vec![]),
        ("rm -rf near", vec!["near"]),
        ("git init -q fresh; echo 1 > fresh/f", vec!["fresh/f"]),
        ("git init -q plain", vec![]),
        ("git init -q plain; echo 2 > plain/p", vec!["plain/p"]),
    ] {
        let env = env();
        let made = env.shell(&setup);
        assert_eq!(made.code, 0, "{}", made.all());
        let rules = "ensure: [{max_changed_files: 0}, {unchanged: ['sub/**']}]";
        let command = format!("command: {}", Json::from(command));
        let step = env.json(&one(&[&command, "working_dir: w", rules]), &[]).step("work");
        assert_eq!(changed(&step), expected, "{command}: {step:#}");
        assert_eq!(met(&step)[1], !expected.iter().any(|file| file.starts_with("sub/")), "{command}");
    }
}

#[test]
fn a_work_tree_that_is_gone_is_named() {
    let env = repository();
    let step = checked(&env, "rm -rf .git", "[{unchanged: ['tests/**']}]");
    assert_eq!(met(&step), [false], "{step:#}");
    assert!(found(&step, 0).starts_with("that the git work tree `"), "{step:#}");
}

#[test]
fn work_is_staged_only_when_it_is_proven() {
    let script = "echo $n > src/a; if [ $n = 2 ]; then git diff --cached --name-only > out/staged; echo x > made; fi; result \"answer $n\"";
    for (rules, staged) in [
        ("[{changed: ['src/**']}, {file: made}]", "made src/a"),
        ("[{changed: ['src/**']}, {file: never}]", ""),
        ("[{condition: work == 'nothing'}]", ""),
    ] {
        let env = env().file("src/a", "0").file(".gitignore", "out/\nrecipe.yaml\n").file("out/x", "");
        let env = env.agent("claude", script);
        commit(&env);
        env.json(&one(&["prompt: p", &format!("ensure: {rules}")]), &[]);
        assert_eq!(env.read("out/staged"), "", "nothing is staged before the proof");
        let found = env.shell("git diff --cached --name-only | sort | paste -sd ' '").stdout;
        assert_eq!(found.trim(), staged, "{rules}");
    }
}

#[test]
fn work_that_must_not_be_repeated_is_checked_again_by_a_resume() {
    for once in ["idempotent: false", "effects: [deploy]"] {
        let env = env();
        let fields =
            ["command: 'echo x >> ran; echo value'", once, "ensure: [{file: proof}]", "ensure_retries: 3"];
        let output =
            env.json(&format!("{}- {{id: next, command: 'echo got {{{{work}}}}'}}\n", one(&fields)), &[]);
        assert_eq!((output.code, env.read("ran").as_str()), (1, "x\n"), "{}", output.all());
        let error = output.step("work")["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with("bash step failed: ensure: file: expected"), "{error}");
        assert!(error.contains("not retried: `work` is done and must not run again"), "{error}");
        assert!(output.all().contains("`ensure_retries` has no effect on a step"), "{}", output.all());
        let plan = env.run(["resume", "last", "--plan"]);
        assert!(plan.all().contains("its work is done; its rules are checked again"), "{}", plan.all());
        let again = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!((again.code, env.read("ran").as_str()), (1, "x\n"), "{}", again.all());
        env.write("proof", "here");
        let again = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!((again.code, env.read("ran").as_str()), (0, "x\n"), "{}", again.all());
        assert_eq!(again.value("next"), "got value");
    }
}

#[test]
fn a_recipe_around_such_work_is_not_repeated() {
    for again in ["retry: 3", "ensure_retries: 3\n  ensure: [{file: never}]"] {
        let env = env();
        let inner = "{id: deploy, command: echo x >> ran, effects: [deploy], ensure: [{file: proof}]}";
        env.write("child.yaml", format!("name: child\nsteps:\n- {inner}\n"));
        let output = env.json(&one(&["recipe: child", again]), &[]);
        assert_eq!((output.code, env.read("ran").as_str()), (1, "x\n"), "{again} {}", output.all());
        env.write("proof", "here");
        env.write("never", "here");
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!((output.code, env.read("ran").as_str()), (0, "x\n"), "{again} {}", output.all());
    }
}

#[test]
fn doing_such_work_again_takes_consent() {
    let env = env();
    env.json(&one(&["command: echo x >> ran", "effects: [deploy]", "ensure: [{file: never}]"]), &[]);
    let refused = env.run(["resume", "last", "--from", "work"]);
    assert_eq!((refused.code, env.read("ran").as_str()), (6, "x\n"), "{}", refused.all());
    let again = env.run(["resume", "last", "--from", "work", "--rerun-effects"]);
    assert_eq!((again.code, env.read("ran").as_str()), (1, "x\nx\n"), "{}", again.all());
}

#[test]
fn a_spent_budget_is_told_beside_the_unmet_rules() {
    let env = env().agent("claude", "result no");
    let recipe = one(&["prompt: p", "ensure_retries: 9", "ensure: [{file: never}]"]);
    let output = env.json(&format!("{recipe}budget: {{agent_runs: 2}}\n"), &[]);
    let step = output.step("work");
    let error = step["error"].as_str().unwrap();
    assert!(error.contains("the budget is used up: 2 agent runs"), "{error}");
    assert!(error.contains("before that, ensure: file: expected a file `never`"), "{error}");
    assert_eq!((&step["outcome"], met(&step)), (&json!("budget"), vec![false]), "{step:#}");
}

#[test]
fn a_resume_asks_again_with_the_unmet_rules() {
    let script = "if [ $n = 2 ]; then echo x > asked; sleep 60; fi; if [ $n = 3 ]; then echo x > made; fi; result \"answer $n\"";
    for signal in ["KILL", "INT"] {
        let env = env().agent("claude", script);
        env.write("recipe.yaml", one(&["prompt: Do it", "ensure: [{file: made}]"]));
        let run = env.spawn(["recipe.yaml", "--output-format", "json"]);
        env.wait_for("asked");
        run.signal(signal);
        run.wait();
        let output = env.run(["resume", "last", "--output-format", "json"]);
        assert_eq!((output.code, env.calls()), (0, 3), "{signal} {}", output.all());
        for part in ["Do it", "file: expected a file `made`", "answer 1"] {
            assert!(env.asked(3, "prompt").contains(part), "{signal} {part}\n{}", env.asked(3, "prompt"));
        }
        assert_eq!(output.step("work")["attempts"], 3, "{}", output.all());
    }
    // the attempts before the crash count
    let script = "if [ $n = 2 ]; then echo x > asked; sleep 60; fi; result \"answer $n\"";
    let env = env().agent("claude", script);
    env.write("recipe.yaml", one(&["prompt: Do it", "ensure: [{file: made}]"]));
    let run = env.spawn(["recipe.yaml", "--output-format", "json"]);
    env.wait_for("asked");
    run.signal("KILL");
    run.wait();
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((output.code, env.calls()), (1, 3), "{}", output.all());
}

#[test]
fn secrets_in_quoted_values_stay_hidden_in_every_form() {
    let secret = "pa\"ss\\wörd/1";
    let env = env().file("secret", secret);
    let recipe = one(&[
        "command: cat out.json",
        "parse_json: true",
        "ensure:",
        "- condition: work == 'x' or work.text == 'x' or work.inner == 'x'",
        "- command: cat out.json; cat twice.json; false",
    ]);
    let text = Json::from(secret).to_string();
    let ascii = text.replace('ö', "\\u00f6").replace('/', "\\/");
    let inner = Json::from(format!("{{\"key\": {text}}}")).to_string();
    env.write("out.json", format!("{{\"text\": {text}, \"ascii\": {ascii}, \"inner\": {inner}}}"));
    env.write("twice.json", Json::from(inner).to_string());
    let recipe = format!("{recipe}inputs: [{{name: pass, type: secret, required: true}}]\n");
    let output = env.json(&recipe, &["--set-file", "pass=secret"]);
    let shown = output.all() + &env.run(["show", "last"]).all() + &env.run(["logs", "last"]).all();
    assert_eq!(output.code, 1, "{shown}");
    for part in ["rd/1", "rd\\/1", "pa\\"] {
        assert!(!shown.contains(part), "{part}\n{shown}");
    }
}
