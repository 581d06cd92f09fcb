//! Which commands of a script run, and whether the script fails when one of them does.
//!
//! Never runs anything: what only a run can tell counts as unknown, not as harmless.

use std::collections::HashMap;

use super::{
    known::{first_program, is_idle, is_talk, known, leave, leave_function, passes_on, turn},
    program::Call,
    script::{Command, Item, Kind, Link, List, Pipeline, parse},
    words::Word,
};

/// How many commands are followed, functions and substitutions included.
const FUEL: usize = 20_000;

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

/// What is known about a status before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It always succeeds.
    Ok,
    /// It always fails.
    Fail,
    /// The script ends here; whether it succeeds.
    Exit(bool),
    /// Only a run can tell.
    Unknown,
}

/// A command that the script can reach.
#[derive(Clone, Debug)]
pub struct Found {
    /// The program and its words, without what merely wraps it.
    pub call: Call,
    /// What its failure does.
    pub level: Level,
    /// Whether something decides if it runs at all.
    pub guarded: bool,
    /// Whether its status is turned round.
    pub negated: bool,
    /// Files that it writes.
    pub writes: Vec<String>,
    /// Whether its input is text of the script itself.
    pub is_fed: bool,
    /// `NAME=value` before it.
    pub assignments: Vec<String>,
}

/// Everything that a script can reach.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The commands, in order.
    pub found: Vec<Found>,
    /// What is known about the whole.
    pub status: Status,
    /// Whether it turns off the stop at the first failure.
    pub forgives: bool,
}

/// Follows a script.
pub fn follow(text: &str) -> Flow {
    let mut walk = Walk {
        found: Vec::new(),
        functions: HashMap::new(),
        errexit: false,
        pipefail: false,
        forgives: false,
        swallowed: false,
        fuel: FUEL,
        depth: 0,
    };
    let way = Way { level: Level::Counts, exit: Level::Counts, guarded: false, ignores: false, fed: false };
    let status = walk.list(&parse(text), way);
    if walk.swallowed {
        walk.found.iter_mut().for_each(|found| found.level = Level::Ignored);
    }
    let status = if walk.swallowed { Status::Ok } else { status };
    Flow { found: walk.found, status, forgives: walk.forgives }
}

/// The way on which a part of the script is reached.
#[derive(Clone, Copy)]
struct Way {
    /// What its status does.
    level: Level,
    /// What the end of the script does.
    exit: Level,
    guarded: bool,
    /// Whether `set -e` has no effect.
    ignores: bool,
    /// Whether its input is text of the script.
    fed: bool,
}

/// What follows an item in its list.
#[derive(Clone, Copy)]
struct Rest {
    is_empty: bool,
    /// Whether the script later ends with a status that was kept.
    passes_on: bool,
    waits: bool,
}

struct Walk {
    found: Vec<Found>,
    functions: HashMap<String, List>,
    errexit: bool,
    pipefail: bool,
    forgives: bool,
    /// Whether a trap makes every end a good one.
    swallowed: bool,
    fuel: usize,
    depth: usize,
}

impl Walk {
    fn list(&mut self, list: &List, way: Way) -> Status {
        if self.depth > 80 || self.fuel == 0 {
            return Status::Unknown;
        }
        self.depth += 1;
        let mut status = Status::Ok;
        let passes = list.iter().rposition(passes_on);
        let waits = list.iter().rposition(|item| first_program(item) == Some("wait"));
        for (at, item) in list.iter().enumerate() {
            let rest = Rest {
                is_empty: at + 1 == list.len(),
                passes_on: passes.is_some_and(|last| last > at),
                waits: waits.is_some_and(|last| last > at),
            };
            status = self.item(item, rest, way);
            let ends =
                matches!(status, Status::Exit(_)) || (status == Status::Fail && self.errexit && !way.ignores);
            if ends {
                break;
            }
        }
        self.depth -= 1;
        status
    }

    /// What the status of an item does, given what follows it.
    fn item_level(&self, rest: Rest, way: Way) -> Level {
        if rest.is_empty {
            way.level
        } else if self.errexit && !way.ignores {
            way.exit
        } else if rest.passes_on {
            way.exit.min(Level::Maybe)
        } else {
            Level::Ignored
        }
    }

