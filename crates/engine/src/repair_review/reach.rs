//! One command of a script: what it reaches, and how it may end the script early.
//!
//! Never runs anything. A command counts as guarded if the script may end well before it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    flow::{Found, Level, Status},
    known::{calculated, end, is_negated, known, leave, leave_function},
    notes::Asked,
    program::Call,
    redirects::{has_text, program_text, read, written},
    script::{Command, Kind, List, is_assignment, parse},
    words::Word,
};

/// The most commands to follow, including those of functions and substitutions.
const FUEL: usize = 20_000;

/// The circumstances in which a part of the script runs.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The consequence of its status.
    pub(super) level: Level,
    /// The consequence of the script's end.
    pub(super) exit: Level,
    /// The consequence of the function's end.
    pub(super) returns: Level,
    /// Whether it may be skipped without an error.
    pub(super) guarded: bool,
    /// Whether it may be skipped at all.
    pub(super) maybe: bool,
    /// Whether `set -e` has no effect.
    pub(super) ignores: bool,
    /// Whether its input is text of the script.
    pub(super) fed: bool,
    /// Whether it refuses what was found before.
    pub(super) answers: bool,
    /// Whether its failure is stored for later.
    pub(super) noted: bool,
    /// The command of a pipeline whose status is used later.
    pub(super) piped: Option<usize>,
    /// The consequence of its failure, if only its success ends the script well.
    pub(super) gives_up: Option<Level>,
}

impl Way {
    /// The way to the first command.
    pub(super) const START: Way = Way {
        level: Level::Counts,
        exit: Level::Counts,
        returns: Level::Counts,
        guarded: false,
        maybe: false,
        ignores: false,
        fed: false,
        answers: false,
        noted: false,
        piped: None,
        gives_up: None,
    };

    /// A part that only runs under a condition.
    fn branch(self, guarded: bool) -> Way {
        Way { guarded, maybe: true, ..self }
    }
}

/// How a script or a function may have ended before.
#[derive(Clone, Copy, Default)]
pub(super) struct Ends {
    well: bool,
    badly: bool,
}

impl Ends {
    /// The status of a whole whose commands end like this.
    pub(super) fn settle(self, status: Status) -> Status {
        match status {
            Status::Ok | Status::Exit(Some(true)) if self.badly => Status::Unknown,
            other => other,
        }
    }
}

pub(super) struct Walk {
    pub(super) found: Vec<Found>,
    pub(super) functions: HashMap<String, List>,
    pub(super) errexit: bool,
    pub(super) pipefail: bool,
    pub(super) forgives: bool,
    /// Traps for the end or for a failure.
    pub(super) at_end: Vec<String>,
    /// Traps for a signal.
    pub(super) at_signal: Vec<String>,
    /// The status of the last command.
    pub(super) last: Status,
    /// Ends of the script that were possible so far.
    pub(super) exits: Ends,
    /// Ends of the function that were possible so far.
    returns: Ends,
    /// Variables whose values decide the end of the script.
    pub(super) kept: HashSet<String>,
    /// Those of them in which failures are stored.
    pub(super) noted: BTreeSet<String>,
    pub(super) calls: usize,
    pub(super) fuel: usize,
    pub(super) depth: usize,
}

impl Walk {
    pub(super) fn new() -> Walk {
        Walk {
            found: Vec::new(),
            functions: HashMap::new(),
            errexit: false,
            pipefail: false,
            forgives: false,
            at_end: Vec::new(),
            at_signal: Vec::new(),
            last: Status::Ok,
            exits: Ends::default(),
            returns: Ends::default(),
            kept: HashSet::new(),
            noted: BTreeSet::new(),
            calls: 0,
            fuel: FUEL,
            depth: 0,
        }
    }

    /// Whether a trap turns every end into a success.
    pub(super) fn is_swallowed(&self) -> bool {
        self.at_end.iter().any(|handler| self.ends_well(handler))
    }

    fn ends_well(&self, handler: &str) -> bool {
        let mut walk = Walk::new();
        walk.functions = self.functions.clone();
        walk.last = Status::Unknown;
        walk.list(&parse(handler), Way::START) == Status::Exit(Some(true)) || walk.exits.well
    }

