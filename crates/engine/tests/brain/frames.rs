//! What recipes see of each other, what a dry run cannot know, and what a run in another process takes over.

use engine::{
    Event, RunSettings,
    run::{
        decide::{result, undecided},
        event::RunResumed,
        outcome::SkipReason,
        override_values::OverrideValue,
    },
};
use recipe::value::Value;

use crate::run::{LEAF, Run, parallel, plan};

/// Two steps.
pub(crate) const PAIR: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";

fn run(steps: &str, child: &'static str, settings: RunSettings, fails: &[&'static str]) -> Run {
    let mut run =
        Run::new(&format!("name: top\ncontext: {{goal: g}}\nsteps:\n{steps}"), child, settings, fails);
    run.go();
    run
}

#[track_caller]
fn check(steps: &str, settings: RunSettings, expected: &str) {
    assert_eq!(run(steps, LEAF, settings, &[]).trace.join(" "), expected, "{steps}");
}

#[test]
fn a_value_that_replaces_that_of_a_recipe_has_nothing_below_it() {
    let steps = |name: &str| {
        format!(
            "- {{id: n, recipe: leaf, output: v}}\n- {{id: a, command: x, output: {name}}}\n- {{id: b, command: x, condition: \"v.k == 'vk'\"}}\n"
        )
    };
    for (name, expected) in
        [("w", "+n +n/k -n/k -n +a -a +b -b end"), ("v", "+n +n/k -n/k -n +a -a ~b Condition end")]
    {
        check(&steps(name), parallel(4), expected);
    }
}

#[test]
fn conditions_read_values_and_what_is_below() {
    let steps = |condition: &str| {
        format!(
            "- {{id: n, recipe: leaf}}\n- {{id: a, command: x}}\n- {{id: b, command: x, condition: {condition:?}}}\n"
        )
    };
    let begin = "+n +n/k -n/k -n +a -a";
    for (condition, holds) in [
        ("goal == 'g'", true),
        ("a == 'va'", true),
        ("n == 'vk'", true),
        ("n.own == 'o'", true),
        ("n.k == 'vk'", true),
        ("n.own == 'x'", false),
        ("nobody", false),
    ] {
        let end = if holds { "+b -b end" } else { "~b Condition end" };
        check(&steps(condition), parallel(4), &format!("{begin} {end}"));
    }
}

#[test]
fn a_skipped_dependency_says_why() {
    let exclude_tags = vec!["t".to_owned()];
    check(
        "- {id: a, command: x, when_tags: [t]}\n- {id: b, command: x, depends_on: [a]}\n- {id: c, command: x, depends_on: [b]}\n",
        RunSettings { exclude_tags, ..parallel(4) },
        "~a Tags ~b Dependency { step: \"a\", why: \"was left out by the tag filter\" } \
         ~c Dependency { step: \"b\", why: \"was skipped because it depends on `a`\" } end",
    );
}

#[test]
fn a_recipe_results_in_its_output_or_its_last_value() {
    let plain =
        run("- {id: n, recipe: leaf}\n- {id: z, command: x, condition: 'false'}\n", LEAF, parallel(4), &[]);
    assert_eq!(plain.value("n"), "vk");
    let text = |run: &Run| result(run.state.root()).map(|value| value.render().into_owned());
    assert_eq!(text(&plain), Some("vk".to_owned()));
    let shown = run("- {id: n, recipe: leaf}\noutput: {template: 'so {{n}}'}\n", LEAF, parallel(4), &[]);
    assert_eq!(text(&shown), Some("so vk".to_owned()));
    let nothing = run("- {id: z, command: x, condition: 'false'}\n", LEAF, parallel(4), &[]);
    assert_eq!(text(&nothing), None);
}

