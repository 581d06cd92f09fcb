//! The changes of a repair in one line: steps and fields by their names. Never judges them.

use recipe::{
    document,
    value::{Map, Value},
};

/// The differences between two versions of a recipe.
pub(super) fn describe(before: &[u8], after: &[u8]) -> String {
    let (Some(old), Some(new)) = (read(before), read(after)) else { return "rewrote it".to_owned() };
    let (old_steps, new_steps) = (steps(&old), steps(&new));
    let find = |list: &[(String, Map)], id: &str| list.iter().find(|(known, _)| known == id).cloned();
    let mut parts = Vec::new();
    let fields = fields(&old, &new, "steps");
    parts.extend((!fields.is_empty()).then(|| format!("changed {fields}")));
    for (id, step) in &new_steps {
        let was = find(&old_steps, id).map(|(_, was)| self::fields(&was, step, "id"));
        match was {
            None => parts.push(format!("added step `{id}`")),
            Some(fields) if !fields.is_empty() => parts.push(format!("changed {fields} of step `{id}`")),
            Some(_) => {}
        }
    }
    let gone = old_steps.iter().filter(|(id, _)| find(&new_steps, id).is_none());
    parts.extend(gone.map(|(id, _)| format!("left out step `{id}`")));
    if parts.is_empty() { "changed the order of steps".to_owned() } else { parts.join("; ") }
}

fn read(text: &[u8]) -> Option<Map> {
    match document::read(text).ok()? {
        Value::Map(map) => Some(Map::clone(&map)),
        _ => None,
    }
}

/// The steps with their ids; a step without an id is named by its position.
fn steps(recipe: &Map) -> Vec<(String, Map)> {
    let Some(Value::List(list)) = recipe.get("steps") else { return Vec::new() };
    let step = |(at, step): (usize, &Value)| match step {
        Value::Map(step) => {
            let id = step.get("id").map(|id| id.render().into_owned());
            Some((id.unwrap_or_else(|| format!("#{}", at + 1)), Map::clone(step)))
        }
        _ => None,
    };
    list.iter().enumerate().filter_map(step).collect()
}

/// The names of members that differ, without `except`.
fn fields(old: &Map, new: &Map, except: &str) -> String {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let differ = |name: &&&String| **name != except && old.get(name.as_str()) != new.get(name.as_str());
    names.iter().filter(differ).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_by_step_and_field() {
        let check = |before: &str, after: &str, expected: &str| {
            let text = |steps: &str| format!("name: r\n{steps}\n");
            assert_eq!(
                describe(text(before).as_bytes(), text(after).as_bytes()),
                expected,
                "{before} {after}"
            );
        };
        let one = "steps: [{id: a, command: x}]";
        check(one, "steps: [{id: a, command: y}]", "changed `command` of step `a`");
        check(
            one,
            "# words\nsteps: [{id: a, command: y, timeout: 3}]",
            "changed `command`, `timeout` of step `a`",
        );
        check(one, "steps: [{id: a, command: x}, {id: b, command: x}]", "added step `b`");
        check("steps: [{id: a, command: x}, {id: b, command: x}]", one, "left out step `b`");
        check(one, "context: {k: v}\nsteps: [{id: a, command: x}]", "changed `context`");
        check(
            "steps: [{id: a, command: x}, {id: b, command: x}]",
            "steps: [{id: b, command: x}, {id: a, command: x}]",
            "changed the order of steps",
        );
        check("steps: [{command: x}]", "steps: [{command: y}]", "changed `command` of step `#1`");
        check(one, "steps: [", "rewrote it");
    }
}
