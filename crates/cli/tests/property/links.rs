//! Which steps a resume may do again: those that an edit reaches over values or order, and agents above a failure.
//!
//! Written from the promise, not from the engine: it looks at the two recipes only.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::{Care, Kind, Recipe, Step};

/// A step that does something, with what it depends on.
struct Leaf {
    id: String,
    /// Its text and that of the recipe steps around it.
    text: String,
    reads: BTreeSet<String>,
    /// Recipe steps around it.
    around: Vec<String>,
    is_agent: bool,
    /// Whether it, or a recipe step around it, names no other step: then it follows the order.
    is_loose: bool,
}

/// Steps that may run again although they were completed. `fails` says whether steps are planned to fail.
pub(crate) fn may_rerun(first: &Recipe, last: &Recipe, fails: Failures) -> BTreeSet<String> {
    let (old, new) = (leaves(first), leaves(last));
    let texts: BTreeMap<&str, &str> = old.iter().map(|leaf| (leaf.id.as_str(), leaf.text.as_str())).collect();
    let gone = gone_names(first, last, &new);
    let is_changed = |leaf: &Leaf| texts.get(leaf.id.as_str()) != Some(&leaf.text.as_str());
    // an agent is a producer with the recipe around it, and takes along what stands between it and the failed step
    let above: Vec<&Leaf> = new.iter().skip_while(|leaf| !leaf.is_agent).collect();
    let around: BTreeSet<&String> = above.iter().flat_map(|leaf| &leaf.around).collect();
    let is_above = |leaf: &Leaf| {
        let is_after = above.iter().any(|other| other.id == leaf.id);
        fails == Failures::Some && (is_after || leaf.around.iter().any(|id| around.contains(id)))
    };
    let mut again: BTreeSet<String> = new
        .iter()
        .filter(|leaf| is_changed(leaf) || is_above(leaf) || !leaf.reads.is_disjoint(&gone))
        .map(|leaf| leaf.id.clone())
        .collect();
    let mut touched = changed_recipes(first, last);
    let is_edited = !gone.is_empty() || !touched.is_empty() || new.iter().any(is_changed);
    loop {
        let size = again.len();
        touched
            .extend(new.iter().filter(|leaf| again.contains(&leaf.id)).flat_map(|leaf| leaf.around.clone()));
        spread(&new, &touched, &gone, &mut again);
        if is_edited {
            follow(&new, &touched, &mut again);
        }
        if again.len() == size {
            return again;
        }
    }
}

/// Whether steps of a case are planned to fail.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failures {
    None,
    Some,
}

/// Names that mean something else in the edited recipe.
fn gone_names(first: &Recipe, last: &Recipe, new: &[Leaf]) -> BTreeSet<String> {
    let (before, after) = (contexts(first), contexts(last));
    let mut names: BTreeSet<String> = before
        .iter()
        .filter(|(name, value)| after.get(*name) != Some(*value))
        .map(|(name, _)| name.clone())
        .collect();
    let known: BTreeSet<&str> = new.iter().map(|leaf| leaf.id.as_str()).collect();
    names.extend(leaves(first).into_iter().map(|leaf| leaf.id).filter(|id| !known.contains(id.as_str())));
    names
}

fn contexts(recipe: &Recipe) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = recipe.context.iter().cloned().collect();
    for step in &recipe.steps {
        if let Kind::Nested(child) = &step.kind {
            found.extend(contexts(child));
        }
    }
    found
}

/// Recipe steps whose recipes have another text.
fn changed_recipes(first: &Recipe, last: &Recipe) -> BTreeSet<String> {
    let texts = |recipe: &Recipe| -> BTreeMap<String, Vec<(String, String)>> {
        let nested = crate::trouble::all_steps(recipe).into_iter().filter_map(|step| match &step.kind {
            Kind::Nested(child) => Some((step.id.clone(), child.files())),
            Kind::Bash | Kind::Agent => None,
        });
        nested.collect()
    };
    let before = texts(first);
    texts(last).into_iter().filter(|(id, files)| before.get(id) != Some(files)).map(|(id, _)| id).collect()
}

