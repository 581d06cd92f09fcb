//! The same work in other programs, side by side. Leaves out programs that are not installed, and says so.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    program::{Bench, Used, measure},
    recipes,
    table::{megabytes, time},
    turns::Pair,
};

/// How many steps, and how often they are measured. The first is the start-up.
const COUNTS: &[(usize, usize)] = &[(1, 31), (10, 15), (100, 7), (1_000, 5), (10_000, 3)];
/// For how many steps memory is compared.
const REMEMBERED: usize = 1_000;

/// A way to run steps.
struct Other {
    /// What its column is called.
    title: &'static str,
    /// The name of its program.
    program: &'static str,
    /// Arguments before the file.
    arguments: &'static [&'static str],
    /// What its file begins with, and each of its steps.
    text: (&'static str, &'static str),
    /// What it does for a step.
    gives: &'static str,
}

/// The floor of all columns is the first of these. The tools are here by default, which is without `bash`, and with
/// the shell that the others use.
const OTHERS: &[Other] = &[
    Other {
        title: "`bash` script",
        program: "bash",
        arguments: &[],
        text: ("", "bash -c true\n"),
        gives: "`bash`",
    },
    Other {
        title: "`make`",
        program: "make",
        arguments: &["-f"],
        text: ("all:\n", "\t@true\n"),
        gives: "no shell: a simple command is executed itself",
    },
    Other {
        title: "`make`, `bash`",
        program: "make",
        arguments: &["-f"],
        text: ("SHELL := /bin/bash\nall:\n", "\t@true\n"),
        gives: "`bash`",
    },
    Other {
        title: "`just`",
        program: "just",
        arguments: &["--justfile"],
        text: ("all:\n", "    @true\n"),
        gives: "`sh`",
    },
    Other {
        title: "`just`, `bash`",
        program: "just",
        arguments: &["--justfile"],
        text: ("set shell := ['bash', '-c']\nall:\n", "    @true\n"),
        gives: "`bash`",
    },
    Other {
        title: "`task`",
        program: "task",
        arguments: &["--taskfile"],
        text: ("version: '3'\nsilent: true\ntasks:\n  default:\n    cmds:\n", "      - 'true'\n"),
        gives: "no process: `true` is part of its own shell",
    },
    Other {
        title: "`task`, `bash`",
        program: "task",
        arguments: &["--taskfile"],
        text: ("version: '3'\nsilent: true\ntasks:\n  default:\n    cmds:\n", "      - bash -c true\n"),
        gives: "`bash`, from its own shell",
    },
];

const OURS: &str = "`bash`; start and end in a journal, synced before each step; its output and context in files; ends \
                    what it leaves running; can go on after a crash";

/// One that is installed.
struct Found {
    other: &'static Other,
    path: PathBuf,
}

/// Prints the table line by line as it is measured, and the compared programs below it.
pub(crate) fn side_by_side(bench: &Bench) {
    let (found, notes) = look_for_all(bench);
    let said = |ours: &'static str, theirs: fn(&Other) -> &'static str| {
        let theirs: Vec<&str> = found.iter().map(|one| theirs(one.other)).collect();
        move |column: usize| if column == 0 { ours.to_owned() } else { theirs[column - 1].to_owned() }
    };
    let columns = found.len() + 1;
    println!("{}", row("", columns, said("`recipe-runner-rs`", |other| other.title)));
    println!("{}|", "|---".repeat(columns + 1));
    for (count, rounds) in COUNTS {
        let used = measure_all(bench, &found, *count, *rounds);
        println!("{}", times(*count, &used));
        if *count == REMEMBERED {
            println!("{}", memory(&used));
        }
    }
    println!("{}", sizes(bench, &found));
    println!("{}", row("what a step gets", columns, said(OURS, |other| other.gives)));
    // a process starts with the memory of the one that starts it
    let least = megabytes(measure(&mut Command::new("true")).megabytes);
    println!("\nIn brackets: how often the `bash` script of the same round fits into it (median).");
    println!("No peak of memory below {least} can be seen.\n{notes}");
}

/// A line of the table. The first column is ours, the second the floor.
fn row(title: &str, columns: usize, cell: impl Fn(usize) -> String) -> String {
    (0..columns).fold(format!("| {title} |"), |line, column| line + " " + &cell(column) + " |")
}

/// What is installed and works, and a line about each program.
fn look_for_all(bench: &Bench) -> (Vec<Found>, String) {
    let (mut found, mut notes) = (Vec::new(), String::new());
    for other in OTHERS {
        let line = match look_for(bench, other) {
            Ok(one) => {
                let line = format!("- `{}`: {}", other.program, version(&one.path));
                found.push(one);
                line
            }
            Err(reason) => format!("- `{}` is left out: {reason}", other.program),
        };
        if !notes.contains(&line) {
            notes = notes + "\n" + &line;
        }
    }
    (found, notes)
}

