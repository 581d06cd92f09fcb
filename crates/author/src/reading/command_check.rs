//! Criteria about a command: what it prints, how it ends, how long it takes.

use crate::{
    brief::{CheckPlace, CommandCheck, Expectation, OutputStream},
    project::ProjectFiles,
    reading::{literals::literal, paths::path, sources},
    spec::Token,
    words::criteria,
};

/// The commands of a criterion, each with what is expected of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadCommands {
    pub(crate) checks: Vec<CommandCheck>,
    /// A circumstance that no gate can set up, in the words of the spec.
    pub(crate) circumstance: Option<String>,
}

/// Reads the tokens of a criterion. `before` is the command that an earlier criterion named.
pub(crate) fn read(tokens: &[Token], before: Option<&str>, files: &dyn ProjectFiles) -> ReadCommands {
    let lower: Vec<String> = tokens.iter().map(Token::lower).collect();
    let mut scan = Scan { tokens, lower: &lower, files, found: Vec::new(), at: 0 };
    if scan.begins_with_verb() {
        scan.found.extend(before.map(new_check));
    }
    while scan.at < tokens.len() {
        scan.step(before);
    }
    let mut checks = scan.found;
    if let (None, Some(command)) = (checks.iter().find(|check| !check.expectations.is_empty()), before) {
        // `the version comes from A, else B`
        if let Some((expected @ Expectation::PrintsFirstOf { .. }, _)) =
            sources::read(tokens, &lower, 0, files)
        {
            checks.push(CommandCheck { expectations: vec![expected], ..new_check(command) });
        }
    }
    checks.retain(|check| !check.expectations.is_empty());
    let circumstance = if checks.is_empty() { None } else { circumstance(tokens, &lower, &mut checks) };
    for check in &mut checks {
        simplify(&mut check.expectations);
    }
    ReadCommands { checks, circumstance }
}

fn new_check(command: &str) -> CommandCheck {
    CommandCheck { command: command.trim().to_owned(), place: CheckPlace::Project, expectations: Vec::new() }
}

struct Scan<'a> {
    tokens: &'a [Token],
    lower: &'a [String],
    files: &'a dyn ProjectFiles,
    found: Vec<CommandCheck>,
    at: usize,
}

