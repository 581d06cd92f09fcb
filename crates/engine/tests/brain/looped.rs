//! Steps with a loop: their instances, their values, and what a resume keeps of them.

use engine::{
    Event, Outcome, RunSettings, StepStatus,
    knowledge::Knowledge,
    resume::{
        Blames, Effects, Interrupted, Late, Producers, Remains, Request, ResumePlan, Resumer, plan as plan_of,
    },
    run::{actions::Happening, attempt::AttemptResult, event::RunResumed},
};
use recipe::value::{Map, Value};

use crate::{
    driving::Driven,
    run::{LEAF, parallel},
};

fn each(list: &str, more: &str) -> String {
    format!(
        "name: top\nsteps:\n- {{id: a, command: 'x {{{{item}}}}', for_each: {list}{more}}}\n- {{id: z, command: z}}\n"
    )
}

impl Driven {
    /// Ends a step with this value.
    fn gives(&mut self, path: &str, json: &str) -> Vec<String> {
        let attempt = self.state.step(path).unwrap().attempt;
        let value = Some(Value::from_json(json).unwrap());
        let result = Box::new(AttemptResult { value, ..AttemptResult::ok() });
        self.happen(Happening::AttemptEnded { path: path.to_owned(), attempt, result })
    }

    fn value(&self, name: &str) -> String {
        self.state.root().context.get(name).map(Value::to_json).unwrap_or_default()
    }

    /// The plan of a resume.
    fn planned(&self, from: Option<&str>) -> ResumePlan {
        plan_of(&Request {
            state: &self.state,
            before: &self.plan,
            plan: &self.plan,
            late: &Late::new(),
            given: &Map::new(),
            remains: &Remains::default(),
            resumer: Resumer::Person { producers: Producers::Linked },
            blames: &Blames::new(),
            from,
            effects: Effects::Again,
            interrupted: Interrupted::Ask,
            knowledge: &Knowledge::built_in(),
        })
    }

    /// Another process continues the run, from this step if one is named.
    fn resumed(&mut self, from: Option<&str>) -> Vec<String> {
        let rerun = self.planned(from).redo;
        self.record(Event::RunResumed(RunResumed { rerun, ..RunResumed::default() }), None);
        self.advance();
        self.begun()
    }
}

