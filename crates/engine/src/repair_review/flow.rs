//! Which commands of a script run, and whether the script fails when one of them does.
//!
//! Never runs anything: what only a run can show counts as unknown, not as harmless.

use std::collections::BTreeSet;

use super::{
    known::{first_program, hands_over, is_filter, is_idle, is_talk, leave, passes_on, turn},
    notes::Note,
    program::Call,
    reach::{Walk, Way},
    script::{Item, Link, List, Pipeline, parse},
};

/// The most commands of a pipeline to remember before one.
const MAX_FEEDS: usize = 8;

/// How surely the failure of a command becomes the failure of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is ignored.
    Ignored,
    /// Something else that may fail decides.
    Maybe,
    /// The script fails.
    Counts,
}

/// A status, as far as it is known before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It always succeeds.
    Ok,
    /// It always fails.
    Fail,
    /// The script ends here; whether it succeeds, if that is known.
    Exit(Option<bool>),
    /// The function ends here; whether it succeeds, if that is known.
    Return(Option<bool>),
    /// Only a run can tell.
    Unknown,
}

/// A command that the script can reach.
#[derive(Clone, Debug)]
pub struct Found {
    /// The program and its words, without wrappers.
    pub call: Call,
    /// The consequence of its failure.
    pub level: Level,
    /// Whether a condition decides if it runs at all.
    pub guarded: bool,
    /// Whether its status is negated.
    pub negated: bool,
    /// Files that it writes.
    pub writes: Vec<String>,
    /// The sources of its redirected input: files, and texts after `<<`.
    pub inputs: Vec<String>,
    /// The commands before it in its pipeline.
    pub feeds: Vec<Call>,
    /// Whether its input is text of the script itself.
    pub is_fed: bool,
    /// `NAME=value` before it.
    pub assignments: Vec<String>,
    /// True if the command only reports an earlier check's failure.
    pub answers: bool,
    /// Whether its failure is stored, and the script ends with it.
    pub noted: bool,
}

/// Everything that a script can reach.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The commands, in order.
    pub found: Vec<Found>,
    /// The status of the whole, as far as it is known.
    pub status: Status,
    /// Whether it turns off the stop at the first failure.
    pub forgives: bool,
    /// Its own functions.
    pub functions: BTreeSet<String>,
    /// Variables in which it stores failures.
    pub noted: BTreeSet<String>,
}

/// Follows a script.
pub fn follow(text: &str) -> Flow {
    let mut walk = Walk::new();
    let status = walk.list(&parse(text), Way::START);
    let mut status = walk.exits.settle(status);
    if walk.is_swallowed() {
        walk.found.iter_mut().for_each(|found| found.level = Level::Ignored);
        status = Status::Ok;
    }
    Flow {
        found: walk.found,
        status,
        forgives: walk.forgives,
        noted: walk.noted,
        functions: walk.functions.into_keys().collect(),
    }
}

/// The rest of a list after an item.
#[derive(Clone, Copy)]
struct Rest {
    is_empty: bool,
    /// Whether the script ends right after it, with its status.
    hands_over: bool,
    /// Whether the script ends later with a stored status.
    passes_on: bool,
    waits: bool,
    /// The part of its status that the next item stores.
    note: Option<Note>,
    /// The consequence of its failure, if only its success ends the script well.
    gives_up: Option<Level>,
}

impl Walk {
    pub(super) fn list(&mut self, list: &List, way: Way) -> Status {
        if self.depth > 80 || self.fuel == 0 {
            return Status::Unknown;
        }
        self.depth += 1;
        let (mut status, mut may_stop, mut way) = (Status::Ok, false, way);
        self.keep(list);
        let passes = list.iter().rposition(passes_on);
        let waits = list.iter().rposition(|item| first_program(item) == Some("wait"));
        for (at, item) in list.iter().enumerate() {
            let rest = Rest {
                is_empty: at + 1 == list.len(),
                hands_over: hands_over(&list[at + 1..]),
                passes_on: passes.is_some_and(|last| last > at),
                waits: waits.is_some_and(|last| last > at),
                note: self.note_by(list.get(at + 1)),
                gives_up: self.gives_up(item, &list[at + 1..], way),
            };
            status = self.item(item, rest, way);
            // commands after the last chance of a good end only report that there was none
            way.answers |= rest.gives_up.is_some() && !rest.is_empty;
            let stops = self.errexit && !way.ignores;
            let ends = matches!(status, Status::Exit(_) | Status::Return(_));
            if ends || (status == Status::Fail && stops) {
                break;
            }
            may_stop |= stops && status == Status::Unknown;
        }
        self.depth -= 1;
        if may_stop { unsettle(status) } else { status }
    }

    /// The consequence of an item's status, given what follows it.
    fn item_level(&self, rest: Rest, way: Way) -> Level {
        if rest.is_empty {
            way.level
        } else if rest.hands_over {
            way.exit.min(way.returns)
        } else if self.errexit && !way.ignores {
            way.exit
        } else {
            unforced(rest, way)
        }
    }

