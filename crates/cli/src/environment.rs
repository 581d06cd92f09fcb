//! Everything from outside the command line: variables, directories, the terminal.
//!
//! The only place that reads the environment; the rest of the program gets values from here.

use std::{
    collections::BTreeMap,
    env,
    io::{IsTerminal as _, stderr, stdin, stdout},
    path::{Path, PathBuf},
};

/// Columns of an output that is not a terminal.
const PLAIN_WIDTH: usize = 120;

/// The environment when the program started.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Additional definitions from files.
    files: BTreeMap<String, String>,
    /// Defaults for names that neither of them defines.
    defaults: BTreeMap<String, String>,
    /// The current directory; empty if it was deleted.
    pub(crate) cwd: PathBuf,
    /// The user's home directory.
    pub(crate) home: Option<PathBuf>,
    /// Whether stdout is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// The path of this program, for steps that need it.
    pub(crate) program: Option<PathBuf>,
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

impl Environment {
    /// Reads everything, once.
    pub(crate) fn read() -> Environment {
        let text = |value: std::ffi::OsString| value.into_string().ok();
        let variables: BTreeMap<String, String> =
            env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
        let colour = |terminal: bool| wants_colour(&variables, terminal);
        let cwd = env::current_dir().unwrap_or_default();
        Environment {
            cwd: cwd.clone(),
            // from the system if the variable is not set
            home: env::var_os("HOME")
                .filter(|home| !home.is_empty())
                .map(PathBuf::from)
                .or_else(runtime::machine::host::home_of_user)
                .map(|home| cwd.join(home)),
            stdout_is_terminal: stdout().is_terminal(),
            program: env::current_exe().ok(),
            stderr_is_terminal: stderr().is_terminal(),
            stdin_is_terminal: stdin().is_terminal(),
            stdout_colour: colour(stdout().is_terminal()),
            stderr_colour: colour(stderr().is_terminal()),
            width: width(&variables),
            variables,
            files: BTreeMap::new(),
            defaults: BTreeMap::new(),
        }
    }

    /// The value of a variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable that is set outside files, and not empty.
    pub(crate) fn exported(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The value of a set variable, even if it is empty.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        [&self.variables, &self.files, &self.defaults]
            .into_iter()
            .find_map(|all| all.get(name))
            .map(String::as_str)
    }

    /// The names that files define.
    pub(crate) fn defined(&self) -> impl Iterator<Item = String> {
        self.files.keys().cloned()
    }

    /// All set variables whose values are text.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        self.variables.clone()
    }

    /// All variables with this prefix.
    pub(crate) fn beginning_with(&self, prefix: &str) -> BTreeMap<String, String> {
        let all = self.defaults.iter().chain(&self.files).chain(&self.variables);
        all.filter(|(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// All set variables, for the programs that steps start.
    pub(crate) fn all(&self) -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
        let mut all: BTreeMap<_, _> = env::vars_os().collect();
        for (name, value) in self.files.iter().chain(&self.defaults) {
            all.entry(name.into()).or_insert_with(|| value.into());
        }
        all
    }

    /// The same environment with these definitions from files. Set variables win, then the first definition.
    pub(crate) fn with_files(&self, definitions: impl IntoIterator<Item = (String, String)>) -> Environment {
        Environment { files: unset(definitions), ..self.clone() }
    }

    /// The same environment with these defaults for names that neither a variable nor a file defines.
    pub(crate) fn with_defaults(
        &self,
        definitions: impl IntoIterator<Item = (String, String)>,
    ) -> Environment {
        let all = self.defaults.clone().into_iter().chain(definitions);
        Environment { defaults: unset(all), ..self.clone() }
    }

    /// Whether progress can be redrawn in place.
    pub(crate) fn can_redraw(&self) -> bool {
        self.stderr_is_terminal && self.get("TERM").is_some_and(|term| term != "dumb")
    }

    /// A path of the command line as an absolute one.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// The definitions of unset names; the first one of each name.
fn unset(definitions: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // a variable whose value is not text is set too
    for (name, value) in definitions.into_iter().filter(|(name, _)| env::var_os(name).is_none()) {
        found.entry(name).or_insert(value);
    }
    found
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
