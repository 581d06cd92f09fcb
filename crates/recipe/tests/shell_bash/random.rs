//! Random commands: whatever they are, no value is executed, and valid ones print what they must.

use std::process::{Command, Stdio};

use proptest::{prelude::*, test_runner::RngSeed};
use recipe::shell::{Piece, assemble, scan};

use crate::{Yard, expected, show, write};

/// What random commands are made of.
const PARTS: &[&str] = &[
    "{{}}",
    "{{}}",
    "{{}}",
    "{{}}",
    " ",
    " ",
    "\n",
    "\"",
    "'",
    "`",
    "\\",
    "$",
    "$(",
    "$((",
    "((",
    "${u:-",
    "${a[",
    "${v#",
    "${v:",
    "$'",
    "$\"",
    "$[",
    "]",
    ")",
    "))",
    "}",
    "(",
    "{ ",
    ";",
    ";;",
    "|",
    "&&",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "<<< ",
    "<(",
    "[[ ",
    " ]]",
    " -eq ",
    " == ",
    "case x in ",
    " esac",
    "x) ",
    "if ",
    "; then ",
    "; fi",
    "printf %s ",
    ": ",
    "cat ",
    "a=",
    "a=(",
    "a[",
    "]=",
    "let ",
    "'let' ",
    "\\let ",
    "command ",
    "time -p ",
    "coproc N ",
    "declare -A m; ",
    "m[",
    "for n in ",
    "\\\n",
    "declare -i n=",
    "n=",
    "# ",
    "x",
    "1",
    "@(",
    "f() ",
    "for ((",
    "for i in ",
    "; do ",
    "; done",
    "!",
    "~",
    "*",
    ",",
    "${#",
    "${!",
    "${x/",
    "/",
    "echo ",
];

const MARKERS: &[&str] = &[
    "a[$(touch pwned)]",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "\nE\ntouch pwned\n",
    "x) touch pwned;;",
    "touch pwned",
];

/// Runs a command whose holes have hostile values, or a number where only that is let through.
fn execute(yard: &Yard, command: &[Piece<'_>], marker: &str) -> String {
    let script = assemble(command, &|number| format!("RECIPE_VAR_{number}"));
    let mut bash = Command::new("/bin/bash");
    bash.arg("-c").arg(format!("ulimit -t 5 -u 2000; {}", script.body)).current_dir(yard.0.join("run"));
    for number in 0..command.len() {
        let value = if script.arithmetic.contains(&number) { "7" } else { marker };
        bash.env(format!("RECIPE_VAR_{number}"), value);
    }
    let quiet =
        bash.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().unwrap();
    script.body
}

/// Numbers the holes among the chosen parts.
fn compose(parts: &[usize]) -> Vec<Piece<'static>> {
    let piece = |(number, part): (usize, &usize)| match PARTS[*part] {
        "{{}}" => Piece::Hole(number),
        text => Piece::Text(text),
    };
    parts.iter().enumerate().map(piece).collect()
}

/// Grows a random valid command, and what it prints, from a list of choices.
struct Grower<'a> {
    choices: std::slice::Iter<'a, u8>,
    delimiters: usize,
}

/// A text of the shell, and what it stands for, with `@` for the value.
type Grown = (String, String);

