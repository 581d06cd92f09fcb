//! The meaning of an error text or an HTTP status: rate limit, login, overload, network.
//!
//! Compares whole words only, so that `4290` is not a `429`. Used only for error messages in a program's events, never
//! for an answer. `error_line` handles the lines of a program.

use engine::knowledge::{Knowledge, ServiceTrouble};

use super::AgentFailure;

/// The meaning of a status of the model's provider.
pub(super) fn from_status(status: u16, message: String) -> AgentFailure {
    match status {
        429 => rate_limited(message),
        401 | 403 => AgentFailure::Auth { message },
        402 => AgentFailure::Limit { message },
        408 | 500..=599 => AgentFailure::Server { status: Some(status), message },
        _ => refused(status, message),
    }
}

/// A request that the provider refuses. Its status rules out a rate limit and an overload, so numbers in its message
/// are about something else.
fn refused(status: u16, message: String) -> AgentFailure {
    let words = Words::of(&message);
    if words.say(ServiceTrouble::UsedUp) {
        return AgentFailure::Limit { message };
    }
    match words.say(ServiceTrouble::Login) {
        true => AgentFailure::Auth { message },
        false => AgentFailure::Refused { status: Some(status), message },
    }
}

/// The meaning of an error message of a program, if it is known.
pub(super) fn from_text(text: &str) -> Option<AgentFailure> {
    let message = || super::call_state::shorten(text);
    let words = Words::of(text);
    if words.say(ServiceTrouble::RateLimit) || words.status(429) {
        return Some(rate_limited(text.to_owned()));
    }
    if words.say(ServiceTrouble::UsedUp) {
        return Some(AgentFailure::Limit { message: message() });
    }
    if words.say(ServiceTrouble::Login) || words.status(401) || words.status(403) {
        return Some(AgentFailure::Auth { message: message() });
    }
    let status = [500, 502, 503, 504, 529].into_iter().find(|status| words.status(*status));
    if status.is_some() || words.say(ServiceTrouble::Server) {
        return Some(AgentFailure::Server { status, message: message() });
    }
    words.say(ServiceTrouble::Network).then(|| AgentFailure::Network { message: message() })
}

/// Whether any of the phrases is in the text, word for word.
pub(super) fn says_any(text: &str, phrases: &[String]) -> bool {
    let words = Words::of(text);
    phrases.iter().any(|phrase| words.say_one(phrase))
}

pub(super) fn rate_limited(message: String) -> AgentFailure {
    AgentFailure::RateLimited {
        retry_after: retry_after(&message),
        message: super::call_state::shorten(&message),
    }
}

/// A text as lowercase words, each with its place.
pub(super) struct Words<'a> {
    text: &'a str,
    pub(super) words: Vec<(usize, String)>,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Words<'a> {
        let mut words = Vec::new();
        let mut start = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (c.is_alphanumeric(), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    words.push((from, text[from..at].to_lowercase()));
                    start = None;
                }
                _ => {}
            }
        }
        Words { text, words }
    }

    /// Whether a phrase of this trouble is in the text.
    fn say(&self, trouble: ServiceTrouble) -> bool {
        Knowledge::built_in().phrases().of_agents(trouble).any(|phrase| self.say_one(phrase))
    }

    fn say_one(&self, phrase: &str) -> bool {
        let phrase = Words::of(phrase).words;
        !phrase.is_empty()
            && self
                .words
                .windows(phrase.len())
                .any(|window| window.iter().zip(&phrase).all(|((_, a), (_, b))| a == b))
    }

    /// Whether the number is in the text as an HTTP status.
    fn status(&self, status: u16) -> bool {
        let number = status.to_string();
        let mut at = (0..self.words.len()).filter(|at| self.words[*at].1 == number);
        at.any(|at| self.is_status(at))
    }

    fn is_status(&self, at: usize) -> bool {
        let (place, number) = &self.words[at];
        let before = self.text[..*place].chars().next_back();
        let mut after = self.text[place + number.len()..].chars();
        let part_of_a_number =
            matches!(after.next(), Some('.' | ',')) && after.next().is_some_and(|c| c.is_ascii_digit());
        if matches!(before, Some('#' | '.' | '/' | '$')) || part_of_a_number {
            return false;
        }
        let previous = at.checked_sub(1).map_or("", |at| self.words[at].1.as_str());
        let knowledge = Knowledge::built_in();
        let known = &knowledge.phrases().agent_errors;
        let has = |list: &[String], word: &str| list.iter().any(|known| known == word);
        if has(&known.not_a_status, previous) {
            return false;
        }
        let named = has(&known.status_context, previous);
        if before == Some(':') {
            return named;
        }
        named || self.words.len() <= 2 || self.context(*place)
    }

    /// Whether the line at that place is about requests at all.
    fn context(&self, place: usize) -> bool {
        let from = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let to = self.text[place..].find('\n').map_or(self.text.len(), |at| place + at);
        let mut line = self.words.iter().filter(|(at, _)| (from..to).contains(at));
        let knowledge = Knowledge::built_in();
        line.any(|(_, word)| knowledge.phrases().agent_errors.status_context.contains(word))
    }
}

