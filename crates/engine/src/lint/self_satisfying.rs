//! Checks that the recipe itself satisfies: of a file or a value with fixed content, or of a word that a prompt dictates.

use std::collections::HashMap;

use recipe::{
    condition::Condition,
    plan::{EnsureRule, JsonMode},
    scope::{Path, Scope},
    shell::syntax::{self, CommandKind, CommandList, Joint, Pipeline, RedirectKind, ShellCommand, ShellWord},
    step_facts::StepFacts,
    template::Template,
    value::Value,
};

use super::{
    LintCode, Report,
    clauses::PromptClause,
    script::{CommandUse, ScriptView},
    view::{StepView, UnitView},
};
use crate::knowledge::authoring::has;

/// Looks at what the checks of a recipe look at.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    let hooks = hook_files(view);
    let mut earlier = Provided { files: hooks.clone(), ..Provided::default() };
    let mut has_agent = false;
    for step in &view.steps {
        has_agent |= step.agent().is_some();
        // without an agent, steps that print fixed text are what is checked
        let mut own = Provided { files: hooks.clone(), ..Provided::default() };
        own.take(view, step);
        earlier.take(view, step);
        let known = if has_agent { &earlier } else { &own };
        for rule in &step.step.ensure {
            let found = match rule {
                EnsureRule::File(path) => path.as_literal().and_then(|path| known.file_with(path, "")),
                EnsureRule::Condition(condition) => known.condition(condition),
                EnsureRule::Command(command) => {
                    syntax::parse(command.text()).and_then(|list| known.list(view, &list))
                }
                _ => None,
            };
            add(report, step, "ensure", found);
        }
        let found = step.script.as_ref().and_then(|script| known.list(view, &script.list));
        add(report, step, "command", found);
    }
}

fn add(report: &mut Report<'_>, step: &StepView<'_>, field: &str, found: Option<String>) {
    if let Some(what) = found {
        let message = format!("a check of `{}` proves nothing: {what}", step.step.id);
        let help = "check something that only the work itself can produce";
        report.at_field(LintCode::SelfSatisfying, (step.step, field), message, help);
    }
}

/// What the recipe provides itself.
#[derive(Default)]
struct Provided {
    /// Files with fixed content, and who writes them.
    files: Vec<FixedFile>,
    /// Values with fixed content, by their names.
    values: HashMap<String, String>,
    /// Words that prompts dictate, by the names of the answers.
    dictated: HashMap<String, Vec<String>>,
}

/// A file with fixed content.
#[derive(Clone)]
struct FixedFile {
    path: String,
    text: String,
    by: String,
}

impl Provided {
    /// Takes in what a step provides.
    fn take(&mut self, view: &UnitView<'_>, step: &StepView<'_>) {
        let by = format!("`{}`", step.step.id);
        if let Some(script) = &step.script {
            self.files.extend(fixed_files(script, &by));
        }
        let Some(name) = &step.step.store else { return };
        let writers = view.unit.steps.iter().filter(|other| other.store.as_ref() == Some(name)).count();
        // the value of a step that may be skipped says whether it ran
        let is_certain = writers == 1
            && step.step.condition.is_none()
            && step.step.depends_on.is_empty()
            && step.step.json == JsonMode::Text
            && step.step.looped.is_none();
        let fixed = step.script.as_ref().and_then(fixed_output).filter(|_| is_certain);
        self.values.extend(fixed.map(|text| (name.clone(), text)));
        if step.agent().is_some() && step.step.json == JsonMode::Text && !step.is_review {
            self.dictated.insert(name.clone(), dictated(&step.clauses, view));
        }
    }

