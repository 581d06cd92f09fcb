//! Random recipes with loops × failures × kills × changed lists: no instance completes twice, a resume does what its
//! plan says, and the end is that of an undisturbed run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

use crate::{
    judge::{Verdict, must},
    random::Random,
    world::world,
};

/// Most commands until a run must have come to its end.
const PATIENCE: usize = 30;
/// What a step runs: it notes its beginning and its end, and fails once if a file says so.
const LIB: &str = "work() { echo \"+ $1\" >> ledger; if [ -e \"fail.$1\" ]; then rm \"fail.$1\"; exit 3; fi; sleep 0.005; echo \"- $1\" >> ledger; echo \"v-$1\"; }\n";

/// One case.
pub(crate) struct LoopCase {
    files: Vec<(String, String)>,
    /// Work that fails the first time.
    failures: Vec<String>,
    kills: usize,
    /// The lists, one after the other.
    lists: Vec<Vec<usize>>,
    random: Random,
}

impl LoopCase {
    /// The case of a seed.
    pub(crate) fn new(seed: u64) -> LoopCase {
        let mut random = Random::new(seed ^ 0x1009_0000);
        let mut files: Vec<(String, String)> = Vec::new();
        let mut keys = Vec::new();
        let mut text = "name: r\nsteps:\n  - {id: l, command: cat list}\n".to_owned();
        for at in 0..random.between(1, 3) {
            step(&format!("s{at}"), &mut random, (&mut text, &mut files, &mut keys));
        }
        let _ = writeln!(text, "  - {{id: z, command: '. ./lib; work z'}}");
        keys.push("z".to_owned());
        files.push(("r.yaml".to_owned(), text));
        let mut lists = vec![list(&mut random)];
        while lists.len() < 3 && random.chance(30) {
            lists.push(list(&mut random));
        }
        let failures = (0..random.below(4)).map(|_| random.pick(&keys).clone()).collect();
        let kills = if random.chance(40) { random.between(1, 3) } else { 0 };
        LoopCase { files, failures, kills, lists, random }
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Verdict {
        let env = self.world(&self.lists[0]);
        for key in &self.failures {
            env.write(&format!("fail.{key}"), "");
        }
        let mut said = Vec::new();
        self.go(&env, &mut said).map_err(|problem| {
            let files: String = self.files.iter().map(|(name, text)| format!("--- {name}\n{text}")).collect();
            let ledger = env.read("ledger").replace('\n', ", ");
            let (failures, lists) = (&self.failures, &self.lists);
            format!(
                "{problem}\n{files}failures {failures:?}, lists {lists:?}\n{}\nledger {ledger}",
                said.join("\n")
            )
        })
    }

    fn world(&self, list: &[usize]) -> TestEnv {
        let env = world();
        self.files.iter().for_each(|(name, text)| env.write(name, text));
        env.write("lib", LIB);
        env.write("list", format!("{list:?}"));
        env.write("ledger", "");
        env
    }

    fn go(&mut self, env: &TestEnv, said: &mut Vec<String>) -> Verdict {
        let (mut list, mut is_from, mut was_killed_in_edit, mut kills) = (0, false, false, 0);
        for _ in 0..PATIENCE {
            let is_new = env.run_ids().is_empty();
            let is_next = !is_new && list + 1 < self.lists.len() && self.random.chance(60);
            let wants_edit = is_next || was_killed_in_edit;
            let mut arguments: Vec<&str> = if is_new { vec!["r.yaml"] } else { vec!["resume", "last"] };
            if wants_edit {
                list += usize::from(!was_killed_in_edit);
                is_from = true;
                env.write("list", format!("{:?}", self.lists[list]));
                arguments.extend(["--from", "l", "--yes"]);
            }
            let plan = (!is_new && !wants_edit).then(|| planned(env)).flatten();
            arguments.extend(["--output-format", "json"]);
            let before = if is_new { 0 } else { env.records().len() };
            let output = self.command(env, &arguments);
            kills += usize::from(output.is_none());
            // it is unknown whether the resume had begun
            was_killed_in_edit = wants_edit && output.is_none();
            said.push(format!("{arguments:?} -> {:?}", output.as_ref().map(|output| output.code)));
            let Some(output) = output else { continue };
            // an edit that came too late for a run that had completed
            if output.stdout.contains("already completed") {
                return Ok(());
            }
            must(matches!(output.code, 0 | 1), || format!("exit code {}: {}", output.code, output.all()))?;
            if let Some(plan) = plan {
                as_planned(&plan, &started(env, before), output.code == 0)?;
            }
            if output.code == 0 {
                return self.end(env, &output, (list, is_from, kills));
            }
        }
        Err(format!("it does not come to an end in {PATIENCE} commands"))
    }

    fn command(&mut self, env: &TestEnv, arguments: &[&str]) -> Option<Output> {
        if self.kills == 0 || !self.random.chance(70) {
            return Some(env.run(arguments));
        }
        self.kills -= 1;
        let mut started = env.spawn(arguments);
        std::thread::sleep(Duration::from_millis(self.random.below(120) as u64));
        if started.is_running() {
            started.kill();
            return None;
        }
        Some(started.wait())
    }

    /// The end of a case: list number, whether a resume began at the list, and how often the run was killed.
    fn end(&self, env: &TestEnv, output: &Output, (list, is_from, kills): (usize, bool, usize)) -> Verdict {
        let clean = self.world(&self.lists[list]);
        let undisturbed = clean.run(["r.yaml", "--output-format", "json"]);
        let (expected, found) = (undisturbed.json()["context"].clone(), output.json()["context"].clone());
        must(expected == found, || format!("values are {found}\ninstead of {expected}"))?;
        let (expected, found) = (done(&clean), done(env));
        for (key, times) in &expected {
            let count = found.get(key).copied().unwrap_or(0);
            must(count > 0, || format!("success, but `{key}` was never done"))?;
            must(count == *times || kills > 0 || is_from, || format!("`{key}` was done {count} times"))?;
        }
        must(is_from || twice(env).is_empty(), || format!("completed twice: {:?}", twice(env)))
    }
}

fn list(random: &mut Random) -> Vec<usize> {
    let mut items: Vec<usize> = Vec::new();
    for _ in 0..random.below(5) {
        items.push(random.between(1, 6));
    }
    items.dedup();
    items
}

/// Writes a step with a loop, its sub-recipe, and the names of the work inside it.
fn step(
    id: &str,
    random: &mut Random,
    (text, files, keys): (&mut String, &mut Vec<(String, String)>, &mut Vec<String>),
) {
    let is_each = random.chance(60);
    let (head, name, values) = match is_each {
        true => {
            let list = if random.chance(70) { "'{{l}}'" } else { "[1, 2, 3]" };
            let wide = random.between(1, 3);
            let keep = random.chance(50);
            (format!("for_each: {list}, max_parallel: {wide}, keep_going: {keep}"), "item", 1..=6)
        }
        false => {
            let max = random.between(1, 3);
            (format!("repeat: {{max: {max}}}"), "iteration", 1..=max)
        }
    };
    let (body, parts): (String, &[&str]) = match random.chance(50) {
        true => (format!("command: '. ./lib; work {id}-{{{{{name}}}}}'"), &[""]),
        false => {
            let inner = |part: &str| {
                format!("  - {{id: {id}{part}, command: '. ./lib; work {id}{part}-{{{{n}}}}'}}\n")
            };
            files.push((
                format!("sub_{id}.yaml"),
                format!("name: sub_{id}\ncontext: {{n: ''}}\nsteps:\n{}{}", inner("a"), inner("b")),
            ));
            (format!("recipe: sub_{id}, context: {{n: '{{{{{name}}}}}'}}"), &["a", "b"])
        }
    };
    keys.extend(values.flat_map(|value| parts.iter().map(move |part| format!("{id}{part}-{value}"))));
    let _ = writeln!(text, "  - {{id: {id}, {head}, {body}}}");
}

/// What a plain resume would do to every step.
fn planned(env: &TestEnv) -> Option<BTreeMap<String, String>> {
    let output = env.run(["resume", "last", "--plan", "--output-format", "json"]);
    let plan: Json = serde_json::from_str(&output.stdout).ok()?;
    let word = |step: &Json, name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let is_certain = |step: &&Json| step["only_if"] != "inputs_stay";
    let steps = plan["steps"].as_array()?.iter().filter(is_certain);
    Some(steps.map(|step| (word(step, "path"), word(step, "action"))).collect())
}

/// Steps that were started after so many records.
fn started(env: &TestEnv, before: usize) -> BTreeSet<String> {
    let records = env.records().into_iter().skip(before);
    records.filter_map(|record| record["event"]["step_started"]["path"].as_str().map(str::to_owned)).collect()
}

fn as_planned(plan: &BTreeMap<String, String>, started: &BTreeSet<String>, is_done: bool) -> Verdict {
    for (path, action) in plan {
        let is_begun = started.contains(path);
        must(action != "keep" || !is_begun, || format!("`{path}` was to be kept, and ran again"))?;
        must(action != "rerun" || is_begun || !is_done, || format!("`{path}` was to run, and did not"))?;
    }
    Ok(())
}

/// How often each piece of work came to its end.
fn done(env: &TestEnv) -> BTreeMap<String, usize> {
    let mut done = BTreeMap::new();
    for line in env.read("ledger").lines() {
        if let Some(key) = line.strip_prefix("- ") {
            *done.entry(key.to_owned()).or_default() += 1;
        }
    }
    done
}

/// Instances and steps that the journal calls completed more than once.
fn twice(env: &TestEnv) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for record in env.records() {
        let end = &record["event"]["step_finished"];
        let path = end["path"].as_str().unwrap_or_default();
        if end["status"] == "completed" && !seen.insert(path.to_owned()) {
            found.push(path.to_owned());
        }
    }
    found
}
