//! Secrets in texts and in arguments. Never repeats one in a message.

use recipe::{
    env_name,
    plan::StepKind,
    secret_name::looks_secret,
    shell::syntax::{CommandKind, ShellWord, WordPart},
    source::Place,
    yaml::{Entry, Node, NodeKind},
};

use super::{
    LintCode, Report,
    script::ScriptView,
    view::{StepView, UnitView},
};
use crate::knowledge::authoring::AuthoringWords;

/// The shortest text that counts as a credential because of its name.
const SHORTEST: usize = 8;

/// Looks at the texts and commands of a recipe.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    let files: Vec<_> = view.unit.steps.iter().map(|step| step.place.file).collect();
    let own = report.places.file_of(view.unit);
    let mut files: Vec<_> = own.into_iter().chain(files).collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        let Some(root) = report.places.file(file) else { continue };
        let mut found = Vec::new();
        texts(root, "", view.words(), &mut found);
        for (place, what) in found {
            let help = "remove it, and make it invalid where it was issued; declare a `secret` input instead";
            report.add(LintCode::SecretInRecipe, place, format!("the recipe contains {what}"), help);
        }
    }
    for step in &view.steps {
        arguments(view, step, report);
    }
}

/// Finds credentials in a tree; `key` is the name of the field around it.
fn texts(node: &Node, key: &str, words: &AuthoringWords, found: &mut Vec<(Place, String)>) {
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            if let Some(what) = credential(&scalar.text, words) {
                found.push((node.place, what));
            } else if looks_secret(key) && is_value(&scalar.text, words) {
                found.push((node.place, format!("a value for `{key}`")));
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| texts(item, "", words, found)),
        NodeKind::Map(entries) => {
            let is_values = matches!(key, "context" | "sub_context" | "env" | "set");
            let secret_input = node.get("default").filter(|_| is_secret_input(node));
            for Entry { key: name, value } in entries {
                let is_default = secret_input.is_some_and(|entry| entry.key.place == name.place);
                let inner = match name.text.as_str() {
                    "context" | "sub_context" | "env" | "set" => name.text.as_str(),
                    _ if is_default => "secret",
                    other if is_values => other,
                    _ => "",
                };
                texts(value, inner, words, found);
            }
        }
    }
}

/// Whether a map is an input whose value is secret.
fn is_secret_input(node: &Node) -> bool {
    let text = |name: &str| node.get(name).map(|entry| entry.value.to_value().render().into_owned());
    let is_named = text("name").is_some_and(|name| looks_secret(&name));
    text("name").is_some() && (is_named || text("type").as_deref() == Some("secret"))
}

/// A credential with a well-known look in a text.
fn credential(text: &str, words: &AuthoringWords) -> Option<String> {
    let lower = text.to_lowercase();
    if lower.contains("-----begin")
        && words.secrets.private_keys.iter().any(|key| lower.contains(key.as_str()))
    {
        return Some("a private key".to_owned());
    }
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for token in text.split(|c: char| !is_inside(c)) {
        let shape = words.secrets.credentials.iter().find(|shape| {
            let rest = shape.begins.iter().find_map(|start| token.strip_prefix(start.as_str()));
            rest.is_some_and(|rest| rest.len() >= shape.letters && rest.chars().any(|c| c.is_ascii_digit()))
        });
        if let Some(shape) = shape.filter(|_| !is_example(token, words)) {
            return Some(shape.what.clone());
        }
    }
    password_in_address(text, words).then(|| "an address with a password".to_owned())
}

/// Whether a text has an address like `scheme://user:password@host`.
fn password_in_address(text: &str, words: &AuthoringWords) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let rest = &text[at + 3..];
        let end = rest.find(|c: char| c.is_whitespace() || "/\"'`<>".contains(c)).unwrap_or(rest.len());
        let Some((login, _)) = rest[..end].split_once('@') else { return false };
        let Some((user, password)) = login.split_once(':') else { return false };
        let is_word =
            ["password", "pass", "passwd", "secret", "postgres", "root", "user"].contains(&password);
        !password.is_empty()
            && password != user
            && !is_word
            && !password.contains(['$', '{', '%'])
            && !is_example(password, words)
    })
}

