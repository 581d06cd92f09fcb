//! The command line: every verb and flag, and where they may stand.
//!
//! Never acts on anything; reading arguments has no effect beyond `--help` and `--version` texts.

pub(crate) mod compat;
mod everywhere;
pub(crate) mod generate;
pub(crate) mod help;
pub(crate) mod lint;
mod manifest;
pub(crate) mod options;
pub(crate) mod orch;
mod order;
pub(crate) mod run_verbs;
pub(crate) mod session;
pub(crate) mod stored;
pub(crate) mod task;
pub(crate) mod test;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub(crate) use everywhere::longs;
pub(crate) use manifest::{ManifestAction, ManifestArgs};
use options::{Format, Places, RUN, Reading, RunOptions};
use recipe::syntax::PermissionLevel;

/// Runs recipes: workflows of shell commands, coding agents and sub-recipes.
#[derive(Debug, Parser)]
#[command(
    name = "recipe-runner-rs",
    version = env!("RECIPE_RUNNER_VERSION"),
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    override_usage = "recipe-runner-rs [OPTIONS] RECIPE\n       recipe-runner-rs [OPTIONS] COMMAND …"
)]
pub(crate) struct Cli {
    /// What to do, unless a recipe is to be run.
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    /// The recipe to run, and how.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print help
    #[arg(short, long, global = true, action = clap::ArgAction::HelpShort, help_heading = options::OUTPUT)]
    pub(crate) help: Option<bool>,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[command(args_override_self = true)]
pub(crate) enum Verb {
    /// Run a recipe (the same as the recipe alone)
    #[command(
        after_help = "A recipe that has the name of a command is run by its path: recipe-runner-rs ./list.yaml"
    )]
    Run(RunArgs),
    /// Have a task in plain words done, and judge the result by evidence
    Do(Box<task::DoArgs>),
    /// Check recipes and test files, without running anything
    Validate(ValidateArgs),
    /// Find weak spots of valid recipes, such as checks that cannot fail
    #[command(after_help = "Without FILE: the recipes in the current directory and in ./recipes.\n\
                      Exit code 1: an error was found; with --deny warning, also a warning.")]
    Lint(lint::LintArgs),
    /// Run the cases of test files, with answers in place of agents
    Test(Box<test::TestArgs>),
    /// Explain a recipe: its steps, conditions, limits and sub-recipes
    Explain(ExplainArgs),
    /// List the recipes that can be run by name
    List(ListArgs),
    /// List past and present runs, newest first
    Runs(stored::RunsArgs),
    /// Show one run
    Show(stored::ShowArgs),
    /// Show the output of a run's steps
    Logs(stored::LogsArgs),
    /// Say why a step of a run ran, was skipped, kept or re-run
    Why(stored::WhyArgs),
    /// Resume an interrupted, failed or waiting run
    Resume(stored::ResumeArgs),
    /// List the questions that wait for a person, oldest first
    Waiting(stored::WaitingArgs),
    /// Answer a question of a run, and resume the run
    Answer(stored::AnswerArgs),
    /// Stop a run
    Cancel(stored::CancelArgs),
    /// Remove old runs
    Prune(stored::PruneArgs),
    /// Show how reliable recipes are, from stored runs
    Health(stored::HealthArgs),
    /// Write a first recipe for the project in this directory
    Init(InitArgs),
    /// Write a recipe, its tests and a record from a spec in plain words
    Generate(Box<generate::GenerateArgs>),
    /// Check this machine: which programs are found or missing
    Doctor(DoctorArgs),
    /// Turn any text into the name of a git branch
    BranchName(BranchNameArgs),
    /// Print the JSON Schema of recipes, or of test files
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the digests of a directory's recipes, or compare them
    Manifest(ManifestArgs),
    /// Compare local recipes with those of a git remote
    Sync(SyncArgs),
    /// Rules for tasks and answers of agents, for use in recipes
    Orch(orch::OrchArgs),
    /// Stand in for `amplihack`, for recipes that call it
    Compat(compat::CompatArgs),
    /// Print the help of the program or of a command
    Help(help::HelpArgs),
    /// Print what a command line can be completed to, for the scripts of `completions`
    #[command(name = "__complete", hide = true)]
    Complete(CompleteArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

/// Running a recipe.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Recipe file, or the name of a recipe in a search directory
    #[arg(value_name = "RECIPE")]
    pub(crate) recipe: Option<String>,
    /// Values that the program itself gives; they are not typed again.
    #[arg(skip)]
    pub(crate) given: Vec<(String, recipe::value::Value)>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Check the recipe and everything it names, then stop
    #[arg(long, help_heading = RUN)]
    pub(crate) validate_only: bool,
    /// Explain the recipe, then stop
    #[arg(long, help_heading = RUN)]
    pub(crate) explain: bool,
    /// With `--explain`: print the graph of the steps instead
    #[arg(long, value_name = "KIND", requires = "explain", help_heading = RUN)]
    pub(crate) graph: Option<GraphKind>,
    /// Resume an earlier run of this recipe at this step
    #[arg(long, value_name = "STEP", requires = "previous_run_id", help_heading = RUN)]
    pub(crate) start_from: Option<String>,
    /// The earlier run to resume
    #[arg(long, value_name = "RUN", help_heading = RUN)]
    pub(crate) previous_run_id: Option<String>,
    /// With `--previous-run-id`: do not ask before completed agent steps run again
    #[arg(long, short = 'y', requires = "previous_run_id", help_heading = RUN)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Checking recipes.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Recipe files or names, or test files
    #[arg(value_name = "RECIPE")]
    pub(crate) recipes: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Explaining a recipe.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Recipe file or name
    #[arg(value_name = "RECIPE")]
    pub(crate) recipe: Option<String>,
    /// Print the graph of the steps instead
    #[arg(long, value_name = "KIND")]
    pub(crate) graph: Option<GraphKind>,
    /// Show every step in full, also those of a long recipe
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Agent program for steps that name none; several with commas between them are tried in that order
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_binary: Option<String>,
    /// What agents may do in steps that do not say so: read-only, edit or full
    #[arg(long, value_name = "LEVEL", value_parser = options::permission_level)]
    pub(crate) permissions: Option<PermissionLevel>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The language of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphKind {
    /// For Markdown pages
    Mermaid,
    /// For Graphviz
    Dot,
}

/// Listing recipes.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Show the inputs of every recipe: name, type, choices, default and description
    #[arg(long)]
    pub(crate) inputs: bool,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Writing a first recipe.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// File to write; never one that exists
    #[arg(value_name = "FILE", default_value = "recipe.yaml")]
    pub(crate) file: PathBuf,
    /// Directory of the project; the current one unless given
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) working_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Checking the machine.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Directory that recipes would work in; the current one unless given
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) working_dir: Option<PathBuf>,
    /// Ask each installed agent program for one word, and show its model, time and cost
    #[arg(long)]
    pub(crate) agents: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Naming a branch.
