//! Completion scripts, tried in the shells that are here: bash always, zsh and fish where they are installed.

use std::process::Command;

use testkit::TestEnv;

fn env() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("mine.yaml", "");
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
];

#[test]
fn bash_completes_verbs_and_flags() {
    let script = r#"
        source c.bash
        COMP_WORDS=(recipe-runner-rs $TYPED); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        complete=$(complete -p recipe-runner-rs); complete=${complete% *}
        "${complete##* }" recipe-runner-rs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let env = env();
    for (typed, expected) in TYPED {
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
        let line = format!("fish --no-config -c 'source c.fish; complete -C \"recipe-runner-rs {typed}\"'");
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
                   recipe-runner-rs() { print -r -- "got $*." }; echo rea""dy'
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
