//! The command of a protected step before and after: its result still counts, and it checks the same thing.
//!
//! Every command that decided about the step must have a counterpart that decides as much.

use std::collections::HashSet;

use recipe::plan::{Step, Unit};

use super::{
    Findings,
    checks::{self, CheckKind},
    comparisons::family,
    deeds, effects,
    flow::{Flow, Found, Level, Status, follow},
    names, narrowing,
    program::Call,
    rehearsals,
    steps::Role,
    world,
};

/// Why a counterpart is not good enough: a code and a detail.
pub(super) type Objection = (&'static str, String);

/// The inputs for the comparison of one step.
pub(super) struct Case<'a> {
    pub(super) unit: &'a Unit,
    pub(super) id: &'a str,
    pub(super) role: Role,
}

/// Whether a command compares files or texts.
pub(super) fn compares(command: &str) -> bool {
    follow(command).found.iter().any(is_comparison)
}

/// Whether an assignment turns something off, by its name or by its value.
fn switches(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let value = value.to_ascii_lowercase();
    let speaks = ["skip", "ignore", "dry-run", "dry_run"].iter().any(|word| value.contains(word));
    is_switch(name) || name == "MAKEFLAGS" || (speaks && name.ends_with(['S', 's']))
}

/// Whether a variable of this name turns something off.
pub(super) fn is_switch(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SKIP", "IGNORE", "ADDOPTS", "DISABLE", "DRY_RUN", "NO_VERIFY", "NOFAIL", "ALLOW_FAIL", "BYPASS"]
        .iter()
        .any(|word| name.contains(word))
}

/// The objections to a changed protected command.
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
    if let Some(detail) = neutered(role, &old, &new) {
        findings.add("neutered", id, format!("`{}` {detail}", step.id));
    }
    if new.forgives && !old.forgives {
        findings.add("failure_ignored", id, format!("`{}` turns off the stop at failures", step.id));
    }
    if let Some(program) = shadowed(&old, &new) {
        let detail = format!("`{}`: `{program}` is a function of the command's own now", step.id);
        findings.add("check_replaced", id, detail);
    }
    for (code, detail) in counterparts(&case, &old, &new) {
        findings.add(code, id, format!("`{}`: {detail}", step.id));
    }
    let losses = if role.declared { deeds::find_losses(role, &old, &new) } else { Vec::new() };
    for (code, detail) in losses {
        findings.add(code, id, format!("`{}`: {detail}", step.id));
    }
    for (code, detail) in settings(&case, &old, &new) {
        findings.add(code, id, format!("`{}`: {detail}", step.id));
    }
}

/// A program that was called before and is now hidden by a function of the same name.
fn shadowed<'f>(old: &Flow, new: &'f Flow) -> Option<&'f String> {
    let was_asked = |name: &&String| old.found.iter().any(|found| found.call.program == **name);
    new.functions.iter().filter(|name| !old.functions.contains(*name)).find(was_asked)
}

fn matters(found: &Found) -> bool {
    let acts = effects::effect(&found.call).is_some();
    acts || (found.level != Level::Ignored && !found.call.is_toothless())
}

/// A check or an effect must keep a command whose failure counts; other commands only have to be able to fail.
fn neutered(role: Role, old: &Flow, new: &Flow) -> Option<&'static str> {
    let strict = role.check || role.effect;
    let ends_well = |flow: &Flow| matches!(flow.status, Status::Ok | Status::Exit(Some(true)));
    // a file that could not be written
    let missed = role.failed && old.found.iter().any(|found| !found.writes.is_empty());
    if (!strict && is_corrected(old, new)) || (missed && ends_well(old) && writes_on(old, new)) {
        return None;
    }
    if (!ends_well(old) || missed) && (ends_well(new) || is_hushed(old, new)) {
        return Some("can no longer fail");
    }
    let idle = |found: &Found| if strict { found.call.is_toothless() } else { found.call.is_constant() };
    let works = |flow: &Flow| {
        let counts = |found: &&Found| found.level != Level::Ignored && !idle(found);
        flow.found.iter().filter(counts).any(|found| !is_self_fed(found))
    };
    let does = |flow: &Flow| {
        let counts = |found: &Found| found.level != Level::Ignored && !Call::is_talk(&found.call.program);
        flow.found.iter().any(counts)
    };
    let lost = (works(old) && !works(new)) || (role.trails && does(old) && !does(new));
    lost.then_some("no longer does anything that can fail")
}

