//! A repaired recipe in an agent's answer: bare YAML, or YAML in a fence.

/// The recipe in an answer, if there is one.
pub fn recipe_in(answer: &str) -> Option<String> {
    let fenced = fences(answer)
        .into_iter()
        .filter(|(_, body)| looks_like_recipe(body))
        .max_by_key(|(label, body)| (matches!(label.as_str(), "yaml" | "yml"), body.len()));
    match fenced {
        Some((_, body)) => Some(body),
        None if looks_like_recipe(answer) => Some(answer.trim().to_owned() + "\n"),
        None => None,
    }
}

/// The proposal in an answer without a recipe: its YAML, or the whole answer.
pub fn proposal_in(answer: &str) -> String {
    let fenced = fences(answer).into_iter().filter(|(label, _)| matches!(label.as_str(), "yaml" | "yml"));
    fenced.map(|(_, body)| body).max_by_key(String::len).unwrap_or_else(|| answer.to_owned())
}

/// Whether the text has the fields of a recipe at its top level.
fn looks_like_recipe(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return recipe::value::Value::from_json(text).is_ok_and(
            |value| matches!(value, recipe::value::Value::Map(fields) if fields.contains_key("steps")),
        );
    }
    let has = |field: &str| text.lines().any(|line| line.starts_with(field));
    has("steps:") || (has("name:") && has("extends:"))
}

/// The markers that begin and end a fenced block: the same number of backquotes or tildes, with the same indent.
struct Fence {
    mark: u8,
    length: usize,
    indent: usize,
}

impl Fence {
    fn at(line: &str) -> Option<(Fence, &str)> {
        let trimmed = line.trim_start_matches(' ');
        let mark = *trimmed.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = trimmed.bytes().take_while(|byte| *byte == mark).count();
        let fence = Fence { mark, length, indent: line.len() - trimmed.len() };
        (length >= 3).then_some((fence, trimmed[length..].trim()))
    }

    fn is_ended_by(&self, line: &str) -> bool {
        Fence::at(line).is_some_and(|(end, label)| {
            end.mark == self.mark && end.length >= self.length && label.is_empty()
        })
    }

    /// A line of the block, without the indent of the fence.
    fn inside<'a>(&self, line: &'a str) -> &'a str {
        let spaces = line.bytes().take(self.indent).take_while(|byte| *byte == b' ').count();
        &line[spaces..]
    }
}

/// Fenced blocks with their labels.
fn fences(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence, String, String)> = None;
    for line in text.lines() {
        match open.take() {
            None => {
                open = Fence::at(line).map(|(fence, label)| (fence, label.to_lowercase(), String::new()));
            }
            Some((fence, label, body)) if fence.is_ended_by(line) => blocks.push((label, body)),
            Some((fence, label, mut body)) => {
                body.push_str(fence.inside(line));
                body.push('\n');
                open = Some((fence, label, body));
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_found_bare_and_fenced() {
        for (answer, expected) in [
            ("name: a\nsteps: []\n", Some("name: a\nsteps: []\n")),
            ("Here:\n```yaml\nname: a\nsteps: []\n```\nDone.", Some("name: a\nsteps: []\n")),
            ("```\nname: a\nsteps: []\n```", Some("name: a\nsteps: []\n")),
            ("```sh\nls\n```\n```yml\nname: b\nsteps:\n```", Some("name: b\nsteps:\n")),
            ("1. Here:\n   ```yaml\n   name: a\n   steps: []\n   ```\n", Some("name: a\nsteps: []\n")),
            ("~~~yaml\nname: a\nsteps: [`x`]\n```\n~~~\n", Some("name: a\nsteps: [`x`]\n```\n")),
            ("```json\n{\"name\": \"a\", \"steps\": []}\n```", Some("{\"name\": \"a\", \"steps\": []}\n")),
            ("I could not repair it.", None),
            ("```json\n{}\n```", None),
            ("", None),
        ] {
            assert_eq!(recipe_in(answer).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn what_is_no_recipe_is_a_proposal_all_the_same() {
        for (answer, expected) in [
            ("I could not repair it.", "I could not repair it."),
            ("Look:\n```yaml\n{ : [\n```\nDone.", "{ : [\n"),
            ("```sh\nls\n```", "```sh\nls\n```"),
        ] {
            assert_eq!(proposal_in(answer), expected, "{answer}");
        }
    }
}
