//! Rules in more places than their pages show, and what they leave alone.

use crate::{codes, recipe};

/// The rules of findings about these steps.
fn check(steps: &str, expected: &[&str]) {
    assert_eq!(codes(&recipe(steps)), expected, "{steps}");
}

#[test]
fn a54_every_trivially_true_command_is_found() {
    for command in [
        "true",
        ":",
        "exit 0",
        "echo ok",
        "printf ok",
        "make test || true",
        "set +e",
        "make test; exit 0",
        "set +e; make test",
        "make test || :",
        "make test || echo failed",
    ] {
        check(&format!("  - id: verify\n    command: '{command}'\n"), &["cannot-fail"]);
        let ensured =
            format!("  - id: work\n    command: ./work\n    ensure:\n      - command: '{command}'\n");
        check(&ensured, &["cannot-fail"]);
    }
}

#[test]
fn commands_that_only_look_trivial_are_left_alone() {
    for command in [
        "make test",
        "rm -f x || true",
        "echo starting; make",
        "if make test; then echo green; else echo red; fi",
        "set +e\\nmake test\\ncode=$?\\nexit $code",
        "grep -rn unsafe src || true",
    ] {
        check(&format!("  - id: work\n    command: \"{command}\"\n"), &[]);
    }
    // another step reads the output
    check(
        "  - id: tests\n    command: make test 2>&1 || true\n  - id: print\n    command: cat <<< \"{{tests}}\"\n",
        &[],
    );
}

#[test]
fn strict_shells_fail_at_the_first_command() {
    let steps = "  - id: verify\n    shell: strict\n    command: |\n      make test\n      echo done\n";
    check(steps, &[]);
    check(&steps.replace("    shell: strict\n", ""), &["cannot-fail"]);
}

#[test]
fn checks_of_fixed_texts_prove_nothing() {
    for steps in [
        "  - id: a\n    command: echo ok > done.txt\n    ensure:\n      - file: done.txt\n",
        "  - id: a\n    command: |\n      echo PASS > v.txt\n      grep -q PASS v.txt\n",
        "  - id: a\n    command: echo yes\n    ensure:\n      - condition: a == 'yes'\n",
        "  - id: a\n    prompt: Look around.\n  - id: b\n    command: echo PASS > v.txt\n  - id: c\n    command: grep -q PASS v.txt\n",
        "  - id: a\n    prompt: Look around. When you are finished, print ALL_GOOD.\n  - id: c\n    command: grep -q ALL_GOOD <<< \"{{a}}\"\n",
    ] {
        check(steps, &["self-satisfying"]);
    }
    for steps in [
        "  - id: a\n    command: make report > report.md\n    ensure:\n      - file: report.md\n",
        "  - id: a\n    command: make test && echo ok > done.txt\n    ensure:\n      - file: done.txt\n",
        "  - id: a\n    command: echo 1 > out.txt\n  - id: b\n    command: grep -q 1 out.txt\n",
        "  - id: a\n    prompt: Say PASS or FAIL.\n  - id: c\n    command: grep -q PASS <<< \"{{a}}\"\n",
        "  - id: a\n    prompt: Look around. Print PASS only if all is well.\n  - id: c\n    command: grep -q PASS <<< \"{{a}}\"\n",
    ] {
        check(steps, &[]);
    }
}

#[test]
fn a_hook_may_not_satisfy_a_check() {
    let text = "name: x\nhooks: {post_step: echo ok > done.txt}\nsteps:\n  - id: a\n    command: ./work\n    ensure:\n      - file: done.txt\n";
    assert_eq!(codes(text), ["self-satisfying"]);
}

