//! The world that cases run in: the steps' library, a scripted agent, the ledger, and the journal as facts.
//!
//! Never asks the runner what happened: the ledger is written by the steps themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
};

use serde_json::Value as Json;
use testkit::TestEnv;

use crate::{
    order_facts::{OrderFacts, is_at_or_below, names},
    shape::Recipe,
    trouble::Mishap,
};

/// What every step begins and ends with. `plan/STEP` says what goes wrong in which attempt.
const LIBRARY: &str = r#"begin() {
  echo "B $1" >>ledger
  if [ -n "$PAUSE" ]; then sleep "$PAUSE"; fi
  look "$1"
  case "$mishap" in
    fail) echo "attempt $tries is to fail" >&2; exit 7;;
    kill_then_die) kill_runner; exit 9;;
    kill_then_go_on) kill_runner;;
    kill_then_linger) kill_runner; sleep 60;;
  esac
}
finish() {
  echo "E $1" >>ledger
  if [ "$mishap" = kill_when_done ]; then kill_runner; fi
}
prove() {
  grep -qx "E $1" ledger || exit 5
  look "$1"
  # once: a resume proves the same attempt again
  if [ "$mishap" = kill_in_proof ] && [ ! -e "plan/$1-$tries" ]; then touch "plan/$1-$tries"; kill_runner; fi
}
look() {
  [ -e "plan/$1" ] || return 0
  tries=0; while read -r mark; do [ "$mark" = "B $1" ] && tries=$((tries + 1)); done <ledger
  while read -r attempt what; do if [ "$attempt" = "$tries" ]; then mishap=$what; fi; done <"plan/$1"
}
kill_runner() { if [ "/proc/$PPID/exe" -ef "$RUNNER" ]; then echo "K $PPID" >>ledger; kill -9 $PPID; fi; }
"#;

const AGENT: &str = r#"#!/bin/bash
IFS= read -r line
. ./lib
id=${line%%:*}
begin "$id"; finish "$id"
echo "${line#*: } by agent"
"#;

const CONFIG: &str = "agents:\n- {name: scripted, command: scripted, answer: stdout}\n";

/// A world without recipes.
pub(crate) fn world() -> TestEnv {
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    let env = TestEnv::in_memory(program)
        .file("lib", LIBRARY)
        .file("ledger", "")
        .file("bin/scripted", AGENT)
        .file(".recipe-runner.yaml", CONFIG);
    let bin = env.path("bin");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bin.join("scripted"), mode).unwrap_or_else(|error| panic!("no agent: {error}"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    env.env("PATH", &path).env("RUNNER", program)
}

/// Writes a recipe with everything that it names into a directory of the world.
pub(crate) fn put(env: &TestEnv, recipe: &Recipe, dir: &str) {
    for (name, text) in recipe.files() {
        env.write(&format!("{dir}{name}"), text);
    }
}

/// Writes down what will go wrong.
pub(crate) fn prepare(env: &TestEnv, mishaps: &[Mishap]) {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for mishap in mishaps {
        let line = format!("{} {}\n", mishap.attempt, mishap.what);
        files.entry(&mishap.step).or_default().push_str(&line);
    }
    files.iter().for_each(|(step, text)| env.write(&format!("plan/{step}"), text));
}

/// What happened to a step so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Its ids through nested recipes, from the journal.
    pub(crate) path: String,
    /// Lines in the ledger that say that it began.
    pub(crate) begun: usize,
    /// Lines in the ledger that say that its work is done.
    pub(crate) done: usize,
    /// Attempts in the journal.
    pub(crate) started: usize,
    /// Attempts that failed, in the journal.
    pub(crate) failed: usize,
    /// Successful ends in the journal.
    pub(crate) completed: usize,
    /// Resumes that did it again.
    pub(crate) rerun: usize,
    /// Whether its last attempt has no end in the journal.
    pub(crate) open: bool,
    /// Whether its work has ended, and the proof of it has not.
    pub(crate) has_worked: bool,
    /// Whether there is a result that no resume has given up.
    pub(crate) stands: bool,
    /// The same for a failure, which the recipe may tolerate.
    pub(crate) stands_failed: bool,
}

