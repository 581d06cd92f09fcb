//! Bugs that the simulation has found, each kept as a story.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use engine::{EndReason, Event, RunStatus};

use super::{
    child::{Deed, OnTerm, Script},
    install,
    life::{End, Story},
    recipes::Shelf,
    tests::Base,
    watcher::Care,
    with,
    world::{Death, Fate, World},
};
use crate::{os::process::Exit, run::Halt, runs::Interrupted, store::folder::Options};

/// The outcome of a story.
struct Told {
    ends: Vec<End>,
    events: Vec<Event>,
    processes: Vec<String>,
}

impl Told {
    fn succeeds(&self) -> bool {
        matches!(self.ends.last(), Some(End::Finished(result)) if result.success)
    }
}

/// Plays a calm story with one problem in its first life, and resumes while it is interrupted. Checks every law.
fn play(recipes: &[(&str, &str)], wrong: impl FnOnce(&mut World)) -> Told {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let base = Base::new(&format!("found-{number}"));
    let options = Options { max_parallel: 4, max_agents: Some(1), no_auto_stage: true, ..Options::default() };
    let mut story = Story::new(number, &base.0, Shelf::of(recipes), options, Care::All);
    story.choice = Interrupted::Skip;
    with(wrong);
    let mut ends = Vec::new();
    let is_over = |end: &End| matches!(end, End::Finished(result) if result.status != RunStatus::Interrupted);
    while ends.len() < 5 && !ends.last().is_some_and(is_over) {
        ends.push(story.live());
    }
    super::laws::check(&story);
    let events = story.known.iter().map(|record| record.event.clone()).collect();
    drop(story);
    let world = install(None).unwrap();
    assert!(world.broken.is_empty(), "{:#?}\n{events:#?}", world.broken);
    let mains = world.children.iter().filter(|child| child.is_main);
    Told { ends, events, processes: mains.map(|child| child.marker.step.clone()).collect() }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const HOOKED: &[(&str, &str)] = &[(
    "main",
    "
name: main
hooks: {pre_step: 'before {{step_id}}'}
steps:
- {id: one, command: 'work'}
- {id: two, prompt: 'think'}
",
)];

#[test]
fn a_run_that_is_told_to_stop_at_once_starts_nothing() {
    for halt in [Halt::Cancel, Halt::Interrupt, Halt::Terminate, Halt::Hangup] {
        let told = play(HOOKED, |world| world.halts.push_back((Duration::ZERO, halt)));
        assert!(matches!(&told.ends[0], End::Finished(result) if !result.success), "{:?}", told.ends);
        assert!(halt != Halt::Cancel || told.processes.is_empty(), "{:?}", told.processes);
    }
}

#[test]
fn a_run_that_is_told_to_stop_in_a_hook_does_not_start_the_step() {
    // the hook of the calm world takes a moment
    let told = play(HOOKED, |world| {
        world.manners = Box::new(|_| Script {
            deeds: [(seconds(2), Deed::End(Exit::Code(0)))].into(),
            on_term: OnTerm::Ignores,
            ..Script::default()
        });
        world.halts.push_back((seconds(1), Halt::Cancel));
    });
    assert_eq!(told.processes, ["one#pre_step"]);
}

#[test]
fn a_run_that_dies_before_it_exists_is_not_named_to_anybody() {
    for hit in 1..20 {
        let told = play(HOOKED, |world| world.fates.push((hit, Fate::Die(Death::Kill))));
        assert!(told.succeeds(), "hit {hit}: {:?}", told.ends);
        let is_hint =
            |event: &Event| matches!(event, Event::Noted { message, .. } if message.contains("resume"));
        assert!(!told.events.iter().any(is_hint), "hit {hit}: {:?}", told.events);
    }
}

#[test]
fn a_power_loss_before_the_first_step_leaves_a_run_that_goes_on() {
    for hit in 1..40 {
        let told = play(HOOKED, |world| world.fates.push((hit, Fate::Die(Death::Power))));
        assert!(told.succeeds(), "hit {hit}: {:?}", told.ends);
    }
}

const SHARED: &[(&str, &str)] = &[(
    "main",
    "
name: main
budget: {agent_runs: 1}
steps:
- {id: a, prompt: 'one', parallel_group: g, continue_on_error: true}
- {id: b, prompt: 'two', parallel_group: g, continue_on_error: true}
- {id: c, prompt: 'three', parallel_group: g, continue_on_error: true}
",
)];

#[test]
fn agents_that_wait_for_their_turn_get_it_also_when_the_budget_is_used_up() {
    let told = play(SHARED, |_| {});
    assert!(told.succeeds() && told.processes == ["a#1"], "{:?} {:?}", told.ends, told.processes);
}

#[test]
fn a_recipe_that_takes_too_long_fails_also_where_its_steps_may() {
    let recipes = [
        ("main", "{name: main, steps: [{id: s, recipe: leaf, timeout: 4}]}"),
        ("leaf", "{name: leaf, steps: [{id: a, command: never-ends, continue_on_error: true}]}"),
    ];
    let told = play(&recipes, |_| {});
    assert!(!told.succeeds(), "{:?}", told.ends);
}

#[test]
fn a_recipe_that_takes_too_long_ends_also_while_it_is_being_recovered() {
    let recipes = [
        ("main", "{name: main, steps: [{id: s, recipe: branch, timeout: 4}]}"),
        ("branch", "{name: branch, steps: [{id: b, recipe: leaf, recovery_on_failure: true}]}"),
        ("leaf", "{name: leaf, steps: [{id: a, command: fails}]}"),
    ];
    let told = play(&recipes, |world| {
        world.manners = Box::new(|call| {
            let end = if call.is_agent { seconds(1_000_000) } else { seconds(1) };
            Script { deeds: [(end, Deed::End(Exit::Code(1)))].into(), ..Script::default() }
        });
    });
    assert!(
        matches!(told.ends.last(), Some(End::Finished(result)) if result.reason == Some(EndReason::Failed))
    );
    assert_eq!(told.processes, ["s/b/a#1", "s/b#1"]);
}

#[test]
fn the_last_step_is_safe_while_what_it_left_behind_is_being_ended() {
    let recipes = [("main", "{name: main, steps: [{id: a, command: work}]}")];
    let told = play(&recipes, |world| {
        world.manners = Box::new(|_| Script {
            deeds: [(seconds(1), Deed::End(Exit::Code(0)))].into(),
            leaves: Some(OnTerm::Ignores),
            ..Script::default()
        });
        world.killer = Some((seconds(3), Death::Power));
    });
    assert!(told.succeeds() && told.processes == ["a#1"], "{:?} {:?}", told.ends, told.processes);
}

#[test]
fn attempts_are_counted_over_a_death() {
    let recipes = [(
        "main",
        "{name: main, steps: [{id: a, command: always-fails, retry: {max_attempts: 3, delay: 100}}]}",
    )];
    for death in [Death::Kill, Death::Power] {
        let told = play(&recipes, |world| world.killer = Some((seconds(160), death)));
        assert_eq!(told.processes, ["a#1", "a#2", "a#3"]);
    }
}

#[test]
fn steps_are_counted_over_a_death_before_they_are_reached_again() {
    let recipes = [
        (
            "main",
            "
name: main
recursion: {max_total_steps: 3}
steps:
- {id: tree, recipe: leaf, parallel_group: g}
- {id: late, command: work, parallel_group: g}
",
        ),
        (
            "leaf",
            "{name: leaf, steps: [{id: a, command: work}, {id: b, command: work}, {id: c, command: work}]}",
        ),
    ];
    for at in 0..60 {
        let told = play(&recipes, |world| {
            world.manners = Box::new(|call| {
                let is_late = call.launch.marker.step.starts_with("late");
                let end = if is_late { seconds(100) } else { seconds(1) };
                Script { deeds: [(end, Deed::End(Exit::Code(0)))].into(), ..Script::default() }
            });
            world.killer = Some((Duration::from_millis(at * 100), Death::Kill));
        });
        assert!(!told.succeeds(), "{:?}", told.ends);
    }
}

#[test]
fn a_hook_before_a_recipe_step_does_not_take_its_time() {
    let recipes = [
        ("main", "{name: main, hooks: {pre_step: slow}, steps: [{id: s, recipe: leaf, timeout: 4}]}"),
        ("leaf", "{name: leaf, steps: [{id: a, command: work}]}"),
    ];
    for (hook, step, succeeds) in [(9, 1, true), (9, 5, false), (1, 1, true), (1, 5, false)] {
        let told = play(&recipes, |world| {
            world.manners = Box::new(move |call| {
                let is_hook = call.launch.marker.step.ends_with("pre_step");
                let end = seconds(if is_hook { hook } else { step });
                Script { deeds: [(end, Deed::End(Exit::Code(0)))].into(), ..Script::default() }
            });
        });
        assert_eq!(told.succeeds(), succeeds, "hook {hook} s, step {step} s: {:?}", told.ends);
    }
}

#[test]
fn a_recipe_that_took_too_long_enters_no_other_after_its_hook() {
    let recipes = [
        ("main", "{name: main, steps: [{id: s, recipe: branch, timeout: 4}]}"),
        ("branch", "{name: branch, hooks: {pre_step: slow}, steps: [{id: b, recipe: leaf}]}"),
        ("leaf", "{name: leaf, steps: [{id: a, command: work}]}"),
    ];
    let told = play(&recipes, |world| {
        world.manners = Box::new(|_| Script {
            deeds: [(seconds(6), Deed::End(Exit::Code(0)))].into(),
            on_term: OnTerm::Ignores,
            ..Script::default()
        });
    });
    assert_eq!(told.processes, ["s/b#pre_step"]);
}

/// A first process reached the last step of a recipe; a second one runs `server` again, which fails once.
fn fail_before_kept_steps(push: &str) -> Told {
    let leaf = format!(
        "
name: leaf
steps:
- {{id: make, command: work}}
- {{id: server, command: work}}
- {{id: push, command: 'work {{{{make}}}}'{push}}}
- {{id: last, command: work}}
"
    );
    let recipes = [("main", "{name: main, steps: [{id: s, recipe: leaf, retry: 2}]}"), ("leaf", &*leaf)];
    play(&recipes, |world| {
        world.manners = Box::new(|call| {
            let step = call.launch.marker.step.as_str();
            let fails = step == "s/server#2";
            let end = if step == "s/last#1" { seconds(1_000) } else { seconds(1) };
            Script {
                deeds: [(end, Deed::End(Exit::Code(i32::from(fails))))].into(),
                leaves: step.starts_with("s/server").then_some(OnTerm::Dies),
                ..Script::default()
            }
        });
        world.killer = Some((seconds(100), Death::Kill));
    })
}

#[test]
fn a_retry_repeats_everything_that_an_earlier_process_did() {
    let told = fail_before_kept_steps("");
    assert!(told.succeeds(), "{:?}", told.ends);
    let first = ["s/make#1", "s/server#1", "s/push#1", "s/last#1"];
    let retry = ["s/make#2", "s/server#3", "s/push#2", "s/last#2"];
    assert_eq!(told.processes, [&first[..], &["s/server#2"], &retry].concat());
}

#[test]
fn an_effect_of_an_earlier_process_forbids_a_retry_that_has_not_come_to_it() {
    let told = fail_before_kept_steps(", effects: [push]");
    assert!(!told.succeeds(), "{:?}", told.ends);
    assert_eq!(told.processes, ["s/make#1", "s/server#1", "s/push#1", "s/last#1", "s/server#2"]);
    let is_told = |event: &Event| matches!(event, Event::Noted { message, .. } if message.contains("not retried: `s/push` is done"));
    assert!(told.events.iter().any(is_told), "{:?}", told.events);
}

#[test]
fn a_step_that_a_person_left_out_stays_left_out_in_a_retry() {
    let recipes = [
        ("main", "{name: main, steps: [{id: s, recipe: leaf, retry: 2}]}"),
        (
            "leaf",
            "{name: leaf, steps: [{id: pay, command: work, idempotent: false}, {id: last, command: work}]}",
        ),
    ];
    let told = play(&recipes, |world| {
        world.manners = Box::new(|call| {
            let step = call.launch.marker.step.as_str();
            let end = if step == "s/pay#1" { seconds(1_000) } else { seconds(1) };
            let fails = step == "s/last#1";
            Script { deeds: [(end, Deed::End(Exit::Code(i32::from(fails))))].into(), ..Script::default() }
        });
        world.killer = Some((seconds(100), Death::Kill));
    });
    assert!(told.succeeds(), "{:?}", told.ends);
    assert_eq!(told.processes, ["s/pay#1", "s/last#1", "s/last#2"]);
}

#[test]
fn a_disk_that_fails_leaves_nothing_of_the_run_alive() {
    let one = &[("main", "{name: main, steps: [{id: one, command: work}]}")];
    for hit in 1..60 {
        let told = play(one, |world| {
            world.manners = Box::new(|_| Script {
                deeds: [(seconds(1), Deed::End(Exit::Code(0)))].into(),
                leaves: Some(OnTerm::Dies),
                ..Script::default()
            });
            world.fates.push((hit, Fate::Fail(28)));
        });
        assert!(!told.ends.is_empty(), "hit {hit}");
    }
}
