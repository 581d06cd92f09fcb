//! The program: arguments in, reports and exit codes out.
//!
//! Has no logic that another interface would need too.

mod args;
mod builtin;
mod commands;
mod environment;
mod exit;
mod guardian;
mod host;
mod load_recipe;
mod out;
mod report;
mod settings;

use args::{Cli, Verb, options::OutputFormat};
use commands::{
    answer, branch_name, cancel, complete, completions, doctor, explain, health, help, init, list, logs, man,
    manifest, prune, resume, run, runs, schema, show, sync, validate, waiting, welcome,
};
use environment::Environment;
use exit::Exit;
use out::Out;
use report::failure::Failure;

fn main() -> Exit {
    runtime::os::process::unblock_signals();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(run) = guardian::asked(&arguments) {
        return guardian::guard(run);
    }
    let environment = Environment::read();
    let mut out = Out::new(&environment);
    if arguments.len() < 2 && environment.stderr_is_terminal {
        return welcome::show(&mut out);
    }
    let exit = match args::parse(arguments.clone()) {
        Ok(cli) => act(cli, &environment, &mut out).unwrap_or_else(|failure| failure.report(&mut out)),
        Err(usage) => {
            let exit = explain_usage(&usage, args::misspelt_verb(&arguments).as_deref(), &mut out);
            if exit == Exit::Invalid && args::wants_json(&arguments) {
                let message = usage.to_string();
                let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
                let _ = Failure::new(exit, message).announce(OutputFormat::Json, &mut out);
            }
            exit
        }
    };
    let exit = match out.lost() {
        Some(error) if exit == Exit::Success => {
            Failure::new(Exit::Broken, format!("cannot write to stdout: {error}")).report(&mut out)
        }
        _ => exit,
    };
    out.told().unwrap_or(exit)
}

fn act(cli: Cli, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    match cli.verb {
        None => run::run(cli.run, environment, out),
        Some(Verb::Run(args)) => run::run(args, environment, out),
        Some(Verb::Validate(args)) => validate::validate(&args, environment, out),
        Some(Verb::Explain(args)) => explain::explain(&args, environment, out),
        Some(Verb::List(args)) => Ok(list::list(&args, environment, out)),
        Some(Verb::Init(args)) => init::init(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Some(Verb::Doctor(args)) => Ok(doctor::doctor(&args, environment, out)),
        Some(Verb::BranchName(args)) => branch_name::print(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Some(Verb::Schema(_)) => Ok(schema::print(out)),
        Some(Verb::Completions(args)) => Ok(completions::print(&args, out)),
        Some(Verb::Help(args)) => {
            help::print(&args, out).map_err(|failure| failure.announce(args.format.output_format, out))
        }
        Some(Verb::Complete(args)) => Ok(complete::print(&args, environment, out)),
        Some(Verb::Man(args)) => man::man(&args, environment, out),
        Some(Verb::Manifest(args)) => manifest::manifest(&args, environment, out)
            .map_err(|failure| failure.announce(args.output_format, out)),
        Some(Verb::Sync(args)) => sync::sync(&args, environment, out)
            .map_err(|failure| failure.announce(args.format.output_format, out)),
        Some(Verb::Runs(args)) => runs::runs(&args, environment, out),
        Some(Verb::Show(args)) => show::show(&args, environment, out),
        Some(Verb::Logs(args)) => logs::logs(&args, environment, out),
        Some(Verb::Resume(args)) => resume::resume(&args, environment, out),
        Some(Verb::Waiting(args)) => waiting::waiting(&args, environment, out),
        Some(Verb::Answer(args)) => answer::answer(&args, environment, out),
        Some(Verb::Cancel(args)) => cancel::cancel(&args, environment, out),
        Some(Verb::Health(args)) => health::show(&args, environment, out),
        Some(Verb::Prune(args)) => prune::prune(&args, environment, out),
    }
}

/// Shows `--help` and `--version` as results; anything else is an error of the command line. `meant` asks whether
/// another command was meant.
fn explain_usage(usage: &clap::Error, meant: Option<&str>, out: &mut Out) -> Exit {
    let mut text = usage.render().ansi().to_string();
    if usage.use_stderr() {
        text.push_str(args::missing_run(usage));
        text.extend(meant.map(|meant| format!("\n{meant}\n")));
        let text = args::second_recipe(usage, meant).unwrap_or(text);
        out.notice(&text);
        return Exit::Invalid;
    }
    out.result(&text);
    Exit::Success
}
