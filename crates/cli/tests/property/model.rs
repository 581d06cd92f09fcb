//! The model of results that a resume may discard, on recipes that are small enough to know the answer. Never random.

use std::collections::BTreeSet;

use crate::{
    links::{edited, failed},
    shape::{Kind, Read, Recipe, Step, Through},
    trouble::all_steps,
    world::{Count, Facts},
};

/// Steps in a short form: `a`, `b<a` reads `a`, `k!` is an agent, `g:a` is in group `g`, `n[…]` runs a recipe.
fn recipe(text: &str) -> Recipe {
    let mut steps: Vec<Step> = Vec::new();
    for word in text.split(' ') {
        let (group, rest) = word.split_once(':').map_or((None, word), |(group, rest)| (Some(group), rest));
        let (id, kind, reads) = match rest.split_once('[') {
            Some((id, inner)) => {
                let inner = inner.trim_end_matches(']').replace(',', " ");
                let child = Recipe { name: format!("child_{id}"), ..recipe(&inner) };
                (id, Kind::Nested(Box::new(child)), None)
            }
            None => {
                let (name, reads) =
                    rest.split_once('<').map_or((rest, None), |(name, read)| (name, Some(read)));
                let kind = if name.ends_with('!') { Kind::Agent } else { Kind::Bash };
                (name.trim_end_matches('!'), kind, reads)
            }
        };
        let mut step = Step::plain(id.to_owned(), kind, 10);
        step.group = group.map(str::to_owned);
        step.reads.extend(reads.map(|name| Read { path: name.to_owned(), through: Through::Template }));
        steps.push(step);
    }
    Recipe { name: "r".to_owned(), context: None, hook: false, is_graph: false, result: None, steps }
}

/// Everything in the recipe was done, but for what these say.
fn facts(recipe: &Recipe, not_done: &[&str]) -> Facts {
    let steps = all_steps(recipe).into_iter().map(|step| {
        let stands = !not_done.contains(&step.id.as_str());
        let count = Count { started: usize::from(stands), stands, ..Count::default() };
        (step.id.clone(), count)
    });
    Facts { steps: steps.collect(), ..Facts::default() }
}

fn edit(recipe: &mut Recipe, id: &str) {
    for step in &mut recipe.steps {
        if step.id == id {
            step.word += 1;
        }
        if let Kind::Nested(child) = &mut step.kind {
            edit(child, id);
        }
    }
}

fn names(given_up: &BTreeSet<String>) -> String {
    given_up.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_edit_of_a_step_discards_these_results() {
    for (text, changed, expected) in [
        ("a b c", "b", "b c"),
        ("a b c<a d", "b", "b"),
        ("a b c<a d", "a", "a b c d"),
        ("a b<a c<b d<a", "b", "b c"),
        ("a k! c", "a", "a c"),
        ("a k! c<k", "a", "a"),
        ("a k!<a c<k", "a", "a c k"),
        ("a n[x,y] c", "a", "a c n x y"),
        ("a n[x,k!] c", "a", "a c"),
        ("a n[x,k!,y] c<n", "x", "c x y"),
        ("a n[x,y] c<x", "y", "c y"),
        ("g:a g:b c", "a", "a c"),
        ("a g:b g:c<a d", "a", "a b c d"),
    ] {
        let old = recipe(text);
        let mut new = old.clone();
        edit(&mut new, changed);
        assert_eq!(names(&edited(&old, &new, &facts(&old, &[]))), expected, "{text}: {changed}");
    }
}

#[test]
fn a_failure_discards_these_results() {
    for (text, path, expected) in [
        ("a k! c<k f<c", "f", "c k"),
        ("a k! f", "f", ""),
        ("a f<a", "f", ""),
        ("k! l!<k f<l", "f", "l"),
        ("k! o<k f<k", "f", "k o"),
        ("k! n[x,f<k]", "n/f", "k"),
        ("k! n[x,l!,f<l]", "n/f", "l"),
        ("k! n[x,l!,f]", "n/f", ""),
    ] {
        let recipe = recipe(text);
        let failing = path.rsplit('/').next().unwrap_or_default();
        let facts = facts(&recipe, &[failing, "n"]);
        assert_eq!(names(&failed(&recipe, &recipe, path, &facts)), expected, "{text}: {path}");
    }
}

#[test]
fn a_fixed_failed_step_needs_nothing_above_it() {
    let old = recipe("k! f<k");
    let mut new = old.clone();
    edit(&mut new, "f");
    assert_eq!(names(&failed(&old, &new, "f", &facts(&old, &["f"]))), "");
}