#[test]
fn every_item_has_an_instance_and_the_value_is_a_list() {
    let mut run = Driven::new(&each("[p, q]", ""), "", parallel(4));
    assert_eq!(run.begun(), ["start a[0] 1"]);
    assert_eq!(run.gives("a[0]", "1"), ["completed a[0]", "start a[1] 1"]);
    assert_eq!(run.gives("a[1]", r#"{"x": 2}"#), ["completed a[1]", "completed a", "start z 1"]);
    assert_eq!(run.value("a"), r#"[1,{"x":2}]"#);
    assert_eq!(run.value("item"), "", "the names of the loop do not flow back");
}

#[test]
fn instances_run_side_by_side_up_to_their_limit_and_that_of_the_run() {
    let mut run = Driven::new(&each("[p, q, r]", ", max_parallel: 2"), "", parallel(4));
    assert_eq!(run.begun(), ["start a[0] 1", "start a[1] 1"]);
    assert_eq!(run.end("a[1]", Outcome::Ok), ["completed a[1]", "start a[2] 1"]);
    let mut run = Driven::new(&each("[p, q, r]", ", max_parallel: 3"), "", parallel(1));
    assert_eq!(run.begun(), ["start a[0] 1"]);
}

#[test]
fn a_failed_instance_stops_the_loop_unless_it_keeps_going() {
    let mut run = Driven::new(&each("[p, q, r]", ""), "", parallel(1));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["failed a[0]", "failed a", "finish"]);
    assert_eq!(run.error("a"), "for_each: 1 of 3 failed (a[0]): no");
    let mut run =
        Driven::new(&each("[p, q, r]", ", keep_going: true, continue_on_error: true"), "", parallel(1));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["failed a[0]", "start a[1] 1"]);
    run.end("a[1]", Outcome::Ok);
    assert_eq!(run.end("a[2]", Outcome::Exit(1)), ["failed a[2]", "failed a", "start z 1"]);
    assert_eq!(run.error("a"), "for_each: 2 of 3 failed (a[0], a[2]): no");
    assert_eq!(run.value("a"), r#"[null,"v",null]"#);
}

#[test]
fn running_instances_come_to_their_end_after_a_failure() {
    let mut run = Driven::new(&each("[p, q, r]", ", max_parallel: 2"), "", parallel(4));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["failed a[0]"]);
    assert_eq!(run.end("a[1]", Outcome::Ok), ["completed a[1]", "failed a", "finish"]);
    assert_eq!(run.state.step("a[2]").unwrap().status, StepStatus::Pending);
}

#[test]
fn conditions_are_those_of_the_instances() {
    let text = each("[1, 2, 3]", ", condition: 'item != 2'");
    let mut run = Driven::new(&text, "", parallel(1));
    run.begun();
    run.end("a[0]", Outcome::Ok);
    run.end("a[2]", Outcome::Ok);
    assert_eq!(run.value("a"), r#"["v",null,"v"]"#);
    let run = Driven::new(&each("[1, 2]", ", condition: 'item > 5'"), "", parallel(1));
    assert_eq!(run.state.step("a").unwrap().status, StepStatus::Skipped);
    assert_eq!(run.value("a"), "[null,null]");
}

#[test]
fn a_list_may_be_empty_and_must_be_a_list() {
    let run = Driven::new(&each("[]", ""), "", parallel(1));
    assert_eq!(run.value("a"), "[]");
    for (value, expected) in [
        ("hello", "for_each of step 'a' needs a list, got text \"hello\""),
        ("3", "for_each of step 'a' needs a list, got a number 3"),
        ("{k: 1}", "for_each of step 'a' needs a list, got an object {\"k\":1}"),
        ("'[1, 2, 3]'", "for_each of step 'a' has 3 items, but at most 2 are allowed: raise `max_items`"),
    ] {
        let text = each("'{{list}}'", ", max_items: 2")
            .replace("steps:", &format!("context: {{list: {value}}}\nsteps:"));
        let mut run = Driven::new(&text, "", parallel(1));
        assert_eq!(run.begun(), ["failed a", "finish"], "{value}");
        assert_eq!(run.error("a"), expected);
    }
}

#[test]
fn instances_are_retried_and_counted_one_by_one() {
    let text = each("[p, q]", ", retry: {max_attempts: 2, delay: 1}");
    let mut run = Driven::new(&text, "", parallel(1));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["wait a[0] 1000 []"]);
    assert_eq!(run.happen(Happening::RetryDue { path: "a[0]".to_owned() }), ["start a[0] 2"]);
    assert_eq!(run.end("a[0]", Outcome::Ok), ["completed a[0]", "start a[1] 1"]);
    let limited =
        each("[p, q, r]", ", keep_going: true").replace("steps:", "recursion: {max_total_steps: 2}\nsteps:");
    let mut run = Driven::new(&limited, "", parallel(1));
    run.end("a[0]", Outcome::Ok);
    run.end("a[1]", Outcome::Ok);
    let last = run.state.step("a[2]").unwrap();
    assert_eq!(last.status, StepStatus::Failed);
    assert!(run.error("a").contains("Total step limit (2) exceeded"), "{}", run.error("a"));
}

#[test]
fn recipes_of_instances_see_the_item_and_keep_their_context() {
    let child = "name: leaf\ncontext: {own: o}\nsteps:\n- {id: k, command: 'x {{item}} {{own}}'}\n";
    let text =
        "name: top\nsteps:\n- {id: a, recipe: leaf, for_each: [p, q]}\n- {id: z, command: 'z {{a[1].k}}'}\n";
    let mut run = Driven::new(text, child, parallel(1));
    assert_eq!(run.begun(), ["start a[0] 1", "start a[0]/k 1"]);
    let frame = run.state.step("a[0]").unwrap().frame.unwrap();
    assert_eq!(run.state.frames[frame].context.get("item"), Some(&Value::from("p")));
    run.gives("a[0]/k", "\"first\"");
    let rest = run.gives("a[1]/k", "\"second\"");
    assert_eq!(rest, ["completed a[1]/k", "completed a[1]", "completed a", "start z 1"]);
    assert_eq!(run.value("k"), "", "no context flows back");
    let path = recipe::template::parse_path("a[1].k").unwrap();
    assert_eq!(path.resolve(run.state.root()), Value::from("second"));
    let path = recipe::template::parse_path("a[0].own").unwrap();
    assert_eq!(path.resolve(run.state.root()), Value::from("o"));
}

#[test]
fn a_resume_keeps_completed_instances() {
    let mut run = Driven::new(&each("[p, q, r]", ", keep_going: true"), "", parallel(1));
    run.gives("a[0]", "0");
    run.end("a[1]", Outcome::Exit(1));
    run.gives("a[2]", "2");
    assert_eq!(run.resumed(None), ["start a[1] 2"]);
    assert_eq!(run.gives("a[1]", "1"), ["completed a[1]", "completed a", "start z 1"]);
    assert_eq!(run.value("a"), "[0,1,2]");
}

#[test]
fn a_resume_can_begin_at_an_instance() {
    let mut run = Driven::new(&each("[p, q, r]", ""), "", parallel(1));
    ["a[0]", "a[1]", "a[2]", "z"].iter().for_each(|path| drop(run.end(path, Outcome::Ok)));
    assert_eq!(run.state.named("a.1").as_deref(), Some("a[1]"));
    assert_eq!(run.resumed(Some("a[1]")), ["start a[1] 2"]);
    assert_eq!(run.gives("a[1]", "7"), ["completed a[1]", "completed a", "start z 2"]);
    assert_eq!(run.value("a"), r#"["v",7,"v"]"#);
}

/// A list that a step makes, and a loop over it that reads another value too.
const MADE: &str = "name: top\nsteps:\n- {id: l, command: l, parse_json: true}\n- {id: m, command: m}\n- {id: a, command: 'x {{item}} {{item_index}} {{m}}', for_each: '{{l}}'}\n- {id: z, command: 'z {{a}}'}\n";

/// A run of [`MADE`] over three items.
fn made() -> Driven {
    let mut run = Driven::new(MADE, "", parallel(1));
    run.gives("l", r#"["p","q","r"]"#);
    run.gives("m", "1");
    ["0", "1", "2"].iter().enumerate().for_each(|(at, value)| drop(run.gives(&format!("a[{at}]"), value)));
    run.gives("z", "0");
    run
}

#[test]
fn moved_items_keep_their_result_and_vanished_ones_are_reported() {
    let mut run = made();
    assert_eq!(run.resumed(Some("l")), ["start l 2"]);
    run.gives("l", r#"["r","n","p"]"#);
    let trace = run.gives("m", "1");
    assert_eq!(
        trace,
        ["completed m", "note dropped a[1] (\"q\"): its item is no longer in the list", "start a[1] 2"]
    );
    run.gives("a[1]", "9");
    assert_eq!(run.value("a"), "[2,9,0]");
}

#[test]
fn instances_whose_other_inputs_changed_are_done_again() {
    let mut run = made();
    run.resumed(Some("l"));
    run.gives("l", r#"["p","q","r"]"#);
    assert_eq!(run.gives("m", "2"), ["completed m", "start a[0] 2"]);
}

#[test]
fn a_repeat_ends_when_its_condition_holds() {
    let text = "name: top\nsteps:\n- {id: a, command: 'x {{a.n}} {{iteration}}', parse_json: true, repeat: {max: 5, until: 'a.n >= 2 and iteration > 1', delay: 3}}\n- {id: z, command: z}\n";
    let mut run = Driven::new(text, "", parallel(1));
    assert_eq!(run.begun(), ["start a[0] 1"]);
    assert_eq!(run.gives("a[0]", r#"{"n": 2}"#), ["completed a[0]", "wait a[1] 3"]);
    assert_eq!(run.happen(Happening::IterationDue { path: "a[1]".to_owned() }), ["start a[1] 1"]);
    assert_eq!(run.gives("a[1]", r#"{"n": 3}"#), ["completed a[1]", "completed a", "start z 1"]);
    assert_eq!(run.value("a"), r#"{"n":3}"#);
    assert_eq!(run.value("iteration"), "");
}

#[test]
fn a_repeat_that_does_not_reach_its_condition_fails_or_continues() {
    let text = |more: &str| {
        format!(
            "name: top\nsteps:\n- {{id: a, command: x, parse_json: true, repeat: {{max: 2, until: \"a.v == 'PASS'\"{more}}}}}\n- {{id: z, command: z}}\n"
        )
    };
    let mut run = Driven::new(&text(""), "", parallel(1));
    run.gives("a[0]", r#"{"v": "FAIL"}"#);
    assert_eq!(run.gives("a[1]", r#"{"v": "NO"}"#), ["completed a[1]", "failed a", "finish"]);
    let error = "repeat: until was not reached in 2 iterations: `a.v == 'PASS'` is false (a.v = \"NO\")";
    assert_eq!(run.error("a"), error);
    assert_eq!(run.resumed(None), ["start a[0] 2"], "the loop begins again");
    let mut run = Driven::new(&text(", on_exhausted: continue"), "", parallel(1));
    run.gives("a[0]", r#"{"v": "FAIL"}"#);
    let trace = run.gives("a[1]", r#"{"v": "NO"}"#);
    assert_eq!(trace, ["completed a[1]", &format!("note {error}"), "completed a", "start z 1"]);
}

#[test]
fn a_failed_iteration_ends_the_loop_unless_it_is_tolerated() {
    let text = |more: &str| {
        format!(
            "name: top\nsteps:\n- {{id: a, command: x, repeat: {{max: 2}}{more}}}\n- {{id: z, command: z}}\n"
        )
    };
    let mut run = Driven::new(&text(""), "", parallel(1));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["failed a[0]", "failed a", "finish"]);
    let mut run = Driven::new(&text(", continue_on_error: true"), "", parallel(1));
    run.begun();
    assert_eq!(run.end("a[0]", Outcome::Exit(1)), ["failed a[0]", "start a[1] 1"]);
    assert_eq!(run.end("a[1]", Outcome::Ok), ["completed a[1]", "completed a", "start z 1"]);
}

#[test]
fn a_condition_of_a_repeat_is_evaluated_once() {
    let text = "name: top\ncontext: {n: 1}\nsteps:\n- {id: a, command: x, output: n, condition: 'n == 1', repeat: {max: 2}}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    assert_eq!(run.gives("a[0]", "5"), ["completed a[0]", "start a[1] 1"]);
}

#[test]
fn iterations_see_what_the_one_before_left_and_a_resume_goes_on_in_the_one_that_was_cut_off() {
    let text = "name: top\nsteps:\n- {id: a, recipe: leaf, context: {now: '{{iteration}}'}, repeat: {max: 3}}\n- {id: z, command: 'z {{k}}'}\n";
    let mut run = Driven::new(text, LEAF, parallel(1));
    run.gives("a[0]/k", "\"first\"");
    let frame = run.state.step("a[1]").unwrap().frame.unwrap();
    let seen = |name: &str| run.state.frames[frame].context.get(name).map(Value::to_json);
    assert_eq!(seen("k").as_deref(), Some("\"first\""));
    assert_eq!(seen("now").as_deref(), Some("2"));
    assert_eq!(seen("iteration"), None, "a recipe gets it only through `context`");
    assert_eq!(run.resumed(None), ["start a[1] 2", "start a[1]/k 2"]);
    run.gives("a[1]/k", "\"second\"");
    run.gives("a[2]/k", "\"third\"");
    assert_eq!(run.value("k"), "\"third\"");
}

#[test]
fn a_dry_run_shows_known_instances_and_one_iteration() {
    let settings = || RunSettings { dry_run: true, ..parallel(1) };
    let mut run = Driven::new(&each("[p, q]", ""), "", settings());
    assert_eq!(run.begun(), ["start a[0] 1"]);
    let run = Driven::new("name: top\nsteps:\n- {id: a, command: x, repeat: {max: 9}}\n", "", settings());
    let frame = run.state.step("a").unwrap().frame.unwrap();
    assert_eq!(run.state.frames[frame].steps.len(), 1);
}
