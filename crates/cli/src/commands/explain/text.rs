//! A recipe explained as text.

use recipe::{
    graph::{Edge, Link},
    plan::{AskStep, Input, JsonMode, Limits, Plan, Retry, Step, StepKind, Unit},
    syntax::{ExitMeaning, Shell},
};
use runtime::store::secrets::Mask;

use super::{
    Expansion, Length, Nested, companions, condition_names, left_out, loop_words, machine::Machine, when,
};
use crate::{
    args::options::Tags,
    commands::list::shorten,
    report::{failure::clean, inputs},
};

/// The most lines of a command or prompt to show.
const MOST_LINES: usize = 12;
/// The longest line to show.
const WIDTH: usize = 160;

pub(super) fn describe(plan: &Plan, tags: &Tags, machine: &Machine, mask: &Mask, length: Length) -> String {
    let root = plan.root();
    let (expansion, shell) = (Expansion::new(plan), root.shell);
    let mut page = Page { text: String::new(), expansion, tags, machine, mask, length, shell };
    page.head(root);
    page.text.push_str(match length {
        Length::Full => "Steps:\n",
        Length::Short => "Steps (one line each; `--verbose` shows them in full):\n",
    });
    page.steps(root, "", "  ");
    page.text
}

struct Page<'a> {
    text: String,
    expansion: Expansion<'a>,
    tags: &'a Tags,
    machine: &'a Machine,
    mask: &'a Mask,
    length: Length,
    /// The shell of the recipe; steps say only what differs.
    shell: Shell,
}

impl<'a> Page<'a> {
    fn line(&mut self, indent: &str, name: &str, value: impl AsRef<str>) {
        let value = clean(value.as_ref());
        if !value.is_empty() {
            self.text.push_str(&format!("{indent}{name}: {value}\n"));
        }
    }

    fn head(&mut self, unit: &Unit) {
        self.line("", "Recipe", &unit.name);
        self.line("", "Version", &unit.version);
        self.block("", "Description", unit.description.trim());
        self.line("", "Author", &unit.author);
        self.line("", "Tags", unit.tags.join(", "));
        self.line("", "File", &unit.path);
        self.line("", "Limits", limits(&unit.limits));
        self.line(
            "",
            "Permissions",
            unit.limits.permissions.map_or("", |permissions| permissions.level.as_str()),
        );
        self.line("", "Hooks", hooks(unit).join(", "));
        self.line("", "Needs environment", unit.env.required.join(", "));
        let set: Vec<&str> = unit.env.set.iter().map(|(name, _)| name.as_str()).collect();
        self.line("", "Sets environment", set.join(", "));
        self.line("", "Shell", shell_word(unit.shell));
        self.line("", "Stdout", if unit.result_only() { "the result text alone" } else { "" });
        self.context(unit);
        self.inputs(unit);
    }

    fn context(&mut self, unit: &Unit) {
        if !unit.context.is_empty() {
            self.text.push_str("Context:\n");
        }
        for (name, value) in &unit.context {
            let shown = inputs::shown(&self.mask.value(name, value));
            self.text.push_str(&clean(&format!("  {name} = {shown}")));
            self.text.push('\n');
        }
    }

    fn inputs(&mut self, unit: &Unit) {
        for line in inputs::block(&runtime::report::inputs::inputs(unit, self.mask)) {
            self.text.push_str(&format!("{line}\n"));
        }
    }

    /// Which steps of a graph can run at the same time.
    fn waves(&mut self, unit: &'a Unit, indent: &str) {
        for (wave, steps) in (1..).zip(self.expansion.waves(unit)) {
            self.line(indent, &format!("Wave {wave}"), steps.join(", "));
        }
    }

