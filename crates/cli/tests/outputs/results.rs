//! Outputs about stored runs, and the JSON result.

use expect_test::expect;

use crate::{HELLO, RELEASE, check, with};

#[test]
fn stored_runs() {
    let env = with(&[HELLO, RELEASE]);
    assert_eq!(env.run(["hello.yaml"]).code, 0);
    assert_eq!(env.run(["release.yaml"]).code, 1);
    check(
        &env,
        &["runs"],
        expect![[r#"
            exit code 0
            --- stdout
            RUN-2  failed     DATE TIME  0.0s  release  bash step failed: exit code 1
            RUN-1  completed  DATE TIME  0.0s  hello
            --- stderr
        "#]],
    );
    check(
        &env,
        &["logs", "last"],
        expect![[r#"
            exit code 0
            --- stdout
            built
            --- stderr
            ==> build <==
            ==> publish <==
            no credentials
        "#]],
    );
    check(
        &env,
        &["health"],
        expect![[r#"
            exit code 0
            --- stdout
            hello: 1 run, 1 passed (100 %)
              scores: recipe 100, environment 100
              time: 0.0 s on average, 95 % under 0.0 s; retries 0, timeouts 0

            release: 1 run, 0 passed (0 %)
              scores: recipe 0, environment 100
              time: 0.0 s on average, 95 % under 0.0 s; retries 0, timeouts 0
              failures:
                verification 1: RUN-2
            --- stderr
        "#]],
    );
}

#[test]
fn a_completed_run_is_shown() {
    let env = with(&[HELLO]);
    assert_eq!(env.run(["hello.yaml"]).code, 0);
    check(
        &env,
        &["show", "last"],
        expect![[r#"
            exit code 0
            --- stdout
            run RUN-1: completed
              recipe     hello (/project/hello.yaml)
              started    DATE TIME (just now)
              took       0.0s
              directory  /project
              requested  by USER (cli)
              files      /state/runs/RUN-1
            steps
              ✓ greet completed in 0.0s

              logs:    recipe-runner-rs logs RUN-1
            --- stderr
        "#]],
    );
}

#[test]
fn a_failed_run_is_shown() {
    let env = with(&[RELEASE]);
    assert_eq!(env.run(["release.yaml"]).code, 1);
    check(
        &env,
        &["show", "last"],
        expect![[r#"
            exit code 0
            --- stdout
            run RUN-1: failed
              recipe     release (/project/release.yaml)
              started    DATE TIME (just now)
              took       0.0s
              directory  /project
              requested  by USER (cli)
              files      /state/runs/RUN-1
            steps
              ✓ build completed in 0.0s
              ✗ publish failed after 0.0s: exit code 1

            error: failed at publish: exit code 1 (after 0.0s)
              stderr: no credentials
              likely cause: `publish` found a real problem. Fix the code, not the check
              resume:  recipe-runner-rs resume RUN-1
              logs:    recipe-runner-rs logs RUN-1 publish
            --- stderr
        "#]],
    );
}

#[test]
fn a_json_result() {
    check(
        &with(&[HELLO]),
        &["hello.yaml", "--output-format", "json", "--quiet"],
        expect![[r#"
            exit code 0
            --- stdout
            {
              "schema_version": 1,
              "recipe_name": "hello",
              "run_id": "RUN-1",
              "tracking_id": "RUN-1",
              "success": true,
              "status": "completed",
              "outcome": "ok",
              "exit_code": 0,
              "dry_run": false,
              "started_at": "TIME",
              "finished_at": "TIME",
              "duration": 0.0,
              "step_results": [
                {
                  "step_id": "greet",
                  "path": "greet",
                  "type": "bash",
                  "command": "echo \"Hello {{who}}\"",
                  "status": "completed",
                  "output": "Hello world",
                  "error": "",
                  "duration": 0.0,
                  "attempts": 1,
                  "started_at": "TIME",
                  "finished_at": "TIME",
                  "outcome": "ok",
                  "exit_code": 0,
                  "skip_reason": null,
                  "recovered": false,
                  "stored_as": "greet",
                  "stdout": {
                    "file": "steps/greet/1/stdout",
                    "bytes": 12,
                    "sha256": "DIGEST"
                  },
                  "stderr": {
                    "file": "steps/greet/1/stderr",
                    "bytes": 0,
                    "sha256": "DIGEST"
                  },
                  "definition_digest": "DIGEST",
                  "input_digest": "DIGEST",
                  "output_digest": "DIGEST"
                }
              ],
              "output": "",
              "context": {
                "who": "world",
                "greet": "Hello world"
              },
              "failure": null,
              "diagnosis": null,
              "fingerprint": null,
              "advice": [],
              "evidence": {
                "recipe_digest": "DIGEST",
                "recipe_path": "/project/hello.yaml",
                "working_dir": "/project",
                "repro_command": "recipe-runner-rs /project/hello.yaml -C /project",
                "attempts": [
                  {
                    "step": "greet",
                    "attempt": 1,
                    "started_at": "TIME",
                    "finished_at": "TIME",
                    "outcome": "ok",
                    "exit_code": 0,
                    "error": "",
                    "input_digest": "DIGEST",
                    "stdout": {
                      "file": "steps/greet/1/stdout",
                      "bytes": 12,
                      "sha256": "DIGEST"
                    },
                    "stderr": {
                      "file": "steps/greet/1/stderr",
                      "bytes": 0,
                      "sha256": "DIGEST"
                    }
                  }
                ],
                "resumes": [],
                "retries": [],
                "notes": []
              },
              "usage": null,
              "origin": {
                "surface": "cli",
                "actor": "USER",
                "request_id": "REQUEST",
                "at": "TIME"
              },
              "resumes": 0,
              "ended_processes": [],
              "resume_command": null,
              "run_dir": "/state/runs/RUN-1"
            }
            --- stderr
        "#]],
    );
}
