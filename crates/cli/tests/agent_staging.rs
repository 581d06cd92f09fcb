//! What agents changed is staged, and nothing that is private.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn a_shared_state_directory_hides_only_stored_runs() {
    for ignored in ["", "target\n"] {
        let env = env().agent("claude", "echo made > made.txt; result ok");
        env.write(
            "r.yaml",
            "name: r\ncontext: {api_key: very-secret-1}\nsteps: [{id: a, prompt: '{{api_key}}'}]\n",
        );
        assert_eq!(env.shell("git init -q .").code, 0);
        if !ignored.is_empty() {
            env.write(".gitignore", ignored);
        }
        assert_eq!(env.run(["r.yaml", "--state-dir", "."]).code, 0);
        let listed = env.shell("git diff --cached --name-only").stdout;
        assert!(listed.contains("made.txt"), "{listed}");
        assert!(!listed.contains("r.yaml"), "it was there before the step: {listed}");
        assert!(!listed.contains("runs/") && !listed.contains("workspaces/"), "{listed}");
    }
}

/// A git that notes when two of it add at once, and takes its time.
const SLOW_GIT: &str = r#"#!/bin/sh
case "$*" in "add -A"*) ;; *) exec "$REAL_GIT" "$@" ;; esac
mkdir "$HOME/adding" 2>/dev/null || echo "two at once" >> "$HOME/collisions"
sleep 0.3
"$REAL_GIT" "$@"; code=$?
rmdir "$HOME/adding"
exit $code
"#;

#[test]
fn agents_of_a_group_are_staged_one_after_the_other() {
    let env = env().agent("claude", "echo made > made-$RANDOM$$.txt; result ok");
    let real = env.shell("command -v git").stdout.trim().to_owned();
    let env = env.env("REAL_GIT", &real).file("~/slow-git", SLOW_GIT);
    assert_eq!(
        env.shell("git init -q . && chmod +x ~/slow-git && mv ~/slow-git \"$ZOO_DIR/bin/git\"").code,
        0
    );
    let steps: String =
        (1..=5).map(|n| format!("  - {{id: a{n}, prompt: write, parallel_group: g}}\n")).collect();
    let status = "  - {id: left, command: git status --short}\n";
    env.write("r.yaml", format!("name: r\nsteps:\n{steps}{status}"));
    let run = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(run.code, 0, "{}", run.all());
    let notes = run.json()["evidence"]["notes"].to_string();
    assert!(notes.contains("staged ") && !notes.contains("could not stage"), "{notes}");
    assert!(!env.home().join("collisions").exists(), "{}", run.all());
    let left = run.step("left")["output"].as_str().unwrap_or_default().to_owned();
    assert!(!left.contains("?? made"), "{left}");
}

/// A run in a repository in which a step beside the agent locks the index; what is noted, and what is staged.
fn run_beside_a_lock(holder: &str) -> (String, String) {
    let env = env().agent(
        "claude",
        "until [ -e .git/index.lock ] || [ -e gone ]; do sleep 0.05; done; echo made > made.txt; result ok",
    );
    assert_eq!(env.shell("git init -q .").code, 0);
    env.write(
        "r.yaml",
        format!(
            "name: r\nsteps:\n  - {{id: a, prompt: write, parallel_group: g}}\n  \
             - {{id: b, command: '{holder}', parallel_group: g}}\n"
        ),
    );
    let run = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(run.code, 0, "{}", run.all());
    let notes = run.json()["evidence"]["notes"].to_string();
    (notes, env.shell("git diff --cached --name-only").stdout)
}

#[test]
fn staging_waits_for_the_lock_of_another_process() {
    let (notes, staged) =
        run_beside_a_lock("touch .git/index.lock; sleep 1.5; touch gone; rm .git/index.lock");
    assert!(notes.contains("staged ") && !notes.contains("could not stage"), "{notes}");
    assert!(staged.contains("made.txt"), "{staged}");
}

#[test]
fn a_lock_that_stays_is_reported_without_advice_to_remove_it() {
    let (notes, staged) = run_beside_a_lock("touch .git/index.lock");
    assert!(notes.contains("could not stage changes: another git process holds"), "{notes}");
    assert!(notes.contains(".git/index.lock` (waited up to"), "{notes}");
    assert!(!notes.contains("remove the file manually"), "{notes}");
    assert_eq!(staged, "");
}

