//! The command of a protected step before and after: what it does still counts, and checks the same thing.
//!
//! Every command that decided about the step must have a counterpart that decides as much.

use recipe::plan::{Step, StepKind, Unit};

use super::{
    Findings,
    checks::{self, CheckKind},
    effects,
    flow::{Flow, Found, Level, Status, follow},
    narrowing,
    steps::Role,
    world,
};

/// Why a counterpart will not do: a code and a detail.
pub(super) type Objection = (&'static str, String);

/// What the comparison of one step needs to know.
pub(super) struct Case<'a> {
    pub(super) unit: &'a Unit,
    pub(super) id: &'a str,
    pub(super) role: Role,
}

/// Whether a command compares files or texts.
pub(super) fn compares(command: &str) -> bool {
    follow(command).found.iter().any(|found| checks::kind(&found.call) == Some(CheckKind::Compare))
}

/// Whether a variable of this name turns something off.
pub(super) fn is_switch(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SKIP", "IGNORE", "ADDOPTS", "DISABLE", "DRY_RUN", "NO_VERIFY", "NOFAIL", "ALLOW_FAIL", "BYPASS"]
        .iter()
        .any(|word| name.contains(word))
}

/// What a protected command lost.
pub(super) fn compare_commands(
    unit: &Unit,
    step: &Step,
    old: &str,
    new: &str,
    role: Role,
    findings: &mut Findings,
) {
    let case = Case { unit, id: &step.id, role };
    let (old, new) = (follow(old), follow(new));
    let id = Some(step.id.as_str());
    if let Some(detail) = neutered(&old, &new) {
        findings.add("neutered", id, format!("`{}` {detail}", step.id));
    }
    if new.forgives && !old.forgives {
        findings.add("failure_ignored", id, format!("`{}` turns off the stop at failures", step.id));
    }
    for found in old.found.iter().filter(|found| matters(found)) {
        if let Some((code, detail)) = counterpart(&case, found, &new) {
            findings.add(code, id, format!("`{}`: {detail}", step.id));
        }
    }
    for (code, detail) in settings(&case, &old, &new) {
        findings.add(code, id, format!("`{}`: {detail}", step.id));
    }
}

fn matters(found: &Found) -> bool {
    let acts = effects::effect(&found.call).is_some();
    acts || (found.level != Level::Ignored && !found.call.is_toothless())
}

fn neutered(old: &Flow, new: &Flow) -> Option<&'static str> {
    let could_fail = !matches!(old.status, Status::Ok | Status::Exit(true));
    let works = |flow: &Flow| {
        let counts = |found: &&Found| found.level != Level::Ignored && !found.call.is_toothless();
        flow.found.iter().filter(counts).any(|found| !is_self_fed(found))
    };
    if could_fail && matches!(new.status, Status::Ok | Status::Exit(true)) {
        Some("can no longer fail")
    } else if works(old) && !works(new) {
        Some("no longer does anything that can fail")
    } else {
        None
    }
}

/// A comparison of the script's own text with itself.
fn is_self_fed(found: &Found) -> bool {
    found.is_fed && checks::kind(&found.call) == Some(CheckKind::Compare)
}

/// The objection to the best counterpart of a command; none if there is a good one.
fn counterpart(case: &Case<'_>, old: &Found, new: &Flow) -> Option<Objection> {
    let effect = effects::effect(&old.call);
    let kind = checks::kind(&old.call);
    let mut first = None;
    for candidate in &new.found {
        let objection = match (&effect, kind) {
            (Some(effect), _) if effects::effect(&candidate.call).as_ref() == Some(effect) => {
                effect_objection(case, old, candidate)
            }
            (None, Some(kind)) if is_like(case, old, kind, candidate) => {
                narrowing::check_objection(case, old, kind, candidate)
            }
            (None, None) if candidate.call.program == old.call.program => {
                generic_objection(case, old, candidate)
            }
            _ => continue,
        };
        match objection.or_else(|| standing(old, candidate)) {
            None => return None,
            Some(objection) => first = first.or(Some(objection)),
        }
    }
    first.or_else(|| absent(case, old, effect, kind))
}

fn absent(
    case: &Case<'_>,
    old: &Found,
    effect: Option<String>,
    kind: Option<CheckKind>,
) -> Option<Objection> {
    let words = old.call.words.join(" ");
    match (effect, kind) {
        (Some(effect), _) => Some(("effect_lost", format!("`{effect}` is no longer reached"))),
        (None, Some(CheckKind::Build)) if case.role.failed => None,
        (None, Some(_)) => Some(("check_replaced", format!("`{words}` no longer decides"))),
        (None, None) if case.role.failed => None,
        (None, None) => Some(("command_replaced", format!("`{words}` no longer decides"))),
    }
}

/// Whether a candidate is the same sort of check.
fn is_like(case: &Case<'_>, old: &Found, kind: CheckKind, candidate: &Found) -> bool {
    let Some(other) = checks::kind(&candidate.call) else { return false };
    let family = |program: &str| match program {
        "[" | "[[" => "test".to_owned(),
        "egrep" | "fgrep" | "rg" | "zgrep" => "grep".to_owned(),
        other => other.to_owned(),
    };
    match kind {
        CheckKind::Compare => family(&old.call.program) == family(&candidate.call.program),
        _ if case.role.failed => other == kind || (kind == CheckKind::Build && other == CheckKind::Tests),
        _ => old.call.program == candidate.call.program && other == kind,
    }
}

