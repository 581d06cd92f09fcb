//! What came of the last time that each agent program was asked for one word: `agent-checks.json` in the state directory.
//!
//! Only a check that really asked a program writes here.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::locked_json::{LockedJson, LockedJsonError};

/// The checks that a state directory knows.
pub struct AgentChecks {
    file: LockedJson,
}

/// One check of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentCheck {
    pub path: PathBuf,
    pub version: Option<String>,
    pub at: Timestamp,
    /// Why the program did not answer; nothing if it answered.
    pub error: Option<String>,
}

impl AgentChecks {
    /// The checks of this state directory.
    pub fn of(home: &Path) -> AgentChecks {
        AgentChecks { file: LockedJson::new(home.to_owned(), "agent-checks") }
    }

    /// The last check of each program, by its name.
    pub fn look(&self) -> BTreeMap<String, AgentCheck> {
        self.file.look().unwrap_or_default()
    }

    /// Stores new checks. Those of other programs stay.
    pub fn store(&self, checks: BTreeMap<String, AgentCheck>) -> Result<(), LockedJsonError> {
        let change = |known: &mut BTreeMap<String, AgentCheck>| known.extend(checks);
        self.file.change(BTreeMap::new(), change).map(|_| ())
    }
}
