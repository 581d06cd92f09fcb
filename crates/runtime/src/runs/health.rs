//! Health: statistics of stored runs by recipe. The same data gives the same bytes.
//!
//! Failures of the environment and failures of the recipe are always kept apart.

mod facts;

use std::collections::BTreeMap;

use engine::{
    RunStatus,
    failure::Responsibility,
    knowledge::{Habit, Knowledge},
    repair_review::cannot_fail,
    run::next::{Advice, Next},
};
use facts::RunFacts;
use jiff::Timestamp;
use recipe::{graph, plan::StepKind, shell::syntax};
use serde::Serialize;

use crate::runs::{OpenedRun, Runs};

/// Which runs count.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only those that began then or later.
    pub since: Option<Timestamp>,
    /// Only those that began then or earlier.
    pub until: Option<Timestamp>,
    /// Only those of this recipe.
    pub recipe: Option<String>,
}

/// Statistics of stored runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Health {
    /// How many runs were read.
    pub runs: usize,
    /// Runs that could not be read, with the reason.
    pub unreadable: BTreeMap<String, String>,
    /// Recipe by recipe.
    pub recipes: Vec<RecipeHealth>,
}

/// Statistics of the runs of one recipe.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecipeHealth {
    /// The recipe.
    pub recipe: String,
    /// Runs that have ended.
    pub runs: usize,
    /// Those that succeeded.
    pub passed: usize,
    /// Share of those that succeeded.
    pub pass_rate: Option<f64>,
    /// Failures by class.
    pub failures_by_class: BTreeMap<String, usize>,
    /// The ids of the failed runs, oldest first.
    pub failed_runs: BTreeMap<String, Vec<String>>,
    /// Failures by bucket.
    pub failures_by_bucket: BTreeMap<String, usize>,
    /// Attempts beyond the first.
    pub retries: usize,
    /// Steps that timed out.
    pub timeouts: usize,
    /// Seconds on average.
    pub average_duration: Option<f64>,
    /// The duration that 95 of 100 runs stay under.
    pub p95_duration: Option<f64>,
    /// Dollars, where known.
    pub cost_usd: Option<f64>,
    /// Number of agent calls.
    pub agent_runs: u64,
    /// How many of these did not report their cost.
    pub agent_runs_without_cost: u64,
    /// Tokens, where known.
    pub tokens: Option<u64>,
    /// 0 to 100: how often the recipe and its work are not to blame. Failures without another culprit count against it:
    /// timeouts, attempts that did not help, failures without an explanation.
    pub recipe_score: Option<u32>,
    /// 0 to 100: how often the environment is not to blame.
    pub environment_score: Option<u32>,
    /// Notable findings, with recommendations.
    pub findings: Vec<Finding>,
}

/// A notable finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// `recurring_failure`, `flaky_step`, `unchecked_step`, `oversized_step` or `outlier`.
    pub kind: &'static str,
    /// The recipe.
    pub recipe: String,
    /// The step, if the finding is about one.
    pub step: Option<String>,
    /// What was measured.
    pub metric: String,
    /// The runs that show it.
    pub run_ids: Vec<String>,
    /// What to do.
    pub recommendation: Advice,
}

/// A command or prompt of more lines than this is hard to understand and to repeat.
const MANY_LINES: usize = 150;
/// A run that takes this many times the usual time is an outlier.
const OUTLIER: f64 = 3.0;
/// The fewest runs that outliers are looked for in.
const ENOUGH: usize = 5;

/// Reads stored runs.
pub fn health(runs: &Runs, query: &Query) -> Health {
    let mut health = Health::default();
    let mut by_recipe: BTreeMap<String, Vec<RunFacts>> = BTreeMap::new();
    let mut ids = runs.ids();
    ids.reverse();
    for id in ids {
        match facts::facts(runs, runs.folder(&id)) {
            Ok(Some(facts)) if is_wanted(&facts, query) => {
                health.runs += 1;
                by_recipe.entry(facts.recipe.clone()).or_default().push(facts);
            }
            Ok(_) => {}
            Err(error) => {
                health.unreadable.insert(id, error.to_string());
            }
        }
    }
    health.recipes = by_recipe.into_iter().map(|(recipe, seen)| recipe_health(runs, recipe, &seen)).collect();
    health
}

