//! The first screen: shown when the program is called without arguments.
//!
//! Never longer than a small terminal.

use crate::{exit::Exit, out::Out};

const SCREEN: &str = "\
recipe-runner-rs runs recipes: YAML files whose steps are shell commands, coding
agents and other recipes. It checks a recipe first, and a run can be resumed.

Run shell commands
  Write a recipe with the build and test commands of this project, and tests:
    recipe-runner-rs init

Use a coding agent
  Give it a task in plain words: recipe-runner-rs do TASK
  See first which agent programs this machine has:
    recipe-runner-rs doctor

Look around
  See the recipes that can run here, and the steps of one. Nothing is executed:
    recipe-runner-rs list
    recipe-runner-rs explain verification-workflow

All commands and options:
    recipe-runner-rs --help
";

/// Shows it. Nothing was requested, so this is not a success.
pub(crate) fn show(out: &mut Out) -> Exit {
    out.notice(SCREEN);
    Exit::BadArguments
}

#[cfg(test)]
mod tests {
    use super::SCREEN;

    #[test]
    fn the_first_screen_is_short() {
        assert!(SCREEN.lines().count() <= 25);
        assert!(SCREEN.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn every_command_on_it_exists() {
        let commands: Vec<&str> =
            SCREEN.lines().filter_map(|line| line.strip_prefix("    recipe-runner-rs ")).collect();
        assert_eq!(commands, ["init", "doctor", "list", "explain verification-workflow", "--help"]);
        for command in commands.into_iter().filter(|command| *command != "--help") {
            let words = std::iter::once("recipe-runner-rs").chain(command.split(' '));
            assert!(crate::args::parse(words.map(Into::into).collect()).is_ok(), "{command}");
        }
    }
}
