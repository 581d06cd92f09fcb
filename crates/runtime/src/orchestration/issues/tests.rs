//! Reports with a `gh` that records its calls.

use std::{fs, os::unix::fs::PermissionsExt as _};

use recipe::value::Value;

use super::*;
use crate::store::secrets::Mask;

/// Records its calls; lists and views what the test has written; `refuse`, `no-label` make it fail.
const GH: &str = r#"#!/bin/bash
echo "$1 $2" >> "$GH_DIR/calls"
if [ -e "$GH_DIR/refuse" ]; then echo "HTTP 401: Bad credentials" >&2; exit 1; fi
case "$1 $2" in
  "issue list") cat "$GH_DIR/list" ;;
  "issue view") cat "$GH_DIR/view" ;;
  "issue create")
    cat > "$GH_DIR/body"
    printf '%s\n' "$@" > "$GH_DIR/created"
    if [ -e "$GH_DIR/no-label" ] && grep -qx -e --label "$GH_DIR/created"; then
      echo "could not add label: 'bug' not found" >&2; exit 1
    fi
    number=$(($(cat "$GH_DIR/number") + 1)); echo $number > "$GH_DIR/number"
    echo "https://github.com/o/r/issues/$number" ;;
  "issue comment") cat > "$GH_DIR/comment" ;;
esac
"#;

const PRINT: &str = "0123456789abcdef";

/// A world with a state directory, a run and a `gh`.
struct World {
    dir: tempfile::TempDir,
    env: Environment,
    mask: Mask,
}

