//! Reading, checking and evaluating, measured inside this process. Starts no program.

use std::{hint::black_box, sync::Arc, time::Instant};

use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    condition::Condition,
    value::{Map, Value},
};

use crate::{program::Bench, recipes, table::Row, turns::Pair};

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

/// The same steps as JSON, to be read as nothing but JSON.
fn as_json(count: usize) -> String {
    let step = |n: usize| {
        let before = n.saturating_sub(1);
        serde_json::json!({
            "id": format!("step-{n}"),
            "command": format!("echo \"{{{{value_{before}}}}}\" | tee log"),
            "condition": format!("value_{before} != 'stop'"),
            "output": format!("value_{n}"),
        })
    };
    let steps: Vec<serde_json::Value> = (1..=count).map(step).collect();
    serde_json::json!({"name": "part", "context": {"value_0": "go"}, "steps": steps}).to_string()
}

fn time_of(shelf: &Shelf, root: &Arc<[u8]>) -> f64 {
    let root = Loaded { path: "root".to_owned(), bytes: Arc::clone(root) };
    let clock = Instant::now();
    let checked = check(root, shelf, &Given::default());
    let seconds = clock.elapsed().as_secs_f64();
    assert!(checked.plan.is_some(), "{:?}", checked.diagnostics.first());
    seconds
}

/// Reading and checking.
pub(crate) fn reading(bench: &Bench) -> Vec<Row> {
    let (alone, nothing, json) = (recipe(2_000), Shelf(Vec::new()), as_json(2_000));
    let parts = Shelf((0..10).map(|n| (format!("part-{n}"), recipe(2_000))).collect());
    let names = (0..10).map(|n| format!("  - id: part-{n}\n    recipe: part-{n}\n"));
    let root: Arc<[u8]> = recipes::of(names).into_bytes().into();
    let read_json = || {
        let clock = Instant::now();
        assert!(serde_json::from_str::<serde_json::Value>(black_box(&json)).is_ok());
        clock.elapsed().as_secs_f64()
    };
    let times = bench.in_turn(9, &[&|| time_of(&parts, &root), &|| time_of(&nothing, &alone), &read_json]);
    let ten: Vec<f64> = times[1].iter().map(|seconds| seconds * 10.0).collect();
    vec![
        Row::time(
            "reading and checking 2,000 steps ÷ reading them as JSON",
            Pair::of(&times[1], &times[2]),
            20e-3,
        ),
        Row::ratio("20,000 steps in 10 sub-recipes ÷ 10 × 2,000", Pair::of(&times[0], &ten), 1.25),
    ]
}

/// How long something takes that is too short to be timed alone.
fn each_of_many(once: &dyn Fn() -> bool) -> f64 {
    let rounds = 100_000;
    let clock = Instant::now();
    for _ in 0..rounds {
        assert!(black_box(once()));
    }
    clock.elapsed().as_secs_f64() / f64::from(rounds)
}

/// What the typical condition asks, written in Rust.
fn by_hand(context: &Map) -> bool {
    let text = |name: &str, holds: &dyn Fn(&str) -> bool| {
        context.get(name).is_some_and(|value| matches!(value, Value::Text(text) if holds(text)))
    };
    let is_more = context
        .get("count")
        .is_some_and(|value| matches!(value, Value::Number(count) if count.as_f64() > 3.0));
    text("status", &|status| status == "ok")
        && is_more
        && text("branch", &|branch| branch.contains("feature"))
}

/// Conditions.
pub(crate) fn conditions(bench: &Bench) -> Vec<Row> {
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
    let (big, small) = (context(10_000_000), context(10));
    let holds = |condition: &Condition, context: &Map| condition.holds(black_box(context)).is_ok();
    let times = bench.in_turn(
        9,
        &[
            &|| each_of_many(&|| holds(&typical, &small)),
            &|| each_of_many(&|| by_hand(black_box(&small))),
            &|| each_of_many(&|| holds(&large, &big)),
            &|| each_of_many(&|| holds(&large, &small)),
        ],
    );
    vec![
        Row::time("evaluating a typical condition ÷ the same in Rust", Pair::of(&times[0], &times[1]), 1e-6),
        Row::ratio("condition on a value of 10 MB ÷ of 10 bytes", Pair::of(&times[2], &times[3]), 1.5),
    ]
}
