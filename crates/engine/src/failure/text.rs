//! Hints in lines of output: whole words, in their context, and never more than a hint.
//!
//! A line of a check is trusted only if the tool itself prints it and gave no verdict: a refused connection in the
//! output of a test may be part of the test.

use super::{
    AgentTrouble, Class, Facts, MAX_QUOTE, Meaning, Producer, Provider, Signal, Source, StepType,
    fingerprint::strip_colours, names, network::is_own_server, rules::service_class,
    variables::missing_variable,
};
use crate::{
    knowledge::{CausePhrase, Phrases},
    run::outcome::Outcome,
};

/// The part of a line that is examined, in bytes.
const MAX_LINE: usize = 2_000;
/// How much of a long line is kept before the relevant words, in characters.
const BEFORE: usize = 40;

/// A line that indicates a class.
pub(super) struct Hint {
    pub(super) class: Class,
    /// Its subject: a program, a variable.
    pub(super) subject: Option<String>,
    /// The part of the recipe that should have provided what is missing.
    pub(super) provider: Option<Provider>,
    pub(super) signal: Signal,
    /// The smaller, the better it explains the failure.
    pub(super) rank: usize,
    pub(super) is_believed: bool,
    /// Found in plain output, by an unknown speaker.
    pub(super) is_plain: bool,
}

/// Whether `text` contains `phrase` as whole words. Both are lower case.
pub(super) fn has_words(text: &str, phrase: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let opens = !phrase.starts_with(part) || !before.is_some_and(part);
        let closes = !phrase.ends_with(part) || !after.is_some_and(part);
        opens && closes
    })
}

/// Whether a test runner or a linter has given its verdict.
pub(super) fn has_verdict(facts: &Facts) -> bool {
    let phrases = facts.knowledge.phrases();
    [&facts.stderr, &facts.stdout].iter().any(|text| judges(phrases, &strip_colours(text).to_lowercase()))
}

/// Whether a text, in lower case, has a verdict. npm's message about a failed request does not count.
fn judges(phrases: &Phrases, text: &str) -> bool {
    let lines = text.lines().map(|line| line.replace("failed, reason:", ""));
    let is_verdict = |line: String| {
        phrases.verdicts.iter().any(|verdict| has_words(&line, verdict)) && !is_passed(phrases, &line)
    };
    lines.into_iter().any(is_verdict)
}

/// Whether a line, in lower case, is a summary of tests without failures: `tests: 12 passed, 12 total`, `5 examples, 0
/// failures`, `failures: 0, errors: 0`.
fn is_passed(phrases: &Phrases, line: &str) -> bool {
    let counts: Vec<u64> = phrases.counted_failures.iter().flat_map(|word| counted(line, word)).collect();
    match counts.is_empty() {
        true => has_words(line, "passed") && has_words(line, "tests:"),
        false => counts.iter().all(|count| *count == 0),
    }
}

/// The numbers directly before a word, or after it and a colon.
fn counted(line: &str, word: &str) -> Vec<u64> {
    let number = |text: &str| text.parse::<u64>().ok();
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    let one = |at: usize| {
        let (before, behind) = (&line[..at], &line[at + word.len()..]);
        let is_whole = !before.ends_with(char::is_alphabetic) && !behind.starts_with(char::is_alphabetic);
        let counted = behind
            .trim_start()
            .strip_prefix([':', '='])
            .and_then(|rest| rest.trim_start().split(is_sign).next());
        let before = before.strip_suffix(' ').and_then(|before| before.rsplit(is_sign).next());
        before.and_then(number).or_else(|| counted.and_then(number)).filter(|_| is_whole)
    };
    line.match_indices(word).filter_map(|(at, _)| one(at)).collect()
}

