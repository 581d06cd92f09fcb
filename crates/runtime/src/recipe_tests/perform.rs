//! Performs one case in this thread: makes its folder, runs the recipe as every run is run, and collects what came of it.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{RunStatus, resume::Interrupted};
use recipe::{
    check::Checked,
    plan::{Plan, StepKind, Target, Unit},
    test_file::{CaseReply, TestCase},
    value::{Map, Value},
};

use super::{
    CaseError, StubCalled, case_run::CaseReport, changed_files, fake_programs, kill_points::KillWatch,
    recipe_copy, scratch::Parts, worker::CaseFace,
};
use crate::{
    agents::{AgentPrograms, AgentSettings},
    machine::{local::LocalMachine, programs, variables::Variables},
    os::{environment::Environment, stage},
    report::RunResult,
    requests::{Listener, RequestError, RequestOptions, ResumeRequest, RunRequest, TagFilter},
    run::Reporter,
    runs::Runs,
    steps::{
        performer::Performer,
        stubs::{StubSetup, Stubs},
    },
    store::{
        folder::{Recovery, RunFolder},
        journal,
    },
};

/// A case to perform.
#[derive(Clone, Debug)]
pub struct CaseJob {
    /// The file of the recipe, absolute.
    pub recipe: PathBuf,
    /// The folder that is copied, absolute.
    pub fixture: Option<PathBuf>,
    /// Whether the copy is a repository.
    pub git: bool,
    /// The case.
    pub case: TestCase,
    /// The scratch folder to make.
    pub scratch: PathBuf,
    /// The search path of programs.
    pub path: OsString,
    /// Marks the processes of the case; no other case uses it at the same time.
    pub tag: String,
    /// Recipes that are part of the program: name and text.
    pub built_in: Vec<(&'static str, &'static str)>,
    /// The path of this program.
    pub program: Option<PathBuf>,
    /// More folders to search for recipes by name, absolute.
    pub recipe_dirs: Vec<PathBuf>,
}

/// Which part of a case is performed: the runner may have been killed before.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    /// The moments at which it was killed.
    pub(super) killed: Vec<usize>,
}

/// Performs a case in this thread, which does nothing else meanwhile. `strike` is called with the number of a moment at
/// which the runner is to be killed.
pub fn perform(job: &CaseJob, face: &CaseFace, strike: &mut dyn FnMut(usize)) -> super::CaseRun {
    let report = live(job, &Life::default(), face, strike);
    let network = super::Network::NotIsolated;
    let scratch = super::ScratchFolder::at(job.scratch.clone());
    report.into_run(scratch, network, 0.0)
}

/// Performs one life of a case.
pub(super) fn live(job: &CaseJob, life: &Life, face: &CaseFace, strike: &mut dyn FnMut(usize)) -> CaseReport {
    let _stage = stage::enter(job.tag.clone());
    let parts = Parts::of(&job.scratch);
    match Performed::begin(job, life, &parts) {
        Ok(mut performed) => {
            performed.run(life, face, strike);
            performed.report()
        }
        Err(error) => CaseReport::broken(error),
    }
}

/// A case that is being performed.
struct Performed<'a> {
    job: &'a CaseJob,
    parts: &'a Parts,
    stubs: Arc<Stubs>,
    runs: Runs,
    machine: LocalMachine,
    /// The recipe that is run: the user's, or a copy.
    recipe: PathBuf,
    /// The questions of the recipe and of those that it runs.
    questions: Vec<String>,
    ended: Option<super::CaseEnd>,
    errors: Vec<CaseError>,
}