fn look_for(bench: &Bench, other: &'static Other) -> Result<Found, String> {
    let path = in_path(other.program).ok_or("it is not installed; `tools/bench-tools.sh` installs it")?;
    let found = Found { other, path };
    // some systems have another program of the same name
    match run(bench, &found, 1).code {
        Some(0) => Ok(found),
        code => Err(format!("`{}` ended with {code:?} instead of running a step", found.path.display())),
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let dirs = env::var_os("PATH")?;
    env::split_paths(&dirs).map(|dir| dir.join(program)).find(|path| path.is_file())
}

fn version(path: &Path) -> String {
    let said = measure(Command::new(path).arg("--version")).stdout;
    said.lines().next().unwrap_or("of unknown version").to_owned()
}

/// Everything in turn: what ours used, then what each of the others did.
fn measure_all(bench: &Bench, found: &[Found], count: usize, rounds: usize) -> Vec<Vec<Used>> {
    let recipe = bench.file("others.yaml", &recipes::repeat(count, "true"));
    let ours = || bench.run(&recipe, &[]);
    let others: Vec<_> = found.iter().map(|one| move || run(bench, one, count)).collect();
    let mut things: Vec<&dyn Fn() -> Used> = vec![&ours];
    things.extend(others.iter().map(|one| one as &dyn Fn() -> Used));
    bench.in_turn(rounds, &things)
}

fn run(bench: &Bench, found: &Found, count: usize) -> Used {
    let (head, step) = found.other.text;
    let file = bench.file("others.steps", &(head.to_owned() + &step.repeat(count)));
    let mut command = Command::new(&found.path);
    command.args(found.other.arguments).arg(file).current_dir(bench.home()).env("HOME", bench.home());
    // a `make` around this program would be obeyed
    measure(command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL"))
}

/// Figures of one program, in the order in which they were taken; not a number where it failed.
fn figures(used: &[Used], figure: impl Fn(&Used) -> f64) -> Vec<f64> {
    used.iter().map(|used| if used.code == Some(0) { figure(used) } else { f64::NAN }).collect()
}

/// A line of figures and their ratios.
fn compared(title: &str, columns: &[Vec<f64>], unit: fn(f64) -> String) -> String {
    row(title, columns.len(), |column| cell(Pair::of(&columns[column], &columns[1]), unit))
}

/// Time for each step, start-up included.
fn times(count: usize, used: &[Vec<Used>]) -> String {
    let title = match count {
        1 => "start-up: one step".to_owned(),
        count => format!("each of {} steps", thousands(count)),
    };
    let each = |used: &Vec<Used>| figures(used, |used| used.seconds / count as f64);
    compared(&title, &used.iter().map(each).collect::<Vec<_>>(), time)
}

fn memory(used: &[Vec<Used>]) -> String {
    let peak = |used: &Vec<Used>| figures(used, |used| used.megabytes);
    let title = format!("peak memory, {} steps", thousands(REMEMBERED));
    compared(&title, &used.iter().map(peak).collect::<Vec<_>>(), megabytes)
}

fn sizes(bench: &Bench, found: &[Found]) -> String {
    let paths = std::iter::once(&bench.program).chain(found.iter().map(|one| &one.path));
    let size = |path: &PathBuf| fs::metadata(path).map_or(f64::NAN, |file| file.len() as f64 / 1e6);
    compared("size of the program", &paths.map(|path| vec![size(path)]).collect::<Vec<_>>(), megabytes)
}

/// A figure and its ratio; never a number for something that failed.
fn cell(pair: Pair, unit: fn(f64) -> String) -> String {
    if pair.measured.is_nan() {
        return "failed".to_owned();
    }
    format!("{} ({:.2})", unit(pair.measured), pair.ratio)
}

fn thousands(count: usize) -> String {
    if count < 1_000 { count.to_string() } else { format!("{},{:03}", count / 1_000, count % 1_000) }
}

#[cfg(test)]
mod tests {
    use super::{compared, in_path, thousands};
    use crate::table::time;

    #[test]
    fn a_line_has_a_ratio_to_its_second_column() {
        let check = |columns: &[Vec<f64>], expected: &str| assert_eq!(compared("a", columns, time), expected);
        check(&[vec![3.0], vec![2.0]], "| a | 3.00 s (1.50) | 2.00 s (1.00) |");
        check(
            &[vec![4.0, 40.0], vec![2.0, 10.0], vec![1.0, 5.0]],
            "| a | 22.00 s (3.00) | 6.00 s (1.00) | 3.00 s (0.50) |",
        );
    }

    #[test]
    fn a_failure_has_no_figure() {
        let columns = [vec![1.0, 1.0], vec![1.0, 1.0], vec![1.0, f64::NAN]];
        assert_eq!(compared("a", &columns, time), "| a | 1.00 s (1.00) | 1.00 s (1.00) | failed |");
    }

    #[test]
    fn numbers_of_steps() {
        let check = |count, expected| assert_eq!(thousands(count), expected);
        check(10, "10");
        check(999, "999");
        check(1_000, "1,000");
        check(10_000, "10,000");
    }

    #[test]
    fn programs_are_looked_for_in_the_path() {
        assert!(in_path("bash").is_some_and(|path| path.is_absolute()));
        assert!(in_path("a-program-that-does-not-exist").is_none());
    }
}
