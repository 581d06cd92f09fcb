//! The script as it is written, with slots for parts that are known later.
//!
//! Never looks into its input.

/// Text that grows at its end, and slots in it that can still be changed.
#[derive(Default)]
pub(super) struct ScriptText {
    done: Vec<String>,
    current: String,
}

/// A place in an [`ScriptText`] that can be written again.
#[derive(Clone, Copy)]
pub(super) struct Slot(usize);

impl ScriptText {
    pub(super) fn push(&mut self, c: char) {
        self.current.push(c);
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.current.push_str(text);
    }

    /// The last character, if it comes after the last slot.
    pub(super) fn last(&self) -> Option<char> {
        self.current.chars().next_back()
    }

    /// Writes `text` so that it can be replaced later.
    pub(super) fn slot(&mut self, text: String) -> Slot {
        self.done.push(std::mem::take(&mut self.current));
        self.done.push(text);
        Slot(self.done.len() - 1)
    }

    pub(super) fn fill(&mut self, slot: Slot, text: String) {
        if let Some(place) = self.done.get_mut(slot.0) {
            *place = text;
        }
    }

    pub(super) fn finish(mut self) -> String {
        self.done.push(self.current);
        self.done.concat()
    }
}
