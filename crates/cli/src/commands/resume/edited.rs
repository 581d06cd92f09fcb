//! The edited recipe that a run continues with. Never changes the run.

use std::path::{Path, PathBuf};

use recipe::{
    check::{Given, check},
    plan::Plan,
};
use runtime::{machine::discovery::Library, store::sources::Recording};

use crate::{
    args::stored::ResumeArgs,
    commands::run::{report_missing, report_refused},
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
};

/// A valid edited recipe.
pub(super) struct Edited {
    pub(super) plan: Plan,
    /// Its absolute path.
    pub(super) file: Option<PathBuf>,
}

/// Reads an edited recipe. Reports its problems as a run does.
pub(super) fn read(
    args: &ResumeArgs,
    file: &Path,
    names: Vec<String>,
    library: &Library,
    recording: &Recording<'_>,
    environment: &Environment,
    out: &mut Out,
) -> Result<Edited, Exit> {
    let (asked, format) = (file.to_string_lossy(), args.format.output_format);
    let loaded = match load_recipe::find(library, &asked) {
        Ok(loaded) => loaded,
        Err(failure) => return Err(report_missing(&failure, &asked, format, out)),
    };
    recording.root(&loaded);
    let file = std::fs::canonicalize(library.absolute(&loaded.path)).ok();
    let checked = check(loaded, recording, &Given { names, ..Given::default() });
    let checked = if args.strictness.strict { checked.strict() } else { checked };
    load_recipe::report(&checked, environment, out);
    let plan =
        load_recipe::accept(checked).map_err(|refused| report_refused(&refused, &asked, format, out))?;
    Ok(Edited { plan, file })
}