fn is_wanted(run: &RunFacts, query: &Query) -> bool {
    query.since.is_none_or(|since| run.started_at >= since)
        && query.until.is_none_or(|until| run.started_at <= until)
        && query.recipe.as_ref().is_none_or(|recipe| *recipe == run.recipe)
}

fn recipe_health(runs: &Runs, recipe: String, seen: &[RunFacts]) -> RecipeHealth {
    let mut health = RecipeHealth { recipe, runs: seen.len(), ..RecipeHealth::default() };
    health.passed = seen.iter().filter(|run| run.status == RunStatus::Completed).count();
    let share = |count: usize| count as f64 / seen.len() as f64;
    health.pass_rate = (!seen.is_empty()).then(|| round(share(health.passed)));
    for run in seen {
        let Some(failure) = &run.failure else { continue };
        let class = failure.class.as_str();
        *health.failures_by_class.entry(class.to_owned()).or_default() += 1;
        health.failed_runs.entry(class.to_owned()).or_default().push(run.run_id.clone());
        *health.failures_by_bucket.entry(failure.bucket.as_str().to_owned()).or_default() += 1;
    }
    let blamed = |buckets: &[Responsibility]| {
        seen.iter()
            .filter(|run| run.failure.as_ref().is_some_and(|found| buckets.contains(&found.bucket)))
            .count()
    };
    let score = |count: usize| (!seen.is_empty()).then(|| ((1.0 - share(count)) * 100.0).round() as u32);
    let own = [Responsibility::Recipe, Responsibility::Work, Responsibility::Run, Responsibility::None];
    // a stopped run says nothing about its recipe
    let stopped = seen.iter().filter(|run| run.is_stopped()).count();
    health.recipe_score = score(blamed(&own) - stopped);
    health.environment_score = score(blamed(&[Responsibility::Environment]));
    let mut durations: Vec<f64> = seen.iter().map(|run| run.duration).collect();
    durations.sort_by(f64::total_cmp);
    health.average_duration =
        (!durations.is_empty()).then(|| round(durations.iter().sum::<f64>() / durations.len() as f64));
    health.p95_duration = percentile(&durations, 0.95).map(round);
    for run in seen {
        health.retries += run.retries;
        health.timeouts += run.timeouts;
        health.agent_runs += run.used.runs;
        health.agent_runs_without_cost += run.used.runs_without_cost;
        if let Some(cost) = run.used.cost_usd {
            health.cost_usd = Some(health.cost_usd.unwrap_or(0.0) + cost);
        }
        if let Some(tokens) = run.used.tokens() {
            health.tokens = Some(health.tokens.unwrap_or(0) + tokens);
        }
    }
    let mut findings = Vec::new();
    recurring(&health.recipe, seen, &mut findings);
    flaky(&health.recipe, seen, &mut findings);
    // the recipe as its last run has it
    let last = seen.last().and_then(|last| Some((last, runs.open(runs.folder(&last.run_id)).ok()?)));
    if let Some((last, opened)) = last {
        let is_same = |run: &&RunFacts| run.digest == last.digest;
        let run_ids: Vec<String> = seen.iter().filter(is_same).map(|run| run.run_id.clone()).collect();
        shape(&health.recipe, &opened, &run_ids, &mut findings);
    }
    outliers(&health.recipe, seen, &durations, &mut findings);
    health.findings = findings;
    health
}

