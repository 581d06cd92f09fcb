//! Recipes that call a program `amplihack`: the calls that this program answers in its place.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A call of `amplihack` with a text on stdin.
fn call(env: &TestEnv, text: &str, words: &str) -> Output {
    env.write("stdin", text);
    env.shell(&format!("\"$RUNNER\" compat amplihack {words} < stdin"))
}

#[test]
fn the_last_object_is_extracted() {
    let env = env();
    for (text, expected) in [
        ("{\"a\": 1}", "{\"a\":1}"),
        ("{\"a\": 1} and {\"a\": 2}", "{\"a\":2}"),
        ("x {\"a\": 1}\n```json\n{\"a\": 2}\n```\n{\"a\": 3}", "{\"a\":2}"),
        ("```json\n{\"a\": 1}\n```\n```json\n{\"a\": 2}\n```", "{\"a\":2}"),
        ("```\n{\"a\": 1}\n```\n{\"a\": 2}", "{\"a\":1}"),
        ("no object [1]", "{}"),
        ("", "{}"),
    ] {
        let output = call(&env, text, "orch helper extract-json");
        assert_eq!((output.code, output.stdout.trim_end()), (0, expected), "{text}: {}", output.all());
    }
    let object = r#"{"text": "a b", "none": null, "list": [1, "x"], "flag": true, "deep": {"text": "no"}}"#;
    for (words, expected) in [
        ("--field text", "a b"),
        ("--field none", ""),
        ("--field none --default d", ""),
        ("--field list", "[1,\"x\"]"),
        ("--field flag", "true"),
        ("--field missing", ""),
        ("--field missing --default -d", "-d"),
    ] {
        let output = call(&env, object, &format!("orch helper extract-field {words}"));
        assert_eq!((output.code, output.stdout.trim_end_matches('\n')), (0, expected), "{words}");
    }
    let none = call(&env, "nothing", "orch helper extract-field --field a --default d");
    assert_eq!(none.stdout, "d\n");
}

#[test]
fn types_and_verdicts_are_read_in_any_spelling() {
    let env = env();
    for (text, expected) in [
        ("QnA", "Q&A"),
        ("OPS", "Operations"),
        ("research", "Investigation"),
        ("props", "Development"),
        ("", "Development"),
    ] {
        for name in ["normalise-type", "normalize-type"] {
            let output = call(&env, text, &format!("orch helper {name}"));
            assert_eq!((output.code, output.stdout.trim()), (0, expected), "{text}: {}", output.all());
        }
    }
    for (task, current, expected) in [
        ("Add a --json flag", "Operations", "Development"),
        ("List open PRs", "Operations", "Operations"),
        ("Investigate why login fails and fix it", "Investigation", "Development"),
    ] {
        let output = call(&env, task, &format!("orch helper reclassify-task-type --current {current}"));
        assert_eq!((output.code, output.stdout.trim()), (0, expected), "{task}");
    }
    for (text, expected) in [
        ("approved", "WORK_VERIFIED"),
        (" HOLLOW \n", "HOLLOW_SUCCESS"),
        ("no_artifacts", "HOLLOW_SUCCESS"),
        ("approved with remarks", "INSUFFICIENT_EVIDENCE"),
    ] {
        assert_eq!(call(&env, text, "orch helper normalise-verdict").stdout.trim(), expected, "{text}");
    }
}

const TWO: &str = r#"{"task_type": "Development", "goal": "g", "workstreams": [
    {"name": "The API", "description": "build it"}, {"name": "why slow", "classification": "research"}]}"#;

