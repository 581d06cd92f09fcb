//! The behaviour of simulated programs: depends only on the seed, the step and the attempt.

use std::{cell::Cell, rc::Rc, time::Duration};

use serde_json::json;

use super::{
    chance::Chance,
    child::{Deed, OnTerm, Script},
    world::{Call, Manners},
};
use crate::os::process::Exit;

/// Whether programs behave well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// All of them do, and their output names only their step.
    Calm,
    /// Chance decides.
    Wild,
}

/// The longest time that a program works unless it is ended.
const LONG: u64 = 2 * 24 * 3600 * 1000;

/// Behaviour from a seed; the mood can change from life to life.
pub(super) fn by_seed(seed: u64, mood: &Rc<Cell<Mood>>) -> Manners {
    let mood = Rc::clone(mood);
    Box::new(move |call| {
        let step = &call.launch.marker.step;
        // in a calm world nothing depends on the seed
        let seed = if mood.get() == Mood::Calm { 0 } else { seed };
        let mut luck = Luck {
            chance: Chance::of(seed, &format!("{step}:{}", call.before)),
            mood: mood.get(),
            step: step.clone(),
        };
        let (_, attempt) = step.rsplit_once('#').unwrap_or(("", step));
        match (call.is_agent, attempt.parse::<u32>()) {
            (true, _) => luck.agent(),
            (false, Ok(_)) => luck.shell(call),
            (false, Err(_)) => luck.hook(),
        }
    })
}

struct Luck {
    chance: Chance,
    mood: Mood,
    step: String,
}

/// Actions at their times, in milliseconds after the start.
fn script<const N: usize>(deeds: [(u64, Deed); N]) -> Script {
    let deeds = deeds.into_iter().map(|(at, deed)| (Duration::from_millis(at), deed)).collect();
    Script { deeds, ..Script::default() }
}

fn exit(code: i32) -> Deed {
    Deed::End(Exit::Code(code))
}

impl Luck {
    /// A number below a hundred; in a calm world always the last.
    fn dice(&mut self) -> u64 {
        let dice = self.chance.below(100);
        if self.mood == Mood::Calm { 99 } else { dice }
    }

    fn time(&mut self) -> u64 {
        let time = self.chance.pick(&[0, 1, 20, 700, 3_000, 9_000]);
        if self.mood == Mood::Calm { 700 } else { time }
    }

    fn on_term(&mut self) -> OnTerm {
        match self.dice() {
            0..15 => OnTerm::Ignores,
            15..40 => OnTerm::CleansUp(Duration::from_millis(self.chance.below(10_000))),
            _ => OnTerm::Dies,
        }
    }

    fn shell(&mut self, call: &Call<'_>) -> Script {
        let body = call.launch.args.last().map(|body| body.to_string_lossy()).unwrap_or_default();
        let text = match () {
            () if body.contains("print-json") => format!("{{\"step\": \"{}\"}}\n", self.step),
            () if body.contains("print-much") => format!("{}{}\n", self.step, ".".repeat(9_000)),
            () => format!("{}\n", self.step),
        };
        let said = Deed::Print(text.into_bytes());
        let moan = Deed::Complain(b"it does not work\n".to_vec());
        let (a, b) = (self.time(), self.time());
        let (end, ok) = (a + b, exit(0));
        let mut script = match self.dice() {
            _ if body.contains("always-fails") => script([(a, said), (a, moan), (end, exit(1))]),
            _ if body.contains("never-ends") => script([(a, said), (LONG, exit(1))]),
            0..8 => script([(a, said), (a, moan), (end, exit(1))]),
            8..11 => script([(a, Deed::Effect), (a, said), (end, exit(3))]),
            11..13 => {
                let moan = Deed::Complain(b"bash: line 1: nothing: command not found\n".to_vec());
                script([(a, moan), (a, exit(127))])
            }
            13..17 => {
                let signal = self.chance.pick(&[9, 11, 15]);
                script([(a, said), (end, Deed::End(Exit::Signal(signal)))])
            }
            17..22 => script([(a, Deed::Effect), (a, said), (3_600_000, ok)]),
            22..27 => script([(a, Deed::Effect), (LONG, exit(1))]),
            27..29 => Script { refuses: true, ..Script::default() },
            29..31 => script([(a, Deed::Print(b"not what was wanted".to_vec())), (end, ok)]),
            _ => script([(a, Deed::Effect), (a, said), (end, ok)]),
        };
        script.on_term = self.on_term();
        if self.dice() < 8 {
            script.leaves = Some(self.on_term());
        }
        script
    }

    fn hook(&mut self) -> Script {
        let a = self.time();
        let said = Deed::Print(b"a hook\n".to_vec());
        let mut script = match self.dice() {
            0..6 => script([(a, said), (a, exit(1))]),
            6..10 => script([(LONG, exit(0))]),
            10..12 => Script { refuses: true, ..Script::default() },
            _ => script([(a / 10, said), (a / 10, exit(0))]),
        };
        script.on_term = self.on_term();
        script
    }

    fn agent(&mut self) -> Script {
        let line = |value: serde_json::Value| Deed::Print(format!("{value}\n").into_bytes());
        let hello = line(json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"}));
        let words = json!([{"type": "text", "text": "at work"}]);
        let usage = json!({"input_tokens": 7, "output_tokens": 5});
        let busy = line(
            json!({"type": "assistant", "message": {"id": "1", "content": words, "usage": usage}, "session_id": "s"}),
        );
        let answer = match self.dice() < 30 {
            true => json!({"step": self.step}).to_string(),
            false => format!("done by {}\nSTATUS: COMPLETE", self.step),
        };
        let result = |failed: bool, status: Option<u64>, text: &str| {
            line(json!({
                "type": "result", "subtype": "success", "is_error": failed, "api_error_status": status,
                "result": text, "session_id": "s", "total_cost_usd": 0.25, "usage": usage, "num_turns": 1,
            }))
        };
        let good = result(false, None, &answer);
        let (a, b) = (self.time(), self.time());
        let (c, end) = (a + b, a + b + 5);
        let mut script = match self.dice() {
            0..8 => script([(a, hello), (c, result(true, Some(429), "rate limited")), (end, exit(1))]),
            8..12 => script([(a, hello), (c, busy), (end, exit(0))]),
            12..16 => script([(a, hello), (c, busy), (end, exit(1))]),
            16..20 => script([(a, hello), (c, busy), (end, Deed::End(Exit::Signal(9)))]),
            20..25 => script([(a, hello), (c, busy), (LONG, exit(1))]),
            25..30 => script([(a, hello), (c, good), (LONG, exit(0))]),
            30..34 => script([(a, hello), (c, busy), (5_000_000, good), (5_000_001, exit(0))]),
            34..38 => script([(a, hello), (c, good.clone()), (end, good), (end, exit(0))]),
            38..41 => script([
                (a, Deed::Print(format!("no JSON at all from {}", self.step).into_bytes())),
                (end, exit(0)),
            ]),
            41..44 => script([(a, hello), (c, result(true, None, "UNRECOVERABLE")), (end, exit(0))]),
            44..46 => Script { refuses: true, ..Script::default() },
            46..48 => script([(a, hello), (c, good), (end, exit(1))]),
            _ => script([(a, hello), (a, Deed::Effect), (c, busy), (c, good), (end, exit(0))]),
        };
        script.on_term = self.on_term();
        if self.dice() < 8 {
            script.leaves = Some(self.on_term());
        }
        script
    }
}
