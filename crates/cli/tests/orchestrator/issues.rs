//! Issues: those that a task mentions, and those that are filed about failures where the user asked for that.

use serde_json::Value as Json;
use testkit::TestEnv;

use crate::world::{gh_calls, orchestration, published, shell, task, world};

/// `gh` keeps issues as files: `number created-at state`, and their texts.
const GH: &str = r#"#!/bin/bash
echo "$*" >> "$HOME/gh-calls"
body() { cat; }
case "$1 $2" in
  "issue list")
    [ -e "$HOME/refuse" ] && { echo 'HTTP 401: Bad credentials' >&2; exit 1; }
    echo '['; first=1
    for file in "$HOME"/issue-*; do [ -e "$file" ] || continue
      n=${file##*-}; [ "$first" ] || echo ,; first=
      python3 - "$file" "$n" <<'P'
import json,sys
lines=open(sys.argv[1]).read().split("\n",1); at,state=lines[0].split()
print(json.dumps({"number":int(sys.argv[2]),"url":"https://example.com/issues/"+sys.argv[2],"state":state,"createdAt":at,"body":lines[1]}))
P
    done; echo ']' ;;
  "issue create") n=$(( $(ls "$HOME"/issue-* 2>/dev/null | wc -l) + 1 ))
    { echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) OPEN"; cat; } > "$HOME/issue-$n"; echo "https://example.com/issues/$n" ;;
  "issue comment") cat > "$HOME/comment-$3" ;;
  "issue view")
    case "$*" in
      *title*) [ "$3" = 12 ] || exit 1; echo '{"title":"Crash on start","body":"It says `boom`."}' ;;
      *) read -r at state < "$HOME/issue-$3"; echo "{\"number\":$3,\"url\":\"u\",\"state\":\"$state\",\"createdAt\":\"$at\"}" ;;
    esac ;;
  *) exit 1 ;;
esac
"#;

/// A world with that `gh`, and a workflow of the user that always fails.
fn filing() -> (TestEnv, String) {
    let env = published("implement() { exit 3; }");
    env.write("../bin/gh", GH);
    env.write("mine.yaml", "name: mine\nsteps: [{id: work, command: 'echo \"cannot reach /tmp/x$RANDOM in $RANDOM ms\" >&2; exit 7'}]\n");
    let set = format!("development_recipe={}", env.path("mine.yaml").display());
    (env, set)
}

/// What became of the report of the first round.
fn reported(env: &TestEnv, arguments: &[&str]) -> Json {
    let output = task(env, &[&["--rounds", "1"], arguments].concat());
    assert_eq!(output.code, 1, "{}", output.all());
    let told = orchestration(&output);
    let all = told["recovery"].as_array().unwrap();
    all.iter().find(|entry| entry["stage"] == "report").unwrap_or_else(|| panic!("{told}")).clone()
}

// O40
#[test]
fn an_issue_of_the_task_is_in_every_prompt() {
    let env = published("");
    env.write("../bin/gh", GH);
    let output = task(&env, &["Fix #12 and #13 with a new file"]);
    assert_eq!(output.code, 0, "{}", output.all());
    for number in 1..=4 {
        let prompt = std::fs::read_to_string(env.path(&format!("~/asked-{number}"))).unwrap();
        assert!(prompt.contains("> Crash on start\n> It says `boom`."), "{prompt}");
    }
    let calls = gh_calls(&env);
    assert!(calls.contains("issue view 13") && !calls.contains("create"), "{calls}");
    let alone = published("");
    alone.write("../bin/gh", GH);
    let output = alone.run(["default-workflow", "-C", "repo", "--set", "task_description=Fix #12"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(shell(&alone, "cat ~/asked-1").contains("Crash on start"));
    let without = world("");
    assert_eq!(task(&without, &["Fix #12 with a new file"]).code, 0, "without gh");
}

// 35
#[test]
fn without_a_named_repository_no_issue_is_filed() {
    let (env, set) = filing();
    let env = env.env("API_TOKEN", "tok-3141592653");
    env.write(
        "mine.yaml",
        "name: mine\nsteps: [{id: work, command: 'echo \"bad tok-3141592653 in $HOME\" >&2; exit 7'}]\n",
    );
    let report = reported(&env, &["--set", &set, "File an issue about it and add a new file"]);
    assert_eq!((&report["dedup"], &report["issue_url"]), (&"off".into(), &Json::Null));
    let file = std::fs::read_to_string(report["file"].as_str().unwrap()).unwrap();
    assert!(!file.contains("tok-3141592653") && !file.contains(&env.home().display().to_string()), "{file}");
    assert!(file.contains("bash_failure") && file.contains("File an issue about it"), "{file}");
    assert!(!gh_calls(&env).contains("issue"), "{}", gh_calls(&env));
}

// 36, 37
#[test]
fn equal_failures_are_one_issue() {
    let (env, set) = filing();
    let args = ["--set", &set, "--file-issues", "shop/web", "Add a new file"];
    let first = reported(&env, &args);
    assert_eq!(
        (&first["dedup"], &first["issue_url"]),
        (&"created".into(), &"https://example.com/issues/1".into())
    );
    let again = reported(&env, &args);
    assert_eq!(
        (&again["dedup"], &again["file"].as_str().map(name)),
        (&"commented".into(), &first["file"].as_str().map(name))
    );
    assert!(shell(&env, "cat ~/comment-1").contains("2 times"));
    // older than the window: one that takes its place
    let old = "sed -i '1s/.*/2020-01-01T00:00:00Z OPEN/' ~/issue-1";
    shell(&env, old);
    shell(
        &env,
        "find \"$RECIPE_RUNNER_HOME\" -name '*issue*' -type f -exec sed -i 's/\"created_at\":\"[^\"]*\"/\"created_at\":\"2020-01-01T00:00:00Z\"/; s/\"created_at\": \"[^\"]*\"/\"created_at\": \"2020-01-01T00:00:00Z\"/' {} +",
    );
    let rollup = reported(&env, &args);
    assert_eq!(rollup["dedup"], "rollup", "{rollup}");
    assert!(shell(&env, "cat ~/issue-2").contains("#1"));
    shell(&env, "sed -i '1s/OPEN/CLOSED/' ~/issue-1 ~/issue-2");
    let anew = reported(&env, &args);
    assert_eq!(anew["dedup"], "created", "{anew}");
    assert!(shell(&env, "cat ~/issue-3").contains("closed"));
}

fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

// 36
#[test]
fn a_refused_login_is_tried_once() {
    let (env, set) = filing();
    env.write("~/refuse", "");
    let args = ["--set", &set, "--file-issues", "shop/web", "--rounds", "3", "Add a new file"];
    let output = task(&env, &args);
    assert_eq!(output.code, 1, "{}", output.all());
    assert_eq!(
        gh_calls(&env).lines().filter(|call| call.starts_with("issue")).count(),
        1,
        "{}",
        gh_calls(&env)
    );
    let told = orchestration(&output);
    let reports = told["recovery"].as_array().unwrap().iter().filter(|entry| entry["stage"] == "report");
    assert!(
        reports.into_iter().all(|report| report["dedup"] == "local" && report["file"].is_string()),
        "{told}"
    );
}
