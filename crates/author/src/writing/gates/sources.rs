//! Values that a command must print and that come from somewhere: a field of a file, a variable, a fixed text.
//!
//! The gate reads the source when it runs; no value of today is written into the recipe.

use super::{FakeReply, Scene, Trial, title};
use crate::{
    brief::{Brief, CommandCheck, Criterion, Source},
    writing::{
        shell,
        step::{Role, StepDraft},
    },
};

/// The value of a source in the worlds of tests.
pub(super) const SAMPLE: &str = "4.5.6";

/// The value of the other sources there.
const OTHER: &str = "0.0.0-other";

/// Sets `expected` to the value of a source.
pub(super) fn expected(source: &Source) -> String {
    match source {
        Source::File { path, field } => {
            let file = shell::quote(path);
            format!(
                "expected=$({})\n[ -n \"$expected\" ] || {{ printf 'no value in %s\\n' {file} >&2; exit 1; }}\n",
                reader(path, field.as_deref())
            )
        }
        Source::Variable { name } => format!("expected=${{{name}:?}}\n"),
        Source::Text { text } => format!("expected={}\n", shell::quote(text)),
    }
}

/// A command that prints the value of a field, or the whole file without blanks at its ends.
fn reader(path: &str, field: Option<&str>) -> String {
    let file = shell::quote(path);
    let Some(field) = field else { return format!("tr -d ' \\t\\r\\n' < {file}") };
    let last = field.rsplit('.').next().unwrap_or(field);
    match path.rsplit('.').next() {
        Some("json") => {
            let read = |(at, part): (usize, &str)| {
                let part = shell::quote(part);
                let from = if at == 0 { format!(" < {file}") } else { String::new() };
                format!("\"$RECIPE_RUNNER_EXE\" orch field {part} --text{from}")
            };
            field.split('.').enumerate().map(read).collect::<Vec<_>>().join(" | ")
        }
        Some("yaml" | "yml") => field_line(&file, last, ":"),
        _ => field_line(&file, last, "="),
    }
}

/// The value of the first line `field = value`.
fn field_line(file: &str, field: &str, sign: &str) -> String {
    let quotes = "[\"'\\'']*";
    let name: String = field.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
    format!(
        "sed -n 's/^[[:space:]]*{name}[[:space:]]*{sign}[[:space:]]*{quotes}\\([^\"'\\''#]*\\).*/\\1/p' {file} | head -n 1 | sed 's/[[:space:]]*$//'"
    )
}

/// A file that has a value in its field.
pub(super) fn sample_file(path: &str, field: Option<&str>, value: &str) -> String {
    let Some(field) = field else { return format!("{value}\n") };
    let last = field.rsplit('.').next().unwrap_or(field);
    match path.rsplit('.').next() {
        Some("json") => {
            let nested = field.rsplit('.').fold(serde_json::Value::from(value), |inner, part| {
                serde_json::Value::Object([(part.to_owned(), inner)].into_iter().collect())
            });
            format!("{nested}\n")
        }
        Some("yaml" | "yml") => format!("{last}: {value}\n"),
        _ => format!("[package]\n{last} = \"{value}\"\n"),
    }
}

/// The value that a command prints in the right world.
pub(super) fn sample_value(source: &Source) -> String {
    match source {
        Source::Text { text } => text.clone(),
        Source::File { .. } | Source::Variable { .. } => SAMPLE.to_owned(),
    }
}

/// One gate for each source, in order: in a scratch copy without the earlier sources, in which later ones say something
/// else.
pub(super) fn gates(
    brief: &Brief,
    criterion: &Criterion,
    check: &CommandCheck,
    sources: &[Source],
) -> Vec<StepDraft> {
    let one = |(at, source): (usize, &Source)| {
        let id = format!("accept-{}-{}", criterion.number, at + 1);
        let description = format!("{}: from {}", title(criterion), name(source));
        StepDraft::new(id, Role::Gate(trial(brief, check, sources, at)), &description)
            .yaml("timeout", super::GATE_TIMEOUT)
            .body("command", &script(brief, check, sources, at))
    };
    sources.iter().enumerate().map(one).collect()
}