#[test]
fn workstreams_are_counted_and_written_into_the_run() {
    let env = env();
    for (text, words, expected) in [
        (TWO, "", "2"),
        (TWO, " --force-single", "1"),
        (TWO, " --force-single=false", "2"),
        ("nothing", "", "1"),
        ("{}", "", "1"),
    ] {
        let output = call(&env, text, &format!("orch helper count-workstreams{words}"));
        assert_eq!((output.code, output.stdout.trim()), (0, expected), "{text}{words}: {}", output.all());
    }
    let outside = call(&env, TWO, "orch helper build-workstreams-config");
    assert_eq!(outside.code, 4, "{}", outside.all());
    env.write("answer", TWO);
    let recipe = "name: r\nsteps: [{id: a, output: file, command: 'amplihack orch helper build-workstreams-config < answer'}]\n";
    let output = env.json(recipe, &["--compat"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let file = std::path::PathBuf::from(output.value("file").as_str().unwrap());
    assert!(file.starts_with(output.json()["run_dir"].as_str().unwrap()), "{file:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let written: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let expected = json!([
        { "issue": "TBD", "branch": "feat/orch-1-the-api", "description": "The API", "task": "build it", "recipe": "default-workflow" },
        { "issue": "TBD", "branch": "feat/orch-2-why-slow", "description": "why slow", "task": "why slow", "recipe": "investigation-workflow" },
    ]);
    assert_eq!(written, expected);
}

#[test]
fn sessions_are_registered_and_refused() {
    let env = env().env("AMPLIHACK_TREE_ID", "t").env("AMPLIHACK_MAX_SESSIONS", "1");
    let run = |words: &str| call(&env, "", &format!("session-tree {words}"));
    assert_eq!(run("register a").stdout, "TREE_ID=t DEPTH=0\n");
    let full = run("register b --json");
    assert_eq!((full.code, full.stdout.as_str()), (1, ""), "{}", full.all());
    assert_eq!((run("check").code, run("check").stdout.as_str()), (2, "BLOCKED:sessions\n"));
    assert_eq!((run("complete a").code, run("complete a").stdout.as_str()), (0, ""));
    assert_eq!(run("check").stdout, "ALLOWED\n");
    assert_eq!(run("status").json()["completed"], json!(["a"]));
}

#[test]
fn paths_that_do_not_belong_into_a_repository_are_listed() {
    let env = env();
    let git =
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git";
    let made = env.shell(&format!(
        "{git} init -q repo && cd repo && mkdir -p build src .claude/runtime node_modules/x && touch build/kept.txt src/a.rs \
         && echo ignored/ > .gitignore && git add -A -- build src .gitignore && git commit -qm one \
         && touch .env.example .claude/runtime/log && mkdir ignored && touch ignored/x.pyc"
    ));
    assert_eq!(made.code, 0, "{}", made.all());
    let guard = |words: &str| call(&env, "", &format!("hygiene artifact-guard --repo repo {words}"));
    let clean = guard("--mode pre-commit");
    assert_eq!((clean.code, clean.stdout.as_str()), (0, ""), "{}", clean.all());
    let ignored = guard("--mode worktree");
    assert_eq!(ignored.code, 1, "{}", ignored.all());
    assert!(ignored.stdout.starts_with("ignored/x.pyc: "), "{}", ignored.all());
    env.write("repo/node_modules/x/y.js", "");
    env.write("repo/.env", "");
    let found = guard("--mode pre-publish");
    assert_eq!((found.code, found.stdout.lines().count()), (1, 2), "{}", found.all());
    assert_eq!(guard("--mode staged").code, 0, "they are not in the index");
    assert_eq!(env.shell("cd repo && git add -f .env .claude").code, 0);
    let staged = guard("--mode staged");
    assert!(
        staged.stdout.contains(".env: ") && staged.stdout.contains(".claude/runtime/log: "),
        "{}",
        staged.all()
    );
    env.write("allowed", "# ours\n.env\n.claude/\nnode_modules/**\n");
    assert_eq!(guard("--mode pre-commit --allowlist allowed").code, 0);
    assert_eq!(env.shell(&format!("cd repo && {git} worktree add -q inside")).code, 0);
    let nested = guard("--mode pre-commit --allowlist allowed");
    assert!(nested.code == 1 && nested.stdout.starts_with("inside/: "), "{}", nested.all());
    let before = env.shell("cd repo && git status --porcelain");
    for words in ["--mode nonsense", "--allowlist missing", "--mode all --repo home-less"] {
        assert_eq!(guard(words).code, 2, "{words}");
    }
    assert_eq!(env.shell("cd repo && git status --porcelain"), before, "nothing changes");
    let outside = call(&env, "", "hygiene artifact-guard --mode all --repo .");
    assert_eq!(outside.code, 2, "{}", outside.all());
}

#[test]
fn recipes_are_run_listed_shown_and_checked() {
    let recipe = "name: greet\ncontext: {who: you}\nsteps: [{id: a, command: 'echo hello $WHO; pwd'}]\n";
    let env = env().file("r.yaml", recipe).file("sub/x", "").file("bad.yaml", "name: x\n");
    let run = call(&env, "", "recipe run r.yaml -c who=me -w sub -f json --step-timeout 30 -v");
    assert_eq!(run.code, 0, "{}", run.all());
    assert!(
        run.json()["step_results"][0]["output"].as_str().unwrap().starts_with("hello me\n"),
        "{}",
        run.all()
    );
    assert!(run.json()["step_results"][0]["output"].as_str().unwrap().ends_with("/sub"), "{}", run.all());
    let dry = call(&env, "", "recipe run r.yaml --dry-run");
    assert!(dry.code == 0 && dry.stdout.contains("dry run"), "{}", dry.all());
    assert_eq!(call(&env, "", "recipe run missing").code, 3);
    assert!(call(&env, "", "recipe list -R .").stdout.contains("greet"));
    assert!(call(&env, "", "recipe show r.yaml").stdout.contains("Recipe: greet"));
    assert_eq!(call(&env, "", "recipe validate r.yaml").code, 0);
    assert_eq!(call(&env, "", "recipe validate bad.yaml").code, 2);
}

#[test]
fn agent_programs_get_their_arguments_as_they_are() {
    let env = env();
    for name in ["claude", "codex", "copilot", "gemini", "amplifier"] {
        env.write(&format!("bin/{name}"), "#!/bin/sh\nprintf '[%s]' \"$0\" \"$@\"; exit 42\n");
        let _ = std::fs::set_permissions(
            env.path(&format!("bin/{name}")),
            std::fs::Permissions::from_mode(0o755),
        );
        let output = env.shell(&format!(
            "PATH=\"$PWD/bin:$PATH\" \"$RUNNER\" compat amplihack {name} -- -p 'a b' --help -- x"
        ));
        assert_eq!(output.code, 42, "{}", output.all());
        assert!(output.stdout.ends_with(&format!("/{name}][-p][a b][--help][--][x]")), "{}", output.all());
    }
    let missing = env.shell("PATH=/nowhere \"$RUNNER\" compat amplihack claude");
    assert_eq!(missing.code, 127, "{}", missing.all());
    let unknown = call(&env, "", "frobnicate --now");
    assert_eq!(unknown.code, 2, "{}", unknown.all());
    for known in ["orch helper", "session-tree", "hygiene artifact-guard", "recipe", "claude"] {
        assert!(unknown.stderr.contains(known), "{known}: {}", unknown.all());
    }
    assert_eq!(call(&env, "", "orch frobnicate").code, 2);
    assert_eq!(call(&env, "", "").code, 2);
}

#[test]
fn the_program_is_installed_and_removed_and_foreign_files_stay() {
    let env = env();
    let installed = env.run(["compat", "install", "bin"]);
    assert_eq!(installed.code, 0, "{}", installed.all());
    assert_eq!(installed.stdout.lines().count(), 2, "{}", installed.all());
    let used = env.shell("PATH=\"$PWD/bin:$PATH\"; echo '{\"a\": 1}' | amplihack orch helper extract-json; recipe-runner-rs --version");
    assert!(used.code == 0 && used.stdout.starts_with("{\"a\":1}\nrecipe-runner"), "{}", used.all());
    let removed = env.run(["compat", "uninstall", "bin"]);
    assert_eq!((removed.code, removed.stdout.lines().count()), (0, 2), "{}", removed.all());
    env.write("bin/amplihack", "mine");
    let refused = env.run(["compat", "install", "bin"]);
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert!(refused.stderr.contains("--force"), "{}", refused.all());
    assert_eq!(env.read("bin/amplihack"), "mine");
    assert_eq!(env.run(["compat", "install", "bin", "--force"]).code, 0);
    assert_eq!(env.read("bin/amplihack.before-1"), "mine");
    assert_eq!(env.run(["compat", "uninstall", "bin"]).code, 0);
    env.write("bin/amplihack", "mine");
    assert_eq!(env.run(["compat", "uninstall", "bin"]).code, 0);
    assert_eq!(env.read("bin/amplihack"), "mine");
}

#[test]
fn a_run_with_compat_has_the_program_and_others_do_not() {
    // a recipe of the same shape as those that expect it: classify, normalise, decide, check
    let recipe = "name: small-orchestrator\ncontext: {task: 'Add a --json flag'}\nsteps:\n\
        - {id: classify, command: 'echo \"Sure: {\\\"task_type\\\": \\\"ops\\\", \\\"n\\\": 1}\"'}\n\
        - {id: kind, command: 'printf \"%s\" \"$CLASSIFY\" | amplihack orch helper extract-field --field task_type --default Development | amplihack orch helper normalise-type'}\n\
        - {id: real, command: 'printf \"%s\" \"$TASK\" | amplihack orch helper reclassify-task-type --current \"$KIND\"'}\n\
        - {id: allowed, command: 'amplihack session-tree check'}\n\
        - {id: sub, command: 'amplihack recipe run leaf.yaml -f json > leaf.json'}\n\
        - {id: done, condition: \"real == 'Development'\", command: 'echo develop'}\n";
    let env = env().file("leaf.yaml", "name: leaf\nsteps: [{id: a, command: echo leaf}]\n");
    let output = env.json(recipe, &["--compat"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.value("kind"), "Operations");
    assert_eq!(output.value("real"), "Development");
    assert_eq!(output.value("allowed"), "ALLOWED");
    assert_eq!(output.value("done"), "develop");
    let shim = std::path::Path::new(output.json()["run_dir"].as_str().unwrap()).join("bin/amplihack");
    assert!(shim.exists());
    let plain =
        env.text("name: r\nsteps: [{id: a, command: 'command -v amplihack || echo none'}]\n", &["--quiet"]);
    assert!(!plain.stdout.contains("/bin/amplihack"), "{}", plain.all());
    // a resumed run has it again
    let later =
        "name: r\nsteps: [{id: a, command: 'test -e go && echo x | amplihack orch helper extract-json'}]\n";
    assert_eq!(env.text(later, &["--compat"]).code, 1);
    env.write("go", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
}

/// A recipe of the same shape as the orchestrator of another runner: classify, normalise, guard, execute, judge.
const ORCHESTRATOR: &str = r#"name: other-orchestrator
context: {task_description: "", repo_path: "."}
steps:
  - {id: classify, prompt: "Classify: {{task_description}}", output: plan}
  - {id: kind, command: 'printf %s "$PLAN" | amplihack orch helper extract-field --field task_type --default Development | amplihack orch helper normalise-type', output: task_type}
  - {id: count, command: 'printf %s "$PLAN" | amplihack orch helper count-workstreams', output: workstream_count}
  - {id: session, command: 'amplihack session-tree register --json', parse_json: true}
  - {id: guard, command: 'amplihack session-tree check', output: guard}
  - {id: answer, condition: "task_type == 'Q&A'", prompt: "Answer: {{task_description}}", output: round_1_result}
  - {id: single, condition: "task_type == 'Development' and workstream_count == 1", command: 'amplihack recipe run leaf -c "task_description=$TASK_DESCRIPTION"', output: round_1_result}
  - {id: file, condition: "task_type == 'Development' and workstream_count != 1 and guard == 'ALLOWED'", command: 'printf %s "$PLAN" | amplihack orch helper build-workstreams-config', output: workstreams_file}
  - {id: parallel, condition: "workstreams_file", command: 'cd "$REPO_PATH" && amplihack orch run -- "$WORKSTREAMS_FILE"', output: round_1_result}
  - {id: judge, condition: "task_type != 'Q&A'", prompt: "Verdict: {{round_1_result}}", output: verdict_text}
  - {id: verdict, condition: "task_type != 'Q&A'", command: 'printf %s "$VERDICT_TEXT" | amplihack orch helper extract-field --field verdict | amplihack orch helper normalise-verdict'}
"#;

// 46
#[test]
fn an_orchestrator_of_another_runner_goes_all_its_ways() {
    let script = r#"case $P in
  *Classify:*where*) echo '{"task_type":"Q&A","goal":"g"}' ;;
  *Classify:*both*) echo 'Plan: ```json {"task_type":"Development","goal":"g","workstreams":[{"name":"one"},{"name":"two"}]} ```' ;;
  *Classify:*) echo '{"task_type":"dev","goal":"g"}' ;;
  *Answer:*) echo 'In exit.rs.' ;;
  *Verdict:*leaf*) echo '{"verdict":"HOLLOW"}' ;;
  *Verdict:*) echo '{"verdict":"PASS"}' ;;
  *) echo done ;;
