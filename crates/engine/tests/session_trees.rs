//! The rules of session trees: refusals, deaths, resumes, tasks.

use engine::session_tree::{
    NewSession, SessionKind, SessionLimits, SessionOwner, SessionRefusal, SessionStatus, SessionTree, is_id,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

const LIMITS: SessionLimits = SessionLimits { max_depth: 3, max_sessions: 3 };

fn at(hours: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
}

fn session(id: &str, parent: Option<&str>, depth: u64) -> NewSession {
    NewSession {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        depth,
        kind: SessionKind::Run,
        owner: SessionOwner {
            run_id: Some(id.to_owned()),
            pid: Some(depth as u32 + 10),
            ..SessionOwner::default()
        },
        task_digest: None,
    }
}

fn foreign(id: &str) -> NewSession {
    let owner = SessionOwner::default();
    NewSession { kind: SessionKind::Foreign, owner, ..session(id, None, 0) }
}

#[test]
fn a_session_is_refused_for_its_depth_for_the_number_and_for_its_id() {
    let mut tree = SessionTree::new("t");
    assert_eq!(tree.register(session("a", None, 0), LIMITS, at(0)), Ok(0));
    assert_eq!(tree.register(session("b", Some("a"), 9), LIMITS, at(0)), Ok(1), "the parent counts");
    assert_eq!(tree.register(session("c", Some("unknown"), 2), LIMITS, at(0)), Ok(2));
    let deep = tree.register(session("d", Some("c"), 0), LIMITS, at(0));
    assert_eq!(deep, Err(SessionRefusal::Depth { depth: 3, max: 3 }));
    let full = tree.register(session("d", None, 0), LIMITS, at(0));
    assert_eq!(full, Err(SessionRefusal::Sessions { active: 3, max: 3 }));
    assert_eq!(tree.register(session("c", None, 1), LIMITS, at(1)), Ok(1), "it begins again");
    assert_eq!(tree.sessions["a"].children, ["b"]);
    tree.complete("b", at(1));
    assert_eq!(tree.register(session("d", Some("a"), 0), LIMITS, at(1)), Ok(1));
    for wrong in ["", "a/b", "..", "a b", &"x".repeat(65)] {
        let refused = tree.register(session(wrong, None, 0), LIMITS, at(0));
        assert_eq!(refused, Err(SessionRefusal::Id(wrong.to_owned())));
    }
    assert!(is_id("AZaz09_-") && is_id(&"x".repeat(64)));
}

#[test]
fn the_dead_are_lost_at_once_and_the_ended_go_after_a_day() {
    let mut tree = SessionTree::new("t");
    for (id, depth) in [("live", 0), ("dead", 1), ("done", 2)] {
        let parent = (id != "live").then_some("live");
        tree.register(
            NewSession { parent: parent.map(str::to_owned), ..session(id, None, depth) },
            LIMITS,
            at(0),
        )
        .unwrap();
    }
    tree.complete("done", at(1));
    let is_alive = |owner: &SessionOwner| owner.run_id.as_deref() == Some("live");
    tree.settle(at(2), is_alive);
    assert_eq!(tree.sessions["dead"].status, SessionStatus::Lost);
    assert_eq!(tree.active(), 1);
    tree.settle(at(25), is_alive);
    assert_eq!(tree.sessions.keys().collect::<Vec<_>>(), ["dead", "live"]);
    assert_eq!(tree.sessions["live"].children, ["dead"]);
    tree.settle(at(26), is_alive);
    tree.settle(at(10_000), is_alive);
    assert_eq!(tree.sessions.keys().collect::<Vec<_>>(), ["live"], "a live one never goes");
    // an ended session does not end again
    tree.complete("live", at(10_000));
    tree.complete_run("live", at(10_001));
    assert_eq!(tree.sessions["live"].completed_at, Some(at(10_000)));
}

#[test]
fn a_resumed_run_has_its_sessions_again() {
    let mut tree = SessionTree::new("t");
    for id in ["run", "run-1", "run-2"] {
        let owner = SessionOwner { run_id: Some("run".to_owned()), ..SessionOwner::default() };
        let digest = Some("d".to_owned());
        tree.register(NewSession { owner, task_digest: digest, ..session(id, None, 0) }, LIMITS, at(0))
            .unwrap();
    }
    tree.complete("run-2", at(1));
    tree.settle(at(2), |_| false);
    assert_eq!(tree.active(), 0);
    let owner = SessionOwner { run_id: Some("run".to_owned()), pid: Some(7), ..SessionOwner::default() };
    tree.revive("run", &owner);
    let active: Vec<&String> =
        tree.sessions.iter().filter(|(_, session)| session.is_active()).map(|(id, _)| id).collect();
    assert_eq!(active, ["run", "run-1"]);
    assert_eq!((tree.sessions["run"].owner.pid, tree.sessions["run"].completed_at), (Some(7), None));
    assert_eq!(tree.sessions["run"].task_digest.as_deref(), Some("d"));
}

#[test]
fn a_session_without_an_owner_is_believed_for_a_day() {
    let mut tree = SessionTree::new("t");
    tree.register(foreign("f"), LIMITS, at(0)).unwrap();
    tree.settle(at(23), |_| false);
    assert_eq!(tree.active(), 1);
    tree.settle(at(24), |_| false);
    assert_eq!((tree.active(), tree.sessions["f"].status), (0, SessionStatus::Lost));
}

#[test]
fn unknown_members_are_kept() {
    let text = r#"{"schema":1,"tree_id":"t","later":{"x":1},"sessions":{"a":{"depth":0,"parent":null,"status":"active","started_at":"1970-01-01T00:00:00Z","completed_at":null,"children":[],"kind":"run","run_id":"a","pid":1,"pid_start":2,"boot_id":"b","task_digest":null,"model":"m"}}}"#;
    let mut tree: SessionTree = serde_json::from_str(text).unwrap();
    tree.settle(at(1), |_| true);
    let written = serde_json::to_value(&tree).unwrap();
    assert_eq!(written, serde_json::from_str::<Json>(text).unwrap());
}

#[test]
fn the_task_of_a_live_run_around_is_found() {
    let mut tree = SessionTree::new("t");
    for (id, task) in [("a", Some("x")), ("b", None), ("c", Some("x")), ("d", Some("y"))] {
        let limits = SessionLimits { max_depth: 9, max_sessions: 9 };
        let task_digest = task.map(str::to_owned);
        tree.register(NewSession { task_digest, ..session(id, None, 0) }, limits, at(0)).unwrap();
    }
    let around = ["a", "b", "c"].map(str::to_owned);
    assert_eq!(tree.with_task(&around, "x"), Some("c"));
    tree.complete("c", at(1));
    assert_eq!(tree.with_task(&around, "x"), Some("a"));
    assert_eq!(tree.with_task(&around, "y"), None, "`d` is not around");
}
