//! Fields that other tools have and recipes do not, each with the field that is meant here.
//!
//! Only for fields that a shape does not declare. A word that would change whether, where, how often or with what
//! rights a step runs is an error; the few others only get better advice than an unknown field.

use super::shape::{Shape, article};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
    yaml::{Node, NodeKind},
};

/// Words of other tools that mean the same.
struct Foreign {
    /// The shape that they are written in: `step`, `recipe`, …
    owner: &'static str,
    /// The words, in lowercase and with `_`; other spellings of them count too.
    words: &'static [&'static str],
    /// The field of the same shape that is meant, if there is one.
    field: Option<&'static str>,
    /// What to write instead.
    help: &'static str,
    /// What happens to the recipe.
    weight: Weight,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The recipe is refused.
    Refused,
    /// The field is reported as any unknown one.
    Warned,
}

const fn refused(
    owner: &'static str,
    words: &'static [&'static str],
    field: Option<&'static str>,
    help: &'static str,
) -> Foreign {
    Foreign { owner, words, field, help, weight: Weight::Refused }
}

const fn warned(
    owner: &'static str,
    words: &'static [&'static str],
    field: &'static str,
    help: &'static str,
) -> Foreign {
    Foreign { owner, words, field: Some(field), help, weight: Weight::Warned }
}

const STEP: &str = "step";
const RECIPE: &str = "recipe";
const RETRY: &str = "`retry` map";
const REPEAT: &str = "`repeat` map";
const HOOKS: &str = "`hooks` map";
const BUDGET: &str = "`budget` map";
const RECURSION: &str = "`recursion` map";
const INPUT: &str = "`inputs` entry";
const ASK_FIELD: &str = "field of `ask`";
const ENSURE: &str = "`ensure` rule";
const ENV: &str = "`env` map";

const ON_STEPS: &str = "write it on each step that needs it";
const OF_RECIPE: &str = "write it at the top level of the recipe";
const RIGHTS: &str =
    "write `permissions: read-only`, `permissions: edit` or `permissions: full` on an agent step";
const CONTAINER: &str = "there is nothing like it: use `docker run …` in the `command`";
const MACHINE: &str = "there is nothing like it: steps run on this machine; use `ssh …` in the `command`";
const ROOT: &str =
    "there is nothing like it: steps run as the user who starts the run; use `sudo …` in the `command`";
const ARTIFACTS: &str = "there is nothing like it: files stay in the working directory; `produces` names those that a step writes";
const CACHE: &str = "there is nothing like it: `resume` keeps completed steps; use a cache in the `command`";
const USES: &str = "there is nothing like it: write a `command:`, or run another recipe with `recipe:`";
const TRIGGER: &str = "there is nothing like it: start the recipe from cron or from your CI service";
const TOLERATE: &str = "write `continue_on_error: true`";
const AFTER_FAILURE: &str =
    "add a step with `when: failed` or `when: always`; to ignore a failure, write `continue_on_error: true`";