/// Whether a candidate decides as much as the original.
fn standing(old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if new.level < old.level {
        return Some(("failure_ignored", format!("the failure of `{words}` is ignored")));
    }
    if new.guarded && !old.guarded {
        return Some(("guarded", format!("`{words}` may not be reached")));
    }
    if new.is_fed && !old.is_fed && checks::kind(&new.call).is_some() {
        return Some(("self_satisfied", format!("`{words}` reads what the command itself says")));
    }
    let switch = new.assignments.iter().find(|text| {
        !old.assignments.contains(text) && is_switch(text.split('=').next().unwrap_or_default())
    });
    switch.map(|text| ("switch_added", format!("`{text}` can turn `{words}` off")))
}

fn effect_objection(case: &Case<'_>, old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if let Some(option) = effects::rehearses(&new.call)
        && !old.call.has(option)
    {
        return Some(("effect_neutered", format!("`{option}` makes `{words}` a rehearsal")));
    }
    let same = old.call.operands().eq(new.call.operands());
    if !same && !case.role.failed {
        return Some(("effect_changed", format!("`{words}` has another target")));
    }
    let fake =
        new.call.operands().filter(|word| !old.call.operands().any(|known| known == *word)).find(|word| {
            [
                "/",
                "./",
                "../",
                "file:",
                "localhost",
                "http://localhost",
                "http://127.",
                "https://example.",
                "http://example.",
            ]
            .iter()
            .any(|start| word.starts_with(start))
                && !word.ends_with(".yaml")
                && !word.ends_with(".yml")
        });
    fake.map(|word| ("effect_neutered", format!("`{word}` is not where `{}` went", old.call.words.join(" "))))
}

fn generic_objection(case: &Case<'_>, old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if let Some(option) = effects::rehearses(&new.call)
        && !old.call.has(option)
    {
        return Some(("effect_neutered", format!("`{option}` makes `{words}` a rehearsal")));
    }
    let same = old.call.operands().eq(new.call.operands());
    (!same && !case.role.failed).then(|| ("command_replaced", format!("`{words}` is another command")))
}

/// Variables and directories that a comparison relies on.
fn settings(case: &Case<'_>, old: &Flow, new: &Flow) -> Vec<Objection> {
    let compares = |found: &Found| checks::kind(&found.call) == Some(CheckKind::Compare);
    if !old.found.iter().any(compares) {
        return Vec::new();
    }
    let mut objections = Vec::new();
    let name = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let plain = |flow: &Flow| -> Vec<String> {
        let bare = flow.found.iter().filter(|found| found.call.program.is_empty());
        bare.flat_map(|found| found.assignments.clone()).collect()
    };
    let (before, after) = (plain(old), plain(new));
    for text in &after {
        let known = before.iter().any(|old| name(old) == name(text));
        if known && !before.contains(text) {
            objections.push(("expectation_changed", format!("`{text}` is another value")));
        }
    }
    let places = |flow: &Flow| -> Vec<String> {
        let moves = flow.found.iter().filter(|found| found.call.program == "cd");
        moves.filter_map(|found| found.call.words.get(1).cloned()).collect()
    };
    let had = places(old);
    for place in places(new).iter().filter(|place| !had.contains(place)) {
        let dirs = case.unit.steps.iter().filter_map(|step| step.working_dir.as_ref());
        let known = dirs.into_iter().any(|dir| dir.text() == place.as_str());
        if !known && !world::mentions(case.unit, case.id, place) {
            objections.push(("expectation_changed", format!("it looks into `{place}` now")));
        }
    }
    objections
}

/// Commands that write, as constant text, what a check looks at.
pub(super) fn find_forgeries(old: &Unit, new: &Unit, findings: &mut Findings) {
    let flows = |unit: &Unit| -> Vec<(String, Flow)> {
        let shell = unit.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Shell { command } => Some((step.id.clone(), follow(command.text()))),
            _ => None,
        });
        shell.collect()
    };
    let (before, after) = (flows(old), flows(new));
    let known: Vec<&Found> = before.iter().flat_map(|(_, flow)| &flow.found).collect();
    let looked_at: Vec<&str> =
        before.iter().chain(&after).flat_map(|(_, flow)| files_checked(flow)).collect();
    for (id, flow) in &after {
        for found in flow.found.iter().filter(|found| is_constant_writer(found)) {
            let was_there = known.iter().any(|old| old.call == found.call && old.writes == found.writes);
            let target = found.writes.iter().find(|file| looked_at.contains(&file.trim_start_matches("./")));
            if let Some(target) = target.filter(|_| !was_there) {
                let detail = format!("`{id}` writes `{target}`, which a check looks at");
                findings.add("self_satisfied", Some(id), detail);
            }
        }
    }
}

/// What the checks of a script look at, and the commands that feed them.
fn files_checked(flow: &Flow) -> Vec<&str> {
    let is_check = |found: &Found| checks::kind(&found.call) == Some(CheckKind::Compare);
    if !flow.found.iter().any(is_check) {
        return Vec::new();
    }
    let reads = |found: &&Found| {
        is_check(found) || matches!(found.call.program.as_str(), "cat" | "head" | "tail" | "wc")
    };
    flow.found
        .iter()
        .filter(reads)
        .flat_map(|found| found.call.operands())
        .map(|word| word.trim_start_matches("./"))
        .collect()
}

fn is_constant_writer(found: &Found) -> bool {
    let variable = found.call.words.iter().any(|word| word.contains(['$', '`']) || word.contains("{{"));
    match found.call.program.as_str() {
        "echo" | "printf" | "yes" => !variable,
        "" | "true" | ":" | "touch" | "truncate" | "sed" | "perl" => true,
        "cat" => found.is_fed || found.call.has("/dev/null"),
        "tee" => found.is_fed,
        "cp" | "mv" | "ln" | "install" | "dd" => {
            found.call.has("/dev/null") || found.call.has("if=/dev/zero")
        }
        _ => false,
    }
}
