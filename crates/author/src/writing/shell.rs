//! Bash for gates: texts of the spec as words that mean exactly these texts, and commands of the spec as they are.

use recipe::shell::syntax;

use crate::brief::{ProgramStart, ProjectFacts, ProjectProgram};

/// A text as one word of bash. Double braces are separated, so that no template begins in it.
pub(crate) fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if text.chars().any(|c| needs_escape(c) && c != '\n') {
        return escaped(text);
    }
    format!("'{}'", apart(&text.replace('\'', r"'\''"), "''"))
}

/// Characters that a YAML block, or a reader, would lose.
fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// `$'…'`, byte by byte where a character is not printable.
fn escaped(text: &str) -> String {
    let mut word = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' => word.push_str("\\'"),
            '\\' => word.push_str("\\\\"),
            '\n' => word.push_str("\\n"),
            '{' => word.push_str("\\x7b"),
            c if needs_escape(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    word.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

/// The text with something between each two braces that open.
fn apart(text: &str, between: &str) -> String {
    let mut result = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c == '{' && last == '{' {
            result.push_str(between);
        }
        result.push(c);
        last = c;
    }
    result
}

/// A command of the spec as part of a script: as it is if that is safe, else as the text for a bash of its own.
pub(crate) fn inline(command: &str) -> String {
    let is_safe = !command.contains(['\n', '#']) && !command.contains("{{");
    match syntax::parse(command) {
        Some(list) if is_safe && list.entries.len() == 1 && !list.entries[0].in_background => {
            command.trim().to_owned()
        }
        _ => format!("bash -euo pipefail -c {}", quote(command)),
    }
}

/// Whether a command can be joined with `&&`, `||` and redirections only inside parentheses.
pub(crate) fn is_compound(command: &str) -> bool {
    let list = syntax::parse(&inline(command));
    !list.is_some_and(|list| {
        list.entries.len() == 1
            && list.entries[0].rest.is_empty()
            && list.entries[0].first.commands.len() == 1
    })
}

/// The words of each simple command in a command of the spec; a word that bash would expand is as written.
pub(crate) fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let Some(list) = syntax::parse(command) else { return Vec::new() };
    let commands = list.simple_commands().into_iter();
    commands.map(|words| words.iter().map(syntax::ShellWord::text).collect()).collect()
}

/// The programs of the project that a command calls by their names.
pub(crate) fn called<'a>(project: &'a ProjectFacts, command: &str) -> Vec<&'a ProjectProgram> {
    let commands = simple_commands(command);
    let is_called = |program: &&ProjectProgram| {
        commands.iter().any(|words| words.first().is_some_and(|word| *word == program.name))
    };
    project.programs.iter().filter(is_called).collect()
}

/// A function for each program of the project that a command calls, so that nothing has to be installed.
pub(crate) fn functions(project: &ProjectFacts, command: &str) -> String {
    let programs = called(project, command);
    let is_text = inline(command).starts_with("bash -euo");
    let mut lines = String::new();
    for program in programs {
        let name = &program.name;
        lines.push_str(&format!("{name}() {{ {} \"$@\"; }}\n", start_line(&program.start, name)));
        if is_text {
            lines.push_str(&format!("export -f {name}\nexport root\n"));
        }
    }
    if lines.is_empty() { lines } else { format!("root=$PWD\n{lines}") }
}

/// How a program of the project is started from its sources, in any folder.
fn start_line(start: &ProgramStart, name: &str) -> String {
    match start {
        ProgramStart::Cargo { bin } => {
            format!("cargo run --quiet --manifest-path \"$root/Cargo.toml\" --bin {} --", quote(bin))
        }
        ProgramStart::Node { script } => format!("node \"$root\"/{}", quote(script)),
        ProgramStart::Python { module, function } => {
            let called = function.split('.').next().unwrap_or(function);
            let program = format!(
                "import sys; from {module} import {called}; sys.argv[0] = \"{name}\"; sys.exit({function}())"
            );
            format!("PYTHONPATH=\"$root:$root/src\" python3 -c {}", quote(&program))
        }
        ProgramStart::Go { package } => format!("go run {}", quote(&format!("./{package}"))),
        ProgramStart::File { path } => format!("\"$root\"/{}", quote(path)),
    }
}

/// A command of the spec for another folder: relative paths of programs and scripts lead to the project.
pub(crate) fn from_elsewhere(command: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./:=@%+,".contains(c);
    let inlined = inline(command);
    if !command.chars().all(is_plain) {
        return inlined;
    }
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let interpreters = ["node", "python", "python3", "ruby", "perl", "php", "bash", "sh", "deno"];
    let at = match words.as_slice() {
        [first, ..] if first.contains('/') => 0,
        [first, second, ..] if interpreters.contains(first) && !second.starts_with('-') => 1,
        _ => return inlined,
    };
    let rooted = |(number, word): (usize, &&str)| match number == at && !word.starts_with('/') {
        true => format!("\"$root\"/{}", word.trim_start_matches("./")),
        false => (*word).to_owned(),
    };
    words.iter().enumerate().map(rooted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_keeps_plain_words_and_separates_braces() {
        assert_eq!(quote("1.4.2"), "1.4.2");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote("{{x}}"), "'{''{x}}'");
        assert_eq!(quote("{{{x"), "'{''{''{x'");
        assert_eq!(quote("a\tb"), "$'a\\x09b'");
        assert_eq!(quote("a\n{{"), "'a\n{''{'");
    }

    #[test]
    fn a_command_that_is_not_one_safe_line_gets_a_bash_of_its_own() {
        assert_eq!(inline("t --version"), "t --version");
        assert_eq!(inline("t list | wc -l"), "t list | wc -l");
        assert_eq!(inline("t 'a"), r"bash -euo pipefail -c 't '\''a'");
        assert_eq!(inline("t # x"), "bash -euo pipefail -c 't # x'");
        assert_eq!(inline("t; u"), "bash -euo pipefail -c 't; u'");
        assert_eq!(inline("t {{x}}"), "bash -euo pipefail -c 't {''{x}}'");
    }

    #[test]
    fn programs_of_the_project_are_found_from_an_empty_folder() {
        assert_eq!(from_elsewhere("./t x"), "\"$root\"/t x");
        assert_eq!(from_elsewhere("node bin/cli.js x"), "node \"$root\"/bin/cli.js x");
        assert_eq!(from_elsewhere("t x"), "t x");
        assert_eq!(from_elsewhere("/bin/t x"), "/bin/t x");
    }
}