/// The table.
#[rustfmt::skip]
const FOREIGN: &[Foreign] = &[
    // whether a step runs
    refused(STEP, &["if", "only_if", "run_if", "rules", "only"], Some("condition"), "write `condition: …`, an expression such as `status == 'ok'`"),
    refused(STEP, &["unless", "skip", "skip_if", "except", "disabled"], Some("condition"), "write `condition: not (…)`"),
    refused(STEP, &["enabled"], Some("condition"), "write `condition: …`, for example with a variable that is `true` or `false`"),
    refused(STEP, &["needs", "depends", "dependencies", "requires", "after"], Some("depends_on"), "write `depends_on: [STEP]`"),
    refused(STEP, &["finally", "always", "on_failure", "on_error", "on_success", "rescue", "try", "catch"], Some("when"), AFTER_FAILURE),
    refused(STEP, &["approval", "confirm", "pause", "manual"], Some("ask"), "add a step with `ask: QUESTION` before this one"),
    // what it runs
    refused(STEP, &["run", "cmd", "script", "scripts", "exec", "execute", "bash", "sh"], Some("command"), "write `command: …`; use `|` for several lines"),
    refused(STEP, &["uses", "action"], Some("command"), USES),
    refused(STEP, &["steps", "tasks", "block", "jobs"], Some("command"), "put the steps into a recipe of their own, and run it with `recipe: NAME`"),
    refused(STEP, &["with"], None, "use `context:` to pass values to a sub-recipe, and `env:` to pass them to a command"),
    refused(STEP, &["interpreter", "executable", "entrypoint"], Some("command"), "there is nothing like it: commands run in bash; call the program in the `command`"),
    refused(STEP, &["environment", "environ", "envs", "env_vars", "environment_variables"], Some("env"), "write `env: {NAME: value}`"),
    // where
    refused(STEP, &["cwd", "workdir", "dir", "working_directory", "directory", "chdir"], Some("working_dir"), "write `working_dir: PATH`"),
    refused(STEP, &["container", "containers", "image", "services", "docker"], None, CONTAINER),
    refused(STEP, &["runs_on", "hosts", "delegate_to", "pool"], None, MACHINE),
    refused(STEP, &["artifacts"], Some("produces"), ARTIFACTS),
    refused(STEP, &["cache"], None, CACHE),
    // how often, how long
    refused(STEP, &["retries", "max_retries", "retry_count", "attempts", "max_attempts", "retry_delay", "backoff"], Some("retry"), "write `retry: 3`, which counts the first attempt too, or `retry: {max_attempts: 3, delay: 10s}`"),
    refused(STEP, &["timeout_minutes", "timeout_seconds", "timeout_sec", "timeout_secs", "timeout_ms", "timeout_in_minutes", "time_limit"], Some("timeout"), "write `timeout:` with a unit, such as `timeout: 10m` or `timeout: 90s`"),
    refused(STEP, &["matrix", "foreach", "loop", "with_items", "for", "each", "strategy"], Some("for_each"), "write `for_each: [a, b]`, and read `{{item}}`"),
    refused(STEP, &["until", "while", "while_condition", "break_when", "max_iterations", "every"], Some("repeat"), "write `repeat: {max: 10, until: …}`; for `while`, negate the condition"),
    refused(STEP, &["delay", "interval"], None, "write `delay` inside `retry` or `repeat`"),
    refused(STEP, &["cron"], None, TRIGGER),
    refused(STEP, &["allow_failure", "ignore_errors", "ignore_error", "ignore_failure", "ignore_failures", "continue_on_failure", "allow_fail"], Some("continue_on_error"), TOLERATE),
    refused(STEP, &["failed_when", "fail_if", "error_when"], Some("exit_codes"), "give exit codes a meaning with `exit_codes`, or state what must hold under `ensure`"),
    refused(STEP, &["fail_fast"], Some("keep_going"), "write `keep_going: true` to run the other items after a failure"),
    refused(STEP, &["parallel", "async", "background"], Some("parallel_group"), "give neighbouring steps the same `parallel_group: NAME`"),
    refused(STEP, &["concurrency", "parallelism", "throttle", "max_concurrency"], Some("max_parallel"), "write `max_parallel: N` beside `for_each`"),
    // with what rights
    refused(STEP, &["permissions", "permission", "permission_mode", "allowed_tools", "disallowed_tools", "sandbox", "approval_mode", "approval_policy", "read_only"], None, RIGHTS),
    refused(STEP, &["become", "become_user", "sudo", "run_as", "privileged", "elevated", "user", "remote_user"], None, ROOT),
    // fields of recipes
    refused(STEP, &["before_script", "after_script", "pre_step", "post_step"], Some("command"), "put the lines into the `command`, or write `hooks: {pre_step: …, post_step: …}` at the top level of the recipe"),
    refused(STEP, &["hooks", "budget", "recursion", "schedule", "extends", "default_step_timeout", "secrets", "context_validation"], None, OF_RECIPE),
    warned(STEP, &["outputs", "register", "save_as"], "output", "write `output: NAME`: a step stores one value"),
    warned(STEP, &["tags", "labels"], "when_tags", "write `when_tags: […]` if `--include-tags` and `--exclude-tags` should see them"),
    warned(STEP, &["inputs", "parameters", "params", "variables", "vars"], "context", "use `context:` to pass values to a sub-recipe, and `env:` to pass them to a command"),
    // on the recipe
    refused(RECIPE, &["jobs", "tasks", "stages"], Some("steps"), "write `steps:`, a list of `- id: …` entries"),
    refused(RECIPE, &["on", "trigger", "triggers", "cron"], None, TRIGGER),
    refused(RECIPE, &["if", "only_if", "run_if", "unless", "rules", "only", "condition", "skip"], None, "write `condition: …` on each step that needs it"),
    refused(RECIPE, &["needs", "depends", "depends_on", "dependencies", "requires"], None, "run the other recipe in a step with `recipe: NAME`"),
    refused(RECIPE, &["run", "cmd", "script", "command", "prompt"], Some("steps"), "write it in a step, under `steps:`"),
    refused(RECIPE, &["uses"], None, USES),
    refused(RECIPE, &["with"], None, "declare values under `context:` or `inputs:`"),
    refused(RECIPE, &["environment", "environ", "envs", "env_vars", "environment_variables"], Some("env"), "write `env: {set: {NAME: value}}`"),
    refused(RECIPE, &["cwd", "workdir", "dir", "working_directory", "working_dir", "directory", "chdir"], None, "write `working_dir: PATH` on each step that needs it, or start the run with `-C PATH`"),
    refused(RECIPE, &["container", "containers", "image", "services", "docker"], None, CONTAINER),
    refused(RECIPE, &["runs_on", "hosts", "pool"], None, MACHINE),
    refused(RECIPE, &["artifacts"], None, ARTIFACTS),
    refused(RECIPE, &["cache"], None, CACHE),
    refused(RECIPE, &["retry", "retries", "max_retries", "attempts", "max_attempts"], None, "write `retry: 3` on each step that needs it"),
    refused(RECIPE, &["timeout", "timeout_minutes", "timeout_seconds", "step_timeout", "time_limit", "idle_timeout"], Some("default_step_timeout"), "write `default_step_timeout: 10m`, which limits each step"),
    refused(RECIPE, &["matrix", "strategy", "for_each", "loop", "with_items", "for"], None, "write `for_each: [a, b]` on a step; a step may run a whole recipe"),
    refused(RECIPE, &["until", "while", "repeat"], None, "write `repeat: {max: 10, until: …}` on a step; a step may run a whole recipe"),
    refused(RECIPE, &["allow_failure", "ignore_errors", "ignore_failure", "continue_on_error", "continue_on_failure", "fatal", "nonfatal"], None, "write `continue_on_error: true` on each step that may fail"),
    refused(RECIPE, &["finally", "always", "cleanup", "when"], None, "add a step with `when: always` at the end"),
    refused(RECIPE, &["on_failure", "on_error", "on_success", "before", "after", "before_script", "after_script", "pre_step", "post_step"], Some("hooks"), "write `hooks: {pre_step: …, post_step: …, on_error: …}`, or a step with `when: failed`"),
    refused(RECIPE, &["parallel", "parallel_group", "max_parallel", "concurrency", "parallelism"], Some("schedule"), "write `schedule: graph`, give steps a `parallel_group`, or start the run with `--max-parallel N`"),
    refused(RECIPE, &["ensure", "idempotent", "effects", "when_tags", "exit_codes", "agent_args", "continues"], None, ON_STEPS),
    refused(RECIPE, &["permissions", "permission", "permission_mode", "allowed_tools", "disallowed_tools", "sandbox", "read_only"], None, RIGHTS),
    refused(RECIPE, &["become", "become_user", "sudo", "run_as", "privileged"], None, ROOT),
    warned(RECIPE, &["outputs", "returns"], "output", "write `output: {template: …}`: a recipe has one result"),
    warned(RECIPE, &["parameters", "params", "arguments"], "inputs", "write `inputs:`, a list of `- name: …` entries"),
    warned(RECIPE, &["variables", "vars"], "context", "write `context: {NAME: value}`"),
    // in nested maps
    refused(RETRY, &["attempts", "count", "times", "limit", "max", "max_retries", "retries"], Some("max_attempts"), "write `max_attempts: N`, which counts the first attempt too"),
    refused(RETRY, &["interval", "wait", "sleep", "initial_delay", "delay_seconds", "seconds"], Some("delay"), "write `delay: 10s`"),
    refused(RETRY, &["if", "when", "retry_on"], Some("on"), "write `on: [exit, timeout, rate_limit, json]`"),
    refused(REPEAT, &["times", "count", "iterations", "max_iterations", "limit", "attempts"], Some("max"), "write `max: N`"),
    refused(REPEAT, &["while", "if", "condition", "break_when"], Some("until"), "write `until: …`, the condition that ends the loop"),
    refused(REPEAT, &["interval", "wait", "sleep"], Some("delay"), "write `delay: 10s`"),
    refused(HOOKS, &["before", "before_step", "pre"], Some("pre_step"), "write `pre_step: …`"),
    refused(HOOKS, &["after", "after_step", "post", "on_success"], Some("post_step"), "write `post_step: …`"),
    refused(HOOKS, &["on_failure", "failure", "error"], Some("on_error"), "write `on_error: …`"),
    refused(HOOKS, &["finally", "always", "cleanup"], None, "add a step with `when: always` at the end of the recipe"),
    refused(BUDGET, &["cost", "max_cost", "cost_usd", "max_usd", "dollars"], Some("usd"), "write `usd: 5`"),
    refused(BUDGET, &["max_tokens"], Some("tokens"), "write `tokens: N`"),
    refused(BUDGET, &["calls", "agent_calls", "max_calls", "runs"], Some("agent_runs"), "write `agent_runs: N`"),
    refused(BUDGET, &["time", "duration", "seconds", "hours", "max_minutes"], Some("minutes"), "write `minutes: N`"),
    refused(RECURSION, &["depth", "limit"], Some("max_depth"), "write `max_depth: N`"),
    refused(RECURSION, &["steps", "max_steps", "total_steps"], Some("max_total_steps"), "write `max_total_steps: N`"),
    refused(INPUT, &["options", "enum", "values", "allowed"], Some("choices"), "write `type: choice` and `choices: […]`"),
    refused(INPUT, &["regex", "match", "validation"], Some("pattern"), "write `pattern: REGEX`"),
    refused(INPUT, &["mandatory", "optional"], Some("required"), "write `required: true` or `required: false`"),
    refused(ASK_FIELD, &["options", "enum", "values", "allowed"], Some("choices"), "write `type: choice` and `choices: […]`"),
    refused(ASK_FIELD, &["regex", "match", "validation"], Some("pattern"), "write `pattern: REGEX`"),
    refused(ASK_FIELD, &["mandatory", "optional"], Some("required"), "write `required: true` or `required: false`"),
    refused(ENSURE, &["run", "cmd", "script", "test"], Some("command"), "write `command: …`"),
    refused(ENSURE, &["exists", "file_exists", "path"], Some("file"), "write `file: PATH`"),
    refused(ENSURE, &["if", "assert", "that"], Some("condition"), "write `condition: …`"),
    refused(ENV, &["vars", "values", "variables", "define"], Some("set"), "write `set: {NAME: value}`"),
];

