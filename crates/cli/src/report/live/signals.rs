//! The title of a terminal and its progress bar, for terminals that are known to have them.
//!
//! Returns the characters to write; never writes itself.

use super::view::View;
use crate::environment::TerminalFeatures;

/// Saves and restores the title.
const SAVE_TITLE: &str = "\u{1b}[22;2t";
const RESTORE_TITLE: &str = "\u{1b}[23;2t";
/// Removes the progress bar.
const NO_PROGRESS: &str = "\u{1b}]9;4;0;0\u{1b}\\";

/// What a terminal was told.
#[derive(Default)]
pub(super) struct Signals {
    features: TerminalFeatures,
    /// Finished steps and all steps.
    told: Option<(usize, usize)>,
}

impl Signals {
    pub(super) fn new(features: TerminalFeatures) -> Signals {
        Signals { features, told: None }
    }

    /// How far the run is, if that is new.
    pub(super) fn update(&mut self, view: &View) -> String {
        let now = (view.done, view.total);
        let before = self.told.replace(now);
        let mut text = String::new();
        if before == Some(now) || view.total == 0 {
            return text;
        }
        if self.features.has_title {
            if before.is_none() {
                text.push_str(SAVE_TITLE);
            }
            text.push_str(&format!("\u{1b}]2;{}/{} {}\u{1b}\\", view.done, view.total, view.recipe));
        }
        if self.features.has_progress {
            text.push_str(&format!("\u{1b}]9;4;1;{}\u{1b}\\", view.done * 100 / view.total));
        }
        text
    }

    /// The terminal as it was.
    pub(super) fn end(&mut self) -> String {
        if self.told.take().is_none() {
            return String::new();
        }
        let title = if self.features.has_title { RESTORE_TITLE } else { "" };
        let progress = if self.features.has_progress { NO_PROGRESS } else { "" };
        format!("{title}{progress}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_only_what_it_knows() {
        let view = View { recipe: "r".to_owned(), done: 1, total: 4, ..View::default() };
        let mut none = Signals::new(TerminalFeatures::default());
        assert_eq!((none.update(&view), none.end()), (String::new(), String::new()));
        let mut all = Signals::new(TerminalFeatures { has_title: true, has_progress: true });
        assert_eq!(all.update(&view), "\u{1b}[22;2t\u{1b}]2;1/4 r\u{1b}\\\u{1b}]9;4;1;25\u{1b}\\");
        assert_eq!(all.update(&view), "");
        assert_eq!(all.end(), "\u{1b}[23;2t\u{1b}]9;4;0;0\u{1b}\\");
        assert_eq!(all.end(), "");
    }
}
