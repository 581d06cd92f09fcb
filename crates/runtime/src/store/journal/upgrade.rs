//! Turns records of format 1 into records of this format. The only place that reads the sentences of old journals.
//!
//! A run of format 1 that was resumed has records of both formats: records of this format stay as they are.

use engine::{
    EndReason, Outcome,
    run::cause::{
        AgentFailure, ExceededLimit, Exhausted, MissingProgram, Need, Problem, Refusal, StartFailure,
        StartFailureKind,
    },
};
use serde_json::{Map, Value, json};

/// Turns a record of format 1 into one of this format.
pub(super) fn upgrade(record: &mut Value) {
    let Some((name, event)) = record["event"].as_object_mut().and_then(|event| event.iter_mut().next())
    else {
        return;
    };
    match name.as_str() {
        "step_finished" | "attempt_failed" => {
            if let Some(ended) = event["ended"].as_object_mut() {
                upgrade_end(ended);
            }
        }
        "step_skipped" => {
            let reason = &mut event["reason"];
            if let Some(step) = reason["dependency"].as_str() {
                *reason = json!({ "dependency": { "step": step, "why": "" } });
            }
        }
        "run_finished" => {
            if let Some(code) = event.as_object_mut().and_then(|finished| finished.remove("exit_code")) {
                let is_cancelled = event["status"] == "cancelled";
                let reason = if is_cancelled { EndReason::Cancelled } else { end_reason(&code) };
                event["reason"] = json!(reason);
            }
        }
        "recipe_stopped" if event["cause"] == "refused" => {
            let refusal = refusal(event["error"].as_str().unwrap_or_default());
            event["cause"] = json!({ "refused": refusal });
        }
        _ => {}
    }
}

/// Why a run with this exit code ended.
fn end_reason(code: &Value) -> EndReason {
    match code.as_u64() {
        Some(0) => EndReason::Completed,
        Some(6) => EndReason::Waiting,
        Some(130) => EndReason::Interrupted,
        Some(143) => EndReason::Terminated,
        _ => EndReason::Failed,
    }
}

fn upgrade_end(ended: &mut Map<String, Value>) {
    if let Some(code) = ended.remove("good_code") {
        ended.insert("code".to_owned(), code);
    }
    let error = ended.get("error").and_then(Value::as_str).unwrap_or_default();
    let cause = without_heading(error);
    let outcome = match ended.get("outcome").and_then(Value::as_str) {
        Some("not_json") => Outcome::NotJson { problem: after(cause, "parse_json failed: ") },
        Some("rate_limited") => {
            Outcome::RateLimited { message: after(cause, "the agent is rate limited: "), tries: 0 }
        }
        Some("agent") => Outcome::Agent(agent_failure(cause)),
        Some("not_started") => Outcome::NotStarted(start_failure(cause)),
        Some("refused") => Outcome::Refused(refusal(cause)),
        Some("condition") => condition(cause),
        Some("limit") => Outcome::Limit(exceeded_limit(error)),
        Some("budget") => Outcome::Budget(exhausted(error)),
        _ => {
            let missing = (ended.get("outcome") == Some(&json!({ "exit": 127 })))
                .then(|| missing_program(cause))
                .flatten();
            if let (Some(missing), None) = (missing, ended.get("missing")) {
                ended.insert("missing".to_owned(), json!(missing));
            }
            return;
        }
    };
    ended.insert("outcome".to_owned(), json!(outcome));
}

/// An error without the words that say which step failed.
fn without_heading(error: &str) -> &str {
    let kinds = ["bash", "agent", "recipe"].map(|kind| format!("{kind} step failed: "));
    let heading = kinds.iter().find_map(|kind| error.strip_prefix(kind.as_str()));
    let nested = || error.strip_prefix("Sub-recipe '")?.split_once("' failed: [error] ");
    heading.or_else(|| nested().map(|(_, why)| why)).unwrap_or(error)
}

fn after(text: &str, words: &str) -> String {
    text.strip_prefix(words).unwrap_or(text).to_owned()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(between, _)| between)
}

