//! `GET /health returns 200`, and the command that starts the server.

use crate::{
    reading::{criterion::ReadCheck, literals::literals},
    spec::{Sentence, Spec, Token},
    words::criteria,
};

/// A criterion about a request.
pub(crate) fn read(sentence: &Sentence) -> Option<ReadCheck> {
    let (method, target, next) = request(&sentence.tokens)?;
    let (path, port) = split(&target)?;
    let rest = &sentence.tokens[next..];
    let lower: Vec<String> = rest.iter().map(Token::lower).collect();
    let is_status =
        |word: &String| word.len() == 3 && word.parse::<u16>().is_ok_and(|code| (100..600).contains(&code));
    let said = rest.iter().find(|token| is_status(&token.text));
    let verb =
        lower.iter().position(|word| criteria().verbs.contains.has(word) || word == "body" || word == "with");
    let contains: Vec<String> = match verb {
        Some(verb) => literals(&rest[verb..]).into_iter().filter(|text| !is_status(text)).collect(),
        None => Vec::new(),
    };
    let status = said.and_then(|token| token.text.parse().ok());
    let says = lower.iter().any(|word| criteria().http.verbs.has(word)) || status.is_some();
    (says && (status.is_some() || !contains.is_empty())).then_some(ReadCheck::Http {
        method,
        path,
        status,
        contains,
        port,
    })
}

/// The method, the target and the place after them.
fn request(tokens: &[Token]) -> Option<(String, String, usize)> {
    let is_method = |word: &str| {
        word.chars().all(|c| c.is_ascii_uppercase()) && criteria().http.methods.has(&word.to_lowercase())
    };
    for (at, token) in tokens.iter().enumerate() {
        if let Some((method, target)) = token.code().and_then(|code| code.split_once(' '))
            && is_method(method)
        {
            return Some((method.to_owned(), target.trim().to_owned(), at + 1));
        }
        if token.code().is_none() && is_method(&token.text) {
            let target =
                tokens.get(at + 1).filter(|next| next.text.starts_with('/') || next.text.contains("://"));
            if let Some(target) = target {
                return Some((token.text.clone(), target.text.clone(), at + 2));
            }
        }
    }
    None
}

/// The path and the port of a target.
fn split(target: &str) -> Option<(String, Option<u16>)> {
    let Some((_, rest)) = target.split_once("://") else {
        return target.starts_with('/').then(|| (target.to_owned(), None));
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let is_here = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].contains(&name);
    is_here.then(|| (format!("/{path}"), port.parse().ok()))
}

/// The command that starts the server: `start it with X`, `X starts the server`.
pub(crate) fn start_command(spec: &Spec) -> Option<String> {
    let starts = &criteria().http.starts;
    spec.sentences().find_map(|(_, sentence)| {
        let lower = sentence.lower();
        let verb = lower.iter().position(|word| starts.has(word))?;
        let is_command =
            |token: &&Token| token.code().is_some_and(|code| !code.starts_with('/') && !code.contains("://"));
        let after = sentence.tokens[verb..].iter().find(is_command);
        let before = || sentence.tokens[..verb].iter().rev().find(is_command);
        after.or_else(before).map(|token| token.text.clone())
    })
}

/// The port of the server: `port 8080`, `--port 8080`, `:8080`.
pub(crate) fn port(spec: &Spec) -> Option<u16> {
    spec.sentences().find_map(|(_, sentence)| {
        let number = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let lower = sentence.lower();
        let named = lower.iter().position(|word| word == "port");
        let after = named.and_then(|at| {
            sentence.tokens.get(at + 1..)?.iter().take(2).find_map(|token| number(&token.text))
        });
        after.or_else(|| sentence.tokens.iter().filter_map(Token::code).find_map(port_of_code))
    })
}

/// The port in a command or an address.
fn port_of_code(code: &str) -> Option<u16> {
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u16>().ok().filter(|port| *port > 0)
    };
    let after = |mark: &str| code.split_once(mark).and_then(|(_, rest)| number(rest));
    let marks =
        ["localhost:", "127.0.0.1:", "0.0.0.0:", "--port=", "--port ", "-p ", "PORT=", "http.server "];
    marks.iter().find_map(|mark| after(mark))
}