impl Scan<'_> {
    fn word(&self, at: usize) -> &str {
        self.lower.get(at).map_or("", String::as_str)
    }

    /// Whether the first word that says something is a verb or the output: the command was named before.
    fn begins_with_verb(&self) -> bool {
        let is_filler =
            |word: &&String| criteria().auxiliaries.has(word) || ["the", "its"].contains(&word.as_str());
        let start = self.lower.iter().take_while(is_filler).count();
        self.is_verb(start) || criteria().output.nouns.has(self.word(start))
    }

    fn is_verb(&self, at: usize) -> bool {
        let verbs = &criteria().verbs;
        let rest = &self.lower[at.min(self.lower.len())..];
        let lists = [&verbs.prints, &verbs.contains, &verbs.exits, &verbs.ends, &verbs.passes, &verbs.fails];
        (lists.iter().any(|list| list.at(rest).is_some()) && !self.is_noun(at)) || self.is_arrow(at)
    }

    fn is_arrow(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| ["→", "=>", "->"].contains(&token.text.as_str()))
    }

    /// Whether code is a command: a verb follows it, or a word such as `run` comes before it.
    fn is_subject(&self, at: usize) -> bool {
        let is_filler = |word: &str| {
            let known = criteria();
            known.auxiliaries.has(word)
                || known.negations.has(word)
                || known.output.nouns.has(word)
                || word == "s"
        };
        let mut next = at + 1;
        while next < self.tokens.len()
            && !self.is_verb(next)
            && (is_filler(self.word(next))
                || self.tokens[next].is_mark('\'')
                || self.tokens[next].is_mark('’'))
        {
            next += 1;
        }
        // `a` and `b` print …
        self.is_verb(next)
            || (at > 0 && criteria().output.runs.has(self.word(at - 1)) && !self.has_object(at))
    }

    /// Whether a verb before this place still waits for its text.
    fn has_object(&self, at: usize) -> bool {
        let verbs = &criteria().verbs;
        let before = &self.lower[..at];
        before.iter().rev().take(4).any(|word| verbs.prints.has(word) || verbs.contains.has(word))
    }

    fn step(&mut self, before: Option<&str>) {
        let at = self.at;
        self.at += 1;
        if let Some(code) = self.tokens[at].code() {
            if self.is_subject(at)
                && (path(code, self.files).is_none() || code.contains('/') || self.found.is_empty())
            {
                self.found.push(new_check(code));
            }
            return;
        }
        let names_output = criteria().output.nouns.has(self.word(at));
        if self.found.is_empty() && names_output {
            self.found.extend(before.map(new_check));
        }
        let Some(expected) = self.expectation(at) else { return };
        if let Some(check) = self.found.last_mut() {
            check.expectations.extend(expected);
        }
    }

    /// What the words at this place expect; moves on behind them.
    fn expectation(&mut self, at: usize) -> Option<Vec<Expectation>> {
        let known = criteria();
        let rest = &self.lower[at..];
        if let Some(count) = known.limits.within.at(rest) {
            let (seconds, next) = self.seconds(at + count)?;
            self.at = next;
            return Some(vec![Expectation::Within { seconds }]);
        }
        if known.verbs.exits.has(self.word(at)) {
            return self.exit(at);
        }
        if let Some(count) = known.verbs.passes.at(rest) {
            self.at = at + count;
            return Some(vec![if self.is_negated(at) {
                Expectation::Fails
            } else {
                Expectation::Exit { code: 0 }
            }]);
        }
        if known.verbs.fails.at(rest).is_some() {
            return Some(vec![if self.is_negated(at) {
                Expectation::Exit { code: 0 }
            } else {
                Expectation::Fails
            }]);
        }
        if (known.verbs.prints.has(self.word(at)) && !self.is_noun(at)) || self.is_arrow(at) {
            return self.prints(at);
        }
        known.verbs.contains.has(self.word(at)).then(|| self.contains(at))
    }

    fn is_negated(&self, at: usize) -> bool {
        let start = at.saturating_sub(4);
        let before = &self.lower[start..at];
        before.iter().rev().take_while(|word| !word.is_empty()).any(|word| criteria().negations.has(word))
    }

    /// Whether `output` or `return` is a thing here: `the output of …`.
    fn is_noun(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let next = self.word(at + 1);
        let known = criteria();
        known.output.nouns.has(self.word(at))
            && (!known.auxiliaries.has(before) && !known.negations.has(before)
                || known.output.runs.has(next)
                || known.auxiliaries.has(next))
    }

    /// A number of seconds: `2 s`, `500ms`, `1 minute`.
    fn seconds(&self, at: usize) -> Option<(f64, usize)> {
        let word = self.word(at);
        let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
        let number: f64 = digits.parse().ok()?;
        let own = &word[digits.len()..];
        let (unit, next) = if own.is_empty() { (self.word(at + 1), at + 2) } else { (own, at + 1) };
        let limits = &criteria().limits;
        let factor = match unit {
            _ if limits.ms.has(unit) => 0.001,
            _ if limits.s.has(unit) => 1.0,
            _ if limits.min.has(unit) => 60.0,
            _ => return None,
        };
        (number > 0.0).then_some((number * factor, next))
    }

    /// `exits 3`, `exits with code 3`, `exit code is non-zero`.
    fn exit(&mut self, at: usize) -> Option<Vec<Expectation>> {
        let limits = &criteria().limits;
        let mut next = at + 1;
        while limits.between.has(self.word(next)) && !limits.nonzero.has(self.word(next))
            || criteria().auxiliaries.has(self.word(next))
        {
            next += 1;
        }
        let said = self.tokens.get(next)?;
        let text = said.text.trim();
        self.at = next + 1;
        let is_negated = self.is_negated(at) || self.is_negated(next);
        match text.parse::<i32>() {
            Ok(0) if is_negated => Some(vec![Expectation::Fails]),
            Ok(code) if (0..=255).contains(&code) => Some(vec![Expectation::Exit { code }]),
            _ if limits.nonzero.has(self.word(next)) => Some(vec![Expectation::Fails]),
            _ if ["successfully", "cleanly"].contains(&self.word(next)) => {
                Some(vec![Expectation::Exit { code: 0 }])
            }
            _ => {
                self.at = at + 1;
                None
            }
        }
    }

    /// The words after a verb up to a text, a verb or the end of the part.
    fn object(&self, at: usize) -> usize {
        let ends = |place: usize| {
            let token = &self.tokens[place];
            token.code().is_some()
                || token.is_quotation_mark()
                || token.is_mark(';')
                || token.is_mark('.')
                || criteria().circumstances.begins.has(self.word(place))
        };
        (at..self.tokens.len()).find(|place| ends(*place)).unwrap_or(self.tokens.len())
    }

    fn stream(&self, from: usize, to: usize) -> Option<OutputStream> {
        let words = &self.lower[from..to.min(self.lower.len())];
        let has = |name: &str| words.iter().any(|word| word == name);
        match () {
            () if has("stderr") => Some(OutputStream::Stderr),
            () if has("stdout") => Some(OutputStream::Stdout),
            () => None,
        }
    }

    fn prints(&mut self, at: usize) -> Option<Vec<Expectation>> {
        let known = &criteria().output;
        let object = self.object(at + 1);
        let between = &self.lower[at + 1..object];
        if between.iter().any(|word| known.nothing.has(word)) {
            return Some(vec![Expectation::Prints { text: String::new() }]);
        }
        if between.iter().any(|word| word == "json") {
            return Some(self.json(object));
        }
        if let Some((expected, next)) = sources::read(self.tokens, self.lower, at + 1, self.files) {
            self.at = next;
            return Some(vec![expected]);
        }
        let said = between.iter().all(|word| word.is_empty() || known.whole.has(word));
        let (text, next, is_whole) = match literal(self.tokens, object) {
            Some((text, next)) => (text, next, said),
            None => self.bare_number(at + 1).map(|(text, next)| (text, next, true))?,
        };
        self.at = next;
        let is_negated = self.is_negated(at);
        let stream = self.stream(at, (next + 4).min(self.tokens.len()));
        let more = self.more_literals(next);
        let whole = is_whole && more.is_empty() && !is_negated && stream != Some(OutputStream::Stderr);
        if whole {
            return Some(vec![Expectation::Prints { text }]);
        }
        let stream = stream.unwrap_or(OutputStream::Both);
        let texts = [text].into_iter().chain(more);
        Some(texts.map(|text| found_text(text, stream, is_negated)).collect())
    }

    /// A version or a number without backticks.
    fn bare_number(&self, at: usize) -> Option<(String, usize)> {
        let skipped = self.lower[at..].iter().take_while(|word| criteria().output.whole.has(word)).count();
        let token = self.tokens.get(at + skipped)?;
        let is_number = token.text.starts_with(|c: char| c.is_ascii_digit());
        is_number.then(|| (token.text.clone(), at + skipped + 1))
    }

    /// Further texts that a comma or `and` joins, unless one of them is a command.
    fn more_literals(&mut self, from: usize) -> Vec<String> {
        let mut found = Vec::new();
        let mut at = from;
        loop {
            let joins = |token: &Token| token.is_mark(',') || token.is_word("and") || token.is_word("or");
            let skipped =
                self.tokens[at.min(self.tokens.len())..].iter().take_while(|token| joins(token)).count();
            let next =
                literal(self.tokens, at + skipped).filter(|_| skipped > 0 && !self.is_subject(at + skipped));
            let Some((text, after)) = next else { return found };
            found.push(text);
            at = after;
            self.at = after;
        }
    }

    /// JSON with keys.
    fn json(&mut self, object: usize) -> Vec<Expectation> {
        let mut keys = Vec::new();
        self.at = object;
        if let Some((first, next)) = literal(self.tokens, object) {
            if first.starts_with(['{', '[']) {
                self.at = next;
                return vec![Expectation::Prints { text: first }];
            }
            self.at = next;
            keys.push(first);
            keys.extend(self.more_literals(next));
        }
        vec![Expectation::Json { keys }]
    }

    fn contains(&mut self, at: usize) -> Vec<Expectation> {
        let object = self.object(at + 1);
        let Some((text, next)) = literal(self.tokens, object) else { return Vec::new() };
        self.at = next;
        let is_negated = self.is_negated(at);
        let stream = self
            .stream(at.saturating_sub(4), (next + 3).min(self.tokens.len()))
            .unwrap_or(OutputStream::Both);
        let more = self.more_literals(next);
        [text].into_iter().chain(more).map(|text| found_text(text, stream, is_negated)).collect()
    }
}

