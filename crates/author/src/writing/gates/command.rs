//! Gates that run a command and look at its end and its output.

use super::{FakeReply, Scene, Trial, sources, title};
use crate::{
    brief::{Brief, CheckPlace, CommandCheck, Criterion, Expectation, OutputStream, Source},
    writing::{
        shell,
        step::{Role, StepDraft},
        text,
    },
};

/// The gates of a command: one, or one for each source of the value that it prints.
pub(super) fn gates(brief: &Brief, criterion: &Criterion, check: &CommandCheck) -> Vec<StepDraft> {
    let id = format!("accept-{}", criterion.number);
    let sources = check.expectations.iter().find_map(|expectation| match expectation {
        Expectation::PrintsFirstOf { sources } => Some(sources),
        _ => None,
    });
    match sources {
        Some(sources) => sources::gates(brief, criterion, check, sources),
        None => vec![gate(brief, criterion, check, &id)],
    }
}

fn gate(brief: &Brief, criterion: &Criterion, check: &CommandCheck, id: &str) -> StepDraft {
    let limit = check.expectations.iter().find_map(|expectation| match expectation {
        Expectation::Within { seconds } => Some(format!("{seconds}s")),
        _ => None,
    });
    let step = StepDraft::new(id, Role::Gate(trial(brief, check)), &title(criterion))
        .yaml("timeout", limit.as_deref().unwrap_or(super::GATE_TIMEOUT))
        .body("command", &script(brief, check));
    match schema(check) {
        Some(schema) => step
            .sample(right_reply(check).stdout)
            .yaml("parse_json", "true")
            .yaml("parse_json_required", "true")
            .yaml("json_schema", &schema),
        None => step,
    }
}

/// The JSON Schema that the output must meet.
fn schema(check: &CommandCheck) -> Option<String> {
    let keys = check.expectations.iter().find_map(|expectation| match expectation {
        Expectation::Json { keys } => Some(keys),
        _ => None,
    })?;
    match keys.is_empty() {
        true => Some("{type: [object, array]}".to_owned()),
        false => Some(format!("{{type: object, required: {}}}", text::flow(keys))),
    }
}

/// The script of a gate.
fn script(brief: &Brief, check: &CommandCheck) -> String {
    let mut script = shell::functions(&brief.project, &check.command);
    let command = match check.place {
        CheckPlace::Project => shell::inline(&check.command),
        CheckPlace::EmptyFolder => {
            if script.is_empty() {
                script.push_str("root=$PWD\n");
            }
            script.push_str("scratch=$(mktemp -d)\ntrap 'rm -rf \"$scratch\"' EXIT\ncd \"$scratch\"\n");
            shell::from_elsewhere(&check.command)
        }
    };
    script.push_str(&run(check, &command));
    script.push_str(&report(check));
    for expectation in &check.expectations {
        script.push_str(&test(expectation));
    }
    if !check.expectations.iter().any(ends) {
        script.push_str("[ \"$status\" -eq 0 ] || fail 'exit code 0'\n");
    }
    script.push_str("printf '%s\\n' \"$actual\"\n");
    script
}

/// Runs the command and keeps its output and its exit code.
fn run(check: &CommandCheck, command: &str) -> String {
    let streams: Vec<OutputStream> = check.expectations.iter().filter_map(stream).collect();
    let redirect = if streams.contains(&OutputStream::Both) {
        " 2>&1"
    } else if streams.contains(&OutputStream::Stderr) {
        " 2>&1 >/dev/null"
    } else {
        ""
    };
    let command = match shell::is_compound(command) && !redirect.is_empty() {
        true => format!("{{ {command}; }}{redirect}"),
        false => format!("{command}{redirect}"),
    };
    format!("status=0\nactual=$({command}) || status=$?\n")
}

/// The function that ends the gate and shows what was expected and what was found.
fn report(check: &CommandCheck) -> String {
    let command = shell::quote(&check.command);
    format!(
        "fail() {{\n  printf 'command:  %s\\nexpected: %s\\nactual:   %s\\nexit code: %s\\n' {command} \"$1\" \"$actual\" \"$status\" >&2\n  exit 1\n}}\n"
    )
}

/// The lines that check one expectation.
fn test(expectation: &Expectation) -> String {
    match expectation {
        Expectation::Prints { text } => {
            format!("expected={}\n{WHOLE}", shell::quote(text.trim_end_matches('\n')))
        }
        Expectation::PrintsSource { source } => format!("{}{WHOLE}", sources::expected(source)),
        Expectation::PrintsFirstOf { .. } | Expectation::Within { .. } => String::new(),
        Expectation::Json { keys } => {
            let wanted = match keys.is_empty() {
                true => "JSON".to_owned(),
                false => format!("JSON with {}", keys.join(", ")),
            };
            format!("case $actual in '{{'*'}}' | '['*']') ;; *) fail {} ;; esac\n", shell::quote(&wanted))
        }
        Expectation::Contains { text, .. } => {
            let wanted = shell::quote(text);
            let message = shell::quote(&format!("output with: {text}"));
            format!("wanted={wanted}\n[[ $actual == *\"$wanted\"* ]] || fail {message}\n")
        }
        Expectation::Lacks { text, .. } => {
            let unwanted = shell::quote(text);
            let message = shell::quote(&format!("output without: {text}"));
            format!("unwanted={unwanted}\n[[ $actual != *\"$unwanted\"* ]] || fail {message}\n")
        }
        Expectation::Exit { code } => format!("[ \"$status\" -eq {code} ] || fail 'exit code {code}'\n"),
        Expectation::Fails => "case $status in 0 | 126 | 127) fail 'an exit code that is not 0, from the program itself' ;; esac\n".to_owned(),
    }
}

