//! Runs on the screen of a real terminal.

use expect_test::expect;
use testkit::until;

use crate::{NARROW, WIDE, check_screen, same_screen, with};

/// Steps alone and at the same time, until a file lets them go on; the last one needs another file.
const BUILD: (&str, &str) = (
    "build.yaml",
    r#"
    name: build
    shell: strict
    steps:
      - id: fetch
        command: echo "fetched 214 files"

      - id: lint
        parallel_group: checks
        command: |
          echo "checking src/lib.rs, src/parse.rs and all of the other files"
          touch linting
          until test -e go; do sleep 0.05; done

      - id: unit-tests
        parallel_group: checks
        command: |
          until test -e linting; do sleep 0.05; done
          echo "test parse ... ok" >&2
          until test -e go; do sleep 0.05; done
          sleep 0.5

      - id: publish
        command: |
          bash upload

      - id: announce
        command: echo "it is out"
    "#,
);
const UPLOAD: (&str, &str) =
    ("upload", "test -e credentials || { echo 'upload: not logged in to the registry' >&2; exit 4; }\n");

#[test]
fn the_live_view_of_parallel_steps() {
    for (size, expected) in [
        (
            NARROW,
            expect![[r#"
        ▶ build: 5 steps, run RUN-1
        fetched 214 files
        ✓ fetch (1/5) 0.0s
        lint       │ checking src/lib.rs, src/parse.rs and all of the other files
        unit-tests ! test parse ... ok
        ▶ lint       2/5  0s  checking src/lib.rs, src/parse.rs and all of the other f…
        ▶ unit-tests 3/5  0s  test parse ... ok
        1 of 5 done, 0s, build
    "#]],
        ),
        (
            WIDE,
            expect![[r#"
        ▶ build: 5 steps, run RUN-1
        fetched 214 files
        ✓ fetch (1/5) 0.0s
        lint       │ checking src/lib.rs, src/parse.rs and all of the other files
        unit-tests ! test parse ... ok
        ▶ lint       2/5  0s  checking src/lib.rs, src/parse.rs and all of the other files
        ▶ unit-tests 3/5  0s  test parse ... ok
        1 of 5 done, 0s, build
    "#]],
        ),
    ] {
        let env = with(&[BUILD, UPLOAD]);
        let run = env.terminal(size.0, size.1, "$RUNNER build.yaml");
        until("both steps are shown", || run.screen().text().contains("! test parse ... ok"));
        same_screen(&env, &run.screen_with("1 of 5 done, 2s"), expected);
        env.write("go", "");
        run.wait();
    }
}

#[test]
fn a_failure_and_its_resume() {
    for (size, failed, resumed) in [
        (
            NARROW,
            expect![[r#"
            ▶ release: 3 steps, run RUN-1
            fetched
            ✓ fetch (1/3) 0.0s
            ! upload: not logged in to the registry
            ✗ publish (2/3) failed after 0.0s: exit code 4
            recipe 'release': failed after 0.0s (1 completed, 1 failed, 1 pending, run
              RUN-1)

            error: failed at publish: exit code 4 (after 0.0s)
              stderr: upload: not logged in to the registry
              likely cause: a login is missing or was refused. Log in again, or renew the
                token or key that the step uses
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1 publish
        "#]],
            expect![[r#"
            last run of `release`: RUN-1
            ▶ resuming release: 1 of 3 steps already done
            ✓ publish (2/3) 0.0s
            it is out
            ✓ announce (3/3) 0.0s
            recipe 'release': completed in 0.0s (3 completed, run RUN-1)
        "#]],
        ),
        (
            WIDE,
            expect![[r#"
            ▶ release: 3 steps, run RUN-1
            fetched
            ✓ fetch (1/3) 0.0s
            ! upload: not logged in to the registry
            ✗ publish (2/3) failed after 0.0s: exit code 4
            recipe 'release': failed after 0.0s (1 completed, 1 failed, 1 pending, run RUN-1)

            error: failed at publish: exit code 4 (after 0.0s)
              stderr: upload: not logged in to the registry
              likely cause: a login is missing or was refused. Log in again, or renew the token or key that the step uses
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1 publish
        "#]],
            expect![[r#"
            last run of `release`: RUN-1
            ▶ resuming release: 1 of 3 steps already done
            ✓ publish (2/3) 0.0s
            it is out
            ✓ announce (3/3) 0.0s
            recipe 'release': completed in 0.0s (3 completed, run RUN-1)
        "#]],
        ),
    ] {
        let env = with(&[("upload", UPLOAD.1)]);
        env.write("build.yaml", RELEASE);
        check_screen(&env, size, "$RUNNER build.yaml", failed);
        env.write("credentials", "");
        check_screen(&env, size, "$RUNNER resume", resumed);
    }
}

/// A step that succeeds, one that fails until there are credentials, and one after it.
const RELEASE: &str = "name: release\nsteps:\n- {id: fetch, command: echo fetched}\n- {id: publish, command: bash upload}\n- {id: announce, command: echo it is out}\n";

#[test]
fn failures_at_the_same_time() {
    let env = with(&[]);
    env.write(
        "r.yaml",
        "name: checks\nsteps:\n\
         - {id: lint, parallel_group: g, command: 'echo \"src/lib.rs:12: unused variable\" >&2; exit 3'}\n\
         - {id: unit, parallel_group: g, command: 'sleep 0.3; echo \"2 tests failed\" >&2; exit 4'}\n",
    );
    check_screen(
        &env,
        NARROW,
        "$RUNNER r.yaml",
        expect![[r#"
        ▶ checks: 2 steps, run RUN-1
        lint ! src/lib.rs:12: unused variable
        ✗ lint (1/2) failed after 0.0s: exit code 3
        unit ! 2 tests failed
        ✗ unit (2/2) failed after 0.0s: exit code 4
        recipe 'checks': failed after 0.0s (2 failed, run RUN-1)

        error: failed at lint: exit code 3 (after 0.0s)
          stderr: src/lib.rs:12: unused variable
        error: failed at unit: exit code 4 (after 0.0s)
          stderr: 2 tests failed
          resume:  recipe-runner-rs resume RUN-1
          logs:    recipe-runner-rs logs RUN-1
    "#]],
    );
}

/// A question with three answers and a field.
const ASK: (&str, &str) = (
    "ask.yaml",
    r#"
    name: release
    steps:
      - id: notes
        command: echo "three fixes"

      - id: approve
        ask: Release 1.4.0 to production now, although two of the tests are slow?
        show: ["{{notes}}"]
        choices: [approve, reject, later]
        fields: [{name: reason, type: text}]

      - id: tag
        command: echo "tagged because {{approve.reason}}"
    "#,
);

#[test]
fn a_question_at_the_terminal() {
    let env = with(&[ASK]);
    let mut run = env.terminal(NARROW.0, NARROW.1, "$RUNNER ask.yaml");
    run.screen_with("approve / reject / later?");
    run.keys("approve\n");
    run.screen_with("reason (text, optional)?");
    run.keys("all is well\n");
    same_screen(
        &env,
        &run.wait(),
        expect![[r#"
            ▶ release: 3 steps, run RUN-1
            three fixes
            ✓ notes (1/3) 0.0s
            ? approve: Release 1.4.0 to production now, although two of the tests are slow?
              shown (11 bytes)
              │ three fixes
            ? approve: answered `approve` by USER via terminal
            ✓ approve (2/3) 0.0s
            tagged because all is well
            ✓ tag (3/3) 0.0s
            recipe 'release': completed in 0.0s (3 completed, run RUN-1)
        "#]],
    );
}

#[test]
fn a_question_that_waits_and_its_answer() {
    let env = with(&[ASK]);
    let screen = env.screen(NARROW.0, NARROW.1, "$RUNNER ask.yaml </dev/null");
    let shown = |line: &&String| !line.contains("/steps/approve/");
    let text = screen.lines().iter().filter(shown).cloned().collect::<Vec<_>>().join("\n");
    expect![[r#"
        ▶ release: 3 steps, run RUN-1
        three fixes
        ✓ notes (1/3) 0.0s
        ? approve: waiting for a person (approve or reject or later): Release 1.4.0 to
          production now, although two of the tests are slow?
        recipe 'release': waiting after 0.0s (1 completed, 1 waiting, 1 pending, run
          RUN-1)

        ⏸ approve is waiting for you: Release 1.4.0 to production now, although two of
          the tests are slow?
          shown: text (11 bytes):
          answer:  recipe-runner-rs answer RUN-1 approve approve
                   recipe-runner-rs answer RUN-1 approve reject
                   recipe-runner-rs answer RUN-1 approve later"#]]
    .assert_eq(&env.stable(&text));
    check_screen(
        &env,
        NARROW,
        "$RUNNER answer last approve approve --set reason=fine </dev/null",
        expect![[r#"
            ▶ resuming release: 1 of 3 steps already done
            ✓ approve (2/3) 0.0s
            tagged because fine
            ✓ tag (3/3) 0.0s
            recipe 'release': completed in 0.0s (3 completed, run RUN-1)
        "#]],
    );
}

#[test]
fn ctrl_c() {
    let env = with(&[]);
    env.write(
        "r.yaml",
        "name: slow\nsteps:\n- {id: a, command: 'echo working; sleep 60'}\n- {id: b, command: echo after}\n- {id: tidy, when: always, command: echo tidied}\n",
    );
    let mut run = env.terminal(NARROW.0, NARROW.1, "$RUNNER r.yaml");
    run.screen_with("working");
    run.screen_with("0 of 3 done");
    run.keys("\u{3}");
    same_screen(
        &env,
        &run.wait(),
        expect![[r#"
            ▶ slow: 3 steps, run RUN-1
            working
            ⚠ interrupted: stopping running steps
            ■ a (1/3) interrupted after 0.0s
            tidied
            ✓ tidy (3/3) 0.0s
            recipe 'slow': interrupted after 0.0s (1 completed, 1 interrupted, 1 pending,
              run RUN-1)

            interrupted. Completed steps are saved
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1
        "#]],
    );
}

#[test]
fn a_cancelled_run() {
    let env = with(&[]);
    env.write(
        "r.yaml",
        "name: slow\nsteps:\n- {id: a, command: 'echo x >there; sleep 60'}\n- {id: b, command: echo after}\n",
    );
    let run = env.terminal(NARROW.0, NARROW.1, "$RUNNER r.yaml");
    env.wait_for("there");
    check_screen(
        &env,
        NARROW,
        "$RUNNER cancel",
        expect![[r#"
        last run of `slow`: RUN-1
        run RUN-1 cancelled; all its processes have ended
    "#]],
    );
    same_screen(
        &env,
        &run.wait(),
        expect![[r#"
            ▶ slow: 2 steps, run RUN-1
            ⚠ cancelled: stopping running steps
            ■ a (1/2) interrupted after 0.0s
            recipe 'slow': cancelled after 0.0s (1 interrupted, 1 pending, run
              RUN-1)

            cancelled. Completed steps are saved
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1
        "#]],
    );
}

#[test]
fn an_automatic_repair() {
    let env = with(&[]).agent("claude", "if test -e once; then echo good >work; else touch once; fi\nresult 'I wrote the file called work. It has one line, and the check that comes next reads it.'");
    env.write(
        "r.yaml",
        "name: fix\nsteps:\n- {id: write, prompt: write good into the file work}\n- {id: check, command: grep good work, reads: [work]}\n",
    );
    check_screen(
        &env,
        NARROW,
        "$RUNNER r.yaml --auto-fix </dev/null",
        expect![[r#"
            ▶ fix: 2 steps, run RUN-1
            I wrote the file called work. It has one line, and the check that comes next
            reads it.
            ✓ write (1/2) 0.0s
            ! grep: work: No such file or directory
            ✗ check (2/2) failed after 0.0s: exit code 2
            ▶ resuming fix: 0 of 2 steps already done; re-runs: write
            I wrote the file called work. It has one line, and the check that comes next
            reads it.
            ✓ write (1/2) 0.0s
            good
            ✓ check (2/2) 0.0s
            recipe 'fix': completed in 0.0s (2 completed, run RUN-1)
            agents: 2 calls, model zoo-model, tokens 240, cost $0.5000
            auto-fix: completed after 2 attempts
              attempt 1: step `check` failed; re-run: write, check
        "#]],
    );
}