fn agent_failure(cause: &str) -> AgentFailure {
    let said = |words: &str| cause.strip_prefix(words).map(str::to_owned);
    let with_status = |words: &str| {
        let rest = cause.strip_prefix(words)?;
        let (head, message) = rest.split_once(": ")?;
        let status = head.strip_prefix(" with status ").and_then(|status| status.parse().ok());
        (head.is_empty() || status.is_some()).then(|| (status, message.to_owned()))
    };
    if let Some(message) = said("the agent stops at a limit: ") {
        AgentFailure::Limit { message }
    } else if let Some(message) = said("the agent cannot reach its model service: ") {
        AgentFailure::Network { message }
    } else if let Some(message) = said("the agent cannot log in: ") {
        let message = message.strip_suffix("; check its login or its key").unwrap_or(&message).to_owned();
        AgentFailure::Auth { message }
    } else if let Some((status, message)) = with_status("the agent's model service fails") {
        AgentFailure::Server { status, message }
    } else if let Some((status, message)) = with_status("the agent's request is refused") {
        AgentFailure::Refused { status, message }
    } else if let Some(message) = said("the agent ends with exit code 0 and without a result") {
        AgentFailure::NoResult { message: after(&message, ": ") }
    } else if cause.starts_with("the agent's answer is in more JSON") {
        AgentFailure::TooLarge
    } else {
        AgentFailure::Reported { message: after(cause, "the agent reports a failure: ") }
    }
}

fn start_failure(cause: &str) -> StartFailure {
    let program = || between(cause, "`", "`").unwrap_or_default().to_owned();
    let kind = if cause.contains("is not found") {
        StartFailureKind::ProgramNotFound(program())
    } else if cause.contains("the limit on processes is reached") {
        StartFailureKind::ProcessLimit
    } else if cause.contains("`/dev/null` is not there") {
        StartFailureKind::NoNullDevice
    } else {
        StartFailureKind::Other
    };
    StartFailure { kind, message: cause.to_owned() }
}

fn refusal(cause: &str) -> Refusal {
    let directory = cause.strip_prefix("working directory `").and_then(|rest| rest.rsplit_once("` "));
    if let Some((path, why)) = directory {
        return Refusal::Directory { path: path.to_owned(), why: why.to_owned() };
    }
    match between(cause, "=== PRE-FLIGHT VALIDATION FAILED for '", "' ===\n") {
        Some(recipe) => {
            let listed = cause.lines().filter_map(|line| line.strip_prefix("  - "));
            Refusal::Unready { recipe: recipe.to_owned(), problems: listed.map(problem).collect() }
        }
        None => Refusal::Other(cause.to_owned()),
    }
}

fn problem(text: &str) -> Problem {
    let name = text.strip_prefix("input ").unwrap_or(text).strip_prefix('`').and_then(|rest| {
        let (name, rest) = rest.split_once('`')?;
        let lacks = rest.contains(" has no value: pass it") || rest.starts_with(" is empty: pass it");
        lacks.then_some(name)
    });
    let names = text.strip_prefix("MISSING_ENV_VAR: ").and_then(|rest| rest.split_once(':'));
    let need = match (names, name) {
        (Some((names, _)), _) => Need::Variables(names.split(", ").map(str::to_owned).collect()),
        (None, Some(name)) => Need::Value(name.to_owned()),
        (None, None) => Need::Path,
    };
    Problem { need, text: text.to_owned() }
}

fn condition(cause: &str) -> Outcome {
    let parts = cause.strip_prefix("condition `").and_then(|rest| rest.split_once("` cannot be evaluated: "));
    let (text, error) = parts.unwrap_or(("", cause));
    Outcome::Condition { text: text.to_owned(), error: error.to_owned() }
}

fn exceeded_limit(error: &str) -> ExceededLimit {
    let number = |words: &str| between(error, words, ")").and_then(|number| number.parse().ok());
    match number("Total step limit (") {
        Some(limit) => {
            let recipe = between(error, "`recursion.max_total_steps` of `", "`").unwrap_or_default();
            ExceededLimit::Steps { limit, recipe: recipe.to_owned() }
        }
        None => {
            ExceededLimit::Depth { limit: number("Maximum recipe recursion depth (").unwrap_or_default() }
        }
    }
}

