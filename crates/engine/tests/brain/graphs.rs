//! Recipes with `schedule: graph`: steps start as soon as what they need has ended.

use engine::{Event, RunStatus, run::event::RunResumed};

use crate::{
    planning::{Ask, USUAL, asked},
    run::{LEAF, Run, parallel, plan},
};

fn graph(steps: &str, most: usize, fails: &[&'static str]) -> Run {
    let mut run =
        Run::new(&format!("name: top\nschedule: graph\nsteps:\n{steps}"), LEAF, parallel(most), fails);
    run.go();
    run
}

#[track_caller]
fn check_trace(steps: &str, most: usize, fails: &[&'static str], expected: &str) {
    assert_eq!(graph(steps, most, fails).trace.join(" "), expected, "{steps}");
}

const CHAINS: &str = "- {id: z, command: 'echo {{b}} {{d}}'}\n- {id: a, command: x}\n- {id: b, command: 'echo {{a}}'}\n\
    - {id: c, command: x}\n- {id: d, command: 'echo {{c}}'}\n";

#[test]
fn a_step_starts_when_its_needs_have_ended() {
    check_trace(CHAINS, 4, &[], "+a +c -a +b -c +d -b -d +z -z end");
    check_trace(CHAINS, 1, &[], "+a -a +b -b +c -c +d -d +z -z end");
    // a failure stops new steps, and running ones come to their end
    check_trace(CHAINS, 4, &["a"], "+a +c !a -c end");
    let tolerant = "- {id: a, command: x, continue_on_error: true}\n- {id: b, command: 'echo {{a}}'}\n";
    check_trace(tolerant, 4, &["a"], "+a !a +b -b end");
}

#[test]
fn every_kind_of_need_counts() {
    for need in [
        "command: x, depends_on: [w]",
        "command: 'echo {{w}}'",
        "command: 'echo $RECIPE_VAR_w'",
        "command: x, condition: \"w == 'vw'\"",
        "command: x, env: {A: '{{w}}'}",
        "command: x, working_dir: '{{w}}'",
        "recipe: leaf, context: {own: '{{w}}'}",
    ] {
        let steps = format!("- {{id: r, {need}}}\n- {{id: w, command: x}}\n");
        let trace = graph(&steps, 4, &[]).trace.join(" ");
        assert!(trace.starts_with("+w -w +r"), "{need}: {trace}");
    }
}

#[test]
fn a_skipped_step_has_ended_for_those_that_read_it() {
    let steps = "- {id: r, command: 'echo {{s}}'}\n- {id: s, command: x, condition: 'false'}\n\
        - {id: d, command: x, depends_on: [s]}\n";
    let skipped = "Dependency { step: \"s\", why: \"was skipped because its condition is false\" }";
    check_trace(steps, 4, &[], &format!("~s Condition +r ~d {skipped} -r end"));
}

#[test]
fn values_of_a_sub_recipe_come_from_its_step() {
    let steps = "- {id: r, command: 'echo {{k}}'}\n- {id: n, recipe: leaf}\n";
    check_trace(steps, 4, &[], "+n +n/k -n/k -n +r -r end");
    assert_eq!(graph(steps, 4, &[]).value("k"), "vk");
}

#[test]
fn ordered_writers_and_a_reader_between_them() {
    let steps = "- {id: a, command: x, output: v}\n- {id: r, command: 'echo {{v}}'}\n\
        - {id: b, command: x, output: v, depends_on: [r]}\n";
    check_trace(steps, 4, &[], "+a -a +r -r +b -b end");
}

#[test]
fn cleanup_comes_after_everything_else() {
    let steps = "- {id: t, command: 'echo {{a}}', when: always}\n- {id: f, command: x, when: failed}\n\
        - {id: a, command: x}\n- {id: b, command: x}\n";
    check_trace(steps, 4, &[], "+a +b -a -b +t -t ~f NothingFailed end");
    check_trace(steps, 4, &["a"], "+a +b !a -b +t -t +f -f end");
    check_trace(steps, 4, &["t"], "+a +b -a -b +t !t +f -f end");
}

#[test]
fn all_failed_steps_are_causes() {
    let run = graph(
        "- {id: a, command: x}\n- {id: b, command: x}\n- {id: c, command: 'echo {{a}}'}\n",
        4,
        &["a", "b"],
    );
    let causes: Vec<String> = run.state.causes().into_iter().map(|(path, _)| path).collect();
    assert_eq!(causes, ["a", "b"]);
}

#[test]
fn a_resume_keeps_what_is_done_and_continues_in_the_graph() {
    let mut run = graph(CHAINS, 4, &["b"]);
    assert_eq!(run.trace.join(" "), "+a +c -a +b -c +d !b -d end");
    run.over(RunStatus::Failed, None);
    let plan = asked(&run, &run.plan, &USUAL);
    assert!(plan.redo.is_empty(), "{plan:?}");
    run.record(Event::RunResumed(RunResumed::default()), None);
    (run.trace, run.fails) = (Vec::new(), Vec::new());
    run.go();
    assert_eq!(run.trace.join(" "), "+b -b +z -z end");
    assert_eq!(run.value("d"), "vd");
}

#[test]
fn a_step_that_is_done_again_takes_its_readers_with_it() {
    let mut run = graph(CHAINS, 4, &["z"]);
    run.over(RunStatus::Failed, None);
    let from = Ask { from: Some("a"), ..USUAL };
    assert_eq!(asked(&run, &run.plan, &from).redo, ["a", "b"]);
    let edited = plan(
        &format!(
            "name: top\nschedule: graph\nsteps:\n{}",
            CHAINS.replace("id: c, command: x", "id: c, command: y")
        ),
        LEAF,
    );
    assert_eq!(asked(&run, &edited, &USUAL).redo, ["c", "d"]);
}

#[test]
fn a_fold_of_the_journal_gives_the_same_order() {
    let run = graph(CHAINS, 4, &["d"]);
    let again = run.folded();
    assert_eq!(again.root().context, run.state.root().context);
    assert_eq!(again.root().failed_at, run.state.root().failed_at);
}

#[test]
fn cleanup_that_a_resume_continued_runs_again_at_the_next_end() {
    let steps =
        "- {id: a, command: x}\n- {id: f, command: x, when: failed}\n- {id: t, command: x, when: always}\n";
    let mut run = graph(steps, 4, &["a"]);
    run.kill_in("t");
    let plan = asked(&run, &run.plan, &USUAL);
    assert_eq!(plan.failed, ["a"]);
    let resumed = RunResumed { failed: plan.failed, cleanup: plan.cleanup, ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    run.go();
    assert_eq!(run.trace.join(" "), "+t -t end");
    run.over(RunStatus::Failed, None);
    assert_eq!(asked(&run, &run.plan, &USUAL).cleanup, ["f", "t"]);
}
