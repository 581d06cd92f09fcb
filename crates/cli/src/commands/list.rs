//! `list`: the recipes that can be run by name, and those that another one hides.
//!
//! Never hides a broken file: it is shown with its problem.

use anstyle::{AnsiColor, Style};
use recipe::check::{Given, check};
use runtime::{
    machine::discovery::{FoundRecipe, Library},
    report::inputs::InputReport,
};
use serde_json::{Value as Json, json};

use crate::{
    args::{ListArgs, options::OutputFormat},
    commands::explain,
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{failure::clean, inputs},
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const YELLOW: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

/// The hint about where a user's own recipes go.
const YOURS: &str = "\
Your own recipes: put them into `recipes` in your project, or into a directory
that you name with `-R DIR`. `NAME` also runs `./NAME.yaml`; a file is run by
its path.";

/// Lists all recipes.
pub(crate) fn list(args: &ListArgs, environment: &Environment, out: &mut Out) -> Exit {
    let library = load_recipe::library(&args.places, environment);
    let found = library.list();
    match args.format.output_format {
        OutputFormat::Json => {
            let recipe = |recipe| match args.inputs {
                true => with_inputs(as_json(recipe), &library, recipe),
                false => as_json(recipe),
            };
            out.json(&found.iter().map(recipe).collect::<Vec<_>>());
        }
        OutputFormat::Text => {
            for recipe in &found {
                let mut text = as_text(recipe);
                let inputs = args.inputs.then(|| inputs_of(&library, recipe)).flatten();
                for input in inputs.iter().flatten() {
                    text.push_str(&format!("    {}\n", inputs::line(input)));
                }
                out.result(&text);
            }
            out.notice(&match found.iter().all(|recipe| recipe.is_built_in) {
                true => nothing_else(&library),
                false => YOURS.to_owned(),
            });
        }
    }
    Exit::Success
}

/// The inputs of a recipe; `None` if the recipe is invalid.
fn inputs_of(library: &Library, found: &FoundRecipe) -> Option<Vec<InputReport>> {
    let loaded = library.load_listed(found).ok()?;
    let plan = check(loaded, library, &Given::default()).plan?;
    Some(runtime::report::inputs::inputs(plan.root(), &explain::secrets(&plan)))
}

fn with_inputs(mut recipe: Json, library: &Library, found: &FoundRecipe) -> Json {
    recipe["inputs"] = json!(inputs_of(library, found));
    recipe
}

fn as_json(found: &FoundRecipe) -> Json {
    json!({
        "name": found.name,
        "version": found.version,
        "description": found.description,
        "path": found.path,
        "built_in": found.is_built_in,
        "shadowed_by": found.shadowed_by,
        "problem": found.problem,
    })
}

fn as_text(found: &FoundRecipe) -> String {
    let version =
        if found.version.is_empty() { String::new() } else { format!(" {}", clean(&found.version)) };
    let mut text =
        format!("{BOLD}{}{BOLD:#}{version}  {DIM}{}{DIM:#}\n", clean(&found.name), clean(&found.path));
    if let Some(first) = found.description.lines().map(str::trim).find(|line| !line.is_empty()) {
        text.push_str(&format!("    {}\n", clean(first)));
    }
    if let Some(problem) = &found.problem {
        text.push_str(&format!("    {YELLOW}broken: {}{YELLOW:#}\n", clean(problem)));
    }
    if let Some(other) = &found.shadowed_by {
        text.push_str(&format!("    {YELLOW}not used: {other} has the same name{YELLOW:#}\n"));
    }
    text
}

fn nothing_else(library: &Library) -> String {
    let dirs: Vec<String> = library.dirs().iter().map(|dir| format!("  {}\n", dir.display())).collect();
    format!("No other recipes found in:\n{}{YOURS}", dirs.concat())
}

/// Text shortened to `width` columns.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
