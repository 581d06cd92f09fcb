//! `test --init`: a first test file for a recipe.
use crate::{args::test::TestArgs, environment::Environment, exit::Exit, out::Out, report::failure::Failure};
pub(super) fn init(
    _recipe: &str,
    _args: &TestArgs,
    _environment: &Environment,
    _out: &mut Out,
) -> Result<Exit, Failure> {
    Ok(Exit::Success)
}
