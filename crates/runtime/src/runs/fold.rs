//! Folds the events of a run into its state, with their values and secrets. Never writes anything.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use engine::{Event, Record, RunSettings, RunState, RunStatus, knowledge::Knowledge};
use recipe::{plan::Plan, value::Value};

use super::{
    CurrentRecipe, OpenError, OpenedRun,
    compile::{compile, complete},
};
use crate::{
    machine::dotenv,
    store::{
        folder::{Header, RunFolder},
        journal::{self, Extent},
        secrets::{Fingerprints, Mask},
        values,
    },
};

/// Folds the events of a run into its state, starting with its first plan.
pub(super) fn fold(
    folder: RunFolder,
    header: Header,
    plan: Plan,
    records: Vec<Record>,
    variables: &BTreeMap<String, String>,
) -> Result<OpenedRun, OpenError> {
    let plan = complete(plan, &folder, 0, &header, &records)?;
    let state = RunState::new(&plan, settings(&header));
    let mut mask = Mask::default().of_run(&folder.id()).with_kept(Fingerprints::load(folder.path())?);
    plan.units.iter().for_each(|unit| mask.learn_unit(unit));
    let recipe = CurrentRecipe::first(&header);
    let base = recipe.base(&header.working_dir);
    mask.learn_variables(&named(&plan, &base, &header, variables));
    mask.learn_frame(state.root());
    let mut shown = OpenedRun {
        header,
        folder,
        plan,
        recipe,
        state,
        mask,
        records: Vec::new(),
        status: RunStatus::Interrupted,
        lost: HashMap::new(),
        knowledge: Knowledge::built_in(),
        generation: 0,
        extent: Extent::default(),
    };
    for record in &records {
        shown.take_in(record, &records)?;
    }
    shown.records = records;
    shown.status = shown.status_now();
    Ok(shown)
}

/// The variables of the current environment that the recipes name.
fn named(
    plan: &Plan,
    base: &Path,
    header: &Header,
    variables: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let defined = dotenv::definitions(plan, base, &header.working_dir);
    let mut known = variables.clone();
    defined.iter().for_each(|(name, value)| {
        known.entry(name.clone()).or_insert_with(|| value.clone());
    });
    dotenv::named(plan, defined.into_iter().map(|(name, _)| name), |name| known.get(name).cloned())
}

fn settings(header: &Header) -> RunSettings {
    RunSettings {
        given: header.given(),
        ambient: header.options.ambient.clone(),
        include_tags: header.options.tags.include_tags.clone(),
        exclude_tags: header.options.tags.exclude_tags.clone(),
        max_parallel: header.options.max_parallel,
        dry_run: false,
        // the driver adds the limits of this machine
        ..RunSettings::default()
    }
}

impl OpenedRun {
    /// Takes in a record that was written after the run was opened.
    pub(super) fn follow(&mut self, record: Record) -> Result<(), OpenError> {
        let mut records = std::mem::take(&mut self.records);
        records.push(record);
        let taken = records.last().map_or(Ok(()), |record| self.take_in(record, &records));
        self.records = records;
        taken
    }

    /// Takes in the records that another process has written since; earlier ones are not read again. Gives the new
    /// ones. After an error the run has to be opened again.
    pub fn catch_up(&mut self) -> Result<&[Record], OpenError> {
        let (fresh, extent) = journal::look_on(&self.folder.journal(), self.extent)?;
        let known = self.records.len();
        if !fresh.is_empty() {
            self.mask = std::mem::take(&mut self.mask).with_kept(Fingerprints::load(self.folder.path())?);
        }
        for record in fresh {
            if let Event::RecipeEntered { unit, .. } = &record.event
                && !self.plan.units.iter().any(|known| known.path == *unit)
            {
                let entered = std::slice::from_ref(&record);
                let plan = self.plan.clone();
                self.plan = complete(plan, &self.folder, self.generation, &self.header, entered)?;
            }
            self.follow(record)?;
        }
        self.extent = extent;
        self.status = self.status_now();
        Ok(&self.records[known..])
    }

    /// The status: that of the journal, corrected by whether the runner is alive.
    pub(super) fn status_now(&self) -> RunStatus {
        match (&self.state.finished, self.folder.owner()) {
            (Some(finished), None) => finished.status,
            (_, Some(_)) => RunStatus::Running,
            (None, None) => RunStatus::Interrupted,
        }
    }

    /// Takes in one event; `all` are the records of the run, which say what its recipes are.
    fn take_in(&mut self, record: &Record, all: &[Record]) -> Result<(), OpenError> {
        let mut value = None;
        match &record.event {
            Event::RunResumed(resumed) => {
                if resumed.sources != self.generation {
                    self.generation = resumed.sources;
                    let plan = compile(&self.folder, self.generation, &self.header)?;
                    self.plan = complete(plan, &self.folder, self.generation, &self.header, all)?;
                }
                self.recipe = self.recipe.resumed(self.plan.root(), resumed, &self.header.working_dir);
            }
            Event::StepFinished { path, ended, .. } | Event::WorkEnded { path, ended, .. } => {
                if let Some(stored) = &ended.value {
                    match values::load(self.folder.path(), stored) {
                        Ok(loaded) => {
                            self.lost.remove(path);
                            value = Some(loaded);
                        }
                        Err(reason) => {
                            self.lost.insert(path.clone(), reason);
                        }
                    }
                }
            }
            _ => {}
        }
        learn_step(&mut self.mask, &self.state, &record.event, value.as_ref());
        self.mask.learn_answer(&self.state, &record.event);
        self.state.apply(&self.plan, record, value);
        match &record.event {
            Event::RecipeEntered { .. } => {
                self.state.frames.last().iter().for_each(|frame| self.mask.learn_frame(frame));
            }
            Event::LoopEntered { path, .. } => self.mask.learn_items(&self.state, path),
            Event::RunResumed(_) => self.mask.learn_frame(self.state.root()),
            _ => {}
        }
        Ok(())
    }
}

/// Learns the secrets that a step got or made.
fn learn_step(mask: &mut Mask, state: &RunState, event: &Event, value: Option<&Value>) {
    let (Event::StepStarted { path, .. } | Event::StepFinished { path, .. } | Event::WorkEnded { path, .. }) =
        event
    else {
        return;
    };
    let Some((frame, at)) = state.locate(path) else { return };
    let frame = &state.frames[frame];
    let step = &frame.unit.steps[at];
    match value {
        Some(value) => mask.learn_result(step, value),
        None => {
            for (name, template) in
                step.env.iter().filter(|(name, _)| mask.is_secret(name)).collect::<Vec<_>>()
            {
                mask.learn_value(name, &Value::from(template.render(&frame.scope(at))));
            }
        }
    }
}
