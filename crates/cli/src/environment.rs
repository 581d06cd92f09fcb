//! Everything from outside the command line: variables, directories, the terminal.
//!
//! The only place that reads the environment; the rest of the program gets values from here.

use std::{
    collections::BTreeMap,
    env,
    io::{IsTerminal as _, stderr, stdin, stdout},
    path::{Path, PathBuf},
};

use runtime::{
    agents::AgentPrograms,
    machine::{local::LocalMachine, variables::Variables},
};

use crate::guardian;

/// Columns of an output that is not a terminal.
const PLAIN_WIDTH: usize = 120;

/// The environment when the program started.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The machine: variables, directories, this program.
    pub(crate) machine: LocalMachine,
    /// Whether stdout is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// Whether stderr is a terminal.
    pub(crate) stderr_is_terminal: bool,
    /// Whether stdin is a terminal, so that a user can answer.
    pub(crate) stdin_is_terminal: bool,
    /// Whether the result may be coloured.
    pub(crate) stdout_colour: bool,
    /// Whether progress and problems may be coloured.
    pub(crate) stderr_colour: bool,
    /// The width of a line in columns.
    pub(crate) width: usize,
}

/// What a terminal is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalFeatures {
    /// A title that can be set and restored.
    pub(crate) has_title: bool,
    /// A progress bar (`OSC 9;4`).
    pub(crate) has_progress: bool,
}

impl Environment {
    /// What the terminal is known to have. A multiplexer hides the terminal.
    pub(crate) fn terminal_features(&self) -> TerminalFeatures {
        let is_set = |name: &str| self.get(name).is_some();
        if !self.can_redraw() || is_set("TMUX") || is_set("STY") {
            return TerminalFeatures::default();
        }
        let program = self.get("TERM_PROGRAM").unwrap_or_default();
        let version = self.get("TERM_PROGRAM_VERSION").unwrap_or_default();
        let has_progress = is_set("WT_SESSION")
            || self.get("ConEmuANSI") == Some("ON")
            || matches!(program, "WezTerm" | "ghostty")
            || (program == "iTerm.app" && is_at_least(version, (3, 6)));
        let names = ["VTE_VERSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID"];
        let has_title = has_progress
            || matches!(program, "iTerm.app" | "Apple_Terminal" | "vscode")
            || names.into_iter().any(is_set);
        TerminalFeatures { has_title, has_progress }
    }

    /// Reads everything, once.
    pub(crate) fn read() -> Environment {
        let variables = Variables::new(env::vars_os());
        let texts = variables.texts();
        let colour = |terminal: bool| wants_colour(&texts, terminal);
        let cwd = env::current_dir().unwrap_or_default();
        Environment {
            stdout_is_terminal: stdout().is_terminal(),
            stderr_is_terminal: stderr().is_terminal(),
            stdin_is_terminal: stdin().is_terminal(),
            stdout_colour: colour(stdout().is_terminal()),
            stderr_colour: colour(stderr().is_terminal()),
            width: width(&texts),
            machine: LocalMachine {
                agent_programs: AgentPrograms::Installed,
                // from the system if the variable is not set
                home: env::var_os("HOME")
                    .filter(|home| !home.is_empty())
                    .map(PathBuf::from)
                    .or_else(runtime::machine::host::home_of_user)
                    .map(|home| cwd.join(home)),
                cwd,
                program: env::current_exe().ok(),
                guardian: guardian::command(),
                built_in: crate::builtin::RECIPES.to_vec(),
                variables,
            },
        }
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.machine.variables.get(name)
    }

    /// The width at which text for people is wrapped, if a terminal shows it.
    pub(crate) fn wrap_width(&self, is_terminal: bool) -> Option<usize> {
        (is_terminal || self.get("COLUMNS").is_some()).then_some(self.width)
    }

    /// Whether progress can be redrawn in place.
    pub(crate) fn can_redraw(&self) -> bool {
        self.stderr_is_terminal && self.get("TERM").is_some_and(|term| term != "dumb")
    }

    /// A path of the command line as an absolute one.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.machine.absolute(path)
    }
}

/// Whether a version such as `3.6.2` is this one or a later one.
fn is_at_least(version: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= wanted
}

/// Whether to use colours: `NO_COLOR` beats `CLICOLOR_FORCE`, which beats `CLICOLOR` and the kind of output.
fn wants_colour(variables: &BTreeMap<String, String>, terminal: bool) -> bool {
    let get = |name: &str| variables.get(name).map(String::as_str);
    if get("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    if get("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        return true;
    }
    terminal && get("CLICOLOR") != Some("0") && get("TERM") != Some("dumb")
}

fn width(variables: &BTreeMap<String, String>) -> usize {
    let said = variables.get("COLUMNS").and_then(|columns| columns.parse().ok());
    let seen = || rustix::termios::tcgetwinsize(stderr()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(seen).filter(|columns| *columns >= 40).unwrap_or(PLAIN_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_unless_the_environment_says_otherwise() {
        for (variables, terminal, expected) in [
            (&[][..], true, true),
            (&[], false, false),
            (&[("NO_COLOR", "1")], true, false),
            (&[("NO_COLOR", "")], true, true),
            (&[("CLICOLOR_FORCE", "1")], false, true),
            (&[("CLICOLOR_FORCE", "0")], false, false),
            (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true, false),
            (&[("CLICOLOR", "0")], true, false),
            (&[("TERM", "dumb")], true, false),
        ] {
            let map = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(wants_colour(&map.collect(), terminal), expected, "{variables:?} {terminal}");
        }
    }
}
