//! The help of the program itself: one screen with its commands in groups. The help of a command lists its options.
//!
//! Never says what a command does: those words are with the commands.

use anstyle::Style;
use clap::{Args, Command, builder::StyledStr};

use super::options::Format;
use crate::report::hints::plain;

const HEADING: Style = Style::new().bold().underline();
const NAME: Style = Style::new().bold();

/// The commands in groups.
const GROUPS: &[(&str, &[&str])] = &[
    ("Recipes", &["run", "do", "validate", "lint", "test", "explain", "list", "init", "generate"]),
    ("Runs", &["runs", "show", "logs", "why", "resume", "waiting", "answer", "cancel", "prune", "health"]),
    (
        "More",
        &[
            "doctor",
            "branch-name",
            "schema",
            "completions",
            "manifest",
            "sync",
            "compat",
            "orch",
            "man",
            "help",
        ],
    ),
];

/// The options that are needed most often.
const OFTEN: &str = "-c, --set KEY=VALUE · --dry-run · -C, --working-dir DIR · -V, --version\n  \
                     --output-format FORMAT";

/// Printing help.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The command
    #[arg(value_name = "COMMAND", num_args = 0..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The help of the program.
pub(crate) fn overview(command: &Command) -> StyledStr {
    let about = command.get_about().map(StyledStr::to_string).unwrap_or_default();
    let mut text = format!("{about}\n{HEADING}Usage:{HEADING:#} {}\n", plain("[OPTIONS] RECIPE | COMMAND …"));
    for (title, verbs) in GROUPS {
        text.push_str(&format!("\n{HEADING}{title}:{HEADING:#}\n"));
        for verb in verbs.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = verb.get_about().map(StyledStr::to_string).unwrap_or_default();
            text.push_str(&format!("  {NAME}{:<11}{NAME:#}  {about}\n", verb.get_name()));
        }
    }
    text.push_str(&format!("\n{HEADING}Options:{HEADING:#} {OFTEN}; all: `{}`\n", plain("run --help")));
    StyledStr::from(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn the_help_of_the_program_is_one_screen() {
        let text = overview(&Cli::command()).to_string();
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let mut shown: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let mut verbs: Vec<&str> =
            command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
        shown.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(shown, verbs);
    }
}
