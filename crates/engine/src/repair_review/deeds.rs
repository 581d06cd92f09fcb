//! A step that declares an effect still does everything that it did: each command, and each file that it wrote.
//!
//! The kind of such a command does not matter: if it only prints a text, the text represents the effect. Commands that
//! are known to push, publish or deploy are compared elsewhere.

use super::{
    checks,
    commands::{Objection, standing},
    comparisons::plain_name,
    effects,
    flow::{Flow, Found},
    known::FILTERS,
    names,
    program::{Call, base_name},
    rehearsals,
    steps::Role,
};

/// Programs without any effect outside.
const NOTHING: [&str; 20] = [
    "", "true", ":", "false", "exit", "return", "set", "export", "cd", "pushd", "popd", "trap", "shopt",
    "unset", "wait", "readonly", "declare", "local", "typeset", "alias",
];

/// Programs that only look something up for later commands.
const READERS: [&str; 20] = [
    "jq",
    "yq",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "mktemp",
    "find",
    "seq",
    "stat",
    "du",
    "df",
    "ps",
    "expr",
    "let",
    "read",
    "source",
    ".",
    "sha256sum",
    "getopts",
];

/// Verbs of git that change nothing outside its directory, or nothing at all.
const GIT_LOOKS: [&str; 12] = [
    "rev-parse",
    "log",
    "describe",
    "status",
    "show",
    "diff",
    "config",
    "branch",
    "ls-files",
    "symbolic-ref",
    "rev-list",
    "fetch",
];

/// Targets that store nothing.
const NOWHERE: [&str; 8] = [
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/zero",
    "/dev/full",
    "/dev/fd/",
    "/dev/shm/",
];

/// What a step with a declared effect no longer does.
pub(super) fn find_losses(role: Role, old: &Flow, new: &Flow) -> Vec<Objection> {
    let is_known = |found: &&Found| effects::effect(&found.call).is_some();
    let mut deeds: Vec<&Found> = old.found.iter().filter(|found| is_deed(found)).collect();
    if deeds.is_empty() && !old.found.iter().any(|found| is_known(&found)) {
        deeds = old.found.iter().filter(|found| stands_in(found)).collect();
    }
    let mut taken = Vec::new();
    let mut left = Vec::new();
    for deed in deeds {
        let same = |(_, found): &(usize, &Found)| repeats(deed, found) && objection(deed, found).is_none();
        match new.found.iter().enumerate().find(same) {
            Some((at, _)) => taken.push(at),
            None => left.push(deed),
        }
    }
    let mut losses: Vec<Objection> =
        left.into_iter().filter_map(|deed| counterpart(role, deed, new, &mut taken)).collect();
    losses.extend(moved(role, old, new));
    losses.extend(undone(old, new));
    losses
}

/// The objection to the best replacement of a deed; `None` if there is a good one.
fn counterpart(role: Role, deed: &Found, new: &Flow, taken: &mut Vec<usize>) -> Option<Objection> {
    let mut first = None;
    for (at, found) in new.found.iter().enumerate() {
        if taken.contains(&at) || !is_akin(role, deed, found) {
            continue;
        }
        match objection(deed, found) {
            None => {
                taken.push(at);
                return None;
            }
            found => first = first.or(found),
        }
    }
    first.or_else(|| Some(("effect_lost", format!("`{}` is no longer done", told(deed)))))
}

fn told(found: &Found) -> String {
    let targets = real_targets(found).filter(|target| !found.call.has(target));
    found
        .call
        .words
        .iter()
        .cloned()
        .chain(targets.map(|target| format!("> {target}")))
        .collect::<Vec<_>>()
        .join(" ")
}

fn objection(old: &Found, new: &Found) -> Option<Objection> {
    if old.negated != new.negated {
        let words = new.call.words.join(" ");
        return Some(("neutered", format!("`{words}` is turned round: its failure counts as success")));
    }
    let rehearsal = rehearsals::objection(&old.call, &new.call);
    rehearsal.map(|detail| ("effect_neutered", detail)).or_else(|| standing(old, new))
}

/// Whether a command has an effect of its own, or writes something.
fn is_deed(found: &Found) -> bool {
    if effects::effect(&found.call).is_some() {
        return false;
    }
    works(found) || real_targets(found).next().is_some()
}

fn works(found: &Found) -> bool {
    let program = found.call.program.as_str();
    let looks = program == "git" && found.call.verbs().first().is_some_and(|verb| GIT_LOOKS.contains(verb));
    let passes_on = FILTERS.contains(&program) && found.call.writes().is_empty();
    let is_idle = found.call.is_toothless() || NOTHING.contains(&program);
    !(is_idle || looks || passes_on || READERS.contains(&program) || checks::judged(&found.call).is_some())
}

/// Whether a command represents an effect if there is no other.
fn stands_in(found: &Found) -> bool {
    !NOTHING.contains(&found.call.program.as_str()) && checks::judged(&found.call).is_none()
}

/// Whether it only passes a text on.
fn says(call: &Call) -> bool {
    matches!(call.program.as_str(), "echo" | "printf" | "cat" | "tee" | "date" | "yes")
}

fn is_nowhere(target: &str) -> bool {
    NOWHERE.iter().any(|place| target.starts_with(place))
}

/// The files that it writes and that stay.
fn real_targets(found: &Found) -> impl Iterator<Item = &String> {
    found.writes.iter().filter(|target| !is_nowhere(target))
}