    pub(super) fn command(&mut self, command: &Command, way: Way) -> Status {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            return Status::Unknown;
        }
        let before = self.found.len();
        let way = Way { fed: way.fed || has_text(command), ..way };
        let status = match &command.kind {
            Kind::Simple { assignments, words } => return self.simple(command, assignments, words, way),
            Kind::Group(list) => self.list(list, way),
            Kind::Subshell(list) => self.apart(list, way),
            Kind::If { arms, otherwise } => self.branch(arms, otherwise.as_ref(), way),
            Kind::Loop { until, condition, body } => {
                let negated = is_negated(condition);
                self.repeat(condition, body, *until != negated, way)
            }
            Kind::For { words, body } => {
                if words.len() > 2 || words.len() == 1 {
                    self.list(body, way.branch(true));
                }
                Status::Unknown
            }
            Kind::Case { subject, arms } => self.choose(subject, arms, way),
            Kind::Function { name, body } => {
                self.functions.insert(name.clone(), body.clone());
                Status::Ok
            }
        };
        self.redirect(command, before);
        status
    }

    /// Applies the redirections of a compound command to its parts.
    fn redirect(&mut self, command: &Command, before: usize) {
        for found in &mut self.found[before..] {
            found.writes.extend(written(command));
            found.inputs.extend(read(command));
        }
    }

    /// A list in its own process: its settings and its end have no effect outside.
    fn apart(&mut self, list: &List, way: Way) -> Status {
        let guarded = way.guarded || self.exits.well || self.returns.well;
        let kept = (self.errexit, self.pipefail, std::mem::take(&mut self.exits));
        let status = self.list(list, Way { exit: way.level, returns: way.level, guarded, ..way });
        let status = leave(self.exits.settle(status));
        (self.errexit, self.pipefail, self.exits) = kept;
        status
    }

    /// Conditions count if their failure, or their success, is refused.
    fn branch(&mut self, arms: &[(List, List)], otherwise: Option<&List>, way: Way) -> Status {
        let mut guarded = way.guarded;
        for (at, (condition, body)) in arms.iter().enumerate() {
            let last = at + 1 == arms.len();
            let otherwise = otherwise.filter(|_| last);
            let gives_up = way.gives_up.filter(|_| last);
            let Asked { level, flips, noted } =
                self.asked((condition, body), otherwise, Way { gives_up, ..way });
            let before = self.found.len();
            let maybe = way.maybe || guarded;
            let known = self.list(condition, Way { level, ignores: true, guarded, maybe, noted, ..way });
            self.found[before..].iter_mut().for_each(|found| found.negated ^= flips);
            if matches!(known, Status::Exit(_) | Status::Return(_)) {
                return known;
            }
            if known != Status::Fail {
                self.last = Status::Ok;
                let sure = known == Status::Ok && !guarded;
                let inner = if sure { way } else { way.branch(guarded || known != Status::Ok) };
                let asked = if is_negated(condition) { Status::Fail } else { Status::Ok };
                let answers = way.answers || self.refuses(body, asked);
                let status = self.list(body, Way { answers, ..inner });
                if known == Status::Ok {
                    return status;
                }
                guarded = true;
            }
        }
        let Some(list) = otherwise else {
            return if guarded { Status::Unknown } else { Status::Ok };
        };
        self.last = Status::Fail;
        let way = Way { answers: way.answers || self.refuses(list, Status::Fail), ..way };
        let status = self.list(list, if guarded { way.branch(true) } else { way });
        if guarded { Status::Unknown } else { status }
    }

    /// A loop that waits continues until it succeeds or times out.
    fn repeat(&mut self, condition: &List, body: &List, waits: bool, way: Way) -> Status {
        let level = if waits { way.exit.min(Level::Maybe) } else { Level::Ignored };
        let before = self.found.len();
        let known = self.list(condition, Way { level, ignores: true, ..way.branch(way.guarded || !waits) });
        if waits && is_negated(condition) {
            self.found[before..].iter_mut().for_each(|found| found.negated = !found.negated);
        }
        if known != Status::Fail {
            self.list(body, way.branch(true));
        }
        Status::Unknown
    }

    /// A `case` that refuses other values is a comparison.
    fn choose(&mut self, subject: &[Word], arms: &[(Vec<Word>, List)], way: Way) -> Status {
        self.substitutions(subject, Level::Ignored, way);
        let mut words: Vec<String> =
            ["case".to_owned()].into_iter().chain(subject.iter().map(|word| word.text.clone())).collect();
        let mut level = Level::Ignored;
        for (patterns, arm) in arms {
            let refusal = self.refusal(arm, Status::Unknown, way);
            level = level.max(refusal.unwrap_or(Level::Ignored));
            let patterns: Vec<&str> = patterns.iter().map(|word| word.text.as_str()).collect();
            words.push(format!("{}){}", patterns.join("|"), if refusal.is_some() { "!" } else { "" }));
        }
        if level > Level::Ignored {
            self.push(Call { program: "case".to_owned(), words }, Way { level, ..way }, &[]);
        }
        for (_, arm) in arms {
            let answers = way.answers || self.refusal(arm, Status::Unknown, way).is_some();
            self.list(arm, Way { answers, ..way.branch(true) });
        }
        Status::Unknown
    }

    fn substitutions(&mut self, words: &[Word], level: Level, way: Way) {
        for text in words.iter().flat_map(|word| &word.inner) {
            match calculated(text) {
                // a calculation is not a command, but may contain some
                Some(_) if self.depth > 80 => {}
                Some(words) => {
                    self.depth += 1;
                    self.substitutions(&words, level, way);
                    self.depth -= 1;
                }
                None => _ = self.apart(&parse(text), Way { level, ..way }),
            }
        }
    }

    fn simple(&mut self, command: &Command, assignments: &[Word], words: &[Word], way: Way) -> Status {
        let inner_level = if words.is_empty() { way.level } else { Level::Ignored };
        self.substitutions(assignments, inner_level, way);
        self.substitutions(words, inner_level, way);
        let before = self.found.len();
        if words.is_empty() {
            let call = Call { program: String::new(), words: Vec::new() };
            self.push(call, Way { level: Level::Ignored, ..way }, assignments);
            self.redirect(command, before);
            let has_inner = assignments.iter().any(|word| !word.inner.is_empty());
            return if has_inner { Status::Unknown } else { Status::Ok };
        }
        let (call, way) = match program_text(command).and_then(|text| Call::new(words).given(text)) {
            Some(call) => (call, Way { fed: false, ..way }),
            None => (Call::new(words), way),
        };
        let replaces = call.replaces_shell(words);
        let way = if replaces { Way { level: way.exit, ..way } } else { way };
        self.settings(&call);
        let status = self.reach(call, assignments, words, way);
        self.redirect(command, before);
        let status = if replaces { end(status) } else { status };
        self.note(status, words, way);
        status
    }

    /// Follows the program of a command.
    fn reach(&mut self, call: Call, assignments: &[Word], words: &[Word], way: Way) -> Status {
        if let Some(body) = self.functions.get(&call.program).cloned() {
            return self.function(&body, way);
        }
        if let Some(script) = call.script() {
            let list = parse(&script);
            if call.program == "eval" {
                return self.list(&list, way);
            }
            let kept = (self.errexit, self.pipefail);
            (self.errexit, self.pipefail) = (call.stops_at_failures(), false);
            let status = self.apart(&list, way);
            (self.errexit, self.pipefail) = kept;
            return status;
        }
        let signalled = call.program == "kill" && self.at_signal.iter().any(|text| self.ends_well(text));
        let status = match self.ending(&call, self.last) {
            Some(status) => status,
            None if signalled || call.sets_noexec() => Status::Exit(Some(true)),
            None => known(words),
        };
        let wrapped = words.len().saturating_sub(call.words.len());
        let set: Vec<Word> =
            assignments.iter().chain(&words[..wrapped]).filter(|word| is_assignment(word)).cloned().collect();
        self.push(call, way, &set);
        status
    }

    fn function(&mut self, body: &List, way: Way) -> Status {
        self.calls += 1;
        let returns = std::mem::take(&mut self.returns);
        let guarded = way.guarded || returns.well;
        let status = self.list(body, Way { returns: way.level, guarded, ..way });
        let badly = std::mem::replace(&mut self.returns, returns).badly;
        self.calls -= 1;
        match leave_function(status) {
            Status::Ok if badly => Status::Unknown,
            status => status,
        }
    }

    fn push(&mut self, call: Call, way: Way, assignments: &[Word]) {
        let mut assignments: Vec<String> = assignments.iter().map(|word| word.text.clone()).collect();
        if matches!(call.program.as_str(), "export" | "declare" | "readonly" | "local" | "typeset") {
            assignments.extend(call.operands().filter(|word| word.contains('=')).map(str::to_owned));
        }
        self.found.push(Found {
            level: way.level,
            guarded: way.guarded || self.exits.well || self.returns.well,
            negated: false,
            writes: call.writes(),
            inputs: Vec::new(),
            feeds: Vec::new(),
            is_fed: way.fed,
            answers: way.answers,
            noted: way.noted,
            assignments,
            call,
        });
    }

    /// Remembers a possible end.
    fn note(&mut self, status: Status, words: &[Word], way: Way) {
        let (ends, ended) = match status {
            Status::Exit(ended) => (&mut self.exits, ended),
            Status::Return(ended) => (&mut self.returns, ended),
            _ => return,
        };
        if !way.maybe {
            return;
        }
        let kept = words.get(1).is_some_and(|word| is_kept_failure(&self.found, &word.text));
        ends.well |= ended != Some(false) && !kept;
        ends.badly |= ended != Some(true);
    }
}

/// Whether a variable holds the status of a command, and nothing that was stored as a success.
fn is_kept_failure(found: &[Found], text: &str) -> bool {
    let name = text.trim_matches(['$', '{', '}']);
    let values = || {
        let pairs = found.iter().flat_map(|found| &found.assignments).filter_map(|text| text.split_once('='));
        pairs.filter(|(known, _)| *known == name).map(|(_, value)| value)
    };
    values().any(|value| value == "$?") && values().all(|value| value == "$?")
}
