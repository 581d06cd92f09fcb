//! The pattern of the step graph, with the words and numbers that speak for each.

use crate::{
    brief::{Depth, Pattern, PatternChoice, RejectedPattern, Signal, TargetKind, Targets},
    spec::{SectionKind, Spec},
    words::work,
};

/// More targets than this need a plan first.
const MOST_TARGETS: usize = 5;

/// What the pattern follows from.
pub(crate) struct PatternFacts<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) targets: &'a Targets,
    /// Paths that are items of the same work: they count as items.
    pub(crate) items: &'a [String],
    pub(crate) tracks: usize,
    /// Check, fix, rerun: its words and line.
    pub(crate) fix_loop: Option<(String, usize)>,
    /// `many independent artifacts`.
    pub(crate) artefacts: Option<(String, usize)>,
    /// `--pattern`.
    pub(crate) flag: Option<Pattern>,
    /// The pattern that the spec names.
    pub(crate) named: Option<(Pattern, usize)>,
}

/// Chooses the pattern.
pub(crate) fn choose(facts: &PatternFacts) -> PatternChoice {
    let signals = signals(facts);
    let speaks = |pattern: Pattern| signals.iter().find(|signal| signal.pattern == pattern);
    let (name, reason) = match (facts.flag, facts.named) {
        (Some(flag), _) => (flag, format!("--pattern {}", word(flag))),
        (None, Some((named, line))) => (named, format!("line {line} of the spec asks for it")),
        (None, None) => match (speaks(Pattern::Supervisor), speaks(Pattern::Graph)) {
            (Some(signal), _) => (Pattern::Supervisor, format!("{}: a plan comes first", signal.evidence)),
            (None, Some(signal)) => (Pattern::Graph, signal.evidence.clone()),
            (None, None) => (Pattern::Pipeline, "one stream of work without a sign of risk".to_owned()),
        },
    };
    let others =
        [Pattern::Pipeline, Pattern::Graph, Pattern::Supervisor].into_iter().filter(|one| *one != name);
    let rejected =
        others.map(|one| RejectedPattern { name: one, reason: why_not(one, name, speaks(one)) }).collect();
    PatternChoice { name, reason, signals, rejected }
}

/// The name of a pattern.
pub(crate) fn word(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Pipeline => "pipeline",
        Pattern::Graph => "graph",
        Pattern::Supervisor => "supervisor",
    }
}

fn why_not(pattern: Pattern, chosen: Pattern, signal: Option<&Signal>) -> String {
    match (pattern, signal) {
        (_, Some(signal)) => format!("{} speaks for it, but {} is stronger", signal.evidence, word(chosen)),
        (Pattern::Pipeline, None) => "the work is not one stream without risk".to_owned(),
        (Pattern::Graph, None) => "the spec names no items or tracks that could be done apart".to_owned(),
        (Pattern::Supervisor, None) => format!("no word of risk, and at most {MOST_TARGETS} target files"),
    }
}

fn signals(facts: &PatternFacts) -> Vec<Signal> {
    let mut found = risks(facts);
    let own = facts.targets.paths.iter().filter(|target| !facts.items.contains(&target.path)).count();
    if own > MOST_TARGETS && facts.tracks < 2 {
        found.push(Signal {
            pattern: Pattern::Supervisor,
            evidence: format!("{own} target files"),
            line: None,
        });
    }
    let graph = |evidence: String, line| Signal { pattern: Pattern::Graph, evidence, line };
    if facts.tracks > 1 {
        found.push(graph(format!("{} tracks", facts.tracks), None));
    }
    if facts.items.len() > 1 {
        found.push(graph(format!("{} items", facts.items.len()), None));
    }
    if let Some((text, line)) = &facts.fix_loop {
        let several = own > 1 || facts.artefacts.is_some();
        if several && facts.items.len() < 2 {
            found.push(graph(format!("several artefacts go through \"{text}\""), Some(*line)));
        }
    }
    if found.is_empty() {
        let evidence = match own {
            0 => "one stream of work".to_owned(),
            1 => "one target file".to_owned(),
            count => format!("{count} target files that change together"),
        };
        found.push(Signal { pattern: Pattern::Pipeline, evidence, line: None });
    }
    found
}

/// Words of risk in the goal, the title and the targets; not those that are denied or constraints.
fn risks(facts: &PatternFacts) -> Vec<Signal> {
    let known = &work().patterns;
    let mut found: Vec<Signal> = Vec::new();
    let mut add = |word: String, line: usize| {
        let evidence = format!("the word \"{word}\"");
        if !found.iter().any(|signal| signal.evidence == evidence) {
            found.push(Signal { pattern: Pattern::Supervisor, evidence, line: Some(line) });
        }
    };
    let is_read = |kind: SectionKind| {
        matches!(kind, SectionKind::Goal | SectionKind::Prose | SectionKind::Tracks | SectionKind::Acceptance)
    };
    let sentences =
        facts.spec.sentences().filter(|(section, _)| is_read(section.kind)).map(|(_, sentence)| sentence);
    for sentence in facts.spec.title.iter().chain(sentences) {
        let lower = sentence.lower();
        for at in 0..lower.len() {
            let Some(count) = known.risk.at(&lower[at..]) else { continue };
            let before = &lower[at.saturating_sub(3)..at];
            if !before.iter().any(|word| known.denied.has(word)) {
                add(lower[at..at + count].join(" "), sentence.line);
            }
        }
    }
    for target in &facts.targets.paths {
        let parts = target.path.split(['/', '.', '_', '-']);
        for part in parts.filter(|part| known.risk.has(part)) {
            add(part.to_owned(), target.line);
        }
    }
    found
}

/// The patterns that the spec names: `use the supervisor pattern`.
pub(crate) fn named(spec: &Spec) -> Vec<(Pattern, usize)> {
    let known = &work().patterns;
    let names = [
        (Pattern::Pipeline, &known.names.pipeline),
        (Pattern::Graph, &known.names.graph),
        (Pattern::Supervisor, &known.names.supervisor),
    ];
    let mut found: Vec<(Pattern, usize)> = Vec::new();
    for (_, sentence) in spec.sentences() {
        let lower = sentence.lower();
        for (pattern, words) in names {
            let Some((at, _)) = words.find(&lower) else { continue };
            let is_pattern = lower.get(at + 1).is_some_and(|next| next == "pattern")
                || (at > 1 && lower[at - 1] == ":"
                    || lower[..at]
                        .iter()
                        .rev()
                        .find(|word| !word.is_empty())
                        .is_some_and(|word| word == "pattern"));
            let is_denied = lower[..at].iter().any(|word| known.denied.has(word));
            if is_pattern && !is_denied && !found.iter().any(|(known, _)| *known == pattern) {
                found.push((pattern, sentence.line));
            }
        }
    }
    found
}

/// The depths that the spec names.
pub(crate) fn named_depths(spec: &Spec) -> Vec<(Depth, usize)> {
    let known = &work().depth;
    let mut found = Vec::new();
    for (_, sentence) in spec.sentences() {
        let lower = sentence.lower();
        for (depth, words) in [(Depth::Light, &known.light), (Depth::Full, &known.full)] {
            if words.is_in(&lower) && !found.iter().any(|(known, _)| *known == depth) {
                found.push((depth, sentence.line));
            }
        }
    }
    found
}

/// Whether only documents change.
pub(crate) fn is_documents(targets: &Targets) -> bool {
    !targets.paths.is_empty() && targets.paths.iter().all(|target| target.kind == TargetKind::Document)
}
