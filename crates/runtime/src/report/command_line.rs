//! Commands for users to type, as texts: they work in any directory.
//!
//! Never runs one.

use std::path::Path;

use crate::os::shell_word::quote;

/// How a command line reaches stored runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliHint {
    flag: String,
}

impl CliHint {
    /// Through this state directory; `None` means the default one.
    pub fn through(state_dir: Option<&Path>) -> CliHint {
        let flag = state_dir.map(|dir| format!(" --state-dir {}", quote(&dir.to_string_lossy())));
        CliHint { flag: flag.unwrap_or_default() }
    }

    /// The command with these words, which are already quoted.
    pub fn command(&self, words: &str) -> String {
        format!("recipe-runner-rs {words}{}", self.flag)
    }

    /// The command with these words about a step, which is not yet quoted.
    pub fn step_command(&self, words: &str, step: &str) -> String {
        match step.starts_with('-') {
            // after `--` nothing is taken for an option
            true => format!("{} -- {}", self.command(words), quote(step)),
            false => self.command(&format!("{words} {}", quote(step))),
        }
    }
}

/// An option with its value, which is not yet quoted.
pub fn option(flag: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!("{flag}{between}{}", quote(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        for (text, expected) in
            [("a/b-c.yaml", "a/b-c.yaml"), ("a b", "'a b'"), ("", "''"), ("it's", r"'it'\''s'"), ("~", "'~'")]
        {
            assert_eq!(quote(text), expected);
        }
        let reach = CliHint::through(Some(Path::new("/my runs")));
        assert_eq!(reach.command("show x"), "recipe-runner-rs show x --state-dir '/my runs'");
        assert_eq!(CliHint::default().command("show x"), "recipe-runner-rs show x");
    }

    #[test]
    fn what_begins_with_a_hyphen_is_not_taken_for_an_option() {
        let far = CliHint::through(Some(Path::new("/d")));
        for (step, command, from) in [
            ("a/b", "recipe-runner-rs logs x a/b --state-dir /d", "--from a/b"),
            ("a b", "recipe-runner-rs logs x 'a b' --state-dir /d", "--from 'a b'"),
            ("-n", "recipe-runner-rs logs x --state-dir /d -- -n", "--from=-n"),
            ("--help", "recipe-runner-rs logs x --state-dir /d -- --help", "--from=--help"),
            ("-a b", "recipe-runner-rs logs x --state-dir /d -- '-a b'", "--from='-a b'"),
        ] {
            assert_eq!(
                (far.step_command("logs x", step), option("--from", step)),
                (command.into(), from.into())
            );
        }
    }
}
