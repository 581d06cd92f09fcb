//! The command line as the surface of a request: warnings and notes on stderr, and the reporter of the run.

use std::time::Duration;

use recipe::{
    check::Checked,
    diagnostic::{Diagnostic, Severity},
};
use runtime::{requests::Listener, run::Reporter, runs::Runs};

use super::{
    audience::Audience,
    failure::clean,
    github::Workflow,
    hints::Hints,
    live::Live,
    progress::{Manner, Progress},
    prompt::{AskedRun, Prompt},
    result::Detail,
};
use crate::{
    args::options::{OutputFormat, RunOptions},
    environment::Environment,
    load_recipe,
    out::Out,
};

/// Which warnings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    All,
    /// None: the user has seen them.
    Nothing,
}

/// The command line while it carries out a request.
pub(crate) struct TerminalListener<'a> {
    options: &'a RunOptions,
    format: OutputFormat,
    environment: &'a Environment,
    out: &'a mut Out,
    shown: Shown,
    hints: Hints,
    /// The runs whose questions are put at this terminal.
    asked: Option<(Runs, AskedRun)>,
    /// The name of the recipe, once it is known.
    pub(crate) recipe: Option<String>,
}

impl<'a> TerminalListener<'a> {
    /// A surface that shows everything.
    pub(crate) fn new(
        options: &'a RunOptions,
        format: OutputFormat,
        environment: &'a Environment,
        out: &'a mut Out,
    ) -> TerminalListener<'a> {
        TerminalListener {
            options,
            format,
            environment,
            out,
            shown: Shown::All,
            hints: Hints::default(),
            asked: None,
            recipe: None,
        }
    }

    /// The same with these warnings and hints.
    pub(crate) fn showing(self, shown: Shown, hints: &Hints) -> TerminalListener<'a> {
        TerminalListener { shown, hints: hints.clone(), ..self }
    }

    /// The same, with the questions of a run at this terminal, if it is one. A run that does not exist yet has no id.
    pub(crate) fn asking(self, runs: &Runs, run: Option<String>) -> TerminalListener<'a> {
        let run = run.map(|run| AskedRun::new(run.into())).unwrap_or_default();
        let asked = self.options.asks_here(self.environment).then(|| (runs.clone(), run));
        TerminalListener { asked, ..self }
    }
}

impl Listener for TerminalListener<'_> {
    fn checked(&mut self, checked: &Checked) {
        self.recipe = checked.plan.as_ref().map(|plan| plan.root().name.clone());
        let is_note = |problem: &Diagnostic| problem.severity == Severity::Note;
        let is_silent = self.options.quiet && checked.diagnostics.iter().all(is_note);
        if self.shown == Shown::All && !is_silent {
            load_recipe::report(checked, self.environment, self.out);
        }
    }

    fn warning(&mut self, text: &str) {
        if self.shown == Shown::All {
            self.out.notice(&clean(&format!("warning: {text}")));
        }
    }

    fn note(&mut self, text: &str) {
        self.out.notice(&format!("[run] {text}"));
    }

    fn reporter(&mut self) -> Box<dyn Reporter + '_> {
        let (options, environment) = (self.options, self.environment);
        self.out.expect_signals();
        let is_json = self.format == OutputFormat::Json;
        let audience = if is_json { Audience::Programs } else { Audience::People };
        let hints = self.hints.clone();
        let prompt = self.asked.clone().map(|(runs, run)| Prompt::new(runs, run, hints.clone()));
        // a view that is redrawn if possible and wanted, otherwise lines
        if is_live(options, environment) {
            return Box::new(
                Live::new(self.out, audience, hints, environment.terminal_features()).asking(prompt),
            );
        }
        let manner = match (options.quiet, options.progress) {
            (true, _) => Manner::Quiet,
            (false, true) => Manner::Icons,
            // the result of a dry run says everything that its progress would
            (false, false) if options.dry_run && !is_json => Manner::Quiet,
            (false, false) => Manner::Lines,
        };
        let progress = Progress::new(self.out, manner, audience, heartbeat(environment), hints);
        let progress = if Workflow::around(environment).is_some() { progress.in_groups() } else { progress };
        Box::new(progress.asking(prompt))
    }
}

fn is_live(options: &RunOptions, environment: &Environment) -> bool {
    environment.can_redraw() && !options.quiet && !options.progress && !options.dry_run
}

/// How much the result shows: steps that the user has just seen are not listed again.
pub(crate) fn detail(options: &RunOptions, environment: &Environment) -> Detail {
    match is_live(options, environment) && environment.stdout_is_terminal {
        true => Detail::Brief,
        false if options.verbose => Detail::Full,
        false => Detail::Lines,
    }
}

fn heartbeat(environment: &Environment) -> Option<Duration> {
    let seconds = environment
        .get("AMPLIHACK_RECIPE_HEARTBEAT_INTERVAL_SECONDS")
        .and_then(|text| text.trim().parse().ok());
    match seconds {
        Some(0.0) => None,
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => Some(Duration::from_secs(60)),
    }
}
