//! The parts of random recipes that concern order: questions, and steps that clean up. Never runs anything.

use crate::{
    random::Random,
    shape::{Kind, Known, Maker, Read, Recipe, Step, Through},
};

/// When a step runs that is no ordinary one: its id begins with `f` or with `w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Failed,
    Always,
}

impl Recipe {
    /// The same with questions and steps that clean up.
    pub(crate) fn random_with_order(random: &mut Random) -> Recipe {
        Maker { random, steps: 0, is_full: true }.recipe("r", &[], 0)
    }

    /// The paths of its questions.
    pub(crate) fn questions(&self) -> Vec<String> {
        let below = |step: &Step| -> Vec<String> {
            let inner = step.recipe().map(Recipe::questions).unwrap_or_default();
            inner.into_iter().map(|path| format!("{}/{path}", step.id)).collect()
        };
        let own = |step: &Step| (step.kind == Kind::Ask).then(|| step.id.clone());
        self.steps
            .iter()
            .flat_map(|step| own(step).into_iter().chain(below(step)).collect::<Vec<_>>())
            .collect()
    }
}

impl Maker<'_> {
    /// Adds steps that clean up.
    pub(crate) fn clean_up(&mut self, known: &Known, steps: &mut Vec<Step>) {
        for _ in 0..self.random.between(1, 3) {
            self.steps += 1;
            let (when, sign) = *self.random.pick(&[(When::Failed, 'f'), (When::Always, 'w')]);
            let step = Step::plain(format!("{sign}{}", self.steps), Kind::Bash, self.random.between(10, 99));
            let mut step = Step { when: Some(when), ..step };
            if when == When::Always && !known.paths.is_empty() && self.random.chance(40) {
                let path = self.random.pick(&known.paths).clone();
                step.reads.push(Read { path, through: Through::Template });
            }
            steps.push(step);
        }
    }
}
