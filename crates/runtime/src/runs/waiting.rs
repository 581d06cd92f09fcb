//! Everything that waits for a person, over all runs.

use engine::{Event, RunStatus, run::message};

use super::{OpenedRun, Runs, list::last_record};
use crate::{os::clock, report::asks::Ask, store::folder::RunFolder};

impl Runs {
    /// The questions that wait for a person, oldest first. Those whose time is over are judged.
    pub fn waiting(&self) -> Vec<Ask> {
        let folders = self.ids().into_iter().map(|id| RunFolder::at(self.dir().join(id)));
        let mut asks: Vec<Ask> =
            folders.filter(may_wait).flat_map(|folder| self.questions_of(folder)).collect();
        asks.sort_by(|a, b| (a.since, &a.run_id, &a.step).cmp(&(b.since, &b.run_id, &b.step)));
        asks
    }

    fn questions_of(&self, folder: RunFolder) -> Vec<Ask> {
        let Ok(mut opened) = self.open(folder.clone()) else { return Vec::new() };
        let now = clock::now();
        let is_late = opened.questions().iter().any(|asked| asked.is_overdue(now));
        if is_late && self.judge_overdue(&folder).is_ok() {
            match self.open(folder) {
                Ok(judged) => opened = judged,
                Err(_) => return Vec::new(),
            }
        }
        let on_time = |ask: &Ask| ask.deadline.is_none_or(|deadline| deadline > now);
        opened.asks().into_iter().filter(on_time).chain(opened.task_for_person()).collect()
    }
}

/// Whether a run may have a question that waits, as far as its last record and the text of its journal tell.
fn may_wait(folder: &RunFolder) -> bool {
    let is_over = match last_record(folder).map(|record| record.event) {
        Some(Event::RunFinished(finished)) => finished.status != RunStatus::Waiting,
        _ => false,
    };
    let asks = || {
        let text = std::fs::read(folder.journal()).unwrap_or_default();
        MARKS.iter().any(|mark| text.windows(mark.len()).any(|part| part == *mark))
    };
    (!is_over || folder.owner().is_some() || is_interrupted(folder)) && asks()
}

/// The name of the event that puts a question, and that of the outcome of a step that needs a person.
const MARKS: [&[u8]; 2] = [b"\"question_put\"", b"\"needs_human\""];

fn is_interrupted(folder: &RunFolder) -> bool {
    super::list::last_finish(folder).is_some_and(|finished| finished.status == RunStatus::Interrupted)
}

impl OpenedRun {
    /// The step whose exit code says that a person has to act before a resume. It has no choices.
    fn task_for_person(&self) -> Option<Ask> {
        let waits = self.status == RunStatus::Waiting && self.state.needs_human();
        let (step, ended) = self.state.root_cause().filter(|_| waits)?;
        let error = ended.error.as_deref().unwrap_or_default();
        let heading = self.state.planned(&step).map(|step| message::heading(step.kind.word()));
        let asked = heading.and_then(|heading| error.strip_prefix(heading.as_str())).unwrap_or(error);
        Some(Ask {
            run_id: self.header.run_id.clone(),
            recipe_name: self.header.recipe_name.clone(),
            step,
            question: self.mask.quotation(asked).into_owned(),
            choices: Vec::new(),
            fields: Vec::new(),
            show: Vec::new(),
            digest: String::new(),
            since: self.state.finished_at.unwrap_or(self.header.created_at),
            deadline: None,
            on_timeout: None,
        })
    }

    /// The questions that a person can answer now, as data without secrets.
    pub fn asks(&self) -> Vec<Ask> {
        let ask = |asked| Ask::of(&self.header.run_id, &self.header.recipe_name, asked, &self.mask);
        self.questions().into_iter().map(ask).collect()
    }
}