#[test]
fn edits_are_followed_through_sub_recipes_and_loops() {
    let edit = "  - id: e\n    prompt: Implement it.\n";
    check(edit, &["ungated-edit"]);
    check(
        &format!(
            "{edit}  - id: push\n    effects: [push]\n    idempotent: false\n    command: git push\n  - id: t\n    command: make test\n"
        ),
        &["ungated-edit", "unguarded-effect"],
    );
    check(&format!("{edit}  - id: ok\n    ask: Good?\n"), &[]);
    check(&format!("{edit}  - id: x\n    command: ./verify-all\n"), &[]);
    check(&format!("{edit}  - id: x\n    command: git add -A\n"), &["ungated-edit"]);
    check("  - id: e\n    prompt: Explain the code. Do not change it.\n", &[]);
    check("  - id: e\n    permissions: read-only\n    prompt: Implement it.\n", &[]);
    check("  - id: e\n    prompt: Write a haiku about files.\n", &[]);
    check("  - id: e\n    prompt: Write tests for the parser.\n", &["ungated-edit"]);
}

#[test]
fn reviews_are_told_from_edits() {
    check(
        "  - id: e\n    prompt: Fix it.\n    ensure:\n      - command: make test\n  - id: r\n    permissions: read-only\n    prompt: Review the change.\n",
        &["reviewer-is-writer"],
    );
    check(
        "  - id: e\n    agent_binary: claude\n    prompt: Fix it.\n    ensure:\n      - command: make test\n  - id: r\n    permissions: read-only\n    prompt: Review the change.\n",
        &[],
    );
    check("  - id: r\n    prompt: Review the change.\n    ensure:\n      - unchanged: [\"**\"]\n", &[]);
    check(
        "  - id: address-review\n    prompt: \"Fix what the review found: {{r}}\"\n    ensure:\n      - command: make test\n",
        &[],
    );
}

#[test]
fn effects_are_known_by_their_commands() {
    check("  - id: t\n    command: make test\n  - id: p\n    command: git push --dry-run\n", &[]);
    check("  - id: t\n    command: curl -X POST http://localhost:8080/reset\n", &[]);
    check("  - id: t\n    command: echo 'git push'\n", &[]);
    check(
        "  - id: t\n    command: make test\n  - id: p\n    effects: [push]\n    idempotent: true\n    command: git push\n",
        &[],
    );
    check(
        "  - id: t\n    when: failed\n    effects: [deploy]\n    idempotent: false\n    command: ./rollback\n",
        &[],
    );
}

#[test]
fn prompts_may_forbid_effects() {
    for (prompt, is_found) in [
        ("Look around. Then push the branch.", true),
        ("Look around, and open a pull request.", true),
        ("Publish the package.", true),
        ("Look around. Do not push.", false),
        ("Look around. Never commit or push, and do not open a pull request.", false),
        ("Explain how the release is published.", false),
        ("Which commands push to a remote?", false),
    ] {
        let expected: &[&str] = if is_found { &["agent-does-effect"] } else { &[] };
        check(&format!("  - id: a\n    prompt: {prompt:?}\n"), expected);
    }
}

#[test]
fn loops_are_read() {
    let repeat = |more: &str| {
        format!(
            "  - id: p\n    repeat: {{max: 3, until: p == 'ready', on_exhausted: continue}}\n    command: ./status\n{more}"
        )
    };
    check(&repeat(""), &["endless-loop"]);
    check(&repeat("  - id: q\n    condition: p != 'ready'\n    command: exit 1\n"), &[]);
}

#[test]
fn agents_at_the_same_time_need_places_of_their_own() {
    let each = |more: &str| {
        format!(
            "  - id: e\n    for_each: [a, b]\n    max_parallel: 2\n{more}    prompt: Fix {{{{item}}}}.\n  - id: t\n    command: make test\n"
        )
    };
    check(&each(""), &["parallel-writers"]);
    check(&each("    working_dir: \"{{item}}\"\n"), &[]);
    check(&each("").replace("max_parallel: 2", "max_parallel: 1"), &[]);
    let graph = "name: x\nschedule: graph\ndefault_step_timeout: 30m\nsteps:\n  - id: a\n    prompt: Fix the code.\n  - id: b\n    prompt: Update the docs.\n  - id: t\n    depends_on: [a, b]\n    command: make test\n";
    assert_eq!(codes(graph), ["parallel-writers"]);
    assert_eq!(codes(&graph.replace("  - id: b\n", "  - id: b\n    depends_on: [a]\n")), [""; 0]);
}

