//! `orch`: the rules for tasks and answers of agents, one verb each.

mod filters;
pub(crate) mod run_file;
mod run_verbs;
pub(crate) mod session;

use crate::{
    args::orch::{OrchArgs, OrchVerb},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Does what the verb says.
pub(crate) fn orch(args: OrchArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    match args.verb {
        OrchVerb::Filter(filter) => filters::filter(&filter, environment, out),
        OrchVerb::Session(args) => session::session(&args.verb, environment, out),
        OrchVerb::Run(verb) => run_verbs::call(&verb, environment, out),
        OrchVerb::RunFile(args) => run_file::run_file(*args, environment, out),
    }
}
