//! A recipe as the rules see it: what each step is for, as far as the recipe shows it.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use recipe::{
    graph,
    plan::{AgentStep, EnsureRule, Plan, Step, StepKind, Unit},
    step_facts::StepPath,
    syntax::{PermissionLevel, Shell},
};

use super::{
    clauses::{PromptClause, clauses},
    script::ScriptView,
};
use crate::knowledge::{Knowledge, authoring::AuthoringWords};

/// A recipe with its steps.
pub(super) struct UnitView<'a> {
    pub(super) plan: &'a Plan,
    pub(super) unit: &'a Unit,
    pub(super) knowledge: &'a Knowledge,
    pub(super) steps: Vec<StepView<'a>>,
    readers: OnceCell<Readers>,
}

/// Which steps of a recipe read what.
struct Readers {
    /// The steps that read a value, by its name.
    values: HashMap<String, HashSet<usize>>,
    /// The steps that ask how a step went, by its id.
    steps: HashMap<String, HashSet<usize>>,
}

impl Readers {
    fn of(plan: &Plan, unit: &Unit) -> Readers {
        let stored: HashSet<&String> = unit.steps.iter().filter_map(|step| step.store.as_ref()).collect();
        let ids: HashSet<&str> = unit.steps.iter().map(|step| step.id.as_str()).collect();
        let mut readers = Readers { values: HashMap::new(), steps: HashMap::new() };
        for (at, step) in unit.steps.iter().enumerate() {
            for name in graph::inputs(plan, step, stored.iter().copied()) {
                readers.values.entry(name).or_default().insert(at);
            }
            for path in graph::step_reads(step) {
                if let Some(asked) = StepPath::find(&path, &|id| ids.contains(id)) {
                    readers.steps.entry(asked.id).or_default().insert(at);
                }
            }
        }
        readers
    }
}

/// A step, and what it is for.
pub(super) struct StepView<'a> {
    pub(super) step: &'a Step,
    /// Its command, if it has one that can be parsed.
    pub(super) script: Option<ScriptView>,
    /// The commands under `ensure`, with those that can be parsed.
    pub(super) rules: Vec<RuleView<'a>>,
    /// The clauses of its prompt.
    pub(super) clauses: Vec<PromptClause>,
    /// Whether it asks an agent to change files.
    pub(super) asks_for_edits: bool,
    /// Whether it judges the work of another step.
    pub(super) is_review: bool,
    /// What it changes outside: declared, or known.
    pub(super) effects: Vec<String>,
}

/// A command under `ensure`.
pub(super) struct RuleView<'a> {
    pub(super) text: &'a str,
    pub(super) script: Option<ScriptView>,
}

impl<'a> UnitView<'a> {
    pub(super) fn of(plan: &'a Plan, unit: &'a Unit, knowledge: &'a Knowledge) -> UnitView<'a> {
        let steps = unit.steps.iter().map(|step| StepView::of(step, unit, knowledge)).collect();
        UnitView { plan, unit, knowledge, steps, readers: OnceCell::new() }
    }

    pub(super) fn words(&self) -> &'a AuthoringWords {
        self.knowledge.authoring()
    }

    /// Whether another step or the result reads the value of a step, or asks how it went.
    pub(super) fn is_read(&self, step: &Step) -> bool {
        let readers = self.readers.get_or_init(|| Readers::of(self.plan, self.unit));
        let by_others = |ids: Option<&HashSet<usize>>| {
            ids.is_some_and(|ids| ids.iter().any(|at| self.unit.steps[*at].id != step.id))
        };
        let name = step.store.as_ref();
        let mut shown = self.unit.result_template().into_iter().flat_map(|template| template.names());
        let is_shown = shown
            .any(|(path, _)| name == Some(&path.root) || StepPath::find(path, &|id| id == step.id).is_some());
        let until = step.repeat().and_then(|repeat| repeat.until.as_ref());
        let mut ends = until.into_iter().flat_map(|until| until.names());
        is_shown
            || by_others(name.and_then(|name| readers.values.get(name)))
            || by_others(readers.steps.get(&step.id))
            || ends.any(|(path, _)| name == Some(&path.root))
    }

    /// What an agent of this recipe may do, as far as the recipe says it; `around` is what the recipe around it says.
    pub(super) fn permission(
        &self,
        agent: &AgentStep,
        around: Option<PermissionLevel>,
    ) -> Option<PermissionLevel> {
        let own = agent.permissions.or(self.unit.limits.permissions).map(|permissions| permissions.level);
        own.or(around)
    }
}

