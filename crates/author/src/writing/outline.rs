//! The recipe as a whole: its settings, its steps in order, and the recipes of its tracks.

use super::{
    delivery, frame, gates,
    loops::{self, Part},
    shell,
    step::{RecipeDraft, Role, StepDraft},
    text, tracks,
};
use crate::{
    brief::{AnsweredBy, Brief, Check, Expectation, ProgramStart, Track},
    written::CriterionSteps,
};

/// Everything that is written from a brief, before it is text.
pub(crate) struct Outline {
    /// The recipe, then those of its tracks.
    pub recipes: Vec<RecipeDraft>,
    /// The steps that prove each criterion.
    pub proofs: Vec<CriterionSteps>,
}

impl Outline {
    /// The outline of a brief.
    pub(crate) fn of(brief: &Brief) -> Outline {
        let whole = Part::whole(brief);
        let tracks = if tracks::is_graph(brief) { tracks::tracks(brief) } else { Vec::new() };
        let mut steps = vec![frame::read_spec(brief), frame::preflight(brief)];
        steps.extend(frame::baseline(brief));
        if tracks.is_empty() {
            steps.extend(loops::steps(&whole));
        } else {
            steps.extend(tracks::steps(brief, &tracks));
        }
        steps.extend(acceptance(brief));
        let titles = frame::titles(brief, &steps);
        let names: Vec<String> = titles.iter().map(|(id, _)| id.clone()).collect();
        let mut needed = vec!["scope".to_owned()];
        needed.extend(names);
        steps.push(frame::pass(&whole, &needed));
        steps.push(frame::sign_off(&whole, &titles));
        steps.extend(delivery::steps(brief));
        steps.push(frame::unfinished(brief));
        if !tracks.is_empty() {
            steps = in_order(steps);
        }
        let mut recipes = vec![RecipeDraft {
            name: brief.name.clone(),
            head: head(brief),
            settings: settings(brief, &steps, &tracks),
            tail: result(&steps),
            steps,
        }];
        recipes.extend(tracks.iter().map(|track| tracks::recipe(brief, &tracks, track)));
        let proofs = proofs(brief, &recipes);
        Outline { recipes, proofs }
    }
}

/// The steps that decide whether the work is accepted.
fn acceptance(brief: &Brief) -> Vec<StepDraft> {
    let mut steps = vec![frame::scope(brief)];
    let has_person = brief.criteria.iter().any(|criterion| criterion.check == Check::Person);
    let has_approval = brief.delivery.approval.is_some() && !brief.delivery.effects.is_empty();
    if has_person || has_approval {
        steps.push(frame::diff(brief));
    }
    if let Some(command) = compilation(brief) {
        steps.push(frame::build(brief, &command));
    }
    if let Some(items) = item_gate(brief) {
        steps.push(items);
    }
    if tracks::is_graph(brief) {
        steps.extend(gates::joint(brief));
    }
    // what a command decides comes before what a person decides
    let (people, commands): (Vec<_>, Vec<_>) =
        brief.criteria.iter().partition(|criterion| criterion.check == Check::Person);
    for criterion in commands.into_iter().chain(people) {
        steps.extend(gates::gates(brief, criterion));
    }
    steps
}

/// The command that compiles what a gate with a time limit runs.
fn compilation(brief: &Brief) -> Option<String> {
    brief.criteria.iter().find_map(|criterion| {
        let Check::Command(check) = &criterion.check else { return None };
        let is_timed = check.expectations.iter().any(|one| matches!(one, Expectation::Within { .. }));
        let programs = shell::called(&brief.project, &check.command);
        let compiled = programs.iter().find_map(|program| match &program.start {
            ProgramStart::Cargo { bin } => Some(format!("cargo build --quiet --bin {}", shell::quote(bin))),
            ProgramStart::Go { package } => {
                Some(format!("go build -o /dev/null {}", shell::quote(&format!("./{package}"))))
            }
            _ => None,
        });
        compiled.filter(|_| is_timed)
    })
}

