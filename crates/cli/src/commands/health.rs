//! `health`: statistics of stored runs by recipe.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use runtime::runs::health::{Health, Query, RecipeHealth, health};
use serde_json::Value as Json;

use crate::{
    args::{options::OutputFormat, stored::HealthArgs},
    commands::stored_runs,
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{
        failure::{Failure, clean},
        hints::Hints,
        usage::cost,
    },
};

/// Shows the health of recipes.
pub(crate) fn show(args: &HealthArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let query = query(args).map_err(|failure| failure.announce(format, out))?;
    let runs = stored_runs::runs_at(args.state.state_dir.as_deref(), environment)
        .map_err(|failure| failure.announce(format, out))?;
    let found = health(&runs, &query);
    match format {
        OutputFormat::Json => out.json(&json(&found, &runs.hints)),
        OutputFormat::Text => out.result(&clean(&text(&found, &runs.hints))),
    }
    Ok(Exit::Success)
}

fn query(args: &HealthArgs) -> Result<Query, Failure> {
    Ok(Query {
        since: args.since.as_deref().map(time).transpose()?,
        until: args.until.as_deref().map(time).transpose()?,
        recipe: args.recipe.clone(),
    })
}

/// A time: `2026-11-15`, `2026-11-15T09:00:00Z`, or an age such as `7d`, `12h`, `30m`.
fn time(text: &str) -> Result<Timestamp, Failure> {
    let age = text.strip_suffix(['d', 'h', 'm']).and_then(|number| number.parse::<i64>().ok());
    if let Some(number) = age {
        let seconds = match text.as_bytes().last() {
            Some(b'd') => 86_400,
            Some(b'h') => 3_600,
            _ => 60,
        };
        let back = SignedDuration::from_secs(number.saturating_mul(seconds));
        return Ok(runtime::os::clock::now().checked_sub(back).unwrap_or(Timestamp::MIN));
    }
    let civil = || {
        let date: Result<DateTime, _> = text.parse().or_else(|_| format!("{text}T00:00:00").parse());
        date.ok().and_then(|date| date.to_zoned(TimeZone::system()).ok()).map(|zoned| zoned.timestamp())
    };
    text.parse().ok().or_else(civil).ok_or_else(|| {
        Failure::new(Exit::BadArguments, format!("`{text}` is not a time"))
            .hint("write a date (2026-11-15), a time (2026-11-15T09:00:00Z), or an age (7d, 12h, 30m)")
    })
}

/// The same for programs.
fn json(found: &Health, hints: &Hints) -> Json {
    let mut json = serde_json::to_value(found).unwrap_or_default();
    for (at, recipe) in found.recipes.iter().enumerate() {
        for (number, finding) in recipe.findings.iter().enumerate() {
            let recommendation = hints.advice(&finding.recommendation);
            json["recipes"][at]["findings"][number]["recommendation"] = recommendation.into();
        }
    }
    json
}

fn text(found: &Health, hints: &Hints) -> String {
    let mut lines: Vec<String> = found.recipes.iter().map(|recipe| recipe_text(recipe, hints)).collect();
    if found.runs == 0 {
        lines.push("no finished runs to look at".to_owned());
    }
    lines.extend(found.unreadable.iter().map(|(run, reason)| format!("run {run} cannot be read: {reason}")));
    lines.join("\n\n")
}

fn recipe_text(recipe: &RecipeHealth, hints: &Hints) -> String {
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let seconds = |value: Option<f64>| known(value.map(|value| format!("{value:.1} s")));
    let mut lines = vec![
        format!(
            "{}: {}, {} passed ({})",
            recipe.recipe,
            crate::report::words::count(recipe.runs, "run"),
            recipe.passed,
            known(recipe.pass_rate.map(|rate| format!("{:.0} %", rate * 100.0)))
        ),
        format!(
            "  scores: recipe {}, environment {}",
            known(recipe.recipe_score.map(|score| score.to_string())),
            known(recipe.environment_score.map(|score| score.to_string()))
        ),
        format!(
            "  time: {} on average, 95 % under {}; retries {}, timeouts {}",
            seconds(recipe.average_duration),
            seconds(recipe.p95_duration),
            recipe.retries,
            recipe.timeouts
        ),
    ];
    if recipe.agent_runs > 0 {
        lines.push(format!(
            "  agents: {}, tokens {}, cost {}",
            crate::report::words::count(recipe.agent_runs as usize, "call"),
            known(recipe.tokens.map(|tokens| tokens.to_string())),
            cost(recipe.cost_usd, recipe.agent_runs_without_cost)
        ));
    }
    if !recipe.failed_runs.is_empty() {
        lines.push("  failures:".to_owned());
    }
    for (class, runs) in &recipe.failed_runs {
        lines.push(format!("    {class} {}: {}", runs.len(), newest(runs)));
    }
    for finding in &recipe.findings {
        let step = finding.step.as_ref().map(|step| format!(" `{step}`")).unwrap_or_default();
        lines.push(format!(
            "  - {}{step}: {} (runs {})",
            finding.kind.replace('_', " "),
            finding.metric,
            newest(&finding.run_ids)
        ));
        lines.push(format!("    {}", hints.advice(&finding.recommendation)));
    }
    lines.join("\n")
}

/// The newest runs of a list that starts with the oldest.
fn newest(runs: &[String]) -> String {
    const LISTED: usize = 5;
    let shown: Vec<&str> = runs.iter().rev().take(LISTED).map(String::as_str).collect();
    let more = match runs.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}