#[test]
fn a_dry_run_knows_what_it_does_not_know() {
    let text = "name: top\ncontext: {goal: g}\nsteps:\n- {id: a, command: x}\n- {id: b, command: x, condition: a}\n\
                - {id: c, command: x, condition: goal}\n- {id: d, command: x, condition: a and goal == ''}\n- {id: n, recipe: leaf, context: {g: '{{a}}', a: x}}\n";
    let mut run = Run::new(text, LEAF, RunSettings { dry_run: true, ..parallel(4) }, &[]);
    let unknown = |run: &Run| -> Vec<bool> {
        let root = run.state.root();
        (0..root.steps.len()).map(|at| undecided(root, at).is_some()).collect()
    };
    assert_eq!(unknown(&run), [false; 5]);
    run.record(Event::StepSkipped { path: "a".to_owned(), reason: SkipReason::DryRun }, None);
    assert_eq!(unknown(&run), [false, true, false, false, false]);
    for id in ["b", "c", "d"] {
        run.record(Event::StepSkipped { path: id.to_owned(), reason: SkipReason::Condition }, None);
    }
    assert_eq!(run.state.root().unknown.iter().collect::<Vec<_>>(), ["a"]);
    run.record(Event::StepStarted { path: "n".to_owned(), attempt: 1, inputs: None }, None);
    run.record(Event::RecipeEntered { path: "n".to_owned(), unit: "leaf".to_owned() }, None);
    assert_eq!(run.state.frames[1].unknown.iter().collect::<Vec<_>>(), ["g"]);
    // what nobody knows below, nobody knows here
    run.record(Event::StepSkipped { path: "n/k".to_owned(), reason: SkipReason::DryRun }, None);
    run.record(Event::StepSkipped { path: "n".to_owned(), reason: SkipReason::DryRun }, None);
    let mut unknown: Vec<&String> = run.state.root().unknown.iter().collect();
    unknown.sort();
    assert_eq!(unknown, ["a", "g", "k", "n"]);
}

/// Ends with the first failure, is resumed as told, and goes on; `again` are the steps that fail then.
pub(crate) struct Resume {
    pub(crate) rerun: &'static [&'static str],
    pub(crate) skip: &'static [&'static str],
    pub(crate) again: &'static [&'static str],
}

pub(crate) const PLAIN: Resume = Resume { rerun: &[], skip: &[], again: &[] };

