//! Chooses the program of every role, with rule, reason and line.

use crate::{
    brief::{Depth, ModelChoice, ToolChoice, ToolRule, Tools},
    tools::hints::{AgentRole, Hint},
    words::tools,
};

/// Everything that a choice depends on.
pub(crate) struct ToolFacts<'a> {
    pub(crate) hints: &'a [Hint],
    /// `--writer`.
    pub(crate) flag_writer: Option<&'a str>,
    /// `--reviewers`.
    pub(crate) flag_reviewers: Option<&'a [String]>,
    /// The best skill that names a program, and the program.
    pub(crate) skill_agent: Option<(String, String)>,
    /// Skill, model, and the program that the model belongs to.
    pub(crate) skill_model: Option<(String, String, Option<String>)>,
    pub(crate) config_writer: Option<&'a str>,
    pub(crate) config_reviewers: &'a [String],
    pub(crate) depth: Depth,
}

/// Two hints that cannot both be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    /// `writer` or `planner`.
    pub(crate) role: &'static str,
    /// The programs, in the order of the spec.
    pub(crate) programs: Vec<String>,
    /// The words of the hints.
    pub(crate) texts: Vec<String>,
    pub(crate) line: usize,
}

/// Chooses the programs; contradictions are decided by the hint that comes last.
pub(crate) fn choose(facts: &ToolFacts) -> (Tools, Vec<Contradiction>) {
    let mut contradictions = Vec::new();
    let every = last(facts, AgentRole::Every);
    let writer_hint = single(facts, AgentRole::Writer, "writer", &mut contradictions);
    let planner_hint = single(facts, AgentRole::Planner, "planner", &mut contradictions);
    let reviewer_hints = reviewers_of(facts);
    let reviewer_programs: Vec<String> = match facts.flag_reviewers {
        Some(given) => given.to_vec(),
        None => reviewer_hints.iter().map(|hint| hint.program.clone()).collect(),
    };
    let writer = writer(facts, writer_hint, every, &reviewer_programs);
    let reviewers = reviewers(facts, &reviewer_hints, every, &writer.program);
    let planner = match planner_hint.or(every) {
        Some(hint) => hinted("planner", hint),
        None => ToolChoice {
            role: "planner".to_owned(),
            reason: "the same program as the writer".to_owned(),
            ..writer.clone()
        },
    };
    let is_same = reviewers.iter().any(|choice| choice.program == writer.program);
    let same_program = is_same.then(|| writer.program.clone());
    (Tools { writer, reviewers, planner, same_program }, contradictions)
}

fn of_role<'a>(facts: &ToolFacts<'a>, role: AgentRole) -> impl Iterator<Item = &'a Hint> {
    facts.hints.iter().filter(move |hint| hint.role == role && !hint.is_denied)
}

fn last<'a>(facts: &ToolFacts<'a>, role: AgentRole) -> Option<&'a Hint> {
    of_role(facts, role).last()
}

fn reviewers_of<'a>(facts: &ToolFacts<'a>) -> Vec<&'a Hint> {
    let mut found: Vec<&Hint> = Vec::new();
    for hint in of_role(facts, AgentRole::Reviewer) {
        if !found.iter().any(|known| known.program == hint.program) {
            found.push(hint);
        }
    }
    found
}

/// The hint for a role that only one program can have.
fn single<'a>(
    facts: &ToolFacts<'a>,
    role: AgentRole,
    name: &'static str,
    found: &mut Vec<Contradiction>,
) -> Option<&'a Hint> {
    let hints: Vec<&Hint> = of_role(facts, role).collect();
    let last = hints.last().copied()?;
    let every: Vec<&Hint> = of_role(facts, AgentRole::Every).collect();
    let mut programs: Vec<String> = Vec::new();
    for hint in hints.iter().chain(&every) {
        if !programs.contains(&hint.program) {
            programs.push(hint.program.clone());
        }
    }
    let is_decided = name == "writer" && facts.flag_writer.is_some();
    if programs.len() > 1 && !is_decided {
        let texts = hints.iter().chain(&every).map(|hint| hint.text.clone()).collect();
        found.push(Contradiction { role: name, programs, texts, line: last.line });
    }
    Some(last)
}