esac"#;
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), script)
        .env("IS_SANDBOX", "1")
        .file("~/.gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n")
        .file("other.yaml", ORCHESTRATOR)
        .file("recipes/leaf.yaml", "name: leaf\nsteps: [{id: a, command: 'echo leaf: {{task_description}}'}]\n")
        .file("~/.amplihack/amplifier-bundle/recipes/default-workflow.yaml", "name: default-workflow\nsteps: [{id: a, working_dir: '{{repo_path}}', command: 'echo made > made.txt'}]\n");
    let made = env.shell("git init -q repo && cd repo && echo one > file && git add . && git commit -qm one");
    assert_eq!(made.code, 0, "{}", made.all());
    let run = |task: &str| {
        let set = format!("task_description={task}");
        env.run([
            "other.yaml",
            "--compat",
            "--output-format",
            "json",
            "--set",
            &set,
            "--set",
            "repo_path=repo",
        ])
    };
    let question = run("where is it?");
    assert_eq!(
        (question.code, question.value("round_1_result")),
        (0, "In exit.rs.".into()),
        "{}",
        question.all()
    );
    let single = run("Add a flag");
    assert_eq!(single.code, 0, "{}", single.all());
    assert_eq!(single.value("verdict"), "HOLLOW_SUCCESS");
    let both = run("do both");
    assert_eq!(both.code, 0, "{}", both.all());
    let report = both.value("round_1_result");
    let report = report.as_str().unwrap_or_default();
    assert!(report.starts_with("PARALLEL WORKSTREAM REPORT\nOK      one"), "{report}");
    assert!(report.contains("OK      two") && both.value("verdict") == "WORK_VERIFIED", "{}", both.all());
    let branches = env.shell("git -C repo show feat/orch-1-one:made.txt feat/orch-2-two:made.txt");
    assert_eq!(branches.stdout, "made\nmade\n", "{}", branches.all());
}
