//! The output of steps, afterwards or live.
//!
//! Never shows an incomplete line of a live run: a secret could be cut in two.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{
    Event,
    run::step_path::{is_below, split_instance, with_brackets},
};
use runtime::{
    agents::{CustomProgram, transcript::Transcript},
    runs::{OpenedRun, Runs, StartedAttempt, has_instances, started_attempts},
    store::{folder::RunFolder, secrets::Mask},
};
use serde_json::json;

use super::stored_runs::{find_or_last, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::LogsArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{
        failure::{Failure, clean},
        live::{Keep, printable},
        progress::is_agent,
    },
};

/// How often a followed run is checked.
const LOOK: Duration = Duration::from_millis(200);
/// How much of a file is read at once.
const BLOCK: u64 = 256 * 1024;

/// Shows the output of steps.
pub(crate) fn logs(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    logs_of(args, environment, out).map_err(|failure| failure.announce(format, out))
}

fn logs_of(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let runs = runs_at(args.state.state_dir.as_deref(), environment)?;
    let folder = find_or_last(&runs, args.run.as_deref(), out)?;
    let step = args.step.as_deref();
    let shown = runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?;
    let attempts = attempts(&shown, step);
    if let Some(step) = step.filter(|step| attempts.is_empty() && shown.state.named(step).is_none()) {
        return Err(not_found(&shown, step));
    }
    let described = |shown: &OpenedRun| environment.machine.described_agents(&shown.header.working_dir);
    if args.format.output_format == OutputFormat::Json {
        // one value, when the output is complete
        let shown = match args.follow {
            true => {
                wait_for_end(&folder, out);
                runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?
            }
            false => shown,
        };
        let attempts = self::attempts(&shown, step);
        let described = described(&shown);
        let list: Vec<_> =
            attempts.iter().map(|attempt| as_json(&folder, attempt, &shown.mask, &described)).collect();
        out.json(&list);
        return Ok(Exit::Success);
    }
    let agents = if args.raw { None } else { Some(described(&shown)) };
    let mut follow = Follow::new(folder, shown.mask, agents);
    if args.follow {
        follow.follow(&runs, attempts, step, out);
    } else {
        follow.show_all(&attempts, End::Over, out);
    }
    if follow.last.is_none() && !out.is_closed() {
        out.notice("nothing was printed");
    }
    Ok(Exit::Success)
}

/// Waits until the run ends or stdout has no reader left.
fn wait_for_end(folder: &RunFolder, out: &Out) {
    while folder.owner().is_some() && !out.is_closed() {
        std::thread::sleep(LOOK);
    }
}

/// The error for a step that did not run.
fn not_found(shown: &OpenedRun, step: &str) -> Failure {
    let message = format!("step `{step}` not found in run `{}`", shown.folder.id());
    let failure = Failure::new(Exit::NotFound, message);
    if let Some((looped, count)) = shown.state.instances_of(step) {
        return failure.hint(has_instances(&looped, count));
    }
    let mut known: Vec<String> = Vec::new();
    for attempt in attempts(shown, None) {
        if !known.contains(&attempt.step.path) {
            known.push(attempt.step.path);
        }
    }
    failure.hint(format!("steps that ran: {}", known.join(", ")))
}

/// An attempt at a step.
struct Attempt {
    step: StartedAttempt,
    is_over: bool,
    /// Whether commands have checked its work.
    is_checked: bool,
    /// Whether its output is for machines.
    is_agent: bool,
}

