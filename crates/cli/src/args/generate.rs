//! The command line of `generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::options::Format;

/// Heading of the flags that decide what the spec leaves open.
const DECISIONS: &str = "Decisions";

/// Heading of the flags that let an agent help.
const AGENT: &str = "Help of an agent";

/// Generating a recipe.
#[derive(Debug, Args)]
#[command(after_help = "\
SPEC is a path if it ends in .md or .txt, or has a / and no blank; everything else is the spec itself.
A spec has a title, a goal and acceptance criteria:

  # Add a --json flag

  ## Goal
  `t list` can print JSON. The code is in `src/list.rs`.

  ## Acceptance
  - `t list --json` prints JSON with `items`
  - all tests pass")]
pub(crate) struct GenerateArgs {
    /// Spec: a Markdown file, the text itself, or - for stdin
    #[arg(value_name = "SPEC", allow_hyphen_values = true)]
    pub(crate) spec: Option<String>,
    /// Name of the recipe and its files; from the title unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// File of the recipe, or folder for it; recipes/NAME.yaml unless given
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Answer to question N; may be repeated
    #[arg(long = "answer", value_name = "N=TEXT", help_heading = DECISIONS)]
    pub(crate) answers: Vec<String>,
    /// Answer the remaining questions by rule, and record each answer
    #[arg(long, alias = "best-judgment", help_heading = DECISIONS)]
    pub(crate) best_judgement: bool,
    /// Shape of the step graph, whatever the spec says
    #[arg(long, value_name = "PATTERN", help_heading = DECISIONS)]
    pub(crate) pattern: Option<PatternArg>,
    /// How much review: light has one reviewer
    #[arg(long, value_name = "DEPTH", help_heading = DECISIONS)]
    pub(crate) depth: Option<DepthArg>,
    /// Agent program that writes
    #[arg(long, value_name = "PROGRAM", help_heading = DECISIONS)]
    pub(crate) writer: Option<String>,
    /// Agent programs that review, in turn, with commas between them
    #[arg(long, value_name = "PROGRAMS", value_delimiter = ',', help_heading = DECISIONS)]
    pub(crate) reviewers: Option<Vec<String>>,
    /// Open a pull request when everything is accepted
    #[arg(long, conflicts_with = "no_pr", help_heading = DECISIONS)]
    pub(crate) pr: bool,
    /// Open no pull request, whatever the spec says
    #[arg(long, help_heading = DECISIONS)]
    pub(crate) no_pr: bool,
    /// Run the recipe afterwards, if it is ready
    #[arg(long)]
    pub(crate) run: bool,
    /// Let an agent improve prompts; one call, and only changes that pass the proof
    #[arg(long, conflicts_with = "author", help_heading = AGENT)]
    pub(crate) refine: bool,
    /// Who writes the recipe
    #[arg(long, value_name = "AUTHOR", help_heading = AGENT)]
    pub(crate) author: Option<AuthorArg>,
    /// Agent program for --refine and --author agent
    #[arg(long, value_name = "PROGRAM", help_heading = AGENT)]
    pub(crate) agent_binary: Option<String>,
    /// Directory of the project; the current one unless given
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) working_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// `--pattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternArg {
    /// One stream of work
    Pipeline,
    /// Several items or tracks
    #[value(alias = "dag")]
    Graph,
    /// A read-only plan first
    Supervisor,
}

/// `--depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DepthArg {
    /// One reviewer
    Light,
    /// Two reviewers
    Full,
}

/// `--author`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthorArg {
    /// Fixed rules; the same spec gives the same bytes
    Generator,
    /// An agent, with the same proof
    Agent,
}
