//! Usage of agents, as far as they report it. Never guesses missing values.

use serde::{Deserialize, Serialize};

/// Usage of an agent; values that its program does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// The agent program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the calls had several models, so that `model` is absent.
    #[serde(skip)]
    pub has_several_models: bool,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the agent was limited to; absent if it could do everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Tokens read, as the program counts them: some include those from a cache, some do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Number of agent calls.
    #[serde(default)]
    pub runs: u64,
    /// How many of these calls did not report their cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub runs_without_cost: u64,
    /// Seconds that it worked.
    #[serde(default)]
    pub seconds: f64,
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds the usage of another agent. Program and model are kept only if all were the same.
    pub fn count(&mut self, more: &Usage) {
        let is_first = self.runs == 0;
        let before = self.clone();
        self.add(more);
        if is_first {
            return;
        }
        // a call that does not name its program or model contradicts nothing
        let agrees = |mine: &Option<String>, theirs: &Option<String>| theirs.is_none() || mine == theirs;
        let is_same = agrees(&before.program, &more.program);
        let kept = |mine: &Option<String>, theirs: &Option<String>| {
            mine.clone().filter(|_| is_same && agrees(mine, theirs))
        };
        self.program = kept(&before.program, &more.program);
        let is_unknown = before.model.is_none() && !before.has_several_models;
        self.model = match more.program.is_some() && is_same && is_unknown {
            true => more.model.clone(),
            false => kept(&before.model, &more.model),
        };
        let is_lost = before.model.is_some() && self.model.is_none();
        self.has_several_models = before.has_several_models || is_lost || !is_same;
        self.session = kept(&before.session, &more.session);
        self.permissions = kept(&before.permissions, &more.permissions);
    }

    /// Adds more usage of the same agent; a value that is unknown on both sides stays unknown.
    pub fn add(&mut self, more: &Usage) {
        fn sum<T: Copy + std::ops::Add<Output = T>>(total: &mut Option<T>, more: Option<T>) {
            *total = match (*total, more) {
                (Some(total), Some(more)) => Some(total + more),
                (total, more) => total.or(more),
            };
        }
        sum(&mut self.input_tokens, more.input_tokens);
        sum(&mut self.output_tokens, more.output_tokens);
        sum(&mut self.cache_read_tokens, more.cache_read_tokens);
        sum(&mut self.cache_write_tokens, more.cache_write_tokens);
        sum(&mut self.cost_usd, more.cost_usd);
        sum(&mut self.turns, more.turns);
        self.runs += more.runs;
        self.runs_without_cost += more.runs_without_cost;
        self.seconds += more.seconds;
        for (mine, theirs) in [
            (&mut self.program, &more.program),
            (&mut self.model, &more.model),
            (&mut self.session, &more.session),
            (&mut self.permissions, &more.permissions),
        ] {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
    }

    /// The same as it is stored.
    #[must_use]
    pub fn stored(&self) -> Usage {
        Usage { has_several_models: false, ..self.clone() }
    }

    /// Tokens in and out; unknown if neither is known.
    pub fn tokens(&self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0) + output.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Usage of these runs, each as program and model; `-` is unknown.
    fn check(runs: &[(&str, &str)], expected: (&str, &str)) {
        let known = |text: &str| Some(text.to_owned()).filter(|text| text != "-");
        let mut sum = Usage::default();
        for (program, model) in runs {
            let (program, model) = (known(program), known(model));
            sum.count(&Usage { session: program.clone(), program, model, runs: 1, ..Usage::default() });
        }
        let expected = (known(expected.0), known(expected.1));
        assert_eq!((&sum.program, &sum.model), (&expected.0, &expected.1), "{runs:?}");
        assert_eq!((sum.runs, sum.session), (runs.len() as u64, expected.0), "{runs:?}");
    }

    #[test]
    fn agents_are_not_mixed() {
        check(&[("claude", "m")], ("claude", "m"));
        check(&[("claude", "m"), ("claude", "m")], ("claude", "m"));
        check(&[("claude", "m"), ("claude", "-")], ("claude", "m"));
        check(&[("claude", "m"), ("claude", "n")], ("claude", "-"));
        check(&[("claude", "m"), ("codex", "-")], ("-", "-"));
        check(&[("codex", "-"), ("claude", "m")], ("-", "-"));
        check(&[("claude", "m"), ("codex", "-"), ("claude", "m")], ("-", "-"));
        check(&[("claude", "-"), ("claude", "m")], ("claude", "m"));
        check(&[("claude", "-"), ("claude", "m"), ("claude", "-"), ("claude", "n")], ("claude", "-"));
        check(&[("claude", "m"), ("claude", "n"), ("claude", "m")], ("claude", "-"));
        // the end of this agent call was not seen
        check(&[("claude", "m"), ("-", "-")], ("claude", "m"));
        check(&[("claude", "m"), ("codex", "-"), ("-", "-")], ("-", "-"));
        check(&[("-", "-"), ("claude", "m")], ("-", "-"));
    }
}
