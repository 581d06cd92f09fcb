//! Stubs: which kind of answer the fields of one make.

use super::{Reader, named_values, text};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    syntax::{
        kinds::Named,
        shape::{Optional, Spanned},
    },
    test_file::{
        AgentReply, BashReply, RecipeReply, ReplyKind, Stub, StubKey, StubPlan, StubReply, StubUsage,
        syntax::{StubReplySyntax, StubSyntax},
    },
};

/// The signals that end a command.
const SIGNALS: [&str; 14] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "TERM",
];

impl Reader {
    pub(super) fn stubs(&mut self, stubs: &Optional<Named<StubSyntax>>) -> Vec<Stub> {
        let mut found = Vec::new();
        for (key, stub) in stubs.iter().flat_map(|stubs| &stubs.value.0) {
            let (plan, optional) = match &stub.value {
                StubSyntax::Every(reply) => {
                    (StubPlan::Every(Box::new(self.reply(reply))), is_true(&reply.optional))
                }
                StubSyntax::Each(replies) => {
                    if replies.is_empty() {
                        let problem =
                            Diagnostic::new(Code::EmptyField, stub.place, "a list of stubs is empty");
                        self.report(
                            problem.label("empty").help("write one entry for each call, or a map for all"),
                        );
                    }
                    let optional = replies.iter().any(|reply| is_true(&reply.optional));
                    (StubPlan::Each(replies.iter().map(|reply| self.reply(reply)).collect()), optional)
                }
            };
            // an answer that could not be read would look like another one
            if is_unread(&stub.value) {
                continue;
            }
            found.push(Stub { key: StubKey::new(&key.value), place: key.place, plan, optional });
        }
        found
    }

    fn reply(&mut self, syntax: &StubReplySyntax) -> StubReply {
        let kind = self.kind(syntax);
        StubReply {
            kind,
            files: self.files(&syntax.files),
            patch: text(&syntax.patch),
            usage: syntax.usage.as_deref().map(|usage| StubUsage {
                usd: usage.value.usd.as_deref().map(|usd| usd.value),
                input_tokens: usage.value.input_tokens.as_deref().map(|tokens| tokens.value),
                output_tokens: usage.value.output_tokens.as_deref().map(|tokens| tokens.value),
            }),
            after: syntax.after.as_deref().map_or(0.0, |after| after.value.0),
            then: syntax.then.as_deref().map(|then| Box::new(self.reply(&then.value.0))),
            place: syntax.place.first_character(),
        }
    }

    fn kind(&mut self, syntax: &StubReplySyntax) -> ReplyKind {
        let kinds = kinds_of(syntax);
        if let [(first, _), (second, place), ..] = kinds.as_slice() {
            let message = format!("a stub has `{first}` or `{second}`, not both");
            let problem = Diagnostic::new(Code::Contradiction, *place, message).label("contradicts");
            self.report(problem.help("remove one of them; the answer to the next call is written under `then:`, or as the next entry of a list"));
        }
        for flag in [&syntax.auto, &syntax.real].into_iter().flatten().filter(|flag| !flag.value) {
            let problem = Diagnostic::new(Code::NoEffect, flag.place, "`false` has no effect here");
            self.report(problem.severity(crate::diagnostic::Severity::Error).help("remove the field"));
        }
        if let Some(then) = syntax.then.as_deref().filter(|_| syntax.fault.is_none()) {
            let problem = Diagnostic::new(
                Code::Contradiction,
                then.value.0.place.first_character(),
                "`then` follows a `fault`",
            );
            self.report(problem.label("no fault before it").help("write a list of stubs, one for each call"));
        }
        let bash = self.bash(syntax);
        match kinds.first().map(|(field, _)| *field) {
            Some("answer") => ReplyKind::Agent(AgentReply::Text(text(&syntax.answer).unwrap_or_default())),
            Some("json") => {
                let json = syntax.json.as_deref().map(|json| json.value.clone());
                ReplyKind::Agent(AgentReply::Json(json.unwrap_or_default()))
            }
            Some("auto") => ReplyKind::Auto,
            Some("real") => ReplyKind::Real,
            Some("fail") => ReplyKind::Recipe(RecipeReply::Failed(text(&syntax.fail).unwrap_or_default())),
            Some("value" | "context") => ReplyKind::Recipe(RecipeReply::Completed {
                value: syntax.value.as_deref().map(|value| value.value.clone()),
                context: named_values(&syntax.context),
            }),
            _ => match syntax.fault.as_deref() {
                Some(fault) => ReplyKind::Fault(fault.value),
                None => ReplyKind::Bash(bash),
            },
        }
    }

