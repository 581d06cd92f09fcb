//! A clock that is set while a run is on its way: it changes no duration, hits no limit, and neither hides a living run
//! nor brings a dead one back.
//!
//! Never waits for a real date: the clock is that of the runner alone.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value as Json;
use testkit::{Output, Started, TestEnv, until};

use crate::{
    judge::{Verdict, must},
    preload::{self, Control, Preload},
    random::Random,
};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Seconds from now to the first month of 1970, and to that of 2100.
fn far() -> (i64, i64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    (25 * DAY - now, 4_102_444_800 - now)
}

/// How the clock of a round is set, in seconds by which it is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moves {
    /// From the beginning.
    pub(crate) first: i64,
    /// One after the other, while the run is on its way.
    then: Vec<i64>,
}

impl Moves {
    pub(crate) fn random(random: &mut Random) -> Moves {
        let (past, future) = far();
        let all = [0, 1, -1, 60, -60, HOUR, -HOUR, DAY, -DAY, 400 * DAY, -400 * DAY, past, future];
        let first = *random.pick(&all);
        Moves { first, then: (0..random.between(1, 3)).map(|_| *random.pick(&all)).collect() }
    }

    /// How wrong it is in the given resume: earlier than it ever was.
    pub(crate) fn set_back(&self, resume: usize) -> i64 {
        let earliest = self.then.iter().fold(self.first, |earliest, next| earliest.min(*next));
        earliest - resume as i64 * DAY
    }

    /// Makes the moves, and looks at the run from outside after each.
    pub(crate) fn make(
        &self,
        env: &TestEnv,
        preload: &Preload,
        started: &mut Started,
        began: Instant,
    ) -> Verdict {
        for wrong_by in &self.then {
            preload.set_clock(*wrong_by);
            let had_run = !env.run_ids().is_empty();
            let list = env.run(["runs", "--output-format", "json"]).json();
            // from outside, the time since the last record is known only to the age of the runner
            times_are_sane(&list, began.elapsed() * 2)?;
            let status = list[0]["status"].as_str().unwrap_or_default();
            must(!had_run || !started.is_running() || status != "interrupted", || {
                format!("a living run is taken for dead: {list}")
            })?;
            if had_run {
                times_are_sane(
                    &env.run(["show", "last", "--output-format", "json"]).json(),
                    began.elapsed() * 2,
                )?;
            }
        }
        Ok(())
    }
}

/// Every duration in a result is one that this world can have seen, and nothing ends before it begins.
pub(crate) fn times_are_sane(result: &Json, longest: Duration) -> Verdict {
    let rounding = Duration::from_millis(100);
    match result {
        Json::Array(all) => all.iter().try_for_each(|each| times_are_sane(each, longest)),
        Json::Object(fields) => {
            if let Some(seconds) = fields.get("duration").and_then(Json::as_f64) {
                must((0.0..=(longest + rounding).as_secs_f64()).contains(&seconds), || {
                    format!("{seconds} s of {longest:?}: {result}")
                })?;
            }
            let time = |name: &str| fields.get(name).and_then(Json::as_str);
            if let (Some(from), Some(to)) = (time("started_at"), time("finished_at")) {
                must(in_order(from, to), || format!("it ends before it begins: {result}"))?;
            }
            fields.values().try_for_each(|each| times_are_sane(each, longest))
        }
        _ => Ok(()),
    }
}

/// Whether two times in UTC follow each other; a whole second has no fraction.
fn in_order(from: &str, to: &str) -> bool {
    let key = |time: &str| time.trim_end_matches('Z').to_owned();
    key(from) <= key(to)
}