/// A gate for each item: its file has changed and is not empty.
fn item_gate(brief: &Brief) -> Option<StepDraft> {
    let items = brief.items.as_ref().filter(|items| items.items.iter().all(|item| item.is_path))?;
    if !brief.tracks.is_empty() {
        return None;
    }
    let list: Vec<&str> = items.items.iter().map(|item| item.text.as_str()).collect();
    let changed = match brief.project.git {
        true => {
            "base=$(git show {{base_commit}}:./{{item}} 2>/dev/null | cksum)\n\
             if [ \"$base\" = \"$(cksum < {{item}})\" ]; then\n  printf '%s has not changed\\n' {{item}} >&2\n  exit 1\nfi\n"
        }
        false => "",
    };
    let script = format!(
        "[ -s {{{{item}}}} ] || {{ printf '%s is missing or empty\\n' {{{{item}}}} >&2; exit 1; }}\n{changed}"
    );
    let step = StepDraft::new("accept-items", Role::Gate(gates::Trial::Whole), "Every item has changed")
        .yaml("for_each", &text::flow(&list))
        .yaml("max_parallel", "1")
        .yaml("keep_going", "true")
        .yaml("timeout", "1m")
        .body("command", &script);
    Some(step)
}

/// The steps of a graph: each waits for the one before it, unless it says what it needs.
fn in_order(steps: Vec<StepDraft>) -> Vec<StepDraft> {
    let mut before: Vec<String> = Vec::new();
    let mut tracks: Vec<String> = Vec::new();
    let mut ordered = Vec::new();
    for step in steps {
        let id = step.id.clone();
        let is_track = matches!(step.role, Role::Track(_));
        let is_cleanup = step.role == Role::Unfinished;
        if is_track {
            tracks.push(id);
            ordered.push(if before == ["baseline"] { step.also_needs(&before) } else { step });
            continue;
        }
        let needs = if tracks.is_empty() { before } else { std::mem::take(&mut tracks) };
        ordered.push(if needs.is_empty() || is_cleanup { step } else { step.also_needs(&needs) });
        before = vec![id];
    }
    ordered
}

fn result(steps: &[StepDraft]) -> String {
    let ships = steps.iter().filter(|step| step.role == Role::Ship);
    let lines: String = ships.map(|step| format!("    {}: {{{{{}}}}}\n", step.id, step.id)).collect();
    format!("\noutput:\n  template: |\n    {{{{signoff}}}}\n{lines}")
}

