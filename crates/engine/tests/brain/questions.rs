//! Questions to people: what waits, what goes on beside it, and what an answer does, without a clock.

use engine::{
    EndReason, Event, Outcome, RunSettings, StepStatus,
    run::{
        actions::Happening,
        ending::end_reason,
        event::{Answered, QuestionPut, RunResumed, Via},
        origin::{Origin, Surface},
        question::{
            AnswerDraft, AnswerRefusal, GivenAnswer, QuestionStatus, by_timeout, judge, without_instances,
        },
    },
};
use jiff::Timestamp;
use recipe::value::{Map, Value};

use crate::{driving::Driven, run::parallel};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn put(run: &mut Driven, path: &str) -> Vec<String> {
    let put = Box::new(QuestionPut {
        path: path.to_owned(),
        attempt: run.state.step(path).unwrap().attempt,
        question: "ok?".to_owned(),
        choices: ["approve", "reject"].map(str::to_owned).to_vec(),
        fields: Vec::new(),
        shown: Vec::new(),
        digest: "d".to_owned(),
        deadline: None,
        on_timeout: None,
    });
    run.happen(Happening::QuestionReady { put, now: at(0) })
}

fn answer(path: &str, choice: &str) -> Answered {
    Answered {
        path: path.to_owned(),
        choice: choice.to_owned(),
        fields: Map::new(),
        comment: Some("because".to_owned()),
        by: "ann".to_owned(),
        via: Via::Surface(Surface::Cli),
        at: at(5),
        digest: None,
        origin: None,
    }
}

fn given(run: &mut Driven, path: &str, choice: &str) -> Vec<String> {
    run.happen(Happening::AnswerGiven(Box::new(answer(path, choice))))
}

const ASK: &str = "name: top\nsteps:\n- {id: q, ask: 'ok?', timeout: 10}\n- {id: z, command: x}\n";

#[test]
fn a_run_that_only_waits_ends_and_an_answer_lets_it_continue() {
    let mut run = Driven::new(ASK, "", parallel(1));
    assert_eq!(run.begun(), ["start q 1"]);
    assert_eq!(put(&mut run, "q"), ["finish"]);
    assert_eq!(run.state.step("q").unwrap().status, StepStatus::Waiting);
    assert_eq!((end_reason(&run.state), run.state.running), (EndReason::Waiting, 0));
    assert_eq!(run.state.open_questions().len(), 1);
    assert_eq!(given(&mut run, "q", "approve"), ["completed q", "start z 1"]);
    let value = run.state.root().context.get("q").map(|value| value.render().into_owned());
    assert!(value.is_some_and(|value| value.contains("\"by\":\"ann\"") && value.contains("\"via\":\"cli\"")));
    assert!(run.state.open_questions().is_empty());
    // a second answer changes nothing
    assert_eq!(given(&mut run, "q", "reject"), Vec::<String>::new());
    assert_eq!(run.end("z", Outcome::Ok), ["completed z", "finish"]);
    assert_eq!(end_reason(&run.state), EndReason::Completed);
}

#[test]
fn a_run_that_stays_does_not_end() {
    let mut run = Driven::new(ASK, "", RunSettings { stays: true, ..parallel(1) });
    assert_eq!(put(&mut run, "q"), ["start q 1"]);
    assert_eq!(given(&mut run, "q", "reject"), ["failed q", "finish"]);
    assert_eq!(run.error("q"), "rejected by ann: because");
}

#[test]
fn own_choices_never_fail_a_step() {
    let text = "name: top\nsteps:\n- {id: q, ask: 'ok?', choices: [later, reject]}\n";
    let mut run = Driven::new(text, "", parallel(1));
    put(&mut run, "q");
    assert_eq!(given(&mut run, "q", "reject"), ["completed q", "finish"]);
}

