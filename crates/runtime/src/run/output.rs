//! Passing on the output of steps, with secrets masked. Never changes the output files.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::Path,
    sync::Arc,
};

use engine::run::event::Ended;
use recipe::plan::{JsonMode, Step};
use tokio::sync::Notify;

use super::{Notice, Reporter};
use crate::{
    os::{process, stage},
    steps::output_files::OutputFiles,
    store::{
        folder::FolderError,
        outputs::{Outputs, Rest, Sink, Stream, ready},
        secrets::{Mask, without_members},
    },
};

/// The output of running steps that is shown.
pub(super) struct ShownOutput {
    pub(super) outputs: Outputs,
    /// Bytes that wait for the end of their line, by step and stream.
    carry: HashMap<(String, bool), Vec<u8>>,
    /// Running steps that print JSON.
    json_steps: HashSet<String>,
}

impl ShownOutput {
    /// Shows nothing yet. Must be called inside a tokio runtime.
    pub(super) fn new() -> ShownOutput {
        ShownOutput { outputs: Outputs::new(), carry: HashMap::new(), json_steps: HashSet::new() }
    }

    /// Follows the output files of an attempt. A step that makes a secret prints the secret, which cannot be masked yet;
    /// its output is not shown.
    pub(super) fn follow(
        &mut self,
        path: &str,
        step: &Step,
        dir: &Path,
        outputs: &OutputFiles,
        is_secret: bool,
    ) {
        if step.json != JsonMode::Text {
            self.json_steps.insert(path.to_owned());
        }
        if is_secret {
            return;
        }
        let streams =
            [(Stream::Stdout, "stdout", &outputs.stdout), (Stream::Stderr, "stderr", &outputs.stderr)];
        for (stream, name, file) in streams {
            self.outputs.follow(path, stream, &dir.join(name), Arc::clone(file));
        }
    }

    /// Creates an agent's output file, and notifies when it grows.
    pub(super) fn watch(&mut self, path: &str, file: &Path) -> Result<Arc<Notify>, FolderError> {
        let open = process::open_output(file).map_err(FolderError::at("create", file))?;
        // a stub tells when it has printed
        if stage::is_on() {
            return Ok(Arc::default());
        }
        Ok(self.outputs.follow(path, Stream::Transcript, file, Arc::new(open)))
    }

    /// Passes on the output of steps, with secrets masked.
    pub(super) fn forward(&mut self, reporter: &mut dyn Reporter, mask: &Mask) {
        let ShownOutput { outputs, carry, json_steps } = self;
        outputs.drain(&mut Handing { reporter, mask, carry, json_steps });
    }

    /// Stops following a step, after a last look. `ended` says how long its files are, where that is known.
    pub(super) fn end(
        &mut self,
        path: &str,
        ended: Option<&Ended>,
        reporter: &mut dyn Reporter,
        mask: &Mask,
    ) {
        let ShownOutput { outputs, carry, json_steps } = self;
        let ends = |stream: Stream| match stream {
            Stream::Stdout => ended?.stdout.as_ref().map(|output| output.bytes),
            Stream::Stderr => ended?.stderr.as_ref().map(|output| output.bytes),
            Stream::Transcript => None,
        };
        outputs.forget(path, &ends, &mut Handing { reporter, mask, carry, json_steps });
        for is_stdout in [true, false] {
            if let Some(rest) = carry.remove(&(path.to_owned(), is_stdout)).filter(|rest| !rest.is_empty()) {
                let stream = if is_stdout { Stream::Stdout } else { Stream::Stderr };
                let bytes = mask.bytes(&rest).into_owned();
                let is_json = is_stdout && json_steps.contains(path);
                let bytes = if is_json { without_members(bytes) } else { bytes };
                reporter.notice(Notice::Output { path, stream, bytes: &bytes });
            }
        }
        json_steps.remove(path);
    }
}

/// Passes output to the reporter.
struct Handing<'h> {
    reporter: &'h mut dyn Reporter,
    mask: &'h Mask,
    /// Bytes that wait for the end of their line.
    carry: &'h mut HashMap<(String, bool), Vec<u8>>,
    /// Steps that print JSON.
    json_steps: &'h HashSet<String>,
}

impl Handing<'_> {
    fn is_json(&self, step: &str, stream: Stream) -> bool {
        stream == Stream::Stdout && self.json_steps.contains(step)
    }
}

impl Sink for Handing<'_> {
    fn has_room(&self) -> bool {
        !self.reporter.wants_output() || self.reporter.has_room()
    }

    fn take(&mut self, step: &str, stream: Stream, bytes: &[u8]) {
        if !self.reporter.wants_output() || stream == Stream::Transcript {
            return;
        }
        let is_json = self.is_json(step, stream);
        if self.mask.is_empty() && !is_json {
            return self.reporter.notice(Notice::Output { path: step, stream, bytes });
        }
        let held = self.carry.entry((step.to_owned(), stream == Stream::Stdout)).or_default();
        if let Some(bytes) = ready(held, self.mask, bytes) {
            let bytes = if is_json { without_members(bytes) } else { bytes };
            self.reporter.notice(Notice::Output { path: step, stream, bytes: &bytes });
        }
    }

    fn take_rest(&mut self, step: &str, stream: Stream, file: &Path, part: Range<u64>) {
        let held = self.carry.remove(&(step.to_owned(), stream == Stream::Stdout)).unwrap_or_default();
        let rest = Rest::new(file, part, held, self.mask.clone());
        let rest = if self.is_json(step, stream) { rest.of_json() } else { rest };
        self.reporter.rest(step, stream, rest);
    }
}
