//! `why`: why a step of a run ran, was skipped, kept or re-run.

use crate::{
    args::stored::WhyArgs, environment::Environment, exit::Exit, out::Out, report::failure::Failure,
};

/// Says why.
pub(crate) fn why(_args: &WhyArgs, _environment: &Environment, _out: &mut Out) -> Result<Exit, Failure> {
    Ok(Exit::Success)
}
