//! The rules of the house: which crate may use which, and how every file begins and ends.

use std::fs;

use testkit::project::{root, sources};

/// The crates in their order: each may use only those before it.
const ORDER: &[&str] = &["recipe", "engine", "runtime", "author", "server", "cli"];
/// Longest file.
const MOST_LINES: usize = 400;
/// The names in the `[dependencies]` table of a crate.
fn dependencies(krate: &str) -> Vec<String> {
    let Ok(text) = fs::read_to_string(root().join("crates").join(krate).join("Cargo.toml")) else {
        return Vec::new();
    };
    let table = text.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let table = table.split("\n[").next().unwrap_or_default();
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(name).collect()
}

#[test]
fn a_crate_uses_only_those_above_it() {
    for (at, krate) in ORDER.iter().enumerate() {
        for used in dependencies(krate) {
            let place = ORDER.iter().position(|known| *known == used);
            assert!(place.is_none_or(|place| place < at), "`{krate}` must not use `{used}`");
            assert_ne!(used, "testkit", "`{krate}` may use `testkit` only in tests");
        }
    }
    assert!(dependencies("cli").contains(&"recipe".to_owned()), "the tables are read");
}

#[test]
fn the_language_the_brain_and_the_author_stay_pure() {
    assert!(!dependencies("author").contains(&"runtime".to_owned()), "the author runs nothing");
    for krate in ["recipe", "engine", "author"] {
        for used in dependencies(krate) {
            assert!(
                !["tokio", "rustix", "tempfile", "clap"].contains(&used.as_str()),
                "`{krate}` uses `{used}`"
            );
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let says =
        |text: &str| text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > 12);
    let silent: Vec<String> =
        sources().into_iter().filter(|(_, text)| !says(text)).map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "these do not begin with `//!`: {silent:#?}");
}

#[test]
fn files_stay_short() {
    let lines = |(path, text): (String, String)| (text.lines().count(), path);
    let long: Vec<_> = sources().into_iter().map(lines).filter(|(lines, _)| *lines > MOST_LINES).collect();
    assert!(long.is_empty(), "split these along a seam: {long:#?}");
}

#[test]
fn nothing_is_left_for_later_and_nothing_names_a_machine() {
    let words = ["TO", "FIX"].map(|start| format!("{start}{}", if start == "TO" { "DO" } else { "ME" }));
    let homes = ["work", "home", "root"].map(|dir| format!("\"/{dir}/"));
    for (path, text) in sources() {
        for word in words.iter().chain(&homes) {
            assert!(!text.contains(word.as_str()), "{path} contains {word}");
        }
    }
}

/// The rooms of `runtime` in their order: each may use only those before it.
const ROOMS: &[&str] = &[
    "os",
    "store",
    "agents",
    "machine",
    "steps",
    "run",
    "report",
    "runs",
    "repair",
    "orchestration",
    "requests",
    "recipe_tests",
];

/// The first names of what a file uses from its own crate.
fn used_in_crate(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (_, after) in text.match_indices("crate::").map(|(at, found)| (at, &text[at + found.len()..])) {
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let Some(group) = after.strip_prefix('{') else {
            names.push(word(after));
            continue;
        };
        let mut depth = 1;
        names.push(word(group));
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => names.push(word(&group[at + 1..])),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

#[test]
fn a_room_uses_only_those_above_it() {
    let place = |name: &str| ROOMS.iter().position(|room| *room == name);
    let mut rooms = std::collections::BTreeSet::new();
    for (path, text) in sources() {
        let Some((room, _)) = path.strip_prefix("crates/runtime/src/").and_then(|path| path.split_once('/'))
        else {
            continue;
        };
        let Some(at) = place(room) else {
            assert_eq!(room, "simulation", "`{path}` is in no room");
            continue;
        };
        rooms.insert(room.to_owned());
        // tests may look at everything
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        if path.contains("/tests") {
            continue;
        }
        for used in used_in_crate(text) {
            assert!(place(&used).is_none_or(|used| used <= at), "`{path}` must not use `{used}`");
        }
    }
    assert_eq!(rooms.len(), ROOMS.len(), "every room has files");
    assert_eq!(used_in_crate("use crate::{a::{b, c}, d};\ncrate::e::f()"), ["a", "d", "e"]);
}

#[test]
fn the_map_shows_every_folder() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for krate in ["recipe", "engine", "runtime", "author", "cli"] {
        for entry in fs::read_dir(root().join("crates").join(krate).join("src")).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                assert!(map.contains(&format!("`{krate}/{name}`")), "ARCHITECTURE.md lacks `{krate}/{name}`");
            }
        }
    }
}

