//! Durations: the time that processes worked, and not the time between them.

use engine::{
    EndReason, Event, Outcome, Record, RunState, StepStatus,
    run::event::{Ended, RunFinished, RunResumed},
};
use jiff::Timestamp;
use recipe::plan::Plan;

use crate::run::{parallel, plan};

const PAIR: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";

/// A run whose events have times.
struct Timed {
    plan: Plan,
    state: RunState,
    seq: u64,
}

impl Timed {
    fn new(text: &str) -> Timed {
        let plan = plan(text, PAIR);
        let state = RunState::new(&plan, parallel(4));
        Timed { plan, state, seq: 0 }
    }

    fn at(&mut self, second: i64, event: Event) {
        self.seq += 1;
        let record = Record { seq: self.seq, at: Timestamp::from_second(second).unwrap(), event };
        self.state.apply(&self.plan, &record, None);
    }

    fn start(&mut self, second: i64, path: &str) {
        let attempt = self.state.next_attempt(path);
        self.at(second, Event::StepStarted { path: path.to_owned(), attempt, inputs: None });
    }

    fn enter(&mut self, second: i64, path: &str) {
        self.start(second, path);
        self.at(second, Event::RecipeEntered { path: path.to_owned(), unit: "leaf".to_owned() });
    }

    fn end(&mut self, second: i64, path: &str, outcome: Outcome) {
        let status = if outcome == Outcome::Ok { StepStatus::Completed } else { StepStatus::Failed };
        let ended = Ended::new(outcome, None);
        let (path, attempt) = (path.to_owned(), 1);
        self.at(second, Event::StepFinished { path, attempt, status, ended, recovered: false });
    }

    fn resume(&mut self, second: i64, rerun: &[&str]) {
        let rerun = rerun.iter().map(|step| (*step).to_owned()).collect();
        self.at(second, Event::RunResumed(RunResumed { rerun, ..RunResumed::default() }));
    }

    fn fail(&mut self, second: i64) {
        let finished = RunFinished::new(EndReason::Failed, None);
        self.at(second, Event::RunFinished(finished));
    }

    fn taken(&self, path: &str) -> Option<f64> {
        self.state.step(path).unwrap().taken()
    }
}

const RECIPE: &str = "name: top\nsteps:\n- {id: n, recipe: leaf}\n- {id: z, command: x}\n";

#[test]
fn a_recipe_step_counts_the_work_of_every_process() {
    let mut run = Timed::new(RECIPE);
    run.enter(10, "n");
    run.start(10, "n/k");
    run.end(13, "n/k", Outcome::Ok);
    run.start(13, "n/l");
    // killed, and resumed much later, twice
    run.resume(100, &[]);
    run.enter(101, "n");
    run.start(101, "n/l");
    run.at(105, Event::Noted { path: None, message: String::new(), next: None });
    run.resume(1000, &[]);
    run.enter(1000, "n");
    run.start(1000, "n/l");
    run.end(1002, "n/l", Outcome::Ok);
    run.end(1002, "n", Outcome::Ok);
    assert_eq!(run.taken("n"), Some(3.0 + 4.0 + 2.0));
    assert_eq!(run.taken("n/k"), Some(3.0));
    assert_eq!(run.taken("n/l"), Some(2.0), "it began again");
}

#[test]
fn a_failed_recipe_that_is_continued_counts_its_first_part() {
    let failed = || {
        let mut run = Timed::new(RECIPE);
        run.enter(10, "n");
        run.start(10, "n/k");
        run.end(15, "n/k", Outcome::Ok);
        run.start(15, "n/l");
        run.end(16, "n/l", Outcome::Exit(1));
        run.end(16, "n", Outcome::Nested);
        run.fail(17);
        run
    };
    for (rerun, expected) in [(&[][..], 6.0 + 2.0), (&["n"], 2.0)] {
        let mut run = failed();
        run.resume(50, rerun);
        run.enter(50, "n");
        run.start(50, "n/l");
        run.end(52, "n/l", Outcome::Ok);
        run.end(52, "n", Outcome::Ok);
        assert_eq!(run.taken("n"), Some(expected), "{rerun:?}");
    }
}

#[test]
fn an_answer_between_two_processes_is_no_work() {
    let mut run = Timed::new(RECIPE);
    run.enter(10, "n");
    run.start(10, "n/k");
    for second in [12, 300] {
        let waits = RunFinished { worked_ms: Some(2000), ..RunFinished::new(EndReason::Waiting, None) };
        run.at(second, Event::RunFinished(waits));
    }
    run.resume(400, &[]);
    run.enter(400, "n");
    run.end(401, "n", Outcome::Ok);
    assert_eq!(run.taken("n"), Some(3.0));
}

#[test]
fn a_step_of_a_run_that_was_taken_over_ended_with_its_process() {
    let mut run = Timed::new(RECIPE);
    run.enter(10, "n");
    run.start(10, "n/k");
    run.at(12, Event::Noted { path: None, message: String::new(), next: None });
    run.at(500, Event::RunTakenOver { pid: 2 });
    assert_eq!(run.taken("n/k"), Some(2.0));
    assert_eq!(run.state.work.recorded(), 2000);
}
