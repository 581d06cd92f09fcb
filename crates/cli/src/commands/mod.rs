//! The commands: one file each, and which one is meant.

pub(crate) mod answer;
pub(crate) mod branch_name;
pub(crate) mod cancel;
pub(crate) mod compat;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod health;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod manifest;
pub(crate) mod orch;
pub(crate) mod prune;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod stored_runs;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod test;
pub(crate) mod validate;
pub(crate) mod waiting;
pub(crate) mod welcome;
pub(crate) mod why;

use crate::{
    args::{Cli, Verb},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Carries out a command.
pub(crate) fn act(cli: Cli, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    match cli.verb.unwrap_or(Verb::Run(cli.run)) {
        Verb::Run(args) => run::run(args, environment, out),
        Verb::Do(args) => task::perform(*args, environment, out),
        Verb::Validate(args) => validate::validate(&args, environment, out),
        Verb::Lint(args) => lint::lint(&args, environment, out),
        Verb::Test(args) => test::test(&args, environment, out),
        Verb::Explain(args) => explain::explain(&args, environment, out),
        Verb::List(args) => Ok(list::list(&args, environment, out)),
        Verb::Init(args) => init::init(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Verb::Generate(args) => generate::generate(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Verb::Doctor(args) => Ok(doctor::doctor(&args, environment, out)),
        Verb::BranchName(args) => branch_name::print(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Verb::Orch(args) => orch::orch(args, environment, out),
        Verb::Compat(args) => compat::compat(args, environment, out),
        Verb::Schema(args) => Ok(schema::print(&args, out)),
        Verb::Completions(args) => Ok(completions::print(&args, out)),
        Verb::Help(args) => {
            help::print(&args, out).map_err(|failure| failure.announce(args.format.output_format, out))
        }
        Verb::Complete(args) => Ok(complete::print(&args, environment, out)),
        Verb::Man(args) => man::man(&args, environment, out),
        Verb::Manifest(args) => manifest::manifest(&args, environment, out)
            .map_err(|failure| failure.announce(args.output_format, out)),
        Verb::Sync(args) => sync::sync(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Verb::Runs(args) => runs::runs(&args, environment, out),
        Verb::Show(args) => show::show(&args, environment, out),
        Verb::Logs(args) => logs::logs(&args, environment, out),
        Verb::Why(args) => why::why(&args, environment, out),
        Verb::Resume(args) => resume::resume(&args, environment, out),
        Verb::Waiting(args) => waiting::waiting(&args, environment, out),
        Verb::Answer(args) => answer::answer(&args, environment, out),
        Verb::Cancel(args) => cancel::cancel(&args, environment, out),
        Verb::Health(args) => health::show(&args, environment, out),
        Verb::Prune(args) => prune::prune(&args, environment, out),
    }
}