fn found_text(text: String, stream: OutputStream, is_negated: bool) -> Expectation {
    match is_negated {
        true => Expectation::Lacks { text, stream },
        false => Expectation::Contains { text, stream },
    }
}

/// Sets the place of the checks, or returns a circumstance that cannot be set up.
fn circumstance(tokens: &[Token], lower: &[String], checks: &mut [CommandCheck]) -> Option<String> {
    let known = &criteria().circumstances;
    let code = tokens.iter().position(|token| token.code().is_some())?;
    let begins = (code..lower.len()).find(|at| {
        let runs = lower.get(at + 1).is_some_and(|next| criteria().output.runs.has(next));
        known.begins.has(&lower[*at]) && !runs
    });
    let is_missing = begins.is_some_and(|at| known.missing.is_in(&lower[at..])) || known.empty.is_in(lower);
    if is_missing {
        for check in checks {
            check.place = CheckPlace::EmptyFolder;
        }
        return None;
    }
    let words: Vec<&str> = tokens[begins?..].iter().map(|token| token.text.as_str()).collect();
    Some(words.join(" "))
}

/// An exact exit code makes `fails` superfluous, and equal expectations are said once.
fn simplify(expectations: &mut Vec<Expectation>) {
    let has_exit = expectations.iter().any(|one| matches!(one, Expectation::Exit { code } if *code != 0));
    expectations.retain(|one| !(has_exit && *one == Expectation::Fails));
    let mut known: Vec<Expectation> = Vec::new();
    expectations.retain(|one| {
        let is_new = !known.contains(one);
        known.push(one.clone());
        is_new
    });
}
