//! Commands for users to type: the only file that spells them. They work in any directory.
//!
//! Never runs one.

use std::path::Path;

use engine::run::next::{Advice, Next, ResumeChoice, StartAgain, StartOption, StartValue};
use recipe::env_name;
use runtime::os::shell_word::quote;

/// How a command line reaches stored runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    flag: String,
}

/// The command with these words, which are already quoted, if it needs no stored runs.
pub(crate) fn plain(words: &str) -> String {
    format!("recipe-runner-rs {words}")
}

impl Hints {
    /// Through this state directory; `None` means the default one.
    pub(crate) fn through(state_dir: Option<&Path>) -> Hints {
        let flag = state_dir.map(|dir| format!(" --state-dir {}", quote(&dir.to_string_lossy())));
        Hints { flag: flag.unwrap_or_default() }
    }

    /// The command with these words, which are already quoted.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("{}{}", plain(words), self.flag)
    }

    /// The command with these words about a step, which is not yet quoted.
    fn step_command(&self, words: &str, step: &str) -> String {
        match step.starts_with('-') {
            // after `--` nothing is taken for an option
            true => format!("{} -- {}", self.command(words), quote(step)),
            false => self.command(&format!("{words} {}", quote(step))),
        }
    }

    /// The command for an action.
    pub(crate) fn next(&self, next: &Next) -> String {
        match next {
            Next::Resume { run, how } => self.command(&format!("resume {run}{}", resume_flags(how))),
            Next::Answer { run, step, choice, fields } => {
                let set: String = fields
                    .iter()
                    .map(|field| format!(" --set {}", quote(&format!("{field}=VALUE"))))
                    .collect();
                self.command(&format!("answer {run} {} {}{set}", quote(step), quote(choice)))
            }
            Next::Show { run } => self.command(&format!("show {run}")),
            Next::Logs { run, step: Some(step) } => self.step_command(&format!("logs {run}"), step),
            Next::Logs { run, step: None } => self.command(&format!("logs {run}")),
            Next::Validate { recipe } => plain(&format!("validate {}", quote(recipe))),
            Next::Doctor => plain("doctor"),
            Next::Start(start) => start_command(start),
            Next::Written(command) => command.clone(),
        }
    }

    /// A piece of advice in one line.
    pub(crate) fn advice(&self, advice: &Advice) -> String {
        match &advice.next {
            Some(next) if advice.is_inline => format!("{} `{}`", advice.text, self.next(next)),
            next => self.note(&advice.text, next.as_ref()),
        }
    }

    /// A text with the action that it suggests.
    pub(crate) fn note(&self, text: &str, next: Option<&Next>) -> String {
        match next {
            Some(next) => format!("{text}: {}", self.next(next)),
            None => text.to_owned(),
        }
    }
}

/// An option with its value, which is not yet quoted.
pub(crate) fn option(flag: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!("{flag}{between}{}", quote(value))
}

/// The flags of a resume, each after a space.
fn resume_flags(how: &ResumeChoice) -> String {
    let mut flags = String::new();
    flags.extend(how.recipe.iter().map(|recipe| format!(" --recipe {}", quote(recipe))));
    flags.extend(how.from.iter().map(|step| format!(" {}", option("--from", step))));
    let set = [
        ("--accept-repair", how.accept_repair),
        ("--plan", how.plan),
        ("--rerun-interrupted", how.rerun_interrupted),
        ("--skip-interrupted", how.skip_interrupted),
        ("--rerun-producers", how.rerun_producers),
        ("--rerun-effects", how.rerun_effects),
    ];
    flags.extend(set.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| format!(" {flag}")));
    let budget = how.budget.unwrap_or_default();
    flags.extend(budget.agent_runs.map(|runs| format!(" --budget-agent-runs {runs}")));
    flags.extend(budget.usd.map(|usd| format!(" --budget-usd {usd}")));
    flags.extend(budget.tokens.map(|tokens| format!(" --budget-tokens {tokens}")));
    flags.extend(budget.minutes.map(|minutes| format!(" --budget-minutes {minutes}")));
    flags
}

/// The command that starts a run. The shell takes secrets from the environment.
pub(crate) fn start_command(start: &StartAgain) -> String {
    let assignments: Vec<String> = start.variables.iter().filter_map(assignment).collect();
    let env = (!assignments.is_empty()).then(|| "env".to_owned());
    let mut words: Vec<String> = env.into_iter().chain(assignments).collect();
    words.push(plain(&quote(&start.recipe)));
    words.extend(start.working_dir.iter().map(|dir| format!("-C {}", quote(dir))));
    words.extend(start.recipe_dirs.iter().map(|dir| format!("-R {}", quote(dir))));
    words.extend(start.context_file.iter().map(|file| format!("--context-file {}", quote(file))));
    let (missing, given): (Vec<_>, Vec<_>) =
        start.inputs.iter().partition(|(_, value)| matches!(value, StartValue::Missing | StartValue::File));
    words.extend(given.into_iter().map(input));
    words.extend(start.options.iter().map(start_flag));
    words.extend(missing.into_iter().map(input));
    words.join(" ")
}

