//! The fields of a recipe file, each with its place.
//!
//! Never decides their meaning: `check` does. Only a checked plan can run.

mod agent;
mod ask_field;
mod choices;
pub(crate) mod foreign;
pub mod kinds;
mod repeat;
mod retry;
mod seconds;
pub mod shape;
mod shown;

pub use agent::{PermissionsFieldsSyntax, PermissionsSyntax, ProgramsSyntax};
pub use ask_field::AskFieldSyntax;
pub use choices::{
    Backoff, ExitMeaning, InputKind, PermissionLevel, RetryOn, Rule, Schedule, Shell, StepType, When,
};
use kinds::{CountNode, Named, WithDigest};
pub use repeat::{OnExhausted, RepeatSyntax};
pub use retry::{RetryFieldsSyntax, RetrySyntax};
pub use seconds::Seconds;
use serde_json::{Value as Json, json};
use shape::{Shape, Spanned, shape, shape_schema};
pub use shown::{ShownFieldsSyntax, ShownSyntax};

use crate::{value::Value, yaml::Node};

/// A list of texts.
pub type Texts = Vec<Spanned<String>>;

shape! {
    /// A recipe as it is written.
    RecipeSyntax "recipe" {
        /// Name of the recipe.
        "name" name: String, required;
        /// Version of the recipe.
        "version" version: String;
        /// What the recipe is for.
        "description" description: String;
        /// Who wrote it.
        "author" author: String;
        /// Words to sort recipes by.
        "tags" tags: Texts;
        /// Variables and their default values.
        "context" context: Named<Value>;
        /// The recipe that this one builds on: its fields and steps are inherited.
        "extends" extends: String;
        /// Limits on sub-recipes.
        "recursion" recursion: RecursionSyntax;
        /// Shell commands that run around every step.
        "hooks" hooks: HooksSyntax;
        /// Conditions that context variables must meet before the first step runs.
        "context_validation" context_validation: Named<Rule>;
        /// Variables that the caller passes to the recipe.
        "inputs" inputs: Vec<Spanned<InputSyntax>>;
        /// The result text of the recipe, rendered when its steps are done.
        "output" output: OutputSyntax;
        /// Timeout for bash and agent steps that do not set their own, in seconds or with units as in `10m`; a recipe step
        /// has only its own.
        "default_step_timeout" default_step_timeout: Seconds;
        /// Context names whose values are secret and masked wherever they would be shown.
        "secrets" secrets: Texts;
        /// Environment variables that the recipe needs, files that define them, and variables for all steps.
        "env" env: EnvironmentSyntax;
        /// Limits on the agents of the recipe; it stops at the first that is reached.
        "budget" budget: BudgetSyntax;
        /// What the agents of the recipe and its sub-recipes may do: `read-only`, `edit` or `full`, for steps and recipes
        /// that do not say so themselves; `full` unless set.
        "permissions" permissions: PermissionsSyntax;
        /// Whether steps run one after the other, or each as soon as the steps that it needs have completed;
        /// `sequence` unless set.
        "schedule" schedule: Schedule;
        /// How commands run: `bash` as they are written, `strict` with `bash -euo pipefail`, so that the first failure ends
        /// them; `bash` unless set. Hooks and the commands of `ensure` follow the recipe.
        "shell" shell: Shell;
        /// The steps, in order.
        "steps" steps: Vec<Spanned<WithDigest<StepSyntax>>>;
    }
}

shape! {
    /// Limits on sub-recipes.
    RecursionSyntax "`recursion` map" {
        /// How deeply recipes may nest below this one; 6 unless set.
        "max_depth" max_depth: u64;
        /// How many steps may run in this recipe and everything below it; 200 unless set.
        "max_total_steps" max_total_steps: u64;
    }
}

shape! {
    /// Shell commands that run around every step.
    HooksSyntax "`hooks` map" {
        /// Runs before each step.
        "pre_step" pre_step: String;
        /// Runs after each step that succeeds.
        "post_step" post_step: String;
        /// Runs after each step that fails.
        "on_error" on_error: String;
    }
}

shape! {
    /// A variable that the caller passes to the recipe.
    InputSyntax "`inputs` entry" {
        /// Name of the variable.
        "name" name: String, required;
        /// What it is for.
        "description" description: String;
        /// Whether the recipe refuses to start without it; `false` unless set.
        "required" required: bool;
        /// Value that is used when none is given.
        "default" default: Value;
        /// Type of the value; `text` unless set.
        "type" kind: InputKind;
        /// The texts that a `choice` takes.
        "choices" choices: Texts;
        /// Regular expression that the whole value of a `text` must match.
        "pattern" pattern: String;
    }
}

