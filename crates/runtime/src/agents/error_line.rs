//! Lines in which an agent program reports that its service failed. Only a line that begins like an error counts: an
//! agent may write about rate limits, logins and connections in its work.

use engine::knowledge::{AgentErrors, Knowledge, ServiceTrouble};

use super::{
    AgentFailure,
    call_state::shorten,
    limits::{self, Words},
};

/// The meaning of the last error line of a text, if it is known.
pub(super) fn last_error(text: &str) -> Option<AgentFailure> {
    text.lines().rev().find_map(error)
}

/// The meaning of a line, if it is a known error.
fn error(line: &str) -> Option<AgentFailure> {
    let knowledge = Knowledge::built_in();
    let phrases = knowledge.phrases();
    let shapes = &phrases.agent_errors;
    let (said, is_api) = without_headings(shapes, line);
    let message = || shorten(line);
    if let Some(status) = status(shapes, said, is_api).filter(|status| shapes.statuses.contains(status)) {
        return Some(limits::from_status(status, message()));
    }
    let begins = |trouble| phrases.of_agents(trouble).any(|phrase| begins(said, phrase));
    let asks_for_login = || shapes.logins.iter().any(|login| strip(said, login).is_some());
    match () {
        () if begins(ServiceTrouble::RateLimit) => Some(limits::rate_limited(line.to_owned())),
        () if begins(ServiceTrouble::UsedUp) => Some(AgentFailure::Limit { message: message() }),
        () if begins(ServiceTrouble::Login) || asks_for_login() => {
            Some(AgentFailure::Auth { message: message() })
        }
        () if begins(ServiceTrouble::Server) => {
            Some(AgentFailure::Server { status: None, message: message() })
        }
        () if begins(ServiceTrouble::Network) => Some(AgentFailure::Network { message: message() }),
        () => None,
    }
}

/// The line without symbols and prefixes, and whether one of them names the service.
fn without_headings<'a>(shapes: &AgentErrors, line: &'a str) -> (&'a str, bool) {
    let is_sign = |c: char| !(c.is_alphanumeric() || c == '{');
    let (mut said, mut is_api) = (line.trim_start_matches(is_sign), false);
    let headings = shapes.headings.iter().chain(&shapes.service_headings);
    while let Some(heading) = headings.clone().find(|heading| strip(said, heading).is_some()) {
        is_api |= shapes.service_headings.contains(heading);
        said = said[heading.len()..].trim_start_matches(is_sign);
    }
    (said, is_api)
}

/// The rest of a text after this beginning, ignoring case.
fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(beginning.len())?;
    start.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// The HTTP status that a line begins with.
fn status(shapes: &AgentErrors, said: &str, is_api: bool) -> Option<u16> {
    if said.starts_with('{') {
        return json_status(said).filter(|_| is_api);
    }
    let named = shapes.before_status.iter().find_map(|before| strip(said, before));
    let (number, rest) = named.unwrap_or(said).split_at_checked(3)?;
    let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
    let rest = rest.trim_start();
    let is_status = is_api
        || named.is_some()
        || rest.is_empty()
        || rest.starts_with('{')
        || shapes.after_status.iter().any(|reason| strip(rest, reason).is_some());
    number.parse().ok().filter(|_| is_whole && is_status)
}

/// The status in `{"error":{"code":429,…}}`.
fn json_status(text: &str) -> Option<u16> {
    let body: serde_json::Value = serde_json::Deserializer::from_str(text).into_iter().next()?.ok()?;
    let code = body.pointer("/error/code").or_else(|| body.get("code"))?;
    code.as_u64().and_then(|code| u16::try_from(code).ok())
}

/// Whether a line begins with a phrase that does not continue as a sentence: `Unauthorized: …`, but not `unauthorized
/// users are …`. The names of system errors are followed by their subject.
fn begins(said: &str, phrase: &str) -> bool {
    let (words, phrase) = (Words::of(said).words, Words::of(phrase).words);
    let is_there = words.len() >= phrase.len() && words.iter().zip(&phrase).all(|((_, a), (_, b))| a == b);
    let Some((at, last)) = words.get(phrase.len().saturating_sub(1)).filter(|_| is_there) else {
        return false;
    };
    let (word, rest) = said[*at..].split_at_checked(last.len()).unwrap_or_default();
    let is_code = word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase());
    is_code || !rest.trim_start().starts_with(char::is_alphabetic) || rest.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_programs_are_known_and_prose_is_not() {
        for (line, expected) in [
            ("API Error: 500 Internal server error", "server"),
            ("API Error: Request rejected (429) · Rate limit reached, slow down", "rate"),
            ("API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}", "auth"),
            ("API Error: 529 {\"type\":\"error\",\"error\":{\"message\":\"Overloaded\"}}", "server"),
            ("API Error: Connection error. (getaddrinfo ENOTFOUND api.anthropic.com)", "network"),
            ("[API Error: {\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}]", "rate"),
            ("Invalid API key · Please run /login", "auth"),
            ("ERROR: unexpected status 401 Unauthorized: Missing bearer", "auth"),
            ("Please set an Auth method in your settings.json or specify GEMINI_API_KEY", "auth"),
            ("Error: No authentication information found. Start copilot and run '/login'.", "auth"),
            ("Claude AI usage limit reached|1730000000", "rate"),
            ("5-hour limit reached ∙ resets 3am", "rate"),
            ("stream error: exceeded retry limit, last status: 429 Too Many Requests", "rate"),
            ("stream disconnected before completion: error sending request", "network"),
            ("We’re currently experiencing high demand, which may cause errors.", "server"),
            ("Error: connect ECONNREFUSED 127.0.0.1:1", "network"),
            ("TypeError: fetch failed", "network"),
            ("getaddrinfo ENOTFOUND api.openai.com", "network"),
            ("network unreachable", "network"),
            ("DNS lookup failed", "network"),
            ("429", "rate"),
            ("429 rate limit", "rate"),
            ("429 {\"type\":\"error\"}", "rate"),
            ("Error: 429 Too Many Requests", "rate"),
            ("HTTP 429", "rate"),
            ("rate_limit_error", "rate"),
            ("Rate limit reached: slow down", "rate"),
            ("Overloaded", "server"),
            ("Your credit balance is too low", "limit"),
            ("I looked at 500 files", "none"),
            ("500 files looked at, error 0", "none"),
            ("warn: 500 files looked at, error 0", "none"),
            ("error: 500 files could not be read", "none"),
            ("error: fix issue 4290", "none"),
            ("4290", "none"),
            ("429.5", "none"),
            ("fixed the rate limit test", "none"),
            ("Rate limit tests pass now", "none"),
            ("rate limits are explained in docs/api.md", "none"),
            ("unauthorized users see a 401 page", "none"),
            ("connection refused by the mock server, as the test wants", "none"),
            ("the server answers 429 rate limit in test.js", "none"),
            ("{\"error\":{\"code\":429}}", "none"),
            ("", "none"),
            ("é", "none"),
        ] {
            let kind = match error(line) {
                Some(AgentFailure::RateLimited { .. }) => "rate",
                Some(AgentFailure::Auth { .. }) => "auth",
                Some(AgentFailure::Server { .. }) => "server",
                Some(AgentFailure::Network { .. }) => "network",
                Some(AgentFailure::Limit { .. }) => "limit",
                Some(_) => "other",
                None => "none",
            };
            assert_eq!(kind, expected, "{line}");
        }
    }
}
