//! Commands that people can type, as texts: they work as they are, from any directory.
//!
//! Never runs one.

use std::path::Path;

/// How stored runs are reached from a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    flag: String,
}

impl Reach {
    /// Through a state directory that has to be named; through the usual one without.
    pub fn through(state_dir: Option<&Path>) -> Reach {
        let flag = state_dir.map(|dir| format!(" --state-dir {}", quote(&dir.to_string_lossy())));
        Reach { flag: flag.unwrap_or_default() }
    }

    /// The command with these words, which are quoted already.
    pub fn command(&self, words: &str) -> String {
        format!("recipe-runner-rs {words}{}", self.flag)
    }
}

/// A word as a shell takes it.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
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
        let reach = Reach::through(Some(Path::new("/my runs")));
        assert_eq!(reach.command("show x"), "recipe-runner-rs show x --state-dir '/my runs'");
        assert_eq!(Reach::default().command("show x"), "recipe-runner-rs show x");
    }
}