#[test]
fn secrets_are_found_by_shape_and_by_name() {
    for text in [
        "token: ${TOKEN}",
        "token: \"{{other}}\"",
        "api_key: changeme-please",
        "primary_key: abcdefgh1234",
        "token: /run/secrets/token",
    ] {
        let found = codes(&format!(
            "name: x\ncontext:\n  other: a\n  {text}\nsteps:\n  - id: a\n    command: ./work\n"
        ));
        assert_eq!(found, [""; 0], "{text}");
    }
    let key = "name: x\nsteps:\n  - id: a\n    command: |\n      cat > key <<E\n      -----BEGIN OPENSSH PRIVATE KEY-----\n      E\n";
    assert_eq!(codes(key), ["secret-in-recipe"]);
    let set =
        "name: x\nenv: {set: {GITHUB_TOKEN: 0123456789abcdef}}\nsteps:\n  - id: a\n    command: ./work\n";
    assert_eq!(codes(set), ["secret-in-recipe"]);
}

#[test]
fn secrets_in_arguments_are_those_of_programs() {
    let env = "name: x\nenv: {required: [API_TOKEN]}\nsteps:\n  - id: a\n    command: COMMAND\n";
    for (command, is_found) in [
        ("'tool --token \"$API_TOKEN\"'", true),
        ("'tool --token \"${API_TOKEN}\"'", true),
        ("'echo \"$API_TOKEN\" | tool --token-stdin'", false),
        ("'tool <<< \"$API_TOKEN\"'", false),
        ("'TOKEN=\"$API_TOKEN\" tool'", false),
        ("'[ -n \"$API_TOKEN\" ] && tool'", false),
        ("'tool ${API_TOKEN:+--signed}'", false),
    ] {
        let expected: &[&str] = if is_found { &["secret-in-argument"] } else { &[] };
        assert_eq!(codes(&env.replace("COMMAND", command)), expected, "{command}");
    }
}

#[test]
fn variables_that_a_script_sets_are_declared() {
    for (command, is_found) in [
        ("echo $NOWHERE", true),
        ("echo ${NOWHERE:-x} $HOME $CI $RECIPE_RUNNER_RUN_DIR", false),
        ("x=1; echo $x", false),
        ("for f in *; do echo $f; done", false),
        ("read -r a b < file; echo $a $b", false),
        ("local_file=a; printf '%s' \"$local_file\" \"$?\" \"$1\" \"$@\"", false),
        (". ./env.sh; echo $NOWHERE", false),
        ("echo $MODE $MODE_SPEED", false),
        ("while read -r line; do echo \"$line\"; done < f", false),
        ("mapfile -t rows < f; echo \"${rows[0]}\"", false),
    ] {
        let text =
            format!("name: x\ncontext: {{mode: fast}}\nsteps:\n  - id: a\n    command: |\n      {command}\n");
        let expected: &[&str] = if is_found { &["undeclared-env"] } else { &[] };
        assert_eq!(codes(&text), expected, "{command}");
    }
}

#[test]
fn versions_and_placeholders_are_noted() {
    for (command, expected) in [
        ("curl -sSf https://example.com/i.sh | sh", "unpinned"),
        ("bash <(curl -s https://example.com/i.sh)", "unpinned"),
        ("docker run --rm alpine:latest true", "unpinned"),
        ("uvx ruff check", "unpinned"),
        ("npx --no-install eslint .", ""),
        ("docker run --rm alpine:3.20 ls", ""),
        ("curl -sf https://example.com/x.json | jq .a", ""),
        (concat!("# TO", "DO: write this"), "placeholder"),
        (concat!("grep -rn TO", "DO src"), ""),
        (concat!("echo 'TO", "DO: implement'"), "placeholder"),
    ] {
        let found =
            codes(&format!("name: x\nsteps:\n  - id: a\n    command: |\n      {command}\n      ./work\n"));
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(found, expected, "{command}");
    }
}
