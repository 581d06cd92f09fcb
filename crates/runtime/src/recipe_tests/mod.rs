//! Test cases of recipes: performs one case on the real engine and loop, in a scratch folder, with stubs in place of
//! agents. Never judges what came of it, and never touches the user's files or runs.
//!
//! [`CaseSession`] performs cases in worker processes of this program: each has its own clock, network and state.

mod case_run;
mod changed_files;
mod fake_programs;
mod kill_points;
mod perform;
mod recipe_copy;
mod scratch;
mod search_path;
mod session;
mod worker;

pub use case_run::{CaseEnd, CaseRun, Network};
pub use perform::{CaseJob, perform};
pub use scratch::ScratchFolder;
pub use session::{CaseOrder, CaseSession, SessionSetup};
pub use worker::{CaseFace, serve};

pub use crate::steps::stubs::{CaseError, StubCalled};