/// The comments at the beginning of the file.
fn head(brief: &Brief) -> String {
    let name = &brief.name;
    let mut text = format!(
        "{}\n\n  recipe-runner-rs recipes/{name}.yaml\n  recipe-runner-rs test recipes/{name}.test.yaml\n\n\
         Generated from {}. Every decision is in {name}.generation.json.\nPattern: {:?}, because {}\n",
        one_line(&brief.title),
        brief.spec.path,
        brief.pattern.name,
        one_line(&brief.pattern.reason),
    )
    .replace("Pattern: Pipeline", "Pattern: pipeline")
    .replace("Pattern: Graph", "Pattern: graph")
    .replace("Pattern: Supervisor", "Pattern: supervisor");
    for one in brief.clarifications.iter().filter(|one| one.answered_by != AnsweredBy::Spec) {
        let by = if one.answered_by == AnsweredBy::User { "user" } else { "generator" };
        text.push_str(&format!(
            "\nQuestion: {}\nAnswer: {} (answered_by: {by})\n",
            one_line(&one.question),
            one_line(&one.answer)
        ));
    }
    if !brief.skills.is_empty() {
        let names: Vec<&str> = brief.skills.iter().map(|skill| skill.name.as_str()).collect();
        text.push_str(&format!(
            "\nSkills selected at generation: {}. The prompts were informed by them and name their\n\
             files. Whether an agent reads them is not checked.\n",
            names.join(", ")
        ));
    }
    text::comment(0, &text)
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn settings(brief: &Brief, steps: &[StepDraft], tracks: &[Track]) -> String {
    let mut yaml = text::entry(0, "name", &brief.name);
    yaml.push_str("version: \"1.0\"\n");
    yaml.push_str(&text::entry(0, "description", &one_line(&brief.title)));
    yaml.push_str("shell: strict\n");
    if !tracks.is_empty() {
        yaml.push_str("schedule: graph\n");
    }
    yaml.push_str("default_step_timeout: 30m\n");
    let loops = tracks.len().max(1);
    let items = brief.items.as_ref().map_or(0, |items| items.items.len());
    let most = (steps.len() + loops * 20 + items * 2).div_ceil(50) * 50;
    let depth = if tracks.is_empty() { 1 } else { 2 };
    yaml.push_str(&format!("recursion: {{max_depth: {depth}, max_total_steps: {most}}}\n"));
    yaml.push_str(&budget(brief, loops, items));
    yaml.push_str(&environment(brief));
    if steps.iter().any(|step| step.text().contains("{{braces}}")) {
        yaml.push_str("context:\n  braces: \"{{\"    # double braces of the spec, which are no template\n");
    }
    yaml
}

/// The limits of the spec, or limits that only a loop without an end would reach.
fn budget(brief: &Brief, loops: usize, items: usize) -> String {
    let mut limits = Vec::new();
    limits.extend(brief.budget.minutes.map(|minutes| format!("minutes: {minutes}")));
    limits.extend(brief.budget.usd.map(|usd| format!("usd: {usd}")));
    if limits.is_empty() {
        let reviewers = brief.tools.reviewers.len();
        let edits = (1 + 2 * reviewers) * (loops::EDIT_RETRIES + 1);
        let reviews = (2 * reviewers + 1) * 2;
        limits.push(format!(
            "agent_runs: {}",
            loops * (edits + reviews) + items * (loops::EDIT_RETRIES + 1) + 2
        ));
        limits.push(format!("minutes: {}", 240 * loops + 20 * items));
    }
    format!("budget: {{{}}}\n", limits.join(", "))
}

fn environment(brief: &Brief) -> String {
    let names: Vec<&str> = brief.environment.iter().map(|variable| variable.name.as_str()).collect();
    let secret: Vec<&str> =
        brief.environment.iter().filter(|one| one.is_secret).map(|one| one.name.as_str()).collect();
    let mut yaml = format!("env: {{required: {}}}\n", text::flow(&names));
    if !secret.is_empty() {
        yaml.push_str(&format!("secrets: {}\n", text::flow(&secret)));
    }
    yaml
}

/// The settings of the recipe of a track.
pub(super) fn track_settings(part: &Part<'_>, name: &str, track: &Track, steps: &[StepDraft]) -> String {
    let (brief, has_tests, has_plan) = (part.brief, part.has_tests(), part.has_plan());
    let mut yaml = text::entry(0, "name", name);
    yaml.push_str("version: \"1.0\"\n");
    yaml.push_str(&text::entry(0, "description", &one_line(&track.title)));
    yaml.push_str(
        "shell: strict\ndefault_step_timeout: 30m\nrecursion: {max_depth: 1, max_total_steps: 100}\n",
    );
    yaml.push_str(&budget(brief, 1, 0));
    yaml.push_str("inputs:\n");
    yaml.push_str("  - {name: spec_text, description: the spec, required: true}\n");
    yaml.push_str("  - {name: base_commit, description: the commit before the work, required: true}\n");
    if has_tests {
        yaml.push_str(
            "  - {name: tests_before, description: result of the tests before the change, default: \"\"}\n",
        );
    }
    if has_plan {
        yaml.push_str("  - {name: plan, description: the plan of the whole work, default: \"\"}\n");
    }
    if steps.iter().any(|step| step.text().contains("{{braces}}")) {
        yaml.push_str("context:\n  braces: \"{{\"    # double braces of the spec, which are no template\n");
    }
    yaml
}

/// The steps that prove each criterion, by their paths.
fn proofs(brief: &Brief, recipes: &[RecipeDraft]) -> Vec<CriterionSteps> {
    let prefix = |recipe: &RecipeDraft| match recipe.name == brief.name {
        true => String::new(),
        false => format!("track-{}/", &recipe.name[brief.name.len() + 1..]),
    };
    let of = |number: usize| {
        let (one, many) = (format!("accept-{number}"), format!("accept-{number}-"));
        recipes
            .iter()
            .flat_map(|recipe| {
                let ids = recipe.steps.iter().map(|step| &step.id);
                let ids = ids.filter(|id| **id == one || id.starts_with(&many));
                ids.map(|id| format!("{}{id}", prefix(recipe))).collect::<Vec<_>>()
            })
            .collect()
    };
    brief.criteria.iter().map(|one| CriterionSteps { criterion: one.number, steps: of(one.number) }).collect()
}
