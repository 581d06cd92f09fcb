//! Reading, checking and evaluating, measured inside this process. Starts no program.

use std::{hint::black_box, sync::Arc, time::Instant};

use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    condition::Condition,
    value::{Map, Value},
};

use crate::{
    program::{Bench, median},
    recipes,
    table::Row,
};

/// Recipes in memory, by name.
struct Shelf(Vec<(String, Arc<[u8]>)>);

impl Loader for Shelf {
    fn recipe(&self, name: &str, _from: &str) -> Result<Loaded, LoadError> {
        let found = self.0.iter().find(|(known, _)| known == name);
        let (name, bytes) = found.ok_or(LoadError::NotFound { searched: Vec::new() })?;
        Ok(Loaded { path: name.clone(), bytes: Arc::clone(bytes) })
    }

    fn agent(&self, _reference: &AgentRef, _from: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// A step as people write them: a template, a condition, an output.
fn typical(n: usize) -> String {
    format!(
        "  - id: step-{n}\n    command: echo \"{{{{value_{}}}}}\" | tee log\n    condition: value_{} != 'stop'\n    output: value_{n}\n",
        n.saturating_sub(1),
        n.saturating_sub(1)
    )
}

fn recipe(count: usize) -> Arc<[u8]> {
    let head = "name: part\ncontext:\n  value_0: go\nrecursion:\n  max_total_steps: 100000\nsteps:\n";
    let text = (1..=count).fold(head.to_owned(), |text, n| text + &typical(n));
    text.into_bytes().into()
}

fn time_of(shelf: &Shelf, root: &Arc<[u8]>) -> f64 {
    let times = (0..9).map(|_| {
        let root = Loaded { path: "root".to_owned(), bytes: Arc::clone(root) };
        let clock = Instant::now();
        let checked = check(root, shelf, &Given::default());
        let seconds = clock.elapsed().as_secs_f64();
        assert!(checked.plan.is_some(), "{:?}", checked.diagnostics.first());
        seconds
    });
    median(times.collect())
}

/// Reading and checking.
pub(crate) fn reading(_: &Bench) -> Vec<Row> {
    let single = time_of(&Shelf(Vec::new()), &recipe(2_000));
    let parts = (0..10).map(|n| (format!("part-{n}"), recipe(2_000))).collect();
    let names = (0..10).map(|n| format!("  - id: part-{n}\n    recipe: part-{n}\n"));
    let split = time_of(&Shelf(parts), &recipes::of(names).into_bytes().into());
    vec![
        Row::time("reading and checking 2,000 steps", single, None, 20e-3),
        Row::ratio(
            "20,000 steps in 10 sub-recipes ÷ 10 × 2,000",
            split,
            single * 10.0,
            split / (single * 10.0),
            1.25,
        ),
    ]
}

fn evaluation(condition: &Condition, context: &Map) -> f64 {
    let times = (0..9).map(|_| {
        let rounds = 100_000;
        let clock = Instant::now();
        for _ in 0..rounds {
            assert!(condition.holds(black_box(context)).is_ok());
        }
        clock.elapsed().as_secs_f64() / f64::from(rounds)
    });
    median(times.collect())
}

/// Conditions.
pub(crate) fn conditions(_: &Bench) -> Vec<Row> {
    let context = |length: usize| -> Map {
        let members = [
            ("status", Value::from("ok")),
            ("count", Value::from(12.0)),
            ("branch", Value::from("feature/new-thing")),
            ("text", Value::from("x".repeat(length))),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let read = |text: &str| Condition::parse(text).expect("it is a condition");
    let typical = read("status == 'ok' and count > 3 and 'feature' in branch");
    let large = read("text != 'stop' and text");
    let (big, small) = (evaluation(&large, &context(10_000_000)), evaluation(&large, &context(10)));
    vec![
        Row::time("evaluating a typical condition", evaluation(&typical, &context(10)), None, 1e-6),
        Row::ratio("condition on a value of 10 MB ÷ of 10 bytes", big, small, big / small, 1.5),
    ]
}