    fn bash(&mut self, syntax: &StubReplySyntax) -> BashReply {
        let signal = syntax.signal.as_deref().map(|signal| self.signal(signal));
        if let (Some(exit), Some(_)) = (syntax.exit.as_deref(), &signal) {
            let problem = Diagnostic::new(
                Code::Contradiction,
                exit.place,
                "a command ends with `exit` or by a `signal`, not both",
            );
            self.report(problem.label("contradicts").help("remove one of them"));
        }
        BashReply {
            stdout: text(&syntax.stdout).unwrap_or_default(),
            stderr: text(&syntax.stderr).unwrap_or_default(),
            exit: self.exit_code(&syntax.exit),
            signal,
        }
    }

    fn signal(&mut self, signal: &Spanned<String>) -> String {
        let upper = signal.value.trim().to_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper).to_owned();
        if !SIGNALS.contains(&name.as_str()) {
            let problem = Diagnostic::new(
                Code::UnknownWord,
                signal.place,
                format!("`{}` is not a signal", signal.value),
            );
            let label = did_you_mean(&name, SIGNALS)
                .map_or("unknown word".to_owned(), |meant| format!("did you mean `{meant}`?"));
            self.report(problem.label(label).help(format!("use one of {}", SIGNALS.join(", "))));
        }
        name
    }
}

/// The fields that say what kind of answer it is, one for each kind.
fn kinds_of(syntax: &StubReplySyntax) -> Vec<(&'static str, crate::source::Place)> {
    let place = |field: &Optional<String>| field.as_deref().map(|field| field.place);
    let flag = |field: &Optional<bool>| field.as_deref().filter(|flag| flag.value).map(|flag| flag.place);
    let exit = syntax.exit.as_deref().map(|exit| exit.place);
    let bash = [
        ("stdout", place(&syntax.stdout)),
        ("stderr", place(&syntax.stderr)),
        ("exit", exit),
        ("signal", place(&syntax.signal)),
    ];
    let recipe = [
        ("value", syntax.value.as_deref().map(|value| value.place)),
        ("context", syntax.context.as_deref().map(|context| context.place)),
    ];
    let kinds = [
        ("answer", place(&syntax.answer)),
        ("json", syntax.json.as_deref().map(|json| json.place)),
        ("fault", syntax.fault.as_deref().map(|fault| fault.place)),
        ("auto", flag(&syntax.auto)),
        ("real", flag(&syntax.real)),
        ("fail", place(&syntax.fail)),
    ];
    let first = |group: &[(&'static str, Option<crate::source::Place>)]| {
        group.iter().find(|(_, place)| place.is_some()).copied()
    };
    let all = kinds.into_iter().chain(first(&bash)).chain(first(&recipe));
    let mut found: Vec<_> = all.filter_map(|(field, place)| Some((field, place?))).collect();
    found.sort_by_key(|(_, place)| *place);
    found
}

fn is_unread(stub: &StubSyntax) -> bool {
    match stub {
        StubSyntax::Every(reply) => !reply.unread.is_empty(),
        StubSyntax::Each(replies) => replies.iter().any(|reply| !reply.unread.is_empty()),
    }
}

fn is_true(flag: &Optional<bool>) -> bool {
    flag.as_deref().is_some_and(|flag| flag.value)
}
