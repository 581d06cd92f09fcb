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
    ("Recipes", &["run", "do", "validate", "lint", "test", "explain", "list", "init"]),
    ("Runs", &["runs", "show", "logs", "why", "resume", "waiting", "answer", "cancel", "prune", "health"]),
    ("More", &["doctor", "branch-name", "schema", "completions", "manifest", "sync", "compat", "help"]),
];

/// The options of a run that are needed most often.
const OFTEN: &[&str] = &["set", "dry-run", "working-dir", "output-format"];

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
    let mut text = format!("{about}\n\n{HEADING}Usage:{HEADING:#} {}\n", plain("[OPTIONS] RECIPE"));
    text.push_str(&format!("       {}\n", plain("[OPTIONS] COMMAND …")));
    for (title, verbs) in GROUPS {
        text.push_str(&format!("\n{HEADING}{title}:{HEADING:#}\n"));
        for verb in verbs.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = verb.get_about().map(StyledStr::to_string).unwrap_or_default();
            text.push_str(&format!("  {NAME}{:<11}{NAME:#}  {about}\n", verb.get_name()));
        }
    }
    let all = plain("run --help");
    text.push_str(&format!("\n{HEADING}Options:{HEADING:#} (`{all}` shows all)\n"));
    for arg in
        OFTEN.iter().filter_map(|name| command.get_arguments().find(|arg| arg.get_long() == Some(name)))
    {
        let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_else(|| "    ".to_owned());
        let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
        let value = value.and_then(|names| names.first()).map(|name| format!(" {name}")).unwrap_or_default();
        let option = format!("{short}--{}{value}", arg.get_long().unwrap_or_default());
        let about = arg.get_help().map(StyledStr::to_string).unwrap_or_default();
        text.push_str(&format!("  {NAME}{option:<26}{NAME:#}  {}\n", first_part(&about)));
    }
    let last = "-h, --help, -V, --version";
    text.push_str(&format!("  {NAME}{last:<26}{NAME:#}  Print help, or the version\n"));
    StyledStr::from(text)
}

/// The first part of a sentence.
fn first_part(about: &str) -> &str {
    about.split([';', ',']).next().unwrap_or(about)
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