fn exhausted(error: &str) -> Vec<Exhausted> {
    let list = error.rsplit_once("the budget is used up: ").map_or("", |(_, list)| list);
    let list = list.split([';', ',', '\n']).next().unwrap_or_default();
    list.split(" and ")
        .filter_map(|limit| match limit.trim().split_once(' ') {
            None => limit.trim().strip_prefix('$')?.parse().ok().map(Exhausted::Usd),
            Some((number, "agent runs")) => number.parse().ok().map(Exhausted::AgentRuns),
            Some((number, "tokens")) => number.parse().ok().map(Exhausted::Tokens),
            Some((number, "minutes")) => number.parse().ok().map(Exhausted::Minutes),
            Some(_) => None,
        })
        .collect()
}

fn missing_program(cause: &str) -> Option<MissingProgram> {
    let what = cause.lines().next()?.strip_prefix("exit code 127: ")?;
    if let Some(script) = between(what, "the interpreter that the first line of `", "`") {
        return Some(MissingProgram::Interpreter(script.to_owned()));
    }
    let names: Vec<String> = what.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some(if names.is_empty() { MissingProgram::Unnamed } else { MissingProgram::Named(names) })
}

#[cfg(test)]
mod tests {
    use engine::{Event, Record};

    use super::*;

    /// The end of a step in a record of format 1, after the upgrade.
    fn ended(outcome: Value, error: &str) -> engine::run::event::Ended {
        let ended = json!({ "outcome": outcome, "error": error });
        let event = json!({ "path": "s", "attempt": 1, "status": "failed", "ended": ended });
        match upgraded(json!({ "step_finished": event })) {
            Event::StepFinished { ended, .. } => ended,
            other => panic!("{other:?}"),
        }
    }

    fn upgraded(event: Value) -> Event {
        let mut record = json!({ "seq": 1, "at": "2026-01-01T00:00:00Z", "event": event });
        upgrade(&mut record);
        let once = record.clone();
        upgrade(&mut record);
        assert_eq!(record, once, "a record of this format stays as it is");
        serde_json::from_value::<Record>(record).unwrap().event
    }

    /// The sentence of format 1 is the sentence of the cause that was read from it.
    #[track_caller]
    fn check(outcome: &str, heading: &str, cause: &str) -> Outcome {
        let ended = ended(json!(outcome), &format!("{heading}{cause}"));
        assert_eq!(ended.outcome.cause().as_deref(), Some(cause));
        ended.outcome
    }

    #[test]
    fn causes_are_read_from_old_sentences() {
        let agent = "agent step failed: ";
        for cause in [
            "the agent stops at a limit: error_max_turns",
            "the agent cannot log in: no key; check its login or its key",
            "the agent's model service fails with status 500: down",
            "the agent's model service fails: down",
            "the agent cannot reach its model service: no route",
            "the agent's request is refused with status 400: bad: model",
            "the agent reports a failure: no",
            "the agent ends with exit code 0 and without a result",
            "the agent ends with exit code 0 and without a result: so",
            "the agent's answer is in more JSON than can be read at once",
        ] {
            let Outcome::Agent(failure) = check("agent", agent, cause) else { panic!("{cause}") };
            assert_eq!(failure.to_string(), cause);
        }
        check("rate_limited", agent, "the agent is rate limited: slow down; tried 3 times");
        check("not_json", "bash step failed: ", "parse_json failed: there is no JSON in the output");
        check("condition", "recipe step failed: ", "condition `a == ` cannot be evaluated: no value");
        check("limit", "", "Maximum recipe recursion depth (6) exceeded");
        check("limit", "", "Total step limit (9) exceeded: raise `recursion.max_total_steps` of `r`");
        let spent = check(
            "budget",
            agent,
            "the budget is used up: 3 agent runs and $0.5 and 9 tokens and 1.5 minutes",
        );
        assert!(matches!(spent, Outcome::Budget(all) if all.len() == 4));
        let start =
            check("not_started", agent, "no such program: `x` is not found; install it or check `PATH`");
        let Outcome::NotStarted(failure) = start else { panic!("{start:?}") };
        assert_eq!(failure.kind, StartFailureKind::ProgramNotFound("x".to_owned()));
        let refused = check("refused", "bash step failed: ", "working directory `/a b` does not exist");
        assert!(matches!(refused, Outcome::Refused(Refusal::Directory { .. })));
        let unready = "=== PRE-FLIGHT VALIDATION FAILED for 'c' ===\n  - input `a` (b) has no value: pass it with `--set a=…`\n  - MISSING_ENV_VAR: X, Y: set it";
        let refused = check("refused", "Sub-recipe 'c' failed: [error] ", unready);
        let Outcome::Refused(Refusal::Unready { problems, .. }) = refused else { panic!("{refused:?}") };
        let needs: Vec<Need> = problems.into_iter().map(|problem| problem.need).collect();
        let variables = ["X", "Y"].map(str::to_owned).to_vec();
        assert_eq!(needs, [Need::Value("a".to_owned()), Need::Variables(variables)]);
        let other = check("refused", "bash step failed: ", "`a` has a NUL byte");
        assert_eq!(other, Outcome::Refused(Refusal::Other("`a` has a NUL byte".to_owned())));
    }