/// Whether a key is a spelling of a word: `timeout-minutes` and `timeoutMinutes` are `timeout_minutes`.
fn is_spelling(key: &str, word: &str) -> bool {
    let letters = |text: &str| -> Vec<char> {
        text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
    };
    key == word || letters(key) == letters(word)
}

fn find(owner: &str, key: &str) -> Option<&'static Foreign> {
    FOREIGN.iter().find(|row| row.owner == owner && row.words.iter().any(|word| is_spelling(key, word)))
}

/// Whether a key is a word of other tools.
pub(super) fn is_foreign<S: Shape>(key: &str) -> bool {
    find(S::NAME, key).is_some()
}

/// The field that a refused word stands for: without it, the field would seem to be missing.
pub(super) fn stands_for<S: Shape>(key: &str) -> Option<&'static str> {
    find(S::NAME, key).filter(|row| row.weight == Weight::Refused)?.field
}

/// The report about a mode that looks like a permission: it would not keep an agent from changing anything.
pub(crate) fn refused_mode(mode: &str, place: Place) -> Option<Diagnostic> {
    let letters: String = mode.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let message = || format!("`mode: {}` does not restrict the agent", mode.trim());
    matches!(letters.as_str(), "plan" | "readonly").then(|| {
        Diagnostic::new(Code::UnknownWord, place, message())
            .label("not a permission")
            .help("write `permissions: read-only` instead")
            .recent()
    })
}