/// In a hook git names a repository and its index in variables; the agent may work in another one.
#[test]
fn a_hook_stages_in_the_repository_where_the_agent_worked() {
    let env = env().agent("claude", "echo made > made.txt; result ok");
    env.write("r.yaml", "name: r\nsteps: [{id: a, prompt: write, working_dir: ../other}]\n");
    let setup = "git config --global user.name n; git config --global user.email e@example.com
        git init -q main && git init -q other
        cd main && echo 1 > one && git add . && git commit -qm one && git worktree add -q ../linked
        printf '#!/bin/sh\\n\"$RUNNER\" ../r.yaml --quiet\\n' > .git/hooks/pre-commit
        chmod +x .git/hooks/pre-commit";
    assert_eq!(env.shell(setup).code, 0);
    for dir in ["main", "linked"] {
        let commit = format!(
            "cd {dir} && echo 2 > mine-{dir} && echo 3 > one && git add mine-{dir} && git commit -qam x"
        );
        let output = env.shell(&commit);
        assert_eq!(output.code, 0, "{}", output.all());
        let changed = env.shell(&format!("cd {dir} && git show --name-status --format= HEAD")).stdout;
        assert_eq!(changed, format!("A\tmine-{dir}\nM\tone\n"), "{}", output.all());
        let staged =
            env.shell("cd other && git diff --cached --name-only && git reset -q && rm made.txt").stdout;
        assert_eq!(staged, "made.txt\n", "{}", output.all());
    }
}

/// A work tree that the variables name is meant, wherever its repository is.
#[test]
fn a_work_tree_that_variables_name_is_staged() {
    let env = env().agent("claude", "echo made > made.txt; result ok");
    env.write("tree/r.yaml", "name: r\nsteps: [{id: a, prompt: write}]\n");
    let output = env.shell(
        "git init -q --bare dot.git; export GIT_DIR=$PWD/dot.git GIT_WORK_TREE=$PWD/tree; cd tree
         \"$RUNNER\" r.yaml --quiet >/dev/null 2>&1; git diff --cached --name-only",
    );
    assert!(output.stdout.contains("made.txt"), "{}", output.all());
}

/// What is staged after an agent step with this script in a repository with some changes, and what is noted.
fn staged_after(body: &str) -> (String, String) {
    let env = env().agent("claude", body).file("old.txt", "1\n").file("mine.txt", "1\n");
    env.write("r.yaml", "name: r\nsteps: [{id: write, prompt: p}]\n");
    let commit = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x";
    assert_eq!(env.shell(commit).code, 0);
    env.write("mine.txt", "2\n");
    env.write("new mine.txt", "x\n");
    let run = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(run.code, 0, "{}", run.all());
    let notes = run.json()["evidence"]["notes"].to_string();
    (env.shell("git diff --cached --name-only").stdout, notes)
}

#[test]
fn only_what_the_agent_changed_is_staged_and_told() {
    let (staged, notes) =
        staged_after("echo 2 > old.txt; echo x > 'a b.txt'; mkdir d; echo y > d/c; result ok");
    assert_eq!(staged, "a b.txt\nd/c\nold.txt\n");
    assert!(notes.contains("staged 3 files changed by write: a b.txt, d/c, old.txt\""), "{notes}");
    let (staged, notes) = staged_after("echo 3 > mine.txt; echo x > made; sleep 0.01; result ok");
    assert_eq!(staged, "made\n");
    let kept = "not staged, because they had changed before write began: mine.txt";
    assert!(notes.contains("staged 1 file changed by write: made;") && notes.contains(kept), "{notes}");
    let (staged, notes) = staged_after("result ok");
    assert_eq!((staged.as_str(), notes.as_str()), ("", "[]"));
    let (staged, _) = staged_after("rm old.txt; result ok");
    assert_eq!(staged, "old.txt\n");
}

#[test]
fn a_later_agent_may_change_what_an_earlier_one_made() {
    let env = env().agent("claude", "echo $n >> made.txt; result ok");
    env.write("r.yaml", "name: r\nsteps: [{id: a, prompt: p}, {id: b, prompt: p}]\n");
    assert_eq!(env.shell("git init -q .").code, 0);
    let run = env.run(["r.yaml", "--output-format", "json"]);
    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(env.shell("git show :made.txt").stdout, "1\n2\n", "{}", run.all());
}