    fn steps(&mut self, unit: &'a Unit, number: &str, indent: &str) {
        let edges = match self.length {
            Length::Full => self.expansion.edges(unit),
            Length::Short => Vec::new(),
        };
        self.waves(unit, indent);
        for (at, step) in unit.steps.iter().enumerate() {
            let number = format!("{number}{}", at + 1);
            match self.length {
                Length::Full => self.step(unit, at, &edges, &number, indent),
                Length::Short => self.step_line(step, &number, indent),
            }
        }
    }

    /// A step in one line, and the steps of its sub-recipe below it.
    fn step_line(&mut self, step: &'a Step, number: &str, indent: &str) {
        let nested = self.expansion.nested(step);
        let kind = match &nested {
            None => step.kind.word().to_owned(),
            Some(Nested::Later(name)) => format!("recipe {name}"),
            Some(Nested::Whole(unit)) => format!("recipe {}", unit.name),
            Some(Nested::Again(unit)) => format!("recipe {}, shown elsewhere", unit.name),
        };
        let title = step.title.as_deref().map(|title| format!(" — {title}")).unwrap_or_default();
        let group = step.group.as_ref().map(|group| format!(" (group {})", group.name)).unwrap_or_default();
        let condition = step.condition.as_ref().map(|condition| format!(" if {}", condition.text().trim()));
        let out = left_out(step, self.tags).map(|why| format!(" — skipped: {why}")).unwrap_or_default();
        let when = when(step).map(|when| format!(" ({when})")).unwrap_or_default();
        let looped = loop_words(step).map(|words| format!(" {words}")).unwrap_or_default();
        let rest = format!("{title}{group}{when}{looped}{}{out}", condition.unwrap_or_default());
        let rest = rest.replace('\n', " ");
        let line = clean(&format!("{number}. {} [{kind}]{rest}", step.id));
        self.text.push_str(&format!("{indent}{}\n", shorten(&line, WIDTH)));
        if let Some(Nested::Whole(unit)) = nested {
            self.steps(unit, &format!("{number}."), &format!("{indent}  "));
        }
    }

    fn step(&mut self, unit: &'a Unit, at: usize, edges: &[Edge], number: &str, indent: &str) {
        let step = &*unit.steps[at];
        let out = left_out(step, self.tags).map(|why| format!(" — skipped: {why}")).unwrap_or_default();
        let title = step.title.as_deref().map(|title| format!(" — {title}")).unwrap_or_default();
        let head = clean(&format!("{number}. {} [{}]{title}{out}", step.id, step.kind.word()));
        self.text.push_str(&format!("{indent}{head}\n"));
        let indent = &format!("{indent}   ");
        self.block(indent, "Description", step.description.as_deref().unwrap_or_default().trim());
        self.line(indent, "Runs", when(step).unwrap_or_default());
        self.line(indent, "Loop", loop_words(step).unwrap_or_default());
        self.condition(step, indent);
        self.kind(step, indent);
        self.line(indent, "Output", output(step));
        self.line(indent, "Needs", needs(unit, edges, at));
        self.line(indent, "Tags", step.tags.join(", "));
        self.line(indent, "Parallel group", group(unit, step));
        self.line(indent, "Timeout", step.timeout.map(|timeout| format!("{timeout} s")).unwrap_or_default());
        self.line(indent, "Retry", retry(step));
        self.line(indent, "Working directory", step.working_dir.as_ref().map_or("", |dir| dir.text()));
        self.line(indent, "On failure", if step.continue_on_error { "the recipe continues" } else { "" });
        self.ensure(step, indent);
        self.repetition(step, indent);
        self.nested(step, number, indent);
    }

    /// The rules that the step must meet.
    fn ensure(&mut self, step: &Step, indent: &str) {
        for rule in &step.ensure {
            self.block(indent, &format!("Ensures {}", rule.kind().as_str()), &rule.demand());
        }
        let repeated = match step.ensure_retries {
            0 => String::new(),
            1 => "once if a rule is not met".to_owned(),
            times => format!("up to {times} times while a rule is not met"),
        };
        self.line(indent, "Repeated", if step.ensure.is_empty() { "" } else { &repeated });
    }