/// Whether a new target is where the old one was meant to be.
pub(super) fn is_kept_target(old: &str, new: &str) -> bool {
    let is_lost = |name: &str| name.starts_with("/tmp/") || name.contains("mktemp");
    let (old, new) = (without_values(&plain_name(old)), without_values(&plain_name(new)));
    old == new
        || (base_name(&old) == base_name(&new) && !is_nowhere(&new) && (is_lost(&old) || !is_lost(&new)))
}

/// Whether everything is still written, in the right place unless the step failed because of the place.
fn writes_on(role: Role, old: &Found, new: &Found) -> bool {
    let is_log = |target: &&String| target.ends_with(".log") || target.ends_with(".err");
    let matters = |target: &&String| !(works(old) && is_log(target));
    real_targets(old).filter(matters).all(|target| {
        let is_lost = |name: &str| name.starts_with("/tmp/") || name.contains("mktemp");
        let fits = |new: &&String| {
            is_kept_target(target, new) || (role.failed && (is_lost(target) || !is_lost(new)))
        };
        real_targets(new).any(|new| fits(&new))
    })
}

/// Whether two commands are identical, ignoring the commands around them.
fn repeats(old: &Found, new: &Found) -> bool {
    old.call.words == new.call.words && writes_on(Role::default(), old, new) && holds(old, new)
}

/// Whether a command can replace another one.
fn is_akin(role: Role, old: &Found, new: &Found) -> bool {
    let prepares = matches!(new.call.program.as_str(), "chmod" | "chown" | "umask" | "ulimit");
    let acts = (works(new) && !prepares) || effects::effect(&new.call).is_some();
    if !works(old) && real_targets(old).next().is_none() {
        // a command that prints may become one that acts
        let same = old.call.program == new.call.program || (says(&old.call) && says(&new.call));
        return acts || real_targets(new).next().is_some() || (same && speaks_on(role, old, new));
    }
    if !writes_on(role, old, new) {
        return false;
    }
    let (left, right) = (names::without_interpreter(&old.call), names::without_interpreter(&new.call));
    let same = left.program == right.program || (says(&old.call) && says(&new.call));
    (same && speaks_on(role, old, new)) || (role.failed && acts)
}

fn speaks_on(role: Role, old: &Found, new: &Found) -> bool {
    match role.failed {
        true => texts(old).is_empty() || !texts(new).is_empty(),
        false => holds(old, new),
    }
}

/// Whether every word is still there; values may come from elsewhere.
fn holds(old: &Found, new: &Found) -> bool {
    let now = texts(new);
    texts(old).iter().all(|word| now.contains(word))
}

/// The arguments and the input of a command, without its targets.
fn texts(found: &Found) -> Vec<String> {
    let call = names::without_interpreter(&found.call);
    let own = call.operands().filter(|word| !found.writes.iter().any(|target| target == word));
    let own: Vec<String> = own.map(str::to_owned).collect();
    let fed = found.feeds.iter().flat_map(|call| call.operands().map(str::to_owned));
    let read = found.inputs.iter().map(|input| input.trim_start_matches('<').to_owned());
    let all: Vec<String> = own.into_iter().chain(fed).chain(read).collect();
    let plain = |text: &String| without_values(&text.replace("\\n", " "));
    all.iter()
        .flat_map(|text| plain(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// A text without the names of its values.
fn without_values(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        plain.push_str(&rest[..at]);
        plain.push('$');
        rest = rest[at..].split_once("}}").map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    let mut parts = plain.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let after = match part.strip_prefix('{') {
            Some(inner) => inner.split_once('}').map_or("", |(_, rest)| rest),
            None => part.trim_start_matches(is_name),
        };
        format!("{text}${after}")
    })
}

/// The objection to another directory than before, where the effect may be lost.
fn moved(role: Role, old: &Flow, new: &Flow) -> Option<Objection> {
    let places = |flow: &Flow| -> Vec<String> {
        let moves = flow.found.iter().filter(|found| matches!(found.call.program.as_str(), "cd" | "pushd"));
        moves.filter_map(|found| found.call.operands().next().map(plain_name)).collect()
    };
    let had = places(old);
    let is_lost = |place: &String| place.starts_with("/tmp") || place.contains("mktemp");
    let strange = |place: &String| !had.contains(place) && (!role.failed || is_lost(place));
    let place = places(new).into_iter().find(strange)?;
    Some(("effect_changed", format!("it is done in `{place}` now")))
}

/// The objection to a file that is written and then removed.
fn undone(old: &Flow, new: &Flow) -> Option<Objection> {
    let removes =
        |found: &&Found| matches!(found.call.program.as_str(), "rm" | "unlink" | "truncate" | "shred");
    let written = |target: &str, flow: &Flow, before: usize| {
        flow.found[..before].iter().flat_map(real_targets).any(|file| plain_name(file) == plain_name(target))
    };
    let fresh = |found: &Found| !old.found.iter().any(|known| known.call == found.call);
    let mut removers = new.found.iter().enumerate().filter(|(_, found)| removes(found) && fresh(found));
    removers.find_map(|(at, found)| {
        let target = found.call.operands().find(|target| written(target, new, at))?;
        Some(("effect_lost", format!("`{target}` is written and taken away")))
    })
}
