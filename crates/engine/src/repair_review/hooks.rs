//! Hooks before and after: they run around every check, so they are judged like one.
//!
//! A hook cannot fail a run, so it only has to keep its effects and must not help a check to pass.

use recipe::plan::Unit;

use super::{Findings, effects, flow::follow};

/// The hooks of a recipe by name.
pub(super) fn texts(unit: &Unit) -> [(&'static str, Option<&str>); 3] {
    let hooks = &unit.hooks;
    [("pre_step", &hooks.pre_step), ("post_step", &hooks.post_step), ("on_error", &hooks.on_error)]
        .map(|(name, hook)| (name, hook.as_ref().map(|hook| hook.text())))
}

/// The effects that a hook lost.
pub(super) fn compare_hooks(old: &Unit, new: &Unit, findings: &mut Findings) {
    let effects = |text: Option<&str>| -> Vec<String> {
        let found = text.map(follow).into_iter().flat_map(|flow| flow.found);
        found
            .filter(|found| effects::rehearses(&found.call).is_none())
            .filter_map(|found| effects::effect(&found.call))
            .collect()
    };
    for ((name, before), (_, after)) in texts(old).into_iter().zip(texts(new)) {
        let kept = effects(after);
        for effect in effects(before).iter().filter(|effect| !kept.contains(effect)) {
            findings.add("effect_lost", None, format!("the hook `{name}`: `{effect}` is no longer reached"));
        }
    }
}
