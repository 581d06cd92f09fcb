//! Smaller remarks: budgets, versions, texts that are still to be written, tests.

use recipe::{
    plan::{Budget, StepKind, Unit},
    shell::syntax::{ShellWord, WordPart},
    template::Template,
};

use super::{
    LintCode, LintSubject, Report,
    script::{CommandUse, ScriptView},
    view::{StepView, UnitView},
};
use crate::knowledge::authoring::has;

/// Looks at the steps of a recipe.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    for step in &view.steps {
        unpinned(view, step, report);
        placeholders(view, step, report);
    }
}

/// Looks at the main recipe as a whole.
pub(super) fn look_at_plan(subject: &LintSubject<'_>, views: &[UnitView<'_>], report: &mut Report<'_>) {
    let root: &Unit = subject.plan.root();
    let Some(place) = report.recipe_place(root, &["name"]) else { return };
    let has_agents = views.iter().flat_map(|view| &view.steps).any(|step| step.agent().is_some());
    if has_agents && root.budget == Budget::default() {
        let message = format!("the agents of `{}` have no budget", root.name);
        report.add(
            LintCode::NoBudget,
            place,
            message,
            "add `budget: {usd: 5}` or `budget: {agent_runs: 20}`",
        );
    }
    if (subject.has_tests)(&root.path) == Some(false) {
        let stem = root.path.rsplit('/').next().unwrap_or(&root.path);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let message = format!("`{}` has no tests", root.name);
        let help = format!("write `{stem}.test.yaml` beside it");
        report.add(LintCode::Untested, place, message, help);
    }
}

fn unpinned(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let own = step.script.iter().map(|script| (script, "command"));
    let rules = step.rules.iter().filter_map(|rule| Some((rule.script.as_ref()?, "ensure")));
    for (script, field) in own.chain(rules) {
        if let Some((what, help)) = first_unpinned(view, script) {
            let message = format!("`{}` {what}", step.step.id);
            report.at_field(LintCode::Unpinned, (step.step, field), message, help);
        }
    }
}

fn first_unpinned(view: &UnitView<'_>, script: &ScriptView) -> Option<(String, &'static str)> {
    let words = &view.words().programs;
    script.commands.iter().find_map(|command| {
        let written: Vec<String> = command.words.iter().map(ShellWord::text).collect();
        let program = written.first().map(String::as_str).unwrap_or_default();
        if let Some(package) = package(&written).filter(|_| has(&words.package_runners, program)) {
            let what = format!("runs whatever version of `{package}` is newest");
            return Some((what, "name a version: `npx tool@1.2.3`"));
        }
        if downloads_code(view, command) {
            let what = "runs code that it has just downloaded, without checking it".to_owned();
            return Some((what, "download it, compare its digest, then run it"));
        }
        let is_runner = has(&words.image_runners, program);
        let image = written.iter().find(|word| is_runner && word.ends_with(":latest"))?;
        Some((format!("uses the image `{image}`, which changes"), "name a version or a digest of the image"))
    })
}

/// The package without a version that a command runs.
fn package(words: &[String]) -> Option<&str> {
    if words.iter().any(|word| word == "--no-install" || word == "--no") {
        return None;
    }
    let mut rest = words[1..].iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let (name, is_given) = match word {
            "-p" | "--package" | "--from" => (rest.next()?, true),
            "run" => continue,
            _ if word.starts_with('-') => continue,
            _ => (word, true),
        };
        let version = name.get(1..).and_then(|rest| rest.split_once('@')).map(|(_, version)| version);
        let is_pinned = version.is_some_and(|version| version != "latest") || name.contains("==");
        let is_file = name.starts_with(['.', '/']) || name.contains("{{") || name.contains('$');
        return (is_given && !is_pinned && !is_file).then_some(name);
    }
    None
}

/// Whether a command pipes a download into an interpreter, or runs one in a substitution.
fn downloads_code(view: &UnitView<'_>, command: &CommandUse) -> bool {
    let words = &view.words().programs;
    let is_interpreter = |name: &str| {
        view.knowledge.is_shell(name)
            || view.knowledge.program(name).is_some_and(|program| program.code.is_some())
    };
    let pipes = has(&words.downloaders, &command.program)
        && command.feeds.as_deref().is_some_and(|next| is_interpreter(next) || next == "sudo");
    let substitutes = || {
        let parts = command.words.iter().flat_map(|word| &word.parts);
        parts.into_iter().any(|part| match part {
            WordPart::Commands { list, .. } => list.simple_commands().iter().any(|words| {
                words.first().is_some_and(|first| has(&view.words().programs.downloaders, &first.text()))
            }),
            _ => false,
        })
    };
    let first = command.words.first().map(ShellWord::text).unwrap_or_default();
    pipes || (is_interpreter(&first) && substitutes())
}

fn placeholders(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let of = |template: &Template| template.text().to_owned();
    let (field, text) = match &step.step.kind {
        StepKind::Shell { command } => ("command", of(command)),
        StepKind::Agent(agent) => ("prompt", of(&agent.prompt)),
        StepKind::Ask(ask) => ("ask", of(&ask.question)),
        StepKind::Nested { .. } => ("recipe", String::new()),
    };
    let described = step.step.description.clone().unwrap_or_default();
    let titled = step.step.title.clone().unwrap_or_default();
    for (field, text) in [(field, text), ("description", described), ("name", titled)] {
        if let Some(found) = placeholder(&text, &view.words().placeholders) {
            let message = format!("`{}` of `{}` is still to be written: `{found}`", field, step.step.id);
            report.at_field(
                LintCode::Placeholder,
                (step.step, field),
                message,
                "write the text, or remove the step",
            );
        }
    }
}

/// A line of a text that stands for something that is still to be written.
fn placeholder(text: &str, known: &[String]) -> Option<String> {
    if has(known, &text.trim().to_lowercase()) {
        return Some(text.trim().to_owned());
    }
    let line = text.lines().map(|line| {
        let line = line.trim_start().trim_start_matches(['#', '/', ' ']);
        let said = ["echo ", "printf "].iter().find_map(|word| line.strip_prefix(word));
        said.unwrap_or(line).trim_start_matches(['"', '\''])
    });
    let begins = |line: &&str| {
        known.iter().any(|word| {
            let word = word.to_uppercase();
            let rest = line.strip_prefix(word.as_str());
            let is_word = word.chars().all(|c| c.is_alphanumeric());
            is_word
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '(', '"', '\'']))
        })
    };
    line.into_iter().find(begins).map(super::checks::brief)
}
