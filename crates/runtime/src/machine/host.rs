//! The machine of a run: environment, directories, limits of the session tree.
//!
//! The caller supplies everything; nothing here reads the process's own environment.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::session_tree::{SessionLimits, SessionRefusal};
use recipe::plan::Unit;

use crate::{
    machine::{
        compat_shims::{self, ForeignFile, ShimError},
        dotenv,
    },
    os::{guardian::Guardian, process},
    store::folder::FolderError,
};

/// Variables that keep programs from asking questions.
const QUIET: &[(&str, &str)] = &[
    ("NONINTERACTIVE", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("CI", "true"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Search path of programs if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The number of sessions that steps get as their limit by default.
const SESSIONS: u64 = 10;
/// The largest depth of sessions that can be allowed.
const DEEPEST: u64 = 32;

/// The machine, as far as a run needs it.
#[derive(Clone, Debug)]
pub struct Host {
    /// The environment that steps inherit.
    pub env: BTreeMap<OsString, OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// How long a process has to end by itself before it is killed.
    pub grace: Duration,
    /// Whether the user is root.
    pub is_root: bool,
    /// How to start this program as a guardian of its run; without it no guardian is started.
    pub guardian: Option<Guardian>,
    /// Variables that the recipe or its `.env` files name, with their values, which may be secret.
    pub named: Vec<(String, String)>,
}

/// The name of the user, according to the system.
pub fn name_of_user() -> Option<String> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.name).filter(|name| !name.is_empty())
}

/// The home directory of the user, according to the system.
pub fn home_of_user() -> Option<PathBuf> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(user.dir).filter(|home| !home.as_os_str().is_empty())
}

impl Host {
    /// A variable as text.
    pub fn var(&self, name: &str) -> Option<String> {
        self.env.get(&OsString::from(name)).map(|value| value.to_string_lossy().into_owned())
    }

    /// A variable as a number; `None` if it is unset or not a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.var(name).and_then(|text| text.trim().parse().ok())
    }

    /// Takes in recipes that were found late: definitions of their `.env` files count unless already set, and the
    /// variables that they name may be secret. Relative paths of recipes start from `base`.
    pub(crate) fn take_in(&mut self, units: &[Arc<Unit>], base: &Path, working_dir: &Path) {
        let definitions = dotenv::definitions_of(units, base, working_dir);
        for (name, value) in &definitions {
            self.env.entry(name.into()).or_insert_with(|| value.into());
        }
        let required = units.iter().flat_map(|unit| unit.env.required.iter().cloned());
        let names: Vec<String> = required.chain(definitions.into_iter().map(|(name, _)| name)).collect();
        let named: Vec<_> =
            names.into_iter().filter_map(|name| self.var(&name).map(|value| (name, value))).collect();
        self.named.extend(named);
    }

    /// Puts programs with the names that recipes of other runners call before all others, for the steps of a run.
    pub(crate) fn add_shims(&mut self, dir: &Path) -> Result<(), FolderError> {
        let Some(program) = self.env.get(OsStr::new("RECIPE_RUNNER_EXE")).map(PathBuf::from) else {
            return Ok(());
        };
        // the folder is ours: no other program has files there
        match compat_shims::install(dir, &program, ForeignFile::MovedAside, self) {
            Ok(_) | Err(ShimError::Foreign(_)) => {}
            Err(ShimError::Folder(error)) => return Err(error),
        }
        let path = self.env.get(OsStr::new("PATH")).cloned().unwrap_or_else(|| DEFAULT_PATH.into());
        let mut all = dir.as_os_str().to_owned();
        all.push(":");
        all.push(path);
        self.env.insert("PATH".into(), all);
        Ok(())
    }

    /// The initial environment of every step of a run with this folder.
    pub fn step_env(&self, tree: &Tree, run_dir: Option<&Path>) -> BTreeMap<OsString, OsString> {
        let mut env = self.env.clone();
        env.remove(&OsString::from("CLAUDECODE"));
        let home = self.home.clone().unwrap_or_else(|| PathBuf::from("/"));
        if env.get(OsStr::new("HOME")).is_none_or(|home| home.is_empty()) {
            env.insert("HOME".into(), home.into());
        }
        env.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
        for (name, value) in QUIET {
            env.insert((*name).into(), (*value).into());
        }
        match run_dir {
            Some(dir) => env.insert(process::RUN_DIR_VARIABLE.into(), dir.into()),
            // not the folder of a run around this one
            None => env.remove(OsStr::new(process::RUN_DIR_VARIABLE)),
        };
        env.remove(OsStr::new(process::SESSION_VARIABLE));
        env.insert(process::CHAIN_VARIABLE.into(), tree.chain.join(" ").into());
        env.insert("AMPLIHACK_TREE_ID".into(), tree.id.clone().into());
        env.insert("AMPLIHACK_SESSION_DEPTH".into(), (tree.depth + 1).to_string().into());
        env.insert("AMPLIHACK_MAX_DEPTH".into(), tree.max_depth.to_string().into());
        env.insert("AMPLIHACK_MAX_SESSIONS".into(), tree.max_sessions.to_string().into());
        env
    }

    /// The depth of the session, according to the environment; `None` if it is not set.
    fn session_depth(&self) -> Option<String> {
        let text = self.var("AMPLIHACK_SESSION_DEPTH")?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The reason why no more runs may start here, if there is one.
    pub fn depth_problem(&self) -> Option<String> {
        let tree = self.tree("");
        let said = self.session_depth().unwrap_or_default();
        if !tree.is_used_up() {
            return None;
        }
        let max = tree.max_depth;
        if !said.is_empty() && said.parse::<u64>().is_err() {
            return Some(format!(
                "AMPLIHACK_SESSION_DEPTH: `{said}` is not a number, so it counts as the maximum session depth of {max}: unset it (`unset AMPLIHACK_SESSION_DEPTH`), or set it to the number of runs around this one"
            ));
        }
        Some(SessionRefusal::Depth { depth: tree.depth, max }.to_string())
    }

    /// The maximum number of sessions, according to the environment: `None` if it is not set, an error with the text if
    /// it is not a number.
    fn said_sessions(&self) -> Result<Option<usize>, String> {
        let text = self.var("AMPLIHACK_MAX_SESSIONS").unwrap_or_default();
        match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| text.to_owned()),
        }
    }

    /// The reason why the number of sessions cannot be used, if there is one.
    pub fn sessions_problem(&self) -> Option<String> {
        let said = self.said_sessions().err()?;
        Some(format!("AMPLIHACK_MAX_SESSIONS: `{said}` is not a number, so it does not limit agents"))
    }

    /// How many agents of a run may run at the same time; `asked` is the number of the command line, which cannot
    /// exceed that of the environment.
    pub fn most_agents(&self, asked: Option<usize>) -> usize {
        let most = match self.said_sessions() {
            Ok(Some(said)) => asked.map_or(said, |asked| asked.min(said)),
            _ => asked.unwrap_or(usize::MAX),
        };
        most.max(1)
    }

    /// The caller's own name for the work.
    pub(crate) fn tracking_id(&self) -> Option<String> {
        let text = self.var("AMPLIHACK_RECIPE_RUN_ID")?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The runs around this one, outermost first: each started the next one in a step.
    fn runs_around(&self) -> Vec<String> {
        let text = self.var(process::CHAIN_VARIABLE).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Whether this process was started inside that run, at any depth.
    pub(crate) fn is_inside(&self, run_id: &str) -> bool {
        self.runs_around().iter().any(|run| run == run_id)
    }

    /// The session tree that a run belongs to.
    pub fn tree(&self, run_id: &str) -> Tree {
        let max_depth = self.number("AMPLIHACK_MAX_DEPTH").unwrap_or(3).min(DEEPEST);
        let depth = match self.session_depth() {
            None => 0,
            // an unreadable depth counts as the deepest: better one run too few than one too many
            Some(text) => text.parse().unwrap_or(max_depth),
        };
        let mut chain = self.runs_around();
        chain.push(run_id.to_owned());
        Tree {
            chain,
            id: self
                .var("AMPLIHACK_TREE_ID")
                .filter(|id| !id.is_empty())
                .unwrap_or_else(|| run_id.to_owned()),
            workstream: self.var(process::SESSION_VARIABLE).filter(|id| !id.is_empty()),
            depth,
            max_depth,
            max_sessions: self.number("AMPLIHACK_MAX_SESSIONS").unwrap_or(SESSIONS).max(1),
        }
    }
}

/// Runs and agents that started each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The id that all of them share.
    pub id: String,
    /// This run and the runs around it, outermost first.
    pub chain: Vec<String>,
    /// The workstream around this run, if it was started inside one.
    pub workstream: Option<String>,
    /// The depth of this run.
    pub depth: u64,
    /// The maximum depth of runs.
    pub max_depth: u64,
    /// The maximum number of sessions.
    pub max_sessions: u64,
}