impl World {
    fn new(variables: &[(&str, &str)]) -> World {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(dir.path().join("run")).unwrap();
        fs::write(bin.join("gh"), GH).unwrap();
        fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut env = Environment::default();
        env.set("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        env.set("GH_DIR", dir.path());
        variables.iter().for_each(|(name, value)| env.set(*name, *value));
        let mut mask = Mask::default();
        mask.learn_value("password", &Value::from("hunter2hunter2"));
        let world = World { dir, env, mask };
        world.write("list", "[]");
        world.write("number", "0");
        world
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// The calls since the last time.
    fn calls(&self) -> Vec<String> {
        let calls = self.read("calls").lines().map(str::to_owned).collect();
        self.write("calls", "");
        calls
    }

    fn report(&self, run_id: &str, print: &str, repository: Option<&str>) -> FailureReported {
        let facts = TaskFailure {
            mode: "agent_timeout".to_owned(),
            recipe: "default-workflow".to_owned(),
            step: Some("implement".to_owned()),
            quotes: vec!["no answer; password hunter2hunter2".to_owned()],
            task: "add a flag".to_owned(),
            ..TaskFailure::default()
        };
        let run_dir = self.dir.path().join("run");
        let reporter = FailureReporter {
            run_dir: &run_dir,
            run_id,
            state_home: self.dir.path(),
            env: &self.env,
            shown: Confidential { mask: &self.mask, home: None, host_name: None },
            repository,
        };
        clock::block_on(reporter.report(&facts, print)).unwrap()
    }

    /// Makes the search find an issue of this age.
    fn found(&self, number: u64, state: &str, hours: i64, body: &str) {
        let at = clock::now() - SignedDuration::from_hours(hours);
        let issue = serde_json::json!([{
            "number": number, "url": format!("https://github.com/o/r/issues/{number}"), "state": state,
            "createdAt": at.to_string(), "body": body,
        }]);
        self.write("list", &issue.to_string());
        self.write("view", &issue[0].to_string());
    }
}

#[test]
fn without_a_repository_there_is_a_file_and_no_call() {
    let world = World::new(&[]);
    for repository in [None, Some(""), Some("not a repository"), Some("-x/y")] {
        let reported = world.report("run-1", PRINT, repository);
        assert_eq!((reported.dedup, &reported.issue_url), (IssueDedup::Off, &None), "{repository:?}");
        let text = fs::read_to_string(reported.file.unwrap()).unwrap();
        assert!(!text.contains("hunter2") && text.contains("add a flag"), "{text}");
    }
    assert!(world.calls().is_empty());
    let text = world.read("run/diagnostics/0123456789abcdef.md");
    assert!(text.contains("seen here: 4 times"), "{text}");
}

#[test]
fn an_issue_is_created_commented_rolled_up_and_created_again_after_closing() {
    let world = World::new(&[]);
    let created = world.report("run-1", PRINT, Some("o/r"));
    assert_eq!((created.dedup, created.notes.len()), (IssueDedup::Created, 0), "{created:?}");
    assert_eq!(created.issue_url.as_deref(), Some("https://github.com/o/r/issues/1"));
    assert_eq!(world.calls(), ["issue list", "issue create"]);
    let mark = "<!-- recipe-runner:fingerprint=0123456789abcdef -->";
    assert!(world.read("body").contains(mark) && !world.read("body").contains("hunter2"));
    assert!(world.read("created").contains("--label\nbug\n"), "{}", world.read("created"));
    // the search does not find it yet, but it is known from here
    world.found(1, "OPEN", 0, mark);
    world.write("list", "[]");
    let second = world.report("run-2", PRINT, Some("o/r"));
    assert_eq!(second.dedup, IssueDedup::Commented, "{second:?}");
    assert_eq!(world.calls(), ["issue list", "issue view", "issue comment"]);
    assert!(world.read("comment").starts_with("Seen again, 2 times"));
    let third = world.report("run-3", PRINT, Some("o/r"));
    assert_eq!(
        (third.dedup, third.issue_url.is_some()),
        (IssueDedup::Suppressed, true),
        "one comment an hour"
    );
    // a text that only mentions the fingerprint does not count
    world.calls();
    let other = World::new(&[]);
    other.found(9, "OPEN", 1, "fingerprint 0123456789abcdef");
    assert_eq!(other.report("run-1", PRINT, Some("o/r")).dedup, IssueDedup::Created);
    // an open and old one is replaced by a rollup that links it
    let old = World::new(&[]);
    old.found(7, "OPEN", 30, mark);
    assert_eq!(old.report("run-1", PRINT, Some("o/r")).dedup, IssueDedup::Rollup);
    assert!(old.read("body").contains("#7"), "{}", old.read("body"));
    old.found(7, "CLOSED", 30, mark);
    old.write("view", r#"{"state":"CLOSED"}"#);
    let closed = old.report("run-2", PRINT, Some("o/r"));
    assert_eq!(closed.dedup, IssueDedup::Created, "both are closed: {closed:?}");
    assert!(old.read("body").contains("closed"), "{}", old.read("body"));
    // the window can be set, and the search can be switched off
    let narrow = World::new(&[("AMPLIHACK_ISSUE_DEDUP_WINDOW", "60")]);
    narrow.found(7, "OPEN", 1, mark);
    assert_eq!(narrow.report("run-1", PRINT, Some("o/r")).dedup, IssueDedup::Rollup);
    let always = World::new(&[("AMPLIHACK_ISSUE_DEDUP", "0")]);
    always.found(7, "OPEN", 1, mark);
    assert_eq!(always.report("run-1", PRINT, Some("o/r")).dedup, IssueDedup::Created);
    assert_eq!(always.calls(), ["issue create"]);
}

#[test]
fn new_issues_are_limited_to_three_a_run() {
    let world = World::new(&[]);
    let report = |number: u32| world.report("run-1", &format!("{number:016x}"), Some("o/r")).dedup;
    let dedup: Vec<IssueDedup> = (1..=4).map(report).collect();
    use IssueDedup::{Created, Suppressed};
    assert_eq!(dedup, [Created, Created, Created, Suppressed]);
    for run in 2..=4 {
        for number in 0..3 {
            world.report(&format!("run-{run}"), &format!("{:016x}", run * 100 + number), Some("o/r"));
        }
    }
    assert_eq!(world.read("number").trim(), "10", "ten a day");
}

#[test]
fn a_refused_call_is_not_tried_again_and_a_missing_label_is_left_out() {
    let world = World::new(&[]);
    world.write("refuse", "");
    let refused = world.report("run-1", PRINT, Some("o/r"));
    assert_eq!((refused.dedup, refused.file.is_some()), (IssueDedup::Local, true), "{refused:?}");
    assert!(refused.notes[0].contains("401"), "{refused:?}");
    assert_eq!(world.report("run-1", "fedcba9876543210", Some("o/r")).dedup, IssueDedup::Local);
    assert_eq!(world.calls(), ["issue list"]);
    let plain = World::new(&[]);
    plain.write("no-label", "");
    assert_eq!(plain.report("run-1", PRINT, Some("o/r")).dedup, IssueDedup::Created);
    assert_eq!(plain.calls(), ["issue list", "issue create", "issue create"]);
    assert!(!plain.read("created").contains("--label"));
    // without gh there is the local file
    let none = World::new(&[]);
    fs::remove_file(none.dir.path().join("bin/gh")).unwrap();
    let reported = none.report("run-1", PRINT, Some("o/r"));
    assert_eq!((reported.dedup, reported.file.is_some()), (IssueDedup::Local, true), "{reported:?}");
}
