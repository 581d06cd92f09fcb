//! Whether a recipe that failed would fail again in the same way.

use engine::run::cause::{AgentFailure, ExceededLimit, NulPlace, Refusal, StartFailure, StartFailureKind};
use engine::{
    Outcome, StepStatus,
    run::event::{Ended, OutputRef},
};

use crate::{
    folding::ended,
    run::{LEAF, Run, parallel},
};

/// A step that could not be prepared.
pub(crate) fn refused() -> Outcome {
    Outcome::Refused(Refusal::Other("no".to_owned()))
}

/// A program that could not be started.
pub(crate) fn not_started() -> Outcome {
    Outcome::NotStarted(StartFailure { kind: StartFailureKind::Other, message: "no".to_owned() })
}

/// A recipe `mid` that makes `made` and then runs `leaf`, whose `l` fails as it is told.
fn failed(last: &str, end: Ended) -> Run {
    let child = format!(
        "name: mid\nsteps:\n- {{id: made, command: x}}\n- {{id: i, recipe: leaf}}\n---\n\
         name: leaf\nsteps:\n- {{id: k, command: x}}\n- {{id: l, command: 'echo {{{{{last}}}}}'}}\n"
    );
    let text = "name: top\ncontext: {given: g}\nsteps:\n- {id: first, command: x}\n- {id: m, recipe: mid}\n";
    let mut run = Run::new(text, child.leak(), parallel(4), &[]);
    let done = |run: &mut Run, path: &str| {
        run.begin(path, 1);
        run.finish(path, StepStatus::Completed, ended(Outcome::Ok));
    };
    done(&mut run, "first");
    run.begin("m", 1);
    run.enter("m", "mid");
    done(&mut run, "m/made");
    run.begin("m/i", 1);
    run.enter("m/i", "leaf");
    done(&mut run, "m/i/k");
    run.finish("m/i/l", StepStatus::Failed, end);
    run.finish("m/i", StepStatus::Failed, ended(Outcome::Nested));
    run.finish("m", StepStatus::Failed, ended(Outcome::Nested));
    run
}

/// Whether it fails again as a whole, with `mid`, and with `leaf` alone.
#[track_caller]
fn check(last: &str, end: &Ended, expected: [bool; 3]) {
    let run = failed(last, end.clone());
    assert_eq!([0, 1, 2].map(|frame| run.state.fails_again(&run.plan, frame)), expected, "{last} {end:?}");
}

#[test]
fn a_limit_stays_where_it_is() {
    for read in ["given", "k"] {
        check(read, &ended(Outcome::Limit(ExceededLimit::Depth { limit: 1 })), [true; 3]);
    }
}

#[test]
fn what_could_not_begin_fails_again_unless_it_reads_what_is_made_again() {
    let condition = Outcome::Condition { text: String::new(), error: String::new() };
    for outcome in [refused(), condition] {
        check("given", &ended(outcome.clone()), [true; 3]);
        check("k", &ended(outcome.clone()), [false; 3]);
        // what a recipe around it makes is made again only with that one
        check("made", &ended(outcome.clone()), [false, false, true]);
        check("first", &ended(outcome), [false, true, true]);
    }
}

#[test]
fn what_ran_may_end_in_another_way() {
    for outcome in [Outcome::Exit(1), Outcome::Agent(AgentFailure::TooLarge), Outcome::TimedOut(1.0)] {
        check("given", &ended(outcome), [false; 3]);
    }
    let stdout = Some(OutputRef { file: "f".to_owned(), bytes: 1, sha256: None });
    check("given", &Ended { stdout, ..ended(refused()) }, [false; 3]);
}

#[test]
fn a_directory_may_be_made_meanwhile() {
    let directory = Refusal::Directory { path: "x".to_owned(), why: "does not exist".to_owned() };
    for (refusal, again) in [(directory, false), (Refusal::Nul(NulPlace::Json), true)] {
        check("given", &ended(Outcome::Refused(refusal)), [again; 3]);
    }
}

#[test]
fn what_has_not_failed_does_not_fail_again() {
    let mut run = Run::new("name: top\nsteps:\n- {id: a, command: x}\n", LEAF, parallel(4), &[]);
    run.go();
    assert!(!run.state.fails_again(&run.plan, 0));
}
