//! `run.json`: the request of a run, written once. Never changes.

use std::path::PathBuf;

use engine::run::{
    origin::Origin,
    override_values::{self, OverrideValue},
};
use jiff::Timestamp;
use recipe::value::Map;
use serde::{Deserialize, Serialize};

use super::{Options, StoredRequest};

/// The request of a run, as it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of this file.
    pub format: u32,
    pub run_id: String,
    /// The id that all attempts at one piece of work share.
    pub tracking_id: String,
    pub recipe_name: String,
    /// The recipe's file.
    pub recipe_path: String,
    /// The recipe's absolute path, unless it is built in.
    #[serde(default)]
    pub recipe_file: Option<PathBuf>,
    /// SHA-256 of the recipe's text.
    pub recipe_digest: String,
    pub working_dir: PathBuf,
    /// When it was created.
    pub created_at: Timestamp,
    /// The boot of the machine when it was created.
    pub boot_id: Option<String>,
    /// Given context values.
    pub given: Vec<(String, OverrideValue)>,
    /// Options that a resume keeps.
    pub options: Options,
    /// The request; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<StoredRequest>,
    /// Where the request came from; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Header {
    /// The given context values.
    pub fn given(&self) -> Map {
        override_values::read(&self.given)
    }
}
