//! `recipe run|list|show|validate`: the same as our own commands, with other options.

use std::ffi::OsString;

use crate::{
    args::{
        self,
        compat::{AmplihackRecipeVerb, AmplihackRunArgs},
    },
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Does what our own command does.
pub(super) fn recipe(
    verb: AmplihackRecipeVerb,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let words = match verb {
        AmplihackRecipeVerb::Run(args) => run_words(args),
        AmplihackRecipeVerb::List(args) => command("list", args.words),
        AmplihackRecipeVerb::Show(args) => command("explain", args.words),
        AmplihackRecipeVerb::Validate(args) => command("validate", args.words),
    };
    let program = OsString::from("recipe-runner-rs");
    match args::parse(std::iter::once(program).chain(words).collect()) {
        Ok(cli) => crate::commands::act(cli, environment, out),
        Err(usage) => Ok(crate::explain_usage(&usage, None, out)),
    }
}

fn command(name: &str, words: Vec<OsString>) -> Vec<OsString> {
    std::iter::once(OsString::from(name)).chain(words).collect()
}

fn run_words(args: AmplihackRunArgs) -> Vec<OsString> {
    let mut words = command("run", vec![args.recipe]);
    let mut option = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
    args.context.into_iter().for_each(|value| option("--set", value));
    args.working_dir.into_iter().for_each(|dir| option("--working-dir", dir));
    args.step_timeout.into_iter().for_each(|time| option("--step-timeout", time));
    let format = args.format.filter(|format| format.eq_ignore_ascii_case("json"));
    format.into_iter().for_each(|_| option("--output-format", "json".into()));
    words.extend(args.dry_run.then(|| "--dry-run".into()));
    words.extend(args.verbose.then(|| "--verbose".into()));
    words
}
