//! Proofs on the real program: properties of random recipes, and rounds of chaos.
//!
//! `RECIPE_RUNNER_SEED=N` repeats one, `RECIPE_RUNNER_CASES=N` and `RECIPE_RUNNER_ROUNDS=N` set how many there are, from
//! `RECIPE_RUNNER_FIRST_SEED` on or from a seed that was not tried yet. A failure prints its seed.
#![expect(
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on ends by panicking; a long one says how far it is"
)]

mod answer;
mod chaos;
mod clock;
mod found;
mod graph;
mod judge;
mod links;
mod looped;
mod model;
mod order_facts;
mod order_shape;
mod preload;
mod proof;
mod property;
mod random;
mod shape;
mod state_dir;
mod trouble;
mod world;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use property::{Case, Clean, Cost};

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Which cases are tried, and how long.
struct Scope {
    from: u64,
    count: u64,
    until: Instant,
}

impl Scope {
    /// As many as fit into the time; on demand so many, from a seed that was not tried yet.
    fn new(count: u64, time: Duration, wanted: Option<u64>) -> Scope {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        match (number("RECIPE_RUNNER_SEED"), wanted) {
            (Some(seed), _) => Scope { from: seed, count: 1, until: Instant::now() + time },
            (None, Some(count)) => {
                let from = number("RECIPE_RUNNER_FIRST_SEED").unwrap_or(now.as_secs() << 16);
                Scope { from, count, until: Instant::now() + Duration::from_secs(24 * 3600) }
            }
            (None, None) => Scope { from: 1 << 16, count, until: Instant::now() + time },
        }
    }
}

/// Tries seeds in threads until they are through, the time is over, or some have failed.
fn try_seeds<S: Default>(scope: &Scope, try_one: impl Fn(u64, &mut S) -> Result<(), String> + Sync) -> u64 {
    let next = AtomicU64::new(0);
    let failures: Mutex<Vec<String>> = Mutex::default();
    let failed = || failures.lock().map_or(0, |failures| failures.len());
    // neighbours share a recipe, so a thread takes them together
    const TOGETHER: u64 = 4;
    let work = || {
        let mut shared = S::default();
        loop {
            let start = next.fetch_add(TOGETHER, Ordering::Relaxed);
            for at in start..(start + TOGETHER).min(scope.count) {
                if Instant::now() > scope.until || failed() >= 3 {
                    return;
                }
                let seed = scope.from + at;
                let tried = catch_unwind(AssertUnwindSafe(|| try_one(seed, &mut shared)));
                let problem = match tried {
                    Ok(Ok(())) => continue,
                    Ok(Err(problem)) => problem,
                    Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or("it panicked".to_owned()),
                };
                if let Ok(mut failures) = failures.lock() {
                    failures.push(format!("RECIPE_RUNNER_SEED={seed}\n{problem}"));
                }
            }
            if start >= scope.count {
                return;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap_or_default();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
    next.load(Ordering::Relaxed).min(scope.count)
}

#[test]
fn a_resumed_run_is_as_good_as_an_undisturbed_one() {
    let scope = Scope::new(400, Duration::from_secs(60), number("RECIPE_RUNNER_CASES"));
    let total: Mutex<Cost> = Mutex::default();
    let tried = try_seeds(&scope, |seed, clean: &mut Clean| {
        let cost = Case::new(seed).run(clean)?;
        if let Ok(mut total) = total.lock() {
            total.commands += cost.commands;
            total.kills += cost.kills;
            total.edits += cost.edits;
            total.failures += cost.failures;
        }
        Ok(())
    });
    let Cost { commands, kills, edits, failures } = total.into_inner().unwrap_or_default();
    eprintln!(
        "{tried} cases from seed {}: {commands} commands, {kills} kills, {failures} failures, {edits} edits",
        scope.from
    );
}

#[test]
fn a_resumed_loop_is_as_good_as_an_undisturbed_one() {
    let scope = Scope::new(120, Duration::from_secs(30), number("RECIPE_RUNNER_CASES"));
    let tried = try_seeds(&scope, |seed, (): &mut ()| looped::LoopCase::new(seed).run());
    eprintln!("{tried} cases with loops from seed {}", scope.from);
}

#[test]
fn chaos_leaves_nothing_alive_and_loses_nothing() {
    let scope = Scope::new(500, Duration::from_secs(20), number("RECIPE_RUNNER_ROUNDS"));
    let ends: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let tried = try_seeds(&scope, |seed, clean: &mut Clean| {
        let end = chaos::round(seed, clean)?;
        if let Ok(mut ends) = ends.lock() {
            *ends.entry(end).or_default() += 1;
        }
        Ok(())
    });
    // what happened, with the exit code that it led to
    let ends = ends.into_inner().unwrap_or_default();
    eprintln!("{tried} rounds of chaos from seed {}: {ends:?}", scope.from);
}