impl<'a> StepView<'a> {
    fn of(step: &'a Step, unit: &Unit, knowledge: &Knowledge) -> StepView<'a> {
        let words = knowledge.authoring();
        let is_strict = |shell: Shell| shell == Shell::Strict;
        let script = match &step.kind {
            StepKind::Shell { command } => ScriptView::read(command.text(), is_strict(step.shell), knowledge),
            _ => None,
        };
        let rules = step.ensure.iter().filter_map(|rule| match rule {
            EnsureRule::Command(command) => {
                let script = ScriptView::read(command.text(), is_strict(unit.shell), knowledge);
                Some(RuleView { text: command.text(), script })
            }
            _ => None,
        });
        let clauses = match &step.kind {
            StepKind::Agent(agent) => clauses(agent.prompt.text(), words),
            _ => Vec::new(),
        };
        let is_review = matches!(step.kind, StepKind::Agent(_)) && is_review(step, &clauses, words);
        StepView {
            step,
            rules: rules.collect(),
            asks_for_edits: asks_for_edits(step, &clauses, words),
            is_review,
            effects: effects(step, script.as_ref(), words),
            script,
            clauses,
        }
    }

    /// The agent that it asks, if it does.
    pub(super) fn agent(&self) -> Option<&'a AgentStep> {
        match &self.step.kind {
            StepKind::Agent(agent) => Some(agent),
            _ => None,
        }
    }

    /// Whether a rule forbids it to change files.
    pub(super) fn is_kept_from_edits(&self) -> bool {
        self.step.ensure.iter().any(|rule| match rule {
            EnsureRule::Unchanged(_) | EnsureRule::MaxChangedFiles(0) => true,
            EnsureRule::OnlyChanged(patterns) => patterns.is_empty(),
            _ => false,
        })
    }

    /// Whether its command is known to judge something, or its name says so.
    pub(super) fn is_check(&self, knowledge: &Knowledge) -> bool {
        let Some(script) = &self.script else { return false };
        script.has_check(knowledge) || knowledge.names_a_check(&self.step.id)
    }
}

/// Whether a step asks an agent to change files: its prompt says so, or its fields do.
fn asks_for_edits(step: &Step, clauses: &[PromptClause], words: &AuthoringWords) -> bool {
    let StepKind::Agent(agent) = &step.kind else { return false };
    let is_edit = |level: PermissionLevel| level == PermissionLevel::Edit;
    let by_field = !step.produces.is_empty()
        || agent.permissions.is_some_and(|permissions| is_edit(permissions.level))
        || step.ensure.iter().any(|rule| matches!(rule, EnsureRule::Changed(_)));
    by_field || clauses.iter().any(|clause| is_edit_clause(clause, words))
}

fn is_edit_clause(clause: &PromptClause, words: &AuthoringWords) -> bool {
    let edits = &words.edits;
    let may_answer = clause.begins_with(&edits.making_verbs) || clause.begins_with(&["add".to_owned()]);
    if clause.is_negated || (may_answer && clause.has(&edits.answers)) {
        return false;
    }
    let names_path = || clause.words.iter().any(|word| is_path(word));
    let makes = || clause.begins_with(&edits.making_verbs) && (clause.object_has(edits) || names_path());
    clause.words.len() > 1 && (clause.begins_with(&edits.verbs) || makes())
}

/// Whether a word looks like the path of a file.
pub(super) fn is_path(word: &str) -> bool {
    let word = word.trim_matches('`');
    let has_ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    !word.contains("://") && !is_number && (has_ending || (word.contains('/') && word.len() > 3))
}

/// Whether a step judges the work of another one, by its name or by its first verb.
fn is_review(step: &Step, clauses: &[PromptClause], words: &AuthoringWords) -> bool {
    let parts: Vec<String> = step.id.split(['-', '_', '.']).map(str::to_lowercase).collect();
    let is_named =
        parts.first().into_iter().chain(parts.last()).any(|part| words.reviews.names.contains(part));
    let first = clauses.iter().find(|clause| !clause.is_negated);
    // `address-review` works on the findings of one
    let is_about = clauses.iter().any(|clause| is_edit_clause(clause, words))
        && !first.is_some_and(|clause| clause.begins_with(&words.reviews.verbs));
    let begins = clauses.iter().take(3).any(|clause| clause.begins_with(&words.reviews.verbs));
    (is_named && !is_about) || begins
}

/// What a step changes outside: as it declares, or as its command shows.
fn effects(step: &Step, script: Option<&ScriptView>, words: &AuthoringWords) -> Vec<String> {
    if !step.effects.is_empty() {
        return step.effects.clone();
    }
    let mut found: Vec<String> = Vec::new();
    for effect in
        script.iter().flat_map(|script| &script.commands).filter_map(|command| command.effect.as_ref())
    {
        let name = words.effects.name_of(effect).to_owned();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether a step asks an agent to change files.
pub(super) fn agent_edits(step: &Step, words: &AuthoringWords) -> bool {
    match &step.kind {
        StepKind::Agent(agent) => asks_for_edits(step, &clauses(agent.prompt.text(), words), words),
        _ => false,
    }
}