    /// Why a check of a file for a text proves nothing.
    fn file_with(&self, path: &str, text: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == plain(path))?;
        let is_so = !file.text.trim().is_empty() && file.text.contains(text);
        is_so.then(|| format!("{} writes fixed text into `{}`", file.by, file.path))
    }

    /// Why a check that a file exists proves nothing.
    fn file(&self, path: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == plain(path))?;
        Some(format!("{} makes `{}`, whatever the result is", file.by, file.path))
    }

    fn condition(&self, condition: &Condition) -> Option<String> {
        let reads: Vec<Path> = condition.names().into_iter().map(|(path, _)| path).collect();
        let fixed = reads.iter().find(|path| self.values.contains_key(&path.root));
        if let Some(path) = fixed.filter(|_| condition.decide(&Fixed(self)) == Ok(Some(true))) {
            return Some(format!("`{}` always has the same fixed value", path.root));
        }
        let said = reads.iter().filter(|path| path.segments.is_empty());
        let mut said = said.filter_map(|path| self.dictated.get(&path.root));
        said.find_map(|words| {
            let word = condition.texts().into_iter().map(|(text, _)| text).find(|text| has(words, text))?;
            Some(format!("the prompt dictates `{word}`"))
        })
    }

    /// Why a check in a script proves nothing.
    fn list(&self, view: &UnitView<'_>, list: &CommandList) -> Option<String> {
        list.entries.iter().flat_map(deciding).find_map(|pipeline| self.pipeline(view, pipeline))
    }

    fn pipeline(&self, view: &UnitView<'_>, pipeline: &Pipeline) -> Option<String> {
        let last = pipeline.commands.last().filter(|_| !pipeline.is_negated)?;
        let words = words_of(last)?;
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let inner: &[&str] = match texts.as_slice() {
            ["test", inner @ ..] | ["[", inner @ .., "]"] | ["[[", inner @ .., "]]"] => inner,
            [program, rest @ ..] if has(&view.words().programs.searchers, program) && *program != "git" => {
                return self.search(pipeline, last, rest);
            }
            _ => return None,
        };
        match inner {
            ["-f" | "-e" | "-r", path] => self.file(path),
            ["-s", path] => self.file_with(path, ""),
            [left, "=" | "==", right] => self.equal(left, right).or_else(|| self.equal(right, left)),
            _ => None,
        }
    }

    /// Why a comparison of a value with a text proves nothing.
    fn equal(&self, value: &str, text: &str) -> Option<String> {
        let name = only_name(value)?;
        if self.values.get(&name).is_some_and(|fixed| fixed == text) {
            return Some(format!("`{name}` always has the same fixed value"));
        }
        let words = self.dictated.get(&name).filter(|words| has(words, text))?;
        Some(format!("the prompt dictates `{}`", words.iter().find(|word| *word == text)?))
    }

    /// Why a search for a text proves nothing: in a file, or in a value that another command prints.
    fn search(&self, pipeline: &Pipeline, search: &ShellCommand, words: &[&str]) -> Option<String> {
        let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let is_inverted = words.iter().any(|word| word.starts_with("-v") || *word == "--invert-match");
        if is_inverted {
            return None;
        }
        if let [pattern, path] = operands[..] {
            return self.file_with(path, pattern);
        }
        let [pattern] = operands[..] else { return None };
        let given = search.redirects.iter().find(|redirect| redirect.kind == RedirectKind::Text);
        let printed = || {
            let [printer, _] = pipeline.commands.as_slice() else { return None };
            let words = words_of(printer)?;
            (words.len() == 2 && matches!(words[0].as_str(), "echo" | "printf")).then(|| words[1].clone())
        };
        let text = given.map(|redirect| redirect.target.text()).or_else(printed)?;
        let name = only_name(&text)?;
        if self.values.get(&name).is_some_and(|fixed| fixed.contains(pattern)) {
            return Some(format!("`{name}` always has the same fixed value"));
        }
        let words = self.dictated.get(&name)?;
        let word = words.iter().find(|word| word.as_str() == pattern)?;
        Some(format!("the prompt dictates `{word}`"))
    }
}

/// The scope in which only fixed values are known.
struct Fixed<'a>(&'a Provided);

impl Scope for Fixed<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.0.values.get(name).map(|text| Value::from(text.as_str()))
    }

    fn is_known(&self, path: &Path) -> bool {
        self.0.values.contains_key(&path.root)
    }

    fn step(&self, _id: &str, _instance: Option<i64>) -> Option<StepFacts> {
        None
    }
}

/// The pipelines of an entry whose failure fails the entry, or leads to what is after `||`.
fn deciding(entry: &syntax::ListEntry) -> Vec<&Pipeline> {
    let all_and = entry.rest.iter().all(|(joint, _)| *joint == Joint::And);
    match entry.rest.first() {
        None => vec![&entry.first],
        Some((Joint::Or, _)) => vec![&entry.first],
        Some(_) if all_and => entry.rest.last().map(|(_, last)| last).into_iter().collect(),
        Some(_) => Vec::new(),
    }
}

