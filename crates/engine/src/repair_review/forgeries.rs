//! Commands that make a check pass by writing what it looks at.
//!
//! Three rules, all about files that a check looks at:
//! - a check never begins to write them itself, and neither does a hook, which runs around every check;
//! - a step that did not write such a file does not begin to write a fixed text of the recipe into it. A step that
//!   wrote a fixed text before may write another one: the producer is repaired, not the check. A step that computed
//!   the file keeps computing it;
//! - no step makes one side of a comparison from the other.
//!
//! The same applies to values: a step that computed an output which a check looks at does not begin to print a fixed
//! text of the recipe, and no new step does so in its place.
//!
//! Copies, and output of programs, count as computed: only a run can show whether they are honest.

use recipe::plan::{Step, StepKind, Unit};

use super::{
    Findings,
    checks::{self, CheckKind},
    commands::is_comparison,
    comparisons::{looked_at, plain_name},
    flow::{Flow, Found, follow},
    known::FILTERS,
    names as named,
    program::Call,
    words::{Token, tokens},
};

/// A command of a recipe: of a step, or of a hook.
struct Script<'a> {
    owner: &'a str,
    is_hook: bool,
    flow: Flow,
    dir: Option<String>,
}

/// What one check looks at.
struct Look<'a> {
    owner: &'a str,
    files: Vec<String>,
    kind: CheckKind,
}

/// New commands that write what checks look at.
pub(super) fn find_forgeries(old: &Unit, new: &Unit, findings: &mut Findings) {
    let (before, after) = (scripts(old), scripts(new));
    let looks: Vec<Look<'_>> =
        before.iter().chain(&after).filter(|script| !script.is_hook).flat_map(looks).collect();
    let known: Vec<&Found> = before.iter().flat_map(|script| &script.flow.found).collect();
    for script in &after {
        let earlier = before.iter().find(|old| old.owner == script.owner && old.is_hook == script.is_hook);
        let fresh = |found: &&Found| !known.iter().any(|old| is_same(old, found));
        let writers = script.flow.found.iter().filter(|found| !changes(found).is_empty());
        for found in writers.filter(fresh) {
            let target = changes(found).into_iter().find(|target| {
                let names = names(target, script);
                is_forged(found, &names, &looks, earlier, script, new)
            });
            if let Some(target) = target {
                report(script, &target, findings);
            }
        }
    }
}

/// Steps that begin to print a fixed text as a value that a check looks at.
pub(super) fn find_sayings(old: &Unit, new: &Unit, findings: &mut Findings) {
    let read: Vec<String> =
        old.steps.iter().chain(&new.steps).flat_map(|step| values_compared(step)).collect();
    let says = |step: &Step, unit: &Unit| match &step.kind {
        StepKind::Shell { command } => {
            let flow = follow(command.text());
            !flow.found.is_empty() && flow.found.iter().all(|found| is_constant(found, &flow, unit))
        }
        _ => false,
    };
    let stored = |step: &Step| step.store.clone().unwrap_or_else(|| step.id.clone());
    for step in new.steps.iter().filter(|step| read.contains(&stored(step)) && says(step, new)) {
        let earlier = old.steps.iter().find(|old| old.id == step.id && stored(old) == stored(step));
        if !earlier.is_some_and(|earlier| says(earlier, old)) {
            let detail = format!("`{}` prints `{}` by itself, which a check looks at", step.id, stored(step));
            findings.add("self_satisfied", Some(&step.id), detail);
        }
    }
}

/// Values of other steps that the comparisons of a step look at.
fn values_compared(step: &Step) -> Vec<String> {
    match &step.kind {
        StepKind::Shell { command } if follow(command.text()).found.iter().any(is_comparison) => {
            command.names().into_iter().map(|(path, _)| path.root.clone()).collect()
        }
        _ => Vec::new(),
    }
}

fn report(script: &Script<'_>, target: &str, findings: &mut Findings) {
    let owner = script.owner;
    if script.is_hook {
        let detail = format!("the hook `{owner}` writes `{target}`, which a check looks at");
        findings.add("self_satisfied", None, detail);
    } else {
        let detail = format!("`{owner}` writes `{target}`, which a check looks at");
        findings.add("self_satisfied", Some(owner), detail);
    }
}

