//! What steps printed.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    time::Duration,
};

use engine::{Event, Record};
use runtime::{folder::RunFolder, journal, mask::Mask};
use serde_json::json;

use super::{find, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::LogsArgs},
    environment::Environment,
    exit::Exit,
    failure::Failure,
    out::Out,
};

/// How often a followed run is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Shows what steps printed.
pub(crate) fn logs(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    logs_of(args, environment, out).map_err(|failure| failure.announce(format, out))
}

fn logs_of(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let runs = runs_at(args.state.state_dir.as_deref(), environment)?;
    let folder = find(&runs, &args.run)?;
    let shown = runs.open(folder.clone()).map_err(|error| unreadable(&error))?;
    let mut attempts = attempts(&shown.records, args.step.as_deref());
    if attempts.is_empty()
        && let Some(step) = &args.step
    {
        let known: Vec<String> =
            self::attempts(&shown.records, None).into_iter().map(|(path, _)| path).collect();
        if !known.contains(step) && shown.state.locate(step).is_none() {
            return Err(Failure::new(
                Exit::NotFound,
                format!("step `{step}` not found in run `{}`", folder.id()),
            )
            .hint(format!("steps that ran: {}", known.join(", "))));
        }
    }
    if args.format.output_format == OutputFormat::Json {
        let list: Vec<_> =
            attempts.iter().map(|(path, attempt)| as_json(&folder, path, *attempt, &shown.mask)).collect();
        out.json(&list);
        return Ok(Exit::Success);
    }
    let mut follow = Follow { folder: folder.clone(), mask: shown.mask, seen: HashMap::new(), last: None };
    attempts.iter().for_each(|(path, attempt)| follow.show(path, *attempt, out));
    let mut is_alive = args.follow;
    while is_alive {
        is_alive = folder.owner().is_some();
        if let Ok(records) = journal::read(&folder.journal()) {
            attempts = self::attempts(&records, args.step.as_deref());
        }
        attempts.iter().for_each(|(path, attempt)| follow.show(path, *attempt, out));
        if is_alive {
            std::thread::sleep(LOOK);
        }
    }
    Ok(Exit::Success)
}

/// Steps and attempts that were started; those of one step, or below it, if it is named.
fn attempts(records: &[Record], step: Option<&str>) -> Vec<(String, u32)> {
    let wanted = |path: &str| match step {
        None => true,
        Some(step) => {
            path == step || path.starts_with(&format!("{step}/")) || path.ends_with(&format!("/{step}"))
        }
    };
    records
        .iter()
        .filter_map(|record| match &record.event {
            Event::StepStarted { path, attempt } if wanted(path) => Some((path.clone(), *attempt)),
            _ => None,
        })
        .collect()
}

fn as_json(folder: &RunFolder, path: &str, attempt: u32, mask: &Mask) -> serde_json::Value {
    let dir = folder.path().join(RunFolder::attempt(path, attempt));
    let text = |name: &str| {
        let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
        mask.text(&String::from_utf8_lossy(&bytes)).into_owned()
    };
    json!({ "step": path, "attempt": attempt, "stdout": text("stdout"), "stderr": text("stderr"), "dir": dir })
}

/// Shows files from where they were left.
struct Follow {
    folder: RunFolder,
    mask: Mask,
    seen: HashMap<std::path::PathBuf, u64>,
    last: Option<(String, u32)>,
}

impl Follow {
    fn show(&mut self, path: &str, attempt: u32, out: &mut Out) {
        let dir = self.folder.path().join(RunFolder::attempt(path, attempt));
        for name in ["stdout", "stderr"] {
            let file = dir.join(name);
            let text = self.news(&file);
            if text.is_empty() {
                continue;
            }
            if self.last.as_ref() != Some(&(path.to_owned(), attempt)) {
                let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                out.notice(&format!("==> {path}{again} <=="));
                self.last = Some((path.to_owned(), attempt));
            }
            let masked = self.mask.text(&text).into_owned();
            match name {
                "stdout" => out.raw(masked.as_bytes()),
                _ => out.notice(&masked),
            }
        }
    }

    fn news(&mut self, path: &std::path::Path) -> String {
        let from = self.seen.get(path).copied().unwrap_or(0);
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        self.seen.insert(path.to_owned(), from + bytes.len() as u64);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
