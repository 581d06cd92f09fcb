//! `man`: manual pages of the program and of every command, made from the same description as `--help`.
//!
//! Never writes anywhere but into the given directory.

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory as _};
use serde_json::json;

use crate::{
    args::{Cli, ManArgs, options::OutputFormat},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Prints the page of the program, or writes all pages into a directory.
pub(crate) fn man(args: &ManArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    match &args.dir {
        None => print(&program, args.format.output_format, out),
        Some(dir) => write_all(&program, &environment.absolute(dir), args.format.output_format, out),
    }
    .map_err(|error| {
        Failure::new(Exit::Broken, format!("the manual pages cannot be written: {error}"))
            .announce(args.format.output_format, out)
    })
}

fn print(program: &Command, format: OutputFormat, out: &mut Out) -> io::Result<Exit> {
    let page = page(program)?;
    match format {
        OutputFormat::Text => out.raw(&page),
        OutputFormat::Json => out.json(&json!({ "page": String::from_utf8_lossy(&page) })),
    }
    Ok(Exit::Success)
}

fn write_all(program: &Command, dir: &Path, format: OutputFormat, out: &mut Out) -> io::Result<Exit> {
    let pages = write(program, dir)?;
    match format {
        OutputFormat::Text => out.result(&format!("{pages} manual pages in {}", dir.display())),
        OutputFormat::Json => out.json(&json!({ "dir": dir, "pages": pages })),
    }
    Ok(Exit::Success)
}

fn write(program: &Command, dir: &Path) -> io::Result<usize> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(format!("{}.1", program.get_name())), page(program)?)?;
    let mut count = 1;
    for verb in program.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{}-{}.1", program.get_name(), verb.get_name());
        fs::write(dir.join(name), page(verb)?)?;
        count += 1;
    }
    Ok(count)
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let version = concat!("recipe-runner-rs ", env!("RECIPE_RUNNER_VERSION"));
    clap_mangen::Man::new(command.clone()).source(version).manual("recipe-runner-rs").render(&mut page)?;
    Ok(page)
}
