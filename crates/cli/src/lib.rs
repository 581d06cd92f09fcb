//! The program: arguments in, reports and exit codes out.
//!
//! Has no logic that another interface would need too. A library only so that it compiles while the code below it is
//! still being generated.

mod args;
mod builtin;
mod case_worker;
mod commands;
mod environment;
mod exit;
mod guardian;
mod host;
mod load_recipe;
mod out;
mod report;
mod settings;

use std::process::Termination;

use args::options::OutputFormat;
use environment::Environment;
use exit::Exit;
use out::Out;
use report::failure::Failure;

/// Does what the command line says.
pub fn run() -> impl Termination {
    runtime::os::process::unblock_signals();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(run) = guardian::asked(&arguments) {
        return guardian::guard(run);
    }
    if let Some(more) = case_worker::asked(&arguments) {
        return case_worker::work(more);
    }
    let environment = Environment::read();
    let mut out = Out::new(&environment);
    if arguments.len() < 2 {
        return commands::welcome::show(&mut out);
    }
    let exit = match args::parse(arguments.clone()) {
        Ok(cli) => {
            commands::act(cli, &environment, &mut out).unwrap_or_else(|failure| failure.report(&mut out))
        }
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
