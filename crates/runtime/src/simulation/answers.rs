//! People that answer between two lives of a run, and the law about their answers: none is lost, none is used twice.

use std::collections::{BTreeMap, BTreeSet};

use engine::{
    Event, Record,
    run::{
        event::{QuestionPut, Stored},
        origin::Surface,
        step_path::is_below,
    },
};

use super::{life::Story, with, world::Death, world::Fate, world::World};
use crate::runs::{AnswerRequest, OpenedRun, new_origin};

impl Story {
    /// Approves a question that waits.
    pub(super) fn approve(&mut self) {
        self.answer_with("approve", false);
    }

    /// Answers one of the questions that wait. The answering process may die.
    pub(super) fn answer(&mut self, may_die: bool) {
        let choice = self.chance.pick(&["approve", "approve", "approve", "reject"]);
        self.answer_with(choice, may_die);
    }

    fn answer_with(&mut self, choice: &str, may_die: bool) {
        let Ok(folder) = self.runs().find("last") else { return };
        let Ok(opened) = self.runs().open(folder) else { return };
        let asks = opened.asks();
        if asks.is_empty() {
            return;
        }
        let ask = &asks[self.chance.below(asks.len() as u64) as usize];
        let origin = new_origin(Surface::Cli, Some("ann".to_owned()));
        let request = AnswerRequest {
            run: "last".to_owned(),
            step: Some(ask.step.clone()),
            choice: choice.to_owned(),
            origin: Some(origin.clone()),
            ..AnswerRequest::default()
        };
        if may_die && self.chance.percent(40) {
            let death = self.chance.pick(&[Death::Kill, Death::Power]);
            let hit = 1 + self.chance.below(8);
            with(|world| world.fates.push((hit, Fate::Die(death))));
        }
        let answered = self.runs().record_answer(&request);
        let death = with(World::settle);
        with(|world| world.tell(|| format!("-- answer {:?}: {death:?} {answered:?}", request.choice)));
        if answered.is_ok() && death.is_none() {
            self.answers.push(origin.request_id);
        }
        self.look_after(death);
    }
}

/// Every answer that was taken is in the journal, once. A question has one answer, and its step ends with it.
pub(super) fn are_used_once(story: &Story, shown: &OpenedRun) {
    let complain = |what: String| with(|world| world.complain(what));
    let request = |record: &Record| match &record.event {
        Event::Answered(answered) => answered.origin.as_ref().map(|origin| origin.request_id.clone()),
        _ => None,
    };
    for id in &story.answers {
        let found = shown.records.iter().filter(|record| request(record).as_ref() == Some(id)).count();
        if found != 1 {
            complain(format!("the answer {id} was taken and is recorded {found} times"));
        }
    }
    let sent = with(|world| world.letters.as_ref().map(|letters| letters.sent.clone()));
    for id in sent.into_iter().flatten() {
        if shown.records.iter().filter(|record| request(record).as_ref() == Some(&id)).count() > 1 {
            complain(format!("the answer {id} is recorded twice"));
        }
    }
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut answers: BTreeMap<&str, &str> = BTreeMap::new();
    let mut puts: BTreeMap<&str, &QuestionPut> = BTreeMap::new();
    for record in &shown.records {
        match &record.event {
            Event::QuestionPut(put) => {
                let is_same = |before: &&&QuestionPut| before.asks_the_same(put);
                if answers.remove(put.path.as_str()).is_some()
                    && puts.get(put.path.as_str()).filter(is_same).is_some()
                {
                    complain(format!("`{}` is answered and put again", put.path));
                }
                puts.insert(&put.path, put);
                open.insert(&put.path);
            }
            Event::Answered(answered) => {
                if !open.remove(answered.path.as_str()) {
                    complain(format!("`{}` is answered without a question", answered.path));
                }
                answers.insert(&answered.path, &answered.choice);
            }
            Event::RunResumed(resumed) => {
                // the questions of steps that run again are new ones
                let is_again =
                    |path: &str| resumed.given_up().iter().any(|step| *step == path || is_below(path, step));
                answers.retain(|path, _| !is_again(path));
            }
            Event::StepFinished { path, status, ended, .. } => {
                let is_question = open.remove(path.as_str()) || answers.contains_key(path.as_str());
                let answer = answers.remove(path.as_str());
                if !is_question || !status.is_done() {
                    continue;
                }
                let used = match &ended.value {
                    Some(Stored::Inline(value)) => value.render().into_owned(),
                    _ => String::new(),
                };
                if !answer.is_some_and(|answer| used.contains(&format!("\"choice\":\"{answer}\""))) {
                    complain(format!("`{path}` is done with {used}, the answer was {answer:?}"));
                }
            }
            _ => {}
        }
    }
}
