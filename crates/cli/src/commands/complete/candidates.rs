//! The candidates for the word that is being typed: commands, options, recipes, runs, steps and names of variables.

use std::path::{Path, PathBuf};

use clap::{Arg, Command, builder::StyledStr};
use recipe::{
    check::{Given, check},
    plan::Plan,
};
use runtime::{agents::Program, machine::discovery::Library, runs::OpenedRun};

use super::typed_line::TypedLine;
use crate::{
    args::options::Places,
    commands::stored_runs::runs_at,
    environment::Environment,
    host::StoredRuns,
    load_recipe,
    report::{failure::clean, table::ago},
};

/// The most runs that are offered.
const MOST_RUNS: usize = 50;

/// The candidates, each with a few words about it.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) values: Vec<(String, String)>,
    /// Whether names of files are candidates too.
    pub(super) files: bool,
}

impl Candidates {
    /// The candidates for a line.
    pub(super) fn of(line: &TypedLine<'_>, environment: &Environment) -> Candidates {
        let mut found = Finder { line, environment, found: Candidates::default() };
        match line.option {
            Some(option) => found.option_value(option),
            None if line.current.starts_with('-') => found.options(),
            None => found.word(),
        }
        let Candidates { mut values, files } = found.found;
        values.retain(|(value, _)| value.starts_with(&line.current));
        values.iter_mut().for_each(|(value, _)| value.insert_str(0, &line.prefix));
        Candidates { values, files }
    }
}

struct Finder<'a> {
    line: &'a TypedLine<'a>,
    environment: &'a Environment,
    found: Candidates,
}

impl Finder<'_> {
    fn add(&mut self, value: impl Into<String>, about: &str) {
        let first = about.lines().next().unwrap_or_default().replace('\t', " ");
        self.found.values.push((value.into(), clean(&first).chars().take(70).collect()));
    }

    fn options(&mut self) {
        for arg in self.line.command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let about = help(arg.get_help());
            if let Some(long) = arg.get_long() {
                self.add(format!("--{long}"), &about);
            }
            if let Some(short) = arg.get_short() {
                self.add(format!("-{short}"), &about);
            }
        }
    }

    fn option_value(&mut self, option: &Arg) {
        match option.get_long().unwrap_or_default() {
            "set" | "set-file" if self.line.verb != Some("answer") => self.variables(option),
            "from" => self.steps_of_run(),
            "start-from" => self.steps_of_recipe(),
            "previous-run-id" | "against" => self.runs(),
            "include-tags" | "exclude-tags" => self.tags(),
            "agent-binary" | "repair-agent" | "review-agent" => {
                Program::known_names().for_each(|name| self.add(name, "agent program"));
            }
            "recipe" if self.line.verb == Some("health") => self.recipes(),
            _ => self.fixed(option),
        }
    }

    /// The values that the definition of an argument names.
    fn fixed(&mut self, arg: &Arg) {
        for value in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            self.add(value.get_name(), &help(value.get_help()));
        }
        let is_place = |name: &str| name.split('|').any(|part| ["FILE", "DIR", "RECIPE"].contains(&part));
        self.found.files |= arg.get_value_names().unwrap_or_default().iter().any(|name| is_place(name));
    }

    fn word(&mut self) {
        let line = self.line;
        self.commands(line.command);
        match (line.verb, line.words.len()) {
            (None, 0) | (Some("run" | "explain"), 0) | (Some("validate" | "lint"), _) => {
                self.recipes();
                self.found.files = true;
            }
            (Some("show" | "logs" | "why" | "resume" | "cancel" | "answer"), 0) => self.runs(),
            (Some("logs" | "why"), 1) => self.steps_of_run(),
            (Some("help"), 0) => self.commands(line.program),
            (_, at) => {
                let next = line.command.get_positionals().nth(at).filter(|_| line.verb != Some("run"));
                next.into_iter().for_each(|next| self.fixed(next));
            }
        }
    }

    fn commands(&mut self, command: &Command) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && self.line.words.is_empty())
        {
            self.add(verb.get_name(), &help(verb.get_about()));
        }
    }

    fn recipes(&mut self) {
        for found in self.library().list() {
            if found.shadowed_by.is_none() && found.problem.is_none() {
                self.add(found.name, &found.description);
            }
        }
    }

    fn runs(&mut self) {
        let now = runtime::os::clock::now();
        let list = self.stored().map(|runs| runs.list(Some(MOST_RUNS))).unwrap_or_default();
        if !list.is_empty() {
            self.add("last", "the newest run");
        }
        for run in list {
            let about = format!("{}, {}, {}", run.recipe_name, run.status.as_str(), ago(run.started_at, now));
            self.add(run.run_id, &about);
        }
    }

    /// The names of the recipe on the line, or of the recipe of the run.
    fn variables(&mut self, option: &Arg) {
        if self.line.current.contains('=') {
            self.found.files = option.get_long() == Some("set-file");
            return;
        }
        let Some(plan) = self.plan() else { return };
        let unit = plan.root();
        for name in unit.declared() {
            let input = unit.inputs.iter().find(|input| input.name == *name);
            self.add(format!("{name}="), input.map(|input| input.description.as_str()).unwrap_or_default());
        }
    }

    fn steps_of_recipe(&mut self) {
        let Some(plan) = self.plan() else { return };
        for step in &plan.root().steps {
            self.add(step.id.clone(), step.title.as_deref().unwrap_or_default());
        }
    }

    fn steps_of_run(&mut self) {
        let Some(run) = self.run() else { return };
        let mut known = std::collections::HashSet::new();
        for frame in &run.state.frames {
            for at in 0..frame.steps.len() {
                let path = frame.step_path(at);
                if known.insert(path.clone()) {
                    self.add(path, frame.steps[at].status.as_str());
                }
            }
        }
    }

    fn tags(&mut self) {
        let Some(plan) = self.plan() else { return };
        let tags = plan.units.iter().flat_map(|unit| &unit.steps).flat_map(|step| &step.tags);
        let tags: std::collections::BTreeSet<&String> = tags.collect();
        tags.into_iter().for_each(|tag| self.add(tag.clone(), "tag"));
    }

    fn library(&self) -> Library {
        let places = Places {
            working_dir: self.line.values("working-dir").last().map(PathBuf::from),
            recipe_dirs: self.line.values("recipe-dir").into_iter().map(PathBuf::from).collect(),
        };
        load_recipe::library(&places, self.environment)
    }

    fn stored(&self) -> Option<StoredRuns> {
        let dir = self.line.values("state-dir").last().copied().map(Path::new);
        runs_at(dir, self.environment).ok()
    }

    /// The run on the line, or the newest one.
    fn run(&self) -> Option<OpenedRun> {
        let runs = self.stored()?;
        let folder = runs.find(self.line.words.first().map_or("last", String::as_str)).ok()?;
        runs.open(folder).ok()
    }

    /// The recipe on the line, or that of the run.
    fn plan(&self) -> Option<Plan> {
        if self.line.verb == Some("resume") {
            return Some(self.run()?.plan);
        }
        let library = self.library();
        let loaded = library.root(self.line.words.first()?).ok()?;
        check(loaded, &library, &Given::default()).plan
    }
}

fn help(text: Option<&StyledStr>) -> String {
    text.map(StyledStr::to_string).unwrap_or_default()
}