fn scripts(unit: &Unit) -> Vec<Script<'_>> {
    let steps = unit.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Shell { command } => {
            let dir = step.working_dir.as_ref().map(|dir| dir.text().to_owned());
            Some(Script { owner: &step.id, is_hook: false, flow: follow(command.text()), dir })
        }
        _ => None,
    });
    let hooks = super::hooks::texts(unit)
        .into_iter()
        .filter_map(|(owner, text)| Some(Script { owner, is_hook: true, flow: follow(text?), dir: None }));
    steps.chain(hooks).collect()
}

/// The files that a command writes or removes.
fn changes(found: &Found) -> Vec<String> {
    let gone = found.call.operands().filter(|_| removes(found));
    found.writes.iter().map(String::as_str).chain(gone).map(str::to_owned).collect()
}

fn removes(found: &Found) -> bool {
    matches!(found.call.program.as_str(), "rm" | "unlink")
}

fn is_same(old: &Found, new: &Found) -> bool {
    old.call == new.call && old.writes == new.writes && old.feeds == new.feeds && old.inputs == new.inputs
}

/// The names of a file, relative to the directory of the recipe and to that of the script.
fn names(file: &str, script: &Script<'_>) -> Vec<String> {
    let name = plain_name(file);
    let moves =
        script.flow.found.iter().filter(|found| matches!(found.call.program.as_str(), "cd" | "pushd"));
    let dirs = moves.filter_map(|found| found.call.operands().next()).chain(script.dir.as_deref());
    let below: Vec<String> =
        dirs.map(|dir| format!("{}/{name}", plain_name(dir).trim_end_matches('/'))).collect();
    [name].into_iter().chain(below).collect()
}

/// What the checks of a script look at, with the commands that feed them.
fn looks<'a>(script: &'a Script<'a>) -> Vec<Look<'a>> {
    let mut looks = Vec::new();
    let found = &script.flow.found;
    let comparisons: Vec<&Found> = found.iter().filter(|found| is_comparison(found)).collect();
    if !comparisons.is_empty() {
        let readers =
            found.iter().filter(|found| is_reader(&found.call)).flat_map(|found| read_by(found, script));
        let compared = comparisons.into_iter().flat_map(looked_at).flat_map(|name| names(&name, script));
        let files = compared.chain(readers).collect();
        looks.push(Look { owner: script.owner, files, kind: CheckKind::Compare });
    }
    let runs = |found: &&Found| {
        checks::kind(&found.call).is_some_and(|kind| matches!(kind, CheckKind::Tests | CheckKind::Lint))
    };
    for found in found.iter().filter(runs) {
        let files = read_by(found, script).into_iter().filter(|name| name != ".").collect();
        looks.push(Look { owner: script.owner, files, kind: CheckKind::Tests });
    }
    // a check script is part of its own check
    for found in found.iter().filter(|found| named::check(&found.call).is_some()) {
        let files = named::script(&found.call).into_iter().flat_map(|name| names(name, script)).collect();
        looks.push(Look { owner: script.owner, files, kind: CheckKind::Compare });
    }
    looks
}

fn is_reader(call: &Call) -> bool {
    matches!(call.program.as_str(), "cat" | "head" | "tail" | "wc" | "sort" | "cut" | "awk" | "sed" | "jq")
}

/// The names that a command reads, itself and through the commands before it in the pipeline.
fn read_by(found: &Found, script: &Script<'_>) -> Vec<String> {
    let fed = found.feeds.iter().filter(|call| is_reader(call)).flat_map(Call::operands);
    let words = found.call.operands().chain(found.inputs.iter().map(String::as_str));
    words.chain(fed).flat_map(|word| names(word, script)).collect()
}

