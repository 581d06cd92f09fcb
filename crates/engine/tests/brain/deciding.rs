//! A recipe and how its steps end in, what the engine does in which order out: tags, limits, dependencies, groups,
//! hooks, tolerated failures, and what a nested recipe gives back.

use engine::run::cause::Refusal;
use engine::{
    Event, Outcome, RunSettings, RunStatus, StepStatus,
    run::{
        decide::{self, decide},
        event::Ended,
        frame::StepState,
    },
};
use recipe::value::Value;

use crate::run::{LEAF, Run, parallel};

#[track_caller]
fn check_trace(steps: &str, settings: RunSettings, fails: &[&'static str], expected: &str) {
    let mut run = Run::new(&format!("name: top\nsteps:\n{steps}"), LEAF, settings, fails);
    run.go();
    assert_eq!(run.trace.join(" "), expected, "{steps}");
}

#[test]
fn steps_follow_each_other_and_a_failure_ends_the_run() {
    let steps = "- {id: a, command: x}\n- {id: b, command: x}\n";
    check_trace(steps, parallel(4), &[], "+a -a +b -b end");
    check_trace(steps, parallel(4), &["a"], "+a !a end");
    check_trace(steps, parallel(4), &["b"], "+a -a +b !b end");
    let tolerant = "- {id: a, command: x, continue_on_error: true}\n- {id: b, command: x}\n";
    check_trace(tolerant, parallel(4), &["a"], "+a !a +b -b end");
}

#[test]
fn tags_leave_steps_out() {
    let steps = "- {id: a, command: x}\n- {id: b, command: x, when_tags: [t]}\n- {id: c, command: x, when_tags: [u]}\n";
    let tags = |include: &[&str], exclude: &[&str]| RunSettings {
        include_tags: include.iter().map(|tag| (*tag).to_owned()).collect(),
        exclude_tags: exclude.iter().map(|tag| (*tag).to_owned()).collect(),
        ..parallel(4)
    };
    check_trace(steps, tags(&[], &[]), &[], "+a -a +b -b +c -c end");
    check_trace(steps, tags(&["t"], &[]), &[], "+a -a +b -b ~c Tags end");
    check_trace(steps, tags(&[], &["t"]), &[], "+a -a ~b Tags +c -c end");
    check_trace(steps, tags(&["t"], &["t"]), &[], "+a -a ~b Tags ~c Tags end");
}

#[test]
fn what_depends_on_a_skipped_or_failed_step_is_skipped() {
    let steps = "- {id: a, command: x, condition: 'false'}\n- {id: b, command: x, depends_on: [a]}\n\
                 - {id: c, command: x}\n";
    check_trace(
        steps,
        parallel(4),
        &[],
        "~a Condition ~b Dependency { step: \"a\", why: \"was skipped because its condition is false\" } +c -c end",
    );
    let failed = "- {id: a, command: x, continue_on_error: true}\n- {id: b, command: x, depends_on: [a]}\n";
    check_trace(failed, parallel(4), &["a"], "+a !a ~b Dependency { step: \"a\", why: \"failed\" } end");
    check_trace(failed, parallel(4), &[], "+a -a +b -b end");
}

#[test]
fn groups_run_side_by_side_within_the_limit() {
    let steps = "- {id: a, command: x, parallel_group: g}\n- {id: b, command: x, parallel_group: g}\n\
                 - {id: c, command: x, parallel_group: g}\n- {id: d, command: x}\n";
    check_trace(steps, parallel(4), &[], "+a +b +c -a -b -c +d -d end");
    check_trace(steps, parallel(2), &[], "+a +b -a +c -b -c +d -d end");
    check_trace(steps, parallel(1), &[], "+a -a +b -b +c -c +d -d end");
    check_trace(steps, parallel(0), &[], "+a -a +b -b +c -c +d -d end");
    // a failure in a group lets the others come to their end, and then nothing more begins
    check_trace(steps, parallel(4), &["a"], "+a +b +c !a -b -c end");
}

#[test]
fn nested_recipes_do_not_take_a_place() {
    let steps = "- {id: n, recipe: leaf, parallel_group: g}\n- {id: a, command: x, parallel_group: g}\n";
    check_trace(steps, parallel(1), &[], "+n +n/k -n/k -n +a -a end");
    check_trace(steps, parallel(4), &["n/k"], "+n +n/k +a !n/k !n -a end");
}

#[test]
fn limits_are_kept() {
    let limited = |limits: &str, steps: &str, expected: &str| {
        let text = format!("name: top\nrecursion: {limits}\nsteps:\n{steps}");
        let mut run = Run::new(&text, LEAF, parallel(4), &[]);
        run.go();
        assert_eq!(run.trace.join(" "), expected, "{limits}");
        let is_begun = |step: &StepState| !step.recovered && step.started_at.is_some();
        let failed = |step: &&StepState| step.status == StepStatus::Failed;
        assert!(run.state.root().steps.iter().filter(failed).all(is_begun), "{limits}");
    };
    let two = "- {id: a, command: x}\n- {id: b, command: x}\n";
    limited("{max_total_steps: 2}", two, "+a -a +b -b end");
    let over = "!b Total step limit (1) exceeded: raise `recursion.max_total_steps` of `top`";
    limited("{max_total_steps: 1}", two, &format!("+a -a {over} end"));
    // what a nested recipe runs counts too
    let nested = "- {id: n, recipe: leaf}\n- {id: b, command: x}\n";
    limited("{max_total_steps: 2}", nested, "+n +n/k -n/k -n +b -b end");
    limited("{max_total_steps: 1}", nested, &format!("+n +n/k -n/k -n {over} end"));
    limited("{max_depth: 1}", nested, "+n +n/k -n/k -n +b -b end");
    limited("{max_depth: 0}", nested, "!n Maximum recipe recursion depth (0) exceeded end");
}

#[test]
fn a_nested_recipe_has_limits_of_its_own() {
    let run = |limits: &str| {
        let child = format!(
            "name: mid\nrecursion: {limits}\nsteps:\n- {{id: i, recipe: leaf}}\n---\n{LEAF}- {{id: l, command: x}}\n"
        );
        let text = "name: top\nsteps:\n- {id: m, recipe: mid}\n";
        let mut run = Run::new(text, child.leak(), parallel(4), &[]);
        run.go();
        run.trace.join(" ")
    };
    assert_eq!(run("{max_depth: 1}"), "+m +m/i +m/i/k -m/i/k +m/i/l -m/i/l -m/i -m end");
    assert_eq!(run("{max_depth: 0}"), "+m !m/i Maximum recipe recursion depth (0) exceeded !m end");
    assert_eq!(run("{max_total_steps: 2}"), run("{max_depth: 1}"));
    let over = "!m/i/l Total step limit (1) exceeded: raise `recursion.max_total_steps` of `mid`";
    assert_eq!(run("{max_total_steps: 1}"), format!("+m +m/i +m/i/k -m/i/k {over} !m/i !m end"));
}

#[test]
fn a_hook_is_waited_for() {
    let text = "name: top\nhooks: {post_step: x, on_error: x}\nsteps:\n- {id: a, command: x}\n- {id: b, command: x}\n";
    let mut run = Run::new(text, LEAF, parallel(4), &[]);
    run.go();
    assert_eq!(run.trace.join(" "), "+a -a waits");
    let hook = |hook: &str| Event::HookFinished { path: "a".to_owned(), hook: hook.to_owned(), error: None };
    run.record(hook("pre_step"), None);
    run.go();
    assert_eq!(run.trace.join(" "), "+a -a waits waits");
    run.record(hook("post_step"), None);
    run.go();
    assert_eq!(run.trace.join(" "), "+a -a waits waits +b -b waits");
}

#[test]
fn only_the_hook_that_there_is_is_waited_for() {
    for (hook, fails, expected) in [
        ("post_step", "", "+a -a waits"),
        ("post_step", "a", "+a !a end"),
        ("on_error", "", "+a -a end"),
        ("on_error", "a", "+a !a waits"),
    ] {
        let text = format!("name: top\nhooks: {{{hook}: x}}\nsteps:\n- {{id: a, command: x}}\n");
        let mut run = Run::new(&text, LEAF, parallel(4), &[fails]);
        run.go();
        assert_eq!(run.trace.join(" "), expected, "{hook} {fails}");
    }
}

#[test]
fn what_a_nested_recipe_gives_back() {
    let child = "name: leaf\ncontext: {own: o, given: d, changed: d}\nsteps:\n- {id: k, command: x}\n\
                 - {id: c, command: x, output: changed}\n";
    let text = "name: top\ncontext: {given: top, changed: top}\nsteps:\n\
                - {id: n, recipe: leaf, context: {given: g, changed: g, only: g}}\n- {id: z, command: x}\n";
    let mut run = Run::new(text, child, parallel(4), &[]);
    run.go();
    assert_eq!(run.trace.join(" "), "+n +n/k -n/k +n/c -n/c -n +z -z end");
    // what it made and what it declares comes back; what it was given does not, unless it assigned it
    for (name, expected) in
        [("k", "vk"), ("own", "o"), ("given", "top"), ("changed", "vc"), ("only", ""), ("z", "vz")]
    {
        assert_eq!(run.value(name), expected, "{name}");
    }
    assert_eq!(run.state.root().log, ["own", "changed", "k", "n", "z"]);
}

#[test]
fn a_recipe_that_did_not_come_to_its_end_gives_nothing_back() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";
    let tolerant = "name: top\nsteps:\n- {id: n, recipe: leaf, continue_on_error: true}\n";
    let mut run = Run::new(tolerant, child, parallel(4), &["n/l"]);
    run.go();
    assert_eq!((run.trace.last().map(String::as_str), run.value("k")), (Some("end"), String::new()));
    // nor does one that an agent brought to its end in another way
    for (recovered, k) in [(false, "vk"), (true, "")] {
        let mut run = Run::new("name: top\nsteps:\n- {id: n, recipe: leaf}\n", child, parallel(4), &[]);
        run.record(Event::StepStarted { path: "n".to_owned(), attempt: 1, inputs: None }, None);
        run.record(Event::RecipeEntered { path: "n".to_owned(), unit: "leaf".to_owned() }, None);
        for (path, recovered) in [("n/k", false), ("n/l", false), ("n", recovered)] {
            let (path, ended) = (path.to_owned(), Ended::new(Outcome::Ok, None));
            let value = Value::from(format!("v{}", path.rsplit('/').next().unwrap()));
            let status = StepStatus::Completed;
            run.record(Event::StepFinished { path, attempt: 1, status, ended, recovered }, Some(value));
        }
        assert_eq!((run.value("k"), run.value("n")), (k.to_owned(), "vn".to_owned()));
        assert_eq!(run.state.step("n").unwrap().recovered, recovered);
    }
}

