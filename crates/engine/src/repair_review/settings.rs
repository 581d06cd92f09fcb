//! Settings of a script for later commands: the stop at failures, traps, aliases.
//!
//! Never judges; it only records the settings.

use super::{program::Call, reach::Walk, script::parse};

impl Walk {
    pub(super) fn settings(&mut self, call: &Call) {
        match call.program.as_str() {
            "set" => {
                for (at, word) in call.words.iter().enumerate() {
                    let short = word.starts_with(['-', '+']) && !word.starts_with("--");
                    if short && word.contains('e') {
                        self.stop_at_failures(word);
                    }
                    let Some(sign) = at.checked_sub(1).map(|before| &call.words[before]) else { continue };
                    match word.as_str() {
                        "errexit" if short_ends_with_o(sign) => self.stop_at_failures(sign),
                        "pipefail" if short_ends_with_o(sign) => self.pipefail = sign.starts_with('-'),
                        _ => {}
                    }
                }
            }
            "trap" => {
                let Some(handler) = call.words.get(1) else { return };
                let is_end = |name: &String| matches!(name.as_str(), "EXIT" | "0" | "ERR" | "DEBUG");
                let on_end = call.words.iter().skip(2).any(is_end);
                if on_end { &mut self.at_end } else { &mut self.at_signal }.push(handler.clone());
            }
            "alias" => {
                for (name, value) in call.operands().filter_map(|word| word.split_once('=')) {
                    self.functions.insert(name.to_owned(), parse(value));
                }
            }
            // `hash -p PATH NAME`
            "hash" if call.has("-p") => {
                if let [path, name] = call.operands().collect::<Vec<_>>()[..] {
                    self.functions.insert(name.to_owned(), parse(path));
                }
            }
            _ => {}
        }
    }

    /// `-…` turns the stop at the first failure on, `+…` off.
    fn stop_at_failures(&mut self, sign: &str) {
        self.errexit = sign.starts_with('-');
        self.forgives |= !self.errexit;
    }
}

fn short_ends_with_o(word: &str) -> bool {
    word.starts_with(['-', '+']) && word.ends_with('o')
}