/// What happened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) steps: BTreeMap<String, Count>,
    /// Which set of sources is in force.
    pub(crate) sources: u64,
    pub(crate) resumes: usize,
    /// Runners that steps killed.
    pub(crate) killed: usize,
    /// Paths of the steps that failed since the last resume.
    pub(crate) failed: BTreeSet<String>,
    /// Cleanup and answers.
    pub(crate) order: OrderFacts,
}

impl Facts {
    /// Reads ledger and journal.
    pub(crate) fn read(env: &TestEnv) -> Facts {
        let mut facts = Facts::default();
        for line in env.read("ledger").lines() {
            match line.split_once(' ') {
                Some(("B", id)) => facts.step(id).begun += 1,
                Some(("E", id)) => facts.step(id).done += 1,
                _ => facts.killed += 1,
            }
        }
        if env.run_ids().is_empty() {
            return facts;
        }
        for record in env.records() {
            facts.event(&record["event"]);
        }
        facts
    }

    /// The counts of a step.
    pub(crate) fn of(&self, id: &str) -> Count {
        self.steps.get(id).cloned().unwrap_or_default()
    }

    fn step(&mut self, path: &str) -> &mut Count {
        let id = path.rsplit('/').next().unwrap_or(path);
        self.steps.entry(id.to_owned()).or_default()
    }

    fn event(&mut self, event: &Json) {
        self.order.event(event);
        let path = |name: &str| event[name]["path"].as_str().map(str::to_owned);
        if let Some(path) = path("step_started") {
            let step = self.step(&path);
            (step.started, step.open, step.path) = (step.started + 1, true, path);
            (step.stands, step.stands_failed, step.has_worked) = (false, false, false);
        } else if let Some(path) = path("work_ended") {
            let step = self.step(&path);
            (step.open, step.has_worked) = (false, true);
        } else if let Some(path) = path("step_not_begun") {
            let step = self.step(&path);
            (step.started, step.open) = (step.started - 1, false);
        } else if let Some(path) = path("attempt_failed") {
            // an attempt that ended with the run is an interrupted one
            let is_interrupted = event["attempt_failed"]["ended"]["outcome"] == "cancelled";
            let step = self.step(&path);
            step.failed += usize::from(!is_interrupted);
            (step.open, step.has_worked) = (is_interrupted, false);
        } else if let Some(path) = path("step_finished") {
            let has_failed = event["step_finished"]["status"] == "failed";
            let step = self.step(&path);
            (step.open, step.stands, step.stands_failed) = (false, !has_failed, has_failed);
            step.has_worked = false;
            step.failed += usize::from(has_failed);
            step.completed += usize::from(!has_failed);
            if has_failed {
                self.failed.insert(path);
            }
        } else if let Some(resumed) = event["run_resumed"].as_object() {
            self.resumes += 1;
            self.sources = resumed["sources"].as_u64().unwrap_or_default();
            let resumed = &event["run_resumed"];
            let stay = names(&resumed["failed"]);
            self.failed.retain(|path| stay.iter().any(|top| is_at_or_below(path, top)));
            self.reruns(
                &names(&resumed["rerun"]).into_iter().chain(names(&resumed["cleanup"])).collect::<Vec<_>>(),
            );
        }
    }

    /// A resume does these again, with everything below them.
    fn reruns(&mut self, named: &[String]) {
        let covers = |path: &str| named.iter().any(|top| is_at_or_below(path, top));
        for count in self.steps.values_mut().filter(|count| covers(&count.path)) {
            count.rerun += 1;
            (count.stands, count.stands_failed, count.has_worked) = (false, false, false);
        }
    }
}
