//! Performs the selected cases, several at the same time, and passes on what came of each as it ends.

use std::{
    num::NonZero,
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use engine::expectations::{CaseFacts, judge, snapshot};
use recipe::test_file::TestCase;
use runtime::os::clock;

use super::{
    load::LoadedTests,
    outcome::{CaseFailure, CaseOutcome, CaseStatus},
    snapshots::{self, Compared, SnapshotMode},
    stage::{Performed, Stage},
};

/// A case that is to be run: the numbers of its file and of the case in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) file: usize,
    pub(super) case: usize,
}

/// How cases are performed.
pub(super) struct Performing<'a> {
    pub(super) stage: &'a Stage,
    pub(super) recipe_dirs: &'a [PathBuf],
    pub(super) jobs: usize,
    pub(super) times: usize,
    pub(super) keep: bool,
    pub(super) fail_fast: bool,
    pub(super) snapshots: SnapshotMode,
}

/// The number of processors.
pub(super) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

impl Performing<'_> {
    /// Performs the cases; `ended` gets each as it ends.
    pub(super) fn perform(
        &self,
        files: &[LoadedTests],
        selection: &[Selection],
        mut ended: impl FnMut(CaseOutcome),
    ) {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(selection.len()) {
                let sender = sender.clone();
                let (next, stop) = (&next, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let Some(one) = selection.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                        let outcome = self.case(files, *one);
                        if self.fail_fast && outcome.status.is_bad() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        if sender.send(outcome).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            receiver.iter().for_each(&mut ended);
        });
    }

    fn case(&self, files: &[LoadedTests], one: Selection) -> CaseOutcome {
        let file = &files[one.file];
        let case = &file.file.cases[one.case];
        let mut outcome = CaseOutcome {
            file: one.file,
            case: one.case,
            status: CaseStatus::Skipped,
            duration: Duration::ZERO,
            failures: Vec::new(),
            covered: Vec::new(),
            kept: None,
            updated: None,
        };
        if case.skip.is_some() {
            return outcome;
        }
        let started = clock::instant();
        let mut first: Option<CaseAttempt> = None;
        for _ in 0..self.times {
            let attempt = self.attempt(file, one.case);
            match &first {
                None => first = Some(attempt),
                Some(known) => {
                    if let Some(difference) = known.difference(&attempt) {
                        outcome.failures.push(flaky(difference, case));
                        outcome.covered.extend(attempt.covered);
                        break;
                    }
                }
            }
        }
        outcome.duration = started.elapsed();
        let Some(attempt) = first else { return outcome };
        let is_flaky = !outcome.failures.is_empty();
        outcome.failures.extend(attempt.failures);
        outcome.status = match attempt.status {
            _ if is_flaky => CaseStatus::Flaky,
            status => status,
        };
        outcome.covered.extend(attempt.covered);
        outcome.kept = attempt.kept;
        outcome.updated = attempt.updated;
        outcome
    }

    /// Performs a case once, and judges it.
    fn attempt(&self, file: &LoadedTests, number: usize) -> CaseAttempt {
        let case = &file.file.cases[number];
        let Performed { facts, errors, covered, breaks, run } =
            self.stage.perform(file, number, self.recipe_dirs);
        let mut attempt = CaseAttempt { covered, ..CaseAttempt::default() };
        attempt.failures = errors;
        if !attempt.failures.is_empty() {
            attempt.status = CaseStatus::Error;
        }
        if let Some(facts) = facts.filter(|_| !breaks) {
            let unmet = judge(&case.expect, &facts).into_iter().map(CaseFailure::Unmet);
            attempt.failures.extend(unmet);
            self.compare_snapshot(file, case, &facts, &mut attempt);
            attempt.picture = snapshot(&facts);
        }
        if attempt.status == CaseStatus::Passed && !attempt.failures.is_empty() {
            attempt.status = CaseStatus::Failed;
        }
        if self.keep && attempt.status.is_bad() {
            attempt.kept = Some(run.scratch.keep());
        }
        attempt
    }

    fn compare_snapshot(
        &self,
        file: &LoadedTests,
        case: &TestCase,
        facts: &CaseFacts,
        attempt: &mut CaseAttempt,
    ) {
        let Some(place) = case.expect.snapshot.filter(|_| attempt.status != CaseStatus::Error) else {
            return;
        };
        match snapshots::compare(&file.path, &case.name, &snapshot(facts), place, self.snapshots) {
            Compared::Same => {}
            Compared::Written(path) => attempt.updated = Some(path),
            Compared::Differs(failure) => attempt.failures.push(failure),
        }
    }
}

/// One performance of a case.
#[derive(Debug)]
struct CaseAttempt {
    status: CaseStatus,
    failures: Vec<CaseFailure>,
    covered: Vec<engine::coverage::BranchName>,
    /// What came of it as text, to compare with other attempts.
    picture: String,
    kept: Option<PathBuf>,
    updated: Option<PathBuf>,
}

impl Default for CaseAttempt {
    fn default() -> CaseAttempt {
        CaseAttempt {
            status: CaseStatus::Passed,
            failures: Vec::new(),
            covered: Vec::new(),
            picture: String::new(),
            kept: None,
            updated: None,
        }
    }
}

impl CaseAttempt {
    /// How another attempt at the same case differs.
    fn difference(&self, other: &CaseAttempt) -> Option<String> {
        if self.status != other.status {
            return Some(format!("{} once, {} another time", self.status.as_str(), other.status.as_str()));
        }
        (self.picture != other.picture).then(|| {
            let lines = runtime::store::line_diff::line_diff(&self.picture, &other.picture);
            format!("(- first time, + another time)\n{}", lines.trim_end())
        })
    }
}

fn flaky(difference: String, case: &TestCase) -> CaseFailure {
    CaseFailure::Unmet(engine::expectations::Unmet {
        what: "repeat".to_owned(),
        expected: "the same result each time".to_owned(),
        actual: difference,
        place: Some(case.place),
    })
}