shape! {
    /// The result text of a recipe.
    OutputSyntax "`output` map" {
        /// Format of the text: `text`, `markdown`, `json`. A warning is printed if `json` is not valid JSON.
        "format" format: String;
        /// Template of the text; without one, the result is the output of the last step.
        "template" template: String;
        /// Print nothing but this text on stdout; `false` unless set. Progress, the output of steps and the summary go to
        /// stderr. It counts for the main recipe of a run.
        "only" only: bool;
    }
}

shape! {
    /// Environment variables that a recipe needs, and those that it sets.
    EnvironmentSyntax "`env` map" {
        /// Names that must be set and not empty before the first step.
        "required" required: Texts;
        /// Files of `NAME=value` lines to read; `.env.local` and `.env` unless set.
        "files" files: Texts;
        /// Variables for all steps, also those of sub-recipes, with templates in their values. They take precedence over the
        /// inherited environment and over files; the `env` of a step takes precedence over them.
        "set" set: Named<String>;
    }
}

shape! {
    /// Limits on the agents of a recipe.
    BudgetSyntax "`budget` map" {
        /// Dollars.
        "usd" usd: f64;
        /// Tokens, in and out.
        "tokens" tokens: u64;
        /// Maximum number of agent calls.
        "agent_runs" agent_runs: u64;
        /// Maximum minutes of agent work, added up.
        "minutes" minutes: f64;
    }
}

shape! {
    /// A step as it is written.
    StepSyntax "step" {
        /// Unique name of the step.
        "id" id: String, required;
        /// Title for people.
        "name" name: String;
        /// What the step is for.
        "description" description: String;
        /// Kind of step; inferred from the other fields unless set.
        "type" kind: StepType;
        /// Shell command of a bash step.
        "command" command: String;
        /// How the command runs: `bash` or `strict`; as the recipe sets it unless set.
        "shell" shell: Shell;
        /// Agent file that gives an agent step its system prompt, as `namespace:category:name`.
        "agent" agent: String;
        /// Task of an agent step.
        "prompt" prompt: String;
        /// File with the task of an agent step, a path relative to the recipe; its text may have `{{names}}`.
        "prompt_file" prompt_file: String;
        /// Recipe that a recipe step runs.
        "recipe" recipe: String;
        /// Question of an ask step: the run waits until a person answers it.
        "ask" ask: String;
        /// What the person sees with the question: files as paths, or text with `{{names}}`.
        "show" show: Vec<Spanned<ShownSyntax>>;
        /// Answers that the person can choose from; `approve` and `reject` unless set.
        "choices" choices: Texts;
        /// Values that the person gives with the answer.
        "fields" fields: Vec<Spanned<AskFieldSyntax>>;
        /// What happens to a question when its `timeout` has passed: one of its `choices`, or `fail`; `fail` unless set.
        "on_timeout" on_timeout: String;
        /// Context values that a recipe step passes to its recipe.
        "context" context: Named<Node>;
        /// The same as `context`.
        "sub_context" sub_context: Named<Node>;
        /// Variable that takes the step's output; the step's id unless set.
        "output" output: String;
        /// Expression that must hold for the step to run.
        "condition" condition: String;
        /// Whether the step runs while all goes well, after a failure, or in both cases; `ok` unless set.
        "when" when: When;
        /// Earlier steps whose work this `failed` or `always` step undoes: after it has cleaned up, a resume runs them again.
        /// `[]` says that it undoes nothing.
        "undoes" undoes: Texts;
        /// Read the output as JSON.
        "parse_json" parse_json: bool;
        /// Fail the step if its output holds no JSON.
        "parse_json_required" parse_json_required: bool;
        /// JSON Schema that the output must meet.
        "json_schema" json_schema: Value;
        /// How often an agent is asked again for valid JSON; 1 unless set.
        "json_retries" json_retries: u64;
        /// Execution mode; accepted, and without effect on the agent programs.
        "mode" mode: String;
        /// Directory that the step runs in.
        "working_dir" working_dir: String;
        /// Time after which the step is ended, in seconds or with units: `90`, `90s`, `10m`, `1h30m`. For a question, counted
        /// from the first time that it was put.
        "timeout" timeout: Seconds;
        /// Time without output, file or processor activity after which an agent is ended, in seconds or with units.
        "idle_timeout" idle_timeout: Seconds;
        /// Stage changed files with git after an agent step; `true` unless set.
        "auto_stage" auto_stage: bool;
        /// Model that an agent step uses, or the agent that recovers a recipe step.
        "model" model: String;
        /// Agent program that an agent step uses, or that recovers a recipe step. Of a list, the first that is installed; the
        /// next one if its service refuses: rate limit, login, outage. A name may have `{{names}}`; one that is empty when the
        /// step runs is left out, and without any name the step uses the program of the run.
        "agent_binary" agent_binary: ProgramsSyntax;
        /// What an agent may do: `read-only`, `edit` or `full`; as the recipe says unless set. A program that cannot be limited
        /// so is refused; `{level: read-only, required: false}` only asks for it.
        "permissions" permissions: PermissionsSyntax;
        /// More arguments for the agent program, after those that the runner sets.
        "agent_args" agent_args: Texts;
        /// Earlier agent step whose conversation this step continues, with the same program.
        "continues" continues: String;
        /// Let an agent try to finish the work when the sub-recipe fails.
        "recovery_on_failure" recovery_on_failure: bool;
        /// Continue the recipe if this step fails.
        "continue_on_error" continue_on_error: bool;
        /// `fatal: false` is the same as `continue_on_error: true`.
        "fatal" fatal: bool;
        /// The same as `continue_on_error`.
        "nonfatal" nonfatal: bool;
        /// Tags that `--include-tags` and `--exclude-tags` select steps by.
        "when_tags" when_tags: Texts;
        /// Neighbouring steps with the same group name run at the same time.
        "parallel_group" parallel_group: String;
        /// Run the step once for each item of a list: a list, or a template that leads to one.
        "for_each" for_each: Node;
        /// Name of the item inside the step; `item` unless set.
        "as" item_name: String;
        /// How many instances of a `for_each` step run at the same time: a number, or a template that leads to one; 1 unless set.
        "max_parallel" max_parallel: CountNode;
        /// Run the other items of `for_each` although one has failed; `false` unless set.
        "keep_going" keep_going: bool;
        /// Most items that `for_each` takes; 100 unless set, at most 10000.
        "max_items" max_items: u64;
        /// Run the step again until a condition holds.
        "repeat" repeat: RepeatSyntax;
        /// What to do when an attempt fails.
        "retry" retry: RetrySyntax;
        /// Steps that must have completed.
        "depends_on" depends_on: Texts;
        /// Extra environment variables.
        "env" env: Named<String>;
        /// Largest value in bytes that is passed in an environment variable.
        "max_env_value_bytes" max_env_value_bytes: u64;
        /// Whether the step may run again when it was interrupted; `true` unless set.
        "idempotent" idempotent: bool;
        /// What the step does to the world outside: `push`, `pr`, `deploy`, …
        "effects" effects: Texts;
        /// Files that the step reads, as patterns.
        "reads" reads: Texts;
        /// Files that the step writes, as patterns.
        "produces" produces: Texts;
        /// Rules that must hold after the step's work; the step fails if one does not.
        "ensure" ensure: Vec<Spanned<EnsureSyntax>>;
        /// How often the step is repeated while a rule of `ensure` is not met; 1 for agent steps and 0 for others unless set.
        "ensure_retries" ensure_retries: u64;
        /// What exit codes mean: `needs_human` stops the run for a person.
        "exit_codes" exit_codes: Named<ExitMeaning>;
    }
}