/// Seconds in `retry after 30`, `retry-after: 30` or `try again in 20s`.
fn retry_after(text: &str) -> Option<u64> {
    let words: Vec<String> = Words::of(text).words.into_iter().map(|(_, w)| w).collect();
    let at = |phrase: &[&str]| {
        words.windows(phrase.len()).position(|window| window == phrase).map(|at| at + phrase.len())
    };
    let at = at(&["retry", "after"]).or_else(|| at(&["again", "in"]))?;
    let amount = words.get(at)?;
    let digits = amount.find(|c: char| !c.is_ascii_digit()).unwrap_or(amount.len());
    let number: u64 = amount[..digits].parse().ok()?;
    let unit = match &amount[digits..] {
        "" => words.get(at + 1).map_or("", String::as_str),
        unit => unit,
    };
    match unit {
        "ms" | "milliseconds" => Some(number.div_ceil(1000)),
        "m" | "min" | "minute" | "minutes" => number.checked_mul(60),
        "h" | "hour" | "hours" => number.checked_mul(3600),
        _ => Some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        word(from_text(text))
    }

    fn word(failure: Option<AgentFailure>) -> &'static str {
        match failure {
            Some(AgentFailure::RateLimited { .. }) => "rate",
            Some(AgentFailure::Auth { .. }) => "auth",
            Some(AgentFailure::Server { .. }) => "server",
            Some(AgentFailure::Network { .. }) => "network",
            Some(AgentFailure::Limit { .. }) => "limit",
            Some(_) => "other",
            None => "none",
        }
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            ("429", "rate"),
            ("Error: 429 Too Many Requests", "rate"),
            ("API Error: Request rejected (429)", "rate"),
            ("exceeded retry limit, last status: 429", "rate"),
            ("{\"code\":429}", "rate"),
            ("rate_limit_error", "rate"),
            ("Rate limited, wait", "rate"),
            ("RESOURCE_EXHAUSTED", "rate"),
            ("5-hour limit reached ∙ resets 3am", "rate"),
            ("the limit was reached", "none"),
            ("fix issue 4290", "none"),
            ("error: fix issue 4290", "none"),
            ("error 4290", "none"),
            ("error: issue 429 is still open", "none"),
            ("error in main.rs:429", "none"),
            ("error: see #429", "none"),
            ("error after 1.429 s", "none"),
            ("error: 429.5 is not an integer", "none"),
            ("renamed 429 files", "none"),
            ("the curate limit", "none"),
            ("unexpected status 401 Unauthorized", "auth"),
            ("Invalid API key · Fix external API key", "auth"),
            ("invalid x-api-key", "auth"),
            ("Not logged in · Please run /login", "auth"),
            ("401 lines were written", "none"),
            ("API Error: 500 Internal server error", "server"),
            ("Overloaded", "server"),
            ("HTTP 529", "server"),
            ("wrote 500 rows", "none"),
            ("connect ECONNREFUSED 127.0.0.1:1", "network"),
            ("network unreachable", "network"),
            ("DNS lookup failed", "network"),
            ("Your credit balance is too low", "limit"),
            ("something broke", "none"),
            ("", "none"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn waits() {
        for (text, expected) in [
            ("429, retry after 30", Some(30)),
            ("Retry-After: 7", Some(7)),
            ("try again in 20s", Some(20)),
            ("try again in 2 minutes", Some(120)),
            ("try again in 300ms", Some(1)),
            ("retry after a while", None),
            ("retry after 99999999999999999999", None),
            ("429", None),
        ] {
            assert_eq!(retry_after(text), expected, "{text}");
        }
    }

    #[test]
    fn a_status_says_more_than_words() {
        for (status, text, expected) in [
            (400, "429 is not a valid number", "other"),
            (400, "API Error: 400 status 429 is not a valid number", "other"),
            (404, "no such model; rate limits differ between models", "other"),
            (413, "HTTP 500 characters too many", "other"),
            (400, "Your credit balance is too low", "limit"),
            (400, "API key not valid", "auth"),
            (429, "slow down", "rate"),
            (500, "429", "server"),
        ] {
            assert_eq!(word(Some(from_status(status, text.to_owned()))), expected, "{status} {text}");
        }
    }

    #[test]
    fn statuses() {
        for (status, expected) in
            [(429, "rate"), (503, "server"), (529, "server"), (401, "auth"), (400, "other")]
        {
            assert_eq!(word(Some(from_status(status, "x".to_owned()))), expected, "{status}");
        }
    }
}