fn name(source: &Source) -> String {
    match source {
        Source::File { path, field: Some(field) } => format!("{field} in {path}"),
        Source::File { path, field: None } => path.clone(),
        Source::Variable { name } => format!("the variable {name}"),
        Source::Text { text } => format!("the fixed text {text}"),
    }
}

fn script(brief: &Brief, check: &CommandCheck, sources: &[Source], at: usize) -> String {
    let mut script = String::from(
        "# a copy of the project, in which sources can be removed\n\
         scratch=$(mktemp -d)\ntrap 'rm -rf \"$scratch\"' EXIT\n",
    );
    script.push_str(if brief.project.git {
        "git ls-files -z --cached --others --exclude-standard --deduplicate | while IFS= read -r -d '' file; do\n  \
         if [ -e \"$file\" ]; then printf '%s\\0' \"$file\"; fi\ndone | tar -c --null -T - | tar -x -C \"$scratch\"\n"
    } else {
        "cp -R . \"$scratch\"\n"
    });
    script.push_str("cd \"$scratch\"\nroot=$PWD\n");
    for source in &sources[..at] {
        script.push_str(&match source {
            Source::File { path, .. } => format!("rm -f -- {}\n", shell::quote(path)),
            Source::Variable { name } => format!("unset {name}\n"),
            Source::Text { .. } => String::new(),
        });
    }
    script.push_str(&present(&sources[at]));
    for source in &sources[at + 1..] {
        script.push_str(&differing(source));
    }
    let functions = shell::functions(&brief.project, &check.command);
    script.push_str(functions.trim_start_matches("root=$PWD\n"));
    script.push_str(&format!("status=0\nactual=$({}) || status=$?\n", shell::inline(&check.command)));
    script.push_str(&format!(
        "if [ \"$status\" -ne 0 ] || [ \"$actual\" != \"$expected\" ]; then\n  \
         printf 'command:  %s\\nexpected: %s\\nactual:   %s\\nexit code: %s\\n' {} \"$expected\" \"$actual\" \"$status\" >&2\n  exit 1\nfi\n",
        shell::quote(&check.command)
    ));
    script.push_str("printf '%s\\n' \"$actual\"\n");
    script
}

/// The source of this gate, and `expected`.
fn present(source: &Source) -> String {
    match source {
        Source::Variable { name } => format!("export {name}={SAMPLE}\nexpected={SAMPLE}\n"),
        Source::File { path, field: None } => {
            let file = shell::quote(path);
            format!("[ -s {file} ] || printf '{SAMPLE}\\n' > {file}\n{}", expected(source))
        }
        _ => expected(source),
    }
}

/// A later source that must not be used: it says something else.
fn differing(source: &Source) -> String {
    match source {
        Source::Variable { name } => format!("export {name}={OTHER}\n"),
        Source::File { path, field: None } => format!("printf '{OTHER}\\n' > {}\n", shell::quote(path)),
        Source::File { .. } | Source::Text { .. } => String::new(),
    }
}

/// The worlds of the gate of one source.
fn trial(brief: &Brief, check: &CommandCheck, sources: &[Source], at: usize) -> Trial {
    let right_value = sample_value(&sources[at]);
    let scene = |title: &str, value: &str| {
        let reply = FakeReply { stdout: format!("{value}\n"), ..FakeReply::default() };
        let scene = Scene::named(title).answer(brief, &check.command, reply)?;
        Some(sources.iter().fold(scene, |scene, source| match source {
            Source::File { path, field } => scene.file(path, &sample_file(path, field.as_deref(), SAMPLE)),
            _ => scene,
        }))
    };
    match (scene("the value is right", &right_value), scene("the value is that of another source", OTHER)) {
        (Some(right), Some(wrong)) => Trial::Scenes { right, wrong: vec![wrong] },
        _ => Trial::Whole,
    }
}
