//! Branches of recipes and the events that take them.

use std::collections::BTreeMap;

use engine::{
    Event, Outcome, StepStatus,
    coverage::{branches, covered},
    run::{
        cause::LoopFailure,
        event::{Answered, Ended, Usage, Via},
        outcome::SkipReason,
    },
};
use jiff::Timestamp;

use crate::run::{Run, parallel, plan};

const EVERY_KIND: &str = "\
name: top
hooks:
  on_error: echo failed
steps:
  - id: build
    condition: x == 1
    command: make
    retry: 3
    continue_on_error: true
    exit_codes: {75: needs_human}
  - id: plan
    prompt: p
    parse_json: true
    ensure:
      - file: a
  - id: sub
    recipe: child
    recovery_on_failure: true
  - id: again
    recipe: child
    repeat: {max: 2, until: \"a == 'b'\"}
  - id: each
    for_each: \"{{plan.files}}\"
    command: echo {{item}}
  - id: written
    for_each: [a, b]
    command: echo {{item}}
  - id: approve
    ask: Go?
    timeout: 10
  - id: tidy
    when: failed
    command: rm x
";

const CHILD: &str = "\
name: child
steps:
  - id: inner
    command: echo
";

fn names() -> Vec<(String, String, usize)> {
    let found = branches(&plan(EVERY_KIND, CHILD));
    found.into_iter().map(|branch| (branch.name.file, branch.name.name, branch.line)).collect()
}

#[test]
fn a15_every_kind_of_branch_has_a_name_and_a_line() {
    let expected = [
        ("top", "build.ran", 5),
        ("top", "build.condition.true", 6),
        ("top", "build.condition.false", 6),
        ("top", "build.continue_on_error.ok", 9),
        ("top", "build.continue_on_error.failed", 9),
        ("top", "build.retry.used", 8),
        ("top", "build.retry.exhausted", 8),
        ("top", "build.exit_codes.75", 10),
        ("top", "plan.ran", 11),
        ("top", "plan.json.asked_again", 13),
        ("top", "plan.json.given_up", 13),
        ("top", "plan.ensure.asked_again", 14),
        ("top", "plan.ensure.failed", 14),
        ("top", "sub.ran", 16),
        ("top", "sub.recovery.yes", 18),
        ("top", "sub.recovery.no", 18),
        ("top", "again.ran", 19),
        ("top", "again.repeat.met", 21),
        ("top", "again.repeat.exhausted", 21),
        ("top", "each.ran", 22),
        ("top", "each.for_each.none", 23),
        ("top", "each.for_each.some", 23),
        ("top", "each.for_each.item_failed", 23),
        ("top", "written.ran", 25),
        ("top", "written.for_each.some", 26),
        ("top", "written.for_each.item_failed", 26),
        ("top", "approve.ran", 28),
        ("top", "approve.ask.timeout", 30),
        ("top", "approve.ask.approve", 29),
        ("top", "approve.ask.reject", 29),
        ("top", "tidy.ran", 31),
        ("top", "tidy.when.taken", 32),
        ("top", "tidy.when.not_taken", 32),
        ("top", "hooks.on_error", 3),
        ("child", "inner.ran", 3),
    ];
    let expected: Vec<(String, String, usize)> =
        expected.map(|(file, name, line)| (file.to_owned(), name.to_owned(), line)).to_vec();
    assert_eq!(names(), expected, "the child is used twice and counts once");
}

fn started(path: &str) -> Event {
    Event::StepStarted { path: path.to_owned(), attempt: 1, inputs: None }
}

fn finished(path: &str, status: StepStatus, ended: Ended) -> Event {
    Event::StepFinished { path: path.to_owned(), attempt: 1, status, ended, recovered: false }
}

fn failed_attempt(path: &str, outcome: Outcome) -> Event {
    Event::AttemptFailed {
        path: path.to_owned(),
        attempt: 1,
        ended: Ended::new(outcome, None),
        retry_in_ms: 0,
    }
}

fn entered(path: &str) -> Event {
    Event::RecipeEntered { path: path.to_owned(), unit: "child".to_owned() }
}

fn answered(via: Via, choice: &str) -> Event {
    Event::Answered(Answered {
        path: "approve".to_owned(),
        choice: choice.to_owned(),
        fields: Default::default(),
        comment: None,
        by: "me".to_owned(),
        via,
        at: Timestamp::UNIX_EPOCH,
        digest: None,
        origin: None,
    })
}

/// The branches that these events take, without the file of the main recipe.
fn taken(events: &[Event]) -> Vec<String> {
    let found = covered(&plan(EVERY_KIND, CHILD), events);
    found.into_iter().map(|branch| format!("{}:{}", branch.file, branch.name).replace("top:", "")).collect()
}

#[test]
fn a15_events_take_branches() {
    let done = || Ended::new(Outcome::Ok, None);
    let skipped = |path: &str, reason| Event::StepSkipped { path: path.to_owned(), reason };
    let exhausted =
        Outcome::Loop(LoopFailure::NotReached { iterations: 2, until: String::new(), values: Vec::new() });
    let not_json = Outcome::NotJson { problem: String::new() };
    let entered_loop = |items: &[&str]| Event::LoopEntered {
        path: "each".to_owned(),
        items: items.iter().map(|item| item.to_string()).collect(),
    };
    let cases: BTreeMap<&str, Vec<Event>> = BTreeMap::from([
        ("build.condition.true build.ran", vec![started("build")]),
        ("build.condition.false", vec![skipped("build", SkipReason::Condition)]),
        ("build.retry.used", vec![failed_attempt("build", Outcome::Exit(1))]),
        ("build.exit_codes.75 build.retry.used", vec![failed_attempt("build", Outcome::Exit(75))]),
        ("", vec![failed_attempt("build", Outcome::Cancelled), skipped("build", SkipReason::Tags)]),
        (
            "build.continue_on_error.failed build.retry.exhausted build.retry.used",
            vec![
                failed_attempt("build", Outcome::Exit(1)),
                failed_attempt("build", Outcome::Exit(1)),
                finished("build", StepStatus::Failed, Ended::new(Outcome::Exit(1), None)),
            ],
        ),
        ("build.continue_on_error.ok", vec![finished("build", StepStatus::Completed, done())]),
        (
            "plan.json.asked_again plan.json.given_up",
            vec![finished(
                "plan",
                StepStatus::Degraded,
                Ended { asked_for_json: 1, ..Ended::new(not_json, None) },
            )],
        ),
        ("plan.ensure.asked_again", vec![failed_attempt("plan", Outcome::Ensure)]),
        ("plan.ensure.failed", vec![finished("plan", StepStatus::Failed, Ended::new(Outcome::Ensure, None))]),
        (
            "sub.recovery.no",
            vec![finished(
                "sub",
                StepStatus::Failed,
                Ended { usage: Some(Usage::default()), ..Ended::new(Outcome::Nested, None) },
            )],
        ),
        (
            "child:inner.ran again.ran again.repeat.exhausted",
            vec![
                started("again"),
                started("again[0]"),
                entered("again[0]"),
                started("again[0]/inner"),
                finished("again", StepStatus::Failed, Ended::new(exhausted, None)),
            ],
        ),
        (
            "again.repeat.exhausted ",
            vec![finished("again", StepStatus::Completed, Ended { is_exhausted: true, ..done() })],
        ),
        ("again.repeat.met", vec![finished("again", StepStatus::Completed, done())]),
        ("each.for_each.none", vec![started("each"), entered_loop(&[])]),
        (
            "each.for_each.item_failed each.for_each.some each.ran",
            vec![
                entered_loop(&["a"]),
                started("each[0]"),
                finished("each[0]", StepStatus::Failed, Ended::new(Outcome::Exit(1), None)),
            ],
        ),
        ("approve.ask.reject", vec![answered(Via::Flag, "reject")]),
        ("approve.ask.timeout", vec![answered(Via::Timeout, "reject")]),
        ("tidy.when.not_taken", vec![skipped("tidy", SkipReason::NothingFailed)]),
        (
            "tidy.ran tidy.when.taken",
            vec![Event::CleanupBegan { path: String::new(), class: None, stopped: None }, started("tidy")],
        ),
        (" ", vec![started("build"), Event::StepNotBegun { path: "build".to_owned(), attempt: 1 }]),
    ]);
    for (expected, events) in cases {
        assert_eq!(taken(&events).join(" "), expected.trim(), "{events:?}");
    }
}

#[test]
fn a15_a_real_history_takes_the_branches_of_its_steps() {
    let mut run = Run::new(
        "name: top\nsteps:\n  - id: a\n    command: x\n  - id: b\n    condition: \"a == 'no'\"\n    command: x\n  - id: c\n    when: always\n    command: x\n",
        "",
        parallel(4),
        &[],
    );
    run.go();
    let events: Vec<Event> = run.events.iter().map(|(event, _)| event.clone()).collect();
    let found: Vec<String> = covered(&run.plan, &events).into_iter().map(|branch| branch.name).collect();
    assert_eq!(found, ["a.ran", "b.condition.false", "c.ran", "c.when.not_taken"]);
}
