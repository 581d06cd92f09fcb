//! Outputs of runs and resumes.

use expect_test::expect;

use crate::{HELLO, RELEASE, check, with};

#[test]
fn a_completed_run() {
    check(
        &with(&[HELLO]),
        &["hello.yaml"],
        expect![[r#"
            exit code 0
            --- stdout
            Hello world
              ✓ greet completed in 0.0s
            recipe 'hello': completed in 0.0s (1 completed, run RUN-1)
            --- stderr
            [recipe hello] started: 1 step, run RUN-1
            [step 01/01 greet] started (bash)
            [step 01/01 greet] completed in 0.0s
            [recipe hello] completed in 0.0s: 1 completed
        "#]],
    );
}

#[test]
fn a_failed_run() {
    check(
        &with(&[RELEASE]),
        &["release.yaml"],
        expect![[r#"
            exit code 1
            --- stdout
            built
              ✓ build completed in 0.0s
              ✗ publish failed after 0.0s: exit code 1
            recipe 'release': failed after 0.0s (1 completed, 1 failed, run RUN-1)
            --- stderr
            note[ignored-lines]: only the last line of this command decides whether the step fails
             --> release.yaml:7:14
              |
            7 |     command: |
              |              ^
              |
              = help: write `shell: strict` at the top of the recipe, so that the first failure ends a command; `shell: bash` keeps it as it is

            1 note in release.yaml
            [recipe release] started: 2 steps, run RUN-1
            [step 01/02 build] started (bash)
            [step 01/02 build] completed in 0.0s
            [step 02/02 publish] started (bash)
            ! no credentials
            [step 02/02 publish] failed after 0.0s: exit code 1
            [recipe release] failed after 0.0s: 1 completed, 1 failed

            error: failed at publish: exit code 1 (after 0.0s)
              stderr: no credentials
              likely cause: `publish` found a real problem. Fix the code, not the check
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1 publish
        "#]],
    );
}

#[test]
fn a_failed_parallel_group() {
    let recipe = r#"
        name: checks
        steps:
          - id: lint
            command: exit 3
            parallel_group: checks

          - id: unit
            command: echo "2 tests failed" >&2; exit 4
            parallel_group: checks

          - id: publish
            command: echo published
    "#;
    // the members run at the same time, so only the order of the result is fixed
    check(
        &with(&[("checks.yaml", recipe)]),
        &["checks.yaml", "--quiet"],
        expect![[r#"
            exit code 1
            --- stdout
              ✗ lint failed after 0.0s: exit code 3, no output
              ✗ unit failed after 0.0s: exit code 4
              · publish pending
            recipe 'checks': failed after 0.0s (2 failed, 1 pending, run RUN-1)
            --- stderr

            error: failed at lint: exit code 3, no output (after 0.0s)
            error: failed at unit: exit code 4 (after 0.0s)
              stderr: 2 tests failed
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1
        "#]],
    );
}

#[test]
fn a_run_that_waits_for_a_person() {
    let recipe = r#"
        name: approve
        steps:
          - id: approval
            command: echo "create the file 'approved'"; exit 75
            exit_codes:
              75: needs_human

          - id: deploy
            command: echo deployed
    "#;
    check(
        &with(&[("approve.yaml", recipe)]),
        &["approve.yaml"],
        expect![[r#"
            exit code 6
            --- stdout
            create the file 'approved'
              ⏸ approval waiting for a person
              · deploy pending
            recipe 'approve': waiting after 0.0s (1 waiting, 1 pending, run RUN-1)
            --- stderr
            [recipe approve] started: 2 steps, run RUN-1
            [step 01/02 approval] started (bash)
            [step 01/02 approval] waiting for a person (exit code 75)
            [recipe approve] waiting after 0.0s: 1 waiting, 1 pending

            ⏸ approval is waiting for you: create the file 'approved'
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1 approval
        "#]],
    );
}

#[test]
fn a_plan_and_a_resume_after_a_fix() {
    let env = with(&[RELEASE]);
    assert_eq!(env.run(["release.yaml"]).code, 1);
    check(
        &env,
        &["resume", "last", "--plan"],
        expect![[r#"
            exit code 0
            --- stdout
            keep     build  (it is done)
            re-run   publish  (it failed)
            resumes at `publish`
            --- stderr
        "#]],
    );
    env.write("credentials", "");
    check(
        &env,
        &["resume", "last"],
        expect![[r#"
            exit code 0
            --- stdout
              ✓ build completed in 0.0s
              ✓ publish completed in 0.0s, 2 attempts
            recipe 'release': completed in 0.0s (2 completed, run RUN-1)
            --- stderr
            [recipe release] resumed: 1 of 2 steps already done
            [step 02/02 publish] started (bash, attempt 2)
            ! no credentials
            [step 02/02 publish] completed in 0.0s (attempt 2)
            [recipe release] completed in 0.0s: 2 completed
        "#]],
    );
}

#[test]
fn a_cancelled_run() {
    let env = with(&[("slow.yaml", "name: slow\nsteps: [{id: wait, command: echo > started; sleep 60}]")]);
    let run = env.spawn(["slow.yaml"]);
    env.wait_for("started");
    check(
        &env,
        &["cancel", "last"],
        expect![[r#"
            exit code 0
            --- stdout
            run RUN-1 cancelled; all its processes have ended
            --- stderr
        "#]],
    );
    expect![[r#"
        exit code 130
        --- stdout
          ■ wait interrupted after 0.0s
        recipe 'slow': cancelled after 0.0s (1 interrupted, run RUN-1)
        --- stderr
        [recipe slow] started: 1 step, run RUN-1
        [step 01/01 wait] started (bash)
        [run] cancelled: stopping running steps
        [step 01/01 wait] interrupted after 0.0s
        [recipe slow] cancelled after 0.0s: 1 interrupted

        cancelled. Completed steps are saved
          resume:  recipe-runner-rs resume RUN-1
          logs:    recipe-runner-rs logs RUN-1
    "#]]
    .assert_eq(&env.stable(&run.wait().all()));
}
