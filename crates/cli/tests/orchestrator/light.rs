//! Questions, operations and investigations; the classification; what is printed.

use crate::world::{asked, branches, checkout, orchestration, parts, published, task, task_ends, world};

// 1
#[test]
fn both_spellings_are_one_and_a_task_stays_text() {
    let hostile = r#"{"a":1} $(touch x)"#;
    let (first, second) = (world(""), world(""));
    let one = task(&first, &["--type", "qa", hostile]);
    let value = format!("task_description={hostile}");
    let args = [
        "smart-orchestrator",
        "-C",
        "repo",
        "--output-format",
        "json",
        "--set",
        &value,
        "--set",
        "task_type=qa",
    ];
    let other = second.run(args);
    assert_eq!((one.code, other.code), (0, 0), "{}\n{}", one.all(), other.all());
    let without_ids = |output: &testkit::Output| {
        let mut told = orchestration(output);
        told["session"] = serde_json::Value::Null;
        told
    };
    assert_eq!(without_ids(&one), without_ids(&other));
    assert_eq!(orchestration(&one)["task"], hostile);
    for env in [&first, &second] {
        let prompt = std::fs::read_to_string(env.path("~/asked-1")).unwrap();
        assert!(prompt.contains(hostile), "{prompt}");
        assert!(!env.path("repo/x").exists() && !env.path("x").exists());
    }
}

// 2
#[test]
fn a_blank_task_is_refused() {
    let env = world("");
    let blank = task(&env, &["   "]);
    assert_eq!(blank.code, 5, "{}", blank.all());
    assert!(blank.all().contains("the task is blank"), "{}", blank.all());
    assert_eq!(env.run(["do", "-C", "repo"]).code, 4, "stdin is empty");
    let screen = env.screen(80, 24, "\"$RUNNER\" do -C repo; echo \"exit $?\"");
    let lines = screen.lines();
    assert!(lines.iter().any(|line| line.starts_with("exit 4")), "{lines:?}");
    assert!(parts(&env).is_empty());
}

// 3
#[test]
fn a_question_is_answered_on_stdout_alone() {
    let env =
        world("classify() { echo '{\"task_type\":\"Q&A\",\"goal\":\"g\",\"success_criteria\":[\"c\"]}'; }");
    let output = env.run(["do", "-C", "repo", "Where are exit codes?"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (0, "Exit codes are in exit.rs.\n"),
        "{}",
        output.all()
    );
    assert!(
        output.stderr.contains("ANSWERED") && output.stderr.contains("\n[do] route: Q&A"),
        "{}",
        output.all()
    );
    assert!(!output.stderr.contains("schema_version"), "data is not for people\n{}", output.all());
    assert_eq!(parts(&env), ["classify", "answer"]);
    let given = world("");
    assert_eq!(task_ends(&given, &["--type", "qa", "Where?"], 0)["goal_status"], "ANSWERED");
    assert_eq!(parts(&given), ["answer"]);
    let hollow = world("answer() { echo 'I cannot access the files.'; }");
    assert_eq!(task_ends(&hollow, &["--type", "qa", "Where?"], 1)["goal_status"], "HOLLOW");
}

// 4
#[test]
fn a_classification_is_read_in_every_form() {
    let json = r#"{"task_type":"Q&A","goal":"g","success_criteria":["c"]}"#;
    for form in
        [json.to_owned(), format!("```json\\n{json}\\n```"), format!("I think it is this: {json} Good luck!")]
    {
        let env = world(&format!("classify() {{ printf '{}\\n'; }}", form.replace('%', "%%")));
        let told = task_ends(&env, &["What is this?"], 0);
        assert_eq!(
            (&told["route"]["kind"], &told["classification"]["basis"]),
            (&"answer".into(), &"agent".into())
        );
    }
    let env = world("classify() { echo nonsense; }");
    let output = env.run(["do", "-C", "repo", "What is this?"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stderr.contains("by rules"), "{}", output.all());
    assert_eq!(asked(&env, "classify"), 2);
    let shown = env.run(["show", "--output-format", "json"]);
    assert_eq!(orchestration(&shown)["classification"]["basis"], "rules");
}

// O29
#[test]
fn an_operation_works_in_place() {
    let env =
        world("classify() { echo '{\"task_type\":\"ops\",\"goal\":\"g\",\"success_criteria\":[\"c\"]}'; }");
    let output = env.run(["do", "-C", "repo", "Delete the old log files"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.starts_with("Deleted 3 files."), "{}", output.all());
    assert_eq!(parts(&env), ["classify", "operate"]);
    assert!(branches(&env).is_empty());
    let not = world("operate() { echo 'GOAL_STATUS: NOT_ACHIEVED -- no rights'; }");
    let told = task_ends(&not, &["--type", "ops", "--rounds", "1", "Delete the old log files"], 1);
    assert_eq!((&told["goal_status"], &told["detail"]), (&"NOT_ACHIEVED".into(), &"no rights".into()));
}

// 42
#[test]
fn an_investigation_needs_references_that_exist() {
    let classify = "classify() { echo '{\"task_type\":\"Investigation\",\"goal\":\"g\",\"success_criteria\":[\"c\"]}'; }";
    let env = world(classify);
    let before = checkout(&env);
    let output = env.run(["do", "-C", "repo", "Investigate why it says one"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.stdout, "Because.\n\n- it says one (file:1)\n", "{}", output.all());
    assert_eq!(parts(&env).len(), 6, "{:?}", parts(&env));
    assert_eq!(checkout(&env), before);
    let invented = world(&format!(
        "{classify}\nsynthesis() {{ echo '{{\"answer\":\"x\",\"findings\":[{{\"claim\":\"c\",\"evidence\":[{{\"kind\":\"path\",\"ref\":\"no.rs:1\"}}]}}]}}'; }}"
    ));
    let told = task_ends(&invented, &["--rounds", "1", "Investigate why"], 1);
    assert_eq!(told["goal_status"], "PARTIAL");
    assert!(told["rounds"][0]["capped_by"].to_string().contains("no_finding"), "{told}");
}

// 45
#[test]
fn a_plan_and_a_dry_run_change_nothing() {
    let env = published("");
    let before = checkout(&env);
    let plan = task(&env, &["--plan", "Open a PR that adds a file"]);
    assert_eq!(plan.code, 0, "{}", plan.all());
    let told = orchestration(&plan);
    assert_eq!((&told["route"]["kind"], &told["route"]["publish"]), (&"single".into(), &"pr".into()));
    let text = env.run(["do", "-C", "repo", "--plan", "--auto-fix", "Open a PR that adds a file"]);
    assert!(text.stdout.contains("- feat/open-a-pr-that-adds-a-file"), "{}", text.all());
    assert!(text.stdout.contains("At most: 3 rounds, 60 agent calls, 240 minutes"), "{}", text.all());
    let notes = orchestration(&env.run(["show", "--output-format", "json"]))["notes"].to_string();
    assert!(notes.contains("--auto-fix"), "{notes}");
    assert_eq!(parts(&env), ["classify", "classify"]);
    let dry = env.run(["do", "-C", "repo", "--dry-run", "Add a file"]);
    assert_eq!(dry.code, 0, "{}", dry.all());
    assert_eq!(parts(&env), ["classify", "classify"]);
    assert!(branches(&env).is_empty() && !env.path("repo.worktrees").exists());
    assert_eq!(checkout(&env), before);
}