/// The file that may know exit codes of this program besides `cli/src/exit.rs`: it reads old journals.
const READS_EXIT_CODES: &str = "crates/runtime/src/store/journal/upgrade.rs";

#[test]
fn only_the_command_line_knows_exit_codes() {
    let is_below =
        |path: &str| path.starts_with("crates/engine/src/") || path.starts_with("crates/runtime/src/");
    for (path, text) in sources() {
        if !is_below(&path) || path == READS_EXIT_CODES {
            continue;
        }
        // exit codes of steps are `i32`; 130 and 143 are codes of this program that mean nothing else
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            assert!(!["130", "143"].contains(&word), "{path} has the exit code {word}: use `EndReason`");
        }
        for field in ["exit_code: u8", "exit_code: Option<u8>"] {
            assert!(!text.contains(field), "{path} has `{field}`: use `EndReason`");
        }
    }
}

/// Files besides `report/hints.rs` that may spell a command: help texts of the program itself.
const SPELLS_COMMANDS: &[&str] = &[
    "crates/cli/src/report/hints.rs",
    "crates/cli/src/args.rs",
    "crates/cli/src/commands/man.rs",
    "crates/cli/src/commands/welcome.rs",
];

#[test]
fn only_one_file_spells_commands() {
    let is_source = |path: &str| {
        ["engine", "runtime", "cli"].iter().any(|krate| path.starts_with(&format!("crates/{krate}/src/")))
    };
    for (path, text) in sources() {
        if !is_source(&path) || SPELLS_COMMANDS.contains(&path.as_str()) {
            continue;
        }
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let spelled = code.find(|line| line.contains("recipe-runner-rs "));
        assert!(spelled.is_none(), "{path} spells a command; use `report/hints.rs`: {spelled:?}");
    }
}

/// Files that look for several words in a text, because the text is not ours: the output of other programs, answers of
/// agents, and the sentences of old journals.
const READS_SENTENCES: &[&str] = &[
    "crates/engine/src/failure/names.rs",
    "crates/engine/src/failure/text.rs",
    "crates/engine/src/failure/variables.rs",
    "crates/engine/src/repair_review/",
    "crates/runtime/src/agents/",
    // a message of git about its lock
    "crates/runtime/src/steps/agent/staging.rs",
    "crates/runtime/src/store/journal/upgrade.rs",
];

/// The methods that look for words in a text.
const LOOKS: &[&str] = &[
    "contains",
    "starts_with",
    "ends_with",
    "strip_prefix",
    "strip_suffix",
    "find",
    "split_once",
    "rsplit_once",
];

/// The literals of two or more words that a file looks for in a text.
fn sought_sentences(text: &str) -> Vec<String> {
    let text = code(text);
    let literal = |after: &str| -> Option<String> {
        let after = after.trim_start().strip_prefix('"')?;
        let mut escaped = false;
        let end = after.char_indices().find(|(_, letter)| {
            let is_end = *letter == '"' && !escaped;
            escaped = *letter == '\\' && !escaped;
            is_end
        });
        end.map(|(end, _)| after[..end].to_owned())
    };
    let is_sentence = |found: &String| {
        let words = found.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
        words.count() > 1
    };
    let calls = LOOKS.iter().flat_map(|look| {
        let call = format!(".{look}(");
        text.match_indices(&call).map(|(at, call)| &text[at + call.len()..]).collect::<Vec<_>>()
    });
    calls.filter_map(literal).filter(is_sentence).collect()
}

