//! The end of a run: all its processes end, and its last record holds the result.

use std::{collections::BTreeSet, time::Duration};

use engine::{
    Event, RunState,
    run::{decide, ending::end_reason, event::RunFinished, message, slots},
};
use recipe::value::Value;

use super::{DriveError, Driver, Signals};
use crate::{
    os::{
        clock,
        process::{self, Survivor},
    },
    store::cancel_request::cancelled_by,
};

impl Driver<'_> {
    /// Ends the remaining processes of the run and writes its last record.
    pub(super) async fn finish(&mut self, signals: &mut Signals) -> Result<(), DriveError> {
        let (mut ended, mut left) = (std::mem::take(&mut self.ended_processes), Vec::new());
        if self.store.folder.is_some() && !self.tasks.are_all_gone(&self.state) {
            let filter = process::Filter::run(&self.spec.run_id);
            let mut swept = vec![tokio::select! {
                biased;
                swept = process::end_marked(&filter, self.spec.host.grace) => swept,
                // an interrupt here means: do not wait
                _ = signals.next() => process::end_marked(&filter, Duration::ZERO).await,
            }];
            if !self.tasks.set.is_empty() {
                // a hook of a stopped recipe may have started in the meantime
                self.tasks.set.shutdown().await;
                swept.push(process::end_marked(&filter, self.spec.host.grace).await);
            }
            for swept in swept {
                ended.extend(swept.gone().cloned());
                left = swept.left;
            }
        }
        self.shown.forward(self.reporter, &self.mask);
        for event in slots::unbegun_agents(&mut self.state) {
            self.record(event, None)?;
        }
        if let Some(message) = not_json(&self.state) {
            self.record(Event::Noted { path: None, message, next: None }, None)?;
        }
        let reason = end_reason(&self.state);
        let error = error_of(&self.state).map(|error| self.mask.quotation(&error).into_owned());
        let usage = (self.state.used.runs > 0).then(|| self.state.used.stored());
        // if a process cannot be assigned to a step, any step may have lost its process
        let of_steps: Option<BTreeSet<String>> = ended.iter().map(|survivor| survivor.step.clone()).collect();
        let ended_steps =
            of_steps.filter(|_| self.state.has_left_running()).map(|steps| steps.into_iter().collect());
        let finished = RunFinished {
            output: self.store.store_result(self.state.root())?,
            ended_processes: ended.into_iter().map(|survivor| survivor.command).collect(),
            left_processes: left.iter().map(Survivor::words).collect(),
            ended_steps,
            usage,
            worked_ms: Some(self.state.work.until(clock::now())),
            origin: self.store.folder.as_ref().and_then(|folder| cancelled_by(reason, folder)),
            ..RunFinished::new(reason, error)
        };
        self.record(Event::RunFinished(finished), None)
    }
}

/// The message of a run that was stopped, has failed, or waits for answers.
fn error_of(state: &RunState) -> Option<String> {
    let root = state.root();
    match root.failed_at {
        _ if state.halt().is_some() => state.halt().map(|halt| halt.error().to_owned()),
        // waiting is not failing
        Some(_) if state.needs_human() => {
            state.root_cause().map(|(path, ended)| format!("`{path}` is {}", message::in_short(ended)))
        }
        Some(at) => root.steps[at].ended.as_ref().and_then(|ended| ended.error.clone()),
        None => waiting_words(state),
    }
}

/// The message of a run that ends because it waits for answers.
pub(crate) fn waiting_words(state: &RunState) -> Option<String> {
    let asked = state.open_questions();
    let names: Vec<String> = asked.iter().map(|asked| format!("`{}`", asked.put.path)).collect();
    let (are, s) = if names.len() > 1 { ("are", "s") } else { ("is", "") };
    (!names.is_empty()).then(|| format!("{} {are} waiting for the answer{s} of a person", names.join(", ")))
}

/// The warning about a result that is declared as JSON and is not.
fn not_json(state: &RunState) -> Option<String> {
    let root = state.root();
    let says = root.unit.output.as_ref().is_some_and(|output| output.format.eq_ignore_ascii_case("json"));
    if state.settings.dry_run || !says || !root.is_complete() {
        return None;
    }
    let text = decide::result(root).map(|value| value.render().into_owned()).unwrap_or_default();
    let error = Value::from_json(&text).err()?;
    Some(format!(
        "warning: `output` has `format: json`, but its text is not valid JSON: {error}; values are not escaped, so \
         build the JSON in a step, for example with `jq -n --arg name \"$NAME\" '{{name: $name}}'`"
    ))
}