shape! {
    /// A rule that must hold after the step's work; each rule has exactly one field.
    EnsureSyntax "`ensure` rule" {
        /// File patterns; at least one changed file must match one of them.
        "changed" changed: Texts;
        /// File patterns; no changed file may match one of them.
        "unchanged" unchanged: Texts;
        /// File patterns; every changed file must match one of them.
        "only_changed" only_changed: Texts;
        /// Most files that may change.
        "max_changed_files" max_changed_files: u64;
        /// File that must exist and not be empty, as a path or a pattern.
        "file" file: String;
        /// Shell command that must exit with 0.
        "command" command: String;
        /// Expression that must hold; it sees the value of the step.
        "condition" condition: String;
    }
}

/// The JSON Schema of recipe files.
pub fn schema() -> Json {
    let mut schema = shape_schema::<RecipeSyntax>();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Recipe");
    schema["description"] =
        json!("A workflow of shell commands, coding agents, sub-recipes and questions to people.");
    schema
}

/// The fields of recipes and steps with their documentation, shape by shape.
pub fn reference() -> Vec<(&'static str, &'static [shape::Field])> {
    vec![
        (RecipeSyntax::NAME, RecipeSyntax::FIELDS),
        (StepSyntax::NAME, StepSyntax::FIELDS),
        (RecursionSyntax::NAME, RecursionSyntax::FIELDS),
        (HooksSyntax::NAME, HooksSyntax::FIELDS),
        (InputSyntax::NAME, InputSyntax::FIELDS),
        (OutputSyntax::NAME, OutputSyntax::FIELDS),
        (EnvironmentSyntax::NAME, EnvironmentSyntax::FIELDS),
        (BudgetSyntax::NAME, BudgetSyntax::FIELDS),
        (RepeatSyntax::NAME, RepeatSyntax::FIELDS),
        (RetryFieldsSyntax::NAME, RetryFieldsSyntax::FIELDS),
        (PermissionsFieldsSyntax::NAME, PermissionsFieldsSyntax::FIELDS),
        (EnsureSyntax::NAME, EnsureSyntax::FIELDS),
        (ShownFieldsSyntax::NAME, ShownFieldsSyntax::FIELDS),
        (AskFieldSyntax::NAME, AskFieldSyntax::FIELDS),
    ]
}