#[test]
fn a_nested_recipe_sees_what_is_below_its_neighbours() {
    let child = "name: leaf\ncontext: {own: o}\nsteps:\n- {id: k, command: x}\n---\n\
                 name: next\nsteps:\n- {id: q, command: x, condition: \"n.own == 'o'\"}\n---\n\
                 name: other\ncontext: {n: plain}\nsteps:\n- {id: q, command: x, condition: \"n.own == 'o'\"}\n";
    for (step, expected) in [
        ("recipe: next", "+m/q -m/q"),
        ("recipe: next, context: {n: plain}", "~m/q Condition"),
        ("recipe: other", "~m/q Condition"),
    ] {
        let text = format!("name: top\nsteps:\n- {{id: n, recipe: leaf}}\n- {{id: m, {step}}}\n");
        let mut run = Run::new(&text, child, parallel(4), &[]);
        run.go();
        assert_eq!(run.trace.join(" "), format!("+n +n/k -n/k -n +m {expected} -m end"), "{step}");
    }
}

#[test]
fn what_comes_back_comes_back_over_every_level() {
    let child = "name: mid\ncontext: {mine: m}\nsteps:\n- {id: i, recipe: leaf}\n---\n\
                 name: leaf\ncontext: {own: o}\nsteps:\n- {id: k, command: x, output: told}\n";
    let text = "name: top\ncontext: {told: top}\nsteps:\n- {id: m, recipe: mid}\n";
    let mut run = Run::new(text, child, parallel(4), &[]);
    run.go();
    for (name, expected) in [("told", "vk"), ("own", "o"), ("mine", "m"), ("i", "vk"), ("m", "vk")] {
        assert_eq!(run.value(name), expected, "{name}");
    }
    // of two that bring in the same name, the later one counts, in the order of declaration
    let child = "name: one\ncontext: {own: first}\nsteps:\n- {id: k, command: x}\n---\n\
                 name: two\ncontext: {own: second}\nsteps:\n- {id: l, command: x}\n";
    let text = "name: top\nsteps:\n- {id: m, recipe: one, parallel_group: g}\n- {id: n, recipe: two, parallel_group: g}\n";
    let mut run = Run::new(text, child, parallel(4), &[]);
    run.go();
    assert_eq!(run.value("own"), "second");
}

