//! The fields of a recipe file, each with its place.
//!
//! Never decides their meaning: `check` does. Only a checked plan can run.

pub mod kinds;
pub mod shape;

use kinds::{Named, WithDigest, words};
use serde_json::{Value as Json, json};
use shape::{Decode, Shape, Spanned, shape, shape_schema};

use crate::{
    diagnostic::Diagnostic,
    value::Value,
    yaml::{Node, NodeKind},
};

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
        /// Timeout in seconds for bash and agent steps that do not set their own; a recipe step has only its own.
        "default_step_timeout" default_step_timeout: f64;
        /// Context names whose values are secret and masked wherever they would be shown.
        "secrets" secrets: Texts;
        /// Environment variables that the recipe needs, and files that define them.
        "env" env: EnvironmentSyntax;
        /// Limits on the agents of the recipe; it stops at the first that is reached.
        "budget" budget: BudgetSyntax;
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
        /// Kind of value, for people to read.
        "type" kind: String;
    }
}

shape! {
    /// The result text of a recipe.
    OutputSyntax "`output` map" {
        /// Format of the text: `text`, `markdown`, `json`. A warning is printed if `json` is not valid JSON.
        "format" format: String;
        /// Template of the text; without one, the result is the output of the last step.
        "template" template: String;
    }
}

shape! {
    /// Environment variables that a recipe needs.
    EnvironmentSyntax "`env` map" {
        /// Names that must be set and not empty before the first step.
        "required" required: Texts;
        /// Files of `NAME=value` lines to read; `.env.local` and `.env` unless set.
        "files" files: Texts;
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
        /// Agent file that gives an agent step its system prompt, as `namespace:category:name`.
        "agent" agent: String;
        /// Task of an agent step.
        "prompt" prompt: String;
        /// Recipe that a recipe step runs.
        "recipe" recipe: String;
        /// Context values that a recipe step passes to its recipe.
        "context" context: Named<Node>;
        /// The same as `context`.
        "sub_context" sub_context: Named<Node>;
        /// Variable that takes the step's output; the step's id unless set.
        "output" output: String;
        /// Expression that must hold for the step to run.
        "condition" condition: String;
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
        /// Seconds after which the step is ended.
        "timeout" timeout: f64;
        /// Seconds without output, file or processor activity after which an agent is ended.
        "idle_timeout" idle_timeout: f64;
        /// Stage changed files with git after an agent step; `true` unless set.
        "auto_stage" auto_stage: bool;
        /// Model that an agent step uses, or the agent that recovers a recipe step.
        "model" model: String;
        /// Agent program that an agent step uses, or that recovers a recipe step.
        "agent_binary" agent_binary: String;
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
        /// What exit codes mean: `needs_human` stops the run for a person.
        "exit_codes" exit_codes: Named<ExitMeaning>;
    }
}

shape! {
    /// What to do when an attempt fails.
    RetryFieldsSyntax "`retry` map" {
        /// Number of attempts, the first one included.
        "max_attempts" max_attempts: u64;
        /// Seconds before the second attempt; 1 unless set.
        "delay" delay: f64;
        /// Whether the delay stays the same or doubles each time; `fixed` unless set.
        "backoff" backoff: Backoff;
        /// Longest delay in seconds.
        "max_delay" max_delay: f64;
        /// Which failures are retried; all unless set, but rate limits as the environment variables say.
        "on" on: Vec<Spanned<RetryOn>>;
    }
}

/// `retry: 3`, or the fields one by one.
#[derive(Clone, Debug)]
pub enum RetrySyntax {
    /// Number of attempts, the first one included.
    Attempts(u64),
    /// Field by field.
    Fields(Box<RetryFieldsSyntax>),
}

impl Decode for RetrySyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<RetrySyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                RetryFieldsSyntax::decode(node, name, diagnostics).map(Box::new).map(RetrySyntax::Fields)
            }
            _ => u64::decode(node, name, diagnostics).map(RetrySyntax::Attempts),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, RetryFieldsSyntax::schema()] })
    }
}

words! {
    /// The kind of a step.
    StepType {
        /// A shell command.
        Bash "bash",
        /// A coding agent.
        Agent "agent",
        /// A sub-recipe.
        Recipe "recipe",
    }
}

words! {
    /// What a context variable must be.
    Rule {
        /// Not empty.
        Nonempty "nonempty",
        /// A path that exists.
        Path "path",
        /// A git work tree.
        GitRepo "git_repo",
        /// Anything, also an empty value.
        Optional "optional",
    }
}

words! {
    /// How the delay between attempts grows.
    Backoff {
        /// Not at all.
        Fixed "fixed",
        /// It doubles.
        Exponential "exponential",
    }
}

words! {
    /// A failure that can be tried again.
    RetryOn {
        /// The program ended with another exit code than 0, or by a signal.
        Exit "exit",
        /// The step's timeout fired.
        Timeout "timeout",
        /// The agent's service asked to slow down.
        RateLimit "rate_limit",
        /// The output was not the required JSON.
        Json "json",
    }
}

words! {
    /// What an exit code means.
    ExitMeaning {
        /// The step waits for a person.
        NeedsHuman "needs_human",
        /// The step failed.
        Failed "failed",
        /// The step succeeded.
        Ok "ok",
    }
}

/// The JSON Schema of recipe files.
pub fn schema() -> Json {
    let mut schema = shape_schema::<RecipeSyntax>();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Recipe");
    schema["description"] = json!("A workflow of shell commands, coding agents and sub-recipes.");
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
        (RetryFieldsSyntax::NAME, RetryFieldsSyntax::FIELDS),
    ]
}