/// The whole output must be the expected text.
const WHOLE: &str = "[ \"$actual\" = \"$expected\" ] || fail \"$expected\"\n";

/// Whether an expectation is about the exit code.
fn ends(expectation: &Expectation) -> bool {
    matches!(expectation, Expectation::Exit { .. } | Expectation::Fails)
}

fn stream(expectation: &Expectation) -> Option<OutputStream> {
    match expectation {
        Expectation::Contains { stream, .. } | Expectation::Lacks { stream, .. } => Some(*stream),
        _ => None,
    }
}

/// The worlds in which the gate must pass and fail.
fn trial(brief: &Brief, check: &CommandCheck) -> Trial {
    let scene = |title: &str, reply: FakeReply| Scene::named(title).answer(brief, &check.command, reply);
    let right = right_reply(check);
    let Some(mut passing) = scene("the output is right", right.clone()) else { return Trial::Whole };
    let mut wrong: Vec<Scene> = Vec::new();
    for expectation in &check.expectations {
        if let Some((title, reply)) = wrong_reply(expectation, &right) {
            wrong.extend(scene(title, reply));
        }
    }
    for expectation in &check.expectations {
        if let Expectation::PrintsSource { source: Source::File { path, field } } = expectation {
            let text = sources::sample_file(path, field.as_deref(), sources::SAMPLE);
            passing = passing.file(path, &text);
            wrong = wrong.into_iter().map(|scene| scene.file(path, &text)).collect();
        }
    }
    if wrong.is_empty() { Trial::Whole } else { Trial::Scenes { right: passing, wrong } }
}

/// An answer that meets all expectations.
fn right_reply(check: &CommandCheck) -> FakeReply {
    let mut reply = FakeReply::default();
    let mut lines: Vec<String> = Vec::new();
    for expectation in &check.expectations {
        match expectation {
            Expectation::Prints { text } => lines.push(text.trim_end_matches('\n').to_owned()),
            Expectation::PrintsSource { source } => lines.push(sources::sample_value(source)),
            Expectation::Json { keys } => {
                let members: Vec<String> =
                    keys.iter().map(|key| format!("{}: []", serde_json::Value::from(key.as_str()))).collect();
                lines.push(format!("{{{}}}", members.join(", ")));
            }
            Expectation::Contains { text, stream: OutputStream::Stderr } => {
                reply.stderr = format!("{text}\n");
            }
            Expectation::Contains { text, .. } if !lines.iter().any(|line| line.contains(text)) => {
                lines.push(text.clone());
            }
            Expectation::Exit { code } => reply.exit = *code,
            Expectation::Fails => reply.exit = 1,
            _ => {}
        }
    }
    if !lines.is_empty() {
        reply.stdout = format!("{}\n", lines.join("\n"));
    }
    reply
}

/// The right answer, changed so that one expectation is not met.
fn wrong_reply(expectation: &Expectation, right: &FakeReply) -> Option<(&'static str, FakeReply)> {
    let prints = |stdout: String| FakeReply { stdout, ..right.clone() };
    Some(match expectation {
        Expectation::Prints { .. } | Expectation::PrintsSource { .. } => {
            ("the output is wrong", prints(format!("wrong {}", right.stdout)))
        }
        Expectation::Json { .. } => ("the output is not JSON", prints("no JSON\n".to_owned())),
        Expectation::Contains { .. } => (
            "the text is missing",
            FakeReply { stdout: String::new(), stderr: String::new(), exit: right.exit, args: None },
        ),
        Expectation::Lacks { text, stream } => {
            let both = format!("{}{text}\n", right.stdout);
            let reply = match stream {
                OutputStream::Stderr => FakeReply { stderr: format!("{text}\n"), ..right.clone() },
                _ => prints(both),
            };
            ("the unwanted text is there", reply)
        }
        Expectation::Exit { code } => {
            ("the exit code is wrong", FakeReply { exit: if *code == 0 { 1 } else { 0 }, ..right.clone() })
        }
        Expectation::Fails => ("it does not fail", FakeReply { exit: 0, ..right.clone() }),
        Expectation::Within { .. } if right.exit == 0 => {
            ("the command fails", FakeReply { exit: 1, ..right.clone() })
        }
        Expectation::Within { .. } | Expectation::PrintsFirstOf { .. } => return None,
    })
}
