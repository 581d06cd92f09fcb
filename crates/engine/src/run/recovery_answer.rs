//! The meaning of a recovery agent's answer. Never takes a polite refusal for a success.

use super::recipe_step::Recovery;
use crate::knowledge::Knowledge;

/// The result of a recovery.
#[derive(Clone, Debug, PartialEq)]
pub enum RecoveryVerdict {
    /// The work is done; this is its result.
    Recovered(String),
    /// It is not done, for this reason, in the words of the log.
    NotRecovered(String),
    /// The run was stopped meanwhile.
    Stopped,
}

/// The meaning of an answer.
pub fn judge(answer: &str, mode: Recovery, name: &str) -> RecoveryVerdict {
    let upper = answer.to_uppercase();
    if answer.trim().is_empty() {
        return RecoveryVerdict::NotRecovered(format!(
            "Agent recovery returned empty output for sub-recipe '{name}'"
        ));
    }
    if upper.contains("UNRECOVERABLE") {
        let preview: String = answer.trim().chars().take(200).collect();
        return RecoveryVerdict::NotRecovered(format!(
            "Agent recovery reported unrecoverable failure for sub-recipe '{name}': {preview}"
        ));
    }
    if mode == Recovery::Always || is_affirmative(answer) {
        return RecoveryVerdict::Recovered(answer.trim_end_matches('\n').to_owned());
    }
    RecoveryVerdict::NotRecovered(format!(
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
    let knowledge = Knowledge::built_in();
    let known = &knowledge.phrases().recovered;
    let has = |list: &[String], word: &str| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    // includes "can't", "wasn't" and the like
    let negates =
        |word: &&str| has(&known.negations, word) || word.ends_with("N'T") || word.ends_with("N\u{2019}T");
    let Some(at) = words.iter().position(|word| *word == "RECOVERED") else { return false };
    // as in "recovered: false" and "recovered steps: none"
    let listed = clause.split_once("RECOVERED").and_then(|(_, rest)| rest.split_once(':'));
    let first =
        listed.and_then(|(_, rest)| rest.split(|c: char| !is_letter(c)).find(|word| !word.is_empty()));
    let is_denied =
        [words.get(at + 1).copied(), first].iter().flatten().any(|word| has(&known.denials, word));
    !is_denied && !words[..at].iter().any(negates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_judged(answers: &[(&str, bool, bool)]) {
        for (answer, declared, always) in answers {
            let recovered = |mode| matches!(judge(answer, mode, "x"), RecoveryVerdict::Recovered(_));
            assert_eq!(recovered(Recovery::Declared), *declared, "{answer}");
            assert_eq!(recovered(Recovery::Always), *always, "{answer}");
        }
    }

    #[test]
    fn answers_are_judged() {
        assert_judged(&[
            ("STATUS: COMPLETE", true, true),
            ("Fixed it.\nstatus: complete\n", true, true),
            ("**STATUS: COMPLETE**", true, true),
            ("The build has recovered.", true, true),
            ("Failed. Recovered state: none", false, true),
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
        ]);
    }

    #[test]
    fn answers_of_several_lines_are_judged() {
        assert_judged(&[
            ("This failure cannot be\nrecovered.", false, true),
            ("The work could not\nbe recovered", false, true),
            ("It was not\n  recovered by me.", false, true),
            ("Nothing was\nrecovered.", false, true),
            ("Step k is not\r\nrecovered", false, true),
            ("I was unable to get it\nrecovered", false, true),
            ("Recovered:\nno", false, true),
            ("Recovered\nno further action needed", true, true),
            ("Recovered:\nnone of the tests fail now", true, true),
            ("No errors are left.\nRecovered.", true, true),
            ("No errors are left\nRecovered", true, true),
            ("There was not much to do\n\nrecovered", true, true),
            ("The tests did not run; now all is\nrecovered.", true, true),
        ]);
    }
}
