//! What goes wrong in a case: attempts that fail or kill the runner, and a first recipe that has to be edited.
//!
//! Never part of the recipe's meaning: attempts read their trouble from files outside of it.

use crate::{
    random::Random,
    shape::{Care, Condition, Kind, Recipe, Step},
};

/// What happens in an attempt at a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mishap {
    pub(crate) step: String,
    /// Which attempt, from 1.
    pub(crate) attempt: usize,
    /// A function of the steps' library.
    pub(crate) what: &'static str,
}

/// Random mishaps for the steps of a recipe.
pub(crate) fn mishaps(recipe: &Recipe, random: &mut Random) -> Vec<Mishap> {
    let mut found = Vec::new();
    for step in all_steps(recipe) {
        // a step that cleans up runs less often
        let percent = if step.when.is_some() { 50 } else { 25 };
        if matches!(step.kind, Kind::Nested(_) | Kind::Ask) || !random.chance(percent) {
            continue;
        }
        for attempt in 1..=random.between(1, 3) {
            let what = match random.below(100) {
                // a failure that the recipe goes on after would be another result
                0..50 if !step.tolerated => "fail",
                50..60 => "kill_then_die",
                60..70 => "kill_then_go_on",
                70..80 if step.care != Care::NotIdempotent => "kill_then_linger",
                80..90 => "kill_when_done",
                90..100 if step.is_proven => "kill_in_proof",
                _ => continue,
            };
            found.push(Mishap { step: step.id.clone(), attempt, what });
        }
    }
    found
}

/// Every step of a recipe and of those in it.
pub(crate) fn all_steps(recipe: &Recipe) -> Vec<&Step> {
    let mut steps: Vec<&Step> = Vec::new();
    for step in &recipe.steps {
        steps.push(step);
        if let Kind::Nested(child) = &step.kind {
            steps.extend(all_steps(child));
        }
    }
    steps
}

/// The recipe before an edit: one that mostly cannot succeed.
pub(crate) fn before_edits(last: &Recipe, random: &mut Random) -> Recipe {
    let mut first = last.clone();
    for _ in 0..random.between(1, 3) {
        let count = all_steps(&first).len();
        let at = random.below(count);
        edit(&mut first, last, at, random);
    }
    first
}

/// Undoes one edit: at the step with this number, counted over all recipes.
fn edit(first: &mut Recipe, last: &Recipe, at: usize, random: &mut Random) {
    let needed: Vec<String> = all_steps(last)
        .iter()
        .flat_map(|step| step.depends_on.iter().chain(step.condition.iter().map(|condition| &condition.name)))
        .cloned()
        .collect();
    let Some((recipe, index)) = find(first, at) else { return };
    let count = recipe.steps.len();
    let step = &mut recipe.steps[index];
    match random.below(100) {
        0..45 if matches!(step.kind, Kind::Bash) => (step.broken, step.tolerated) = (true, false),
        45..60 => step.word = 5,
        60..70 if count > 1 && !needed.contains(&step.id) => drop(recipe.steps.remove(index)),
        70..80 => recipe.steps.insert(index, extra(random.below(1_000_000))),
        80..90 => {
            if let Some((_, value)) = &mut recipe.context {
                "older".clone_into(value);
            }
        }
        _ => {
            if let Some(Condition { text, .. }) = &mut step.condition {
                "never there".clone_into(text);
            }
        }
    }
}

/// A step that the edited recipe does not have.
fn extra(number: usize) -> Step {
    Step::plain(format!("x{number}"), Kind::Bash, 1)
}

fn find(recipe: &mut Recipe, mut at: usize) -> Option<(&mut Recipe, usize)> {
    for index in 0..recipe.steps.len() {
        if at == 0 {
            return Some((recipe, index));
        }
        at -= 1;
        let inner = match &recipe.steps[index].kind {
            Kind::Nested(child) => all_steps(child).len(),
            Kind::Bash | Kind::Agent | Kind::Ask => 0,
        };
        if at < inner {
            return match &mut recipe.steps[index].kind {
                Kind::Nested(child) => find(child, at),
                Kind::Bash | Kind::Agent | Kind::Ask => None,
            };
        }
        at -= inner;
    }
    None
}
