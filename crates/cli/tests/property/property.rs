//! Random recipes × failures × kills × edits: whatever happens, a run that is resumed to its end is as good as one
//! that nothing happened to.

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

use crate::{
    answer::{REPEATS, answer},
    judge::{self, Verdict, must},
    links::{careful, edited, failed},
    proof::work_stays,
    random::Random,
    shape::{Care, Recipe},
    trouble::{Mishap, all_steps, before_edits, mishaps},
    world::{Facts, prepare, put, world},
};

/// Cases in a row that share a recipe, and so the undisturbed run.
const SHARED: u64 = 4;
/// Most commands until a run must have come to its end.
const PATIENCE: usize = 40;

/// One case.
pub(crate) struct Case {
    /// The recipe, and how it is edited one time after the other.
    stages: Vec<Recipe>,
    mishaps: Vec<Mishap>,
    kills: usize,
    options: Vec<String>,
    random: Random,
}

/// The options that answer all questions of a recipe beforehand.
fn answers(recipe: &Recipe) -> Vec<String> {
    let answer = |path: String| ["--set".to_owned(), format!("ask.{path}=approve")];
    recipe.questions().into_iter().flat_map(answer).collect()
}

/// What a case cost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) commands: usize,
    pub(crate) kills: usize,
    pub(crate) edits: usize,
    pub(crate) failures: usize,
}

impl Case {
    /// The case of a seed.
    pub(crate) fn new(seed: u64) -> Case {
        let last = Recipe::random_with_order(&mut Random::new(seed / SHARED));
        let mut random = Random::new(seed ^ 0xCA5E_0000_0000);
        let mishaps = mishaps(&last, &mut random);
        let mut stages = vec![last];
        while stages.len() < 3 && random.chance(40) {
            let before = before_edits(&stages[0], &mut random);
            stages.insert(0, before);
        }
        let kills = if random.chance(40) { random.between(1, 3) } else { 0 };
        let mut options = Vec::new();
        if random.chance(10) {
            options.extend(["--max-parallel".to_owned(), "1".to_owned()]);
        }
        if random.chance(30) {
            options.extend(answers(&stages[0]));
        }
        Case { stages, mishaps, kills, options, random }
    }

    /// Everything about it that a person needs.
    pub(crate) fn show(&self) -> String {
        let files = |recipe: &Recipe| -> String {
            let texts = recipe.files();
            texts.iter().map(|(name, text)| format!("--- {name}\n{text}")).collect()
        };
        let stages: String =
            self.stages.iter().map(|recipe| format!("=== recipe\n{}", files(recipe))).collect();
        let mishaps: String = self.mishaps.iter().map(|mishap| format!("{mishap:?}\n")).collect();
        format!("{stages}=== mishaps\n{mishaps}=== kills: {}\n", self.kills)
    }

    fn last(&self) -> &Recipe {
        &self.stages[self.stages.len() - 1]
    }

    /// Whether a step fails whenever it runs, in one of the stages.
    fn is_broken(&self, id: &str) -> bool {
        self.stages.iter().any(|recipe| all_steps(recipe).iter().any(|step| step.id == id && step.broken))
    }

    /// Runs it to its end.
    pub(crate) fn run(self, clean: &mut Clean) -> Result<Cost, String> {
        let env = world();
        put(&env, &self.stages[0], "");
        prepare(&env, &self.mishaps);
        let shown = self.show();
        let mut course = Course::new(self, &env);
        let ended = course.go(clean);
        ended.map(|()| course.cost).map_err(|problem| {
            let journal = match env.run_ids().is_empty() {
                true => String::new(),
                false => std::fs::read_to_string(env.run_dir().join("events.jsonl")).unwrap_or_default(),
            };
            let said = course.said.join("\n");
            let ledger = env.read("ledger").replace('\n', ", ");
            format!("{problem}\n{shown}=== commands\n{said}\n=== ledger\n{ledger}\n=== journal\n{journal}")
        })
    }
}

