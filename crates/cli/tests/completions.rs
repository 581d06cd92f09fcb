//! Completion scripts, tried in the shells that are here: bash always, zsh and fish where they are installed.

use std::process::Command;

use testkit::TestEnv;

fn env() -> TestEnv {
    let recipe = "name: deploy-it\ninputs: [{name: target, description: Where to}]\ncontext: {mode: fast}\nsteps:\n\
                  - {id: build, command: 'true', when_tags: [quick]}\n- {id: check, command: 'false'}\n";
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("mine.yaml", recipe)
        .file("recipes/deploy-it.yaml", recipe);
    assert_eq!(env.run(["mine.yaml"]).code, 1);
    for (shell, file) in [("bash", "c.bash"), ("zsh", "zsh/_recipe-runner-rs"), ("fish", "c.fish")] {
        let output = env.run(["completions", shell]);
        assert_eq!(output.code, 0, "{}", output.all());
        env.write(file, &output.stdout);
    }
    env
}

fn is_here(shell: &str) -> bool {
    Command::new(shell).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What is typed, and one of the words that it is completed to.
const TYPED: &[(&str, &str)] = &[
    ("res", "resume"),
    ("doc", "doctor"),
    ("--dr", "--dry-run"),
    ("resume --fr", "--from"),
    ("resume last --rerun-e", "--rerun-effects"),
    ("branch-name --iss", "--issue"),
    ("manifest che", "check"),
    ("mine.yaml --dr", "--dry-run"),
    ("--output-format js", "json"),
    ("validate --output-format js", "json"),
    ("deploy", "deploy-it"),
    ("run deploy", "deploy-it"),
    ("mine.yaml --set tar", "target="),
    ("deploy-it -c mo", "mode="),
    ("deploy-it --include-tags qu", "quick"),
    ("help bran", "branch-name"),
    ("logs last che", "check"),
    ("resume last --from bu", "build"),
    ("resume --set tar", "target="),
    ("show la", "last"),
    ("completions fi", "fish"),
    ("mine.yaml --agent-binary cl", "claude"),
];

/// The id of the only run.
fn run_id(env: &TestEnv) -> String {
    env.run_ids().pop().unwrap_or_default()
}

#[test]
fn candidates_say_what_they_are() {
    let env = env();
    let id = run_id(&env);
    let lines = |words: &[&str]| env.run(["__complete", "--"].iter().chain(words)).stdout;
    assert!(lines(&["show", ""]).contains(&format!("{id}\tdeploy-it, failed, ")), "{}", lines(&["show", ""]));
    assert!(lines(&["mine.yaml", "--set", ""]).contains("target=\tWhere to\n"));
    assert!(lines(&[""]).contains("resume\tResume an interrupted"), "{}", lines(&[""]));
    assert!(lines(&[""]).ends_with(":files\n"));
    assert_eq!(lines(&["nosuch.yaml", "--set", ""]), "");
    assert_eq!(
        lines(&["mine.yaml", "--output-format=j"]),
        "--output-format=json\tOne JSON value, for programs\n"
    );
}

#[test]
fn bash_completes_verbs_and_flags() {
    let script = r#"
        recipe-runner-rs() { "$RUNNER" "$@"; }
        source c.bash
        COMP_WORDS=(recipe-runner-rs $TYPED); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        complete=$(complete -p recipe-runner-rs); complete=${complete% *}
        "${complete##* }" recipe-runner-rs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2> /dev/null
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let env = env();
    let id = run_id(&env);
    let start = format!("logs {}", &id[..id.len() - 2]);
    let files = [("min", "mine.yaml"), ("validate min", "mine.yaml"), (start.as_str(), id.as_str())];
    let split = [("--output-format = js", "json"), ("mine.yaml --set = tar", "target=")];
    for (typed, expected) in TYPED.iter().chain(&files).chain(&split) {
        let output = env.shell(&format!("TYPED='{typed}'\n{script}"));
        assert!(output.stdout.lines().any(|line| line == *expected), "{typed}\n{}", output.all());
    }
}

#[test]
fn fish_completes_verbs_flags_and_files() {
    if !is_here("fish") {
        return;
    }
    let env = env();
    for (typed, expected) in TYPED.iter().chain(&[("min", "mine.yaml"), ("validate min", "mine.yaml")]) {
        let program = "function recipe-runner-rs; $RUNNER $argv; end";
        let line = format!(
            "fish --no-config -c '{program}; source c.fish; complete -C \"recipe-runner-rs {typed}\"'"
        );
        let output = env.shell(&line);
        let found = output.stdout.lines().any(|line| line.split('\t').next() == Some(*expected));
        assert!(found, "{typed}\n{}", output.all());
    }
}

#[test]
fn zsh_completes_verbs_flags_and_files() {
    if !is_here("zsh") {
        return;
    }
    let env = env();
    // a terminal inside of the shell, in which the keys are typed
    let script = r#"
        zmodload zsh/zpty
        zpty z 'zsh -f -i'
        zpty -w z 'fpath=($PWD/zsh $fpath); autoload -U compinit; compinit -u -D; PS1=
                   recipe-runner-rs() { [[ $1 == __complete ]] && { "$RUNNER" "$@"; return }; print -r -- "got $*." }; echo rea""dy'
        until [[ $seen == *ready* ]]; do zpty -r z more && seen+=$more; done
        zpty -w -n z "recipe-runner-rs $TYPED"$'\t'"; echo do''ne"$'\n'
        until [[ $out == *done* ]]; do zpty -r z more && out+=$more; done
        print -r -- "$out"
    "#;
    env.write("try.zsh", script);
    for (typed, expected) in TYPED.iter().chain(&[("min", "mine.yaml"), ("validate min", "mine.yaml")]) {
        let output = env.shell(&format!("TYPED='{typed}' timeout 60 zsh -f try.zsh"));
        assert!(output.stdout.contains(&format!("{expected}.")), "{typed}\n{}", output.all());
    }
}
