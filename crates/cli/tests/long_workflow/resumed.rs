//! Runs that were stopped on their way and resumed: the end is the same, and no finished work is repeated.

use crate::{
    UNDISTURBED,
    end::{End, check_texts},
    world::World,
};

#[test]
fn a_person_fixes_the_code_after_the_tests_failed() {
    let world = World::new();
    world.write("~/defect", "");
    let failed = world.run();
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(failed.json()["failure"]["step"], "test-gate");
    // the gate works in a directory that agents had a part in naming: a person says that only the files were wrong
    let from_gate = ["--from", "test-gate"];
    assert_eq!(world.reruns(&from_gate), ["test-gate"]);
    world.shell("sed -i 's/#00000\"/#000000\"/' repo.worktrees/feat/*/src/theme.sh");
    let end = End::of(&world, &world.resume(&from_gate));
    end.check_calls(&[]);
    UNDISTURBED.compare(&end);
    check_texts(&failed.json());
}

#[test]
fn an_agent_whose_answer_was_refused_is_asked_again() {
    let world = World::new();
    world.answer("fix", r#"{"closed": ["document light"], "open": ["sort the docs"]}"#);
    let failed = world.run();
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(failed.json()["failure"]["step"], "acceptance");
    assert_eq!(world.reruns(&[]), ["fix", "acceptance"]);
    world.answer("fix", &world.prepared_answer("fix"));
    let end = End::of(&world, &world.resume(&[]));
    end.check_calls(&["fix"]);
    UNDISTURBED.compare(&end);
}

/// One run, killed at seven points one after the other. At each of them the effect of the step in progress is there, and
/// the runner does not know it.
#[test]
fn a_runner_that_is_killed_again_and_again_repeats_nothing_that_is_finished() {
    let world = World::new();
    // the point, and steps beside it that are finished by then
    let points: [(&str, &[&str]); 7] = [
        ("agent clarify", &[]),
        ("issue create", &[]),
        ("agent look-risks", &["look-code", "look-tests", "look-history", "look-docs", "look-api"]),
        ("agent weigh-findings", &[]),
        ("push", &[]),
        ("pr create", &[]),
        ("agent pr-review-risk", &["pr-review-design", "pr-review-quality"]),
    ];
    for (at, (point, finished)) in points.into_iter().enumerate() {
        world.stop_at(point);
        let started = if at == 0 { world.start() } else { world.start_resume() };
        world.wait_for_stop(point, finished);
        started.kill();
        assert_eq!(world.show()["status"], "interrupted", "{point}");
    }
    let end = End::of(&world, &world.resume(&[]));
    assert_eq!(world.env.survivors(), Vec::<String>::new());
    end.check_calls(&["clarify", "look-risks", "weigh-findings", "pr-review-risk"]);
    UNDISTURBED.compare(&end);
}

#[test]
fn a_step_that_must_not_run_twice_asks_a_person() {
    let world = World::new();
    world.stop_at("announce");
    let started = world.start();
    world.wait_for_stop("announce", &[]);
    started.kill();
    let output = world.resume(&[]);
    assert_eq!(output.code, 6, "{}", output.all());
    let mut end = End::of(&world, &world.resume(&["--skip-interrupted"]));
    end.check_calls(&[]);
    let mut expected = UNDISTURBED.clone();
    assert_eq!(
        (end.take("announce"), expected.take("announce")),
        ("skipped".to_owned(), "completed".to_owned())
    );
    expected.compare(&end);
}

#[test]
fn an_edited_recipe_keeps_untouched_steps() {
    let world = World::new();
    let (recipe, command) = ("recipes/develop.yaml", "command: scripts/run-tests.sh");
    let good = world.edit(recipe, "- id: test-gate", command, "command: scripts/run-test.sh");
    let failed = world.run();
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(failed.json()["failure"]["step"], "test-gate");
    world.write(recipe, &good);
    let edited = ["--recipe", recipe];
    assert_eq!(world.reruns(&edited), ["test-gate"]);

    // an agent of the research, too: what reads its answer runs again, and what came before it is kept
    world.edit(
        "recipes/research.yaml",
        "- id: synthesize",
        "Put this together.",
        "Put all of this together.",
    );
    let again = world.agents_of(&world.reruns(&edited));
    assert!(again.contains(&"synthesize") && again.contains(&"option-safe"), "{again:?}");
    let before = ["clarify", "classify", "estimate", "look-code", "look-tests", "look-history", "look-docs"];
    assert!(before.iter().all(|step| !again.contains(step)), "{again:?}");
    let end = End::of(&world, &world.resume(&edited));
    end.check_calls(&again);
    UNDISTURBED.compare(&end);
}

#[test]
fn an_edit_before_a_finished_side_effect_asks_a_person() {
    let world = World::new();
    world.write("~/defect", "");
    assert_eq!(world.run().code, 1);
    let before = (world.calls(), world.lines("~/gh/calls"));
    world.edit(
        "recipes/develop.yaml",
        "- id: issue-body",
        "There are open questions.",
        "There are questions.",
    );
    let output = world.resume(&["--recipe", "recipes/develop.yaml"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.all().contains("create-issue"), "{}", output.all());
    assert_eq!((world.calls(), world.lines("~/gh/calls")), before);
}
