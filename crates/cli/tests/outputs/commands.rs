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

            Usage: recipe-runner-rs [OPTIONS] RECIPE
                   recipe-runner-rs [OPTIONS] COMMAND …

            Commands:
              run          Run a recipe (the same as the recipe alone)
              validate     Check recipes completely and show every problem, without running anything
              explain      Explain a recipe: its steps, conditions, limits and sub-recipes
              list         List the recipes that can be run by name
              runs         List past and present runs, newest first
              show         Show one run
              logs         Show the output of a run's steps
              resume       Resume an interrupted, failed or waiting run
              cancel       Stop a run
              prune        Remove old runs
              health       Show how reliable recipes are, from stored runs
              init         Write a first recipe for the project in this directory
              doctor       Check this machine: programs found and missing, with a fix for each problem
              branch-name  Turn any text into the name of a git branch
              schema       Print the JSON Schema of recipes
              completions  Print completions for a shell
              manifest     Write down the digests of a directory's recipes, or compare with them
              sync         Compare local recipes with those of a git remote; nothing is overwritten

            Arguments:
              [RECIPE]  Recipe file, or the name of a recipe in a search directory

            Options:
              -C, --working-dir <DIR>         Directory that the recipe works in
              -R, --recipe-dir <DIR>          Search this directory for recipes first; may be given several
                                              times
              -c, --set <KEY=VALUE>           Set a context variable; may be given several times
                  --context-file <FILE>       Read context variables from a JSON or YAML file; may be given
                                              several times, the later one wins
                  --include-tags <TAGS>       Of the tagged steps, run only those with one of these tags
                                              (comma-separated)
                  --exclude-tags <TAGS>       Skip steps with one of these tags (comma-separated)
                  --strict                    Treat warnings as errors
                  --output-format <FORMAT>    How the result is written [default: text] [possible values: text,
                                              json]
                  --validate-only             Check the recipe and everything it names, then stop
                  --explain                   Explain the recipe, then stop
                  --graph <KIND>              With `--explain`: print the graph of the steps instead [possible
                                              values: mermaid, dot]
                  --start-from <STEP>         Resume an earlier run of this recipe at this step
                  --previous-run-id <RUN>     The earlier run to resume
              -y, --yes                       With `--previous-run-id`: do not ask before completed agent steps
                                              run again
                  --dry-run                   Walk through the whole recipe and show what would run, without
                                              executing anything
                  --progress                  Show steps on stderr as they start and end
                  --quiet                     Show nothing but the result and errors
                  --verbose                   Show commands and prompts in full, also in the dry run of a long
                                              recipe
                  --no-auto-stage             Do not stage files that agents changed
                  --audit-dir <DIR>           Write a log with one JSON line per step into this directory
                  --agent-binary <NAME>       Agent program for steps that name none
                  --step-timeout <SECONDS>    Timeout in seconds for bash and agent steps that have none
                  --max-parallel <N>          How many steps of a parallel group run at the same time: 64 if
                                              left out
                  --max-agents <N>            How many agents work at the same time
                  --budget-usd <USD>          Maximum cost of agents in dollars
                  --budget-tokens <N>         Maximum number of tokens for agents
                  --budget-agent-runs <N>     Maximum number of agent calls
                  --budget-minutes <MINUTES>  Maximum minutes of agent work, added up
                  --recovery <MODE>           When an agent may finish the work of a failed sub-recipe:
                                              `declared` if left out [possible values: declared, always, off]
                  --auto-fix[=<N>]            Diagnose, repair and resume automatically: at most N runs, 3 if N
                                              is left out
                  --no-auto-fix               Never auto-fix (overrides every other setting)
                  --repair-agent <NAME>       Agent program that repairs recipes; by default that of the run
                  --review-agent <NAME>       Another agent program that decides where no rule decides about a
                                              repair
                  --accept-repairs <MODE>     What happens to a repair that neither a rule nor a review decides:
                                              `ask` if left out [possible values: ask, refuse]
                  --allow-concurrent          Run even if this recipe is already running here
                  --clear-stale               Clear stale locks left by dead runs
                  --compat                    Behave as wrappers of other runners expect: allow 6 runs inside
                                              each other, and name a JSON log on stderr
                  --state-dir <DIR>           Directory that runs are stored in
              -h, --help                      Print help
              -V, --version                   Print version

            A recipe that has the name of a command is run by its path: recipe-runner-rs ./list.yaml
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
            error: no recipe given
              usage: recipe-runner-rs RECIPE [OPTIONS]
              `recipe-runner-rs list` shows recipes, `recipe-runner-rs --help` all commands
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
            recipe 'hello': dry run, nothing was executed in 0.0s (1 skipped)
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
              branch (required)
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
            hello 1.0  .claude/recipes/hello.yaml
                Greets
            investigation-workflow 1.0  built-in:investigation-workflow
                Three agents investigate in parallel, a fourth one weighs what they found
            n-version-workflow 1.0  built-in:n-version-workflow
                Three independent solutions in git worktrees; the best one that passes your check
            qa-workflow 1.0  built-in:qa-workflow
                One agent answers one question, and changes nothing
            quality-audit-cycle 1.0  built-in:quality-audit-cycle
                An agent fixes what your check finds, until it passes or two rounds are over
            verification-workflow 1.0  built-in:verification-workflow
                A trivial change made by an agent and verified by a command of yours
            worktree-setup 1.0  built-in:worktree-setup
                A git worktree and branch for a task, made or found again
            --- stderr
            Your own recipes: put them into `.claude/recipes` of a project, or into a directory that you
            name with `-R DIR`; a file is also run by its path, wherever it is.
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
            Run it:  recipe-runner-rs recipe.yaml
            For completion in editors, beside the recipe:  recipe-runner-rs schema > recipe.schema.json
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
        – claude           not found in PATH; default agent
            fix: install it, or choose another one with `--agent-binary NAME`
        – codex            not found in PATH
        – copilot          not found in PATH
        – gemini           not found in PATH
        – opencode         not found in PATH
        – amplifier        not found in PATH

        Recipes can run here. Agent logins were not checked.
        --- stderr
    "#]]
    .assert_eq(&text);
}