#[test]
fn a_waiting_step_holds_no_slot() {
    let text = "name: top\nsteps:\n- {id: q, ask: 'ok?', parallel_group: g}\n- {id: a, command: x, parallel_group: g}\n\
                - {id: b, command: x, parallel_group: g}\n- {id: z, command: x}\n";
    let mut run = Driven::new(text, "", parallel(1));
    assert_eq!(run.begun(), ["start q 1"]);
    assert_eq!(put(&mut run, "q"), ["start a 1"]);
    assert_eq!(run.end("a", Outcome::Ok), ["completed a", "start b 1"]);
    assert_eq!(run.end("b", Outcome::Ok), ["completed b", "finish"]);
    assert_eq!(end_reason(&run.state), EndReason::Waiting);
    assert_eq!(given(&mut run, "q", "approve"), ["completed q", "start z 1"]);
}

#[test]
fn a_failed_group_withdraws_its_questions_at_every_depth() {
    let text = "name: top\nsteps:\n- {id: q, ask: 'ok?', parallel_group: g}\n- {id: s, recipe: c, parallel_group: g}\n\
                - {id: a, command: x, parallel_group: g}\n- {id: z, command: x}\n";
    let child = "name: c\nsteps:\n- {id: i, ask: 'ok?'}\n";
    for stays in [false, true] {
        let mut run = Driven::new(text, child, RunSettings { stays, ..parallel(9) });
        assert_eq!(run.begun(), ["start q 1", "start s 1", "start s/i 1", "start a 1"]);
        put(&mut run, "q");
        put(&mut run, "s/i");
        assert_eq!(run.end("a", Outcome::Exit(1)), ["failed a", "finish"]);
        assert_eq!(end_reason(&run.state), EndReason::Failed);
        for path in ["q", "s", "s/i"] {
            assert_eq!(run.state.step(path).unwrap().status, StepStatus::Pending, "{path}");
        }
        assert_eq!(run.state.questions["s/i"].status, QuestionStatus::Withdrawn);
        // a resume puts them again
        run.record(Event::RunResumed(RunResumed { rerun: Vec::new(), ..RunResumed::default() }), None);
        run.advance();
        assert_eq!(run.begun(), ["start q 2", "start s 2", "start s/i 2", "start a 2"]);
    }
}

#[test]
fn time_counts_from_the_first_time_over_resumes() {
    let mut run = Driven::new(ASK, "", RunSettings { stays: true, ..parallel(1) });
    put(&mut run, "q");
    assert_eq!(run.state.next_deadline(), Some(at(10)));
    assert_eq!(run.happen(Happening::QuestionsDue { now: at(9) }), Vec::<String>::new());
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.advance();
    let again = Box::new(QuestionPut { attempt: 2, ..run.state.questions["q"].put.clone() });
    run.begun();
    assert_eq!(run.happen(Happening::QuestionReady { put: again, now: at(6) }), Vec::<String>::new());
    assert_eq!(run.state.next_deadline(), Some(at(10)));
    assert_eq!(run.happen(Happening::QuestionsDue { now: at(10) }), ["failed q", "finish"]);
    assert_eq!(run.error("q"), "ask step failed: timed out after 10 s without an answer");
    // after its end, the time of a new question begins again
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.advance();
    let again = Box::new(QuestionPut { attempt: 3, ..run.state.questions["q"].put.clone() });
    run.happen(Happening::QuestionReady { put: again, now: at(50) });
    assert_eq!(run.state.next_deadline(), Some(at(60)));
}

#[test]
fn a_recorded_answer_is_used_once_by_the_next_process() {
    let mut run = Driven::new(ASK, "", parallel(1));
    put(&mut run, "q");
    run.begun();
    run.record(Event::Answered(answer("q", "approve")), None);
    assert!(run.state.open_questions().is_empty(), "it is answered, though its step has not ended");
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.advance();
    assert_eq!(run.begun(), ["start q 2"]);
    assert_eq!(put(&mut run, "q"), ["completed q", "start z 1"]);
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.advance();
    assert_eq!(run.begun(), ["start z 2"], "an answered question is kept like a completed step");
}