/// At most 160 characters of a text, without escape sequences, around the relevant words.
pub(super) fn excerpt(text: &str, words: &str) -> String {
    let plain = strip_colours(text);
    let plain: Vec<char> =
        plain.trim().chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    if plain.len() <= MAX_QUOTE {
        return plain.into_iter().collect();
    }
    let lower: String = plain.iter().flat_map(|c| c.to_lowercase()).collect();
    let found = lower.find(words).map_or(0, |at| lower[..at].chars().count());
    let end = found + words.chars().count();
    if end < MAX_QUOTE {
        return plain[..MAX_QUOTE - 1].iter().chain(&['…']).collect();
    }
    let from = found.saturating_sub(BEFORE).min(plain.len() - (MAX_QUOTE - 1));
    let to = from + MAX_QUOTE - 2;
    let (to, last) = if to + 1 >= plain.len() { (plain.len(), "") } else { (to, "…") };
    let kept: String = plain[from..to].iter().collect();
    format!("…{kept}{last}")
}

/// All hints in the output.
pub(super) fn hints(facts: &Facts, source: Source) -> Vec<Hint> {
    // a service that answered with a status has named the problem; its words are about the request
    let is_told = facts.agent_trouble == Some(AgentTrouble::Request);
    if is_told || matches!(facts.outcome, Some(Outcome::Ok) | None) {
        return Vec::new();
    }
    let stdout = if source == Source::Comparison { "" } else { facts.stdout.as_str() };
    let texts = [
        ("stderr", strip_colours(&facts.stderr), facts.stderr_before),
        ("stdout", strip_colours(stdout), facts.stdout_before),
    ];
    let whole = texts.each_ref().map(|(_, text, _)| text.to_lowercase()).join("\n");
    let reader = Reader::new(facts, source, &whole);
    let mut hints = Vec::new();
    for (stream, text, before) in &texts {
        let lines = text.lines().enumerate();
        hints.extend(lines.filter_map(|(at, line)| reader.hint(stream, before.place(stream, at), cut(line))));
    }
    if facts.step_type == StepType::Agent {
        let trouble = facts.agent_trouble.and_then(service_class);
        hints.retain(|hint| hint.is_believed || Some(hint.class) == trouble);
    }
    hints
}

/// The hint of a line.
struct Read {
    class: Class,
    /// Its subject.
    subject: Option<String>,
    what: String,
    /// The words that indicate it, in lower case.
    words: String,
    /// The part of the recipe that should have provided what is missing.
    provider: Option<Provider>,
    meaning: Option<Meaning>,
    /// Whether checks never print the words about their subject.
    even_in_checks: bool,
}

/// Reads the lines of one failure.
struct Reader<'a> {
    facts: &'a Facts,
    source: Source,
    /// The whole output, in lower case.
    whole: &'a str,
    /// Whether a check gave its verdict.
    is_judged: bool,
}