    /// The fields that matter for a resume.
    fn repetition(&mut self, step: &Step, indent: &str) {
        let meaning = |(code, meaning): &(i32, ExitMeaning)| format!("{code} means {}", meaning.as_str());
        let codes: Vec<String> = step.exit_codes.iter().map(meaning).collect();
        self.line(indent, "Exit codes", codes.join(", "));
        self.line(indent, "Effects", step.effects.join(", "));
        let idempotent = match (step.idempotent, &step.retry) {
            (true, _) => "",
            (false, None) => "no: never repeated without asking",
            (false, Some(_)) => "no: repeated by its own retry, else never without asking",
        };
        self.line(indent, "Idempotent", idempotent);
    }

    fn condition(&mut self, step: &Step, indent: &str) {
        let Some(condition) = &step.condition else { return };
        let names = condition_names(step);
        let reads = if names.is_empty() { String::new() } else { format!("   (reads {})", names.join(", ")) };
        self.line(indent, "Condition", format!("{}{reads}", condition.text().trim()));
    }

    fn kind(&mut self, step: &Step, indent: &str) {
        match &step.kind {
            StepKind::Shell { command } => {
                self.block(indent, "Command", command.text().trim_end());
                if step.shell != self.shell {
                    self.line(indent, "Shell", shell_word(step.shell));
                }
            }
            StepKind::Agent(agent) => {
                let found = if agent.system_prompt.is_some() { "" } else { " (no file found)" };
                let reference = agent.reference.as_ref().map(|agent| format!("{agent}{found}"));
                self.line(indent, "Agent", reference.unwrap_or_default());
                let program = match agent.programs.fixed() {
                    Some(named) => self.machine.asked(&named).describe(),
                    None => {
                        format!("{} (decided when the step runs)", agent.programs.written().join(", "))
                    }
                };
                self.line(indent, "Program", program);
                self.line(indent, "Model", agent.model.as_ref().map_or("", |model| model.text()));
                let permissions = agent.permissions.map(|permissions| match permissions.required {
                    true => permissions.level.as_str().to_owned(),
                    false => format!("{}, if the program can", permissions.level.as_str()),
                });
                self.line(indent, "Permissions", permissions.unwrap_or_default());
                let args: Vec<&str> = agent.args.iter().map(|arg| arg.text()).collect();
                self.line(indent, "Arguments", args.join(" "));
                match &agent.prompt_file {
                    Some(file) => self.line(indent, "Prompt file", file.text()),
                    None => self.block(indent, "Prompt", agent.prompt.text().trim_end()),
                }
            }
            StepKind::Ask(ask) => self.ask(step, ask, indent),
            StepKind::Nested { overrides, recovery, recoverer, .. } => {
                let names: Vec<&str> = overrides.iter().map(|(name, _)| name.as_str()).collect();
                self.line(indent, "Passes", names.join(", "));
                self.line(
                    indent,
                    "Recovery",
                    if *recovery { "an agent tries to finish the work" } else { "" },
                );
                self.line(indent, "Program", recoverer.programs.written().join(", "));
                self.line(indent, "Model", recoverer.model.as_ref().map_or("", |model| model.text()));
            }
        }
    }

    fn ask(&mut self, step: &Step, ask: &AskStep, indent: &str) {
        self.block(indent, "Question", ask.question.text().trim_end());
        self.line(indent, "Choices", ask.choices.join(", "));
        let field = |field: &Input| {
            let required = if field.required { ", required" } else { "" };
            let default = field.default.as_ref().filter(|_| !field.is_secret());
            let default = default.map(|value| format!(", default {}", value.render())).unwrap_or_default();
            format!("{} ({}{required}{default})", field.name, field.type_word())
        };
        let fields: Vec<String> = ask.fields.iter().map(field).collect();
        self.line(indent, "Fields", fields.join(", "));
        let shown: Vec<&str> = ask.show.iter().map(|show| show.template().text()).collect();
        self.line(indent, "Shows", shown.join(", "));
        let on_timeout = step.timeout.map(|_| ask.on_timeout.as_str());
        self.line(indent, "On timeout", on_timeout.unwrap_or_default());
    }

