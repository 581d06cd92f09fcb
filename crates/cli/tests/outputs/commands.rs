//! Outputs of commands that run no step.

use expect_test::expect;

use crate::{HELLO, RELEASE, check, with};

#[test]
fn help() {
    check(
        &with(&[]),
        &["--help"],
        expect![[r#"
            exit code 0
            --- stdout
            Runs recipes: workflows of shell commands, coding agents and sub-recipes
            Usage: recipe-runner-rs [OPTIONS] RECIPE | COMMAND …

            Recipes:
              run          Run a recipe (the same as the recipe alone)
              do           Have a task in plain words done, and judge the result by evidence
              validate     Check recipes and test files, without running anything
              lint         Find weak spots of valid recipes, such as checks that cannot fail
              test         Run the cases of test files, with answers in place of agents
              explain      Explain a recipe: its steps, conditions, limits and sub-recipes
              list         List the recipes that can be run by name
              init         Write a first recipe for the project in this directory
              generate     Write a recipe, its tests and a record from a spec in plain words

            Runs:
              runs         List past and present runs, newest first
              show         Show one run
              logs         Show the output of a run's steps
              why          Say why a step of a run ran, was skipped, kept or re-run
              resume       Resume an interrupted, failed or waiting run
              waiting      List the questions that wait for a person, oldest first
              answer       Answer a question of a run, and resume the run
              cancel       Stop a run
              prune        Remove old runs
              health       Show how reliable recipes are, from stored runs

            More:
              doctor       Check this machine: which programs are found or missing
              branch-name  Turn any text into the name of a git branch
              schema       Print the JSON Schema of recipes, or of test files
              completions  Print completions for a shell
              manifest     Write the digests of a directory's recipes, or compare them
              sync         Compare local recipes with those of a git remote
              compat       Stand in for `amplihack`, for recipes that call it
              orch         Rules for tasks and answers of agents, for use in recipes
              man          Print the manual page, or write those of all commands
              help         Print the help of the program or of a command

            Options: -c, --set KEY=VALUE · --dry-run · -C, --working-dir DIR · -V, --version
              --output-format FORMAT; all: `recipe-runner-rs run --help`
            --- stderr
        "#]],
    );
}

#[test]
fn no_arguments() {
    check(
        &with(&[]),
        &[],
        expect![[r#"
            exit code 4
            --- stdout
            --- stderr
            recipe-runner-rs runs recipes: YAML files whose steps are shell commands, coding
            agents and other recipes. It checks a recipe first, and a run can be resumed.

            Run shell commands
              Write a recipe with the build and test commands of this project, and tests:
                recipe-runner-rs init

            Use a coding agent
              Give it a task in plain words: recipe-runner-rs do TASK
              See first which agent programs this machine has:
                recipe-runner-rs doctor

            Look around
              See the recipes that can run here, and the steps of one. Nothing is executed:
                recipe-runner-rs list
                recipe-runner-rs explain verification-workflow

            All commands and options:
                recipe-runner-rs --help
        "#]],
    );
}

#[test]
fn a_validation_error() {
    let recipe = r#"
        name: broken
        steps:
          - id: greet
            comand: echo hello
          - id: ask
            command: echo hello
            condition: count = 3
    "#;
    check(
        &with(&[("broken.yaml", recipe)]),
        &["validate", "broken.yaml"],
        expect![[r#"
            exit code 2
            --- stdout
            --- stderr
            error[field-typo]: unknown field `comand` in a step: did you mean `command`?
             --> broken.yaml:4:5
              |
            4 |     comand: echo hello
              |     ^^^^^^ not a known field
              |
              = help: write `command:`

            error[condition-syntax]: unexpected `=`: write `==`
             --> broken.yaml:7:22
              |
            7 |     condition: count = 3
              |                      ^
              |
              = help: write `==`

            2 errors in broken.yaml
        "#]],
    );
}

#[test]
fn a_misspelt_command() {
    check(
        &with(&[RELEASE]),
        &["validte", "release.yaml"],
        expect![[r#"
            exit code 2
            --- stdout
            --- stderr
            error: unexpected argument `release.yaml`
              did you mean the command `validate`?
        "#]],
    );
}

#[test]
fn a_misspelt_recipe() {
    check(
        &with(&[RELEASE]),
        &["relaese.yaml"],
        expect![[r#"
            exit code 3
            --- stdout
            --- stderr
            error: recipe `relaese.yaml` not found
              did you mean the file `release.yaml`?
              looked in:
                /project/relaese.yaml
                .
                recipes
                ~/.amplihack/.claude/recipes
                amplifier-bundle/recipes
                src/amplihack/amplifier-bundle/recipes
                .claude/recipes
                ~/.amplihack/amplifier-bundle/recipes
              `recipe-runner-rs list` shows all recipes; `-R DIR` adds a directory
        "#]],
    );
}

#[test]
fn a_dry_run() {
    check(
        &with(&[HELLO]),
        &["hello.yaml", "--dry-run"],
        expect![[r#"
            exit code 0
            --- stdout
              ⊘ greet skipped: dry run: would run: echo "Hello world"
            recipe 'hello': dry run, nothing was executed (1 skipped)
            --- stderr
        "#]],
    );
}

#[test]
fn an_explanation() {
    let recipe = r#"
        name: review
        description: Reviews a change
        inputs:
          - name: branch
            required: true
        steps:
          - id: diff
            command: git diff {{branch}}
            timeout: 20

          - id: notes
            prompt: Summarise {{diff}}
            condition: len(diff) > 0
            agent_binary: claude

          - id: release
            recipe: release
            depends_on: [notes]
    "#;
    let env = with(&[("review.yaml", recipe), RELEASE]).env("PATH", "/nowhere");
    check(
        &env,
        &["explain", "review.yaml"],
        expect![[r#"
            exit code 0
            --- stdout
            Recipe: review
            Version: 1.0
            Description: Reviews a change
            File: review.yaml
            Limits: max_depth 6 (default), max_total_steps 200 (default)
            Inputs:
              branch (text, required)
            Steps:
              1. diff [bash]
                 Command: git diff {{branch}}
                 Output: diff
                 Timeout: 20 s
              2. notes [agent]
                 Condition: len(diff) > 0   (reads diff)
                 Program: claude (`claude` is not found in PATH)
                 Prompt: Summarise {{diff}}
                 Output: notes
                 Needs: diff (value diff)
              3. release [recipe]
                 Output: release
                 Needs: notes (depends_on)
                 Recipe: release (release.yaml)
                   3.1. build [bash]
                      Command: echo built
                      Output: build
                   3.2. publish [bash]
                      Command:
                        echo "no credentials" >&2
                        test -e credentials
                      Output: publish
            --- stderr
            note[ignored-lines]: only the last line of this command decides whether the step fails
             --> release.yaml:7:14
              |
            7 |     command: |
              |              ^
              |
              = help: write `shell: strict` at the top of the recipe, so that the first failure ends a command; `shell: bash` keeps it as it is

            1 note in release.yaml
        "#]],
    );
}

#[test]
fn a_list() {
    let env = with(&[(".claude/recipes/hello.yaml", HELLO.1)]);
    check(
        &env,
        &["list"],
        expect![[r#"
            exit code 0
            --- stdout
            cascade-workflow 1.0  built-in:cascade-workflow
                Up to three attempts, each with the next model and the failure of the last one
            consensus-workflow 1.0  built-in:consensus-workflow
                Three independent votes; two of three decide
            debate-workflow 1.0  built-in:debate-workflow
                A structured debate with openings, rebuttals and a verdict
            default-workflow 1.0  built-in:default-workflow
                Understand, plan, implement, check, review, commit and, if asked, publish
            develop-cycle 1.0  built-in:develop-cycle
                One pass of check, review and fix over the work in a directory
            hello 1.0  .claude/recipes/hello.yaml
                Greets
            investigation-workflow 1.0  built-in:investigation-workflow
                Three agents investigate in parallel, a fourth one weighs what they found
            n-version-workflow 1.0  built-in:n-version-workflow
                Three independent solutions in git worktrees; the best one that passes your check
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
            --- stderr
            Your own recipes: put them into `recipes` in your project, or into a directory
            that you name with `-R DIR`. `NAME` also runs `./NAME.yaml`; a file is run by
            its path.
        "#]],
    );
}

#[test]
fn a_first_recipe() {
    let env = with(&[]).file("Makefile", "all:\n\t@echo built\ntest: all\n\t@echo tested\n");
    check(
        &env,
        &["init"],
        expect![[r#"
            exit code 0
            --- stdout
            recipe.yaml: Makefile is here and has the target `test`
              build    make
              test     make test
              review   asks an agent, with --set with_agent=yes
            Editors complete and check the recipe with recipe.schema.json beside it.
            Test it, without an agent:  recipe-runner-rs test recipe.test.yaml
            Run it:  recipe-runner-rs recipe.yaml
            --- stderr
        "#]],
    );
}

#[test]
fn a_check_of_the_machine() {
    let env = with(&[]);
    // no agent program of this machine is found
    let output = env.shell("mkdir ../bin; ln -s $(command -v git) ../bin/; PATH=$PWD/../bin $RUNNER doctor");
    // versions and paths differ between machines
    let masked = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["✓", name @ ("recipe-runner-rs" | "bash" | "git"), ..] => format!("✓ {name} …\n"),
        _ => format!("{line}\n"),
    };
    let text: String = env.stable(&output.all()).lines().map(masked).collect();
    expect![[r#"
        exit code 0
        --- stdout
        ✓ recipe-runner-rs …
        ✓ bash …
        ✓ git …
        ✓ state directory  /state
        – amplifier        absent (not found in PATH)
        – claude           absent (not found in PATH), default agent
            fix: install it, or choose another one with `--agent-binary NAME`
        – codex            absent (not found in PATH)
        – copilot          absent (not found in PATH)
        – gemini           absent (not found in PATH)
        – opencode         absent (not found in PATH)

        Recipes can run here. Agent logins were not checked (`doctor --agents` does).
        --- stderr
    "#]]
    .assert_eq(&text);
}