/// Started attempts; only those at a step, or below it, if one is named. An instance is named by the number that it has
/// now.
fn attempts(shown: &OpenedRun, step: Option<&str>) -> Vec<Attempt> {
    let mut over: HashSet<(&str, u32)> = HashSet::new();
    let mut checked: HashSet<(&str, u32)> = HashSet::new();
    for record in &shown.records {
        match &record.event {
            Event::StepFinished { path, attempt, .. } | Event::AttemptFailed { path, attempt, .. } => {
                over.insert((path, *attempt));
            }
            Event::Spawned(spawned) if spawned.purpose.as_deref() == Some(RunFolder::CHECK) => {
                checked.insert((&spawned.path, spawned.attempt));
            }
            _ => {}
        }
    }
    let means =
        |path: &str| step.is_none_or(|step| is_named(path, step) || is_named(path, &with_brackets(step)));
    // an instance whose item is no longer in the list has a number only if no other instance has it
    let is_free = step.is_some_and(|step| shown.state.named(step).is_none());
    let is_wanted = |attempt: &StartedAttempt| match &attempt.dropped_from {
        Some(looped) if !is_free => means(looped),
        _ => means(&attempt.path),
    };
    let started = started_attempts(&shown.records).into_iter().filter(is_wanted);
    let attempt = |step: StartedAttempt| {
        let key = (step.began_as.as_str(), step.attempt);
        Attempt {
            is_over: over.contains(&key),
            is_checked: checked.contains(&key),
            is_agent: is_agent(&step.path, &shown.state),
            step,
        }
    };
    started.map(attempt).collect()
}

/// Whether a step is the one that a name means, or is inside it. A name may leave out the recipes around the step.
fn is_named(path: &str, step: &str) -> bool {
    let ends = |path: &str| path.ends_with(&format!("/{step}"));
    let instance_of = split_instance(path).map(|(looped, _)| looped);
    path == step || is_below(path, step) || ends(path) || instance_of.is_some_and(ends)
}

fn as_json(
    folder: &RunFolder,
    attempt: &Attempt,
    mask: &Mask,
    agents: &[CustomProgram],
) -> serde_json::Value {
    let dir = folder.path().join(RunFolder::attempt(&attempt.step.began_as, attempt.step.attempt));
    let text = |dir: &Path, name: &str| {
        let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
        mask.text(&String::from_utf8_lossy(&bytes)).into_owned()
    };
    let (stdout, stderr) = (text(&dir, "stdout"), text(&dir, "stderr"));
    let transcript = attempt.is_agent.then(|| {
        let mut transcript = Transcript::among(agents);
        let mut lines = transcript.feed(stdout.as_bytes());
        lines.extend(transcript.end());
        lines
    });
    let step = &attempt.step;
    let mut json =
        json!({ "step": step.path, "attempt": step.attempt, "stdout": stdout, "stderr": stderr, "dir": dir });
    if step.dropped_from.is_some() {
        json["dropped"] = json!(true);
    }
    let checks: Vec<_> = checks(folder, attempt)
        .iter()
        .map(|(rule, dir)| json!({ "rule": rule, "stdout": text(dir, "stdout"), "stderr": text(dir, "stderr") }))
        .collect();
    if let Some(transcript) = transcript {
        json["transcript"] = json!(transcript);
    }
    if !checks.is_empty() {
        json["ensure"] = json!(checks);
    }
    json
}

/// The folders of the commands that checked an attempt, each with the number of its rule.
fn checks(folder: &RunFolder, attempt: &Attempt) -> Vec<(usize, PathBuf)> {
    match attempt.is_checked {
        true => folder.checks(&attempt.step.began_as, attempt.step.attempt),
        false => Vec::new(),
    }
}

/// Whether more output may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The run is alive.
    Open,
    /// The output is complete.
    Over,
}

/// Shows files from the last position on.
struct Follow {
    folder: RunFolder,
    mask: Mask,
    files: HashMap<PathBuf, Tail>,
    /// Agent programs that a configuration describes; absent if their output is shown as it is.
    agents: Option<Vec<CustomProgram>>,
    transcripts: HashMap<PathBuf, Transcript>,
    done: HashSet<(String, u32)>,
    /// The last heading.
    last: Option<String>,
}

/// How far a file was read.
#[derive(Default)]
struct Tail {
    offset: u64,
    /// The beginning of an incomplete line.
    held: Vec<u8>,
}

impl Follow {
    fn new(folder: RunFolder, mask: Mask, agents: Option<Vec<CustomProgram>>) -> Follow {
        Follow {
            folder,
            mask,
            files: HashMap::new(),
            agents,
            transcripts: HashMap::new(),
            done: HashSet::new(),
            last: None,
        }
    }