    fn item(&mut self, item: &Item, rest: Rest, way: Way) -> Status {
        let mut level = self.item_level(rest, way);
        if item.background {
            level = if rest.waits { level.min(Level::Maybe) } else { Level::Ignored };
        }
        // `set -e` ignores all of a chain but its last pipeline
        let chain_level = if rest.is_empty { level } else { level.min(self.unforced(rest, way)) };
        let mut known = Status::Ok;
        for (at, (link, pipeline)) in item.chain.iter().enumerate() {
            match (link, known) {
                (_, Status::Exit(_)) => break,
                (Link::And, Status::Fail) | (Link::Or, Status::Ok) => continue,
                _ => {}
            }
            let last = at + 1 == item.chain.len();
            let own = if last { level } else { self.link_level(item, at, chain_level, way) };
            let unsure = match link {
                Link::Start => false,
                Link::And => known == Status::Unknown && chain_level == Level::Ignored,
                Link::Or => known == Status::Unknown,
            };
            let ignores = way.ignores || !last;
            let inner = Way { level: own, guarded: way.guarded || unsure, ignores, ..way };
            let status = self.pipeline(pipeline, inner);
            known = match (link, known, status) {
                (Link::Or, Status::Unknown, Status::Ok) => Status::Ok,
                (Link::And, Status::Unknown, Status::Fail) => Status::Fail,
                (Link::Start, ..) | (Link::And, Status::Ok, _) | (Link::Or, Status::Fail, _) => status,
                _ => Status::Unknown,
            };
        }
        if item.background { Status::Ok } else { known }
    }

    fn unforced(&self, rest: Rest, way: Way) -> Level {
        if rest.passes_on { way.exit.min(Level::Maybe) } else { Level::Ignored }
    }

    /// What the failure of a pipeline does that others follow in its chain.
    fn link_level(&self, item: &Item, at: usize, level: Level, way: Way) -> Level {
        let handler = item.chain[at + 1..].iter().position(|(link, _)| *link == Link::Or);
        let Some(handler) = handler else { return level };
        let pipeline = &item.chain[at + 1 + handler].1;
        match self.known_pipeline(pipeline) {
            Status::Exit(false) => way.exit,
            Status::Fail => level,
            Status::Ok | Status::Exit(true) => Level::Ignored,
            Status::Unknown if is_idle(pipeline) => Level::Ignored,
            Status::Unknown => level.min(Level::Maybe),
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, way: Way) -> Status {
        let count = pipeline.commands.len();
        let mut status = Status::Ok;
        let mut fed = way.fed;
        for (at, command) in pipeline.commands.iter().enumerate() {
            let last = at + 1 == count;
            let level = if last || self.pipefail { way.level } else { Level::Ignored };
            let before = self.found.len();
            status = self.command(command, Way { level, fed, ..way });
            for found in &mut self.found[before..] {
                found.negated ^= pipeline.negated;
            }
            fed = is_talk(command);
        }
        if count > 1 && matches!(status, Status::Exit(_)) {
            status = if status == Status::Exit(true) { Status::Ok } else { Status::Fail };
        }
        if count > 1 && self.pipefail && status == Status::Ok {
            status = Status::Unknown;
        }
        if pipeline.negated { turn(status) } else { status }
    }

    fn command(&mut self, command: &Command, way: Way) -> Status {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            return Status::Unknown;
        }
        match &command.kind {
            Kind::Simple { assignments, words } => self.simple(command, assignments, words, way),
            Kind::Group(list) => self.list(list, way),
            Kind::Subshell(list) => {
                let (errexit, pipefail) = (self.errexit, self.pipefail);
                let status = self.list(list, Way { exit: way.level, ..way });
                (self.errexit, self.pipefail) = (errexit, pipefail);
                leave(status)
            }
            Kind::If { arms, otherwise } => self.branch(arms, otherwise.as_ref(), way),
            Kind::Loop { condition, body } => {
                let inner = Way { level: Level::Ignored, ignores: true, guarded: true, ..way };
                let known = self.list(condition, inner);
                if known != Status::Fail {
                    self.list(body, Way { guarded: true, ..way });
                }
                Status::Unknown
            }
            Kind::For { words, body } => {
                if words.len() > 2 || words.len() == 1 {
                    self.list(body, Way { guarded: true, ..way });
                }
                Status::Unknown
            }
            Kind::Case(arms) => {
                arms.iter().for_each(|arm| {
                    self.list(arm, Way { guarded: true, ..way });
                });
                Status::Unknown
            }
            Kind::Function { name, body } => {
                self.functions.insert(name.clone(), body.clone());
                Status::Ok
            }
        }
    }

    fn branch(&mut self, arms: &[(List, List)], otherwise: Option<&List>, way: Way) -> Status {
        let mut guarded = way.guarded;
        for (condition, body) in arms {
            let negated =
                condition.len() == 1 && condition[0].chain.len() == 1 && condition[0].chain[0].1.negated;
            let refusal = if negated { Some(body) } else { otherwise };
            let stops = refusal.is_some_and(|list| self.refuses(list));
            let level = if stops { way.exit } else { Level::Ignored };
            let before = self.found.len();
            let known = self.list(condition, Way { level, ignores: true, guarded, ..way });
            if negated && stops {
                self.found[before..].iter_mut().for_each(|found| found.negated = !found.negated);
            }
            if known != Status::Fail {
                let status = self.list(body, Way { guarded: guarded || known != Status::Ok, ..way });
                if known == Status::Ok {
                    return status;
                }
                guarded = true;
            }
        }
        match otherwise {
            Some(list) => {
                let status = self.list(list, Way { guarded, ..way });
                if guarded { Status::Unknown } else { status }
            }
            None if guarded => Status::Unknown,
            None => Status::Ok,
        }
    }