impl<'a> Performed<'a> {
    fn begin(job: &'a CaseJob, life: &Life, parts: &'a Parts) -> Result<Performed<'a>, CaseError> {
        let case = &job.case;
        let env = parts.env(&job.path, case);
        if life.killed.is_empty() {
            parts.make(job.fixture.as_deref(), case)?;
            fake_programs::install(parts, &case.programs)?;
            let env = Environment::from(env.clone());
            if job.git {
                parts.commit(&env)?;
            }
            if let Some(script) = &case.setup {
                parts.prepare(script, &env)?;
            }
        }
        let machine = LocalMachine {
            variables: Variables::new(env),
            cwd: parts.work.clone(),
            home: Some(parts.home.clone()),
            program: job.program.clone(),
            guardian: None,
            built_in: job.built_in.clone(),
            agent_programs: AgentPrograms::Stubbed { missing: Vec::new() },
        };
        let knowledge = machine.knowledge(&parts.work).unwrap_or_default();
        let setup = StubSetup {
            stubs: case.stubs.clone(),
            programs: case.programs.iter().map(|program| program.name.clone()).collect(),
            bash: case.bash,
            knowledge: knowledge.clone(),
            log: (!case.kill.is_empty()).then(|| parts.stub_calls.clone()),
        };
        let stubs = Arc::new(Stubs::new(setup, calls_before(&parts.stub_calls, life)));
        let runs = Runs::at(parts.state.clone())
            .knowing(machine.variables.texts())
            .believing(knowledge)
            .performed_by(Performer::Stub(Arc::clone(&stubs)));
        let (recipe, errors) = (job.recipe.clone(), Vec::new());
        let questions = Vec::new();
        Ok(Performed { job, parts, stubs, runs, machine, recipe, questions, ended: None, errors })
    }

    /// Runs the recipe to its end, or resumes it.
    fn run(&mut self, life: &Life, face: &CaseFace, strike: &mut dyn FnMut(usize)) {
        let kill = self.job.case.kill.clone();
        let mut listener = CaseListener { watch: Some(KillWatch::new(&kill, &life.killed, strike)) };
        if self.stubs.may_lack_programs()
            || self.job.case.answers.iter().any(|answer| !answer.path.is_exact())
        {
            self.read_plan();
        }
        if self.job.case.options.auto_fix.is_some() {
            self.copy_recipe();
        }
        let mut result = match life.killed.is_empty() {
            true => self.runs.run(&self.request(), &self.machine, &mut listener),
            false => self.resume(&mut listener),
        };
        // a question whose time is over is judged by the next process that opens the run
        while let Ok(waiting) = &result
            && waiting.status == RunStatus::Waiting
            && self.let_time_pass(waiting)
        {
            result = self.resume(&mut listener);
        }
        let struck = listener.watch.map(|watch| watch.into_done()).unwrap_or_default();
        for number in (0..kill.len()).filter(|number| !struck.contains(number)) {
            self.errors.push(CaseError::NotKilled { at: kill[number].at.clone(), number });
        }
        self.ended = Some(self.end_of(result, face));
    }

    /// How a run ended.
    fn end_of(&self, result: Result<RunResult, RequestError>, face: &CaseFace) -> super::CaseEnd {
        let refused = match result {
            Ok(result) => return super::CaseEnd::Result(Box::new((face.result)(&result))),
            Err(refused) => refused,
        };
        // a resume that waits for a person leaves a run with a result
        let stopped = match &refused {
            RequestError::Resume(_) => self.folder().and_then(|folder| self.runs.open(folder).ok()),
            _ => None,
        };
        match stopped.map(|run| run.result()).filter(|result| result.status == RunStatus::Waiting) {
            Some(result) => super::CaseEnd::Result(Box::new((face.result)(&result))),
            None => {
                let (exit, message) = (face.failure)(&refused);
                super::CaseEnd::Failure { exit, message }
            }
        }
    }

    fn folder(&self) -> Option<RunFolder> {
        self.runs.find("last").ok()
    }

    fn report(self) -> CaseReport {
        let events =
            self.folder().and_then(|folder| journal::read(&folder.journal()).ok()).unwrap_or_default();
        let (commands, unknown) = fake_programs::calls(self.parts);
        let mut errors = self.errors;
        errors.extend(self.stubs.errors());
        errors.extend(unknown);
        // a case with another mistake did not come to all of its stubs
        if errors.is_empty() {
            errors.extend(self.stubs.unused());
        }
        let case = &self.job.case;
        CaseReport {
            ended: self.ended,
            events,
            calls: self.stubs.calls(),
            commands,
            changed: changed_files::changed(&self.parts.work, self.job.fixture.as_deref(), &case.files),
            errors,
        }
    }

    fn request(&self) -> RunRequest {
        let case = &self.job.case;
        let mut request = RunRequest::new(self.recipe.to_string_lossy(), &self.parts.work);
        request.inputs.own = case.inputs.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        request.inputs.own.extend(self.answers());
        request.options = RequestOptions {
            tags: TagFilter {
                include_tags: case.tags.include.clone(),
                exclude_tags: case.tags.exclude.clone(),
            },
            recovery: case.options.recovery.as_deref().and_then(recovery),
            auto_fix: case.options.auto_fix,
            no_auto_fix: case.options.auto_fix.is_none(),
            budget: case.options.budget,
            recipe_dirs: self.job.recipe_dirs.clone(),
            ..RequestOptions::default()
        };
        request
    }

    /// The answers that are given beforehand, as values of a request.
    fn answers(&self) -> Vec<(String, Value)> {
        let answers = &self.job.case.answers;
        let is_exact = |path: &String| answers.iter().any(|answer| answer.path.as_str() == path);
        let mut values = Vec::new();
        for answer in answers {
            let CaseReply::Choice { choice, fields } = &answer.reply else { continue };
            let paths: Vec<String> = match answer.path.is_exact() {
                true => vec![answer.path.as_str().to_owned()],
                false => {
                    let meant = |path: &&String| answer.path.matches(path) && !is_exact(path);
                    self.questions.iter().filter(meant).cloned().collect()
                }
            };
            for path in paths {
                let name = format!("ask.{path}");
                values.extend(fields.iter().map(|(field, value)| (format!("{name}.{field}"), value.clone())));
                values.push((name, Value::from(choice.as_str())));
            }
        }
        values
    }

    /// Sets the clock to the end of a question whose answer is its timeout; `false` if there is none.
    fn let_time_pass(&self, waiting: &RunResult) -> bool {
        let passes = |step: &str| {
            let mut answers = self.job.case.answers.iter();
            answers.any(|answer| answer.reply == CaseReply::Timeout && answer.path.matches(step))
        };
        let over = waiting.asks.iter().filter(|ask| passes(&ask.step)).filter_map(|ask| ask.deadline).min();
        over.into_iter().for_each(stage::set_clock);
        over.is_some()
    }

    fn resume(&self, listener: &mut CaseListener<'_>) -> Result<RunResult, RequestError> {
        if self.folder().is_none() {
            // it was killed before its folder was there
            return self.runs.run(&self.request(), &self.machine, listener);
        }
        let request = ResumeRequest {
            run: "last".to_owned(),
            interrupted: Interrupted::Ask,
            ..ResumeRequest::default()
        };
        self.runs.resume(&request, &self.machine, listener)
    }

    /// Finds the questions, and the programs whose stubs say that they are not installed: these are missing from the
    /// beginning.
    fn read_plan(&mut self) {
        let Some(plan) = self.checked().and_then(|checked| checked.plan) else { return };
        let Ok(settings) = self.machine.agents(&Default::default(), Default::default(), &self.parts.work)
        else {
            return;
        };
        let mut found = Found::default();
        self.search(&plan, (plan.root(), String::new(), 0), &settings, &mut found);
        let missing = found.missing.into_iter().collect();
        self.machine.agent_programs = AgentPrograms::Stubbed { missing };
        self.questions = found.questions;
    }

    fn search(
        &self,
        plan: &Plan,
        (unit, prefix, depth): (&Unit, String, usize),
        settings: &AgentSettings,
        found: &mut Found,
    ) {
        for step in unit.steps.iter().filter(|_| depth < DEEPEST) {
            let path = format!("{prefix}{}", step.id);
            match &step.kind {
                StepKind::Agent(agent) if self.stubs.lacks_program(&path) => {
                    let named = agent.programs.named(&Map::new());
                    found.missing.extend(programs::choices(&named, settings).0.first().cloned());
                    self.stubs.note_used(&path);
                }
                StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                    self.search(plan, (plan.unit(*unit), format!("{path}/"), depth + 1), settings, found);
                }
                StepKind::Ask(_) => found.questions.push(path),
                _ => {}
            }
        }
    }

    fn checked(&self) -> Option<Checked> {
        self.request().check(&self.machine).ok()
    }

    /// Runs a copy of the recipe: an accepted repair is written into it.
    fn copy_recipe(&mut self) {
        let Some(plan) = self.checked().and_then(|checked| checked.plan) else { return };
        match recipe_copy::copy(&plan, &self.job.recipe, &self.parts.recipes) {
            Ok(copy) => self.recipe = copy,
            Err(error) => self.errors.push(CaseError::Broken(format!("cannot copy the recipe: {error}"))),
        }
    }
}

/// What a plan has that concerns a case.
#[derive(Default)]
struct Found {
    missing: BTreeSet<String>,
    questions: Vec<String>,
}

/// The deepest sub-recipes that are searched.
const DEEPEST: usize = 16;

fn recovery(word: &str) -> Option<Recovery> {
    match word {
        "always" => Some(Recovery::Always),
        "off" => Some(Recovery::Off),
        _ => Some(Recovery::Declared),
    }
}

/// The calls that stubs answered before the runner was killed.
fn calls_before(log: &Path, life: &Life) -> Vec<StubCalled> {
    if life.killed.is_empty() {
        return Vec::new();
    }
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Listens to the run of a case.
struct CaseListener<'a> {
    watch: Option<KillWatch<'a>>,
}

impl Listener for CaseListener<'_> {
    fn checked(&mut self, _: &Checked) {}

    fn warning(&mut self, _: &str) {}

    fn note(&mut self, _: &str) {}

    fn reporter(&mut self) -> Box<dyn Reporter + '_> {
        match &mut self.watch {
            Some(watch) => Box::new(watch),
            None => Box::new(crate::requests::Silent),
        }
    }
}
