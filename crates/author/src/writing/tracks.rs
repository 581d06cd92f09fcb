//! Tracks: independent parts of the work, each a recipe of its own with its own gates and reviews.

use super::{
    frame, gates,
    loops::{self, Part},
    outline,
    step::{RecipeDraft, Role, StepDraft},
    text,
};
use crate::brief::{Brief, Check, Pattern, Track};

/// Whether the work is done by sub-recipes.
pub(super) fn is_graph(brief: &Brief) -> bool {
    !brief.tracks.is_empty() || (brief.pattern.name == Pattern::Graph && brief.items.is_none())
}

/// The tracks of the spec; one for all the work if a graph is asked for and the spec has none.
pub(super) fn tracks(brief: &Brief) -> Vec<Track> {
    if !brief.tracks.is_empty() {
        return brief.tracks.clone();
    }
    vec![Track {
        name: "work".to_owned(),
        title: brief.title.clone(),
        goal: brief.goal.clone(),
        line: 1,
        after: Vec::new(),
        targets: brief.targets.paths.clone(),
    }]
}

/// The commands that must succeed after an edit, in at least one loop.
pub(crate) fn checks(brief: &Brief) -> Vec<String> {
    match brief.tracks.iter().all(|track| is_parallel(&brief.tracks, track)) && !brief.tracks.is_empty() {
        true => Vec::new(),
        false => loops::checks(brief),
    }
}

fn part<'a>(brief: &'a Brief, tracks: &[Track], track: &'a Track) -> Part<'a> {
    Part {
        brief,
        track: Some(track),
        // a track that names no files may change those of the whole work
        targets: match track.targets.is_empty() {
            true => brief.targets.paths.iter().collect(),
            false => track.targets.iter().collect(),
        },
        is_parallel: is_parallel(tracks, track),
    }
}

/// The id of the step that runs a track.
pub(super) fn id(track: &Track) -> String {
    format!("track-{}", track.name)
}

fn recipe_name(brief: &Brief, track: &Track) -> String {
    format!("{}-{}", brief.name, track.name)
}

/// Whether two tracks may be edited at the same time: neither waits for the other.
fn is_parallel(tracks: &[Track], track: &Track) -> bool {
    let waits = |one: &Track, other: &Track| reaches(tracks, one, &other.name, tracks.len());
    tracks.iter().any(|other| other.name != track.name && !waits(track, other) && !waits(other, track))
}

/// Whether a track comes after another one, directly or through others.
fn reaches(tracks: &[Track], from: &Track, name: &str, depth: usize) -> bool {
    from.after.iter().any(|order| {
        order.track == name
            || (depth > 0
                && tracks
                    .iter()
                    .find(|track| track.name == order.track)
                    .is_some_and(|track| reaches(tracks, track, name, depth - 1)))
    })
}

/// The steps that run the tracks.
pub(super) fn steps(brief: &Brief, tracks: &[Track]) -> Vec<StepDraft> {
    let has_tests = Part::whole(brief).has_tests();
    let has_plan = Part::whole(brief).has_plan();
    let one = |track: &Track| {
        let mut needs = vec!["preflight".to_owned()];
        needs.extend(track.after.iter().map(|order| format!("track-{}", order.track)));
        let mut context = String::from("spec_text: \"{{spec_text}}\"\nbase_commit: \"{{base_commit}}\"\n");
        if has_tests {
            context.push_str("tests_before: \"{{tests_before}}\"\n");
        }
        if has_plan {
            context.push_str("plan: \"{{plan}}\"\n");
        }
        let description = track.title.split_whitespace().collect::<Vec<_>>().join(" ").replace("{{", "{ {");
        let mut step = StepDraft::new(id(track), Role::Track(recipe_name(brief, track)), &description);
        if is_parallel(tracks, track) {
            step = step.comment("lint: allow parallel-writers the tracks change different files");
        }
        step.yaml("depends_on", &text::flow(&needs))
            .yaml("recipe", &text::scalar(&recipe_name(brief, track)))
            .yaml("timeout", "6h")
            .lines("context:", context.trim_end())
    };
    tracks.iter().map(one).collect()
}

/// The recipe of a track.
pub(super) fn recipe(brief: &Brief, tracks: &[Track], track: &Track) -> RecipeDraft {
    let part = part(brief, tracks, track);
    let mut steps = loops::steps(&part);
    for criterion in part.criteria().filter(|criterion| criterion.check != Check::Person) {
        if criterion.track.is_some() {
            steps.extend(gates::gates(brief, criterion));
        }
    }
    let titles = frame::titles(brief, &steps);
    let names: Vec<String> = titles.iter().map(|(id, _)| id.clone()).collect();
    steps.push(frame::pass(&part, &names));
    steps.push(result(&part, &titles));
    let name = recipe_name(brief, track);
    RecipeDraft {
        head: text::comment(0, &format!("One track of {}, which runs it: {}", brief.name, track.title)),
        settings: outline::track_settings(&part, &name, track, &steps),
        tail: "\noutput:\n  template: \"{{track-result}}\"\n".to_owned(),
        name,
        steps,
    }
}

/// The result of a track, for the sign-off of the whole.
fn result(part: &Part<'_>, titles: &[(String, String)]) -> StepDraft {
    let mut script = String::new();
    if !titles.is_empty() {
        script.push_str(&frame::proofs(part, titles));
    }
    script.push_str(&frame::verdicts(part));
    StepDraft::new("track-result", Role::SignOff, "What was proved in this track")
        .yaml("timeout", "1m")
        .body("command", &script)
}