impl Grower<'_> {
    /// The next choice among `count`; the first one, which ends the growth, when there are no more.
    fn choose(&mut self, count: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % count)
    }

    fn command(&mut self) -> Grown {
        match self.choose(12) {
            1 => self.around_command("( ", "\n)"),
            2 => self.around_command("{ ", "\n}"),
            3 => self.around_command("case x in y) ;; x) ", "\n;; esac"),
            4 => self.around_command("if [[ x == @(x|'y)') ]]; then # it's <<X\n", "\nfi"),
            5 => self.around_command("f() {\n", "\n}; f"),
            6 => self.heredoc("", Self::quoted),
            7 => self.heredoc("'", Self::literal),
            8 => self.around_command("while ((1<2)); do ", "\nbreak; done"),
            9 => {
                let (word, value) = self.word();
                (format!("a=({word}); printf '<%s>' \"${{a[0]}}\""), format!("<{value}>"))
            }
            10 => {
                let (word, value) = self.word();
                (format!("case {word} in {word}) printf '<%s>' {word};; esac"), format!("<{value}>"))
            }
            _ => {
                let (word, value) = self.word();
                (format!("printf '<%s>' {word}"), format!("<{value}>"))
            }
        }
    }

    fn around_command(&mut self, before: &str, after: &str) -> Grown {
        let (command, printed) = self.command();
        (format!("{before}{command}{after}"), printed)
    }

    fn heredoc(&mut self, quote: &str, text: fn(&mut Self) -> Grown) -> Grown {
        self.delimiters += 1;
        let delimiter = format!("E{}", self.delimiters);
        let (text, value) = text(self);
        let command = format!("cat <<{quote}{delimiter}{quote}\n<{text}>\n{delimiter}\nprintf '|'");
        (command, format!("<{value}>\n|"))
    }

    fn word(&mut self) -> Grown {
        match self.choose(8) {
            1 => self.around(Self::quoted, "\"", "\"", ""),
            2 => self.around(Self::quoted, "\"it's ", "\"", "it's "),
            3 => self.around(Self::single, "'", "'", ""),
            4 => self.around(Self::single, "$'\\'", "'", "'"),
            5 => self.around(Self::word, "${u:-", "}", ""),
            6 => self.around(Self::word, "a\\ ", "", "a "),
            7 => self.around(Self::word, "$'\\t'\"#\"", "", "\t#"),
            _ => ("{{0}}".into(), "@".into()),
        }
    }

    fn around(&mut self, inner: fn(&mut Self) -> Grown, before: &str, after: &str, means: &str) -> Grown {
        let (text, value) = inner(self);
        (format!("{before}{text}{after}"), format!("{means}{value}"))
    }

    /// Text inside double quotes or a heredoc.
    fn quoted(&mut self) -> Grown {
        match self.choose(7) {
            1 => self.around(Self::command, "$( ", "\n)", ""),
            2 => self.around(Self::quoted, "${u:-", "}", ""),
            3 => self.around(Self::quoted, "\\$", "", "$"),
            4 => self.around(Self::quoted, "$((1<<2))", "", "4"),
            5 => {
                let (command, printed) = self.command();
                (format!("`{}`", command.replace('\\', "\\\\").replace('`', "\\`")), printed)
            }
            _ => ("{{0}}".into(), "@".into()),
        }
    }

    fn single(&mut self) -> Grown {
        ("{{0}}\" {{0}}".into(), "@\" @".into())
    }

    fn literal(&mut self) -> Grown {
        ("'{{0}}\" $x `\\ {{0}}\\".into(), "'@\" $x `\\ @\\".into())
    }
}

/// The same commands every time, because `bash` has trouble of its own with some (quotes in backquotes in a list);
/// `PROPTEST_RNG_SEED` tries others.
fn config() -> ProptestConfig {
    let usual = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    match usual.rng_seed {
        RngSeed::Random => ProptestConfig { rng_seed: RngSeed::Fixed(1), ..usual },
        RngSeed::Fixed(_) => usual,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_value_is_executed_in_a_random_command(
        parts in proptest::collection::vec(0..PARTS.len(), 1..14),
        marker in 0..MARKERS.len(),
    ) {
        let yard = Yard::new("random");
        let body = execute(&yard, &compose(&parts), MARKERS[marker]);
        prop_assert!(!yard.0.join("run/pwned").exists(), "{body}");
    }

    #[test]
    fn any_text_is_scanned(text in proptest::collection::vec(any::<char>(), 0..40), parts in proptest::collection::vec(0..PARTS.len(), 0..60)) {
        let text: String = text.into_iter().collect();
        let mut pieces = compose(&parts);
        pieces.insert(parts.len() / 2, Piece::Text(&text));
        let holes = pieces.iter().filter(|piece| matches!(piece, Piece::Hole(_))).count();
        prop_assert_eq!(scan(&pieces).len(), holes);
    }

    #[test]
    fn a_value_arrives_whole_however_it_is_nested(
        choices in proptest::collection::vec(any::<u8>(), 0..24),
        marker in 0..MARKERS.len(),
    ) {
        let (command, printed) = Grower { choices: choices.iter(), delimiters: 0 }.command();
        let script = write(&command);
        prop_assert_eq!(&script.arithmetic, &[0usize; 0], "{}", command);
        let yard = Yard::new("nested");
        yard.script(0, &command.replace("{{0}}", "v"));
        yard.script(1, &script.body);
        let value = MARKERS[marker].as_bytes();
        let output = yard.run(value);
        let printed_both: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        // bash has trouble of its own with some commands, also without any value
        prop_assume!(printed_both[0] == expected(&printed, b"v"));
        let wanted = expected(&printed, value);
        prop_assert_eq!(show(printed_both[1]), show(&wanted), "{}\n--\n{}", command, script.body);
    }
}
