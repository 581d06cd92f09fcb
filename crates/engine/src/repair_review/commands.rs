//! The work of a step before and after: its command, its prompt, its recipe.

use recipe::{
    plan::{AgentStep, AskStep, Step, StepKind, Target, ValueTemplate},
    shell::syntax::{self, CommandList},
    template::Template,
};

use super::{
    ChangedPart, Changes, Pair, ReviewRule,
    corrections::{self, names_resolve},
    outside_effects,
    reliability::{self, cannot_fail},
    roles::Role,
};

/// Reviews what a step does.
pub(super) fn review_work(pair: &Pair<'_>, at: usize, new: &Step, changes: &mut Changes) {
    let (old, role) = (&*pair.old.steps[at], pair.roles[at]);
    let id = Some(old.id.as_str());
    match (&old.kind, &new.kind) {
        (StepKind::Shell { command: left }, StepKind::Shell { command: right }) => {
            if left.text() == right.text() {
                return;
            }
            let (left_names, right_names) = (owned(&left.names()), owned(&right.names()));
            let resolves = names_resolve(pair, &left_names, left.text(), &right_names, right.text());
            let rule = match resolves {
                true => ReviewRule::NameResolves,
                false => review_command(pair, left.text(), right.text(), role),
            };
            changes.add(ChangedPart::Command, id, rule);
        }
        (StepKind::Agent(left), StepKind::Agent(right)) => review_agent(&old.id, left, right, changes),
        (StepKind::Nested { .. }, StepKind::Nested { .. }) => review_nested(old, new, changes),
        (StepKind::Ask(left), StepKind::Ask(right)) => review_question(&old.id, left, right, changes),
        _ => {
            let rule = match role {
                Role { effect: true, .. } => ReviewRule::EffectLost,
                Role { verifies: true, failed: false, .. } => ReviewRule::CheckRemoved,
                _ => ReviewRule::NoRule,
            };
            changes.add(ChangedPart::Kind, id, rule);
        }
    }
}

fn owned(names: &[(&recipe::scope::Path, std::ops::Range<usize>)]) -> corrections::KnownNames {
    names.iter().map(|(path, range)| ((*path).clone(), range.clone())).collect()
}

/// The rule that decides about a changed command.
fn review_command(pair: &Pair<'_>, old: &str, new: &str, role: Role) -> ReviewRule {
    let before = syntax::parse(old);
    let Some(after) = syntax::parse(new) else { return ReviewRule::NotParsed };
    if let Some(rule) =
        before.as_ref().and_then(|before| outside_effects::lost(pair.knowledge, before, &after))
    {
        return rule;
    }
    let is_conditional_now =
        |before: &CommandList| outside_effects::is_conditional_now(pair.knowledge, before, &after);
    if role.effect && before.as_ref().is_some_and(is_conditional_now) {
        return ReviewRule::EffectConditional;
    }
    let cannot_fail = |list: &CommandList| cannot_fail(pair.knowledge, list);
    if cannot_fail(&after) && !before.as_ref().is_some_and(cannot_fail) {
        return ReviewRule::AlwaysSucceeds;
    }
    let Some(before) = before else { return role.unlisted() };
    if outside_effects::lost(pair.knowledge, &after, &before).is_some() {
        // it changes more outside than before
        return ReviewRule::EffectChanged;
    }
    if reliability::ignores_more(pair.knowledge, &before, &after) {
        return ReviewRule::FailureIgnored;
    }
    if is_same(&before, &after) {
        return ReviewRule::SameCommands;
    }
    match role.failed && corrections::is_correction(&before, &after) {
        true => ReviewRule::Correction,
        false => role.unlisted(),
    }
}

/// Whether two scripts differ in their form only. Quotes around text that bash would expand are more than form.
fn is_same(before: &CommandList, after: &CommandList) -> bool {
    let is_plain = |list: &CommandList| {
        list.nodes().iter().all(|node| match node {
            syntax::SyntaxNode::Text(text) => !text.contains(['*', '?', '[', '~', '{']) || *text == "[",
            syntax::SyntaxNode::Expansion(_) => false,
            syntax::SyntaxNode::Mark(_) => true,
        })
    };
    before.nodes() == after.nodes() && is_plain(before)
}

fn review_agent(id: &str, old: &AgentStep, new: &AgentStep, changes: &mut Changes) {
    let model = |agent: &AgentStep| agent.model.as_ref().map(|model| model.text().to_owned());
    let mut set = |name: &str, is_changed: bool| {
        if is_changed {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(id), ReviewRule::NoRule);
        }
    };
    set("agent", old.reference != new.reference || old.programs != new.programs || old.mode != new.mode);
    let texts = |templates: &[Template]| -> Vec<String> {
        templates.iter().map(|template| template.text().to_owned()).collect()
    };
    set("agent_args", texts(&old.args) != texts(&new.args));
    set("prompt_file", path(&old.prompt_file) != path(&new.prompt_file));
    set("model", model(old) != model(new));
    if old.auto_stage != new.auto_stage {
        let part = ChangedPart::Setting("auto_stage".to_owned());
        changes.add(part, Some(id), ReviewRule::NotAVerification);
    }
    let (left, right) = (old.prompt.text(), new.prompt.text());
    if left != right {
        let rule = if is_half_as_long(left, right) { ReviewRule::PromptKept } else { ReviewRule::NoRule };
        changes.add(ChangedPart::Prompt, Some(id), rule);
    }
}

/// The path of a prompt file that is known only when the step runs.
fn path(file: &Option<Template>) -> Option<&str> {
    file.as_ref().map(Template::text)
}

/// Whether a prompt has at least half as many words as before: a much shorter one may ask for less.
fn is_half_as_long(old: &str, new: &str) -> bool {
    let words = |text: &str| text.split_whitespace().count();
    2 * words(new) >= words(old)
}

fn review_nested(old: &Step, new: &Step, changes: &mut Changes) {
    let (
        StepKind::Nested { target: left, overrides: gave, recovery: had, recoverer: by },
        StepKind::Nested { target: right, overrides: gives, recovery: has, recoverer: now },
    ) = (&old.kind, &new.kind)
    else {
        return;
    };
    let mut set = |name: &str, is_changed: bool| {
        if is_changed {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(&old.id), ReviewRule::NoRule);
        }
    };
    let values = |overrides: &[(String, ValueTemplate)]| format!("{overrides:?}");
    let model = |agent: &recipe::plan::Recoverer| agent.model.as_ref().map(|model| model.text().to_owned());
    set("recipe", target_name(left) != target_name(right));
    set("context", values(gave) != values(gives));
    set("recovery_on_failure", had != has || by.programs != now.programs || model(by) != model(now));
}

/// Every change to a question is a question itself: a person relies on its words.
fn review_question(id: &str, old: &AskStep, new: &AskStep, changes: &mut Changes) {
    let shown = |ask: &AskStep| format!("{:?}", ask.show);
    for (name, is_changed) in [
        ("ask", old.question.text() != new.question.text()),
        ("show", shown(old) != shown(new)),
        ("choices", old.choices != new.choices),
        ("fields", format!("{:?}", old.fields) != format!("{:?}", new.fields)),
        ("on_timeout", old.on_timeout != new.on_timeout),
    ] {
        if is_changed {
            changes.add(ChangedPart::Setting(name.to_owned()), Some(id), ReviewRule::NoRule);
        }
    }
}

fn target_name(target: &Target) -> &str {
    match target {
        Target::Known { name, .. } => name,
        Target::Dynamic { name, .. } => name.text(),
    }
}
