//! A development workflow of the size that people run: 78 steps in nine recipes, 40 agent calls, a worktree, an issue,
//! a push and a pull request.
//!
//! The recipes, the repository and the stand-ins for agents and `gh` are in `world/`. The tests run the workflow to its
//! end, or stop it on its way and resume it; each time the end must be the same, and no finished work is repeated.
#![expect(clippy::unwrap_used, reason = "a test without its world, or without a result, has failed")]

mod end;
mod resumed;
mod values;
mod world;

use std::{collections::BTreeSet, sync::LazyLock};

use end::End;
use world::{DEPLOY_TOKEN, World};

/// The end of a run that nothing disturbed.
static UNDISTURBED: LazyLock<End> = LazyLock::new(|| {
    let world = World::new();
    End::of(&world, &world.run())
});

#[test]
fn a_run_reaches_its_end_and_asks_each_agent_once() {
    let end = &*UNDISTURBED;
    end.check_calls(&[]);
    assert_eq!(end.result["status"], "completed");
    assert_eq!(end.gh_calls, ["issue list", "issue create", "pr list", "pr create", "pr view"]);
    assert_eq!(end.pushes.len(), 1, "{:?}", end.pushes);
    let announced =
        format!("ada https://example.com/acme/theme/pull/7 with {} characters", DEPLOY_TOKEN.len());
    assert_eq!(end.announcements, [announced]);

    let steps = end::all_steps(&end.result);
    assert_eq!(steps.len(), 78);
    let with = |status: &str| -> Vec<&str> {
        let found = steps.iter().filter(|step| step["status"] == status);
        found.filter_map(|step| step["path"].as_str()).collect()
    };
    assert_eq!(with("skipped"), ["ask-author", "revise-design", "accept-as-is", "coverage-gate"]);
    assert_eq!(with("failed"), ["research/look-history", "tests-fail-first", "review/security/scan"]);
    assert_eq!(with("completed").len(), steps.len() - 7);
    let lint = steps.iter().find(|step| step["path"] == "lint").unwrap();
    assert_eq!((&lint["attempts"], &lint["output"]), (&2.into(), &"clean".into()));

    // the hooks of the recipe saw each of its own steps
    let own = end.result["step_results"].as_array().into_iter().flatten();
    let ran: BTreeSet<String> = own
        .filter(|step| step["status"] != "skipped")
        .map(|step| format!("{} {}", step["step_id"], step["status"]).replace('"', ""))
        .collect();
    assert_eq!(end.hooks.len(), ran.len());
    assert_eq!(end.hooks.iter().cloned().collect::<BTreeSet<String>>(), ran);
}

#[test]
fn output_and_error_are_always_texts() {
    end::check_texts(&UNDISTURBED.result);
}

#[test]
fn the_result_hides_secrets_and_nothing_else() {
    let context = &UNDISTURBED.result["context"];
    assert_eq!(context["deploy_token"], "[REDACTED]");
    assert!(!UNDISTURBED.result.to_string().contains(DEPLOY_TOKEN), "the token is in the result");
    assert_eq!(context["requirements"]["key_insights"], "all colours are in one place");
    assert_eq!(context["requirements"]["primary_key"], "true");
    assert_eq!(context["worktree_setup"]["created"], true);
    assert!(!UNDISTURBED.output.contains("[REDACTED]"), "{}", UNDISTURBED.output);
}

/// Agents find the number of the issue in their environment too, in every recipe.
#[test]
fn agents_find_values_in_their_environment() {
    let first = ["clarify", "classify", "estimate"];
    let wrong = UNDISTURBED
        .calls
        .iter()
        .filter(|(step, issue)| *issue != if first.contains(&step.as_str()) { "" } else { "42" });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

#[test]
fn the_recipes_have_no_warnings() {
    let world = World::new();
    let output = world.env.run(["validate", "--strict", "recipes/develop.yaml"]);
    assert_eq!(output.code, 0, "{}", output.all());
}