/// Results of undisturbed runs, of the recipe that is worked on at the moment.
#[derive(Default)]
pub(crate) struct Clean(Vec<(Recipe, Json)>);

impl Clean {
    /// The result of an undisturbed run.
    pub(crate) fn of(&mut self, recipe: &Recipe) -> Result<Json, String> {
        if let Some((_, result)) = self.0.iter().find(|(known, _)| known == recipe) {
            return Ok(result.clone());
        }
        let env = world();
        put(&env, recipe, "");
        let answers = answers(recipe);
        let words =
            ["r.yaml", "--output-format", "json"].into_iter().chain(answers.iter().map(String::as_str));
        let output = env.run(words);
        must(output.code == 0, || format!("an undisturbed run fails: {}", output.all()))?;
        let facts = Facts::read(&env);
        let once = facts.steps.values().all(|count| count.begun <= 1 && count.begun == count.done);
        must(once, || format!("an undisturbed run does things twice: {facts:?}"))?;
        self.0.truncate(1);
        self.0.push((recipe.clone(), output.json()));
        Ok(output.json())
    }
}

/// A case on its way.
struct Course<'a> {
    case: Case,
    env: &'a TestEnv,
    /// Steps whose results the command that is on its way may give up.
    may_give_up: BTreeSet<String>,
    /// Steps that a person chose to leave out.
    left_out: BTreeSet<String>,
    /// What the next resume is told.
    flags: Vec<String>,
    /// Questions that wait for an answer.
    waiting: Vec<String>,
    /// Which stage is in force, and which one the command goes on with.
    stage: usize,
    wanted: usize,
    must_edit: bool,
    /// Whether the command on its way names a recipe.
    edits: bool,
    repeated_effects: bool,
    cost: Cost,
    said: Vec<String>,
}

