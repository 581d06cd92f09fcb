//! The attempts of a run, each with the path that its step has now: a changed list gives instances other numbers.

use std::collections::HashMap;

use engine::{
    Event,
    run::{
        state::{ItemMoves, instance_in},
        step_path::instance,
    },
};

/// An attempt at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedAttempt {
    /// The path that the step had then. Its folder has this name.
    pub began_as: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The path that the step has now.
    pub path: String,
    /// The step with the loop, if the item of the instance is no longer in the list. Then `path` is the last one.
    pub dropped_from: Option<String>,
}

/// All attempts of a run, in the order in which they were started.
#[derive(Clone, Debug, Default)]
pub struct StartedAttempts {
    attempts: Vec<StartedAttempt>,
    /// The items of loops, by the paths of their steps.
    lists: HashMap<String, Vec<String>>,
}

impl StartedAttempts {
    /// Takes in the next event of the run.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::StepStarted { path, attempt, .. } => self.attempts.push(StartedAttempt {
                began_as: path.clone(),
                attempt: *attempt,
                path: path.clone(),
                dropped_from: None,
            }),
            Event::LoopEntered { path, items } => {
                let before = self.lists.remove(path).filter(|before| before != items);
                if let Some(before) = before {
                    move_to(&ItemMoves::new(&before, items), path, &mut self.attempts, &mut self.lists);
                }
                self.lists.insert(path.clone(), items.clone());
            }
            _ => {}
        }
    }

    /// The attempts so far. An attempt keeps its place in the list.
    pub fn list(&self) -> &[StartedAttempt] {
        &self.attempts
    }
}

/// Gives everything inside the instances of a loop the new numbers of the items.
fn move_to(
    moves: &ItemMoves,
    looped: &str,
    attempts: &mut [StartedAttempt],
    lists: &mut HashMap<String, Vec<String>>,
) {
    let now: HashMap<usize, usize> =
        moves.from.iter().enumerate().filter_map(|(now, before)| Some(((*before)?, now))).collect();
    let moved = |path: &str, before: usize| {
        let rest = path.strip_prefix(&instance(looped, before)).unwrap_or_default();
        now.get(&before).map(|now| format!("{}{rest}", instance(looped, *now)))
    };
    for attempt in attempts.iter_mut().filter(|attempt| attempt.dropped_from.is_none()) {
        let Some(before) = instance_in(&attempt.path, looped) else { continue };
        match moved(&attempt.path, before) {
            Some(path) => attempt.path = path,
            None => attempt.dropped_from = Some(looped.to_owned()),
        }
    }
    let inside =
        std::mem::take(lists).into_iter().filter_map(|(path, items)| match instance_in(&path, looped) {
            None => Some((path, items)),
            Some(before) => Some((moved(&path, before)?, items)),
        });
    *lists = inside.collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(events: Vec<Event>) -> Vec<String> {
        let mut started = StartedAttempts::default();
        events.iter().for_each(|event| started.take(event));
        let line = |attempt: &StartedAttempt| {
            let gone = if attempt.dropped_from.is_some() { " gone" } else { "" };
            format!("{}#{} {}{gone}", attempt.began_as, attempt.attempt, attempt.path)
        };
        started.list().iter().map(line).collect()
    }

    fn entered(path: &str, items: &str) -> Event {
        let items = items.chars().map(String::from).collect();
        Event::LoopEntered { path: path.to_owned(), items }
    }

    fn began(path: &str, attempt: u32) -> Event {
        Event::StepStarted { path: path.to_owned(), attempt, inputs: None }
    }

    #[test]
    fn attempts_follow_their_items() {
        let events = vec![
            entered("e", "abc"),
            began("e[0]", 1),
            entered("e[0]/f", "x"),
            began("e[0]/f[0]", 1),
            began("e[1]", 1),
            began("e[2]", 1),
            entered("e", "nca"),
            began("e[0]", 2),
            entered("e[2]/f", "yx"),
            began("e[2]/f[0]", 1),
        ];
        assert_eq!(
            shown(events),
            [
                "e[0]#1 e[2]",
                "e[0]/f[0]#1 e[2]/f[1]",
                "e[1]#1 e[1] gone",
                "e[2]#1 e[1]",
                "e[0]#2 e[0]",
                "e[2]/f[0]#1 e[2]/f[0]"
            ]
        );
    }
}