/// The report about a word of other tools, with its value.
pub(super) fn reported<S: Shape>(key: &str, place: Place, value: Option<&Node>) -> Option<Diagnostic> {
    let mode = value.filter(|_| S::NAME == RECIPE && is_spelling(key, "mode"));
    if let Some(Node { kind: NodeKind::Scalar(scalar), place }) = mode
        && let Some(problem) = refused_mode(&scalar.text, *place)
    {
        return Some(problem);
    }
    let row = find(S::NAME, key)?;
    let owner = format!("{} {}", article(S::NAME), S::NAME);
    let (code, message, label) = match row.weight {
        Weight::Refused => (Code::ForeignField, format!("{owner} has no field `{key}`"), "would be ignored"),
        Weight::Warned => (Code::UnknownField, format!("unknown field `{key}` in {owner}"), "has no effect"),
    };
    let message = match row.field {
        Some(field) if S::FIELDS.iter().any(|known| known.name == field) => {
            format!("{message}: did you mean `{field}`?")
        }
        _ => message,
    };
    Some(Diagnostic::new(code, place, message).label(label).help(row.help).recent())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::reference;

    #[test]
    fn d1_the_table_has_many_words_and_names_only_fields_that_exist() {
        let shapes = reference();
        let fields = |owner: &str| -> Vec<&'static str> {
            let shape = shapes.iter().find(|(name, _)| *name == owner);
            shape.map(|(_, fields)| fields.iter().map(|field| field.name).collect()).unwrap_or_default()
        };
        let mut seen = std::collections::BTreeSet::new();
        for row in FOREIGN {
            let known = fields(row.owner);
            assert!(!known.is_empty(), "{} is a shape", row.owner);
            assert!(row.field.is_none_or(|field| known.contains(&field)), "{:?} of {}", row.field, row.owner);
            for word in row.words {
                let spelling = word.replace('_', "");
                assert!(
                    seen.insert((row.owner, spelling)),
                    "`{word}` is twice in the table of {}",
                    row.owner
                );
            }
        }
        let of_steps = seen.iter().filter(|(owner, _)| *owner == STEP).count();
        assert!(of_steps >= 60, "{of_steps} words on steps");
    }
}
