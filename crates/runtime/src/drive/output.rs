//! Handing on what steps print, with secrets masked. Never changes what their files hold.

use std::collections::HashMap;

use engine::Event;
use recipe::value::Value;

use super::{Driver, Notice, Reporter};
use crate::{mask::Mask, outputs::Stream};

impl Driver<'_> {
    pub(super) fn learn_secret(&mut self, event: &Event, value: &Value) {
        let Event::StepFinished { path, .. } = event else { return };
        let store = self
            .state
            .locate(path)
            .and_then(|(frame, at)| self.state.frames[frame].unit.steps[at].store.clone());
        if let Some(name) = store {
            self.mask.learn_value(&name, value);
        }
    }

    /// Hands on what steps have printed, with secrets masked.
    pub(super) fn forward_output(&mut self) {
        let Driver { outputs, reporter, mask, carry, .. } = self;
        let wants = reporter.wants_output();
        outputs.drain(&mut |path, stream, bytes| {
            if wants {
                forward(*reporter, mask, carry, path, stream, bytes);
            }
        });
    }

    /// Stops following a step, after a last look.
    pub(crate) fn end_output(&mut self, path: &str) {
        let Driver { outputs, reporter, mask, carry, .. } = self;
        let wants = reporter.wants_output();
        outputs.forget(path, &mut |path, stream, bytes| {
            if wants {
                forward(*reporter, mask, carry, path, stream, bytes);
            }
        });
        for is_stdout in [true, false] {
            if let Some(rest) = carry.remove(&(path.to_owned(), is_stdout)) {
                let stream = if is_stdout { Stream::Stdout } else { Stream::Stderr };
                reporter.notice(Notice::Output { path, stream, bytes: &mask.bytes(&rest) });
            }
        }
    }
}

/// Hands on bytes; while there are secrets, only up to the last line end, so that none is cut in two.
fn forward(
    reporter: &mut dyn Reporter,
    mask: &Mask,
    carry: &mut HashMap<(String, bool), Vec<u8>>,
    path: &str,
    stream: Stream,
    bytes: &[u8],
) {
    if mask.is_empty() {
        return reporter.notice(Notice::Output { path, stream, bytes });
    }
    if stream == Stream::Transcript {
        return;
    }
    let held = carry.entry((path.to_owned(), stream == Stream::Stdout)).or_default();
    held.extend_from_slice(bytes);
    let limit = 64 * 1024 + mask.longest();
    let end = match held.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None if held.len() > limit => held.len() - mask.longest(),
        None => return,
    };
    reporter.notice(Notice::Output { path, stream, bytes: &mask.bytes(&held[..end]) });
    held.drain(..end);
}
