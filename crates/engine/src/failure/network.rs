//! Signs of a network that does not answer: phrases, and exit codes of programs that download.
//!
//! Never blames the network for a local server that an agent had to provide: if it does not answer, the work failed.

use super::{Class, Confidence, Diagnosis, Facts, Producer, Signal, StepType};
use crate::repair_review::{
    flow::{Level, follow},
    program::Call,
};

/// DNS failures: never caused by the agent's work.
pub(super) const NO_SUCH_HOST: &[&str] = &[
    "could not resolve host",
    "couldn't resolve host",
    "could not resolve hostname",
    "name or service not known",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "unable to resolve host address",
    "enotfound",
    "eai_again",
    "getaddrinfo failed",
    "no such host",
    "nodename nor servname provided",
    "no address associated with hostname",
    "failed to lookup address information",
    "could not translate host name",
    "unknownhostexception",
    "err_name_not_resolved",
    "name resolution failed",
    "dns lookup failed",
    "dns lookup error",
    "dns resolution failed",
    "dns resolution error",
    "dns query failed",
    "dns request failed",
    "dns failure",
    "dns error",
];

/// Phrases about a service that exists and does not answer.
pub(super) const UNREACHABLE: &[&str] = &[
    "connection refused",
    "connectionrefusederror",
    "network is unreachable",
    "network unreachable",
    "network is down",
    "host is unreachable",
    "host unreachable",
    "no route to host",
    "connection timed out",
    "couldn't connect to server",
    "failed to connect to",
    "econnrefused",
    "econnreset",
    "etimedout",
    "ehostunreach",
    "enetunreach",
    "enetdown",
    "err_connection_refused",
    "err_internet_disconnected",
    "connection reset by peer",
    "ssl certificate problem",
    "certificate has expired",
    "certificate verify failed",
    "tls handshake timeout",
    "unable to get local issuer certificate",
    "cannot connect to the docker daemon",
    "failed to establish a new connection",
    "operation timed out",
    "spurious network error",
    "could not transfer artifact",
    "server misbehaving",
    "socket hang up",
    "network request failed",
    "i/o timeout",
    "can't connect to mysql server",
    "could not connect to server",
];

const LOCAL: [&str; 4] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"];

/// Whether a local server is meant that an agent had to provide: if it does not answer, the work failed.
pub(super) fn is_own_server(facts: &Facts, text: &str) -> bool {
    facts.producer != Producer::None && LOCAL.iter().any(|host| text.contains(host))
}

/// The meaning of an exit code in the manual of its program.
fn meaning(call: &Call, code: i32) -> Option<&'static str> {
    match (call.program.as_str(), code) {
        ("curl", 5 | 6) => Some("curl's exit code for a host that cannot be found"),
        ("curl", 7) => Some("curl's exit code for a connection that cannot be made"),
        ("curl", 28) => Some("curl's exit code for a service that does not answer in time"),
        ("curl", 35) => Some("curl's exit code for a failed TLS handshake"),
        ("wget", 4) => Some("wget's exit code for a network failure"),
        _ => None,
    }
}

/// Programs that process a download and exit with small numbers of their own.
const HANDLERS: [&str; 20] = [
    "tar",
    "unzip",
    "gunzip",
    "gzip",
    "xz",
    "jq",
    "yq",
    "grep",
    "sed",
    "awk",
    "head",
    "tail",
    "cat",
    "tee",
    "mv",
    "cp",
    "chmod",
    "mkdir",
    "sha256sum",
    "md5sum",
];

/// A download program whose exit code says that the network failed, even if it was silent.
pub(super) fn by_transfer(facts: &Facts) -> Option<Diagnosis> {
    let code = facts.exit_code().filter(|_| facts.step_type == StepType::Bash)?;
    // checked before the script is parsed: few failures have these codes
    if !matches!(code, 4..=7 | 28 | 35) || facts.exits_with(code) {
        return None;
    }
    let flow = follow(&facts.command);
    let decides = flow.found.iter().filter(|found| found.level != Level::Ignored && !found.answers);
    let calls: Vec<&Call> = decides.map(|found| &found.call).filter(|call| !call.is_toothless()).collect();
    let at = calls.iter().rposition(|call| meaning(call, code).is_some())?;
    let words = calls[at].words.join(" ");
    if is_own_server(facts, &words) || is_own_server(facts, &facts.stderr) {
        return None;
    }
    // later commands may exit with the same number; the handlers are not known to do so
    let confidence = match calls[at + 1..] {
        [] => Confidence::High,
        ref behind if behind.iter().all(|call| HANDLERS.contains(&call.program.as_str())) => {
            Confidence::Medium
        }
        _ => return None,
    };
    let ended = Signal::new(meaning(calls[at], code)?, &format!("exit {code}"), "outcome");
    let signals = [ended, Signal::new("the command that failed", &words, "command")];
    let signals = signals.into_iter().chain(super::rules::last_line(facts)).collect();
    Some(Diagnosis::new(Class::Network, confidence, signals))
}