fn is_forged(
    found: &Found,
    target: &[String],
    looks: &[Look<'_>],
    earlier: Option<&Script<'_>>,
    script: &Script<'_>,
    unit: &Unit,
) -> bool {
    let seen = |look: &&Look<'_>| {
        look.files.iter().any(|file| target.iter().any(|name| is_at(look.kind, file, name)))
    };
    let wrote: Vec<&Found> = earlier
        .iter()
        .flat_map(|script| script.flow.found.iter().map(move |found| (script, found)))
        .filter(|(script, old)| {
            old.writes.iter().any(|file| names(file, script).iter().any(|name| target.contains(name)))
        })
        .map(|(_, old)| old)
        .collect();
    let constant = is_constant(found, &script.flow, unit);
    looks.iter().filter(seen).any(|look| {
        let own = script.is_hook || look.owner == script.owner;
        let compares = look.kind == CheckKind::Compare;
        let was_constant = |old: &&&Found| earlier.is_some_and(|script| is_constant(old, &script.flow, unit));
        if compares && copies(found, target, look, script) {
            return true;
        }
        if own {
            let is_check = checks::judged(&found.call).is_some();
            let computed_before = wrote.iter().any(|old| !was_constant(&old));
            (compares || !is_check) && (constant || !computed_before)
        } else {
            compares && constant && !removes(found) && !wrote.iter().any(|old| was_constant(&old))
        }
    })
}

fn is_at(kind: CheckKind, file: &str, name: &str) -> bool {
    let below = || name.strip_prefix(file.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'));
    file == name || (kind != CheckKind::Compare && !file.is_empty() && below())
}

/// Whether a command makes one side of a comparison from the other.
fn copies(found: &Found, target: &[String], look: &Look<'_>, script: &Script<'_>) -> bool {
    let other = |name: &String| !target.contains(name) && look.files.contains(name);
    let copies = matches!(found.call.program.as_str(), "cp" | "mv" | "ln" | "install" | "rsync")
        || FILTERS.contains(&found.call.program.as_str());
    copies && read_by(found, script).iter().any(other)
}

/// Whether a command writes a fixed text of the recipe.
fn is_constant(found: &Found, flow: &Flow, unit: &Unit) -> bool {
    let program = found.call.program.as_str();
    match program {
        "echo" | "printf" | "yes" => found.call.arguments().iter().all(|word| is_text(word, flow, unit)),
        "" | "true" | ":" | "touch" | "truncate" | "exec" | "rm" | "unlink" => true,
        "sed" | "perl"
            if found.call.arguments().iter().any(|word| word.starts_with("-i") || word == "-pi") =>
        {
            true
        }
        "cp" | "mv" | "ln" | "install" | "dd" => {
            found.is_fed || found.call.has("/dev/null") || found.call.has("if=/dev/zero")
        }
        _ if FILTERS.contains(&program) => found.is_fed || found.call.has("/dev/null"),
        _ => found.call.inline_code().is_some(),
    }
}

/// Whether a word is known without a run: a text, a value of the recipe's context, or a variable with such a value.
fn is_text(word: &str, flow: &Flow, unit: &Unit) -> bool {
    if word.contains("$(") || word.contains('`') {
        let inner = tokens(word).into_iter().flat_map(|token| match token {
            Token::Word(word) => word.inner,
            _ => Vec::new(),
        });
        return inner.into_iter().all(|text| {
            let said = follow(&text).found;
            said.iter().all(|found| Call::is_talk(&found.call.program))
        });
    }
    let stored =
        |name: &str| unit.steps.iter().any(|step| step.store.as_deref() == Some(name) || step.id == name);
    let given = word.split("{{").skip(1).map(|rest| rest.split(['}', '.', '[']).next().unwrap_or_default());
    let known = |name: &str| unit.context.contains_key(name) && !stored(name);
    let named = word.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    });
    let assigned = |name: &str| {
        let texts =
            flow.found.iter().flat_map(|found| &found.assignments).filter_map(|text| text.split_once('='));
        let values: Vec<&str> = texts.filter(|(known, _)| *known == name).map(|(_, value)| value).collect();
        !values.is_empty() && values.iter().all(|value| !value.contains(['$', '`']) && !value.contains("{{"))
    };
    given.into_iter().all(known) && named.into_iter().all(assigned)
}