impl<'a> Reader<'a> {
    fn new(facts: &'a Facts, source: Source, whole: &'a str) -> Reader<'a> {
        let is_judged = source != Source::Plain && judges(facts.knowledge.phrases(), whole);
        Reader { facts, source, whole, is_judged }
    }

    fn hint(&self, stream: &str, at: String, line: &str) -> Option<Hint> {
        let Read { class, subject, what, words, provider, meaning, even_in_checks } = self.read(line)?;
        let is_check = self.source != Source::Plain;
        let is_printed = stream == "stdout" && self.facts.step_type == StepType::Bash;
        let is_own = self.is_own(class, line);
        let is_said = match self.facts.step_type {
            StepType::Agent => is_said_by_agent_program(class, line),
            _ => {
                !(is_check || is_printed)
                    || self.is_tool_line(line)
                    || self.is_plain(class, stream, even_in_checks)
            }
        };
        let may_be_shown = matches!(class, Class::Disk | Class::Memory | Class::Network | Class::RateLimit);
        let is_shown =
            may_be_shown && (is_check || line.starts_with("  ")) && is_quoted(&line.to_lowercase(), &words);
        let is_open = !self.is_judged || (class == Class::Disk && self.is_no_subject(line));
        let quote = excerpt(line, &words);
        Some(Hint {
            class,
            subject,
            provider,
            signal: Signal { what, quote, at, meaning },
            rank: rank_of(class),
            is_believed: is_said && is_open && !is_own && !is_shown,
            is_plain: stream == "stdout" && !is_check && !is_own,
        })
    }

    /// Whether a line of this class is trusted without a tool prefix: checks never print it about their subject.
    fn is_plain(&self, class: Class, stream: &str, even_in_checks: bool) -> bool {
        // test runners print on standard output
        let is_heard = stream == "stderr" || (stream == "stdout" && self.source != Source::Plain);
        match class {
            Class::ValidationStrategy | Class::Structure | Class::MissingEnv | Class::Memory => true,
            Class::Disk => is_heard,
            _ => is_heard && even_in_checks,
        }
    }

    /// Whether the missing thing should have been made here.
    fn is_own(&self, class: Class, line: &str) -> bool {
        match class {
            Class::Network => {
                is_own_server(self.facts, line) || is_own_server(self.facts, &self.facts.command)
            }
            // a script that an agent wrote without execute permission
            Class::MissingBinary => {
                self.facts.exit_code() == Some(126) && self.facts.producer != Producer::None
            }
            _ => false,
        }
    }

    /// Whether a full disk next to the verdict of a test is a problem of the machine: no test, no test file and no
    /// assertion is about disks.
    fn is_no_subject(&self, line: &str) -> bool {
        let is_about = |text: &str| self.phrases().disk_subjects.iter().any(|word| text.contains(word));
        let says_so = |line: &&str| !self.phrases().causes.iter().any(|known| known.says(line).is_some());
        let lower = line.to_lowercase();
        has_words(&lower, "no space left on device")
            && !["assert", "expect"].iter().any(|word| lower.contains(word))
            && !is_about(&self.facts.command.to_lowercase())
            && !self.whole.lines().filter(says_so).any(is_about)
    }

    fn read(&self, line: &str) -> Option<Read> {
        let lower = line.to_lowercase();
        if line.trim().is_empty() || tells_of_a_test(self.phrases(), &lower) {
            return None;
        }
        let (facts, whole) = (self.facts, self.whole);
        let named = |class, name: String, what: &str| {
            let (words, what) = (name.to_lowercase(), what.to_owned());
            let (provider, meaning) = (None, None);
            Some(Read { class, words, subject: Some(name), what, provider, meaning, even_in_checks: false })
        };
        if let Some(name) = names::missing_program(facts, line, &lower, whole) {
            return named(Class::MissingBinary, name, "a program is not found");
        }
        if let Some(name) = names::unexecutable(facts, line) {
            let what = format!("the program `{name}` cannot be executed");
            let read = named(Class::MissingBinary, name, &what);
            return read.map(|read| Read { meaning: Some(Meaning::CannotBeExecuted), ..read });
        }
        if let Some(name) = missing_variable(facts, line, whole) {
            return match facts.providers.iter().find(|provider| provider.variable == name) {
                Some(provider) => Some(Read {
                    class: provider.class(),
                    words: name.to_lowercase(),
                    subject: Some(name),
                    what: "a variable that the recipe provides is not set".into(),
                    provider: Some(provider.clone()),
                    meaning: None,
                    even_in_checks: false,
                }),
                None => named(Class::MissingEnv, name, "a variable is not set"),
            };
        }
        let said = |class, what: &str, words: &str, even_in_checks| {
            let (what, words, provider, meaning) = (what.to_owned(), words.to_owned(), None, None);
            Some(Read { class, subject: None, what, words, provider, meaning, even_in_checks })
        };
        // the shell's word for it, with the matching exit code
        let is_killed = matches!(facts.outcome, Some(Outcome::Exit(137) | Outcome::Signal(9)));
        if is_killed && has_words(&lower, "killed") && !lower.contains("killed by user") {
            return said(Class::Memory, "a process was killed", "killed", false);
        }
        let mut causes = self.phrases().causes.iter();
        let (cause, words) = causes.find_map(|cause| cause.says(&lower).map(|words| (cause, words)))?;
        said(cause.class?, &cause.what, words, cause.even_in_checks)
    }

    fn phrases(&self) -> &'a Phrases {
        self.facts.knowledge.phrases()
    }

    fn is_tool_line(&self, line: &str) -> bool {
        let lower = line.trim_start().to_lowercase();
        self.phrases().tool_lines.iter().any(|prefix| lower.starts_with(prefix))
    }
}

