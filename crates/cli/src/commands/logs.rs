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

use engine::{Event, Record};
use runtime::{
    runs::Runs,
    store::{folder::RunFolder, secrets::Mask},
};
use serde_json::json;

use super::stored_runs::{find, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::LogsArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{
        failure::{Failure, clean},
        live::{Keep, printable},
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
    let folder = find(&runs, &args.run)?;
    let step = args.step.as_deref();
    let shown = runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?;
    let attempts = attempts(&shown.records, step);
    if let Some(step) = step.filter(|step| attempts.is_empty() && shown.state.locate(step).is_none()) {
        let mut known: Vec<String> = Vec::new();
        for attempt in self::attempts(&shown.records, None) {
            if !known.contains(&attempt.path) {
                known.push(attempt.path);
            }
        }
        let message = format!("step `{step}` not found in run `{}`", folder.id());
        return Err(
            Failure::new(Exit::NotFound, message).hint(format!("steps that ran: {}", known.join(", ")))
        );
    }
    if args.format.output_format == OutputFormat::Json {
        // one value, when the output is complete
        let shown = match args.follow {
            true => {
                wait_for_end(&folder, out);
                runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?
            }
            false => shown,
        };
        let attempts = self::attempts(&shown.records, step);
        let list: Vec<_> = attempts.iter().map(|attempt| as_json(&folder, attempt, &shown.mask)).collect();
        out.json(&list);
        return Ok(Exit::Success);
    }
    let mut follow = Follow::new(folder, shown.mask);
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

/// An attempt at a step.
struct Attempt {
    path: String,
    attempt: u32,
    is_over: bool,
}

/// Started attempts; only those at a step, or below it, if one is named.
fn attempts(records: &[Record], step: Option<&str>) -> Vec<Attempt> {
    let wanted = |path: &str| match step {
        None => true,
        Some(step) => {
            path == step || path.starts_with(&format!("{step}/")) || path.ends_with(&format!("/{step}"))
        }
    };
    let over: HashSet<(&str, u32)> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::StepFinished { path, attempt, .. } | Event::AttemptFailed { path, attempt, .. } => {
                Some((path.as_str(), *attempt))
            }
            _ => None,
        })
        .collect();
    records
        .iter()
        .filter_map(|record| match &record.event {
            Event::StepStarted { path, attempt, .. } if wanted(path) => Some(Attempt {
                path: path.clone(),
                attempt: *attempt,
                is_over: over.contains(&(path.as_str(), *attempt)),
            }),
            _ => None,
        })
        .collect()
}

fn as_json(folder: &RunFolder, attempt: &Attempt, mask: &Mask) -> serde_json::Value {
    let Attempt { path, attempt, .. } = attempt;
    let dir = folder.path().join(RunFolder::attempt(path, *attempt));
    let text = |name: &str| {
        let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
        mask.text(&String::from_utf8_lossy(&bytes)).into_owned()
    };
    json!({ "step": path, "attempt": attempt, "stdout": text("stdout"), "stderr": text("stderr"), "dir": dir })
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
    done: HashSet<(String, u32)>,
    last: Option<(String, u32)>,
}

/// How far a file was read.
#[derive(Default)]
struct Tail {
    offset: u64,
    /// The beginning of an incomplete line.
    held: Vec<u8>,
}

impl Follow {
    fn new(folder: RunFolder, mask: Mask) -> Follow {
        Follow { folder, mask, files: HashMap::new(), done: HashSet::new(), last: None }
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
                attempts = self::attempts(&shown.records, step);
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
            let key = (attempt.path.clone(), attempt.attempt);
            if self.done.contains(&key) {
                continue;
            }
            let end = if attempt.is_over { End::Over } else { end };
            let dir = self.folder.path().join(RunFolder::attempt(&key.0, key.1));
            for name in ["stdout", "stderr"] {
                self.show(&key, &dir.join(name), end, out);
            }
            if end == End::Over {
                self.done.insert(key);
            }
        }
    }

    fn show(&mut self, key: &(String, u32), file: &Path, end: End, out: &mut Out) {
        loop {
            out.wait_for_room();
            if out.is_closed() {
                return;
            }
            let Some(bytes) = self.read(file, end) else { return };
            if bytes.is_empty() {
                continue;
            }
            if self.last.as_ref() != Some(key) {
                let again = if key.1 > 1 { format!(" (attempt {})", key.1) } else { String::new() };
                out.notice(&format!("==> {}{again} <==", clean(&key.0)));
                self.last = Some(key.clone());
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = self.mask.text(&text);
            match file.ends_with("stdout") {
                true if out.stdout_is_terminal => out.result(&harmless(&text)),
                true if self.mask.is_empty() => out.raw(&bytes),
                true => out.raw(text.as_bytes()),
                false => out.notice(&harmless(&text)),
            }
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

/// Lines without terminal control characters.
fn harmless(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| format!("{}\n", printable(line.as_bytes(), Keep::Colours)))
        .collect()
}