fn words_of(command: &ShellCommand) -> Option<Vec<String>> {
    match &command.kind {
        CommandKind::Simple { words, .. } => Some(words.iter().map(ShellWord::text).collect()),
        _ => None,
    }
}

/// The name in a text that is nothing but `{{name}}`.
fn only_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("{{")?.strip_suffix("}}")?;
    (!name.contains(['{', '}', '.', '['])).then(|| name.to_owned())
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// The files with fixed content that the hooks around every step write.
fn hook_files(view: &UnitView<'_>) -> Vec<FixedFile> {
    let hooks = &view.unit.hooks;
    let all: [&Option<Template>; 2] = [&hooks.pre_step, &hooks.post_step];
    let scripts =
        all.into_iter().flatten().filter_map(|hook| ScriptView::read(hook.text(), false, view.knowledge));
    scripts.flat_map(|script| fixed_files(&script, "a hook")).collect()
}

/// The files that a script fills with fixed text before it does anything that could fail for a reason.
fn fixed_files(script: &ScriptView, by: &str) -> Vec<FixedFile> {
    let first = script.commands.iter().take_while(|command| command.is_no_check);
    let mut files = Vec::new();
    for (at, command) in first.enumerate() {
        let Some(text) = fixed_text(command) else { continue };
        let file = |path: String, text: &str| FixedFile {
            path: plain(&path).to_owned(),
            text: text.to_owned(),
            by: by.to_owned(),
        };
        let targets = command.redirects.iter().filter(|one| one.kind == RedirectKind::Write);
        let paths = targets.filter(|one| is_fixed(&one.target)).map(|one| one.target.text());
        files.extend(paths.filter(|path| !path.starts_with("/dev/")).map(|path| file(path, &text)));
        if command.program == "touch" {
            files.extend(
                command.texts[1..]
                    .iter()
                    .filter(|word| !word.starts_with('-'))
                    .map(|path| file(path.clone(), "")),
            );
        }
        if command.feeds.as_deref() == Some("tee") {
            let tee = script.commands.get(at + 1).map(|tee| tee.texts.iter().skip(1)).into_iter().flatten();
            files.extend(tee.filter(|word| !word.starts_with('-')).map(|path| file(path.clone(), &text)));
        }
    }
    files
}

/// The text that a command always prints, if it is fixed.
fn fixed_text(command: &CommandUse) -> Option<String> {
    let is_plain = command.words.iter().all(is_fixed);
    let text = command.texts[1..].iter().filter(|word| *word != "-n" && *word != "-e");
    match command.program.as_str() {
        "echo" | "printf" if is_plain => Some(text.map(String::as_str).collect::<Vec<_>>().join(" ")),
        "touch" if is_plain => Some(String::new()),
        "cat" if command.words.len() == 1 => {
            let given = command.redirects.iter().find(|one| one.kind == RedirectKind::Text)?;
            let text = given.target.text();
            (!text.contains("{{") && !text.contains('$') && !text.contains('`')).then_some(text)
        }
        _ => None,
    }
}

fn is_fixed(word: &ShellWord) -> bool {
    word.is_literal() && !word.text().contains("{{")
}

/// The output of a script that always prints the same.
fn fixed_output(script: &ScriptView) -> Option<String> {
    let [command] = script.commands.as_slice() else { return None };
    let is_alone = script.list.entries.len() == 1 && command.redirects.is_empty() && command.feeds.is_none();
    fixed_text(command).filter(|_| is_alone && matches!(command.program.as_str(), "echo" | "printf"))
}

/// The words that a prompt dictates: in quotation marks, or in capital letters.
fn dictated(clauses: &[PromptClause], view: &UnitView<'_>) -> Vec<String> {
    let words = view.words();
    let dictates = |clause: &&PromptClause| {
        !clause.is_negated && !clause.has_choice && clause.starts_with(&words.dictation)
    };
    clauses.iter().filter(dictates).flat_map(|clause| marked(&clause.text)).collect()
}

fn marked(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for quote in ['`', '"', '\''] {
        found.extend(text.split(quote).skip(1).step_by(2).map(str::to_owned));
    }
    let is_capital =
        |word: &&str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '-');
    let words = text.split(|c: char| c.is_whitespace() || ".,:;!()\"'`".contains(c));
    found.extend(words.filter(is_capital).map(str::to_owned));
    found
}
