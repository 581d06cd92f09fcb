//! What agents used, in words. Unknown values are never shown as zero.

use engine::run::event::Usage;

use super::words::count;

/// Usage of the agents; values that were not reported are shown as unknown.
pub(crate) fn agents(usage: &Usage) -> String {
    let calls = count(usage.runs as usize, "call");
    if usage.tokens().is_none() && usage.cost_usd.is_none() {
        return format!("{calls} (usage not reported)");
    }
    let model = usage.model.as_ref().map(|model| format!("model {model}"));
    let tokens = usage.tokens().map(|tokens| format!("tokens {tokens}"));
    let cost = format!("cost {}", cost(usage.cost_usd, usage.runs_without_cost));
    [Some(calls), model, tokens, Some(cost)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The usage of one step: model, tokens and cost, as far as they are known.
pub(crate) fn spent(usage: &Usage) -> Option<String> {
    let tokens = usage.tokens().map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost_usd.map(|_| cost(usage.cost_usd, usage.runs_without_cost));
    let calls = (usage.runs > 1).then(|| count(usage.runs as usize, "call"));
    let known: Vec<String> = [calls, usage.model.clone(), tokens, cost].into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The same in few words: values that were not reported are left out.
pub(crate) fn known_usage(usage: &Usage) -> String {
    let runs = Some(format!("agents: {}", count(usage.runs as usize, "call")));
    let tokens = usage.tokens().map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost_usd.map(|_| cost(usage.cost_usd, usage.runs_without_cost));
    [runs, usage.model.clone(), tokens, cost].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The cost in dollars, and how many calls did not report theirs.
pub(crate) fn cost(known: Option<f64>, silent: u64) -> String {
    match (known, silent) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), silent) => {
            format!("at least ${cost:.4} (not reported for {})", count(silent as usize, "call"))
        }
    }
}
