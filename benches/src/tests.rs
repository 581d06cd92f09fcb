//! What test cases cost: with stubs for every step, with real commands, and until the first line.

use std::path::{Path, PathBuf};

use crate::{
    program::{Bench, bash, measure},
    recipes,
    table::Row,
    turns::Pair,
};

/// Cases of one file.
const STUBBED: u32 = 1_000;
const REAL: u32 = 200;
/// Steps of a case.
const STEPS: usize = 5;

/// Cases without a fixture, each of five steps.
pub(crate) fn cases(bench: &Bench) -> Vec<Row> {
    let steps = (1..=STEPS).map(|n| match n % 2 {
        0 => format!("  - {{id: s{n}, prompt: hello}}\n"),
        _ => format!("  - {{id: s{n}, command: 'true'}}\n"),
    });
    bench.file("stubbed.yaml", &recipes::of(steps));
    let stubs: Vec<String> = (1..=STEPS)
        .map(|n| if n % 2 == 0 { format!("s{n}: {{answer: fine}}") } else { format!("s{n}: {{exit: 0}}") })
        .collect();
    let stubbed = test_file(bench, "stubbed", STUBBED, &format!(", stubs: {{{}}}", stubs.join(", ")));
    bench
        .file("real.yaml", &recipes::of((1..=STEPS).map(|n| format!("  - {{id: s{n}, command: 'true'}}\n"))));
    let real = test_file(bench, "real", REAL, "");
    let one = test_file(bench, "stubbed", 1, &format!(", stubs: {{{}}}", stubs.join(", ")));
    let folders = format!("for ((i = 0; i < {STUBBED}; i++)); do mkdir d$i; : > d$i/f; done; rm -r d*");
    let shells = format!("for ((i = 0; i < {}; i++)); do bash -c true; done", REAL as usize * STEPS);
    let mut rows = vec![
        each(
            bench,
            "a test case of 5 stubs ÷ a folder with a file in `bash`",
            (&stubbed, STUBBED),
            &folders,
            1.0 / 500.0,
        ),
        each(bench, "a test case of 5 commands ÷ 5 `bash`", (&real, REAL), &shells, 1.0 / 100.0),
    ];
    let memory = Pair::once(test(bench, &stubbed).megabytes, test(bench, &one).megabytes);
    rows.push(Row::memory("peak memory: 1,000 test cases ÷ one", memory, 100.0));
    let first = || {
        let (program, file) = (bench.program.display(), stubbed.display());
        let script = format!("'{program}' test '{file}' | head -n 1");
        measure(bash(&script).current_dir(bench.home())).seconds
    };
    let version = || measure(&mut bench.runner(["--version"])).seconds;
    rows.push(Row::time("the first line of `test` ÷ `--version`", bench.compare(11, &first, &version), 0.1));
    rows
}

/// The time of each case of a file, against a script.
fn each(bench: &Bench, figure: &str, (file, count): (&Path, u32), floor: &str, target: f64) -> Row {
    let cases = || test(bench, file).seconds;
    let floor = || measure(bash(floor).current_dir(bench.home())).seconds;
    Row::time(figure, bench.compare(5, &cases, &floor).each(count), target)
}

fn test(bench: &Bench, file: &Path) -> crate::program::Used {
    let used = measure(bench.runner([Path::new("test"), file]).args(["--jobs", "2"]));
    assert_eq!(used.code, Some(0), "{} {}", file.display(), used.stdout);
    used
}

/// A test file with so many equal cases.
fn test_file(bench: &Bench, recipe: &str, count: u32, more: &str) -> PathBuf {
    let cases: String = (1..=count).map(|n| format!("  - {{name: case {n}{more}}}\n")).collect();
    let name = if count == 1 { format!("one/{recipe}") } else { recipe.to_owned() };
    if count == 1 {
        std::fs::create_dir_all(bench.home().join("one")).expect("the folder can be made");
        let text = std::fs::read(bench.home().join(format!("{recipe}.yaml"))).expect("the recipe is there");
        std::fs::write(bench.home().join(format!("{name}.yaml")), text).expect("the recipe can be written");
    }
    bench.file(&format!("{name}.test.yaml"), &format!("cases:\n{cases}"))
}