/// One round: what reads something that is done again, and what stands in a recipe with it. All that a recipe
/// writes counts as new if anything in it is.
fn spread(
    leaves: &[Leaf],
    touched: &BTreeSet<String>,
    gone: &BTreeSet<String>,
    again: &mut BTreeSet<String>,
) {
    for leaf in leaves {
        let is_new = |name: &String| {
            let inside = |other: &&Leaf| {
                other.around.iter().any(|id| touched.contains(id) && !leaf.around.contains(id))
            };
            let written =
                leaves.iter().filter(inside).any(|other| other.id == *name || other.around.contains(name));
            gone.contains(name)
                || again.contains(name)
                || written
                || (touched.contains(name) && !leaf.around.contains(name))
        };
        let news: Vec<&String> = leaf.reads.iter().filter(|name| is_new(name)).collect();
        if news.is_empty() {
            continue;
        }
        // a recipe that reads it is entered again as a whole
        let entered = |around: &&String| news.iter().any(|name| !is_inside(leaves, name, around));
        let entered: Vec<&String> = leaf.around.iter().filter(entered).collect();
        let inside = leaves.iter().filter(|other| entered.iter().any(|around| other.around.contains(around)));
        let more: Vec<String> = inside.map(|other| other.id.clone()).chain([leaf.id.clone()]).collect();
        again.extend(more);
    }
}

/// What names no other step comes after whatever stands before it. Agents are kept then.
fn follow(leaves: &[Leaf], touched: &BTreeSet<String>, again: &mut BTreeSet<String>) {
    let is_new = |leaf: &Leaf| again.contains(&leaf.id) || leaf.around.iter().any(|id| touched.contains(id));
    let Some(first) = leaves.iter().position(is_new) else { return };
    let after = leaves[first..].iter().filter(|leaf| leaf.is_loose && !leaf.is_agent);
    let more: Vec<String> = after.map(|leaf| leaf.id.clone()).collect();
    again.extend(more);
}

fn is_inside(leaves: &[Leaf], name: &str, around: &str) -> bool {
    let named = |leaf: &&Leaf| leaf.id == name || leaf.around.iter().any(|outer| outer == name);
    leaves.iter().filter(named).any(|leaf| leaf.around.iter().any(|outer| outer == around))
}

fn leaves(recipe: &Recipe) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(recipe, &[], "", &BTreeSet::new(), &mut found);
    let ids: BTreeSet<String> =
        crate::trouble::all_steps(recipe).into_iter().map(|step| step.id.clone()).collect();
    let steps = crate::trouble::all_steps(recipe).into_iter();
    let is_loose = |step: &&Step| own_reads(step).iter().all(|name| !ids.contains(name));
    let loose: BTreeSet<&String> = steps.filter(is_loose).map(|step| &step.id).collect();
    for leaf in &mut found {
        leaf.is_loose = leaf.around.iter().chain([&leaf.id]).any(|id| loose.contains(id));
    }
    found
}

fn collect(recipe: &Recipe, around: &[String], text: &str, reads: &BTreeSet<String>, found: &mut Vec<Leaf>) {
    for step in &recipe.steps {
        let text = format!("{text}{}", step.text());
        let reads: BTreeSet<String> = reads.iter().cloned().chain(own_reads(step)).collect();
        match &step.kind {
            Kind::Nested(child) => {
                let around: Vec<String> = around.iter().cloned().chain([step.id.clone()]).collect();
                collect(child, &around, &text, &reads, found);
            }
            Kind::Bash | Kind::Agent => found.push(Leaf {
                id: step.id.clone(),
                text,
                reads,
                around: around.to_vec(),
                is_agent: step.kind == Kind::Agent,
                is_loose: false,
            }),
        }
    }
}

fn own_reads(step: &Step) -> Vec<String> {
    let named = step.reads.iter().map(|read| read.name().to_owned());
    let more = step.depends_on.iter().chain(step.condition.iter().map(|condition| &condition.name)).cloned();
    named.chain(more).collect()
}

/// Ids of the steps that may not be repeated without a word.
pub(crate) fn careful(recipe: &Recipe, care: Care) -> BTreeSet<String> {
    let steps = crate::trouble::all_steps(recipe);
    steps.into_iter().filter(|step| step.care == care).map(|step| step.id.clone()).collect()
}