/// A given value.
fn input((name, value): &(String, StartValue)) -> String {
    match (value, secret_variable(name)) {
        (StartValue::Text(text), _) => format!("--set {}", quote(&format!("{name}={text}"))),
        (StartValue::Secret, Some(variable)) => {
            format!("--set {}\"{variable}\"", quote(&format!("{name}=")))
        }
        (StartValue::File, _) => format!("--set-file {}", quote(&format!("{name}=FILE"))),
        (StartValue::Secret, None) | (StartValue::Missing, _) => {
            format!("--set {}", quote(&format!("{name}=VALUE")))
        }
    }
}

/// A variable of the environment, as `env` takes it.
fn assignment((name, value): &(String, StartValue)) -> Option<String> {
    match value {
        StartValue::Text(text) => Some(quote(&format!("{name}={text}"))),
        // a shell cannot expand a name with a hyphen; the command still gets it from its environment
        _ if name.contains('-') => None,
        _ => Some(format!("{name}=\"${{{name}:?}}\"")),
    }
}

/// The shell expansion of a secret: its exact variable, else its alias; the shell stops if neither is set.
fn secret_variable(name: &str) -> Option<String> {
    let exact = env_name::variable(name)?;
    Some(match env_name::alias(name) {
        Some(alias) => format!("${{{exact}:-${{{alias}:?}}}}"),
        None => format!("${{{exact}:?}}"),
    })
}

fn start_flag(option: &StartOption) -> String {
    let with = |flag: &str, value: &str| format!("{flag} {}", quote(value));
    match option {
        StartOption::IncludeTags(tags) => with("--include-tags", &tags.join(",")),
        StartOption::ExcludeTags(tags) => with("--exclude-tags", &tags.join(",")),
        StartOption::AuditDir(dir) => with("--audit-dir", dir),
        StartOption::AgentBinary(name) => with("--agent-binary", name),
        StartOption::Permissions(level) => with("--permissions", level),
        StartOption::StepTimeout(seconds) => format!("--step-timeout {seconds}"),
        StartOption::MaxParallel(number) => format!("--max-parallel {number}"),
        StartOption::MaxAgents(number) => format!("--max-agents {number}"),
        StartOption::Recovery(true) => "--recovery always".to_owned(),
        StartOption::Recovery(false) => "--recovery off".to_owned(),
        StartOption::BudgetUsd(usd) => format!("--budget-usd {usd}"),
        StartOption::BudgetTokens(tokens) => format!("--budget-tokens {tokens}"),
        StartOption::BudgetAgentRuns(runs) => format!("--budget-agent-runs {runs}"),
        StartOption::BudgetMinutes(minutes) => format!("--budget-minutes {minutes}"),
        StartOption::Compat => "--compat".to_owned(),
        StartOption::NoAutoStage => "--no-auto-stage".to_owned(),
        StartOption::NoCleanup => "--no-cleanup".to_owned(),
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
        let hints = Hints::through(Some(Path::new("/my runs")));
        assert_eq!(hints.command("show x"), "recipe-runner-rs show x --state-dir '/my runs'");
        assert_eq!(Hints::default().command("show x"), "recipe-runner-rs show x");
    }

    #[test]
    fn what_begins_with_a_hyphen_is_not_taken_for_an_option() {
        let far = Hints::through(Some(Path::new("/d")));
        for (step, command, from) in [
            ("a/b", "recipe-runner-rs logs x a/b --state-dir /d", "--from a/b"),
            ("a b", "recipe-runner-rs logs x 'a b' --state-dir /d", "--from 'a b'"),
            ("-n", "recipe-runner-rs logs x --state-dir /d -- -n", "--from=-n"),
            ("--help", "recipe-runner-rs logs x --state-dir /d -- --help", "--from=--help"),
            ("-a b", "recipe-runner-rs logs x --state-dir /d -- '-a b'", "--from='-a b'"),
        ] {
            let logs = Next::Logs { run: "x".to_owned(), step: Some(step.to_owned()) };
            assert_eq!((far.next(&logs), option("--from", step)), (command.into(), from.into()));
        }
    }

    #[test]
    fn advice_ends_with_its_command() {
        let hints = Hints::through(Some(Path::new("/d")));
        let how = ResumeChoice {
            recipe: Some("my r.yaml".to_owned()),
            rerun_effects: true,
            budget: Some(recipe::plan::Budget { tokens: Some(9), ..Default::default() }),
            ..ResumeChoice::default()
        };
        let resume = Next::Resume { run: "x".to_owned(), how };
        let command =
            "recipe-runner-rs resume x --recipe 'my r.yaml' --rerun-effects --budget-tokens 9 --state-dir /d";
        for (advice, expected) in [
            (Advice::new("look"), "look".to_owned()),
            (Advice::with("then resume", resume.clone()), format!("then resume: {command}")),
            (Advice::inline("raise it with", resume), format!("raise it with `{command}`")),
            (Advice::with("check", Next::Doctor), "check: recipe-runner-rs doctor".to_owned()),
        ] {
            assert_eq!(hints.advice(&advice), expected);
        }
    }
}
