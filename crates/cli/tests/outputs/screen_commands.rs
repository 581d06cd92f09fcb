//! Commands on the screen of a real terminal.

use expect_test::expect;

use crate::{HELLO, NARROW, WIDE, check_screen, with};

/// A recipe with several kinds of steps.
const DEPLOY: (&str, &str) = (
    "deploy.yaml",
    r#"
    name: deploy
    description: Builds the project, asks a person, and deploys it to the machine that is named
    shell: strict
    context:
      target: staging
    steps:
      - id: build
        command: |
          make --jobs 4 all VERSION="1.4.0" PREFIX="/usr/local" EXTRA_FLAGS="--with-docs"

      - id: review
        prompt: Review the changes of the last commit and list what could break {{target}}.
        timeout: 10m

      - id: approve
        condition: target == 'production'
        ask: Deploy to {{target}}?

      - id: deploy
        command: ./deploy.sh "{{target}}"
        idempotent: false
    "#,
);

#[test]
fn a_dry_run() {
    let env = with(&[DEPLOY]).agent("claude", "result ok");
    check_screen(
        &env,
        NARROW,
        "$RUNNER deploy.yaml --dry-run </dev/null",
        expect![[r#"
              ⊘ build skipped: dry run: would run (shell: strict): make --jobs 4 all
                VERSION="1.4.0" PREFIX="/usr/local" EXTRA_FLAGS="--with-docs"
              ⊘ review skipped: dry run: would ask an agent: Review the changes of the last
                commit and list what could break staging.
              ⊘ approve skipped: condition is false
              ⊘ deploy skipped: dry run: would run (shell: strict): ./deploy.sh "staging"
            recipe 'deploy': dry run, nothing was executed (4 skipped)
        "#]],
    );
}

#[test]
fn an_explanation() {
    let env = with(&[DEPLOY]).agent("claude", "result ok");
    check_screen(
        &env,
        NARROW,
        "$RUNNER explain deploy.yaml",
        expect![[r#"
            Recipe: deploy
            Version: 1.0
            Description: Builds the project, asks a person, and deploys it to the machine
              that is named
            File: deploy.yaml
            Limits: max_depth 6 (default), max_total_steps 200 (default)
            Shell: strict (bash -euo pipefail)
            Context:
              target = staging
            Steps:
              1. build [bash]
                 Command: make --jobs 4 all VERSION="1.4.0" PREFIX="/usr/local"
                   EXTRA_FLAGS="--with-docs"
                 Output: build
              2. review [agent]
                 Program: claude (/tmp/zoo/bin/claude)
                 Prompt: Review the changes of the last commit and list what could break
                   {{target}}.
                 Output: review
                 Timeout: 600 s
              3. approve [ask]
                 Condition: target == 'production'   (reads target)
                 Question: Deploy to {{target}}?
                 Choices: approve, reject
                 Output: approve
              4. deploy [bash]
                 Command: ./deploy.sh "{{target}}"
                 Output: deploy
                 Idempotent: no: never repeated without asking
        "#]],
    );
}

#[test]
fn a_list() {
    let env = with(&[HELLO]);
    env.write("recipes/hello.yaml", crate::dedent(HELLO.1));
    check_screen(
        &env,
        NARROW,
        "$RUNNER list",
        expect![[r#"
            cascade-workflow 1.0  built-in:cascade-workflow
                Up to three attempts, each with the next model and the failure of the last
                  one
            consensus-workflow 1.0  built-in:consensus-workflow
                Three independent votes; two of three decide
            debate-workflow 1.0  built-in:debate-workflow
                A structured debate with openings, rebuttals and a verdict
            default-workflow 1.0  built-in:default-workflow
                Understand, plan, implement, check, review, commit and, if asked, publish
            develop-cycle 1.0  built-in:develop-cycle
                One pass of check, review and fix over the work in a directory
            hello 1.0  recipes/hello.yaml
                Greets
            investigation-workflow 1.0  built-in:investigation-workflow
                Three agents investigate in parallel, a fourth one weighs what they found
            n-version-workflow 1.0  built-in:n-version-workflow
                Three independent solutions in git worktrees; the best one that passes your
                  check
            orchestrator-round 1.0  built-in:orchestrator-round
                One round of a task, from its execution to the verdict
            parallel-workstreams 1.0  built-in:parallel-workstreams
                Several tasks at the same time, each on a branch of its own
            qa-workflow 1.0  built-in:qa-workflow
                One agent answers one question, and changes nothing
            quality-audit-cycle 1.0  built-in:quality-audit-cycle
                An agent fixes what your check finds, until it passes or two rounds are over
            smart-orchestrator 1.0  built-in:smart-orchestrator
                Classify a task, carry it out in rounds, judge it by evidence
            verification-workflow 1.0  built-in:verification-workflow
                A trivial change made by an agent and verified by a command of yours
            worktree-setup 1.0  built-in:worktree-setup
                A git worktree and branch for a task, made or found again
            Your own recipes: put them into `recipes` in your project, or into a directory
            that you name with `-R DIR`. `NAME` also runs `./NAME.yaml`; a file is run by
            its path.
        "#]],
    );
}

#[test]
fn stored_runs() {
    let env = with(&[HELLO]);
    env.run(["hello.yaml"]);
    env.text(
        "name: nightly-build\nsteps: [{id: a, command: 'echo the compiler found 3 errors >&2; exit 1'}]\n",
        &[],
    );
    check_screen(
        &env,
        NARROW,
        "$RUNNER runs",
        expect![[r#"
        RUN                      STATUS     STARTED   TOOK  RECIPE
        RUN-2  failed     just now  0.0s  nightly-build
            bash step failed: exit code 1
        RUN-1  completed  just now  0.0s  hello
    "#]],
    );
    check_screen(
        &env,
        WIDE,
        "$RUNNER runs",
        expect![[r#"
        RUN                      STATUS     STARTED   TOOK  RECIPE
        RUN-2  failed     just now  0.0s  nightly-build  bash step failed: exit code 1
        RUN-1  completed  just now  0.0s  hello
    "#]],
    );
}

#[test]
fn a_run_is_shown_with_its_logs() {
    let env = with(&[]);
    env.text(
        "name: build\nsteps:\n- {id: a, command: 'echo one; echo two >&2'}\n- {id: b, command: 'echo three >&2; exit 3'}\n",
        &[],
    );
    let screen = env.screen(NARROW.0, NARROW.1, "$RUNNER show");
    // the lines with paths depend on the machine
    let is_path = |line: &&String| {
        ["  recipe", "  directory", "  files", "    /"].iter().any(|start| line.starts_with(start))
    };
    let lines: Vec<String> = screen.lines().iter().filter(|line| !is_path(line)).cloned().collect();
    expect![[r#"
        last run of `build`: RUN-1
        run RUN-1: failed
          started    DATE TIME (just now)
          took       0.0s
          requested  by USER (cli)
        steps
          ✓ a completed in 0.0s
          ✗ b failed after 0.0s: exit code 3

        error: failed at b: exit code 3 (after 0.0s)
          stderr: three
          resume:  recipe-runner-rs resume RUN-1
          logs:    recipe-runner-rs logs RUN-1 b"#]]
    .assert_eq(&env.stable(&lines.join("\n")));
    check_screen(
        &env,
        NARROW,
        "$RUNNER logs",
        expect![[r#"
        last run of `build`: RUN-1
        ==> a <==
        one
        two
        ==> b <==
        three
    "#]],
    );
}

#[test]
fn mistakes_in_a_recipe() {
    let env = with(&[(
        "bad.yaml",
        r#"
        name: bad
        context: {crate: parser}
        steps:
          - id: test
            command: cargo test -p {{crat}}
            if: crate == 'parser'

          - id: publish it
            comand: cargo publish -p {{crate}}
            condition: test.ok = true and crate == 'the name of a crate that is longer than the line'
        "#,
    )]);
    check_screen(
        &env,
        NARROW,
        "$RUNNER validate bad.yaml",
        expect![[r#"
            warning[undefined-variable]: nothing defines `crat` before this step
             --> bad.yaml:5:28
              |
            5 |     command: cargo test -p {{crat}}
              |                            ^^^^^^^^ did you mean `crate`?

            error[foreign-field]: a step has no field `if`: did you mean `condition`?
             --> bad.yaml:6:5
              |
            6 |     if: crate == 'parser'
              |     ^^ would be ignored
              |
              = help: write `condition: …`, an expression such as `status == 'ok'`

            error[bad-id]: this id cannot be used as a name
             --> bad.yaml:8:9
              |
            8 |   - id: publish it
              |         ^^^^^^^^^^
              |
              = help: use letters, digits, `_`, `-` and `.`, and do not begin with `-`; a
                title for people goes under `name`

            error[field-typo]: unknown field `comand` in a step: did you mean `command`?
             --> bad.yaml:9:5
              |
            9 |     comand: cargo publish -p {{crate}}
              |     ^^^^^^ not a known field
              |
              = help: write `command:`

            error[condition-syntax]: unexpected `=`: write `==`
              --> bad.yaml:10:24
               |
            10 |     condition: test.ok = true and crate == 'the name of a crate that is ...
               |                        ^
               |
               = help: write `==`

            4 errors, 1 warning in bad.yaml
        "#]],
    );
}

#[test]
fn a_first_recipe() {
    check_screen(
        &with(&[]),
        NARROW,
        "$RUNNER init",
        expect![[r#"
            recipe.yaml: found no Cargo.toml, package.json, pyproject.toml, go.mod or
              Makefile, so this is a placeholder: replace its command
              hello    echo "Hello from $(basename "$PWD")"
              review   asks an agent, with --set with_agent=yes
            Editors complete and check the recipe with recipe.schema.json beside it.
            Test it, without an agent:  recipe-runner-rs test recipe.test.yaml
            Run it:  recipe-runner-rs recipe.yaml
        "#]],
    );
}

#[test]
fn help_fits() {
    let env = with(&[]);
    for line in ["$RUNNER help", "$RUNNER --help", "$RUNNER", "$RUNNER help run", "$RUNNER resume --help"] {
        let screen = env.screen(NARROW.0, NARROW.1, line);
        assert!(screen.broken_lines().is_empty(), "{line}\n{}", screen.text());
        let is_short = !line.contains("run") && !line.contains("resume");
        assert!(!is_short || screen.lines().len() <= 40, "{line}\n{}", screen.text());
    }
}

#[test]
fn a_check_of_the_machine() {
    let env = with(&[]);
    let screen = env.screen(NARROW.0, NARROW.1, "$RUNNER doctor");
    let text = screen.text();
    // versions and paths depend on the machine
    for part in ["✓ bash ", "✓ git ", "– codex ", "Recipes can run here."] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let broken: Vec<String> =
        screen.broken_lines().into_iter().filter(|line| line.trim().contains(' ')).collect();
    assert!(broken.is_empty(), "{broken:?}\n{text}");
}

#[test]
fn a_pipe_gets_whole_lines() {
    let env = with(&[DEPLOY]).agent("claude", "result ok");
    let screen = env.screen(NARROW.0, NARROW.1, "$RUNNER explain deploy.yaml | grep make");
    assert_eq!(screen.broken_lines().len(), 1, "{}", screen.text());
}