#[test]
fn a_skip_or_the_end_is_seen_in_the_state() {
    let steps = "name: top\nsteps:\n- {id: a, command: x, parallel_group: g}\n- {id: b, command: x, parallel_group: g}\n";
    let mut run = Run::new(steps, LEAF, parallel(1), &[]);
    run.record(Event::StepStarted { path: "a".to_owned(), attempt: 1, inputs: None }, None);
    assert_eq!((run.state.running, run.state.running_steps()), (1, vec!["a".to_owned()]));
    assert!(decide(&run.state, &|_| false).is_none());
    run.record(
        Event::StepSkipped { path: "a".to_owned(), reason: engine::run::outcome::SkipReason::Condition },
        None,
    );
    assert_eq!((run.state.running, run.state.running_steps()), (0, Vec::new()));
    run.go();
    assert_eq!(run.trace.join(" "), "+b -b end");
    run.over(RunStatus::Completed, None);
    assert_eq!(run.state.finished.as_ref().map(|finished| finished.status), Some(RunStatus::Completed));
    assert!(run.state.finished_at.is_some());
}

#[test]
fn a_failed_nested_recipe_says_where() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf}\n";
    let mut run = Run::new(text, LEAF, parallel(4), &["n/k"]);
    run.go();
    assert_eq!(run.trace.join(" "), "+n +n/k !n/k !n end");
    assert_eq!(
        decide::nested_error(&run.state, 1),
        "Sub-recipe 'leaf' failed at step 'k': [error] no message"
    );
    assert_eq!(run.state.root_cause().map(|(path, _)| path).as_deref(), Some("n/k"));
}

