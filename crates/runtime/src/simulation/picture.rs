//! A state as text, equal for equal states, so that two of them can be compared.

use std::{collections::BTreeSet, fmt::Write};

use engine::{RunState, run::frame::Frame};

/// Everything that a fold of the journal must restore.
pub(super) fn picture(state: &RunState) -> String {
    let mut text = String::new();
    for frame in &state.frames {
        draw(&mut text, frame);
    }
    let mut attempts: Vec<_> = state.attempts.iter().collect();
    attempts.sort();
    let mut failures: Vec<_> = state.failures.iter().map(|(path, all)| format!("{path}: {all:?}")).collect();
    failures.sort();
    let mut below: Vec<_> = state.used_below.iter().map(|(path, used)| format!("{path}: {used:?}")).collect();
    below.sort();
    let RunState { active, running, started_at, finished_at, finished, used, resumes, .. } = state;
    let _ = write!(
        text,
        "{active:?} {running} {started_at:?} {finished_at:?} {finished:?} {used:?} {resumes}\n{attempts:?}\n{failures:#?}\n{below:?}\n"
    );
    text
}

fn draw(text: &mut String, frame: &Frame) {
    let Frame { path, unit, parent, depth, context, next, open, hooks, ran, .. } = frame;
    let Frame { failed_at, stopped, cleanup, closed, log, .. } = frame;
    let _ = writeln!(
        text,
        "frame `{path}` of {} {parent:?} {depth}: {:?} {next} {open} {hooks} {ran} {failed_at:?} {stopped:?} {cleanup:?} {closed}",
        unit.path,
        frame.level()
    );
    let sets = [&frame.overrides, &frame.assigned].map(|set| set.iter().collect::<BTreeSet<_>>());
    let below: BTreeSet<_> = frame.below.keys().collect();
    // the names of the instance that was prepared last are for its process only
    let of_loop = frame.loop_names();
    let context: Vec<_> = context.iter().filter(|(name, _)| !of_loop.contains(name)).collect();
    let log: Vec<_> = log.iter().filter(|name| !of_loop.contains(name)).collect();
    let _ = writeln!(text, "  {context:?}\n  {sets:?} {below:?} {log:?}");
    for step in &frame.steps {
        let _ = writeln!(text, "  {step:?}");
    }
}
