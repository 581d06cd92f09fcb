//! The question before completed agent steps run again. Never resumes anything itself.

use std::io::Write as _;

use engine::resume::ResumePlan;

/// Asks a person whether completed agent steps may run again.
pub(super) fn ask(plan: &ResumePlan) -> bool {
    let mut stderr = std::io::stderr();
    // a recipe that is only entered again keeps its completed steps
    let again: Vec<&str> = plan.redo.iter().map(String::as_str).filter(|path| !path.ends_with('/')).collect();
    let list = again.join(", ");
    let _ = write!(stderr, "This will re-run completed steps: {list}\nContinue? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
