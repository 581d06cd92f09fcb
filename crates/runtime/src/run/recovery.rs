//! Recovery of a failed sub-recipe by an agent: its prompt, and the meaning of its answer.
//!
//! Never takes a polite refusal for a success.

use engine::{
    RunState, StepStatus,
    run::{
        decide,
        frame::{Frame, FrameId},
    },
};
use recipe::value::Map;

use crate::store::{
    folder::Recovery,
    secrets::{MASK, Mask},
};

/// How much of the output of the failed run the agent gets, in the error and the partial outputs together: the text is
/// untrusted.
const PARTIAL_CHARS: usize = 500;
/// How much of that the error may quote.
const QUOTED_CHARS: usize = 200;
/// A reason of at most this many characters takes nothing from the partial outputs.
const SHORT_QUOTE: usize = 100;
/// How much of a quote is its beginning, with the exit code.
const QUOTE_START: usize = 40;
/// How many context names it gets.
const CONTEXT_NAMES: usize = 20;
/// How much of each value.
const VALUE_CHARS: usize = 80;

/// The result of a recovery.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The work is done; this is its result.
    Recovered(String),
    /// It is not done, for this reason, in the words of the log.
    NotRecovered(String),
    /// The run was stopped meanwhile.
    Stopped,
}

/// The prompt of a recovery.
pub fn prompt(state: &RunState, id: FrameId, mask: &Mask) -> String {
    let frame = &state.frames[id];
    let outer = frame.parent.map_or(frame, |(parent, _)| &state.frames[parent]);
    let outputs: Vec<String> = frame
        .steps
        .iter()
        .zip(&frame.unit.steps)
        .filter_map(|(state, step)| {
            state.value.as_ref().map(|value| format!("{}: {}", step.id, value.render()))
        })
        .collect();
    let (error, quoted) = reason(state, id, mask);
    let room = if quoted <= SHORT_QUOTE { PARTIAL_CHARS } else { PARTIAL_CHARS.saturating_sub(quoted) };
    let partial: String = mask.text(&outputs.join("\n")).chars().take(room).collect();
    format!(
        "A sub-recipe failed. Decide whether you can still do its work.\n\n\
         Sub-recipe: {}\n\
         Failed steps: {}\n\
         Error: {}\n\
         Partial outputs (first {PARTIAL_CHARS} chars):\n{partial}\n\n\
         Decide:\n\
         1. If you can do what the sub-recipe was meant to do, do it now, say what the result is, and end with the \
         line 'STATUS: COMPLETE'.\n\
         2. If it cannot be done (something is missing, or contradicts itself), answer 'UNRECOVERABLE: <reason>'.\n\n\
         Current context summary:\n{}",
        frame.unit.name,
        match failed_steps(frame) {
            steps if steps.is_empty() => "none had begun".to_owned(),
            steps => steps.join(", "),
        },
        error,
        summary(&outer.context, mask),
    )
}

/// Why a recipe failed, and how many characters of that may come from the failed step.
fn reason(state: &RunState, id: FrameId, mask: &Mask) -> (String, usize) {
    let mut quoted = 0;
    let error = decide::nested_error_with(state, id, |own, said| {
        let said = shortened(&mask.text(said), QUOTED_CHARS.saturating_sub(quoted));
        quoted += said.chars().count();
        format!("{}{said}", mask.text(own))
    });
    (error, quoted)
}

/// The beginning and the end of a long text: the end says the most.
fn shortened(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    let start = QUOTE_START.min(room / 2);
    let end = room.saturating_sub(start + 1);
    let mut shown: String = text.chars().take(start).collect();
    if room > 0 {
        shown.push('…');
    }
    shown.extend(text.chars().skip(count - end));
    shown
}

/// Ids of the failed steps of a recipe.
pub fn failed_steps(frame: &Frame) -> Vec<&str> {
    let steps = frame.steps.iter().zip(&frame.unit.steps);
    steps.filter(|(state, _)| state.status == StepStatus::Failed).map(|(_, step)| step.id.as_str()).collect()
}

/// Parts of names whose values no recovery agent gets: a wider rule than that of the mask.
const WITHHELD: &[&str] = &["token", "secret", "password", "key"];

/// The context in a few lines, without secrets.
fn summary(context: &Map, mask: &Mask) -> String {
    let is_withheld = |name: &str| {
        let lower = name.to_lowercase();
        mask.is_secret(name) || WITHHELD.iter().any(|part| lower.contains(part))
    };
    let line = |(name, value): (&String, &recipe::value::Value)| match is_withheld(name) {
        true => format!("  {name}: {MASK}"),
        false => {
            let text = value.render();
            let shown: String = mask.text(&text).chars().take(VALUE_CHARS).collect();
            format!("  {name}: {}", shown.replace('\n', " "))
        }
    };
    context.iter().take(CONTEXT_NAMES).map(line).collect::<Vec<_>>().join("\n")
}