    fn item(&mut self, item: &Item, rest: Rest, way: Way) -> Status {
        let mut level = self.item_level(rest, way);
        if rest.note == Some(Note::Whole) {
            level = level.max(way.exit.min(Level::Maybe));
        }
        let way = Way { noted: way.noted || rest.note == Some(Note::Whole), gives_up: rest.gives_up, ..way };
        if item.background {
            level = if rest.waits { level.min(Level::Maybe) } else { Level::Ignored };
        }
        // `set -e` ignores all of a chain but its last pipeline, and that too if it is negated
        let chain_level =
            if rest.is_empty || rest.hands_over { level } else { level.min(unforced(rest, way)) };
        let exits = self.exits;
        let mut known = Status::Ok;
        for (at, (link, pipeline)) in item.chain.iter().enumerate() {
            match (link, known) {
                (_, Status::Exit(_) | Status::Return(_)) => break,
                (Link::And, Status::Fail) | (Link::Or, Status::Ok) => continue,
                _ => {}
            }
            let last = at + 1 == item.chain.len();
            let name = self.noted_after(item, at);
            let own = match last {
                true if pipeline.negated => chain_level,
                true => level,
                false if name.is_some() => way.exit.min(Level::Maybe),
                false => self.link_level(item, at, chain_level, way),
            };
            let unsure = known == Status::Unknown && *link != Link::Start;
            let guards = unsure && (*link == Link::Or || chain_level == Level::Ignored);
            let (guarded, maybe) = (way.guarded || guards, way.maybe || unsure);
            match link {
                Link::Start => {}
                Link::And => self.last = Status::Ok,
                Link::Or => self.last = Status::Fail,
            }
            let ignores = way.ignores || !last;
            let handles = || self.is_refusal(pipeline) || self.note_in(pipeline).is_some();
            let answers = way.answers || (*link == Link::Or && handles());
            let piped = match rest.note {
                Some(Note::Part(part)) if last => Some(part),
                _ => None,
            };
            let noted = way.noted || name.is_some() || (!last && rest.gives_up.is_some());
            self.noted.extend(name);
            let way = Way { level: own, guarded, maybe, ignores, answers, noted, piped, ..way };
            let status = self.pipeline(pipeline, way);
            known = join(*link, known, status);
        }
        if item.background {
            self.exits = exits;
            known = Status::Ok;
        }
        self.last = known;
        known
    }

    /// The consequence of a failed pipeline that others follow in its chain.
    fn link_level(&self, item: &Item, at: usize, level: Level, way: Way) -> Level {
        let handler = item.chain[at + 1..].iter().position(|(link, _)| *link == Link::Or);
        let Some(handler) = handler else { return way.gives_up.unwrap_or(level) };
        let pipeline = &item.chain[at + 1 + handler].1;
        match self.known_pipeline(pipeline, Status::Fail, 0) {
            Status::Exit(Some(false)) => way.exit,
            Status::Return(Some(false)) => way.returns,
            Status::Fail => level,
            Status::Ok | Status::Exit(Some(true)) | Status::Return(Some(true)) => Level::Ignored,
            _ if is_idle(pipeline) => Level::Ignored,
            _ => level.min(Level::Maybe),
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, way: Way) -> Status {
        let count = pipeline.commands.len();
        let (mut status, mut fed) = (Status::Ok, way.fed);
        let mut feeds: Vec<Call> = Vec::new();
        let exits = self.exits;
        for (at, command) in pipeline.commands.iter().enumerate() {
            let last = at + 1 == count;
            let mut level = if last || self.pipefail { way.level } else { Level::Ignored };
            let before = self.found.len();
            let is_noted = way.piped == Some(at);
            if is_noted {
                level = level.max(way.exit.min(Level::Maybe));
            }
            let noted = is_noted || (way.noted && (last || self.pipefail));
            let gives_up = way.gives_up.filter(|_| count == 1 && !pipeline.negated);
            status = self.command(command, Way { level, fed, noted, gives_up, ..way });
            let room = MAX_FEEDS - feeds.len();
            let next: Vec<Call> =
                self.found[before..].iter().take(room).map(|found| found.call.clone()).collect();
            for found in &mut self.found[before..] {
                found.negated ^= pipeline.negated;
                found.feeds.splice(0..0, feeds.iter().cloned());
            }
            feeds.extend(next);
            fed = is_talk(command) || (fed && is_filter(command));
        }
        if count > 1 {
            self.exits = exits;
            status = leave(status);
        }
        if count > 1 && self.pipefail && status == Status::Ok {
            status = Status::Unknown;
        }
        if pipeline.negated { turn(status) } else { status }
    }
}

/// The status of a list that may have stopped before its end.
fn unsettle(status: Status) -> Status {
    match status {
        Status::Ok => Status::Unknown,
        Status::Return(Some(true)) => Status::Return(None),
        other => other,
    }
}

fn unforced(rest: Rest, way: Way) -> Level {
    let is_kept = rest.passes_on || rest.note == Some(Note::Whole);
    if is_kept { way.exit.min(Level::Maybe) } else { Level::Ignored }
}

/// The status of a chain after its next pipeline.
fn join(link: Link, known: Status, status: Status) -> Status {
    match (link, known, status) {
        (Link::Or, Status::Unknown, Status::Ok | Status::Exit(Some(true))) => Status::Ok,
        (Link::And, Status::Unknown, Status::Fail | Status::Exit(Some(false))) => Status::Fail,
        (Link::Start, ..) | (Link::And, Status::Ok, _) | (Link::Or, Status::Fail, _) => status,
        _ => Status::Unknown,
    }
}
