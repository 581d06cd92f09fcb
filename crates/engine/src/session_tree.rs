//! The sessions of a tree: who is in it, who is gone, and whether one more may start.
//!
//! Never looks at a process or a file: the caller knows which owners are alive, and stores the tree.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// How long an ended session stays in its tree, and how long a session without an owner is believed.
const KEPT: SignedDuration = SignedDuration::from_hours(24);
/// The longest id of a tree or session.
const LONGEST_ID: usize = 64;

/// Runs and workstreams that started each other. Members that this version does not know are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionTree {
    /// Version of the format.
    pub schema: u64,
    pub tree_id: String,
    /// By their ids.
    #[serde(default)]
    pub sessions: BTreeMap<String, Session>,
    #[serde(flatten)]
    more: Map<String, Json>,
}

/// A member of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub depth: u64,
    /// The session that started it; it may be missing in the tree.
    pub parent: Option<String>,
    pub status: SessionStatus,
    pub started_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    #[serde(default)]
    pub children: Vec<String>,
    pub kind: SessionKind,
    #[serde(flatten)]
    pub owner: SessionOwner,
    /// SHA-256 of the task and the repository of an orchestrating run.
    #[serde(default)]
    pub task_digest: Option<String>,
    #[serde(flatten)]
    more: Map<String, Json>,
}

/// The process or the run that a session lives and dies with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionOwner {
    pub run_id: Option<String>,
    pub pid: Option<u32>,
    /// When the process started, in clock ticks since boot.
    pub pid_start: Option<u64>,
    pub boot_id: Option<String>,
}

impl SessionOwner {
    /// Whether nothing tells who owns the session.
    fn is_unknown(&self) -> bool {
        self.run_id.is_none() && self.pid.is_none()
    }
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    Active,
    Completed,
    /// Its owner died.
    Lost,
}

/// What a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    Run,
    Workstream,
    /// Registered by another program.
    Foreign,
}

/// A session that wants to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub id: String,
    pub parent: Option<String>,
    /// Its depth, unless its parent is in the tree.
    pub depth: u64,
    pub kind: SessionKind,
    pub owner: SessionOwner,
    pub task_digest: Option<String>,
}

/// How many sessions a tree may have, and how deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    pub max_depth: u64,
    pub max_sessions: u64,
}

/// Why a session may not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    #[error(
        "session depth {depth} has reached the maximum of {max}: a recipe may not start more runs inside runs; to allow it, raise AMPLIHACK_MAX_DEPTH"
    )]
    Depth { depth: u64, max: u64 },
    #[error(
        "{active} sessions of this tree are active, and {max} are allowed: wait until one has ended, or raise AMPLIHACK_MAX_SESSIONS"
    )]
    Sessions { active: u64, max: u64 },
    #[error("`{0}` is not a valid session id: use 1 to 64 letters, digits, `_` and `-`")]
    Id(String),
}

impl SessionRefusal {
    /// The reason as one word.
    pub fn word(&self) -> &'static str {
        match self {
            SessionRefusal::Depth { .. } => "depth",
            SessionRefusal::Sessions { .. } => "sessions",
            SessionRefusal::Id(_) => "id",
        }
    }
}

/// Whether a text can be the id of a tree or of a session.
pub fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(is_allowed)
}

impl SessionTree {
    /// Version of the format.
    pub const SCHEMA: u64 = 1;

    /// A tree without sessions.
    pub fn new(tree_id: &str) -> SessionTree {
        SessionTree {
            schema: SessionTree::SCHEMA,
            tree_id: tree_id.to_owned(),
            sessions: BTreeMap::new(),
            more: Map::new(),
        }
    }

    /// Brings the tree up to date: active sessions whose owner is dead become lost, and ended ones go after a day. A
    /// session without an owner is believed for a day.
    pub fn settle(&mut self, now: Timestamp, is_alive: impl Fn(&SessionOwner) -> bool) {
        let is_old = |at: Timestamp| now.duration_since(at) >= KEPT;
        for session in self.sessions.values_mut().filter(|session| session.is_active()) {
            let is_gone = match session.owner.is_unknown() {
                true => is_old(session.started_at),
                false => !is_alive(&session.owner),
            };
            if is_gone {
                session.end(SessionStatus::Lost, now);
            }
        }
        let is_kept = |session: &Session| session.is_active() || !session.completed_at.is_none_or(is_old);
        self.sessions.retain(|_, session| is_kept(session));
        let known: BTreeSet<String> = self.sessions.keys().cloned().collect();
        self.sessions.values_mut().for_each(|session| session.children.retain(|child| known.contains(child)));
    }

