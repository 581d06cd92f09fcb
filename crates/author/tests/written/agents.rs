//! What an agent may change in a generated recipe, and what a recipe that it writes must not leave out.

use author::{
    refine::{RefusedAnswer, refine},
    rewrite::{recipe_in, replaced, shortcomings},
    write,
};
use engine::knowledge::Knowledge;

use crate::{briefs, checked};

#[test]
fn a39_only_prompts_descriptions_and_further_rules_can_change() {
    let brief = briefs::plain();
    for answer in [
        "no JSON at all",
        r#"{"edits": []}"#,
        r#"{"edits": [{"step": "implement", "field": "timeout", "value": "9h"}]}"#,
        r#"{"edits": [{"step": "implement", "field": "id", "value": "x"}]}"#,
        r#"{"edits": [{"step": "implement", "field": "agent_binary", "value": "x"}]}"#,
        r#"{"edits": [{"step": "nosuch", "field": "prompt", "value": "x"}]}"#,
        r#"{"edits": [{"step": "accept-1", "field": "command", "value": "true"}]}"#,
        r#"{"edits": [{"step": "accept-1", "field": "prompt", "value": "x"}]}"#,
        r#"{"edits": [{"step": "implement", "field": "prompt", "value": "Do it, and push {{spec_text}} {{tests_before}}"}]}"#,
        r#"{"edits": [{"step": "implement", "field": "prompt", "value": "Do not commit, push or open pull requests."}]}"#,
        r#"{"edits": [{"step": "implement", "field": "ensure", "value": "true"}]}"#,
        r#"{"edits": [], "steps": [{"id": "more", "command": "true"}]}"#,
    ] {
        assert!(refine(&brief, answer).is_err(), "{answer}");
    }
    assert_eq!(refine(&brief, r#"{"edits": []}"#), Err(RefusedAnswer::Nothing));

    let answer = r#"Here: {"edits": [
        {"step": "implement", "field": "prompt", "value": "Do it well.\n{{tests_before}}\nDo not commit, push or open pull requests.\n{{spec_text}}"},
        {"step": "implement", "field": "ensure", "value": {"file": "src/cli.sh"}},
        {"step": "scope", "field": "description", "value": "Nothing else: changed"}]}"#;
    let refined = refine(&brief, answer).unwrap();
    let plan = checked(&refined.written).plan.unwrap();
    let plain = checked(&write(&brief)).plan.unwrap();
    let step = |plan: &recipe::plan::Plan, id: &str| {
        plan.root().steps.iter().find(|step| step.id == id).unwrap().clone()
    };
    assert_eq!(step(&plan, "implement").ensure.len(), step(&plain, "implement").ensure.len() + 1);
    assert!(refined.written.files[0].text.contains("      Do it well.\n"));
    assert_eq!(refined.diff.len(), 3);
    assert!(
        refined.diff[0].before.contains("Implement the spec") && refined.diff[0].after.contains("Do it well")
    );
    assert_eq!(refined.written.files.last(), write(&brief).files.last(), "the tests stay");
}

#[test]
fn a40_a_recipe_of_an_agent_keeps_every_gate_and_adds_no_effect() {
    let brief = briefs::plain();
    let written = write(&brief);
    let plain = checked(&written).plan.unwrap();
    let text = &written.files[0].text;
    let lacks = |recipe: String| {
        let plan = checked(&replaced(&written, &recipe)).plan.unwrap_or_else(|| panic!("{recipe}"));
        shortcomings(&Knowledge::default(), &plain, &plan)
    };
    assert_eq!(lacks(text.clone()), Vec::<String>::new());
    let placeholder = "name: add-a-json-flag\nsteps:\n  - id: todo\n    command: echo later\n".to_owned();
    assert!(lacks(placeholder).len() > 10);
    let effect = "  - id: extra\n    effects: [push]\n    idempotent: false\n    command: git push\n\n  - id: signoff\n";
    let found = lacks(text.replace("  - id: signoff\n", effect));
    assert!(found.iter().any(|problem| problem.contains("`extra` has an effect")), "{found:?}");
    let found = lacks(text.replacen("      - command: make test\n", "", 1));
    assert!(found.iter().any(|problem| problem.contains("fewer rules")), "{found:?}");

    assert_eq!(recipe_in("Here:\n```yaml\na: 1\n```\nDone."), Ok("a: 1\n".to_owned()));
    assert!(recipe_in("a: 1").is_err());
    assert!(recipe_in("```yaml\na\n```\n```yaml\nb\n```").is_err());
}
