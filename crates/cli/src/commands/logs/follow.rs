//! Shows output from the last position on: neither the journal nor an output file is read twice.

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use runtime::{
    agents::{CustomProgram, transcript::Transcript},
    runs::{OpenedRun, Runs},
    store::folder::RunFolder,
};

use super::{
    LOOK,
    attempts::{Attempt, Attempts},
    checks,
};
use crate::{
    out::Out,
    report::{
        failure::clean,
        live::{Keep, printable},
    },
};

/// How much of a file is read at once.
const BLOCK: u64 = 256 * 1024;

/// Whether more output may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The run is alive.
    Open,
    /// The output is complete.
    Over,
}

/// Shows the output of attempts from the last position on.
pub(super) struct Follow<'a> {
    shown: OpenedRun,
    attempts: Attempts,
    /// The step whose output is wanted.
    step: Option<&'a str>,
    /// Numbers of the attempts that were not shown to their end.
    open: Vec<usize>,
    files: HashMap<PathBuf, Tail>,
    /// Agent programs that a configuration describes; absent if their output is shown as it is.
    agents: Option<Vec<CustomProgram>>,
    transcripts: HashMap<PathBuf, Transcript>,
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

impl<'a> Follow<'a> {
    pub(super) fn new(
        shown: OpenedRun,
        attempts: Attempts,
        step: Option<&'a str>,
        agents: Option<Vec<CustomProgram>>,
    ) -> Follow<'a> {
        Follow {
            shown,
            step,
            open: (0..attempts.count()).collect(),
            attempts,
            files: HashMap::new(),
            agents,
            transcripts: HashMap::new(),
            last: None,
        }
    }

    /// Whether there was any output.
    pub(super) fn has_shown(&self) -> bool {
        self.last.is_some()
    }

    /// Shows the output so far, as that of a run that has ended.
    pub(super) fn show_all(&mut self, out: &mut Out) {
        self.show_open(End::Over, out);
    }

    /// Shows output until the run ends or stdout has no reader left.
    pub(super) fn until_the_end(&mut self, runs: &Runs, out: &mut Out) {
        loop {
            // checked before reading, so that the last output of a run is not missed
            let end = if self.shown.folder.owner().is_some() { End::Open } else { End::Over };
            self.catch_up(runs);
            self.show_open(end, out);
            if end == End::Over || out.is_closed() {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes in the new records of the run.
    fn catch_up(&mut self, runs: &Runs) {
        let known = self.attempts.count();
        match self.shown.catch_up() {
            Ok(fresh) => self.attempts.take(fresh),
            // a journal that cannot be continued may be readable as a whole, now or later
            Err(_) => {
                if let Ok(shown) = runs.open(self.shown.folder.clone()) {
                    self.attempts = Attempts::of(&shown.records);
                    self.shown = shown;
                }
            }
        }
        self.open.extend(known..self.attempts.count());
    }

    fn show_open(&mut self, end: End, out: &mut Out) {
        for at in std::mem::take(&mut self.open) {
            let Some(attempt) = self.attempts.wanted(at, &self.shown.state, self.step) else {
                // a changed list may give it a number that is wanted
                self.open.push(at);
                continue;
            };
            let end = if attempt.is_over { End::Over } else { end };
            self.show_attempt(&attempt, end, out);
            if end == End::Open {
                self.open.push(at);
            }
        }
    }

    fn show_attempt(&mut self, attempt: &Attempt, end: End, out: &mut Out) {
        let step = &attempt.step;
        let again = if step.attempt > 1 { format!(" (attempt {})", step.attempt) } else { String::new() };
        let dropped = if step.dropped_from.is_some() { " (its item is no longer in the list)" } else { "" };
        let heading = format!("{}{again}{dropped}", clean(&step.path));
        let dir = self.shown.folder.path().join(RunFolder::attempt(&step.began_as, step.attempt));
        if let Some(agents) = self.agents.as_ref().filter(|_| attempt.is_agent) {
            let file = dir.join("stdout");
            self.transcripts.entry(file).or_insert_with(|| Transcript::among(agents));
        }
        for name in ["stdout", "stderr"] {
            self.show(&heading, &dir.join(name), end, out);
        }
        for (rule, dir) in checks(&self.shown.folder, attempt) {
            for name in ["stdout", "stderr"] {
                self.show(&format!("{heading}: ensure rule {rule}"), &dir.join(name), end, out);
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
        let text = self.shown.mask.text(&text);
        match file.ends_with("stdout") {
            true if out.stdout_is_terminal => out.result_as_is(&harmless(&text)),
            true if self.shown.mask.is_empty() => out.raw(bytes),
            true => out.raw(text.as_bytes()),
            false => out.notice_as_is(&harmless(&text)),
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
