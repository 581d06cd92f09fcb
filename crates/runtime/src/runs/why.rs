//! Why a step of a stored run ran or did not: folds the journal up to the decision, and asks the engine. Never writes.

use engine::{
    Record,
    why::{Differences, Hide, Moment, StepFate, WhyStep, differences, history, why},
};

use super::{OpenError, OpenedRun, Runs, compile::compile, fold::fold};
use crate::store::secrets::Mask;

impl Hide for Mask {
    fn text(&self, text: &str) -> String {
        Mask::text(self, text).into_owned()
    }

    fn is_secret(&self, name: &str) -> bool {
        Mask::is_secret(self, name)
    }
}

impl Runs {
    /// Why a step of a run ran, was skipped, kept or re-run.
    pub fn why(&self, run: &OpenedRun, path: &str) -> Result<WhyStep, OpenError> {
        let history = history(&run.records, path);
        let now = self.run_before(run, history.decided)?;
        let before = match history.before {
            Some(seq) => Some(self.run_before(run, Some(seq))?),
            None => None,
        };
        let now = Some(moment(&now));
        Ok(why(path, &history, now, before.as_ref().map(moment), &run.mask))
    }

    /// What is different about a step between two runs: from `other` to `run`. `None` if one of them has no such step.
    pub fn compare_step(
        &self,
        (run, path): (&OpenedRun, &str),
        other: &OpenedRun,
    ) -> Result<Option<Differences>, OpenError> {
        let at = |run: &OpenedRun| -> Result<OpenedRun, OpenError> {
            self.run_before(run, history(&run.records, path).decided)
        };
        let is_known = |run: &OpenedRun| history(&run.records, path).fate != StepFate::NotReached;
        if !is_known(run) || !is_known(other) {
            return Ok(None);
        }
        let (now, before) = (at(run)?, at(other)?);
        // both masks apply: each run knows its own secrets
        let hide = BothMasks(&run.mask, &other.mask);
        Ok(Some(differences(path, moment(&before), moment(&now), &hide)))
    }

    /// A run as it was before the record with this number; as it is now if there is none.
    fn run_before(&self, run: &OpenedRun, seq: Option<u64>) -> Result<OpenedRun, OpenError> {
        let is_before = |record: &&Record| seq.is_none_or(|seq| record.seq < seq);
        let records: Vec<Record> = run.records.iter().take_while(is_before).cloned().collect();
        let plan = compile(&run.folder, 0, &run.header)?;
        fold(run.folder.clone(), run.header.clone(), plan, records, &self.variables)
    }
}

fn moment(run: &OpenedRun) -> Moment<'_> {
    Moment { plan: &run.plan, state: &run.state }
}

/// The secrets of two runs.
struct BothMasks<'a>(&'a Mask, &'a Mask);

impl Hide for BothMasks<'_> {
    fn text(&self, text: &str) -> String {
        Mask::text(self.1, &Mask::text(self.0, text)).into_owned()
    }

    fn is_secret(&self, name: &str) -> bool {
        self.0.is_secret(name) || self.1.is_secret(name)
    }
}