impl<'a> Course<'a> {
    fn new(case: Case, env: &'a TestEnv) -> Course<'a> {
        Course {
            may_give_up: BTreeSet::new(),
            case,
            env,
            left_out: BTreeSet::new(),
            flags: Vec::new(),
            waiting: Vec::new(),
            stage: 0,
            wanted: 0,
            must_edit: false,
            edits: false,
            repeated_effects: false,
            cost: Cost::default(),
            said: Vec::new(),
        }
    }

    fn go(&mut self, clean: &mut Clean) -> Verdict {
        while self.cost.commands < PATIENCE {
            let before = Facts::read(self.env);
            let arguments = self.arguments();
            self.cost.commands += 1;
            self.may_give_up = self.may_give_up(&before);
            let output = self.command(&arguments);
            let after = Facts::read(self.env);
            self.said.push(format!(
                "{} -> {}",
                arguments.join(" "),
                output.as_ref().map_or("killed from outside".to_owned(), |output| format!(
                    "{} {}",
                    output.code,
                    output.stderr.trim()
                ))
            ));
            judge::ledger_and_journal_agree(&after, self.case.last())?;
            let recipes = (&self.case.stages[..=self.stage], &self.case.stages[self.wanted]);
            judge::results_stay(&before, &after, recipes, &self.may_give_up)?;
            work_stays(&before, &after, &self.may_give_up)?;
            if after.sources != before.sources {
                (self.stage, self.must_edit) = (self.wanted, false);
            }
            self.effects_stay(&before, &after)?;
            let Some(output) = output else { continue };
            if self.understand(&output, &before, &after)? {
                return self.end(&output, &after, clean);
            }
        }
        Err(format!("it does not come to an end in {PATIENCE} commands"))
    }

    /// Steps whose results the next command may give up: an edit reaches them, or they lead to a failure.
    fn may_give_up(&self, facts: &Facts) -> BTreeSet<String> {
        let (old, new) = (&self.case.stages[self.stage], &self.case.stages[self.wanted]);
        let by_failures = facts.failed.iter().flat_map(|path| failed(old, new, path, facts));
        let cleanup = facts.order.may_clean_again(self.wanted != self.stage || self.edits);
        edited(old, new, facts).into_iter().chain(by_failures).chain(cleanup).collect()
    }

    /// What to do next: run, or resume in some way.
    fn arguments(&mut self) -> Vec<String> {
        let mut words: Vec<String> = match self.env.run_ids().is_empty() {
            true => vec!["r.yaml".to_owned()],
            false => vec!["resume".to_owned(), "last".to_owned()],
        };
        self.wanted = self.stage;
        self.edits = false;
        // most people answer, some resume first
        let asked = self.waiting.pop().filter(|_| self.case.random.chance(80));
        self.waiting.clear();
        if let Some(path) = asked.filter(|_| self.flags.is_empty() && !self.must_edit) {
            let words = ["answer", "last", &path, "approve", "--output-format", "json"];
            return words.map(str::to_owned).to_vec();
        }
        let is_last = self.stage + 1 == self.case.stages.len();
        let wants = self.must_edit || self.case.random.chance(if is_last { 10 } else { 50 });
        if words.len() == 2 && wants && self.case.stages.len() > 1 {
            self.wanted = if is_last { self.stage } else { self.stage + 1 };
            let dir = if self.case.random.chance(80) { "" } else { "edited/" };
            put(self.env, &self.case.stages[self.wanted], dir);
            words.extend(["--recipe".to_owned(), format!("{dir}r.yaml")]);
            self.cost.edits += 1;
            self.edits = true;
        }
        if words.len() == 1 {
            words.extend(self.case.options.clone());
        }
        words.append(&mut self.flags);
        words.extend(["--output-format".to_owned(), "json".to_owned()]);
        words
    }

    /// Runs the program; it may be killed at a random moment.
    fn command(&mut self, arguments: &[String]) -> Option<Output> {
        if self.case.kills == 0 || !self.case.random.chance(70) {
            return Some(self.env.run(arguments));
        }
        self.case.kills -= 1;
        let mut started = self.env.spawn(arguments);
        std::thread::sleep(Duration::from_micros(self.case.random.below(60_000) as u64));
        if started.is_running() {
            self.cost.kills += 1;
            started.kill();
            return None;
        }
        Some(started.wait())
    }

    /// Whether the run has come to its end; every exit code must have its reason.
    fn understand(&mut self, output: &Output, before: &Facts, after: &Facts) -> Result<bool, String> {
        let result = if output.code == 137 { Json::Null } else { output.json() };
        let words = (result["status"].as_str().unwrap_or_default(), result["exit_code"].as_i64());
        match output.code {
            0 => must(words.0 == "completed", || format!("exit code 0, but {words:?}")).map(|()| true),
            1 => self.failed(&result).map(|()| false),
            6 if words.0 == "waiting" && !waiting(&result).is_empty() => {
                self.waiting = waiting(&result);
                Ok(false)
            }
            6 => self.asked(output, after).map(|()| false),
            137 if after.killed > before.killed => {
                self.cost.kills += 1;
                Ok(false)
            }
            code => Err(format!("nothing explains exit code {code}: {}", output.all())),
        }
    }

    /// A failure: the step that failed was told to.
    fn failed(&mut self, result: &Json) -> Verdict {
        self.cost.failures += 1;
        must(result["status"] == "failed" && result["success"] == false, || {
            format!("exit code 1, but {result}")
        })?;
        let path = result["failure"]["step"].as_str().unwrap_or_default();
        let id = path.rsplit('/').next().unwrap_or_default();
        let is_broken = self.case.is_broken(id);
        let is_planned = self.case.mishaps.iter().any(|mishap| mishap.step == id && mishap.what == "fail");
        must(is_broken || is_planned, || format!("nothing explains the failure of `{path}`"))?;
        self.must_edit = is_broken && self.case.random.chance(70);
        Ok(())
    }

    /// A question to a person: it must have a reason, and is answered by what the ledger says.
    fn asked(&mut self, output: &Output, facts: &Facts) -> Verdict {
        let said = output.all();
        // the commands that it names repeat what was asked for, and so does who answers
        if said.contains(REPEATS) {
            let declared: BTreeSet<String> = [Care::Effect, Care::NotIdempotent]
                .into_iter()
                .flat_map(|care| {
                    careful(self.case.last(), care).into_iter().chain(careful(&self.case.stages[0], care))
                })
                .collect();
            let is_due = |id: &String| facts.of(id).stands && self.may_give_up.contains(id);
            must(declared.iter().any(is_due), || format!("no effect would be repeated: {said}"))?;
            self.repeated_effects = true;
            self.flags.push("--rerun-effects".to_owned());
            let chosen =
                ["--rerun-interrupted", "--skip-interrupted"].iter().find(|flag| said.contains(**flag));
            self.flags.extend(chosen.map(|flag| (*flag).to_owned()));
            // the answer belongs to the same edit
            self.must_edit = self.wanted != self.stage;
            return Ok(());
        }
        must(said.contains("--rerun-interrupted"), || format!("nothing explains exit code 6: {said}"))?;
        let answer = answer(self.env, self.case.last())?;
        self.left_out.extend(answer.left_out);
        self.repeated_effects |= answer.repeats;
        self.flags.push(answer.flag.to_owned());
        self.flags.extend(said.contains("--rerun-effects").then(|| "--rerun-effects".to_owned()));
        Ok(())
    }

    /// A completed effect is not repeated unless a person allowed it.
    fn effects_stay(&self, before: &Facts, after: &Facts) -> Verdict {
        for care in [Care::Effect, Care::NotIdempotent] {
            for id in careful(self.case.last(), care) {
                let (then, now) = (before.of(&id), after.of(&id));
                let repeated = then.completed > 0 && !then.open && now.begun > then.begun;
                must(!repeated || self.repeated_effects, || {
                    format!("the effect of `{id}` was repeated: {then:?}, then {now:?}")
                })?;
            }
        }
        Ok(())
    }

    fn end(&self, output: &Output, facts: &Facts, clean: &mut Clean) -> Verdict {
        let recipe = &self.case.stages[self.stage];
        let expected = clean.of(recipe)?;
        judge::success_is_true(&expected, facts, recipe)?;
        judge::same_result(&expected, &output.json(), &self.left_out)?;
        for id in careful(self.case.last(), Care::NotIdempotent) {
            let count = facts.of(&id);
            must(count.done <= 1 || self.repeated_effects, || {
                format!("`{id}` did its work twice: {count:?}")
            })?;
        }
        must(self.env.survivors().is_empty(), || format!("alive: {:?}", self.env.survivors()))?;
        if facts.resumes % 4 != 3 {
            return Ok(());
        }
        let again = self.env.run(["resume", "last", "--output-format", "json"]);
        must(again.code == 0, || format!("a completed run does not resume quietly: {}", again.all()))?;
        must(Facts::read(self.env).resumes == facts.resumes, || "a completed run went on".to_owned())
    }
}

/// The paths of the questions that wait for an answer.
fn waiting(result: &Json) -> Vec<String> {
    let steps = result["step_results"].as_array().into_iter().flatten();
    let at = |step: &Json| {
        let own = (step["status"] == "waiting" && step["steps"].is_null()).then(|| step["path"].as_str());
        let inner = waiting(&serde_json::json!({"step_results": step["steps"]}));
        own.flatten().map(str::to_owned).into_iter().chain(inner).collect::<Vec<_>>()
    };
    steps.flat_map(at).filter(|path| path.rsplit('/').next().is_some_and(|id| id.starts_with('q'))).collect()
}