/// Whether a program that hardly ever fails is only called in another way: `date --bogus`, `date`.
fn is_corrected(old: &Flow, new: &Flow) -> bool {
    let counted = |flow: &Flow| -> Vec<Call> {
        let counted = flow.found.iter().filter(|found| found.level != Level::Ignored);
        counted.map(|found| found.call.clone()).collect()
    };
    let asked = counted(old);
    let is_kept = |call: &Call| {
        let same = asked.iter().any(|old| old.program == call.program);
        same && call.is_constant() && !Call::is_talk(&call.program)
    };
    old.status == Status::Unknown && counted(new).iter().any(is_kept)
}

/// Whether a command that could fail was replaced by one that cannot, and no new command can fail.
fn is_hushed(old: &Flow, new: &Flow) -> bool {
    let decides = |found: &&Found| found.level != Level::Ignored;
    let teeth = |flow: &Flow| -> Vec<Call> {
        let counted = flow.found.iter().filter(decides).filter(|found| !found.call.is_constant());
        counted.map(|found| found.call.clone()).collect()
    };
    let ends_idle =
        |flow: &Flow| flow.found.iter().rev().find(decides).is_some_and(|found| found.call.is_constant());
    let (before, after) = (teeth(old), teeth(new));
    let lost = before.iter().any(|call| !after.contains(call));
    ends_idle(new) && !ends_idle(old) && lost && after.iter().all(|call| before.contains(call))
}

/// Whether a file that could not be written is still written.
fn writes_on(old: &Flow, new: &Flow) -> bool {
    let targets =
        |flow: &Flow| -> Vec<String> { flow.found.iter().flat_map(|found| found.writes.clone()).collect() };
    let had = targets(old);
    targets(new).iter().any(|target| had.iter().any(|old| deeds::is_kept_target(old, target)))
}

/// A comparison of the script's own text with itself.
fn is_self_fed(found: &Found) -> bool {
    found.is_fed && is_comparison(found)
}

pub(super) fn is_comparison(found: &Found) -> bool {
    checks::judged(&found.call) == Some(CheckKind::Compare)
}

/// The objections to the replacement of each command that mattered. One check replaces two only if it looks at all of it.
fn counterparts(case: &Case<'_>, old: &Flow, new: &Flow) -> Vec<Objection> {
    let mut taken = HashSet::new();
    let mut left = Vec::new();
    for found in old.found.iter().filter(|found| matters(found)) {
        let covers = |candidate: &&Found| {
            narrowing::covers(&found.call, &candidate.call)
                && objection(case, found, candidate).is_some_and(|objection| objection.is_none())
        };
        match new.found.iter().find(covers) {
            Some(candidate) => _ = taken.insert(&candidate.call),
            None => left.push(found),
        }
    }
    left.into_iter().filter_map(|found| counterpart(case, found, new, &mut taken)).collect()
}

/// The objection to the best counterpart of a command; `None` if there is a good one.
fn counterpart<'a>(
    case: &Case<'_>,
    old: &Found,
    new: &'a Flow,
    taken: &mut HashSet<&'a Call>,
) -> Option<Objection> {
    let is_check = effects::effect(&old.call).is_none() && checks::judged(&old.call).is_some();
    let mut first = None;
    for candidate in &new.found {
        if is_check && taken.contains(&candidate.call) {
            continue;
        }
        match objection(case, old, candidate) {
            Some(None) => {
                taken.insert(&candidate.call);
                return None;
            }
            Some(Some(objection)) => first = first.or(Some(objection)),
            None => {}
        }
    }
    first.or_else(|| absent(case, old))
}