/// The meaning of an answer.
pub fn judge(answer: &str, mode: Recovery, name: &str) -> Verdict {
    let upper = answer.to_uppercase();
    if answer.trim().is_empty() {
        return Verdict::NotRecovered(format!(
            "Agent recovery returned empty output for sub-recipe '{name}'"
        ));
    }
    if upper.contains("UNRECOVERABLE") {
        let preview: String = answer.trim().chars().take(200).collect();
        return Verdict::NotRecovered(format!(
            "Agent recovery reported unrecoverable failure for sub-recipe '{name}': {preview}"
        ));
    }
    if mode == Recovery::Always || is_affirmative(answer) {
        return Verdict::Recovered(answer.trim_end_matches('\n').to_owned());
    }
    Verdict::NotRecovered(format!(
        "Agent recovery for sub-recipe '{name}' did not confirm success: neither 'STATUS: COMPLETE' nor 'recovered'"
    ))
}

/// Whether an answer says that the work is done.
fn is_affirmative(answer: &str) -> bool {
    let upper = unwrapped(answer).to_uppercase();
    const AROUND: [char; 8] = ['*', '`', '#', ' ', '.', '_', '-', '>'];
    let status = answer.lines().any(|line| {
        let line = line.trim().trim_matches(AROUND).to_uppercase();
        line.strip_prefix("STATUS:").is_some_and(|rest| rest.trim_matches(AROUND) == "COMPLETE")
    });
    // a question claims nothing
    let sentences = upper.split_inclusive(['.', '!', '?', '\n', ';']).filter(|said| !said.ends_with('?'));
    status || sentences.flat_map(clauses).any(|clause| says_recovered(&clause))
}

/// The text without line breaks inside sentences: a line that begins with a small letter continues the line before it.
fn unwrapped(text: &str) -> String {
    let mut unwrapped = String::with_capacity(text.len());
    for line in text.lines() {
        let goes_on = line.trim_start().starts_with(char::is_lowercase) && !unwrapped.trim_end().is_empty();
        // an empty line always ends a sentence; so does the word itself, unless its line has a colon and the next line
        // holds only the denial
        let is_said = unwrapped.to_uppercase().trim_end().ends_with("RECOVERED");
        let is_listed = unwrapped.ends_with(':') && line.split_whitespace().count() > 1;
        let goes_on = goes_on && !unwrapped.ends_with('\n') && !is_said && !is_listed;
        unwrapped.push(if goes_on { ' ' } else { '\n' });
        unwrapped.push_str(line.trim());
    }
    unwrapped
}

/// Words that turn a later "recovered" into its opposite or into a wish.
const NEGATIONS: &[&str] = &[
    "NOT",
    "NEVER",
    "NO",
    "CANNOT",
    "UNABLE",
    "FAILED",
    "NOTHING",
    "NONE",
    "NEITHER",
    "NOR",
    "WITHOUT",
    "UNLESS",
    "UNTIL",
    "IF",
    "ONCE",
    "HARDLY",
    "IMPOSSIBLE",
    "ZERO",
    "0",
    "CAN",
    "COULD",
    "MAY",
    "MIGHT",
    "MUST",
    "NEEDS",
    "SHOULD",
    "SHALL",
    "WILL",
    "WOULD",
    "TO",
];

/// Words that do so directly after it.
const DENIALS: &[&str] = &["FALSE", "NO", "NONE", "NOTHING", "NOT", "0", "IF", "UNLESS"];

/// The parts of a sentence that make one claim each. A clause that begins with a negation stays whole, and so does
/// `recovered: false`.
fn clauses(sentence: &str) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    for part in sentence.split(" BUT ").flat_map(|part| part.split(" AND ")) {
        clauses.push(String::new());
        for piece in part.split_inclusive([',', ':']) {
            let Some(last) = clauses.last_mut() else { continue };
            let first = last.split_whitespace().next().unwrap_or_default();
            let goes_on = matches!(first, "NONE" | "NEITHER" | "NOT" | "NEVER")
                || last.trim_end_matches([':', '"', '\'', '*', '`', ' ']).ends_with("RECOVERED")
                || last.ends_with(':') && last.contains("RECOVERED");
            match last.is_empty() || goes_on {
                true => last.push_str(piece),
                false => clauses.push(piece.to_owned()),
            }
        }
    }
    clauses
}

