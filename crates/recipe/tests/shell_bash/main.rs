//! The script that is written for a command, run by the real bash with hostile values: each value
//! must arrive byte by byte, and nothing that it contains may be executed.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

mod mistaken;
mod random;
mod shapes;

use recipe::shell::{Piece, Script, assemble};
use shapes::{EVALUATED, SHAPES, TRIMMING, hostile_values};

/// Cuts a command at its `{{n}}`.
fn pieces(command: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = command;
    while let Some(at) = rest.find("{{").filter(|at| rest.get(at + 3..at + 5) == Some("}}")) {
        pieces.push(Piece::Text(&rest[..at]));
        pieces.push(Piece::Hole(rest[at + 2..at + 3].parse().unwrap()));
        rest = &rest[at + 5..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn write(command: &str) -> Script {
    assemble(&pieces(command), &|number| format!("RECIPE_VAR_{number}"))
}

/// Runs all scripts in one process, for which it has a `cat` of its own: processes are what takes time.
const DRIVER: &str = r#"
cat() {
  local a
  case ${1-} in /*) exec 7<"$1" ;; *) exec 7<&0 ;; esac
  IFS= read -r -d '' -u 7 a
  printf %s "$a"
}
for file in ../scripts/*; do
  . "$file"
  printf '\0'
  unset a i l u v w x y m
done
"#;

/// A folder for the scripts and one for the commands to run in, both removed at the end.
struct Yard(PathBuf);

impl Yard {
    fn new(name: &str) -> Yard {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("run")).unwrap();
        fs::create_dir_all(root.join("scripts")).unwrap();
        fs::write(root.join("run/file"), "").unwrap();
        Yard(root)
    }

    fn script(&self, number: usize, body: &str) {
        fs::write(self.0.join(format!("scripts/{number:04}")), body).unwrap();
    }

    /// Runs all scripts; their outputs are separated by NUL.
    fn run(&self, value: &[u8]) -> Output {
        Command::new("/bin/bash")
            .args(["-c", DRIVER])
            .current_dir(self.0.join("run"))
            .env("LC_ALL", "C.UTF-8")
            .env("RECIPE_VAR_0", OsString::from_vec(value.to_vec()))
            .env("RECIPE_VAR_1", "E")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join("run")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn expected(template: &str, value: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = template.split('@').map(str::as_bytes).collect();
    parts.join(value)
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned()
}

fn check(name: &str, shapes: &[(&str, &str)], values: &[Vec<u8>]) {
    let yard = Yard::new(name);
    for (number, (command, _)) in shapes.iter().enumerate() {
        let script = write(command);
        assert_eq!(script.arithmetic, [0usize; 0], "{command}");
        yard.script(number, &script.body);
    }
    let mut failures = Vec::new();
    for value in values {
        let output = yard.run(value);
        let mut outputs = output.stdout.split(|byte| *byte == 0);
        for (command, template) in shapes {
            let actual = outputs.next().unwrap_or_default();
            if actual != expected(template, value) {
                let body = write(command).body;
                failures.push(format!(
                    "value {:?}\ncommand {command}\nscript {body}\nactual {:?}\n",
                    show(value),
                    show(actual)
                ));
            }
        }
        if yard.files() != ["file"] {
            failures.push(format!("value {:?} left {:?}", show(value), yard.files()));
            break;
        }
    }
    let count = failures.len();
    assert!(failures.is_empty(), "{count} failures:\n{}", failures[..count.min(12)].join("\n"));
}

#[test]
fn every_value_arrives_whole_in_every_place() {
    check("shapes", SHAPES, &hostile_values());
}

#[test]
fn every_value_arrives_whole_where_a_place_is_easily_mistaken() {
    let mut values = hostile_values();
    values.retain(|value| value.len() < 1_000);
    values.extend(["-va[$(touch pwned)]", "va[$(touch pwned)]", "-npa[$(touch pwned)]"].map(Vec::from));
    check("mistaken", mistaken::SHAPES, &values);
}

#[test]
fn every_value_is_a_literal_pattern() {
    let mut values = hostile_values();
    values.retain(|value| value.len() < 1_000);
    check("trimming", TRIMMING, &values);
}

#[test]
fn a_value_can_name_a_file() {
    let yard = Yard::new("files");
    yard.script(
        0,
        &write("printf a > {{0}}; printf b >> '{{0}}' 2>&1; printf '<%s>' \"$(< \"{{0}}\")\"").body,
    );
    let output = yard.run(b"$(touch pwned) *'\"");
    assert_eq!(output.stdout, b"<ab>\0");
    assert_eq!(yard.files(), ["$(touch pwned) *'\"", "file"]);
}

#[test]
fn only_whole_numbers_pass_where_bash_evaluates() {
    check_evaluated("evaluated", EVALUATED);
}

#[test]
fn only_whole_numbers_pass_where_a_place_is_easily_mistaken() {
    check_evaluated("mistaken-evaluated", mistaken::EVALUATED);
}

fn check_evaluated(name: &str, commands: &[(&str, &str)]) {
    let yard = Yard::new(name);
    for (number, (command, _)) in commands.iter().enumerate() {
        let script = write(command);
        assert_eq!(script.arithmetic, [0], "{command}\n{}", script.body);
        yard.script(number, &script.body);
    }
    let output = yard.run(b"5");
    let outputs: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    for ((command, expected), actual) in commands.iter().zip(outputs) {
        assert_eq!(show(actual).trim_end(), *expected, "{command}\n{}", write(command).body);
    }
}

#[test]
fn a_negative_number_keeps_its_sign() {
    let yard = Yard::new("negative");
    yard.script(0, &write("i=1; printf '%s ' $((i-{{0}})) $((i+{{0}})) $((-{{0}})) $((2*{{0}}))").body);
    assert_eq!(show(&yard.run(b"-3").stdout), "4 -2 3 -6 \0");
}

#[test]
fn a_value_that_names_a_variable_is_reported() {
    let yard = Yard::new("names");
    for (number, command) in mistaken::NAMES.iter().enumerate() {
        let script = write(command);
        assert_eq!((script.names, script.arithmetic), (vec![0], vec![]), "{command}\n{}", script.body);
        yard.script(number, &script.body);
    }
    for value in ["name", "$(touch pwned)", "`touch pwned`", "a;touch pwned"] {
        yard.run(value.as_bytes());
        assert_eq!(yard.files(), ["file"], "{value}");
    }
}
