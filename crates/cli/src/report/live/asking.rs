//! Questions in the live view: while a person is asked, the question is in place of the block.

use engine::Event;
use runtime::{run::Notice, store::secrets::Mask};

use super::{Chunk, Live, view::Size};
use crate::report::{failure::clean, prompt::Prompt, words::asked};

/// Clears the line of the cursor.
const CLEAR_LINE: &str = "\r\u{1b}[K";

impl<'a> Live<'a> {
    /// The same view, with questions at this terminal.
    pub(crate) fn asking(mut self, prompt: Option<Prompt>) -> Live<'a> {
        self.prompt = prompt;
        self
    }

    /// Lets the prompt take in what happens.
    pub(super) fn hear(&mut self, notice: &Notice<'_>) {
        let lines = self.prompt.as_mut().map(|prompt| prompt.hear(notice)).unwrap_or_default();
        for line in lines {
            self.push(Chunk::Line(clean(&line)));
        }
    }

    /// Shows what happened to a question; the prompt shows the question itself.
    pub(super) fn question(&mut self, event: &Event, mask: &Mask) {
        let is_shown = self.prompt.is_some() && matches!(event, Event::QuestionPut(_));
        if let Some((path, text)) = asked(event, mask).filter(|_| !is_shown) {
            self.line('?', &format!("{path}: {text}"));
        }
    }

    /// Shows the prompt in place of the block, if a person is asked.
    pub(super) fn ask_here(&mut self, size: Size) -> bool {
        let Some(line) = self.prompt.as_ref().and_then(Prompt::line) else {
            self.take_prompt_away();
            return false;
        };
        self.scroll(size);
        let erased = self.screen.erase(size.columns);
        self.out.steer(&erased);
        let Some(prompt) = &mut self.prompt else { return false };
        if !std::mem::replace(&mut prompt.is_on_screen, true) {
            self.out.steer(&format!("{CLEAR_LINE}{}", clean(&line)));
        }
        true
    }

    /// Removes the prompt from the screen.
    pub(super) fn take_prompt_away(&mut self) {
        if self.prompt.as_mut().is_some_and(|prompt| std::mem::take(&mut prompt.is_on_screen)) {
            self.out.steer(CLEAR_LINE);
        }
    }
}
