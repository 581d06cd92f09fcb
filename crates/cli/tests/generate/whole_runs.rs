//! Whole generated recipes with scripted agents in a real repository: success, findings, blocked, failing gates, kills.

use crate::repository::{VERSION, generated, order, repository, run, status};

const RECIPE: &str = "recipes/print-the-version.yaml";
const RIGHT: &str = "echo \"echo 1.4.2 # $RANDOM\" > src/cli.sh\n";

#[test]
fn a29_a45_a46_a49_a_pipeline_ends_as_its_gates_and_reviews_say() {
    let env = repository(VERSION);
    generated(&env);

    let well = run(&env, RECIPE, "", RIGHT);
    assert_eq!(well.code, 0, "{}", well.all());
    assert_eq!(order(&env), "claude codex codex gemini gemini");
    let result = well.json()["output"].to_string();
    for part in [
        "SIGNED_OFF",
        "accept-1",
        "make test",
        "NO_ISSUES_FOUND",
        "src/cli.sh",
        "effects: none",
        "recipe-runner-rs resume",
    ] {
        assert!(result.contains(part), "{part}: {result}");
    }
    assert_eq!(env.shell("git status --porcelain").stdout.trim(), "M src/cli.sh");

    let earlier = env.calls();
    let fixed = run(&env, RECIPE, "FINDINGS FINDINGS FINDINGS FINDINGS", RIGHT);
    assert_eq!(fixed.code, 0, "{}", fixed.all());
    assert_eq!(order(&env), "claude codex claude codex claude gemini claude gemini claude codex");
    let prompt = env.asked(earlier + 3, "prompt");
    assert!(prompt.contains("finding 2") && prompt.contains("write a test"), "{prompt}");
    assert!(prompt.contains("Do not commit, push"), "{prompt}");

    let unconfirmed =
        run(&env, RECIPE, "NO_ISSUES_FOUND FINDINGS NO_ISSUES_FOUND NO_ISSUES_FOUND FINDINGS", RIGHT);
    assert_eq!(
        (unconfirmed.code, status(&unconfirmed, "pass").as_str()),
        (1, "failed"),
        "{}",
        unconfirmed.all()
    );

    let wrong = run(&env, RECIPE, "", "echo 'echo 1.4.3' > src/cli.sh\n");
    assert_eq!((wrong.code, status(&wrong, "accept-1").as_str()), (1, "failed"), "{}", wrong.all());
    let logs = env.run(["logs", "last", "accept-1"]).all();
    assert!(logs.contains("expected: 1.4.2") && logs.contains("actual:   1.4.3"), "{logs}");
    let advice = wrong.step("unfinished")["output"].as_str().unwrap_or_default().to_owned();
    assert!(advice.contains("NOT_SIGNED_OFF: accept-1") && advice.contains("effects: none"), "{advice}");
    let resume =
        advice.lines().find_map(|line| line.strip_prefix("resume: recipe-runner-rs resume ")).unwrap();
    env.write("src/cli.sh", "echo 1.4.2\n");
    assert_eq!(env.run(["resume", resume, "--from", "accept-1"]).code, 0);

    let outside = format!("{RIGHT}echo x > new.txt\n");
    for writer in [outside.as_str(), "echo 'echo 1.4.2' > src/cli.sh; echo x >> known.txt\n"] {
        let refused = run(&env, RECIPE, "", writer);
        assert_eq!((refused.code, status(&refused, "scope").as_str()), (1, "failed"), "{}", refused.all());
    }
    let idle = run(&env, RECIPE, "", "true\n");
    assert_eq!((idle.code, status(&idle, "implement").as_str()), (1, "failed"), "{}", idle.all());
    assert_eq!(order(&env), "claude claude claude claude");
}

#[test]
fn a44_a45_a48_reviews_that_do_not_count_never_pass() {
    let env = repository(VERSION);
    generated(&env);

    let blocked = run(&env, RECIPE, "BLOCKED", RIGHT);
    assert_eq!(blocked.code, 6, "{}", blocked.all());
    let text = blocked.step("blocked-1")["output"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("BLOCKED_NO_COMMIT") && text.contains("finding 2"), "{text}");
    assert_eq!(order(&env), "claude codex");
    assert_eq!(env.shell("git rev-list --count HEAD").stdout.trim(), "2", "nothing was committed");

    for (verdicts, step) in [("GARBAGE GARBAGE", "review-1"), ("FINE FINE", "review-1"), ("EDIT", "review-1")]
    {
        let failed = run(&env, RECIPE, verdicts, RIGHT);
        assert_eq!(
            (failed.code, status(&failed, step).as_str()),
            (1, "failed"),
            "{verdicts}: {}",
            failed.all()
        );
    }

    // the runner is killed while the first agent works
    let kill = "if [ ! -e ~/killed ]; then touch ~/killed; kill -9 \"$(ps -o ppid= -p \"$PPID\" | tr -d ' ')\"; sleep 5; fi\n";
    run(&env, RECIPE, "", &format!("{kill}{RIGHT}"));
    let resumed = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(status(&resumed, "signoff"), "completed");

    env.write("SPEC.md", format!("{VERSION}\nMore.\n"));
    env.write("~/order", "");
    let changed = env.run([RECIPE, "--output-format", "json"]);
    assert_eq!((changed.code, status(&changed, "read-spec").as_str()), (1, "failed"), "{}", changed.all());
    assert_eq!(order(&env), "");

    env.write("SPEC.md", VERSION);
    std::fs::remove_file(env.zoo().join("bin/codex")).unwrap();
    let missing = env.run([RECIPE, "--output-format", "json"]);
    assert_eq!(missing.code, 5, "{}", missing.all());
    assert_eq!(order(&env), "", "no other program is asked");
}