/// Whether one clause says "recovered" without negating it.
fn says_recovered(clause: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '\'' || c == '\u{2019}';
    let words: Vec<&str> = clause.split(|c: char| !is_letter(c)).filter(|word| !word.is_empty()).collect();
    // includes "can't", "wasn't" and the like
    let negates =
        |word: &&str| NEGATIONS.contains(word) || word.ends_with("N'T") || word.ends_with("N\u{2019}T");
    let Some(at) = words.iter().position(|word| *word == "RECOVERED") else { return false };
    // as in "recovered: false" and "recovered steps: none"
    let listed = clause.split_once("RECOVERED").and_then(|(_, rest)| rest.split_once(':'));
    let first =
        listed.and_then(|(_, rest)| rest.split(|c: char| !is_letter(c)).find(|word| !word.is_empty()));
    let is_denied = [words.get(at + 1).copied(), first].iter().flatten().any(|word| DENIALS.contains(word));
    !is_denied && !words[..at].iter().any(negates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_quote_keeps_its_start_and_its_end() {
        for (text, room, expected) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcdef", 5, "ab…ef"),
            ("abcdef", 1, "…"),
            ("abcdef", 0, ""),
            ("äöüäöü", 4, "äö…ü"),
        ] {
            assert_eq!(shortened(text, room), expected, "{text} {room}");
        }
        let long = shortened(&format!("{}{}", "a".repeat(900), "z".repeat(900)), QUOTED_CHARS);
        assert_eq!(long.chars().count(), QUOTED_CHARS);
        assert_eq!(long.matches('a').count(), QUOTE_START);
    }

    #[test]
    fn answers_are_judged() {
        for (answer, declared, always) in [
            ("STATUS: COMPLETE", true, true),
            ("Fixed it.\nstatus: complete\n", true, true),
            ("**STATUS: COMPLETE**", true, true),
            ("The build has recovered.", true, true),
            ("This failure cannot be\nrecovered.", false, true),
            ("The work could not\nbe recovered", false, true),
            ("It was not\n  recovered by me.", false, true),
            ("Nothing was\nrecovered.", false, true),
            ("Step k is not\r\nrecovered", false, true),
            ("I was unable to get it\nrecovered", false, true),
            ("Recovered:\nno", false, true),
            ("Recovered\nno further action needed", true, true),
            ("Recovered:\nnone of the tests fail now", true, true),
            ("Failed. Recovered state: none", false, true),
            ("No errors are left.\nRecovered.", true, true),
            ("No errors are left\nRecovered", true, true),
            ("There was not much to do\n\nrecovered", true, true),
            ("The tests did not run; now all is\nrecovered.", true, true),
            ("Recovered steps: build, test", true, true),
            ("Recovered", true, true),
            ("This failure could not be recovered.", false, true),
            ("This failure cannot be recovered.", false, true),
            ("It was never recovered", false, true),
            ("It wasn\u{2019}t recovered", false, true),
            ("It won't be recovered", false, true),
            ("Recovered? No.", false, true),
            ("Docker is not there, but the build has recovered", true, true),
            ("It is not there but could not be recovered", false, true),
            ("- Status: complete", true, true),
            ("I did the work and here is the result", false, true),
            ("STATUS: COMPLETED? no", false, true),
            ("UNRECOVERABLE: no docker", false, false),
            ("unrecoverable", false, false),
            ("STATUS: COMPLETE but UNRECOVERABLE", false, false),
            ("  \n", false, false),
            ("unrecovered", false, true),
            ("{\"recovered\": false}", false, true),
            ("recovered=false", false, true),
            ("recovered: False", false, true),
            ("{\"recovered\": true}", true, true),
            ("0 of 3 steps recovered", false, true),
            ("yet to be recovered", false, true),
            ("has to be recovered manually", false, true),
            ("must be recovered by hand", false, true),
            ("can be recovered later", false, true),
            ("would have been recovered", false, true),
            ("To be recovered: everything", false, true),
            ("None of the steps, sadly, recovered", false, true),
            ("recovered without any problem", true, true),
            ("The build is recovered and not broken", true, true),
            ("No errors left, recovered.", true, true),
            ("Nothing was broken any more: recovered.", true, true),
            ("Sub-recipe recovered: tests now pass, none fail", true, true),
        ] {
            let recovered = |mode| matches!(judge(answer, mode, "x"), Verdict::Recovered(_));
            assert_eq!(recovered(Recovery::Declared), declared, "{answer}");
            assert_eq!(recovered(Recovery::Always), always, "{answer}");
        }
    }
}
