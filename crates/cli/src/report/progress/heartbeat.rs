//! Lines between the events of a run: signs of life of long steps, and questions at a plain terminal.

use engine::{RunState, run::frame::StepState};
use runtime::{
    os::clock,
    run::{Notice, Reporter as _},
};

use super::Progress;
use crate::report::{
    failure::clean,
    prompt::Prompt,
    words::{label, so_far},
};

impl<'a> Progress<'a> {
    /// The same, with questions at this terminal.
    pub(crate) fn asking(mut self, prompt: Option<Prompt>) -> Progress<'a> {
        self.prompt = prompt;
        self
    }

    /// Lets the prompt take in what happens.
    pub(super) fn hear(&mut self, notice: &Notice<'_>) {
        let lines = self.prompt.as_mut().map(|prompt| prompt.hear(notice)).unwrap_or_default();
        lines.iter().for_each(|line| self.out.notice(&clean(line)));
    }

    /// Shows the prompt, if a person is asked and it is not shown yet.
    pub(super) fn ask_here(&mut self) {
        let Some(prompt) = &mut self.prompt else { return };
        if let Some(line) = prompt.line()
            && !std::mem::replace(&mut prompt.is_on_screen, true)
        {
            self.out.steer(&clean(&line));
        }
    }

    pub(super) fn beat(&mut self, state: &RunState) {
        let Some(interval) = self.heartbeat else { return };
        for path in state.running_steps() {
            let due = self.beats.get(&path).is_some_and(|last| last.elapsed() >= interval);
            if !due {
                continue;
            }
            self.beats.insert(path.clone(), clock::instant());
            let elapsed = state
                .step(&path)
                .and_then(StepState::since)
                .map_or(0.0, |at| (clock::now().as_millisecond() - at.as_millisecond()) as f64 / 1000.0);
            let (label, elapsed) = (label(&path, state), so_far(elapsed));
            let text = match self.waits.get(&path) {
                Some((attempt, until)) => {
                    let left = so_far(until.saturating_duration_since(clock::instant()).as_secs_f64().ceil());
                    format!("{label} waiting after {elapsed}: attempt {attempt} starts in {left}")
                }
                None => format!("{label} still running after {elapsed}{}", self.doing(&path)),
            };
            self.line(&text);
        }
    }

    fn doing(&self, path: &str) -> String {
        match self.last.get(path) {
            Some(what) if self.agents.contains(path) => format!("; now: {what}"),
            Some(what) => format!("; last line: {what}"),
            None if self.wants_output() && !self.agents.contains(path) => "; no output so far".to_owned(),
            None => String::new(),
        }
    }
}