    fn follow(&mut self, runs: &Runs, mut attempts: Vec<Attempt>, step: Option<&str>, out: &mut Out) {
        let mut size = 0;
        loop {
            // checked before reading, so that the last output of a run is not missed
            let end = if self.folder.owner().is_some() { End::Open } else { End::Over };
            let now = std::fs::metadata(self.folder.journal()).map_or(0, |meta| meta.len());
            if now != size
                && let Ok(shown) = runs.open(self.folder.clone())
            {
                size = now;
                attempts = self::attempts(&shown, step);
                self.mask = shown.mask;
            }
            self.show_all(&attempts, end, out);
            if end == End::Over || out.is_closed() {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn show_all(&mut self, attempts: &[Attempt], end: End, out: &mut Out) {
        for attempt in attempts {
            let step = &attempt.step;
            let key = (step.began_as.clone(), step.attempt);
            if self.done.contains(&key) {
                continue;
            }
            let end = if attempt.is_over { End::Over } else { end };
            let again = if key.1 > 1 { format!(" (attempt {})", key.1) } else { String::new() };
            let dropped =
                if step.dropped_from.is_some() { " (its item is no longer in the list)" } else { "" };
            let heading = format!("{}{again}{dropped}", clean(&step.path));
            let dir = self.folder.path().join(RunFolder::attempt(&key.0, key.1));
            if let Some(agents) = self.agents.as_ref().filter(|_| attempt.is_agent) {
                let file = dir.join("stdout");
                self.transcripts.entry(file).or_insert_with(|| Transcript::among(agents));
            }
            for name in ["stdout", "stderr"] {
                self.show(&heading, &dir.join(name), end, out);
            }
            for (rule, dir) in checks(&self.folder, attempt) {
                for name in ["stdout", "stderr"] {
                    self.show(&format!("{heading}: ensure rule {rule}"), &dir.join(name), end, out);
                }
            }
            if end == End::Over {
                self.done.insert(key);
            }
        }
    }

    fn show(&mut self, heading: &str, file: &Path, end: End, out: &mut Out) {
        loop {
            out.wait_for_room();
            if out.is_closed() {
                return;
            }
            let Some(bytes) = self.read(file, end) else { break };
            let bytes = match self.transcripts.get_mut(file) {
                Some(transcript) => joined(transcript.feed(&bytes)),
                None => bytes,
            };
            self.write(heading, file, &bytes, out);
        }
        if end == End::Over
            && let Some(transcript) = self.transcripts.remove(file)
        {
            self.write(heading, file, &joined(transcript.end()), out);
        }
    }

    fn write(&mut self, heading: &str, file: &Path, bytes: &[u8], out: &mut Out) {
        if bytes.is_empty() {
            return;
        }
        if self.last.as_deref() != Some(heading) {
            out.notice(&format!("==> {heading} <=="));
            self.last = Some(heading.to_owned());
        }
        let text = String::from_utf8_lossy(bytes);
        let text = self.mask.text(&text);
        match file.ends_with("stdout") {
            true if out.stdout_is_terminal => out.result(&harmless(&text)),
            true if self.mask.is_empty() => out.raw(bytes),
            true => out.raw(text.as_bytes()),
            false => out.notice(&harmless(&text)),
        }
    }

    /// The next complete lines of a file; `None` if there are no more for now.
    fn read(&mut self, path: &Path, end: End) -> Option<Vec<u8>> {
        let tail = self.files.entry(path.to_owned()).or_default();
        let mut fresh = Vec::new();
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::Start(tail.offset)).ok()?;
        file.take(BLOCK).read_to_end(&mut fresh).ok()?;
        tail.offset += fresh.len() as u64;
        let is_empty = fresh.is_empty();
        tail.held.append(&mut fresh);
        let whole = match tail.held.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if is_empty && end == End::Over => tail.held.len(),
            None => 0,
        };
        let lines: Vec<u8> = tail.held.drain(..whole).collect();
        (!is_empty || !lines.is_empty()).then_some(lines)
    }
}

/// Lines as bytes, each with its newline.
fn joined(lines: Vec<String>) -> Vec<u8> {
    lines.into_iter().map(|line| line + "\n").collect::<String>().into_bytes()
}

/// Lines without terminal control characters.
fn harmless(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| format!("{}\n", printable(line.as_bytes(), Keep::Colours)))
        .collect()
}
