//! Workstreams: at the same time or one after the other, as sessions, and from a file.

use serde_json::{Value as Json, json};
use testkit::TestEnv;

use crate::world::{branches, shell, task_ends, world};

const TWO: &str = r#"classify() { echo '{"task_type":"Development","goal":"g","success_criteria":["c"],"workstreams":[{"name":"alpha","description":"Write alpha"},{"name":"beta","description":"Write beta"}]}'; }"#;
/// Writes down when an agent begins and ends its work.
const TIMED: &str = "implement() { echo \"begin ${PWD##*/}\" >> \"$HOME/times\"; sleep 1.5; echo \"end ${PWD##*/}\" >> \"$HOME/times\"; echo new > new.txt; echo done; }";

fn times(env: &TestEnv) -> Vec<String> {
    let text = std::fs::read_to_string(env.path("~/times")).unwrap_or_default();
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

// 22
#[test]
fn workstreams_work_at_the_same_time_or_one_after_the_other() {
    let env = world(&format!("{TWO}\n{TIMED}"));
    let told = task_ends(&env, &["Write alpha and beta"], 0);
    assert_eq!(times(&env), ["begin", "begin", "end", "end"], "{told}");
    let base = shell(&env, "git -C repo rev-parse main");
    assert!(
        told["workstreams"].as_array().unwrap().iter().all(|stream| stream["base_commit"] == base.as_str())
    );
    let one = world(&format!("{TWO}\n{TIMED}"));
    task_ends(&one, &["--set", "max_parallel=1", "Write alpha and beta"], 0);
    assert_eq!(times(&one), ["begin", "end", "begin", "end"]);
    assert_eq!(branches(&one), ["feat/alpha", "feat/beta"]);
    // two sessions: the run itself, and one that is free
    let full = world(&format!("{TWO}\n{TIMED}")).env("AMPLIHACK_MAX_SESSIONS", "2");
    task_ends(&full, &["Write alpha and beta"], 0);
    assert_eq!(times(&full), ["begin", "end", "begin", "end"]);
    for wrong in ["0", "many"] {
        let set = format!("max_parallel={wrong}");
        let output = env.run(["do", "-C", "repo", "--set", &set, "Write gamma"]);
        assert_eq!(output.code, 5, "{wrong}: {}", output.all());
    }
}

// O32, O34
#[test]
fn a_workstream_is_a_session_one_level_deeper() {
    let env = world(&format!(
        "{TWO}\nimplement() {{ cp \"$AMPLIHACK_SESSION_TREE_DIR/$AMPLIHACK_TREE_ID.json\" \"$HOME/tree-${{PWD##*/}}\"; \
         echo \"$AMPLIHACK_SESSION_DEPTH\" > \"$HOME/depth\"; \"$RECIPE_RUNNER_EXE\" ~/inner.yaml > /dev/null 2>&1; \
         echo new > new.txt; echo done; }}"
    ))
    .file("~/inner.yaml", "name: inner\nsteps: [{id: a, command: 'cp \"$AMPLIHACK_SESSION_TREE_DIR/$AMPLIHACK_TREE_ID.json\" ~/inner-tree'}]\n");
    let told = task_ends(&env, &["Write alpha and beta"], 0);
    let run = told["session"]["id"].as_str().unwrap();
    let read =
        |name: &str| -> Json { serde_json::from_slice(&std::fs::read(env.path(name)).unwrap()).unwrap() };
    let tree = read("~/tree-alpha");
    let streams: Vec<&Json> = tree["sessions"]
        .as_object()
        .unwrap()
        .values()
        .filter(|session| session["kind"] == "workstream")
        .collect();
    assert!(!streams.is_empty(), "{tree}");
    for stream in streams {
        assert_eq!((&stream["depth"], &stream["parent"]), (&json!(1), &json!(run)), "{tree}");
        assert_eq!(stream["run_id"], run);
    }
    assert_eq!(shell(&env, "cat ~/depth"), "2");
    let inner = read("~/inner-tree");
    let nested = inner["sessions"].as_object().unwrap().values().find(|session| session["depth"] == 2);
    let parent = nested.unwrap_or_else(|| panic!("{inner}"))["parent"].as_str().unwrap();
    assert!(parent.starts_with(&format!("{run}-")), "{inner}");
    let state = env.state().join("trees").join(format!("{run}.json"));
    let after: Json = serde_json::from_slice(&std::fs::read(state).unwrap()).unwrap();
    let active =
        after["sessions"].as_object().unwrap().values().filter(|session| session["status"] == "active");
    assert_eq!(active.count(), 0, "{after}");
}

// O47
#[test]
fn the_workstreams_of_a_file_are_carried_out() {
    let env = world("implement() { case $PWD in *broken*) exit 3 ;; esac; echo new >> new.txt; echo done; }");
    let list = json!([
        { "issue": "TBD", "branch": "feat/orch-1-x", "description": "Write x", "task": "Write x now", "recipe": "default-workflow" },
        { "issue": 7, "task": "Write y" },
        { "issue": null, "description": "Why one", "recipe": "investigation-workflow" },
    ]);
    env.write("good.json", list.to_string());
    for call in ["orch run ../good.json", "compat amplihack orch run -- ../good.json"] {
        let output = env.shell(&format!("cd repo; \"$RUNNER\" {call}"));
        assert_eq!(output.code, 0, "{}", output.all());
        let lines: Vec<&str> = output.stdout.lines().collect();
        assert_eq!((lines[0], lines.len()), ("PARALLEL WORKSTREAM REPORT", 5), "{}", output.stdout);
        for (line, name) in lines[1..4].iter().zip(["Write x", "Write y", "Why one"]) {
            assert!(line.starts_with("OK") && line.contains(name), "{line}");
        }
    }
    assert_eq!(branches(&env), ["feat/issue-7-write-y", "feat/orch-1-x", "feat/why-one"]);
    env.write("bad.json", json!([{ "task": "Write broken" }, { "task": "Write z" }]).to_string());
    let output = env.shell("cd repo; \"$RUNNER\" orch run ../bad.json");
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(
        output.stdout.contains("FAILED  Write broken") && output.stdout.contains("OK      Write z"),
        "{}",
        output.stdout
    );
    env.write("none.json", "[]");
    let output = env.shell("cd repo; \"$RUNNER\" orch run ../none.json");
    assert_eq!(
        (output.code, output.stdout.lines().next()),
        (0, Some("PARALLEL WORKSTREAM REPORT")),
        "{}",
        output.all()
    );
    for wrong in ["{}", "no json", "[7]", "[{}]", r#"[{"task": "x", "issue": "soon"}]"#, r#"[{"task": 7}]"#] {
        env.write("wrong.json", wrong);
        let output = env.shell("cd repo; \"$RUNNER\" orch run ../wrong.json");
        assert_eq!(output.code, 4, "{wrong}: {}", output.all());
    }
}

// O47, O2
#[test]
fn the_recipes_of_a_file_are_found_as_the_command_line_finds_them() {
    let env = world("");
    env.write(
        "repo/default-workflow.yaml",
        "name: default-workflow\nsteps: [{id: a, working_dir: '{{repo_path}}', command: 'echo mine > mine.txt'}]\n",
    );
    env.write("list.json", json!([{ "task": "Write x", "recipe": "default-workflow" }]).to_string());
    let output = env.shell("cd repo; \"$RUNNER\" orch run ../list.json");
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(shell(&env, "git -C repo show feat/write-x:mine.txt"), "mine", "what it leaves is committed");
}

// 23
#[test]
fn a_resume_carries_out_only_what_is_missing() {
    let env = world(
        "plan() { case $PWD in *beta) [ -e \"$HOME/ok\" ] || exit 3 ;; esac; echo '{\"steps\":[]}'; }\nimplement() { echo \"${PWD##*/}\" >> \"$HOME/implemented\"; echo new > new.txt; echo done; }",
    );
    env.write("list.json", json!([{ "task": "alpha" }, { "task": "beta" }]).to_string());
    let output = env.shell("cd repo; \"$RUNNER\" orch run ../list.json");
    assert_eq!(output.code, 1, "{}", output.all());
    env.write("~/ok", "");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(shell(&env, "grep -c alpha ~/implemented"), "1");
}
