//! A command line that is being typed: its command, its words and options so far, and what comes next. Knows nothing
//! about recipes and runs.

use clap::{Arg, Command};

use crate::args::longs;

/// A command line that is being typed.
pub(super) struct TypedLine<'c> {
    /// The program.
    pub(super) program: &'c Command,
    /// The command, or that of its action; the program itself while none is known.
    pub(super) command: &'c Command,
    /// The name of the command; `run` if a recipe stands in its place.
    pub(super) verb: Option<&'c str>,
    /// Its words that are neither options nor their values.
    pub(super) words: Vec<String>,
    /// Its options with their values.
    given: Vec<(&'c Arg, String)>,
    /// The option whose value is being typed.
    pub(super) option: Option<&'c Arg>,
    /// The beginning of the word that is not part of the value: `--set=`.
    pub(super) prefix: String,
    /// What has been typed of the last word, without the prefix.
    pub(super) current: String,
}

impl<'c> TypedLine<'c> {
    /// Reads the words after the name of the program.
    pub(super) fn read(words: &[String], program: &'c Command) -> TypedLine<'c> {
        let (current, before) = match words.split_last() {
            Some((last, before)) => (last.clone(), before),
            None => (String::new(), words),
        };
        let mut line = TypedLine {
            program,
            command: program,
            verb: None,
            words: Vec::new(),
            given: Vec::new(),
            option: None,
            prefix: String::new(),
            current,
        };
        let mut only_words = false;
        for word in before {
            match line.option.take() {
                Some(option) => line.given.push((option, word.clone())),
                None if word == "--" && !only_words => only_words = true,
                None if !only_words && word.starts_with('-') && word.len() > 1 => line.take_option(word),
                None => line.take_word(word),
            }
        }
        line.split_value();
        line
    }

    fn take_option(&mut self, word: &str) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(option) = self.find(name) else { return };
        match value {
            Some(value) => self.given.push((option, value.to_owned())),
            None if takes_next(option) => self.option = Some(option),
            None => {}
        }
    }

    fn take_word(&mut self, word: &str) {
        let inner = self.command.find_subcommand(word).filter(|_| self.words.is_empty());
        match inner {
            Some(inner) => {
                self.verb = self.verb.or(Some(inner.get_name()));
                self.command = inner;
            }
            None => {
                // a recipe instead of a command
                if self.verb.is_none() {
                    self.command = self.program.find_subcommand("run").unwrap_or(self.program);
                    self.verb = Some("run");
                }
                self.words.push(word.to_owned());
            }
        }
    }

    /// Takes `--set=na` apart.
    fn split_value(&mut self) {
        if self.option.is_some() || !self.current.starts_with("--") {
            return;
        }
        if let Some((name, value)) = self.current.clone().split_once('=') {
            self.option = self.find(name);
            self.prefix = format!("{name}=");
            self.current = value.to_owned();
        }
    }

    /// An option of the command or of the program by its name.
    fn find(&self, name: &str) -> Option<&'c Arg> {
        let is_it = |arg: &&'c Arg| match name.strip_prefix("--") {
            Some(long) => longs(arg).any(|known| known == long),
            None => arg.get_short().is_some_and(|short| name.strip_prefix('-') == Some(&short.to_string())),
        };
        self.command.get_arguments().find(is_it).or_else(|| self.program.get_arguments().find(is_it))
    }

    /// The values of an option, in their order.
    pub(super) fn values(&self, long: &str) -> Vec<&str> {
        let is_it = |(arg, _): &&(&Arg, String)| arg.get_long() == Some(long);
        self.given.iter().filter(is_it).map(|(_, value)| value.as_str()).collect()
    }
}

/// Whether the next word is the value of an option.
fn takes_next(option: &Arg) -> bool {
    option.get_action().takes_values() && !option.is_require_equals_set()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn a_line_is_taken_apart() {
        let command = Cli::command();
        for (typed, expected) in [
            ("", "None [] None ''"),
            ("res", "None [] None 'res'"),
            ("mine.yaml --set ", "Some(\"run\") [\"mine.yaml\"] Some(\"set\") ''"),
            ("run mine --set=a", "Some(\"run\") [\"mine\"] Some(\"set\") 'a'"),
            ("-R dir logs last ", "Some(\"logs\") [\"last\"] None ''"),
            ("--auto-fix mine ", "Some(\"run\") [\"mine\"] None ''"),
            ("manifest check ", "Some(\"manifest\") [] None ''"),
            ("resume --from b", "Some(\"resume\") [] Some(\"from\") 'b'"),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let line = TypedLine::read(&words, &command);
            let option = line.option.and_then(Arg::get_long);
            let found = format!("{:?} {:?} {option:?} '{}'", line.verb, line.words, line.current);
            assert_eq!(found, expected, "{typed}");
        }
    }
}
