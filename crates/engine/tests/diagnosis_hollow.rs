//! Agents that say they succeeded and did nothing: what is one, and what it explains.

use engine::run::cause::AgentFailure;
use engine::{
    Outcome,
    failure::{Class, Facts, Producer, Signal, StepType, diagnose, is_hollow},
};

#[test]
fn an_answer_without_a_deed_is_hollow() {
    let cannot = "I cannot access the repository.";
    for (answer, changed, expected) in [
        (cannot, None, true),
        (cannot, Some(false), true),
        (cannot, Some(true), false),
        ("Sorry!\nI don’t have access to your files", None, true),
        ("I cannot access the moon", None, false),
        ("The repository is fine", None, false),
        ("I cannot access the\nrepository", None, false),
        ("I cannot access the repository, but I fixed it", None, false),
        ("I cannot access the repository: tests passed", None, false),
        ("I cannot access the repository: see `src/a.rs`", None, false),
        ("I cannot access the repository: see a.rs:12", None, false),
        ("I cannot access the repository: see a::b", None, false),
        ("I cannot access the repository\n```\nx\n```", None, false),
        ("I cannot access the repository\n+++ x", None, false),
        ("I cannot access the repository\n@@ x", None, false),
        ("I cannot access the repository, e.g. yours", None, true),
        ("I cannot access the repository, i.e. yours", None, true),
        ("I cannot access the repository.Please help", None, true),
        ("I cannot access the repository of v1.2", None, true),
        ("I cannot access the repository.somewhere", None, true),
        ("I cannot access the repository a.b_c", None, true),
        ("I cannot access the repository .. .", None, true),
        ("I cannot access the files but parse_args() returns null.", None, false),
        ("I cannot access the files ().", None, true),
        ("The login handler cannot access files outside root; that is it.", None, false),
        ("Sorry, the agent cannot access files here.", None, true),
        ("This environment cannot access the repository.", None, true),
        ("The task: I cannot access the repository.", None, true),
    ] {
        assert_eq!(is_hollow(answer, changed).is_some(), expected, "{answer:?} {changed:?}");
    }
    let signal = is_hollow("Sorry!\nI cannot read the FILES", None);
    let expected = Signal::new("the agent could not reach the work", "I cannot read the FILES", "agent:2");
    assert_eq!(signal, Some(expected));
}

#[test]
fn a_hollow_answer_explains_the_agent_and_the_check_after_it() {
    let hollow = |outcome, step_type, producer| {
        let answer = Some("I cannot access the repository.".to_owned());
        let facts = Facts { outcome: Some(outcome), step_type, producer, answer, ..Facts::default() };
        diagnose(&facts).class == Class::HollowSuccess
    };
    assert!(hollow(Outcome::Ok, StepType::Agent, Producer::None));
    assert!(hollow(Outcome::Exit(1), StepType::Bash, Producer::Before));
    assert!(!hollow(Outcome::Exit(1), StepType::Bash, Producer::None));
    assert!(!hollow(Outcome::Ok, StepType::Bash, Producer::Before));
    assert!(!hollow(Outcome::Agent(AgentFailure::TooLarge), StepType::Agent, Producer::None));
}

#[test]
fn a_hollow_answer_names_the_step_that_gave_it() {
    for (step, expected) in [(None, false), (Some("deep/asked"), true)] {
        let facts = Facts {
            outcome: Some(Outcome::Ok),
            step_type: StepType::Agent,
            answer: Some("I cannot access the repository.".to_owned()),
            answer_of: step.map(str::to_owned),
            ..Facts::default()
        };
        let found = diagnose(&facts);
        assert_eq!(found.class, Class::HollowSuccess);
        assert_eq!(found.signals[0].what.contains("`deep/asked`"), expected, "{:?}", found.signals);
    }
}