/// Whether the output of a step says that memory ran out.
pub(super) fn says_out_of_memory(facts: &Facts) -> bool {
    let agent = facts.agent_failure.as_deref().unwrap_or_default();
    [facts.stderr.as_str(), &facts.stdout, agent].iter().any(|text| text.contains("out of memory"))
}

/// Whether words are quoted, as a compiler shows a piece of the source, or a test the values it compared. The text of a
/// `message: "…"` does not count as quoted: the program itself reports it.
fn is_quoted(line: &str, words: &str) -> bool {
    let Some(at) = line.find(words) else { return false };
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    for (index, sign) in line[..at].char_indices() {
        let next = line[index + sign.len_utf8()..].chars().next().unwrap_or(' ');
        match open {
            // an apostrophe is between letters
            None if matches!(sign, '"' | '\'' | '`') && !before.is_alphanumeric() => {
                open = Some((index, sign))
            }
            Some((_, quote)) if quote == sign && !next.is_alphanumeric() => open = None,
            _ => {}
        }
        before = sign;
    }
    open.is_some_and(|(index, _)| !line[..index].trim_end().ends_with("message:"))
}

fn cut(line: &str) -> &str {
    let mut end = line.len().min(MAX_LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// Whether a line on an agent's stderr is the program's own error. Problems of its service or its login are known from
/// typed facts alone: an agent may write about the same things in its work.
fn is_said_by_agent_program(class: Class, line: &str) -> bool {
    let lower = line.trim_start().to_lowercase();
    match class {
        Class::RateLimit | Class::Credentials | Class::Network => false,
        Class::MissingEnv => true,
        _ => ["error:", "fatal:", "env:", "/usr/bin/env:"].iter().any(|start| lower.starts_with(start)),
    }
}

/// Whether a line reports the result of one test: the words before the result are its name.
fn tells_of_a_test(phrases: &Phrases, lower: &str) -> bool {
    let line = lower.trim().trim_end_matches(['.', '!']);
    let known = &phrases.test_lines;
    let ends = known.end.iter().any(|end| line.ends_with(end)) && !line.ends_with("not ok");
    ends || known.begin.iter().any(|start| line.starts_with(start))
}

/// Causes come before their consequences: a full disk before a failed connection, a refused login before both.
fn rank_of(class: Class) -> usize {
    const ORDER: [Class; 12] = [
        Class::Disk,
        Class::Memory,
        Class::RateLimit,
        Class::MissingBinary,
        Class::MissingEnv,
        Class::Credentials,
        Class::Network,
        Class::WorkdirDirty,
        Class::StaleState,
        Class::AlreadyRunning,
        Class::ValidationStrategy,
        Class::Structure,
    ];
    ORDER.iter().position(|known| *known == class).unwrap_or(ORDER.len())
}

impl CausePhrase {
    /// The phrase that a line contains, with its required context; `None` for one that only agent programs print.
    fn says(&self, line: &str) -> Option<&str> {
        self.class?;
        let words = self.any.iter().find(|phrase| has_words(line, phrase))?;
        let fits = (self.with.is_empty() || self.with.iter().any(|phrase| has_words(line, phrase)))
            && !self.without.iter().any(|phrase| line.contains(phrase));
        fits.then_some(words)
    }
}
