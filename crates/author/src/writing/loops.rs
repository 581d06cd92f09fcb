//! The steps of agents: plan, edit, and for each reviewer in turn review, fix, final review, final fix.

use super::{
    prompts,
    step::{Edit, Role, StepDraft},
    text,
};
use crate::brief::{Brief, Check, Criterion, Pattern, Target, TargetKind, TargetSource, ToolChoice, Track};

/// The work that one loop of reviews covers: everything, or one track.
pub(crate) struct Part<'a> {
    pub brief: &'a Brief,
    pub track: Option<&'a Track>,
    pub targets: Vec<&'a Target>,
    /// Other tracks are edited at the same time.
    pub is_parallel: bool,
}

const EDIT_TIMEOUT: &str = "1h";
const REVIEW_TIMEOUT: &str = "30m";
const IDLE_TIMEOUT: &str = "15m";
/// How often an agent is asked again while a rule is not met.
pub(crate) const EDIT_RETRIES: usize = 3;

impl<'a> Part<'a> {
    /// Everything that the spec asks for.
    pub(crate) fn whole(brief: &'a Brief) -> Part<'a> {
        Part { brief, track: None, targets: brief.targets.paths.iter().collect(), is_parallel: false }
    }

    pub(crate) fn has_plan(&self) -> bool {
        self.brief.pattern.name == Pattern::Supervisor
    }

    pub(crate) fn has_tests(&self) -> bool {
        test_command(self.brief).is_some()
    }

    /// The criteria of this part.
    pub(crate) fn criteria(&self) -> impl Iterator<Item = &'a Criterion> + '_ {
        let name = self.track.map(|track| track.name.as_str());
        let is_here = move |criterion: &&Criterion| name.is_none() || criterion.track.as_deref() == name;
        self.brief.criteria.iter().filter(is_here)
    }

    /// The commands that must succeed after every edit of this part. A track must not depend on the unfinished files of
    /// another one.
    pub(crate) fn checks(&self) -> Vec<String> {
        let is_whole_graph = self.track.is_none() && super::tracks::is_graph(self.brief);
        if self.is_parallel || is_whole_graph { Vec::new() } else { checks(self.brief) }
    }

    /// The path of a step of this part in the run.
    pub(crate) fn path(&self, step: &str) -> String {
        match self.track {
            Some(track) => format!("track-{}/{step}", track.name),
            None => step.to_owned(),
        }
    }
}

/// The command that runs the tests of the project.
pub(crate) fn test_command(brief: &Brief) -> Option<&str> {
    let of_criterion = brief.criteria.iter().find_map(|criterion| match &criterion.check {
        Check::TestsPass { command, .. } => Some(command.as_str()),
        _ => None,
    });
    of_criterion.or(brief.project.test.as_ref().map(|found| found.command.as_str()))
}

/// The commands that must succeed after every edit.
pub(crate) fn checks(brief: &Brief) -> Vec<String> {
    let mut commands: Vec<String> = test_command(brief).map(str::to_owned).into_iter().collect();
    for criterion in &brief.criteria {
        if let Check::TestsPass { command, .. } | Check::Supporting { command, .. } = &criterion.check {
            commands.push(command.clone());
        }
    }
    commands.extend(brief.fix_loop.as_ref().and_then(|fix| fix.command.clone()));
    let mut seen = Vec::new();
    commands.retain(|command| {
        let is_new = !seen.contains(command);
        seen.push(command.clone());
        is_new
    });
    commands
}

/// A target as a pattern of `ensure`.
pub(crate) fn pattern(target: &Target) -> String {
    match target.kind {
        TargetKind::Glob => target.path.clone(),
        _ => escape(target.path.trim_end_matches('/')),
    }
}

/// A path in which no character is a wildcard.
fn escape(path: &str) -> String {
    path.chars().map(|c| if "*?[".contains(c) { format!("[{c}]") } else { c.to_string() }).collect()
}

/// Every pattern of a part; all files if the spec names none.
pub(crate) fn patterns(part: &Part<'_>) -> Vec<String> {
    let patterns: Vec<String> = part.targets.iter().map(|target| pattern(target)).collect();
    let is_stated = part.brief.targets.source != TargetSource::Unstated && !patterns.is_empty();
    if is_stated { patterns } else { vec!["**".to_owned()] }
}

/// A file that a test changes in the place of an agent.
pub(crate) fn sample_path(part: &Part<'_>) -> String {
    match part.targets.first() {
        None => "changed-by-the-agent.txt".to_owned(),
        Some(target) => match target.kind {
            TargetKind::Folder => format!("{}/changed-by-the-agent.txt", target.path.trim_end_matches('/')),
            TargetKind::Glob => target.path.replace("**/", "").replace("**", "x").replace(['*', '?'], "x"),
            _ => target.path.clone(),
        },
    }
}

/// The steps from the plan to the last fix.
pub(crate) fn steps(part: &Part<'_>) -> Vec<StepDraft> {
    let mut steps = Vec::new();
    if part.has_plan() && part.track.is_none() {
        steps.push(plan(part));
    }
    steps.push(implement(part));
    let reviewers = &part.brief.tools.reviewers;
    for (at, reviewer) in reviewers.iter().enumerate() {
        steps.extend(rounds(part, reviewer, at + 1));
    }
    if let Some(reviewer) = reviewers.first() {
        let fixes: Vec<String> =
            (1..=reviewers.len()).map(|number| format!("steps.final-fix-{number}.completed")).collect();
        steps.push(review(part, reviewer, &ReviewStep::confirm(fixes.join(" or "))));
        steps.push(blocked(part, "blocked-confirm", &["confirm"]));
    }
    steps
}

/// The steps of one reviewer.
fn rounds(part: &Part<'_>, reviewer: &ToolChoice, number: usize) -> Vec<StepDraft> {
    let (first, last) = (format!("review-{number}"), format!("final-review-{number}"));
    let blocked_id = format!("blocked-{number}");
    vec![
        review(part, reviewer, &ReviewStep::first(number)),
        fix(part, &format!("fix-{number}"), &first),
        review(part, reviewer, &ReviewStep::last(number)),
        blocked(part, &blocked_id, &[&first, &last]),
        fix(part, &format!("final-fix-{number}"), &last),
    ]
}

/// What makes one review different from another.
struct ReviewStep {
    id: String,
    condition: Option<String>,
    look: &'static str,
    blocked: String,
    has_schema: bool,
}

impl ReviewStep {
    fn first(number: usize) -> ReviewStep {
        ReviewStep {
            id: format!("review-{number}"),
            condition: None,
            look: "Review the work on the spec below, in the current directory.",
            blocked: format!("blocked-{number}"),
            has_schema: number == 1,
        }
    }

