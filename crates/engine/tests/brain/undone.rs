//! Steps that cleanup undid: what a resume does with their results, and what it says where cleanup does not say it.

use engine::{
    RunStatus,
    resume::{Effects, ResumePlan, Resumer},
    run::event::{Event, RunResumed},
};

use crate::{
    planning::{Ask, USUAL, asked, shown},
    run::{Run, parallel, plan},
};

const STEPS: &str = "- {id: build, command: x}\n- {id: deploy, command: x, effects: [deploy], depends_on: [build]}\n\
    - {id: smoke, command: x, depends_on: [deploy]}\n- {id: rollback, command: x, when: failed, undoes: [deploy]}\n";

fn top(steps: &str) -> String {
    format!("name: top\nsteps:\n{steps}")
}

fn failed(steps: &str, child: &'static str, fails: &[&'static str]) -> Run {
    let mut run = Run::new(&top(steps), child, parallel(4), fails);
    run.go();
    run.over(RunStatus::Failed, None);
    run
}

fn planned(run: &Run, ask: &Ask) -> ResumePlan {
    asked(run, &run.plan, ask)
}

fn reason(plan: &ResumePlan, path: &str) -> String {
    let entry = plan.steps.iter().find(|entry| entry.path == path);
    entry.map(|entry| entry.reason.clone()).unwrap_or_default()
}

fn resume(run: &mut Run, plan: ResumePlan, fails: &[&'static str]) -> String {
    let resumed = RunResumed { rerun: plan.redo, cleanup: plan.cleanup, ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    (run.trace, run.fails) = (Vec::new(), fails.to_vec());
    run.go();
    run.trace.join(" ")
}

#[test]
fn an_undone_step_runs_again_with_its_effect() {
    let mut run = failed(STEPS, "", &["smoke"]);
    for resumer in [USUAL.resumer, Resumer::Automatic { level: 0 }] {
        let plan = planned(&run, &Ask { resumer, ..USUAL });
        assert_eq!(shown(&plan), "=build *deploy *smoke .rollback at smoke");
        assert_eq!(reason(&plan, "deploy"), "`rollback` undid it");
        assert_eq!(plan.goes_on_at.as_deref(), Some("deploy"));
        assert!(plan.blocked_effects.is_empty() && plan.kept_after_cleanup.is_none(), "{plan:?}");
    }
    // the same for every later resume
    for fails in [&["smoke"][..], &[]] {
        let plan = planned(&run, &USUAL);
        let trace = resume(&mut run, plan, fails);
        match fails {
            [] => assert_eq!(trace, "+deploy -deploy +smoke -smoke ~rollback NothingFailed end"),
            _ => {
                assert_eq!(trace, "+deploy -deploy +smoke !smoke +rollback -rollback end");
                run.over(RunStatus::Failed, None);
            }
        }
    }
}

#[test]
fn a_resume_from_a_later_step_runs_undone_steps_too() {
    let run = failed(STEPS, "", &["smoke"]);
    let plan = planned(&run, &Ask { from: Some("smoke"), ..USUAL });
    assert_eq!(shown(&plan), "=build *deploy *smoke .rollback at smoke");
}

#[test]
fn dependents_of_an_undone_step_run_again_and_keep_their_own_effects() {
    let steps = "- {id: deploy, command: x}\n- {id: tell, command: x, depends_on: [deploy], effects: [message]}\n\
        - {id: other, command: x, depends_on: []}\n- {id: smoke, command: x}\n\
        - {id: back, command: x, when: always, undoes: [deploy]}\n";
    let run = failed(steps, "", &["smoke"]);
    let plan = planned(&run, &USUAL);
    assert_eq!(plan.blocked_effects, ["tell"]);
    assert_eq!(reason(&plan, "tell"), "it depends on `deploy`");
}

#[test]
fn a_failed_rollback_leaves_a_doubt() {
    let run = failed(STEPS, "", &["smoke", "rollback"]);
    let plan = planned(&run, &USUAL);
    assert_eq!(reason(&plan, "deploy"), "`rollback` began to undo it");
    assert_eq!(plan.blocked_effects, ["deploy"]);
    assert!(planned(&run, &Ask { effects: Effects::Again, ..USUAL }).blocked_effects.is_empty());
}

#[test]
fn a_sub_recipe_that_is_kept_stays_undone() {
    const INNER: &str = "name: inner\nsteps:\n- {id: d, command: x}\n- {id: k, command: x}\n\
        - {id: u, command: x, when: failed, undoes: [d]}\n";
    let steps = "- {id: n, recipe: inner}\n- {id: b, command: x}\n";
    let run = failed(steps, INNER, &["n/k"]);
    assert_eq!(shown(&planned(&run, &USUAL)), "*n *n/d *n/k .n/u .b at n/k");
    let tolerated = "- {id: n, recipe: inner, continue_on_error: true}\n- {id: b, command: x}\n";
    let run = failed(tolerated, INNER, &["n/k", "b"]);
    assert_eq!(planned(&run, &USUAL).redo, Vec::<String>::new());
}

#[test]
fn an_undone_effect_does_not_keep_its_recipe_from_a_retry() {
    const INNER: &str = "name: inner\nsteps:\n- {id: d, command: x, effects: [deploy]}\n- {id: k, command: x}\n\
        - {id: u, command: x, when: failed, undoes: [d]}\n";
    for (fails, expected) in [(&["n/k"][..], &[][..]), (&["n/k", "n/u"], &["n/d"])] {
        let run = failed("- {id: n, recipe: inner}\n", INNER, fails);
        let frame = run.state.step("n").and_then(|step| step.frame).unwrap();
        assert_eq!(run.state.done_for_good(frame).done, expected, "{fails:?}");
    }
}

#[test]
fn cleanup_that_does_not_say_what_it_undoes_is_named() {
    let silent = STEPS.replace(", undoes: [deploy]", "");
    let run = failed(&silent, "", &["smoke"]);
    let kept = planned(&run, &USUAL).kept_after_cleanup.unwrap();
    assert_eq!(
        (kept.cleanup.join(" "), kept.from.as_str(), kept.repeats_effects),
        ("rollback".into(), "build", true)
    );
    assert_eq!(kept.message(), "`rollback` ran after the failure, and completed steps are kept");
    assert!(planned(&run, &Ask { from: Some("build"), ..USUAL }).kept_after_cleanup.is_none());
    // an edited recipe may say it afterwards
    let now = asked(&run, &plan(&top(STEPS), ""), &USUAL);
    assert_eq!(shown(&now), "=build *deploy *smoke .rollback at smoke");
    // a step that says that it undoes nothing, or one that did not run, needs no note
    let tells = STEPS.replace("undoes: [deploy]", "undoes: []");
    assert!(planned(&failed(&tells, "", &["smoke"]), &USUAL).kept_after_cleanup.is_none());
    assert!(planned(&failed(&silent, "", &["build"]), &USUAL).kept_after_cleanup.is_none());
    let skipped = silent.replace("when: failed", "when: failed, condition: 'false'");
    assert!(planned(&failed(&skipped, "", &["smoke"]), &USUAL).kept_after_cleanup.is_none());
}
