//! A death, and an error, at every single disk access and every process start: the run continues, and ends as it would
//! have ended without.

use std::path::Path;

use engine::run::{frame::FrameId, question::GivenAnswer};

use super::{
    install, laws,
    life::{End, Story},
    recipes::Shelf,
    tests::Base,
    watcher::Care,
    with,
    world::{Death, Fate},
};
use crate::{
    runs::{Interrupted, OpenedRun},
    store::folder::{AskOptions, Options},
};

const PLAIN: &str = "
name: main
context: {x: '1'}
output: {template: 'all done: {{last}}'}
steps:
- {id: first, command: 'work {{x}}'}
- {id: much, command: 'print-much {{first}}'}
- {id: json, command: 'print-json {{much}}', parse_json: true}
- {id: tolerated, command: 'always-fails', continue_on_error: true, retry: {max_attempts: 2, delay: 5}}
- {id: slow, command: 'never-ends', timeout: 3, continue_on_error: true}
- {id: unmet, command: 'work', depends_on: [slow]}
- {id: proven, command: 'work', idempotent: false, ensure: [{command: 'work {{proven}}'}, {condition: proven}]}
- {id: last, command: 'work {{json.step}}', condition: \"x == '1'\"}
";

const NESTED: &str = "
name: main
hooks: {pre_step: 'before {{step_id}}', post_step: 'after {{step_id}}', on_error: 'sorry {{step_id}}'}
steps:
- {id: one, command: 'work'}
- {id: tree, recipe: branch, context: {x: '2'}, timeout: 500}
- {id: careful, command: 'work {{tree}}', idempotent: false}
";

const BRANCH: &str = "
name: branch
steps:
- {id: a, command: 'print-much', parallel_group: g}
- {id: b, command: 'work', parallel_group: g}
- {id: c, recipe: leaf}
";

const LEAF: &str = "
name: leaf
steps:
- {id: only, command: 'work {{x}}'}
";

const AGENTS: &str = "
name: main
budget: {agent_runs: 9, usd: 20}
steps:
- {id: plan, prompt: 'think'}
- {id: left, prompt: 'do {{plan}}', parallel_group: g}
- {id: right, prompt: 'do {{plan}}', parallel_group: g, timeout: 900}
- {id: check, command: 'work {{left}} {{right}}'}
";

const LOOPS: &str = "
name: main
steps:
- {id: each, for_each: [a, b, c], max_parallel: 2, command: 'work {{item}}'}
- {id: trees, for_each: [p, q], recipe: leaf, context: {x: '{{item}}'}}
- {id: round, repeat: {max: 2, delay: 3}, command: 'work {{iteration}}'}
";

const ASKS: &str = "
name: main
hooks: {pre_step: 'before {{step_id}}'}
steps:
- {id: first, command: 'work'}
- {id: known, ask: 'is {{first}} fine?', show: ['{{first}}']}
- {id: asked, ask: 'and this?', parallel_group: g, timeout: 99999}
- {id: beside, command: 'work', parallel_group: g}
- {id: tree, recipe: inner}
- {id: last, command: 'work {{asked.choice}} {{known.choice}}'}
";

/// Two steps, each in a recipe of its own, and the same steps in one recipe.
const DEEP: &str = "{name: main, steps: [{id: call, recipe: outer}]}";
const OUTER: &str = "{name: outer, steps: [{id: a, command: work}, {id: call, recipe: inner}]}";
const INNER: &str = "{name: inner, steps: [{id: b, command: work}]}";
const FLAT: &str = "{name: main, steps: [{id: a, command: work}, {id: b, command: work}]}";

fn story(name: &str, at: u64, base: &Path) -> Story {
    let recipes = match name {
        "deep" => Shelf::of(&[("main", DEEP), ("outer", OUTER), ("inner", INNER)]),
        "flat" => Shelf::of(&[("main", FLAT)]),
        "asks" => Shelf::of(&[("main", ASKS), ("inner", INNER)]),
        "plain" => Shelf::of(&[("main", PLAIN)]),
        "loops" => Shelf::of(&[("main", LOOPS), ("leaf", LEAF)]),
        "nested" => Shelf::of(&[("main", NESTED), ("branch", BRANCH), ("leaf", LEAF)]),
        _ => Shelf::of(&[("main", AGENTS)]),
    };
    let options = Options {
        max_parallel: 2,
        max_agents: Some(1),
        no_auto_stage: true,
        asking: AskOptions { answers: [("known".to_owned(), approved())].into(), wait: false },
        audit_dir: (name == "nested").then(|| base.join("audit")),
        ..Options::default()
    };
    let mut story = Story::new(at, base, recipes, options, Care::Some);
    story.choice = Interrupted::Rerun;
    story
}

fn approved() -> GivenAnswer {
    GivenAnswer { choice: "approve".to_owned(), ..GivenAnswer::default() }
}

fn without_numbers(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "")
}

