//! The command line as the surface of a request: warnings and notes on stderr, and the reporter of the run.

use std::time::Duration;

use recipe::check::Checked;
use runtime::{requests::Listener, run::Reporter};

use super::{
    failure::clean,
    hints::Hints,
    live::Live,
    progress::{Audience, Manner, Progress},
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
    /// All.
    All,
    /// Those about the machine.
    Machine,
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
            recipe: None,
        }
    }

    /// The same with these warnings and hints.
    pub(crate) fn showing(self, shown: Shown, hints: &Hints) -> TerminalListener<'a> {
        TerminalListener { shown, hints: hints.clone(), ..self }
    }
}

impl Listener for TerminalListener<'_> {
    fn checked(&mut self, checked: &Checked) {
        self.recipe = checked.plan.as_ref().map(|plan| plan.root().name.clone());
        if self.shown == Shown::All {
            load_recipe::report(checked, self.environment, self.out);
        }
    }

    fn warning(&mut self, text: &str) {
        if self.shown != Shown::Nothing {
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
        // a view that is redrawn if possible and wanted, otherwise lines
        if is_live(options, environment) {
            return Box::new(Live::new(self.out, audience, hints));
        }
        let manner = match (options.quiet, options.progress) {
            (true, _) => Manner::Quiet,
            (false, true) => Manner::Icons,
            // the result of a dry run says everything that its progress would
            (false, false) if options.dry_run && !is_json => Manner::Quiet,
            (false, false) => Manner::Lines,
        };
        Box::new(Progress::new(self.out, manner, audience, heartbeat(environment), hints))
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