/// The same class of failure at the same step, more than once.
fn recurring(recipe: &str, seen: &[RunFacts], findings: &mut Vec<Finding>) {
    let mut found: BTreeMap<(String, String, &'static str), Vec<String>> = BTreeMap::new();
    for run in seen {
        let Some(failure) = &run.failure else { continue };
        let Some(step) = failure.step.clone() else { continue };
        let key = (step, failure.class.as_str().to_owned(), failure.bucket.as_str());
        found.entry(key).or_default().push(run.run_id.clone());
    }
    for ((step, class, bucket), run_ids) in found.into_iter().filter(|(_, runs)| runs.len() > 1) {
        let recommendation = match bucket {
            "environment" => {
                format!("fix the environment of `{step}` before the next run; the recipe is fine")
            }
            "recipe" => format!("correct step `{step}` in the recipe"),
            _ => format!("look at the results of the steps before `{step}`, and at its check"),
        };
        let metric = format!("{} failures of class {class}", run_ids.len());
        findings.push(Finding {
            kind: "recurring_failure",
            recipe: recipe.to_owned(),
            step: Some(step),
            metric,
            run_ids,
            recommendation: Advice::new(recommendation),
        });
    }
}

/// Steps that both pass and fail.
fn flaky(recipe: &str, seen: &[RunFacts], findings: &mut Vec<Finding>) {
    let mut history: BTreeMap<String, Vec<(bool, String)>> = BTreeMap::new();
    for run in seen {
        for (step, passed) in &run.steps {
            history.entry(step.clone()).or_default().push((*passed, run.run_id.clone()));
        }
    }
    for (step, results) in history {
        let turns = results.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        if turns >= 2 {
            let run_ids = results.into_iter().filter(|(passed, _)| !passed).map(|(_, id)| id).collect();
            findings.push(Finding {
                kind: "flaky_step",
                recipe: recipe.to_owned(),
                recommendation: Advice::new(format!("give `{step}` a `retry`, or make its inputs reliable")),
                step: Some(step),
                metric: format!("{turns} changes between pass and fail"),
                run_ids,
            });
        }
    }
}

/// Findings about the recipe itself: agents without a check, steps that are too large.
fn shape(recipe: &str, opened: &OpenedRun, run_ids: &[String], findings: &mut Vec<Finding>) {
    let OpenedRun { plan, knowledge, .. } = opened;
    let unit = plan.root();
    let edges = graph::edges_in(plan, unit);
    for (at, step) in unit.steps.iter().enumerate() {
        let is_checked =
            edges.iter().any(|edge| edge.from == at && may_check(knowledge, &unit.steps[edge.to].kind));
        if matches!(step.kind, StepKind::Agent(_)) && !is_checked {
            findings.push(Finding {
                kind: "unchecked_step",
                recipe: recipe.to_owned(),
                step: Some(step.id.clone()),
                metric: "no check after it".to_owned(),
                run_ids: run_ids.to_vec(),
                recommendation: Advice::new(format!(
                    "add a bash step after `{}` that fails if its work is missing",
                    step.id
                )),
            });
        }
        let lines = match &step.kind {
            StepKind::Shell { command } => command.text().lines().count(),
            StepKind::Agent(agent) => agent.prompt.text().lines().count(),
            StepKind::Nested { .. } | StepKind::Ask(_) => 0,
        };
        if lines > MANY_LINES {
            findings.push(Finding {
                kind: "oversized_step",
                recipe: recipe.to_owned(),
                step: Some(step.id.clone()),
                metric: format!("{lines} lines"),
                run_ids: run_ids.to_vec(),
                recommendation: Advice::new(format!(
                    "split `{}` into steps that can be kept and repeated one by one",
                    step.id
                )),
            });
        }
    }
}

/// Commands that print something about the machine, or wait.
const IDLE: [&str; 7] = ["sleep", "date", "pwd", "id", "whoami", "hostname", "uname"];

/// Whether a step could fail because of another one's work: commands that only print or wait check nothing.
fn may_check(knowledge: &Knowledge, kind: &StepKind) -> bool {
    let StepKind::Shell { command } = kind else { return false };
    let Some(list) = syntax::parse(command.text()) else { return true };
    let is_idle = |words: &&[syntax::ShellWord]| {
        let name = words.first().map(syntax::ShellWord::text);
        name.is_none_or(|name| IDLE.contains(&name.as_str()) || knowledge.has_habit(&name, Habit::Constant))
    };
    !cannot_fail(knowledge, &list) && !list.simple_commands().iter().all(is_idle)
}

fn outliers(recipe: &str, seen: &[RunFacts], sorted: &[f64], findings: &mut Vec<Finding>) {
    let Some(median) = percentile(sorted, 0.5).filter(|median| *median > 0.0 && seen.len() >= ENOUGH) else {
        return;
    };
    for run in seen.iter().filter(|run| run.duration > OUTLIER * median) {
        findings.push(Finding {
            kind: "outlier",
            recipe: recipe.to_owned(),
            step: None,
            metric: format!("{:.1} s, while half of the runs take under {median:.1} s", run.duration),
            run_ids: vec![run.run_id.clone()],
            recommendation: Advice::with("see where the time went", Next::Show { run: run.run_id.clone() }),
        });
    }
}

fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = ((sorted.len() as f64 * share).ceil() as usize).max(1) - 1;
    sorted.get(at).copied()
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
