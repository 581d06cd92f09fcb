//! `init`: a first recipe for the current project, with its real build and test commands, and a test file for it.
//!
//! Never overwrites a file, and never runs anything. The schema is written beside the recipe, so that editors find it.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use engine::project::Project;
use recipe::test_file::test_file_of;
use runtime::{machine::project::look, os::shell_word::quote};
use serde_json::{Value as Json, json};

use super::schema;
use crate::{
    args::{InitArgs, options::OutputFormat},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{failure::Failure, hints::plain, wrap::wrapped},
};

/// The file with the schema, beside the recipe.
const SCHEMA: &str = "recipe.schema.json";

/// The step for an agent; it runs only on request, because not every machine has one.
const REVIEW: &str = "\
Review the uncommitted changes of this project. Read the code, but change
no file. List the three most important problems, each with its file
and line.";

/// Writes the recipe.
pub(crate) fn init(args: &InitArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let dir = args
        .working_dir
        .as_deref()
        .map_or_else(|| environment.machine.cwd.clone(), |dir| environment.absolute(dir));
    if !dir.is_dir() {
        return Err(Failure::new(Exit::BadArguments, format!("`{}` is not a directory", dir.display())));
    }
    let project = look(&dir);
    let file = dir.join(&args.file);
    let name =
        dir.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned());
    let file_name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tests = file.with_file_name(test_file_of(&file_name));
    if tests.symlink_metadata().is_ok() {
        return Err(exists(&tests));
    }
    write(&file, &recipe(&name, &args.file, &project))?;
    write(&tests, &test_file(&file_name, &args.file.with_file_name(test_file_of(&file_name)), &project))?;
    let schema = write_schema(&file)?;
    let (test, run) = (test_command(args), run_command(args));
    match args.format.output_format {
        OutputFormat::Json => {
            let mut made = as_json(&file, &project, &run);
            made["test_file"] = json!(tests.to_string_lossy());
            made["test_command"] = json!(test);
            made["schema"] = json!(file.with_file_name(SCHEMA).to_string_lossy());
            out.json(&made);
        }
        OutputFormat::Text => {
            let steps: Vec<String> =
                project.steps.iter().map(|(id, command)| format!("  {id:<8} {command}\n")).collect();
            let shown = args.file.display();
            let agent = "  review   asks an agent, with --set with_agent=yes\n";
            out.result(&format!("{shown}: {}\n{}{agent}{schema}", project.reason, steps.concat()));
            out.result(&format!("Test it, without an agent:  {test}\nRun it:  {run}"));
        }
    }
    Ok(Exit::Success)
}

/// Writes the schema beside the recipe, unless there is one. Returns what to say about it.
fn write_schema(recipe: &Path) -> Result<String, Failure> {
    let file = recipe.with_file_name(SCHEMA);
    if file.exists() {
        let again = plain(&format!("schema > {SCHEMA}"));
        return Ok(format!("Editors use the {SCHEMA} that is here already. To write it again:  {again}"));
    }
    write(&file, &schema::text())?;
    Ok(format!("Editors complete and check the recipe with {SCHEMA} beside it."))
}

fn run_command(args: &InitArgs) -> String {
    // a path that looks like a command or a name gets a prefix
    let file = match args.file.components().count() {
        1 if args.file.extension().is_none() => Path::new(".").join(&args.file),
        _ => args.file.clone(),
    };
    match &args.working_dir {
        Some(dir) => plain(&format!("{} -C {}", quoted(&dir.join(&args.file)), quoted(dir))),
        None => plain(&quoted(&file)),
    }
}

fn test_command(args: &InitArgs) -> String {
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let file = args.file.with_file_name(test_file_of(&name));
    let file = args.working_dir.as_ref().map_or_else(|| file.clone(), |dir| dir.join(&file));
    plain(&format!("test {}", quoted(&file)))
}

fn quoted(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

fn as_json(file: &Path, project: &Project, run: &str) -> Json {
    let steps: Vec<Json> =
        project.steps.iter().map(|(id, command)| json!({ "id": id, "command": command })).collect();
    json!({
        "file": file.to_string_lossy(),
        "project": project.kind,
        "reason": project.reason,
        "steps": steps,
        "agent_step": { "id": "review", "prompt": REVIEW },
        "run_command": run,
    })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(file),
        _ => Failure::new(Exit::BadArguments, format!("`{}` cannot be written: {error}", file.display())),
    })
}

fn exists(file: &Path) -> Failure {
    Failure::new(Exit::BadArguments, format!("`{}` exists and is not overwritten", file.display()))
        .hint(format!("name another file: `{}`", plain("init build.yaml")))
}

fn recipe(name: &str, file: &Path, project: &Project) -> String {
    let quoted = |text: &str| Json::from(text).to_string();
    let run = plain(&file.display().to_string().replace(char::is_control, "?"));
    let mut text = format!(
        "# yaml-language-server: $schema={SCHEMA}\n# {}\n#\n#   {run}\n#   {run} --set with_agent=yes\n\
         name: {}\nversion: \"1.0\"\ndescription: {}\nshell: strict\nbudget: {{agent_runs: 5}}\n\
         context:\n  with_agent: \"no\"\nsteps:\n",
        wrapped(&project.reason, 76, 0).join("\n# "),
        quoted(name),
        quoted(&match project.kind {
            "unknown" => "First recipe of this project".to_owned(),
            kind => format!("First recipe of a {kind} project"),
        }),
    );
    for (id, command) in &project.steps {
        text.push_str(&format!("  - id: {id}\n    command: |\n{}\n", block(command)));
    }
    text.push_str("  # an agent such as claude does this step, if asked with `--set with_agent=yes`\n");
    text.push_str("  - id: review\n    condition: with_agent == 'yes'\n");
    text.push_str("    permissions: {level: read-only, required: false}\n    timeout: 30m\n    prompt: |\n");
    text.push_str(&block(REVIEW));
    text
}

/// The lines of a block.
fn block(text: &str) -> String {
    text.lines().map(|line| format!("      {line}\n")).collect()
}

/// Tests that reach every branch of the recipe, with stubs in place of its commands and its agent.
fn test_file(recipe: &str, file: &Path, project: &Project) -> String {
    let shown = |text: &str| text.replace(char::is_control, "?");
    let command = plain(&format!("test {}", quoted(file)));
    let stubs: String = project.steps.iter().map(|(id, _)| format!("      {id}: {{exit: 0}}\n")).collect();
    let mut text = format!(
        "# Tests of {}. Stubs stand in for its commands and its agent.\n#\n#   {}\n\
         coverage: {{min: 100}}\ncases:\n  - name: the agent is asked only on request\n    stubs:\n{stubs}    \
         expect: {{steps: {{review: skipped}}}}\n\n  - name: the agent reviews the changes\n    \
         inputs: {{with_agent: \"yes\"}}\n    stubs:\n{stubs}      review: {{answer: No problem was found.}}\n    \
         expect: {{calls: {{review: 1}}, prompts: {{review: {{contains: change}}}}}}\n",
        shown(recipe),
        shown(&command),
    );
    if let Some((first, _)) = project.steps.first() {
        text.push_str(&format!(
            "\n  - name: a failing command ends the run\n    inputs: {{with_agent: \"yes\"}}\n    stubs:\n      \
             {first}: {{exit: 1}}\n    expect: {{exit: 1, steps: {{{first}: failed}}, never: [review]}}\n"
        ));
    }
    text
}
