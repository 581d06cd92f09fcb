//! A person who answers a live run through its inbox, now and then, and reads the receipts.

use std::time::Duration;

use engine::run::{origin::Surface, question::AnswerDraft};

use super::{chance::Chance, life::Story, recipes::Shelf, with, world::World};
use crate::{
    runs::{Runs, new_origin},
    store::answer_request::{self, AnswerLetter, AnswerReceipt},
};

/// The letters of a person.
#[derive(Debug)]
pub(super) struct Letters {
    chance: Chance,
    /// When the person looks at the run again.
    next: Duration,
    /// Everything that was sent, by the ids of the requests.
    pub(super) sent: Vec<String>,
}

impl Letters {
    /// A person who writes, if the seed brings one and the recipes ask.
    pub(super) fn by_seed(seed: u64, shelf: &Shelf) -> Option<Letters> {
        let mut chance = Chance::of(seed, "letters");
        let asks = shelf.0.values().any(|text| text.contains("  ask: "));
        (asks && chance.percent(60)).then_some(Letters { chance, next: Duration::ZERO, sent: Vec::new() })
    }

    /// When the person looks at the run again.
    pub(super) fn next(&self) -> Duration {
        self.next
    }
}

/// The person looks at the run, and may answer one of its questions. The run is told to look into its inbox.
pub(super) fn visit() {
    let now = with(World::now);
    let mut letters = with(|world| world.letters.take()).expect("a person is there");
    let most = letters.chance.pick(&[1_000, 1_000_000, 10_000_000]);
    letters.next = now + Duration::from_millis(1 + letters.chance.below(most));
    letters.write();
    with(|world| world.letters = Some(letters));
}

impl Letters {
    fn write(&mut self) {
        let runs = Runs::at(with(|world| world.home.clone()));
        let Ok(folder) = runs.find("last") else { return };
        let Ok(opened) = runs.open(folder.clone()) else { return };
        let asks = opened.asks();
        if asks.is_empty() {
            return;
        }
        let ask = &asks[self.chance.below(asks.len() as u64) as usize];
        let choice = self.chance.pick(&["approve", "approve", "approve", "reject", "no such choice"]);
        let origin = new_origin(Surface::Cli, Some("bob".to_owned()));
        let id = origin.request_id.clone();
        let draft = AnswerDraft { choice: choice.to_owned(), origin: Some(origin), ..AnswerDraft::default() };
        let letter = AnswerLetter { path: ask.step.clone(), draft };
        let sent = answer_request::send(&folder, &id, &letter);
        with(|world| world.tell(|| format!("letter {id}: {choice} to {}: {sent:?}", letter.path)));
        // the runner may die while the letter is written, and the next one finds it
        self.sent.push(id);
    }
}

impl Story {
    /// Reads the receipts: an answer that was taken is never lost.
    pub(super) fn read_receipts(&mut self) {
        let Ok(folder) = self.runs().find("last") else { return };
        let sent = with(|world| world.letters.as_ref().map(|letters| letters.sent.clone()));
        for id in sent.into_iter().flatten() {
            if answer_request::take_receipt(&folder, &id) == Some(AnswerReceipt::Taken) {
                self.answers.push(id);
            }
        }
    }
}
