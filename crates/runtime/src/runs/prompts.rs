//! The prompts of a stored run, as they were sent to agents. Secrets are masked here. Never changes the run.

use std::{collections::HashMap, fs};

use engine::{
    Event,
    run::event::{OutputRef, Spawned},
};

use super::OpenedRun;
use crate::report::{RunResult, StepResult};

impl OpenedRun {
    /// Adds to each agent step of a result the last prompt that its agent got.
    pub fn add_prompts(&self, result: &mut RunResult) {
        let mut sent: HashMap<&str, &OutputRef> = HashMap::new();
        for record in &self.records {
            if let Event::Spawned(spawned @ Spawned { purpose: None, .. }) = &record.event {
                sent.extend(spawned.prompt.as_ref().map(|prompt| (spawned.path.as_str(), prompt)));
            }
        }
        if !sent.is_empty() {
            self.add_to(&mut result.step_results, &sent);
        }
    }

    fn add_to(&self, steps: &mut [StepResult], sent: &HashMap<&str, &OutputRef>) {
        for step in steps {
            let file = sent.get(step.path.as_str()).map(|prompt| self.folder.path().join(&prompt.file));
            // a pruned file is not shown
            let text = file.and_then(|file| fs::read(file).ok());
            step.prompt = text.map(|text| self.mask.text(&String::from_utf8_lossy(&text)).into_owned());
            self.add_to(&mut step.steps, sent);
        }
    }
}