    fn last(number: usize) -> ReviewStep {
        ReviewStep {
            id: format!("final-review-{number}"),
            condition: Some(format!("review-{number}.verdict != 'BLOCKED'")),
            look: "Review the work on the spec below with fresh eyes, in the current directory. Earlier findings may have been fixed; look at everything.",
            blocked: format!("blocked-{number}"),
            has_schema: false,
        }
    }

    fn confirm(condition: String) -> ReviewStep {
        ReviewStep {
            id: "confirm".to_owned(),
            condition: Some(condition),
            look: "The work on the spec below was fixed after its last review. Review all of it once more, in the current directory.",
            blocked: "blocked-confirm".to_owned(),
            has_schema: false,
        }
    }
}

/// A step of an agent with what all of them have.
fn agent(step: StepDraft, tool: &ToolChoice, timeout: &str) -> StepDraft {
    step.yaml("agent_binary", &text::scalar(&tool.program))
        .optional("model", tool.model.as_ref().map(|model| model.name.as_str()))
        .yaml("timeout", timeout)
        .yaml("idle_timeout", IDLE_TIMEOUT)
        .yaml("auto_stage", "false")
}

fn plan(part: &Part<'_>) -> StepDraft {
    let step = StepDraft::new("plan", Role::Plan, "A plan before the first edit");
    agent(step, &part.brief.tools.planner, REVIEW_TIMEOUT)
        .yaml("permissions", "read-only")
        .body("prompt", &prompts::plan(part))
        .yaml("parse_json", "true")
        .yaml("parse_json_required", "true")
        .lines(
            "json_schema:",
            "type: object\nrequired: [steps, risks]\nproperties:\n  steps: {type: array, items: {type: string}, minItems: 1}\n  risks: {type: array, items: {type: string}}",
        )
        .lines("ensure:", "- unchanged: [\"**\"]")
        .yaml("ensure_retries", "0")
}

fn implement(part: &Part<'_>) -> StepDraft {
    let items = part.brief.items.as_ref().filter(|_| part.track.is_none());
    let is_path = items.is_some_and(|items| items.items.iter().all(|item| item.is_path));
    let writes = match items {
        Some(items) if is_path => items.items.iter().map(|item| item.text.clone()).collect(),
        _ => vec![sample_path(part)],
    };
    let edit = Edit { after: None, writes, items: items.map(|items| items.items.len()) };
    let step = StepDraft::new("implement", Role::Edit(edit), "");
    let step = agent(step, &part.brief.tools.writer, EDIT_TIMEOUT);
    let (step, changed) = match items {
        Some(items) => {
            let list: Vec<&str> = items.items.iter().map(|item| item.text.as_str()).collect();
            let parallel = if items.in_order { 1 } else { list.len().clamp(1, 3) };
            let step = step.yaml("for_each", &text::flow(&list)).yaml("max_parallel", &parallel.to_string());
            let step = match parallel {
                1 => step,
                _ => step.comment("lint: allow parallel-writers each agent changes the file of its item"),
            };
            (step, if is_path { vec!["{{item}}".to_owned()] } else { patterns(part) })
        }
        None => (step, patterns(part)),
    };
    editing(part, step, &changed).body("prompt", &prompts::implement(part))
}

fn fix(part: &Part<'_>, id: &str, review: &str) -> StepDraft {
    let edit = Edit { after: Some(review.to_owned()), writes: vec![sample_path(part)], items: None };
    let step = StepDraft::new(id, Role::Edit(edit), "")
        .field("condition", &format!("{review}.verdict == 'FINDINGS'"));
    let step = agent(step, &part.brief.tools.writer, EDIT_TIMEOUT);
    editing(part, step, &patterns(part)).body("prompt", &prompts::fix(part, review))
}

/// The rules of a step that edits.
fn editing(part: &Part<'_>, step: StepDraft, changed: &[String]) -> StepDraft {
    let brief = part.brief;
    let mut rules = format!("- changed: {}\n", text::flow(changed));
    if !brief.constraints.unchanged.is_empty() {
        let paths = brief.constraints.unchanged.iter().map(|(path, _)| path.trim_end_matches('/'));
        rules.push_str(&format!("- unchanged: {}\n", text::flow(paths)));
    }
    if let Some(most) = brief.constraints.max_changed_files {
        rules.push_str(&format!("- max_changed_files: {most}\n"));
    }
    for command in part.checks() {
        rules.push_str(&format!("- command: {}\n", text::scalar(&super::shell::inline(&command))));
    }
    step.lines("ensure:", &rules).yaml("ensure_retries", &EDIT_RETRIES.to_string())
}

fn review(part: &Part<'_>, reviewer: &ToolChoice, kind: &ReviewStep) -> StepDraft {
    let role = Role::Review { blocked: kind.blocked.clone(), is_conditional: kind.condition.is_some() };
    let mut step = StepDraft::new(&*kind.id, role, "");
    if let Some(program) = &part.brief.tools.same_program {
        step = step.comment(format!("lint: allow reviewer-is-writer the spec asks for {program} alone"));
    }
    if let Some(condition) = &kind.condition {
        step = step.field("condition", condition);
    }
    let step = agent(step, reviewer, REVIEW_TIMEOUT)
        .yaml("permissions", "read-only")
        .body("prompt", &prompts::review(part, kind.look))
        .yaml("parse_json", "true")
        .yaml("parse_json_required", "true");
    let step = match kind.has_schema {
        true => step.lines(
            "json_schema: &verdict",
            "type: object\nrequired: [verdict, findings]\nproperties:\n  verdict: {enum: [FINDINGS, NO_ISSUES_FOUND, BLOCKED]}\n  findings: {type: array}",
        ),
        false => step.yaml("json_schema", "*verdict"),
    };
    // the files of other tracks change while this review runs
    let untouched = if part.is_parallel { patterns(part) } else { vec!["**".to_owned()] };
    step.lines("ensure:", &format!("- unchanged: {}", text::flow(untouched))).yaml("ensure_retries", "0")
}

/// Stops for a person if one of these reviews could not judge the work.
fn blocked(part: &Part<'_>, id: &str, reviews: &[&str]) -> StepDraft {
    let conditions: Vec<String> =
        reviews.iter().map(|review| format!("{review}.verdict == 'BLOCKED'")).collect();
    let mut script = String::from(
        "printf 'BLOCKED_NO_COMMIT: a reviewer cannot judge the work; nothing was published\\n'\n",
    );
    for review in reviews {
        script.push_str(&format!("printf '%s: %s\\n' {review} {{{{{review}}}}}\n"));
    }
    let from = part.path(reviews[0]);
    script.push_str(&format!(
        "printf 'when the cause is gone: recipe-runner-rs resume %s --from {from}\\n' \"${{RECIPE_RUNNER_RUN_DIR##*/}}\"\nexit 75\n"
    ));
    StepDraft::new(id, Role::Blocked, "")
        .field("condition", &conditions.join(" or "))
        .yaml("timeout", "1m")
        .yaml("exit_codes", "{75: needs_human}")
        .body("command", &script)
}