fn choice(role: &str, program: &str, rule: ToolRule, reason: String) -> ToolChoice {
    ToolChoice { role: role.to_owned(), program: program.to_owned(), model: None, rule, reason, line: None }
}

fn hinted(role: &str, hint: &Hint) -> ToolChoice {
    let reason = format!("the spec says \"{}\"", hint.text);
    let model = hint.model.as_ref().map(|name| ModelChoice {
        name: name.clone(),
        rule: ToolRule::Spec,
        reason: reason.clone(),
        line: Some(hint.line),
    });
    ToolChoice { model, line: Some(hint.line), ..choice(role, &hint.program, ToolRule::Spec, reason) }
}

fn is_denied(facts: &ToolFacts, role: AgentRole, program: &str) -> bool {
    facts.hints.iter().any(|hint| {
        hint.is_denied && (hint.role == role || hint.role == AgentRole::Every) && hint.program == program
    })
}

fn writer(facts: &ToolFacts, hint: Option<&Hint>, every: Option<&Hint>, reviewers: &[String]) -> ToolChoice {
    let role = "writer";
    let mut chosen = if let Some(program) = facts.flag_writer {
        choice(role, program, ToolRule::Flag, "--writer".to_owned())
    } else if let Some(hint) = hint.or(every) {
        hinted(role, hint)
    } else if let Some((skill, agent)) = &facts.skill_agent {
        choice(role, agent, ToolRule::Skill, format!("the skill `{skill}` names it"))
    } else if let Some(program) = facts.config_writer {
        choice(role, program, ToolRule::Configuration, "`generate.writer` of the configuration".to_owned())
    } else {
        let order = &tools().order;
        let is_free =
            |program: &&String| !reviewers.contains(program) && !is_denied(facts, AgentRole::Writer, program);
        let program = order.iter().find(is_free).or(order.first()).map_or("claude", String::as_str);
        let reason = match program == order.first().map_or("claude", String::as_str) {
            true => "the default writer".to_owned(),
            false => "the first program that is not a reviewer".to_owned(),
        };
        choice(role, program, ToolRule::Default, reason)
    };
    if chosen.model.is_none() {
        let fits = |agent: &Option<String>| agent.as_ref().is_none_or(|agent| *agent == chosen.program);
        let model = facts.skill_model.as_ref().filter(|(_, _, agent)| fits(agent));
        chosen.model = model.map(|(skill, model, _)| ModelChoice {
            name: model.clone(),
            rule: ToolRule::Skill,
            reason: format!("the skill `{skill}` names it"),
            line: None,
        });
    }
    chosen
}

fn reviewers(facts: &ToolFacts, hints: &[&Hint], every: Option<&Hint>, writer: &str) -> Vec<ToolChoice> {
    let role = |at: usize| format!("reviewer-{}", at + 1);
    if let Some(given) = facts.flag_reviewers {
        let choices = given.iter().enumerate();
        return choices
            .map(|(at, program)| choice(&role(at), program, ToolRule::Flag, "--reviewers".to_owned()))
            .collect();
    }
    if !hints.is_empty() {
        return hints.iter().enumerate().map(|(at, hint)| hinted(&role(at), hint)).collect();
    }
    if let Some(hint) = every {
        return vec![hinted(&role(0), hint)];
    }
    let most = if facts.depth == Depth::Light { 1 } else { 2 };
    let is_free = |program: &&String| *program != writer && !is_denied(facts, AgentRole::Reviewer, program);
    let configured: Vec<&String> = facts.config_reviewers.iter().filter(is_free).collect();
    if !configured.is_empty() {
        let reason = "`generate.reviewers` of the configuration".to_owned();
        let most = if facts.depth == Depth::Light { 1 } else { configured.len() };
        let chosen = configured.into_iter().take(most).enumerate();
        return chosen
            .map(|(at, program)| choice(&role(at), program, ToolRule::Configuration, reason.clone()))
            .collect();
    }
    let chosen = tools().order.iter().filter(is_free).take(most).enumerate();
    let reason = |at: usize| match at {
        0 => "the first default reviewer that is not the writer".to_owned(),
        _ => "the next default reviewer that is not the writer".to_owned(),
    };
    chosen.map(|(at, program)| choice(&role(at), program, ToolRule::Default, reason(at))).collect()
}