#[test]
fn an_answer_is_taken_once_even_if_its_question_is_put_again() {
    let mut run = Driven::new(ASK, "", parallel(1));
    put(&mut run, "q");
    let origin = Origin { surface: Surface::Cli, actor: None, request_id: "r1".to_owned(), at: at(5) };
    run.record(Event::Answered(Answered { origin: Some(origin), ..answer("q", "approve") }), None);
    run.record(Event::RunResumed(RunResumed { rerun: vec!["q".to_owned()], ..RunResumed::default() }), None);
    run.advance();
    put(&mut run, "q");
    assert!(run.state.has_taken_answer("r1") && !run.state.has_taken_answer("r2"));
}

#[test]
fn an_answer_that_no_step_used_is_void_if_earlier_steps_run_again() {
    let text = "name: top\nsteps:\n- {id: a, command: x}\n- {id: q, ask: '{{a}}?'}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.end("a", Outcome::Ok);
    put(&mut run, "q");
    run.record(Event::Answered(answer("q", "approve")), None);
    run.record(Event::RunResumed(RunResumed { rerun: vec!["a".to_owned()], ..RunResumed::default() }), None);
    run.advance();
    run.begun();
    assert_eq!(run.end("a", Outcome::Ok), ["completed a", "start q 2"]);
}

#[test]
fn answers_given_beforehand_are_used_for_all_instances() {
    let given = GivenAnswer { choice: "approve".to_owned(), ..GivenAnswer::default() };
    let settings = RunSettings { answers: [("q".to_owned(), given)].into(), ..parallel(1) };
    let mut run = Driven::new(ASK, "", settings);
    run.begun();
    assert_eq!(put(&mut run, "q"), ["completed q", "start z 1"]);
    for (path, plain) in [("a[3]/b", "a/b"), ("a[0]", "a"), ("a[x]", "a[x]"), ("a", "a")] {
        assert_eq!(without_instances(path), plain);
    }
}

#[test]
fn a_recipe_that_times_out_ends_its_questions() {
    let text = "name: top\nsteps:\n- {id: s, recipe: c, timeout: 5, continue_on_error: true}\n";
    let child = "name: c\nsteps:\n- {id: i, ask: 'ok?'}\n";
    let mut run = Driven::new(text, child, RunSettings { stays: true, ..parallel(1) });
    put(&mut run, "s/i");
    let late = Happening::RecipeTimedOut { path: "s".to_owned(), seconds: 5.0 };
    let trace = run.happen(late);
    assert_eq!(trace.last().map(String::as_str), Some("finish"), "{trace:?}");
    assert!(run.error("s").contains("timed out after 5 s"), "{}", run.error("s"));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_else_is_judged() {
    let mut run = Driven::new(ASK, "", RunSettings { stays: true, ..parallel(1) });
    put(&mut run, "q");
    let draft = |choice: &str, fields: &[(&str, &str)]| AnswerDraft {
        choice: choice.to_owned(),
        fields: fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect(),
        ..AnswerDraft::default()
    };
    let asked = |run: &Driven| run.state.questions["q"].clone();
    let judged = |run: &Driven, draft: &AnswerDraft, now| judge(&asked(run), draft, at(now), &|_| true);
    let Err(AnswerRefusal::Unfit(problems)) = judged(&run, &draft("aprove", &[("x", "1")]), 99) else {
        panic!("it does not fit")
    };
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "`aprove` is not one of the choices `approve`, `reject`; did you mean `approve`?",
            "the question has no field `x`: it has no fields",
        ]
    );
    assert!(judged(&run, &draft("approve", &[]), 9).is_ok());
    assert_eq!(judged(&run, &draft("approve", &[]), 10), Err(AnswerRefusal::Late(at(10))));
    given(&mut run, "q", "approve");
    let again = judged(&run, &draft("reject", &[]), 1);
    assert_eq!(again, Err(AnswerRefusal::Already(Box::new(answer("q", "approve")))));
    assert!(matches!(judged(&run, &draft("no", &[]), 1), Err(AnswerRefusal::Unfit(_))));
    let late = by_timeout(&asked(&run).put, at(7));
    assert_eq!((late.choice.as_str(), late.via), ("fail", Via::Timeout));
}
