//! Whether the condition of a step can still be true.
//!
//! RetryCounts the values that the condition itself mentions; never needs a run.

use recipe::{
    condition::Condition,
    plan::{Step, Unit},
    value::{Map, Value},
};

use super::{Findings, steps::Role};

/// The most combinations of values to try.
const MAX_TRIES: usize = 20_000;

/// The objections to a changed condition of a protected step.
pub(super) fn compare_conditions(
    before: &Unit,
    old: &Step,
    after: &Unit,
    new: &Step,
    role: Role,
    findings: &mut Findings,
) {
    let id = Some(old.id.as_str());
    let Some(condition) = &new.condition else { return };
    let spoken_of: Vec<String> =
        old.condition.iter().flat_map(names).chain(after.names.iter().cloned()).collect();
    if never_holds(condition, &spoken_of) {
        let detail = format!("`{}` never runs: `{}` cannot hold", old.id, condition.text());
        return findings.add("condition_never", id, detail);
    }
    let Some(earlier) = &old.condition else {
        let detail = format!("`{}` ran always and now only if `{}`", old.id, condition.text());
        return findings.add("condition_added", id, detail);
    };
    if squeeze(earlier.text()) == squeeze(condition.text()) {
        return;
    }
    let known = |name: &String| before.names.contains(name) || names(earlier).contains(name);
    if !role.failed || !names(condition).iter().all(known) {
        let detail = format!("`{}` runs under another condition: `{}`", old.id, condition.text());
        findings.add("condition_changed", id, detail);
    }
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "'")
}

fn names(condition: &Condition) -> Vec<String> {
    condition.names().into_iter().map(|(path, _)| path.root).collect()
}

/// Whether no values make a condition true. Unknown names have no value.
fn never_holds(condition: &Condition, known: &[String]) -> bool {
    let mut names = names(condition);
    names.sort();
    names.dedup();
    let values = candidates(condition.text());
    let choose = |name: &String| if known.contains(name) { values.clone() } else { vec![Value::Null] };
    let choices: Vec<Vec<Value>> = names.iter().map(choose).collect();
    let tries: usize =
        choices.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).unwrap_or(usize::MAX);
    if tries > MAX_TRIES {
        return false;
    }
    !(0..tries).any(|mut number| {
        let mut scope = Map::new();
        for (name, choice) in names.iter().zip(&choices) {
            scope.insert(name.clone(), choice[number % choice.len()].clone());
            number /= choice.len();
        }
        condition.holds(&scope).unwrap_or(true)
    })
}

/// Values to try: those in the condition itself, and one of each kind.
fn candidates(text: &str) -> Vec<Value> {
    let mut values = vec![
        Value::Null,
        Value::from(""),
        Value::Bool(true),
        Value::Bool(false),
        Value::from("x".repeat(64)),
        Value::list(vec![Value::from("x")]),
    ];
    values.extend(text.split(['\'', '"']).skip(1).step_by(2).map(Value::from));
    for number in
        text.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(|part| part.parse::<i64>().ok())
    {
        for near in [number - 1, number, number + 1] {
            values.extend(Value::from_json(&near.to_string()));
        }
    }
    values.extend(Value::from_json("1000000"));
    values
}
