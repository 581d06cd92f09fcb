//! Whether a request uses auto-fix, and with which budget. Never repairs anything.

use std::path::PathBuf;

use crate::{
    agents::AgentSettings,
    machine::{host::Host, local::SettingError, programs},
    repair::{self, Policy, UnfinishedLoop},
    runs::{RunError, Runs},
    store::folder::{Options, RepairReview, RequestOptions, RunFolder},
};

/// The use of auto-fix before a request.
#[derive(Default)]
pub(super) struct Earlier {
    /// Whether the run was started without it.
    is_off: bool,
    /// How repairs that no rule decides were to be reviewed.
    review: RepairReview,
    /// A loop that was killed, or that waits for an answer.
    unfinished: Option<UnfinishedLoop>,
}

impl Earlier {
    /// Of a stored run.
    pub(super) fn of(folder: &RunFolder, options: &Options) -> Earlier {
        let review = options.review.clone();
        Earlier { is_off: options.no_auto_fix, review, unfinished: repair::unfinished(folder, options) }
    }

    /// Checks that the reviewer is another agent program than the one that repairs.
    pub(super) fn reviews_others(
        &self,
        options: &RequestOptions,
        agents: &AgentSettings,
        host: &Host,
    ) -> Result<(), SettingError> {
        let kept = || self.review.agent.clone().filter(|_| options.auto_fix.is_some());
        let repairs = options.repair_agent.as_deref().unwrap_or(agents.program());
        match options.review.agent.clone().or_else(kept) {
            Some(name) if programs::is_same(&name, repairs, agents, host) => {
                Err(SettingError::ReviewAgent(name))
            }
            _ => Ok(()),
        }
    }
}

/// The use of auto-fix by a request.
pub(super) struct AutoFix {
    /// How it is done, if it is.
    pub(super) policy: Option<Policy>,
    /// The path of its budget.
    pub(super) budget: Option<PathBuf>,
    /// Whether the result says that it is switched off.
    pub(super) is_off: bool,
    /// Whether a loop that was killed continues.
    pub(super) continues: bool,
}

impl AutoFix {
    /// Decides, and passes the decision on to everything that the run starts.
    pub(super) fn choose(
        runs: &Runs,
        options: &RequestOptions,
        earlier: Earlier,
        host: &mut Host,
    ) -> Result<AutoFix, RunError> {
        let is_said = options.no_auto_fix || (earlier.is_off && options.auto_fix.is_none());
        let is_unwanted = is_said || repair::is_forbidden(host);
        let is_off = is_unwanted && (is_said || options.auto_fix.is_some() || earlier.unfinished.is_some());
        if is_unwanted {
            repair::forbid(host);
            return Ok(AutoFix { policy: None, budget: None, is_off, continues: false });
        }
        let known = earlier.unfinished.as_ref().map(|unfinished| unfinished.budget.clone());
        let continues = earlier.unfinished.as_ref().is_some_and(|unfinished| !unfinished.is_paused);
        let asked = options.auto_fix.filter(|_| !options.dry_run);
        let asked = asked.map(|max_attempts| Policy {
            max_attempts,
            repair_agent: options.repair_agent.clone(),
            review: options.review.or(&earlier.review),
        });
        let Some(mut policy) = asked.or(earlier.unfinished.map(|unfinished| unfinished.policy)) else {
            return Ok(AutoFix { policy: None, budget: None, is_off, continues });
        };
        let budget = repair::prepare(runs, &mut policy, known, host)?;
        Ok(AutoFix { policy: Some(policy), budget: Some(budget), is_off, continues })
    }
}
