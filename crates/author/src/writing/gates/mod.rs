//! Gates: one or more steps for each criterion, which look at what the work does and not at how it looks.
//!
//! A gate that a command can decide runs the command; everything else waits for a person.

mod command;
mod http;
mod named_tests;
mod scene;
mod sources;

pub(crate) use scene::{FakeReply, Scene, Trial, succeeding};

use super::{
    shell,
    step::{Role, StepDraft},
    text,
};
use crate::brief::{Brief, Check, Criterion};

/// How long a gate may take unless the criterion says so.
const GATE_TIMEOUT: &str = "10m";

/// How long tests, builds and linters may take.
pub(crate) const CHECK_TIMEOUT: &str = "30m";

/// The gates of a criterion, in order.
pub(crate) fn gates(brief: &Brief, criterion: &Criterion) -> Vec<StepDraft> {
    let id = format!("accept-{}", criterion.number);
    match &criterion.check {
        Check::Command(check) => command::gates(brief, criterion, check),
        Check::Http { .. } => vec![http::gate(criterion, &id)],
        Check::FileMentions { path, texts } => vec![mentions(criterion, &id, path, texts)],
        Check::FileLacks { path, texts } => vec![lacks(criterion, &id, path, texts)],
        Check::FileExists { path, exists } => vec![exists_gate(criterion, &id, path, *exists)],
        Check::TestsPass { command, found_in } | Check::Supporting { command, found_in, .. } => {
            vec![project_check(brief, criterion, &id, (command, found_in))]
        }
        Check::CoveredByTests => vec![named_tests::gate(brief, criterion, &id)],
        Check::Person => vec![person(brief, criterion, &id)],
    }
}

/// The checks of the project that no criterion names, for work that was done in several tracks.
pub(crate) fn joint(brief: &Brief) -> Vec<StepDraft> {
    let of_criteria = |command: &String| {
        brief.criteria.iter().any(|criterion| match &criterion.check {
            Check::TestsPass { command: known, .. } | Check::Supporting { command: known, .. } => {
                known == command
            }
            _ => false,
        })
    };
    let commands: Vec<String> =
        super::loops::checks(brief).into_iter().filter(|command| !of_criteria(command)).collect();
    let one = |(at, command): (usize, &String)| {
        let id = if at == 0 { "accept-together".to_owned() } else { format!("accept-together-{}", at + 1) };
        StepDraft::new(id, Role::Gate(scene::of_check(brief, command)), "The tracks work together")
            .yaml("timeout", CHECK_TIMEOUT)
            .body("command", &shell::inline(command))
    };
    commands.iter().enumerate().map(one).collect()
}

/// The words of a criterion as a description.
pub(crate) fn title(criterion: &Criterion) -> String {
    let words: Vec<&str> = criterion.text.split_whitespace().collect();
    words.join(" ").replace("{{", "{ {")
}

/// A gate that runs a script.
fn script(id: &str, criterion: &Criterion, trial: Trial, script: &str) -> StepDraft {
    StepDraft::new(id, Role::Gate(trial), &title(criterion))
        .yaml("timeout", GATE_TIMEOUT)
        .body("command", script)
}

/// A command of the project: its tests, its linter, its build.
fn project_check(brief: &Brief, criterion: &Criterion, id: &str, found: (&str, &str)) -> StepDraft {
    let (command, found_in) = found;
    let trial = scene::of_check(brief, command);
    let description = format!("{} (command from {found_in})", title(criterion));
    StepDraft::new(id, Role::Gate(trial), &description)
        .yaml("timeout", CHECK_TIMEOUT)
        .body("command", &shell::inline(command))
}

/// A file contains fixed texts.
fn mentions(criterion: &Criterion, id: &str, path: &str, texts: &[String]) -> StepDraft {
    let file = shell::quote(path);
    let mut command = String::new();
    for wanted in texts {
        let wanted = shell::quote(wanted);
        command.push_str(&format!(
            "grep -qF -e {wanted} -- {file} || {{ printf '%s does not mention: %s\\n' {file} {wanted} >&2; exit 1; }}\n"
        ));
    }
    let right = Scene::named("the file mentions it").file(path, &format!("{}\n", texts.join("\n")));
    let wrong = Scene::named("the file does not mention it").file(path, "nothing of the kind\n");
    script(id, criterion, Trial::Scenes { right, wrong: vec![wrong] }, &command)
        .lines("ensure:", &format!("- file: {}", text::quoted(path)))
}

/// A file is there and contains none of these texts.
fn lacks(criterion: &Criterion, id: &str, path: &str, texts: &[String]) -> StepDraft {
    let file = shell::quote(path);
    let mut command = format!("[ -f {file} ] || {{ printf '%s is missing\\n' {file} >&2; exit 1; }}\n");
    for unwanted in texts {
        let unwanted = shell::quote(unwanted);
        command.push_str(&format!(
            "if grep -qF -e {unwanted} -- {file}; then printf '%s still mentions: %s\\n' {file} {unwanted} >&2; exit 1; fi\n"
        ));
    }
    let right = Scene::named("the file does not mention it").file(path, "nothing of the kind\n");
    let wrong = Scene::named("the file still mentions it").file(path, &format!("{}\n", texts.join("\n")));
    script(id, criterion, Trial::Scenes { right, wrong: vec![wrong] }, &command)
}

/// A file exists, or is absent.
fn exists_gate(criterion: &Criterion, id: &str, path: &str, exists: bool) -> StepDraft {
    let file = shell::quote(path);
    let there = Scene::named("the file is there").file(path, "content\n");
    let absent = Scene::named("the file is absent").absent(path);
    let (test, problem, right, wrong) = match exists {
        true => ("-s", "is missing or empty", there, absent),
        false => ("! -e", "is still there", absent, there),
    };
    let command = format!("[ {test} {file} ] || {{ printf '%s {problem}\\n' {file} >&2; exit 1; }}\n");
    script(id, criterion, Trial::Scenes { right, wrong: vec![wrong] }, &command)
}

/// A question for a person, with everything that helps to decide.
fn person(brief: &Brief, criterion: &Criterion, id: &str) -> StepDraft {
    let question = format!("Is this criterion met?\n\n{}", brief_text(&criterion.text));
    let checks =
        brief.criteria.iter().filter(|other| other.check != Check::Person && other.number < criterion.number);
    let mut show =
        format!("- {{text: {}}}\n- \"{{{{whole_diff}}}}\"\n", text::quoted(&brief_text(&criterion.text)));
    for check in checks {
        show.push_str(&format!("- \"accept-{0}: {{{{accept-{0}}}}}\"\n", check.number));
    }
    show.push_str("- \"tests before the change: {{tests_before}}\"");
    StepDraft::new(id, Role::Gate(Trial::Person), "No command can check this: a person decides")
        .body("ask", &question)
        .lines("show:", &show)
}

/// A text of the spec in a place where templates are read.
pub(crate) fn brief_text(text: &str) -> String {
    super::prompts::literal(text)
}