/// The objection to a candidate; the outer `None` means that it is another kind of command.
fn objection(case: &Case<'_>, old: &Found, candidate: &Found) -> Option<Option<Objection>> {
    let effect = effects::effect(&old.call);
    let found = match (&effect, checks::judged(&old.call)) {
        (Some(effect), _) if is_same_effect(case, old, effect, candidate) => {
            effect_objection(case, old, candidate)
        }
        (None, Some(kind)) if is_like(case, old, kind, candidate) => {
            narrowing::check_objection(case, old, kind, candidate)
        }
        (None, None) if is_same_program(old, candidate) => generic_objection(case, old, candidate),
        _ => return None,
    };
    Some(found.or_else(|| standing(old, candidate)))
}

/// Whether a candidate has the same effect. A failed step may have named it wrongly: `make deploy-wbe`.
fn is_same_effect(case: &Case<'_>, old: &Found, effect: &str, candidate: &Found) -> bool {
    let Some(other) = effects::effect(&candidate.call) else { return false };
    let renamed = || {
        let same =
            old.call.program == candidate.call.program || !(effect.contains(' ') || other.contains(' '));
        same && names::share_effect(effect, &other)
    };
    other == effect || (case.role.failed && renamed())
}

/// Whether two commands start the same program, or the same script under any interpreter.
fn is_same_program(old: &Found, new: &Found) -> bool {
    let program = |call: &Call| names::without_interpreter(call).program;
    old.call.program == new.call.program || program(&old.call) == program(&new.call)
}

fn absent(case: &Case<'_>, old: &Found) -> Option<Objection> {
    let words = old.call.words.join(" ");
    match (effects::effect(&old.call), checks::judged(&old.call)) {
        (Some(effect), _) => Some(("effect_lost", format!("`{effect}` is no longer reached"))),
        (None, Some(CheckKind::Build)) if case.role.failed => None,
        (None, Some(_)) => Some(("check_replaced", format!("`{words}` no longer decides"))),
        (None, None) if case.role.failed => None,
        (None, None) => Some(("command_replaced", format!("`{words}` no longer decides"))),
    }
}

/// Whether a candidate is the same kind of check.
fn is_like(case: &Case<'_>, old: &Found, kind: CheckKind, candidate: &Found) -> bool {
    let Some(other) = checks::judged(&candidate.call) else { return false };
    match kind {
        CheckKind::Compare => family(&old.call.program) == family(&candidate.call.program),
        _ if case.role.failed => other == kind || (kind == CheckKind::Build && other == CheckKind::Tests),
        _ => is_same_program(old, candidate) && other == kind,
    }
}

/// Whether a candidate decides as much as the original.
pub(super) fn standing(old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if new.level < old.level {
        return Some(("failure_ignored", format!("the failure of `{words}` is ignored")));
    }
    if new.guarded && !old.guarded {
        return Some(("guarded", format!("`{words}` may not be reached")));
    }
    if new.is_fed && !old.is_fed && checks::judged(&new.call).is_some() {
        return Some(("self_satisfied", format!("`{words}` reads the command's own output")));
    }
    let switch = new.assignments.iter().find(|text| !old.assignments.contains(text) && switches(text));
    switch.map(|text| ("switch_added", format!("`{text}` can turn `{words}` off")))
}

fn effect_objection(case: &Case<'_>, old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if let Some(detail) = rehearsals::objection(&old.call, &new.call) {
        return Some(("effect_neutered", detail));
    }
    if new.negated && !old.negated {
        return Some(("effect_neutered", turned(&words)));
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
                // the script itself, passed to a shell
                && !names::is_named_for_effect(word)
        });
    fake.map(|word| ("effect_neutered", format!("`{word}` is not where `{}` went", old.call.words.join(" "))))
}