/// The outcome of every step, without the numbers of attempts.
fn summary(shown: &OpenedRun, id: FrameId, lines: &mut Vec<String>) {
    let frame = &shown.state.frames[id];
    for (at, step) in frame.steps.iter().enumerate() {
        let is_answer = frame.unit.steps[at].kind.as_ask().is_some();
        let value = step.value.as_ref().map(|value| value.render().into_owned());
        // the time of an answer is another one each time
        let value = value.filter(|_| !is_answer);
        let value = value.map(|value| without_numbers(&value));
        lines.push(format!("{} {:?} {:?} {value:?}", frame.step_path(at), step.status, step.skipped));
        if let Some(child) = step.frame {
            summary(shown, child, lines);
        }
    }
}

/// Applies the fates of each life, resumes until the run is completed, and returns its outcome. The second value is the
/// points that each life has passed.
fn play(
    name: &str,
    fates: &[Option<(u64, Fate)>],
    at: u64,
    base: &Path,
) -> (Vec<String>, Vec<Vec<&'static str>>) {
    let mut story = story(name, at, base);
    let mut passed = Vec::new();
    for life in 0..8 {
        with(|world| world.fates = fates.get(life).copied().flatten().into_iter().collect());
        let end = story.live();
        passed.push(with(|world| std::mem::take(&mut world.passed)));
        if let End::Finished(result) = &end
            && result.success
        {
            laws::check(&story);
            break;
        }
        story.approve();
    }
    let shown = story.runs().open(story.runs().find("last").unwrap()).unwrap();
    let mut lines = vec![without_numbers(&format!("{:?} {:?}", shown.status, shown.result().output))];
    summary(&shown, 0, &mut lines);
    drop(story);
    let broken = install(None).unwrap().broken;
    assert!(broken.is_empty(), "{name} {fates:?}: {broken:#?}");
    (lines, passed)
}

/// Both kinds of death, and a full disk.
const FATES: [Fate; 3] = [Fate::Die(Death::Kill), Fate::Die(Death::Power), Fate::Fail(28)];

/// Every point of the first life, then every point of a life that resumes after a death in the middle.
fn check(name: &str) {
    let base = Base::new(name);
    let (expected, passed) = play(name, &[], 0, &base.0);
    let points = passed[0].clone();
    assert!(points.len() > 60, "{name}: only {} points", points.len());
    let mut at = 0;
    let mut try_all = |before: Option<(u64, Fate)>, points: &[&'static str]| {
        for (hit, point) in points.iter().enumerate() {
            for fate in FATES {
                // a program that cannot be started is a failure of the recipe, not of the runner
                if matches!(fate, Fate::Fail(_)) && point.starts_with("process") {
                    continue;
                }
                at += 1;
                let one = Some((hit as u64 + 1, fate));
                let fates = if before.is_some() { vec![before, one] } else { vec![one] };
                let (lines, _) = play(name, &fates, at, &base.0);
                assert_eq!(lines, expected, "{name}: {fate:?} at {point}, hit {}, after {before:?}", hit + 1);
            }
        }
        at
    };
    let first = try_all(None, &points);
    let middle = points.len() as u64 * 2 / 3;
    let before = Some((middle, Fate::Die(Death::Kill)));
    let (_, passed) = play(name, &[before], 0, &base.0);
    let all = try_all(before, &passed[1]);
    println!("{name}: {} points, {first} + {} stories", points.len(), all - first);
}

#[test]
fn plain_steps_survive_a_death_at_every_write() {
    check("plain");
}

#[test]
fn nested_recipes_and_hooks_survive_a_death_at_every_write() {
    check("nested");
}

#[test]
fn loops_survive_a_death_at_every_write() {
    check("loops");
}

#[test]
fn agents_survive_a_death_at_every_write() {
    check("agents");
}

#[test]
fn questions_and_answers_survive_a_death_at_every_write() {
    check("asks");
}

#[test]
fn only_what_starts_a_process_waits_for_the_disk() {
    let base = Base::new("levels");
    let syncs = |name: &str| {
        let (_, passed) = play(name, &[], 0, &base.0);
        passed[0].iter().filter(|point| **point == "journal.sync").count()
    };
    assert_eq!(syncs("deep"), syncs("flat"));
}