    fn nested(&mut self, step: &'a Step, number: &str, indent: &str) {
        match self.expansion.nested(step) {
            None => {}
            Some(Nested::Later(name)) => {
                self.line(indent, "Recipe", format!("{name} (known when the step runs)"));
            }
            Some(Nested::Again(unit)) => {
                self.line(indent, "Recipe", format!("{} ({}), shown elsewhere", unit.name, unit.path));
            }
            Some(Nested::Whole(unit)) => {
                self.line(indent, "Recipe", format!("{} ({})", unit.name, unit.path));
                let declared = unit.limits.max_depth.is_some() || unit.limits.max_total_steps.is_some();
                self.line(indent, "Limits", if declared { limits(&unit.limits) } else { String::new() });
                self.steps(unit, &format!("{number}."), &format!("{indent}  "));
            }
        }
    }

    /// A text that may have several lines.
    fn block(&mut self, indent: &str, name: &str, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() <= 1 {
            return self.line(indent, name, shorten(text, WIDTH));
        }
        self.text.push_str(&format!("{indent}{name}:\n"));
        for line in lines.iter().take(MOST_LINES) {
            let line = format!("{indent}  {}", shorten(&clean(line), WIDTH));
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
        if lines.len() > MOST_LINES {
            self.text.push_str(&format!("{indent}  … {} more lines\n", lines.len() - MOST_LINES));
        }
    }
}

/// Nothing for the usual shell.
fn shell_word(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "",
        Shell::Strict => "strict (bash -euo pipefail)",
    }
}

fn limits(limits: &Limits) -> String {
    let part = |name: &str, value: Option<u64>, default: u64| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("{name} {default} (default)"),
    };
    let depth = part("max_depth", limits.max_depth, Limits::DEFAULT_DEPTH);
    format!("{depth}, {}", part("max_total_steps", limits.max_total_steps, Limits::DEFAULT_STEPS))
}

fn hooks(unit: &Unit) -> Vec<&'static str> {
    let hooks = &unit.hooks;
    let all = [("pre_step", &hooks.pre_step), ("post_step", &hooks.post_step), ("on_error", &hooks.on_error)];
    all.into_iter().filter(|(_, hook)| hook.is_some()).map(|(name, _)| name).collect()
}

fn output(step: &Step) -> String {
    let json = match step.json {
        JsonMode::Text => "",
        JsonMode::Wanted => " (read as JSON)",
        JsonMode::Required => " (must be JSON)",
    };
    step.store.as_ref().map(|name| format!("{name}{json}")).unwrap_or_default()
}

fn needs(unit: &Unit, edges: &[Edge], at: usize) -> String {
    let needed = edges.iter().filter(|edge| edge.to == at && edge.link != Link::Order);
    let parts: Vec<String> = needed
        .map(|edge| {
            let from = &unit.steps[edge.from].id;
            match &edge.what {
                Some(what) => format!("{from} ({} {what})", edge.link.as_str()),
                None => format!("{from} ({})", edge.link.as_str()),
            }
        })
        .collect();
    parts.join(", ")
}

fn group(unit: &Unit, step: &Step) -> String {
    let Some(group) = &step.group else { return String::new() };
    match companions(unit, step) {
        others if others.is_empty() => format!("{} (alone)", group.name),
        others => format!("{} (together with {})", group.name, others.join(", ")),
    }
}

fn retry(step: &Step) -> String {
    let Some(Retry { max_attempts, delay, .. }) = &step.retry else { return String::new() };
    let unless = match step.kind {
        StepKind::Nested { .. } => ", until something in it is done that must not be repeated",
        _ => "",
    };
    format!("up to {max_attempts} attempts, {delay} s apart{unless}")
}
