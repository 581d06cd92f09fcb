//! Programs that stand in for others: they note how they are called, and answer by their arguments. They are small bash
//! scripts, so a case can use them wherever it can use bash.

use std::{fs, io, path::Path};

use recipe::test_file::{Program, ProgramReply};

use super::{CaseError, scratch::ScratchParts};
use crate::os::{files, shell_word::quote};

/// The separator between arguments when they are compared.
const SEPARATOR: char = '\u{1f}';
/// The end of the names of calls that no reply fits.
const UNKNOWN: &str = ".unknown";

/// Writes the programs of a case.
pub(super) fn install(parts: &ScratchParts, programs: &[Program]) -> Result<(), CaseError> {
    if programs.is_empty() {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        files::make_dirs(&parts.programs)?;
        files::make_dirs(&parts.calls)?;
        for program in programs {
            files::write_program(&parts.programs.join(&program.name), &script(program, &parts.calls))?;
        }
        Ok(())
    };
    make().map_err(|error| CaseError::Broken(format!("cannot write the programs of the case: {error}")))
}

/// The calls in their order, and the mistakes of the case that they show.
pub(super) fn calls(parts: &ScratchParts) -> (Vec<Vec<String>>, Vec<CaseError>) {
    let mut names: Vec<String> = fs::read_dir(&parts.calls)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let (mut calls, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        let bytes = fs::read(parts.calls.join(&name)).unwrap_or_default();
        let argv: Vec<String> = bytes
            .strip_suffix(b"\0")
            .unwrap_or(&bytes)
            .split(|byte| *byte == 0)
            .map(|arg| String::from_utf8_lossy(arg).into_owned())
            .collect();
        if name.ends_with(UNKNOWN) {
            errors.push(CaseError::UnknownCall { argv: argv.clone() });
        }
        calls.push(argv);
    }
    (calls, errors)
}

/// The script of a program.
fn script(program: &Program, calls: &Path) -> String {
    let name = quote(&program.name);
    let mut text = format!(
        "#!/bin/bash -p\n\
         LC_ALL=C\n\
         call={calls}/$EPOCHREALTIME.$$\n\
         printf '%s\\0' {name} \"$@\" > \"$call\"\n\
         said=\n\
         for arg; do said+=$arg$'\\x1f'; done\n",
        calls = quote(&calls.to_string_lossy()),
    );
    for reply in &program.replies {
        text.push_str(&answer(reply));
    }
    text.push_str(&format!(
        "mv \"$call\" \"$call{UNKNOWN}\"\n\
         printf '%s: no reply of the test case fits these arguments\\n' {name} >&2\n\
         exit 1\n"
    ));
    text
}

/// The part of a script that gives one reply, if the arguments fit.
fn answer(reply: &ProgramReply) -> String {
    let condition = match &reply.args {
        Some(args) => format!("fits={}\nif [[ $said =~ $fits ]]; then\n", quote(&pattern(args))),
        None => "if true; then\n".to_owned(),
    };
    let mut text = condition;
    for (file, content) in &reply.files {
        let file = quote(file);
        match content {
            Some(content) => text.push_str(&format!(
                "mkdir -p -- \"$(dirname -- {file})\" && printf '%s' {} > {file}\n",
                quote(content)
            )),
            None => text.push_str(&format!("rm -rf -- {file}\n")),
        }
    }
    for (said, to) in [(&reply.stdout, ""), (&reply.stderr, " >&2")] {
        if !said.is_empty() {
            text.push_str(&format!("printf '%s' {}{to}\n", quote(said)));
        }
    }
    text.push_str(&format!("exit {}\nfi\n", reply.exit));
    text
}

/// The expression that arguments fit, each followed by the separator.
fn pattern(args: &[String]) -> String {
    let mut text = "^".to_owned();
    for arg in args {
        if arg == "**" {
            text.push_str(&format!("([^{SEPARATOR}]*{SEPARATOR})*"));
            continue;
        }
        for c in arg.chars() {
            match c {
                '*' => text.push_str(&format!("[^{SEPARATOR}]*")),
                c if c.is_ascii_alphanumeric() || !c.is_ascii() || c.is_whitespace() => text.push(c),
                '^' => text.push_str("\\^"),
                c => text.push_str(&format!("[{c}]")),
            }
        }
        text.push(SEPARATOR);
    }
    text + "$"
}

#[cfg(test)]
mod tests {
    use super::*;
    use recipe::source::{FileId, Place, Span};

    #[test]
    fn arguments_are_noted_exactly_and_answered_by_the_first_reply_that_fits() {
        let dir = tempfile::tempdir().unwrap();
        let parts = ScratchParts::of(dir.path());
        let reply = |args: Option<&[&str]>, stdout: &str, exit: i32| ProgramReply {
            args: args.map(|args| args.iter().map(|arg| (*arg).to_owned()).collect()),
            stdout: stdout.to_owned(),
            exit,
            ..ProgramReply::default()
        };
        let replies = vec![
            reply(Some(&["pr", "create", "**"]), "pr/7\n", 0),
            reply(Some(&["pr", "v*w", "[1]"]), "it's\n%s", 3),
            reply(Some(&["**", "^last$"]), "last", 0),
            reply(Some(&[]), "nothing", 0),
        ];
        let place = Place { file: FileId(0), span: Span::default() };
        install(&parts, &[Program { name: "g'h".to_owned(), place, replies }]).unwrap();
        let mut argv = Vec::new();
        for (args, stdout, code) in [
            (&["pr", "create"][..], "pr/7\n", 0),
            (&["pr", "create", "a b", "", "é\n'\"$x"], "pr/7\n", 0),
            (&["pr", "view", "[1]"], "it's\n%s", 3),
            (&["pr", "view", "1"], "", 1),
            (&["pr", "view", "a", "[1]"], "", 1),
            (&["x", "y", "^last$"], "last", 0),
            (&["^last$"], "last", 0),
            (&[], "nothing", 0),
            (&["pr\u{1f}create"], "", 1),
        ] {
            let output = std::process::Command::new(parts.programs.join("g'h"))
                .args(args)
                .env_clear()
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if args != ["pr\u{1f}create"] {
                assert_eq!((said.as_str(), output.status.code()), (stdout, Some(code)), "{args:?}");
            }
            argv.push([&["g'h"], args].concat().into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
        let (noted, errors) = calls(&parts);
        assert_eq!(noted, argv);
        assert!(errors.len() >= 2, "{errors:?}");
        assert!(errors[0].to_string().contains("g'h pr view 1"), "{errors:?}");
    }
}