pub(crate) fn resume(run: &mut Run, how: &Resume) -> (usize, String) {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let (rerun, skip) = (texts(how.rerun), texts(how.skip));
    let resumed = RunResumed { pid: 1, sources: 1, rerun, skip, ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    run.trace.clear();
    run.fails = how.again.to_vec();
    let kept = run.state.kept_steps();
    run.go();
    (kept, run.trace.join(" "))
}

#[test]
fn what_was_done_is_taken_over() {
    let steps = "- {id: a, command: x}\n- {id: b, command: x}\n- {id: c, command: x}\n";
    let failed = || run(steps, LEAF, parallel(4), &["b"]);
    for (how, kept, expected) in [
        (PLAIN, 1, "+b -b +c -c end"),
        (Resume { rerun: &["a"], ..PLAIN }, 0, "+a -a +b -b +c -c end"),
        (Resume { skip: &["b"], ..PLAIN }, 1, "+c -c end"),
    ] {
        assert_eq!(resume(&mut failed(), &how), (kept, expected.to_owned()));
    }
    // nothing of a group that was done is done again behind a step that is left out
    let group = "- {id: a, command: x, parallel_group: g}\n- {id: b, command: x, parallel_group: g}\n- {id: c, command: x}\n";
    let mut half = run(group, LEAF, parallel(4), &["a"]);
    assert_eq!(resume(&mut half, &Resume { skip: &["a"], ..PLAIN }), (1, "+c -c end".to_owned()));
    let mut run = failed();
    assert_eq!(
        resume(&mut run, &Resume { skip: &["b"], again: &["c"], ..PLAIN }),
        (1, "+c !c end".to_owned())
    );
    // what was left out once stays left out
    assert_eq!(run.state.step("b").unwrap().skipped, Some(SkipReason::Chosen));
    assert_eq!(resume(&mut run, &PLAIN).1, "+c -c end");
    assert_eq!(run.state.resumes, 2);
    assert_eq!(run.value("a"), "va");
    // unless a resume names it
    assert_eq!(resume(&mut run, &Resume { rerun: &["b"], ..PLAIN }).1, "+b -b end");
}

#[test]
fn a_nested_recipe_goes_on_where_it_was() {
    let steps = "- {id: n, recipe: leaf}\n- {id: z, command: x}\n";
    let failed = || run(steps, PAIR, parallel(4), &["n/l"]);
    for (how, expected) in [
        (PLAIN, "+n +n/l -n/l -n +z -z end"),
        (Resume { rerun: &["n"], ..PLAIN }, "+n +n/k -n/k +n/l -n/l -n +z -z end"),
        (Resume { rerun: &["n/k"], ..PLAIN }, "+n +n/k -n/k +n/l -n/l -n +z -z end"),
        (Resume { skip: &["n/l"], ..PLAIN }, "+n -n +z -z end"),
    ] {
        assert_eq!(resume(&mut failed(), &how).1, expected);
    }
    let mut run = run(steps, PAIR, parallel(4), &["z"]);
    assert_eq!(resume(&mut run, &Resume { again: &["z"], ..PLAIN }), (1, "+z !z end".to_owned()));
    assert_eq!((run.value("n"), run.value("k")), ("vl".to_owned(), "vk".to_owned()));
    // what an earlier resume took over, a later one can still do again
    assert_eq!(resume(&mut run, &Resume { rerun: &["n/l"], ..PLAIN }).1, "+n +n/l -n/l -n +z -z end");
}

#[test]
fn what_an_earlier_resume_had_not_come_to_is_kept_still() {
    let steps = "- {id: a, command: x}\n- {id: n, recipe: leaf}\n- {id: z, command: x}\n";
    let mut run = run(steps, PAIR, parallel(4), &["z"]);
    assert_eq!(resume(&mut run, &Resume { rerun: &["a"], again: &["a"], ..PLAIN }).1, "+a !a end");
    assert_eq!(resume(&mut run, &Resume { rerun: &["n/k"], ..PLAIN }).1, "+a -a +n +n/k -n/k -n +z -z end");
    assert!(run.state.frames[1..].iter().filter(|frame| frame.path.is_empty()).all(|frame| frame.closed));
}

#[test]
fn a_recipe_below_is_not_known_before_it_is_entered_again() {
    let mut run = run("- {id: k, command: x}\n- {id: n, recipe: leaf}\n", PAIR, parallel(4), &["n/l"]);
    assert!(run.state.step("n/k").is_some());
    let given = vec![("goal".to_owned(), OverrideValue::Value(Value::from("new")))];
    run.record(Event::RunResumed(RunResumed { pid: 1, given, ..RunResumed::default() }), None);
    assert!(run.state.step("k").is_some() && run.state.step("n/k").is_none());
    assert_eq!(run.value("goal"), "new");
}

#[test]
fn what_is_kept_counts_once() {
    let text = "name: top\nrecursion: {max_total_steps: 3}\nsteps:\n- {id: n, recipe: leaf}\n- {id: z, command: x}\n";
    let mut run = Run::new(text, PAIR, parallel(4), &["z"]);
    run.go();
    assert_eq!(resume(&mut run, &PLAIN).1, "+z -z end");
}

#[test]
fn what_a_resume_has_not_come_to_counts_already() {
    let text = |limit: u64| {
        format!(
            "name: top\nrecursion: {{max_total_steps: {limit}}}\nsteps:\n- {{id: a, command: x}}\n- {{id: n, recipe: leaf}}\n"
        )
    };
    let mut run = Run::new(&text(9), PAIR, parallel(4), &["n/l"]);
    run.go();
    run.plan = plan(&text(1), PAIR);
    let over = "!a Total step limit (1) exceeded: raise `recursion.max_total_steps` of `top` end";
    assert_eq!(resume(&mut run, &Resume { rerun: &["a"], ..PLAIN }).1, over);
}

#[test]
fn what_depends_on_a_step_that_was_left_out_is_left_out_too() {
    let steps = "- {id: a, command: x}\n- {id: b, command: x, depends_on: [a]}\n";
    let mut run = run(steps, LEAF, parallel(4), &["a"]);
    let why = "~b Dependency { step: \"a\", why: \"was skipped when the run was resumed\" } end";
    assert_eq!(resume(&mut run, &Resume { skip: &["a"], ..PLAIN }).1, why);
    assert_eq!(run.state.step("a").unwrap().status, engine::StepStatus::Skipped);
}

#[test]
fn a_tolerated_failure_is_final() {
    let steps = "- {id: a, command: x, continue_on_error: true}\n- {id: b, command: x}\n";
    let mut run = run(steps, LEAF, parallel(4), &["a", "b"]);
    assert_eq!(resume(&mut run, &PLAIN).1, "+b -b end");
}
