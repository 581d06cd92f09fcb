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

/// What an answer without a recipe proposes all the same: the YAML in it, or all that it says.
pub fn proposal_in(answer: &str) -> String {
    let fenced = fences(answer).into_iter().filter(|(label, _)| matches!(label.as_str(), "yaml" | "yml"));
    fenced.map(|(_, body)| body).max_by_key(String::len).unwrap_or_else(|| answer.to_owned())
}

/// Whether the text has the fields of a recipe at its top level.
fn looks_like_recipe(text: &str) -> bool {
    let has = |field: &str| text.lines().any(|line| line.starts_with(field));
    has("steps:") || (has("name:") && has("extends:"))
}

/// Fenced blocks with their labels.
fn fences(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String, usize)> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let ticks = trimmed.bytes().take_while(|byte| *byte == b'`').count();
        match &mut open {
            None if ticks >= 3 => {
                open = Some((trimmed[ticks..].trim().to_lowercase(), String::new(), ticks));
            }
            Some((_, _, length)) if ticks >= *length && trimmed[ticks..].trim().is_empty() => {
                if let Some((label, body, _)) = open.take() {
                    blocks.push((label, body));
                }
            }
            Some((_, body, _)) => {
                body.push_str(line);
                body.push('\n');
            }
            None => {}
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
