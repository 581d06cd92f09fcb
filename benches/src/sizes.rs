//! How large a result is. Never measures time.

use crate::{
    program::{Bench, measure},
    recipes,
    table::Row,
    turns::Pair,
};

/// Steps of the run.
const STEPS: usize = 75;
/// What each of them prints, as much as people read of a step.
const PRINTED: &str = "checked 12 files in src/parser, 3 of them changed since the last tag; nothing to do";

/// The JSON result of a run, against what its steps printed.
pub(crate) fn result(bench: &Bench) -> Vec<Row> {
    let recipe = bench.file("printing.yaml", &recipes::repeat(STEPS, &format!("echo '{PRINTED}'")));
    bench.start_afresh();
    let used = measure(bench.runner([recipe.as_os_str()]).args(["--quiet", "--output-format", "json"]));
    assert_eq!(used.code, Some(0));
    let pair = Pair::once(used.printed as f64, (STEPS * PRINTED.len()) as f64);
    let figure = format!("JSON result of a run of {STEPS} steps ÷ what they printed");
    vec![Row::kilobytes(&figure, pair, 20e3)]
}
