//! Environment variables that commands use and nothing declares.

use std::collections::{BTreeSet, HashSet};

use recipe::{
    env_name,
    plan::Step,
    shell::syntax::{CommandKind, CommandList, ShellCommand, ShellWord, SyntaxNode, WordPart},
};

use super::{LintCode, Report, view::UnitView};

/// Looks at the variables of a recipe's commands.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    let declared = declared(view);
    for step in &view.steps {
        let Some(script) = &step.script else { continue };
        if defines_unseen(&script.list) {
            continue;
        }
        let own = assigned(&script.list);
        let is_known = |name: &str| own.contains(name) || declared.knows(view, step.step, name);
        if let Some(name) = used(&script.list).into_iter().find(|name| !is_known(name)) {
            let message = format!("`{}` uses `${name}`, which nothing declares", step.step.id);
            let help = format!("add `{name}` to `env.required`, or write `${{{name}:-default}}`");
            report.at_field(LintCode::UndeclaredEnv, (step.step, "command"), message, help);
        }
    }
}

/// The names that a recipe declares.
struct Declared {
    names: HashSet<String>,
    /// Values whose members are exported with their name before theirs.
    prefixes: Vec<String>,
}

impl Declared {
    fn knows(&self, view: &UnitView<'_>, step: &Step, name: &str) -> bool {
        let is_usual = |known: &String| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => known == name,
        };
        let is_local = |known: &&str| env_name::alias(known).as_deref() == Some(name);
        let locals = step.looped.as_ref().map(|looped| looped.names()).unwrap_or_default();
        self.names.contains(name)
            || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
            || step.env.iter().any(|(known, _)| known == name)
            || locals.iter().any(is_local)
            || view.words().variables.iter().any(is_usual)
            || env_name::is_protected(name)
    }
}

/// The names that the recipe and those around it declare: variables, and values that are exported.
fn declared(view: &UnitView<'_>) -> Declared {
    let mut declared = Declared { names: HashSet::new(), prefixes: Vec::new() };
    for unit in &view.plan.units {
        declared.names.extend(unit.env.required.iter().cloned());
        declared.names.extend(unit.env.set.iter().map(|(name, _)| name.clone()));
        let names = unit.names.iter().chain(unit.expected()).filter_map(|name| env_name::alias(name));
        for name in names {
            declared.prefixes.push(format!("{name}_"));
            declared.names.insert(name);
        }
        let loops =
            unit.steps.iter().filter_map(|step| step.looped.as_ref()).flat_map(|looped| looped.names());
        declared.names.extend(loops.filter_map(env_name::alias));
    }
    declared
}

/// Whether a script may define names that it does not show.
fn defines_unseen(list: &CommandList) -> bool {
    list.simple_commands().iter().any(|words| {
        let first = words.first().map(ShellWord::text).unwrap_or_default();
        matches!(first.as_str(), "source" | "." | "eval" | "getopts" | "select" | "let")
            || words.iter().any(|word| word.text() == "-v" && first == "printf")
    })
}

/// The names that a script gives a value.
fn assigned(list: &CommandList) -> HashSet<String> {
    let mut names = HashSet::new();
    list.visit(&mut |command: &ShellCommand| match &command.kind {
        CommandKind::For { variable, words, .. } => {
            names.insert(variable.clone());
            // `for ((i = 0; …))`
            words
                .iter()
                .filter(|_| variable.is_empty())
                .for_each(|word| names.extend(identifiers(&word.text())));
        }
        CommandKind::Simple { assignments, words } => {
            let plain = |name: &str| name.split(['[', '+']).next().unwrap_or_default().to_owned();
            names.extend(assignments.iter().map(|assignment| plain(&assignment.name)));
            let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
            let takes_names = texts.first().is_some_and(|first| {
                let readers =
                    ["read", "mapfile", "readarray", "declare", "local", "export", "readonly", "typeset"];
                readers.contains(&first.as_str()) || first == "(("
            });
            if takes_names {
                let given = texts[1..].iter().map(|word| word.split('=').next().unwrap_or_default());
                given.for_each(|word| names.extend(identifiers(word)));
            }
        }
        _ => {}
    });
    names
}

fn identifiers(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    parts.filter(is_name).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// The names that a script needs: those without a default.
fn used(list: &CommandList) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    list.visit(&mut |command: &ShellCommand| {
        for part in command.words().into_iter().flat_map(|word| &word.parts) {
            if let WordPart::Expansion(text) = part {
                names.extend(needed(text));
            }
        }
    });
    // a script can test whether a name has a value
    let tested = |name: &String| {
        let nodes = list.nodes();
        nodes.iter().any(|node| match node {
            SyntaxNode::Expansion(text) => is_test(text, name),
            _ => false,
        })
    };
    names.into_iter().filter(|name| !tested(name)).collect()
}

/// Whether an expansion of a name works without a value: `${NAME:-x}`, `${NAME+x}`.
fn is_test(text: &str, name: &str) -> bool {
    let rest = text.strip_prefix("${").and_then(|inner| inner.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with([':', '-', '+', '=', '?']))
}

/// The name that an expansion needs.
fn needed(text: &str) -> Option<String> {
    if text.starts_with("$((") || text.contains("{{") {
        return None;
    }
    let inner = text.strip_prefix('$')?;
    let inner = inner.strip_prefix('{').map_or(inner, |inner| inner.trim_end_matches('}'));
    let name: String = inner.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let rest = &inner[name.len()..];
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name != "_";
    (is_name && !rest.starts_with([':', '-', '+', '=', '?'])).then_some(name)
}
