//! What must be so after every command and at the end of a case. Never runs anything itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use crate::{
    shape::{Kind, Recipe, Step},
    trouble::all_steps,
    world::{Count, Facts},
};

/// What is wrong, in words.
pub(crate) type Verdict = Result<(), String>;

/// Says what is wrong unless it is so.
pub(crate) fn must(is_so: bool, what: impl FnOnce() -> String) -> Verdict {
    if is_so { Ok(()) } else { Err(what()) }
}

/// The journal never runs ahead of the world, and the world never ahead of the journal.
pub(crate) fn ledger_and_journal_agree(facts: &Facts, recipe: &Recipe) -> Verdict {
    let tolerated = |id: &str| all_steps(recipe).iter().any(|step| step.id == id && step.tolerated);
    let has_ledger = |id: &str| {
        let is_other = |step: &Step| matches!(step.kind, Kind::Nested(_) | Kind::Ask);
        !all_steps(recipe).iter().any(|step| step.id == id && is_other(step)) && !id.starts_with('q')
    };
    must(facts.order.problems.is_empty(), || facts.order.problems.join("\n"))?;
    for (id, count) in &facts.steps {
        must(count.completed <= 1 + count.rerun || !id.starts_with('q'), || {
            format!("the answer to `{id}` was used twice: {count:?}")
        })?;
    }
    for (id, count) in facts.steps.iter().filter(|(id, _)| has_ledger(id)) {
        must(count.begun <= count.started, || {
            format!("`{id}` ran more often than the journal says: {count:?}")
        })?;
        must(count.done <= count.begun, || format!("`{id}`: the ledger is torn: {count:?}"))?;
        let ended = if tolerated(id) { 0 } else { count.completed };
        must(ended <= count.done, || format!("`{id}` is called completed and was not: {count:?}"))?;
        must(count.completed <= 1 + count.rerun, || format!("`{id}` was completed twice: {count:?}"))?;
    }
    Ok(())
}

/// What stood before a command was not done again by it, unless a resume gave it up, and might. `old` have been in
/// force, and `new` is what the command goes on with: removed steps do not count. A failure is valid only if
/// every recipe has tolerated it.
pub(crate) fn results_stay(
    before: &Facts,
    after: &Facts,
    (old, new): (&[Recipe], &Recipe),
    may_give_up: &BTreeSet<String>,
) -> Verdict {
    let ids = |recipe, is_meant: fn(&Step) -> bool| -> BTreeSet<&String> {
        let steps = all_steps(recipe).into_iter();
        steps.filter(|step| is_meant(step)).map(|step| &step.id).collect()
    };
    let known = ids(new, |_| true);
    let fatal: BTreeSet<&String> = old.iter().flat_map(|old| ids(old, |step| !step.tolerated)).collect();
    let stood = |(id, count): &(&String, &Count)| {
        known.contains(id) && (count.stands || (count.stands_failed && !fatal.contains(id)))
    };
    for (id, count) in before.steps.iter().filter(stood) {
        let now = after.of(id);
        let is_given_up = now.rerun > count.rerun;
        must(!is_given_up || may_give_up.contains(id), || {
            format!("nothing calls for `{id}` to be done again: {count:?}, then {now:?}")
        })?;
        must(now.begun == count.begun || is_given_up, || {
            format!("`{id}` was completed and ran again: {count:?}, then {now:?}")
        })?;
    }
    Ok(())
}

/// The result of a disturbed run is that of an undisturbed one, except for steps that a person skipped.
pub(crate) fn same_result(clean: &Json, last: &Json, left_out: &BTreeSet<String>) -> Verdict {
    let (clean_steps, last_steps) = (outcomes(clean), outcomes(last));
    must(clean_steps.keys().eq(last_steps.keys()), || {
        format!("other steps: {:?} instead of {:?}", last_steps.keys(), clean_steps.keys())
    })?;
    let is_left_out = |path: &String| left_out.iter().any(|id| path.rsplit('/').next() == Some(id));
    for (path, expected) in clean_steps.iter().filter(|(path, _)| !is_left_out(path)) {
        let found = &last_steps[path];
        must(found == expected, || format!("step `{path}` is {found:?} instead of {expected:?}"))?;
    }
    let values = |result: &Json| {
        let mut values = result["context"].as_object().cloned().unwrap_or_default();
        values.retain(|name, _| !left_out.contains(name));
        // an answer says when and how it came
        let answers = values.iter_mut().filter(|(name, _)| name.starts_with('q'));
        answers.for_each(|(_, value)| *value = value.get("choice").cloned().unwrap_or_default());
        values
    };
    let (expected, found) = (values(clean), values(last));
    must(found == expected, || format!("values are {found:?}\ninstead of {expected:?}"))?;
    must(clean["output"] == last["output"], || {
        format!("the result is {} instead of {}", last["output"], clean["output"])
    })
}

/// Status and output of every step, by path.
fn outcomes(result: &Json) -> BTreeMap<String, (String, String)> {
    fn visit(steps: &Json, found: &mut BTreeMap<String, (String, String)>) {
        for step in steps.as_array().into_iter().flatten() {
            let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
            let is_answer = text("step_id").starts_with('q');
            let output = if is_answer { String::new() } else { step["output"].to_string() };
            found.insert(text("path"), (text("status"), output));
            visit(&step["steps"], found);
        }
    }
    let mut found = BTreeMap::new();
    visit(&result["step_results"], &mut found);
    found
}

/// A success means that every step which an undisturbed run completes has really done its work.
pub(crate) fn success_is_true(clean: &Json, facts: &Facts, recipe: &Recipe) -> Verdict {
    let leaves =
        all_steps(recipe).into_iter().filter(|step| !matches!(step.kind, Kind::Nested(_) | Kind::Ask));
    let clean = outcomes(clean);
    for step in leaves {
        let ran = clean
            .iter()
            .any(|(path, (status, _))| path.rsplit('/').next() == Some(&step.id) && status == "completed");
        must(!ran || facts.of(&step.id).done > 0, || format!("success, but `{}` never ran", step.id))?;
    }
    Ok(())
}
