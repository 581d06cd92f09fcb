//! Failures of real tools, labelled: the diagnosis explains each of them rightly.

#![expect(clippy::expect_used, clippy::panic, reason = "a corpus that cannot be read is a failed test")]

use std::collections::BTreeMap;

use engine::run::cause::{AgentFailure, ExceededLimit, Refusal, StartFailure, StartFailureKind};
use engine::{
    Outcome,
    failure::{AgentTrouble, Class, Facts, Obstacle, Producer, Responsibility, StepType, diagnose},
};

const CORPUS: [&str; 3] = [
    include_str!("diagnosis_corpus/environment.txt"),
    include_str!("diagnosis_corpus/work.txt"),
    include_str!("diagnosis_corpus/recipe_and_run.txt"),
];

struct Entry {
    header: String,
    class: Class,
    facts: Facts,
}

/// Entries: `### class | step type | how it ended | command | flags`, then what it printed.
fn entries() -> Vec<Entry> {
    CORPUS.iter().flat_map(|text| text.split("### ").skip(1).map(entry)).collect()
}

fn entry(text: &str) -> Entry {
    let (header, body) = text.split_once('\n').unwrap_or((text, ""));
    let mut fields = header.split(" | ");
    let mut field = || fields.next().unwrap_or_default().trim();
    let (class, step_type, ended, command, flags) = (field(), field(), field(), field(), field());
    let class = *Class::ALL.iter().find(|known| known.as_str() == class).expect(header);
    let mut facts = Facts {
        step_type: match step_type {
            "bash" => StepType::Bash,
            "agent" => StepType::Agent,
            _ => StepType::Recipe,
        },
        command: if command == "-" { String::new() } else { command.to_owned() },
        ..Facts::default()
    };
    end(&mut facts, ended);
    let body = body.trim_end().to_owned();
    for flag in flags.split_whitespace() {
        match flag {
            "after" => facts.producer = Producer::Before,
            "product" => facts.producer = Producer::Product,
            "retried" => facts.retries_exhausted = true,
            "answer" => facts.answer = Some(body.clone()),
            other => panic!("unknown flag {other}"),
        }
    }
    match facts.step_type {
        _ if facts.answer.is_some() => {}
        StepType::Agent => (facts.agent_failure, facts.stderr) = (Some(body.clone()), body),
        _ => facts.stderr = body,
    }
    Entry { header: header.to_owned(), class, facts }
}

fn end(facts: &mut Facts, ended: &str) {
    let mut outcome = Outcome::Refused(Refusal::Other(String::new()));
    match ended {
        "agent" => outcome = Outcome::Agent(AgentFailure::TooLarge),
        "auth" => {
            outcome = Outcome::Agent(AgentFailure::TooLarge);
            facts.agent_trouble = Some(AgentTrouble::Credentials);
        }
        "service" => {
            outcome = Outcome::Agent(AgentFailure::TooLarge);
            facts.agent_trouble = Some(AgentTrouble::Service);
        }
        "ratelimited" => outcome = Outcome::RateLimited { message: String::new(), tries: 0 },
        "notjson" => outcome = Outcome::NotJson { problem: String::new() },
        "ok" => outcome = Outcome::Ok,
        "limit" => outcome = Outcome::Limit(ExceededLimit::Depth { limit: 1 }),
        "budget" => outcome = Outcome::Budget(Vec::new()),
        "condition" => outcome = Outcome::Condition { text: String::new(), error: String::new() },
        "timeout" => outcome = Outcome::TimedOut(1.0),
        "idle" => outcome = Outcome::Idle(60.0),
        "cancelled" => outcome = Outcome::Cancelled,
        "lost" => outcome = Outcome::Lost,
        "signal9" => outcome = Outcome::Signal(9),
        "signal11" => outcome = Outcome::Signal(11),
        "signal15" => outcome = Outcome::Signal(15),
        "invalid" => facts.obstacle = Some(Obstacle::InvalidRecipe),
        "deadlock" => facts.obstacle = Some(Obstacle::Deadlock),
        "dirty" => facts.obstacle = Some(Obstacle::WorkdirDirty),
        "owned" => facts.obstacle = Some(Obstacle::AlreadyRunning),
        "stale" => facts.obstacle = Some(Obstacle::StaleState),
        "oom" => facts.obstacle = Some(Obstacle::OutOfMemory),
        other => match other.split_once(':') {
            Some(("spawn", program)) => {
                let kind = StartFailureKind::ProgramNotFound(program.to_owned());
                outcome = Outcome::NotStarted(StartFailure { kind, message: String::new() });
                facts.missing_program = Some(program.to_owned());
            }
            Some((_, name)) => facts.missing_env = vec![name.to_owned()],
            None => outcome = Outcome::Exit(other.parse().expect(other)),
        },
    }
    facts.outcome = Some(outcome);
}

#[test]
fn real_failures_are_explained() {
    let entries = entries();
    let mut table: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let (mut right, mut claimed, mut rightly) = (0usize, 0usize, 0usize);
    for entry in &entries {
        let found = diagnose(&entry.facts);
        *table.entry((entry.class.as_str(), found.class.as_str())).or_default() += 1;
        if found.class == entry.class {
            right += 1;
        } else {
            println!("{} -> {} {:?}", entry.header, found.class.as_str(), found.signals);
        }
        if found.bucket == Responsibility::Environment {
            claimed += 1;
            rightly += usize::from(entry.class.bucket() == Responsibility::Environment);
        }
    }
    println!("{:<28} {:<28} count", "labelled", "diagnosed");
    for ((labelled, diagnosed), count) in &table {
        println!("{labelled:<28} {diagnosed:<28} {count}{}", if labelled == diagnosed { "" } else { "  <-" });
    }
    let accuracy = right as f64 / entries.len() as f64;
    let precision = rightly as f64 / claimed as f64;
    println!("{} entries, accuracy {accuracy:.3}, precision of environment {precision:.3}", entries.len());
    assert!(entries.len() >= 249);
    assert_eq!((right, rightly), (entries.len(), claimed), "what is wrong is printed above");
}