fn turned(words: &str) -> String {
    format!("`{words}` is turned round: its failure counts as success")
}

fn generic_objection(case: &Case<'_>, old: &Found, new: &Found) -> Option<Objection> {
    let words = new.call.words.join(" ");
    if let Some(detail) = rehearsals::objection(&old.call, &new.call) {
        return Some(("effect_neutered", detail));
    }
    if new.negated != old.negated {
        return Some(("neutered", turned(&words)));
    }
    if demands_success(&old.call) && !demands_success(&new.call) {
        return Some(("check_narrowed", format!("`{words}` does without `--fail`")));
    }
    let (left, right) = (names::without_interpreter(&old.call), names::without_interpreter(&new.call));
    let same = left.operands().eq(right.operands()) && left.program == right.program;
    (!same && !case.role.failed).then(|| ("command_replaced", format!("`{words}` is another command")))
}

/// Whether a request fails if the answer is an error.
fn demands_success(call: &Call) -> bool {
    let short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('f');
    call.program == "curl" && call.arguments().iter().any(|word| short(word) || word.starts_with("--fail"))
}

/// Objections to changed variables and directories of a comparison, and to variables that turn something off.
fn settings(case: &Case<'_>, old: &Flow, new: &Flow) -> Vec<Objection> {
    let (before, after) = (assigned(old), assigned(new));
    let switched = after.iter().find(|text| !before.contains(text) && switches(text));
    let mut objections: Vec<Objection> = Vec::new();
    objections.extend(switched.map(|text| ("switch_added", format!("`{text}` can turn something off"))));
    let compared: Vec<&Found> = old.found.iter().filter(|found| is_comparison(found)).collect();
    if compared.is_empty() {
        return objections;
    }
    let decides = |name: &str| name == "PATH" || name.starts_with("LD_");
    let uses = |name: &str| decides(name) || compared.iter().any(|found| reads_variable(found, name));
    for text in after.iter().filter(|text| !before.contains(text)) {
        let name = variable(text);
        if uses(name) || before.iter().any(|old| variable(old) == name) {
            objections.push(("expectation_changed", format!("`{text}` is another value")));
        }
    }
    for text in before.iter().filter(|text| !after.contains(text)) {
        let name = variable(text);
        let asked = new.found.iter().any(|found| is_comparison(found) && reads_variable(found, name));
        if asked && !after.iter().any(|new| variable(new) == name) {
            objections.push(("expectation_changed", format!("`{name}` no longer has a value")));
        }
    }
    let places = |flow: &Flow| -> Vec<String> {
        let moves = flow.found.iter().filter(|found| matches!(found.call.program.as_str(), "cd" | "pushd"));
        moves.filter_map(|found| found.call.words.get(1).cloned()).collect()
    };
    let had = places(old);
    let moved = places(new).into_iter().filter(|place| !had.contains(place));
    for place in moved.filter(|place| !world::is_visited(case.unit, case.id, place)) {
        objections.push(("expectation_changed", format!("it looks into `{place}` now")));
    }
    objections
}

/// The name of an assignment.
fn variable(text: &str) -> &str {
    text.split('=').next().unwrap_or_default().trim_end_matches('+')
}

/// Assignments that apply to later commands.
fn assigned(flow: &Flow) -> Vec<String> {
    let lasting = |found: &&Found| {
        matches!(found.call.program.as_str(), "" | "export" | "declare" | "readonly" | "local" | "typeset")
    };
    flow.found.iter().filter(lasting).flat_map(|found| found.assignments.clone()).collect()
}

/// Whether a command uses a variable.
fn reads_variable(found: &Found, name: &str) -> bool {
    let fed = found.feeds.iter().flat_map(|call| &call.words);
    found.call.words.iter().chain(&found.inputs).chain(fed).any(|word| {
        let parts = word.split('$').skip(1).map(|part| part.trim_start_matches('{'));
        let whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        parts.into_iter().any(|part| part.strip_prefix(name).is_some_and(whole))
    })
}
