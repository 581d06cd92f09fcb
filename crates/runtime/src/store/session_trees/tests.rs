//! Files of session trees. A file is complete after every change, even if a process is killed during it.

use engine::session_tree::{SessionKind, SessionStatus};
use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::store::folder::make_dir;

const LIMITS: SessionLimits = SessionLimits { max_depth: 3, max_sessions: 10 };

fn session(id: &str, owner: SessionOwner) -> NewSession {
    let kind = SessionKind::Run;
    NewSession { id: id.to_owned(), parent: None, depth: 1, kind, owner, task_digest: None }
}

fn trees() -> (tempfile::TempDir, SessionTrees) {
    let dir = tempfile::tempdir().unwrap();
    let trees = SessionTrees::new(dir.path().join("trees"), dir.path().join("runs"));
    (dir, trees)
}

#[test]
fn a_tree_is_private_and_only_written_when_it_changes() {
    let (_dir, trees) = trees();
    assert!(!trees.has("t"));
    trees.register("t", session("a", this_process("a")), LIMITS).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(trees.dir()), mode(&trees.file("t").path())), (0o700, 0o600));
    let written = fs::metadata(trees.file("t").path()).unwrap().modified().unwrap();
    assert_eq!(trees.current("t").unwrap().value.active(), 1);
    assert_eq!(fs::metadata(trees.file("t").path()).unwrap().modified().unwrap(), written);
    trees.complete_run("t", "a").unwrap();
    assert_eq!(trees.look("t").active(), 0);
    assert!(matches!(trees.complete("../t", "a"), Err(SessionError::TreeId(_))));
}

#[test]
fn a_damaged_file_is_moved_aside() {
    let (_dir, trees) = trees();
    trees.register("t", session("a", this_process("a")), LIMITS).unwrap();
    for (number, text) in ["{\"schema\":1,", "[]"].into_iter().enumerate() {
        fs::write(trees.file("t").path(), text).unwrap();
        let changed = trees.register("t", session("b", this_process("b")), LIMITS).unwrap();
        assert!(changed.warning.unwrap().contains("is damaged"));
        let aside = trees.dir().join(format!("t.damaged-{}", number + 1));
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
        assert_eq!(trees.look("t").sessions.keys().collect::<Vec<_>>(), ["b"]);
    }
}

#[test]
fn an_owner_is_alive_by_its_process_or_by_the_lock_of_its_run() {
    let (dir, trees) = trees();
    let me = this_process("mine");
    let other = |change: fn(&mut SessionOwner)| {
        let mut owner = SessionOwner { run_id: None, ..me.clone() };
        change(&mut owner);
        owner
    };
    let locked = RunFolder::at(dir.path().join("runs/locked"));
    make_dir(locked.path()).unwrap();
    let _lock = locked.lock().unwrap().unwrap();
    let owners = [
        ("me", other(|_| ()), true),
        ("later", other(|owner| owner.pid_start = Some(1)), false),
        ("boot", other(|owner| owner.boot_id = Some("another".to_owned())), false),
        ("gone", other(|owner| owner.pid = Some(4_000_000)), false),
        ("locked", SessionOwner { run_id: Some("locked".to_owned()), ..SessionOwner::default() }, true),
        ("free", SessionOwner { run_id: Some("free".to_owned()), ..SessionOwner::default() }, false),
    ];
    for (id, owner, _) in &owners {
        trees.register("t", session(id, owner.clone()), LIMITS).unwrap();
    }
    let tree = trees.look("t");
    for (id, _, is_alive) in owners {
        let expected = if is_alive { SessionStatus::Active } else { SessionStatus::Lost };
        assert_eq!(tree.sessions[id].status, expected, "{id}");
    }
}
