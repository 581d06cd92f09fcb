//! Shows what a resume would do. Does nothing.

use engine::{
    resume::{OnlyIf, ResumePlan, StepPlan},
    run::next::Next,
};
use runtime::{requests::PlannedResume, store::secrets::Mask};
use serde_json::{Value as Json, json};

use super::same_flags::AskedResume;
use crate::{args::options::OutputFormat, out::Out};

/// A plan as JSON.
pub(super) fn json(mut plan: ResumePlan, mask: &Mask) -> Json {
    for step in &mut plan.steps {
        step.reason = mask.text(&step.reason).into_owned();
    }
    serde_json::to_value(&plan).unwrap_or_default()
}

/// Shows what a plan does to every step.
pub(super) fn steps(plan: &ResumePlan, mask: &Mask, out: &mut Out) {
    out.hide(mask);
    for step in &plan.steps {
        let action = match step.action {
            StepPlan::Keep => "keep",
            StepPlan::Rerun => "re-run",
            StepPlan::Pending => "pending",
        };
        let more = match step.only_if {
            Some(OnlyIf::InputsStay) => "; it is kept if its inputs stay the same",
            _ => "",
        };
        out.result(&format!("{action:<8} {}  ({}{more})", step.path, step.reason));
    }
}

/// Shows what a resume would do.
pub(super) fn show(asked: &AskedResume<'_>, planned: PlannedResume, format: OutputFormat, out: &mut Out) {
    let PlannedResume { run, plan, changed, mask, recipe, digest, .. } = planned;
    if format == OutputFormat::Json {
        let mut json = json(plan, &mask);
        json["run_id"] = json!(run);
        json["plan_digest"] = json!(digest);
        json["changed_recipe"] = json!(changed.first());
        json["changed_recipes"] = json!(changed);
        out.json(&json);
        return;
    }
    steps(&plan, &mask, out);
    if let Some(first) = &plan.goes_on_at {
        out.result(&format!("resumes at `{first}`"));
    }
    let note = runtime::runs::changed_note(&run, &recipe, &changed);
    note.iter().for_each(|note| out.result(&asked.hints.advice(note)));
    let mut say = |what: &str, steps: &[String], how: &str, flag: &str| {
        if !steps.is_empty() {
            let command = asked.with(&run, flag);
            out.result(&format!("{what}: {}. {how} `{command}`", steps.join(", ")));
        }
    };
    say(
        "not re-run, though later steps may depend on a new result",
        &plan.kept_producers,
        "To re-run:",
        "--rerun-producers",
    );
    say(
        "stops here: completed side effects would run again",
        &plan.blocked_effects,
        "To allow it:",
        "--rerun-effects",
    );
    if let Some(kept) = &plan.kept_after_cleanup {
        let command = asked.hints.next(&Next::Resume { run: run.clone(), how: kept.choice() });
        out.result(&format!("{}. To run them again: `{command}`", kept.message()));
    }
}