#[test]
fn facts_are_types_and_no_sentence_is_read_back() {
    let is_below =
        |path: &str| path.starts_with("crates/engine/src/") || path.starts_with("crates/runtime/src/");
    let is_exempt = |path: &str| {
        path.contains("/tests")
            || path.contains("/simulation/")
            || READS_SENTENCES.iter().any(|file| path.starts_with(file))
    };
    for (path, text) in sources().iter().filter(|(path, _)| is_below(path) && !is_exempt(path)) {
        let sought = sought_sentences(text);
        assert!(sought.is_empty(), "{path} looks for {sought:?}: let the producer give a type");
    }
    for file in READS_SENTENCES {
        assert!(sources().keys().any(|path| path.starts_with(file)), "`{file}` does not exist any more");
    }
    let text = "a.contains(\n    \"is \\\" not found\") || b.find(\"one:\") || c.starts_with(&words)";
    assert_eq!(sought_sentences(text), ["is \\\" not found"], "only literals of several words");
}

/// Calls that change the outside world or read its clock, and belong to `runtime/os`.
const OS_CALLS: &[&str] = &[
    "fs::write(",
    "fs::rename(",
    "fs::remove_file(",
    "fs::remove_dir(",
    "fs::remove_dir_all(",
    "process::Command::new(",
    "Instant::now",
    "SystemTime::now",
];

/// Files that make such a call themselves.
const CALLS_OS: &[&str] = &[
    "crates/runtime/src/os/",
    "crates/cli/src/commands/doctor.rs",
    "crates/cli/src/commands/sync.rs",
    // the files that the user asked for
    "crates/cli/src/commands/man.rs",
    "crates/cli/src/commands/manifest.rs",
];

/// The code of a file, without its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The calls in a file that belong to `runtime/os`. The clock of tokio is that of the event loop, which a simulation can
/// move: it does not count.
fn os_calls(text: &str) -> Vec<&'static str> {
    let text = code(text);
    let imports = |kind: &str, name: &str| {
        let uses = text.split("\nuse ").skip(1).filter_map(|rest| rest.split_once(';'));
        uses.map(|(used, _)| used).any(|used| used.starts_with(kind) && used.contains(name))
    };
    let starts_programs = imports("std", "Command") || imports("tokio", "Command");
    let is_in_code = |line: &&str| !line.trim_start().starts_with("//");
    let lines: Vec<&str> = text.lines().filter(is_in_code).collect();
    let calls = |call: &str| {
        let call = if call.starts_with("process::") && starts_programs { "Command::new(" } else { call };
        let is_of_tokio = call == "Instant::now" && imports("tokio", "Instant");
        !is_of_tokio && lines.iter().any(|line| line.contains(call))
    };
    OS_CALLS.iter().filter(|call| calls(call)).copied().collect()
}

#[test]
fn one_room_touches_the_system() {
    let is_source = |path: &str| {
        ["recipe", "engine", "runtime", "author", "cli"]
            .iter()
            .any(|krate| path.starts_with(&format!("crates/{krate}/src/")))
    };
    let is_exempt = |path: &str| {
        path.contains("/tests")
            || path.contains("/simulation/")
            || CALLS_OS.iter().any(|file| path.starts_with(file))
    };
    let all = sources();
    for (path, text) in all.iter().filter(|(path, _)| is_source(path) && !is_exempt(path)) {
        let calls = os_calls(text);
        assert!(calls.is_empty(), "{path} calls {calls:?}: use a function of `runtime/os`");
    }
    for file in CALLS_OS {
        let calls = all.iter().any(|(path, text)| path.starts_with(file) && !os_calls(text).is_empty());
        assert!(calls, "`{file}` calls nothing of the system any more");
    }
    let text = "\nuse std::{\n    fs,\n    process::{Command, Stdio},\n};\nfn a() {\n    Command::new(b);\n    fs::write(c);\n}";
    assert_eq!(os_calls(text), ["fs::write(", "process::Command::new("]);
    let text =
        "\nuse clap::Command;\nuse tokio::time::Instant;\nfn a() {\n    Command::new(Instant::now());\n}";
    assert_eq!(os_calls(text), [""; 0], "other types with these names");
}