    /// The number of active sessions.
    pub fn active(&self) -> u64 {
        self.sessions.values().filter(|session| session.is_active()).count() as u64
    }

    /// Adds a session, and returns its depth. A session that is in the tree already begins again.
    pub fn register(
        &mut self,
        new: NewSession,
        limits: SessionLimits,
        now: Timestamp,
    ) -> Result<u64, SessionRefusal> {
        let ids = [Some(&new.id), new.parent.as_ref()];
        if let Some(wrong) = ids.into_iter().flatten().find(|id| !is_id(id)) {
            return Err(SessionRefusal::Id(wrong.clone()));
        }
        let parent = new.parent.as_ref().and_then(|parent| self.sessions.get(parent));
        let depth = parent.map_or(new.depth, |parent| parent.depth + 1);
        self.room(depth, limits, Some(&new.id))?;
        let children = self.sessions.remove(&new.id).map(|earlier| earlier.children).unwrap_or_default();
        if let Some(parent) = new.parent.as_ref().and_then(|parent| self.sessions.get_mut(parent))
            && !parent.children.contains(&new.id)
        {
            parent.children.push(new.id.clone());
        }
        let session = Session {
            depth,
            parent: new.parent,
            status: SessionStatus::Active,
            started_at: now,
            completed_at: None,
            children,
            kind: new.kind,
            owner: new.owner,
            task_digest: new.task_digest,
            more: Map::new(),
        };
        self.sessions.insert(new.id, session);
        Ok(depth)
    }

    /// Whether a session at this depth may begin; one that is active already does not count twice.
    pub fn room(&self, depth: u64, limits: SessionLimits, id: Option<&str>) -> Result<(), SessionRefusal> {
        let SessionLimits { max_depth, max_sessions } = limits;
        if depth >= max_depth {
            return Err(SessionRefusal::Depth { depth, max: max_depth });
        }
        let is_counted = id.is_some_and(|id| self.sessions.get(id).is_some_and(Session::is_active));
        let active = self.active() - u64::from(is_counted);
        if active >= max_sessions {
            return Err(SessionRefusal::Sessions { active, max: max_sessions });
        }
        Ok(())
    }

    /// Ends a session; one that is not active stays as it is.
    pub fn complete(&mut self, id: &str, now: Timestamp) {
        if let Some(session) = self.sessions.get_mut(id).filter(|session| session.is_active()) {
            session.end(SessionStatus::Completed, now);
        }
    }

    /// Ends all sessions of a run.
    pub fn complete_run(&mut self, run_id: &str, now: Timestamp) {
        let is_its = |session: &&mut Session| session.owner.run_id.as_deref() == Some(run_id);
        for session in self.sessions.values_mut().filter(is_its).filter(|session| session.is_active()) {
            session.end(SessionStatus::Completed, now);
        }
    }

    /// Makes the sessions of a run active again that its death has ended, and its own one. `owner` is its new process.
    pub fn revive(&mut self, run_id: &str, owner: &SessionOwner) {
        for (id, session) in &mut self.sessions {
            let is_its = session.owner.run_id.as_deref() == Some(run_id);
            if is_its && (session.status == SessionStatus::Lost || id == run_id) {
                session.status = SessionStatus::Active;
                session.completed_at = None;
                session.owner = owner.clone();
            }
        }
    }

    /// The nearest active session among these runs, outermost first, that has the same task.
    pub fn with_task<'a>(&self, runs_around: &'a [String], task_digest: &str) -> Option<&'a str> {
        let has_task = |run: &&'a String| {
            let session = self.sessions.get(run.as_str()).filter(|session| session.is_active());
            session.is_some_and(|session| session.task_digest.as_deref() == Some(task_digest))
        };
        runs_around.iter().rev().find(has_task).map(String::as_str)
    }
}

impl Session {
    /// Whether it counts.
    pub fn is_active(&self) -> bool {
        self.status == SessionStatus::Active
    }

    fn end(&mut self, status: SessionStatus, now: Timestamp) {
        self.status = status;
        self.completed_at = Some(now);
    }
}