    #[test]
    fn missing_programs_are_read_from_old_sentences() {
        for (cause, expected) in [
            (
                "`a`, `b` are not installed, or not in PATH",
                MissingProgram::Named(vec!["a".into(), "b".into()]),
            ),
            ("a program that it needs is not installed, or not in PATH", MissingProgram::Unnamed),
            (
                "the interpreter that the first line of `./x` names is not installed",
                MissingProgram::Interpreter("./x".into()),
            ),
        ] {
            let error = format!("bash step failed: exit code 127: {cause}\nlast on stderr:\nx");
            assert_eq!(ended(json!({ "exit": 127 }), &error).missing, Some(expected));
        }
        assert_eq!(
            ended(json!({ "exit": 127 }), "bash step failed: exit code 127; it said nothing").missing,
            None
        );
    }

    #[test]
    fn an_old_exit_code_of_a_run_is_a_reason() {
        for (status, code, expected) in [
            ("completed", 0, EndReason::Completed),
            ("failed", 1, EndReason::Failed),
            ("waiting", 6, EndReason::Waiting),
            ("interrupted", 130, EndReason::Interrupted),
            ("cancelled", 130, EndReason::Cancelled),
            ("interrupted", 143, EndReason::Terminated),
        ] {
            let event = json!({ "status": status, "exit_code": code, "error": null, "output": null });
            let Event::RunFinished(finished) = upgraded(json!({ "run_finished": event })) else { panic!() };
            assert_eq!(finished.reason, expected, "{code}");
        }
    }

    #[test]
    fn old_fields_have_their_new_form() {
        let ended =
            json!({ "outcome": "ok", "good_code": 3, "value": { "inline": { "b": 1.50, "a": null } } });
        let event = json!({ "path": "s", "attempt": 1, "status": "completed", "ended": ended });
        let Event::StepFinished { ended, .. } = upgraded(json!({ "step_finished": event })) else { panic!() };
        assert_eq!(ended.code, Some(3));
        let Some(engine::run::event::Stored::Inline(value)) = ended.value else { panic!() };
        assert_eq!(value.to_json(), r#"{"b":1.5,"a":null}"#);
        for (reason, why) in
            [(json!("build"), ""), (json!({ "step": "build", "why": "failed" }), ": it failed")]
        {
            let event = json!({ "path": "s", "reason": { "dependency": reason } });
            let Event::StepSkipped { reason, .. } = upgraded(json!({ "step_skipped": event })) else {
                panic!()
            };
            assert_eq!(reason.describe(), format!("depends on `build`, which did not complete{why}"));
        }
        let event =
            json!({ "path": "s", "error": "working directory `x` is not a directory", "cause": "refused" });
        let Event::RecipeStopped { cause, .. } = upgraded(json!({ "recipe_stopped": event })) else {
            panic!()
        };
        assert!(matches!(cause, engine::run::outcome::StopCause::Refused(Refusal::Directory { .. })));
    }
}