fn world() -> TestEnv {
    TestEnv::in_memory(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A run with a clock that is wrong from the beginning.
fn run_at(env: &TestEnv, wrong_by: i64, arguments: &[&str]) -> Output {
    match Preload::new(env, Control::clock(wrong_by)) {
        Some(preload) => preload.start(env, arguments).wait(),
        None => env.run(arguments),
    }
}

const JSON: [&str; 2] = ["--output-format", "json"];

#[test]
fn a_clock_that_is_set_hits_no_limit_and_stretches_none() {
    const RECIPE: &str = "name: r\nsteps:\n\
        - {id: short, command: 'echo begun >> ledger; sleep 1', timeout: 40}\n\
        - {id: again, command: 'echo x >> tries; test $(wc -l < tries) = 2', retry: {max_attempts: 2, delay: 1}}\n\
        - {id: limit, prompt: x, agent_binary: limited, retry: {max_attempts: 2, delay: 1, on: [rate_limit]}}\n\
        - {id: long, command: sleep 50, timeout: 1}\n";
    const AGENT: &str = "#!/bin/bash\necho x >> asked; [ $(wc -l < asked) = 2 ] && exec echo ok\n\
        echo 'HTTP 429 Too Many Requests' >&2; exit 1\n";
    if !preload::works() {
        return;
    }
    let (past, future) = far();
    let check = |steps: &[i64]| {
        let env = world().file("r.yaml", RECIPE).file("bin/limited", AGENT).file(
            ".recipe-runner.yaml",
            "agents:\n- {name: limited, command: bin/limited, answer: stdout, rate_limit: [too many requests]}\n",
        );
        executable(&env, "bin/limited");
        let Some(preload) = Preload::new(&env, Control::default()) else { return };
        let began = Instant::now();
        let started = preload.start(&env, &["r.yaml", "--output-format", "json"]);
        env.wait_for("ledger");
        for wrong_by in steps.iter().cycle().take(20) {
            preload.set_clock(*wrong_by);
            std::thread::sleep(Duration::from_millis(200));
        }
        let output = started.wait();
        let statuses = ["short", "again", "limit", "long"].map(|id| output.step(id)["status"].clone());
        assert_eq!(
            statuses,
            ["completed", "completed", "completed", "failed"],
            "{steps:?}: {}",
            output.all()
        );
        assert!(output.step("long")["error"].to_string().contains("timed out after 1 s"), "{}", output.all());
        assert!(began.elapsed() < Duration::from_secs(40), "{steps:?} stretch it: {:?}", began.elapsed());
        assert_eq!(times_are_sane(&output.json(), began.elapsed()), Ok(()));
        for id in ["short", "again", "limit", "long"] {
            let took = output.step(id)["duration"].as_f64().unwrap_or_default();
            assert!((0.9..40.0).contains(&took), "{steps:?}: `{id}` took {took} s");
        }
    };
    std::thread::scope(|scope| {
        for steps in [[DAY, -DAY], [past, 0], [future, past], [-HOUR, 400 * DAY]] {
            scope.spawn(move || check(&steps));
        }
    });
}

fn executable(env: &TestEnv, path: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.path(path), mode).unwrap_or_else(|error| panic!("no agent: {error}"));
}

#[test]
fn an_agent_whose_files_change_is_not_idle_at_any_clock() {
    const RECIPE: &str =
        "name: r\nsteps:\n- {id: a, prompt: x, agent_binary: silent, idle_timeout: 3, timeout: 60}\n";
    const AGENT: &str =
        "#!/bin/bash\necho x > begun; until [ -e stop ]; do read -t 60 x < fifo; done; echo ok\n";
    if !preload::works() {
        return;
    }
    let check = |wrong_by: i64| {
        let env = world()
            .file("r.yaml", RECIPE)
            .file("bin/silent", AGENT)
            .file(".recipe-runner.yaml", "agents:\n- {name: silent, command: bin/silent, answer: stdout}\n");
        executable(&env, "bin/silent");
        drop(Command::new("mkfifo").arg(env.path("fifo")).status());
        let Some(preload) = Preload::new(&env, Control::default()) else { return };
        let mut started = preload.start(&env, &["r.yaml", "--output-format", "json"]);
        env.wait_for("begun");
        preload.set_clock(wrong_by);
        // for more than twice as long as it may be idle
        for _ in 0..70 {
            env.write("changed", "x");
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(started.is_running(), "{wrong_by}: {}", started.stderr());
        env.write("stop", "");
        drop(fs::write(env.path("fifo"), "\n"));
        let output = started.wait();
        assert_eq!(output.code, 0, "{wrong_by}: {}", output.all());
    };
    std::thread::scope(|scope| {
        for wrong_by in [DAY, -DAY, far().0, far().1] {
            scope.spawn(move || check(wrong_by));
        }
    });
}

#[test]
fn the_last_run_is_the_one_that_was_begun_last() {
    let env = world().file("r.yaml", "name: r\nsteps:\n- {id: a, command: test -e good}\n");
    let (past, future) = far();
    let mut begun = Vec::new();
    for wrong_by in [0, DAY, 0, past, -DAY, future, HOUR, 0] {
        let output = run_at(&env, wrong_by, &["r.yaml", JSON[0], JSON[1]]);
        begun.push(output.json()["run_id"].as_str().unwrap_or_default().to_owned());
        let last = env.run(["show", "last", JSON[0], JSON[1]]).json();
        assert_eq!(last["run_id"].as_str(), begun.last().map(String::as_str), "{wrong_by}");
    }
    let list = env.run(["runs", JSON[0], JSON[1]]).json();
    let listed: Vec<&str> =
        list.as_array().into_iter().flatten().filter_map(|run| run["run_id"].as_str()).collect();
    assert!(listed.iter().rev().eq(begun.iter()), "{begun:?}\n{listed:?}");
    env.write("good", "");
    let resumed = run_at(&env, -DAY, &["resume", "last", JSON[0], JSON[1]]);
    assert_eq!((resumed.code, resumed.json()["run_id"].as_str()), (0, begun.last().map(String::as_str)));
    assert_eq!(times_are_sane(&resumed.json(), Duration::from_secs(60)), Ok(()));
    let kept = env.run(["prune", "--keep", "1", JSON[0], JSON[1]]);
    assert_eq!(kept.code, 0, "{}", kept.all());
    assert_eq!(env.run_ids(), begun[begun.len() - 1..], "the newest one is kept");
}

#[test]
fn a_living_run_has_its_workspace_and_a_dead_one_has_not_whatever_the_clock_says() {
    let lasting = "echo begun >> ledger; until [ -e stop ]; do sleep 0.05; done";
    let env = world().file("r.yaml", format!("name: r\nsteps:\n- {{id: a, command: '{lasting}'}}\n"));
    let (past, future) = far();
    for (own, other) in [(0, future), (future, 0), (past, DAY), (DAY, past)] {
        env.write("ledger", "");
        let started = match Preload::new(&env, Control::clock(own)) {
            Some(preload) => preload.start(&env, &["r.yaml", "--clear-stale"]),
            None => env.spawn(["r.yaml", "--clear-stale"]),
        };
        env.wait_for("ledger");
        let refused = run_at(&env, other, &["r.yaml"]);
        assert_eq!(refused.code, 7, "{own} {other}: {}", refused.all());
        let pruned = run_at(&env, other, &["prune", "--keep", "0"]);
        assert_eq!((pruned.code, env.run_ids().len()), (0, 1), "{}", pruned.all());
        let dead = env.run_ids().pop().unwrap_or_default();
        started.kill();
        env.write("stop", "");
        until("nothing is left", || env.survivors().is_empty());
        drop(fs::remove_file(env.path("stop")));
        let list = run_at(&env, other, &["runs", JSON[0], JSON[1]]).json();
        assert_eq!(list[0]["status"], "interrupted", "{list}");
        let next = run_at(&env, other, &["r.yaml", "--step-timeout", "0.2"]);
        let names = next.all().contains(&format!("run {dead} of this recipe was interrupted here"));
        assert!(next.code == 1 && names, "{own} {other}: {}", next.all());
        assert_eq!(run_at(&env, own, &["prune", "--keep", "0"]).code, 0);
    }
}
