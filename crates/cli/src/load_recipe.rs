//! From the command line to a checked recipe: finds it, reads the given values, checks everything.
//!
//! Never runs anything, and never writes; problems are returned.

use std::path::Path;

use recipe::{
    check::{Checked, LoadError, Loaded, Loader, check},
    diagnostic::{Diagnostic, did_you_mean},
    plan::Plan,
    source::Sources,
    value::Value,
    yaml::{Entry, Node, NodeKind},
};
use runtime::{
    machine::{agent_fit, discovery::Library, local::Allowance},
    requests::{AgentChoice, Inputs},
    store::secrets::Mask,
};

use crate::{
    args::{
        options::{Context, Places, Strictness},
        similar_verb,
    },
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{
        diagnostics::{self, Look},
        failure::Failure,
        github::Workflow,
        hints::plain,
    },
    settings::{self, SettingsError},
};

/// The most files of a directory to compare with a name.
const MOST_FILES: usize = 2_000;

/// The recipes that can be found from the current directory.
pub(crate) fn library(places: &Places, environment: &Environment) -> Library {
    let working_dir = places.working_dir.as_deref().map(|dir| environment.absolute(dir));
    let cwd = || environment.machine.cwd.clone();
    environment.machine.library(&places.recipe_dirs, &working_dir.unwrap_or_else(cwd))
}

/// Says how to run a recipe that has the name of a command.
pub(crate) fn note_namesake(verb: &str, library: &Library, out: &mut Out) {
    if library.root(verb).is_ok() {
        let run = plain(&format!("run {verb}"));
        out.notice(&format!("note: a recipe is called `{verb}` too; `{run}` runs it"));
    }
}

/// The requested recipe.
pub(crate) fn find(library: &Library, asked: &str) -> Result<Loaded, Failure> {
    library.root(asked).map_err(|error| not_found(library, asked, error))
}

/// Why the requested recipe cannot be found.
pub(crate) fn not_found(library: &Library, asked: &str, error: LoadError) -> Failure {
    let searched = match error {
        LoadError::Unreadable { path, reason } => {
            return Failure::new(
                Exit::NotFound,
                format!("recipe `{asked}` cannot be read: {path}: {reason}"),
            );
        }
        LoadError::NotFound { searched } => searched,
    };
    let mut failure = Failure::new(Exit::NotFound, format!("recipe `{asked}` not found"));
    if library.absolute(asked).is_dir() && !asked.is_empty() {
        failure = failure.hint("that is a directory; name a file in it, or add it with `-R`");
    }
    let names = library.recipe_names();
    let wanted = asked.trim_end_matches(".yaml").trim_end_matches(".yml");
    if asked == "last" {
        failure = failure.hint(format!(
            "`last` is the newest run: did you mean `{}` or `{}`?",
            plain("resume last"),
            plain("show last")
        ));
    } else if let Some(file) = similar_file(&library.absolute(asked)) {
        let file = Path::new(asked).with_file_name(file);
        failure = failure.hint(format!("did you mean the file `{}`?", file.display()));
    } else if let Some(meant) = did_you_mean(wanted, names.iter().map(String::as_str)) {
        failure = failure.hint(format!("did you mean `{meant}`?"));
    } else if let Some(verb) = similar_verb(asked) {
        failure = failure.hint(format!("did you mean the command `{verb}`?"));
    }
    let places: Vec<String> = searched.iter().map(|place| format!("\n    {place}")).collect();
    failure
        .hint(format!("looked in:{}", places.concat()))
        .hint(format!("`{}` shows all recipes; `-R DIR` adds a directory", plain("list")))
}

/// The recipe file in the same directory with the most similar name.
fn similar_file(path: &Path) -> Option<String> {
    let is_recipe = |name: &str| name.ends_with(".yaml") || name.ends_with(".yml");
    let asked = path.file_name()?.to_str().filter(|name| is_recipe(name))?;
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    let files: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_recipe(name))
        .take(MOST_FILES)
        .collect();
    let stems: Vec<String> = files.iter().map(|name| stem(name)).collect();
    let wanted = stem(asked);
    let meant = did_you_mean(&wanted, stems.iter().map(String::as_str)).map(str::to_owned);
    // a short name may be the beginning of the right one
    let begins = || stems.iter().filter(|stem| stem.starts_with(&wanted)).min().cloned();
    let meant = meant.or_else(begins).or_else(|| stems.iter().find(|stem| **stem == wanted).cloned())?;
    files.into_iter().filter(|name| stem(name) == meant).min()
}

/// The given values of the command line.
pub(crate) fn inputs(context: &Context, environment: &Environment) -> Result<Inputs, Failure> {
    settings::read(context, environment).map_err(|error| {
        let failure = Failure::new(Exit::BadArguments, error.to_string());
        match error {
            SettingsError::NotAnAssignment(_) => failure.hint("write it like `--set branch=main`"),
            SettingsError::NotAFile(_) => failure.hint("write it like `--set-file token=token.txt`"),
            SettingsError::Unreadable { .. } | SettingsError::NoText { .. } | SettingsError::Nul(_) => {
                failure
            }
        }
    })
}

/// Checks a recipe and everything that it names.
pub(crate) fn examine(
    loader: &dyn Loader,
    loaded: Loaded,
    inputs: &Inputs,
    tags: Vec<String>,
    strictness: &Strictness,
) -> Checked {
    let checked = check(loaded, loader, &inputs.given(tags));
    if strictness.strict { checked.strict() } else { checked }
}