/// Whether a text is a value itself, and not a reference, an example or a path.
fn is_value(text: &str, words: &AuthoringWords) -> bool {
    let text = text.trim();
    let is_reference = text.contains("{{") || text.contains('$') || text.contains("://");
    let is_path = text.starts_with(['/', '~', '.']) || text.contains("/");
    let is_number = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.len() >= SHORTEST
        && !text.contains(char::is_whitespace)
        && !is_reference
        && !is_path
        && !is_number
        && !is_example(text, words)
}

fn is_example(text: &str, words: &AuthoringWords) -> bool {
    let lower = text.to_lowercase();
    words.examples.iter().any(|word| lower.contains(word.as_str()))
}

/// Secrets in the arguments of programs.
fn arguments(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let own = step.script.iter().map(|script| (script, "command"));
    let rules = step.rules.iter().filter_map(|rule| Some((rule.script.as_ref()?, "ensure")));
    for (script, field) in own.chain(rules) {
        if let Some((name, program)) = in_script(view, script) {
            let message =
                format!("`{}` passes the secret `{name}` to `{program}` as an argument", step.step.id);
            let help = "pass it in the environment, in a file, or on standard input";
            report.at_field(LintCode::SecretInArgument, (step.step, field), message, help);
        }
    }
    if let StepKind::Agent(agent) = &step.step.kind {
        let mut names = agent.args.iter().flat_map(|argument| argument.names());
        if let Some((path, _)) = names.find(|(path, _)| is_secret(view, &path.root)) {
            let message =
                format!("`{}` passes the secret `{path}` to its agent as an argument", step.step.id);
            let help = "pass it in the environment: `env: {NAME: \"{{value}}\"}`";
            report.at_field(LintCode::SecretInArgument, (step.step, "agent_args"), message, help);
        }
    }
}

fn in_script(view: &UnitView<'_>, script: &ScriptView) -> Option<(String, String)> {
    let mut functions = Vec::new();
    script.list.visit(&mut |command| {
        if let CommandKind::Function { name, .. } = &command.kind {
            functions.push(name.clone());
        }
    });
    let starts_nothing =
        |program: &str| view.knowledge.is_bash_word(program) || functions.iter().any(|name| name == program);
    let mut commands = script.commands.iter().filter(|command| !starts_nothing(&command.program));
    commands.find_map(|command| {
        let name = command.words.iter().skip(1).find_map(|word| secret_in(view, word))?;
        Some((name, command.program.clone()))
    })
}

/// The secret that a word contains.
fn secret_in(view: &UnitView<'_>, word: &ShellWord) -> Option<String> {
    word.parts.iter().find_map(|part| match part {
        WordPart::Expansion(text) => variable(text).filter(|name| is_secret_variable(view, name)),
        WordPart::Text(text) => templates(text).into_iter().find(|name| is_secret(view, name)),
        WordPart::Commands { .. } => None,
    })
}

/// The variable whose value an expansion gives.
fn variable(text: &str) -> Option<String> {
    let inner = text.strip_prefix('$')?;
    let inner = inner.strip_prefix('{').unwrap_or(inner);
    let name: String = inner.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let rest = &inner[name.len()..];
    (!name.is_empty() && !rest.starts_with('+') && !rest.starts_with(":+")).then_some(name)
}

fn templates(text: &str) -> Vec<String> {
    let holes = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    holes.map(|(name, _)| name.trim().split(['.', '[']).next().unwrap_or_default().to_owned()).collect()
}

fn is_secret(view: &UnitView<'_>, name: &str) -> bool {
    let unit = view.unit;
    let is_input = unit.inputs.iter().any(|input| input.name == name && input.is_secret());
    looks_secret(name) || is_input || unit.secrets.iter().any(|known| known == name)
}

fn is_secret_variable(view: &UnitView<'_>, name: &str) -> bool {
    let unit = view.unit;
    let inputs = unit.inputs.iter().filter(|input| input.is_secret()).map(|input| &input.name);
    let is_it = |known: &String| {
        [env_name::alias(known), env_name::variable(known)].iter().flatten().any(|one| one == name)
    };
    looks_secret(name) || unit.secrets.iter().chain(inputs).any(is_it)
}