#[derive(Debug, Args)]
pub(crate) struct BranchNameArgs {
    /// Purpose of the branch; read from stdin unless given
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<OsString>,
    /// First part of the name
    #[arg(long, value_name = "PREFIX", default_value = "feat")]
    pub(crate) prefix: String,
    /// Number of the issue
    #[arg(long, value_name = "N")]
    pub(crate) issue: Option<String>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Printing the schema.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Print the JSON Schema of test files instead
    #[arg(long)]
    pub(crate) tests: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Printing completions.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Completing a command line.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The words after the program's name, the last of which is being typed
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    pub(crate) words: Vec<String>,
}

/// Printing manual pages.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for one page per command; the page of the program is printed unless given
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Comparing with a git remote.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Address or path of the git repository
    #[arg(value_name = "REMOTE_URL")]
    pub(crate) remote: String,
    /// Branch to compare with; the remote's own default unless given
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Local directory with recipes; the current one unless given
    #[arg(long, value_name = "DIR", short = 'C', alias = "working-dir")]
    pub(crate) dir: Option<PathBuf>,
    /// Directory inside the remote that matches the local one; its root unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The command that a word is close to, if it is close to one.
pub(crate) fn similar_verb(word: &str) -> Option<String> {
    let command = Cli::command();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    recipe::diagnostic::did_you_mean(word, verbs).map(str::to_owned)
}

/// What to type where a run should stand and does not.
pub(crate) fn missing_run(usage: &clap::Error) -> &'static str {
    let is_missing = usage.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    match is_missing && usage.to_string().contains("<RUN>") {
        true => {
            "\n`recipe-runner-rs answer last …` takes the newest run; `recipe-runner-rs waiting` lists questions\n"
        }
        false => "",
    }
}

/// Whether a command line that cannot be read asks for JSON.
pub(crate) fn wants_json(arguments: &[OsString]) -> bool {
    let flags = ["--output-format", "--format"];
    let is_flag = |word: &OsString| flags.iter().any(|flag| word == flag);
    let is_joined = |word: &OsString| flags.iter().any(|flag| *word == *format!("{flag}=json"));
    arguments.windows(2).any(|pair| is_flag(&pair[0]) && pair[1] == "json") || arguments.iter().any(is_joined)
}

/// The command that the first word is close to: more arguments make it an error of usage, not a missing recipe.
pub(crate) fn misspelt_verb(arguments: &[OsString]) -> Option<String> {
    let command = Cli::command();
    let word = arguments.get(order::first_word(arguments, &command)?)?.to_str()?;
    let meant = similar_verb(word).filter(|_| command.find_subcommand(word).is_none())?;
    Some(format!("did you mean the command `{meant}`?"))
}

/// What to say about a second recipe, which is taken for a command. `meant` is what the first one may be instead.
pub(crate) fn second_recipe(usage: &clap::Error, meant: Option<&str>) -> Option<String> {
    let text = usage.to_string();
    let (_, rest) = text.split_once("the subcommand '")?;
    let (word, _) = rest.split_once("' cannot be used with '[RECIPE]'")?;
    let hint = match (meant, word) {
        (Some(meant), _) => meant,
        (None, "last") => "did you mean `recipe-runner-rs resume last`?",
        (None, _) => "a run takes one recipe; `recipe-runner-rs validate` checks several at once",
    };
    Some(format!("error: unexpected argument `{word}`\n  {hint}\n"))
}

/// Reads the command line. Options may stand before and after the verb.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let command = Cli::command();
    let command = command.clone().override_help(help::overview(&command));
    let ordered = order::verb_first(arguments, &command);
    let command = everywhere::taken(command, ordered.get(1));
    let matches = command.try_get_matches_from(ordered)?;
    Cli::from_arg_matches(&matches)
}