impl Tree {
    /// Whether no more runs may start here.
    pub fn is_used_up(&self) -> bool {
        self.depth >= self.max_depth
    }

    /// Whether another run is around this one.
    pub fn is_nested(&self) -> bool {
        self.depth > 0 || self.chain.len() > 1
    }

    /// The session that started this one: a workstream, or a run.
    pub fn parent(&self) -> Option<&str> {
        if let Some(workstream) = &self.workstream {
            return Some(workstream);
        }
        let around = self.chain.len().checked_sub(2)?;
        self.chain.get(around).map(String::as_str)
    }

    /// The limits of its sessions.
    pub fn limits(&self) -> SessionLimits {
        SessionLimits { max_depth: self.max_depth, max_sessions: self.max_sessions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_limited_by_the_environment_and_by_the_command_line() {
        for (said, asked, most) in [
            (None, None, usize::MAX),
            (None, Some(200), 200),
            (None, Some(3), 3),
            (None, Some(0), 1),
            (Some("4"), None, 4),
            (Some("4"), Some(200), 4),
            (Some("4"), Some(2), 2),
            (Some("50"), None, 50),
            (Some(" 4 "), None, 4),
            (Some("0"), None, 1),
            (Some(""), None, usize::MAX),
            (Some("many"), None, usize::MAX),
            (Some("many"), Some(200), 200),
            (Some("-1"), None, usize::MAX),
        ] {
            let env = said.map(|said| ("AMPLIHACK_MAX_SESSIONS".into(), said.into())).into_iter().collect();
            let host = Host {
                env,
                home: None,
                grace: Duration::ZERO,
                is_root: false,
                guardian: None,
                named: Vec::new(),
            };
            assert_eq!(host.most_agents(asked), most, "{said:?} {asked:?}");
            let is_wrong = matches!(said, Some("many" | "-1"));
            assert_eq!(host.sessions_problem().is_some(), is_wrong, "{said:?}");
        }
    }
}