    /// Whether a list always ends in a failure.
    fn refuses(&self, list: &List) -> bool {
        matches!(self.known_list(list), Status::Exit(false) | Status::Fail)
    }

    fn known_list(&self, list: &List) -> Status {
        let mut status = Status::Ok;
        for item in list {
            status = match item.chain.as_slice() {
                [(_, only)] => self.known_pipeline(only),
                _ => Status::Unknown,
            };
            if matches!(status, Status::Exit(_)) {
                break;
            }
        }
        status
    }

    fn known_pipeline(&self, pipeline: &Pipeline) -> Status {
        let status = match pipeline.commands.as_slice() {
            [Command { kind: Kind::Simple { words, .. }, .. }] => known(words),
            [Command { kind: Kind::Group(list), .. }] => self.known_list(list),
            [Command { kind: Kind::Subshell(list), .. }] => leave(self.known_list(list)),
            [.., Command { kind: Kind::Simple { words, .. }, .. }] => leave(known(words)),
            _ => Status::Unknown,
        };
        if pipeline.negated { turn(status) } else { status }
    }

    fn simple(&mut self, command: &Command, assignments: &[Word], words: &[Word], way: Way) -> Status {
        let inner_level = if words.is_empty() { way.level } else { Level::Ignored };
        for text in assignments.iter().chain(words).flat_map(|word| &word.inner) {
            let list = parse(text);
            self.list(&list, Way { level: inner_level, exit: inner_level, ..way });
        }
        if words.is_empty() {
            self.assign(command, assignments, way);
            let has_inner = assignments.iter().any(|word| !word.inner.is_empty());
            return if has_inner { Status::Unknown } else { Status::Ok };
        }
        let call = Call::new(words);
        self.settings(&call);
        if let Some(body) = self.functions.get(&call.program).cloned() {
            return leave_function(self.list(&body, way));
        }
        if let Some(script) = call.script() {
            return leave(self.list(&parse(script), Way { exit: way.level, ..way }));
        }
        let status = known(words);
        let is_fed = way.fed || command.redirects.iter().any(|(operator, _)| operator.starts_with("<<"));
        let writes = written(command).chain(call.writes()).collect();
        let Way { level, guarded, .. } = way;
        let assignments = assignments.iter().map(|word| word.text.clone()).collect();
        self.found.push(Found { call, level, guarded, negated: false, writes, is_fed, assignments });
        status
    }

    /// Assignments and redirections without a program.
    fn assign(&mut self, command: &Command, assignments: &[Word], way: Way) {
        let call = Call { program: String::new(), words: Vec::new() };
        let writes = written(command).collect();
        let assignments = assignments.iter().map(|word| word.text.clone()).collect();
        let Way { guarded, fed, .. } = way;
        let level = Level::Ignored;
        self.found.push(Found { call, level, guarded, negated: false, writes, is_fed: fed, assignments });
    }

    fn settings(&mut self, call: &Call) {
        match call.program.as_str() {
            "set" => {
                for (at, word) in call.words.iter().enumerate() {
                    let short = word.starts_with(['-', '+']) && !word.starts_with("--");
                    if short && word.contains('e') {
                        self.stop_at_failures(word);
                    }
                    let Some(sign) = at.checked_sub(1).map(|before| &call.words[before]) else { continue };
                    match word.as_str() {
                        "errexit" if short_ends_with_o(sign) => self.stop_at_failures(sign),
                        "pipefail" if short_ends_with_o(sign) => self.pipefail = sign.starts_with('-'),
                        _ => {}
                    }
                }
            }
            "trap" => {
                let on_end =
                    call.words.iter().skip(2).any(|name| name == "EXIT" || name == "0" || name == "ERR");
                let handler = call.words.get(1).map(|text| self.known_list(&parse(text)));
                self.swallowed |= on_end && handler == Some(Status::Exit(true));
            }
            _ => {}
        }
    }

    /// `-…` turns the stop at the first failure on, `+…` off.
    fn stop_at_failures(&mut self, sign: &str) {
        self.errexit = sign.starts_with('-');
        self.forgives |= !self.errexit;
    }
}

/// The files that redirections write.
fn written(command: &Command) -> impl Iterator<Item = String> + '_ {
    let is_written = |operator: &str| operator.contains('>') && !operator.ends_with('&');
    let targets = command.redirects.iter().filter(move |(operator, _)| is_written(operator));
    targets.map(|(_, target)| target.text.clone())
}

fn short_ends_with_o(word: &str) -> bool {
    word.starts_with(['-', '+']) && word.ends_with('o')
}