/// The same, with the problems that its agent steps have with their programs here.
pub(crate) fn fitted(
    checked: Checked,
    choice: &AgentChoice,
    places: &Places,
    environment: &Environment,
) -> Checked {
    let dir = places.working_dir.as_deref().map(|dir| environment.absolute(dir));
    let dir = dir.unwrap_or_else(|| environment.machine.cwd.clone());
    match environment.machine.agents(choice, Allowance::default(), &dir) {
        Ok(settings) => agent_fit::fitted(checked, &settings),
        // a recipe is valid or not without them
        Err(_) => checked,
    }
}

/// Writes the problems of a recipe to stderr.
pub(crate) fn report(checked: &Checked, environment: &Environment, out: &mut Out) {
    report_problems(&checked.diagnostics, &checked.sources, environment, out);
}

/// Writes problems of files to stderr.
pub(crate) fn report_problems(
    problems: &[Diagnostic],
    sources: &Sources,
    environment: &Environment,
    out: &mut Out,
) {
    if problems.is_empty() {
        return;
    }
    let text = diagnostics::report(problems, sources, look(environment));
    let secrets = secrets_in(sources);
    out.notice_if_any(&secrets.text(&text));
    let workflow = Workflow::around(environment);
    for line in workflow.iter().flat_map(|workflow| workflow.problems(problems, sources)) {
        out.notice(&secrets.text(&line));
    }
}

/// The secrets in the lines that problems point at, even if the rest of a recipe is broken.
pub(crate) fn secrets_in(sources: &Sources) -> Mask {
    let roots = sources.iter().filter_map(|(file, _)| recipe::yaml::parse_with_duplicates(sources, file));
    let roots: Vec<Node> = roots.collect();
    let declared = roots.iter().filter_map(|root| Some(root.get("secrets")?.value.to_value()));
    let names = declared.flat_map(|value| match value {
        Value::List(names) => names.iter().map(|name| name.render().into_owned()).collect(),
        _ => Vec::new(),
    });
    let inputs = roots.iter().flat_map(secret_inputs).collect::<Vec<_>>();
    let mut mask = Mask::new(names.chain(inputs.iter().map(|(name, _)| name.clone())));
    inputs.iter().for_each(|(name, default)| mask.learn_value(name, default));
    roots.iter().for_each(|root| learn_values(root, &mut mask));
    mask
}

/// The inputs of a recipe that are secret, with their defaults.
fn secret_inputs(root: &Node) -> Vec<(String, Value)> {
    let Some(Value::List(inputs)) = root.get("inputs").map(|inputs| inputs.value.to_value()) else {
        return Vec::new();
    };
    let field = |input: &Value, name: &str| match input {
        Value::Map(fields) => fields.get(name).cloned().unwrap_or_default(),
        _ => Value::Null,
    };
    let named = |input: &Value| (field(input, "name").render().into_owned(), field(input, "default"));
    let is_secret = |input: &&Value| {
        field(input, "type").render() == "secret" || Mask::default().is_secret(&field(input, "name").render())
    };
    inputs.iter().filter(is_secret).map(named).collect()
}

/// Learns the secrets in every `context` and `env` of a recipe.
fn learn_values(node: &Node, mask: &mut Mask) {
    match &node.kind {
        NodeKind::Map(entries) => entries.iter().for_each(|Entry { key, value }| match key.text.as_str() {
            "context" | "env" => learn_members(value, "", mask),
            _ => learn_values(value, mask),
        }),
        NodeKind::List(items) => items.iter().for_each(|item| learn_values(item, mask)),
        NodeKind::Scalar(_) => {}
    }
}

/// Learns the secrets in a value; `name` is its path, with dots.
fn learn_members(node: &Node, name: &str, mask: &mut Mask) {
    match &node.kind {
        NodeKind::Map(entries) => entries.iter().for_each(|Entry { key, value }| match name {
            "" => learn_members(value, &key.text, mask),
            name if mask.is_secret(name) => learn_members(value, name, mask),
            name => learn_members(value, &format!("{name}.{}", key.text), mask),
        }),
        NodeKind::List(items) => items.iter().for_each(|item| learn_members(item, name, mask)),
        NodeKind::Scalar(scalar) => mask.learn_value(name, &scalar.to_value()),
    }
}

/// The plan of a valid recipe; otherwise the result of the check.
pub(crate) fn accept(checked: Checked) -> Result<Plan, Checked> {
    match checked {
        Checked { plan: Some(plan), .. } => Ok(plan),
        refused => Err(refused),
    }
}

/// The look of problems on stderr.
pub(crate) fn look(environment: &Environment) -> Look {
    Look { colour: environment.stderr_colour, width: environment.width }
}

/// The name in a recipe, even if the rest of it is broken; otherwise the name of its file.
pub(crate) fn name_of(sources: &Sources, asked: &str) -> String {
    let stem = Path::new(asked).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let Some((file, _)) = sources.iter().next() else { return stem };
    let root = recipe::yaml::parse(sources, file, &mut Vec::new());
    let name = root.and_then(|root| Some(root.get("name")?.value.to_value().render().into_owned()));
    name.filter(|name| !name.is_empty()).unwrap_or(stem)
}

/// The message if no recipe was named.
pub(crate) fn nothing_asked(usage: &str) -> Failure {
    Failure::new(Exit::BadArguments, "no recipe given")
        .hint(format!("usage: {}", plain(usage)))
        .hint(format!("`{}` shows recipes, `{}` all commands", plain("list"), plain("--help")))
}
