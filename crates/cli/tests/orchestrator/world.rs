//! A repository with a remote, an agent program made of shell functions, and a `gh` that records its calls.

use std::fs;

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// What the agents answer unless a test says otherwise.
const AGENTS: &str = r#"
classify() { echo '{"task_type":"Development","goal":"a new file","success_criteria":["new.txt exists"]}'; }
answer() { echo 'Exit codes are in exit.rs.'; }
operate() { echo 'Deleted 3 files.'; echo 'GOAL_STATUS: ACHIEVED'; }
understand() { echo '{"summary":"s","places":[],"criteria":[{"criterion":"new.txt exists","done":false}]}'; }
plan() { echo '{"steps":["write it"],"risks":[]}'; }
implement() { echo new >> new.txt; echo 'I wrote new.txt.'; }
review() { echo '{"verdict":"approve","findings":[],"criteria":[]}'; }
fix() { echo fixed >> new.txt; echo fixed; }
reflect() { echo '{"goal_status":"ACHIEVED","criteria":[{"criterion":"new.txt exists","met":true,"evidence":"new.txt"}],"missing":"","summary":"done"}'; }
look() { echo 'file:1 says one'; }
synthesis() { echo '{"answer":"Because.","findings":[{"claim":"it says one","evidence":[{"kind":"path","ref":"file:1","quote":"one"}],"confidence":"high"}],"open":[]}'; }
"#;

const DISPATCH: &str = r#"
part() { echo "$1" >> "$HOME/parts"; "$1"; }
case $P in
  *"Classify this task"*) part classify ;;
  *"Answer this."*) part answer ;;
  *"Carry this out on this machine"*) part operate ;;
  *"Find out what this task means"*) part understand ;;
  *"Plan this task"*) part plan ;;
  *"Carry out this task"*) part implement ;;
  *"Review the work"*) part review ;;
  *"Fix the work"*) part fix ;;
  *"Judge how far"*) part reflect ;;
  *"Three investigators"*) part synthesis ;;
  *Investigate*) part look ;;
  *) echo "unknown prompt: $P" >&2; exit 1 ;;
esac
"#;

/// `gh` keeps pull requests as files.
const GH: &str = r#"#!/bin/bash
echo "$*" >> "$HOME/gh-calls"
case "$1 $2" in
  "pr list") if [ -e "$HOME/pr" ]; then echo '[{"number":7,"url":"https://example.com/pull/7"}]'; else echo '[]'; fi ;;
  "pr create") touch "$HOME/pr"; echo https://example.com/pull/7 ;;
  "pr view") if [ -e "$HOME/merged" ]; then echo '{"state":"MERGED"}'; else echo '{"state":"OPEN","mergeStateStatus":"CLEAN","statusCheckRollup":[]}'; fi ;;
  "pr merge") touch "$HOME/merged" ;;
  *) exit 1 ;;
esac
"#;

/// A repository `repo` on `main` without a remote; `agents` are shell functions in place of the usual ones.
pub(crate) fn world(agents: &str) -> TestEnv {
    let script = format!("{AGENTS}\n{agents}\n{DISPATCH}");
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &script)
        .env("IS_SANDBOX", "1")
        .file("~/.gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n");
    shell(&env, "git init -q repo && cd repo && echo one > file && git add . && git commit -qm one");
    env
}

/// The same with a bare remote and `gh`.
pub(crate) fn published(agents: &str) -> TestEnv {
    let env = world(agents);
    env.write("../bin/gh", GH);
    shell(&env, "chmod +x ../bin/gh");
    shell(
        &env,
        "git init -q --bare remote.git && cd repo && git remote add origin ../remote.git && git push -q origin main",
    );
    env
}

pub(crate) fn shell(env: &TestEnv, line: &str) -> String {
    let output = env.shell(&format!("set -e; {line}"));
    assert_eq!(output.code, 0, "{line}\n{}", output.all());
    output.stdout.trim_end().to_owned()
}

/// Has a task done in `repo`, with a JSON result.
pub(crate) fn task(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(["do", "-C", "repo", "--output-format", "json"].iter().chain(arguments))
}

/// The same, and checks the exit code.
pub(crate) fn task_ends(env: &TestEnv, arguments: &[&str], code: i32) -> Json {
    let output = task(env, arguments);
    assert_eq!(output.code, code, "{arguments:?}\n{}", output.all());
    orchestration(&output)
}

pub(crate) fn orchestration(output: &Output) -> Json {
    output.json()["orchestration"].clone()
}

/// What the agents were asked for, in order.
pub(crate) fn parts(env: &TestEnv) -> Vec<String> {
    let parts = fs::read_to_string(env.path("~/parts")).unwrap_or_default();
    parts.lines().map(str::to_owned).collect()
}

/// How often one thing was asked for.
pub(crate) fn asked(env: &TestEnv, part: &str) -> usize {
    parts(env).iter().filter(|asked| *asked == part).count()
}

/// The calls of `gh`.
pub(crate) fn gh_calls(env: &TestEnv) -> String {
    fs::read_to_string(env.path("~/gh-calls")).unwrap_or_default()
}

/// Everything about the user's checkout that must not change.
pub(crate) fn checkout(env: &TestEnv) -> String {
    shell(
        env,
        "cd repo; git rev-parse HEAD; git symbolic-ref HEAD; git status --porcelain; git ls-files -s; cat file; ls",
    )
}

/// The branches besides `main`.
pub(crate) fn branches(env: &TestEnv) -> Vec<String> {
    let all = shell(env, "git -C repo for-each-ref --format='%(refname:short)' refs/heads");
    all.lines().filter(|name| *name != "main").map(str::to_owned).collect()
}