#[test]
fn a_failed_recipe_is_named_as_it_is_called_and_names_all_that_failed() {
    const GROUP: &str = "name: leaf\nsteps:\n- {id: a, command: x, parallel_group: g, continue_on_error: true}\n\
                         - {id: b, command: x, parallel_group: g}\n- {id: c, command: x, parallel_group: g}\n\
                         - {id: d, command: x, parallel_group: g}\n- {id: e, command: x}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: ./other.yaml}\n";
    let mut run = Run::new(text, GROUP, parallel(4), &["n/a", "n/b", "n/d"]);
    run.go();
    assert_eq!(
        decide::nested_error(&run.state, 1),
        "Sub-recipe './other.yaml' failed at step 'b': [error] no message\nand at step 'd': [error] no message"
    );
    assert_eq!(decide::called(&run.state, 0), "top");
    let causes: Vec<String> = run.state.causes().into_iter().map(|(path, _)| path).collect();
    assert_eq!(causes, ["n/b", "n/d"]);
}

#[test]
fn nothing_begins_in_a_nested_recipe_that_was_stopped() {
    let text = "name: top\nsteps:\n- {id: m, recipe: leaf, parallel_group: g}\n\
                - {id: n, recipe: leaf, parallel_group: g}\n- {id: z, command: x}\n";
    let mut run = Run::new(text, LEAF, parallel(4), &[]);
    for path in ["m", "n"] {
        run.record(Event::StepStarted { path: path.to_owned(), attempt: 1, inputs: None }, None);
        run.record(Event::RecipeEntered { path: path.to_owned(), unit: "leaf".to_owned() }, None);
    }
    run.record(
        Event::RecipeStopped {
            path: "n".to_owned(),
            error: "enough".to_owned(),
            cause: engine::run::outcome::StopCause::Timeout,
        },
        None,
    );
    assert_eq!(decide::nested_error(&run.state, 2), "Sub-recipe 'leaf' failed: [error] enough");
    assert!(run.state.frames[1].stopped.is_none());
    run.go();
    assert_eq!(run.trace.join(" "), "!n +m/k -m/k -m end");
}

#[test]
fn a_recipe_that_may_not_begin_comes_to_its_end_without_a_step() {
    let mut run = Run::new("name: top\nsteps:\n- {id: n, recipe: leaf}\n", LEAF, parallel(4), &[]);
    run.record(Event::StepStarted { path: "n".to_owned(), attempt: 1, inputs: None }, None);
    run.record(Event::RecipeEntered { path: "n".to_owned(), unit: "leaf".to_owned() }, None);
    let (path, error) = ("n".to_owned(), "lacks `x`".to_owned());
    let cause = engine::run::outcome::StopCause::Refused(Refusal::Other(error.clone()));
    run.record(Event::RecipeStopped { path, error, cause: cause.clone() }, None);
    assert_eq!(decide::nested_error(&run.state, 1), "Sub-recipe 'leaf' failed: [error] lacks `x`");
    assert_eq!(run.state.frames[1].stopped.as_ref().map(|stopped| &stopped.cause), Some(&cause));
    run.go();
    assert_eq!(run.trace.join(" "), "!n end");
}
