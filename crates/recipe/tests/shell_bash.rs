//! The script that is written for a command, run by the real bash with hostile values: each value
//! must arrive byte by byte, and nothing that it contains may be executed.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use proptest::prelude::*;
use recipe::shell::{Piece, Script, assemble, scan};

/// `{{0}}` is the value; in the expected output `@` is. Every output ends in something that no
/// value ends in, because `$(…)` drops newlines at the end.
const SHAPES: &[(&str, &str)] = &[
    // bare words
    ("printf '<%s>' {{0}}", "<@>"),
    ("printf '<%s>' a{{0}}b", "<a@b>"),
    ("printf '<%s>' --mode={{0}}", "<--mode=@>"),
    ("printf '<%s>' --{{0}}", "<--@>"),
    ("printf '<%s>' {{0}}{{0}}", "<@@>"),
    ("printf '<%s>' {{0}} {{0}}", "<@><@>"),
    ("printf '<%s>' x'y'{{0}}\"z\"", "<xy@z>"),
    ("printf '<%s>' \\{{0}}", "<@>"),
    ("printf '<%s>' a\\ {{0}}", "<a @>"),
    ("printf '<%s>' ${{0}}", "<$@>"),
    ("printf '<%s>' \\${{0}}", "<$@>"),
    ("printf '<%s>' a#{{0}}", "<a#@>"),
    ("printf '<%s>' {a,{{0}}}", "<a><@>"),
    ("printf '<%s>' \\\n  {{0}}", "<@>"),
    ("printf '<%s>' {{0}}; printf '<%s>' {{0}}", "<@><@>"),
    ("true && printf '<%s>' {{0}} || printf no", "<@>"),
    ("{ printf '<%s>' {{0}}; }", "<@>"),
    ("( printf '<%s>' {{0}} )", "<@>"),
    ("(printf '<%s>' {{0}})", "<@>"),
    ("! false; printf '<%s>' {{0}}", "<@>"),
    // assignments and arrays
    ("a={{0}}; printf '<%s>' \"$a\"", "<@>"),
    ("a={{0}}b; printf '<%s>' \"$a\"", "<@b>"),
    ("export a={{0}}; printf '<%s>' \"$a\"", "<@>"),
    ("f() { local a={{0}}; printf '<%s>' \"$a\"; }; f", "<@>"),
    ("function f { printf '<%s>' {{0}}; }; f", "<@>"),
    ("f() ( printf '<%s>' {{0}} ); f", "<@>"),
    ("f() { printf '<%s>' \"$1\"; }; f {{0}}", "<@>"),
    ("a=({{0}} x); printf '<%s>' \"${a[@]}\"", "<@><x>"),
    ("a=(x\n  {{0}} # {{0}}\n); printf '<%s>' \"${a[@]}\"", "<x><@>"),
    ("a=(); a+=({{0}}); printf '<%s>' \"${a[0]}\"", "<@>"),
    ("a=([3]={{0}}); printf '<%s>' \"${a[3]}\"", "<@>"),
    ("a[2]={{0}}; printf '<%s>' \"${a[2]}\"", "<@>"),
    ("x=1 y={{0}} bash -c 'printf \"<%s>\" \"$y\"'", "<@>"),
    ("set -- {{0}} b; printf '<%s>' \"$1\"", "<@>"),
    // quotes
    ("printf '<%s>' \"{{0}}\"", "<@>"),
    ("printf '<%s>' \"a{{0}}b\"", "<a@b>"),
    ("printf '<%s>' \"it's {{0}}\"", "<it's @>"),
    ("printf '<%s>' \"\\\"{{0}}\\\"\"", "<\"@\">"),
    ("printf '<%s>' \"\\{{0}}\"", "<\\@>"),
    ("printf '<%s>' \"\\\\{{0}}\"", "<\\@>"),
    ("printf '<%s>' \"${{0}}\"", "<$@>"),
    ("printf '<%s>' \"\\${{0}}\"", "<$@>"),
    ("v=1; printf '<%s>' \"$v{{0}}\"", "<1@>"),
    ("v=1; printf '<%s>' $v{{0}}", "<1@>"),
    ("printf '<%s>' '{{0}}'", "<@>"),
    ("printf '<%s>' 'a{{0}}b'", "<a@b>"),
    ("printf '<%s>' '\"{{0}}\"'", "<\"@\">"),
    ("printf '<%s>' '\\{{0}}'", "<\\@>"),
    ("printf '<%s>' '${{0}}'", "<$@>"),
    ("printf '<%s>' '# {{0}}'", "<# @>"),
    ("printf '<%s>' $'{{0}}'", "<@>"),
    ("printf '<%s>' $'a\\'{{0}}\\tb'", "<a'@\tb>"),
    ("printf '<%s>' $'\\{{0}}'", "<\\@>"),
    ("printf '<%s>' $'\\\\{{0}}'", "<\\@>"),
    ("printf '<%s>' $'${{0}}'", "<$@>"),
    ("printf '<%s>' $\"a{{0}}\"", "<a@>"),
    ("printf '<%s>' 'a'\"b\"$'c'{{0}}", "<abc@>"),
    // substitutions
    ("printf '%s' $(printf '<%s>' {{0}} >/dev/null; echo ok)", "ok"),
    ("printf '%s' \"$(printf '<%s>' {{0}})\"", "<@>"),
    ("printf '%s' \"$(printf '<%s>' \"{{0}}\")\"", "<@>"),
    ("printf '%s' \"$(printf '<%s>' '{{0}}')\"", "<@>"),
    ("printf '%s' \"a $(printf '<%s>' {{0}}) {{0}}b\"", "a <@> @b"),
    ("printf '%s' \"$(printf '%s' \"$(printf '<%s>' {{0}})\")\"", "<@>"),
    ("printf '%s' \"`printf '<%s>' {{0}}`\"", "<@>"),
    ("printf '%s' \"`printf '<%s>' \"{{0}}\"`\"", "<@>"),
    ("printf '%s' \"`printf '<%s>' \\\"{{0}}\\\"`\"", "<@>"),
    ("printf '%s' \"`printf '<%s>' '{{0}}'`\"", "<@>"),
    ("x=`printf '<%s>' {{0}}`; printf '%s' \"$x\"", "<@>"),
    ("x=`printf '<%s>' \\\\{{0}}`; printf '%s' \"$x\"", "<@>"),
    ("x=`printf '<%s>' \"\\$HOME_NOT_SET{{0}}\"`; printf '%s' \"$x\"", "<@>"),
    ("x=`printf '%s' \"\\`printf '<%s>' {{0}}\\`\"`; printf '%s' \"$x\"", "<@>"),
    ("x=`printf '%s' $(printf '<%s>' a)'{{0}}|'`; printf '%s' \"$x\"", "<a>@|"),
    ("x=`cat <<'E'\n<{{0}}>$x\\\\\nE\n`; printf '%s' \"$x\"", "<@>$x\\"),
    ("x=`printf '<%s>' a # {{0}}\n`; printf '%s' \"$x\"", "<a>"),
    ("cat <(printf '<%s>' {{0}})", "<@>"),
    ("printf '%s' \"$( (printf '<%s>' {{0}}) )\"", "<@>"),
    ("printf '%s' \"$((printf '<%s>' {{0}}) | cat)\"", "<@>"),
    ("printf '%s' \"$(case a in a) printf '<%s>' {{0}};; esac)\"", "<@>"),
    ("printf '%s' \"$(case a in (b) ;; (a) printf '<%s>' '{{0}}' ;; esac)\"", "<@>"),
    ("printf '%s' \"$(echo ok # it's ) {{0}}\n)\"", "ok"),
    ("printf '%s' \"$(if true; then case x in y) ;; x) printf '<%s>' {{0}}; esac; fi)\"", "<@>"),
    // parameters
    ("printf '<%s>' ${u:-{{0}}}", "<@>"),
    ("printf '<%s>' \"${u:-{{0}}}\"", "<@>"),
    ("printf '<%s>' \"${u:-a {{0}} b}\"", "<a @ b>"),
    ("printf '<%s>' ${u:-'{{0}}'}", "<@>"),
    ("printf '<%s>' ${u:-\"{{0}}\"}", "<@>"),
    ("printf '<%s>' \"${u:-'{{0}}'}\"", "<'@'>"),
    ("printf '<%s>' \"${u:-\"{{0}}\"}\"", "<@>"),
    ("printf '<%s>' \"${u-\\{{0}}}\"", "<\\@>"),
    ("printf '<%s>' \"${u-${w-{{0}}}}\"", "<@>"),
    ("printf '%s' \"${u-$(printf '<%s>' {{0}})}\"", "<@>"),
    (": ${u:={{0}}}; printf '<%s>' \"$u\"", "<@>"),
    ("v=1; printf '<%s>' ${v:+{{0}}}", "<@>"),
    ("v=Q; printf '<%s>' \"${v/Q/{{0}}}\"", "<@>"),
    ("v=Q; printf '<%s>' \"${v//Q/a{{0}}}\"", "<a@>"),
    ("v=Q; printf '<%s>' \"${v/Q/'{{0}}'}\"", "<@>"),
    ("v={{0}}; printf '<%s>' \"${v#{{0}}}\"", "<>"),
    ("v=a{{0}}; printf '<%s>' \"${v%{{0}}}\"", "<a>"),
    ("v=a{{0}}; printf '<%s>' ${v%'{{0}}'}", "<a>"),
    ("v=a{{0}}; printf '<%s>' \"${v%\"{{0}}\"}\"", "<a>"),
    ("v=-{{0}}-; printf '<%s>' \"${v/-{{0}}-/x}\"", "<x>"),
    ("set -- a b; printf '<%s>' $# {{0}}", "<2><@>"),
    ("v=abc; printf '<%s>' ${#v} {{0}} # '{{0}}", "<3><@>"),
    // conditions and cases
    ("if [[ {{0}} == {{0}} ]]; then printf yes; fi", "yes"),
    ("if [[ z{{0}} == z'{{0}}' && ( z\"{{0}}\" = z{{0}} ) ]]; then printf yes; fi", "yes"),
    ("[[ x == {{0}}x? ]] || printf '<%s>' {{0}}", "<@>"),
    ("[[ x == @(x|{{0}}) ]] && printf '<%s>' {{0}}", "<@>"),
    ("[[ ax =~ ^(a|b)x$ ]] && printf '<%s>' \"{{0}}\"", "<@>"),
    ("[[ ' )' =~ ( |x)\\) ]] && printf '<%s>' '{{0}}'", "<@>"),
    ("[[ -n x{{0}} ]] && printf '<%s>' {{0}}", "<@>"),
    ("[ {{0}} = {{0}} ] && printf yes", "yes"),
    ("case {{0}} in {{0}}) printf '<%s>' {{0}};; *) printf no;; esac", "<@>"),
    ("case z{{0}} in zz) ;; (a|z{{0}}) printf '<%s>' '{{0}}';; esac", "<@>"),
    ("case x in\n  # it's {{0}}\n  x) printf '<%s>' {{0}} ;;\nesac", "<@>"),
    ("case x in x) case y in y) printf '<%s>' {{0}};; esac ;; esac; (printf '<%s>' '{{0}}')", "<@><@>"),
    ("for i in {{0}} b; do printf '<%s>' \"$i\"; done", "<@><b>"),
    ("for i in a; do printf '<%s>' {{0}}; done", "<@>"),
    ("for ((i=0; i<2; i++)); do printf '<%s>' {{0}}; done", "<@><@>"),
    ("while :; do printf '<%s>' '{{0}}'; break; done", "<@>"),
    ("if ((1<2)); then printf '<%s>' {{0}}; fi", "<@>"),
    ("((1 << 2)); printf '<%s>' {{0}}\nprintf '<%s>' $((1<<2))", "<@><4>"),
    ("printf '<%s>' $[1+1]{{0}}", "<2@>"),
    ("printf '<%s>' $((1+$(echo {{0}} | wc -l >/dev/null; echo 1)))", "<2>"),
    ("shopt -s extglob\n[[ ab == +(a|b) ]] && printf '<%s>' '{{0}}'", "<@>"),
    ("declare -A m; m[{{0}}x]=1; printf '<%s>' \"${m[{{0}}x]}\" \"${!m[@]}\"", "<1><@x>"),
    ("declare -A m=([{{0}}x]=1); printf '<%s>' \"${m['{{0}}x']}\" ${m[\"{{0}}x\"]}", "<1><1>"),
    // comments
    ("# {{0}}\nprintf ok", "ok"),
    ("printf ok # {{0}}", "ok"),
    ("# it's a \"comment\" `with $( <<E\nprintf '<%s>' {{0}}", "<@>"),
    ("printf '<%s>' {{0}} # <<X\nprintf '<%s>' '{{0}}'", "<@><@>"),
    ("printf '<%s>' \"<<X\" {{0}}\nprintf '<%s>' '{{0}}'", "<<<X><@><@>"),
    ("printf ok;# {{0}} '\nprintf '<%s>' {{0}}", "ok<@>"),
    // here-strings, redirections
    ("cat <<< {{0}}", "@\n"),
    ("cat <<<{{0}}x", "@x\n"),
    ("cat <<< \"{{0}}\"; printf '<%s>' '{{0}}'", "@\n<@>"),
    ("printf '<%s>' {{0}} 2>&1 >/dev/null; printf '<%s>' {{0}} &>/dev/null; printf ok", "ok"),
    // heredocs
    ("cat <<E\n{{0}}\nE\n", "@\n"),
    ("cat <<E\na{{0}}b {{0}}\nE\nprintf '<%s>' {{0}}", "a@b @\n<@>"),
    ("cat <<E\n\"{{0}}\" '{{0}}'\nE\n", "\"@\" '@'\n"),
    ("cat <<E\n\\{{0}} ${{0}} \\\\{{0}}\nE\n", "\\@ $@ \\@\n"),
    ("cat <<E\n$(printf '<%s>' {{0}} \"{{0}}\" '{{0}}')\nE\n", "<@><@><@>\n"),
    ("cat <<E\n`printf '<%s>' {{0}} \"{{0}}\" '{{0}}'`\nE\n", "<@><@><@>\n"),
    ("cat <<E\n${u:-{{0}}} ${u:-\"{{0}}\"} ${u-'{{0}}'}|\nE\n", "@ @ '@'|\n"),
    ("v=Q; cat <<E\n${v/Q/{{0}}}|${v#Q}\nE\n", "@|\n"),
    ("cat <<-E\n\t\t{{0}}\n\tb{{0}}\n\tE\nprintf x", "@\nb@\nx"),
    ("cat <<'E'\n{{0}}\nE\nprintf '<%s>' {{0}}", "@\n<@>"),
    (
        "cat <<'E'\n$x `y` \\ \\\\ \"{{0}}\" ${{0}} \\{{0}} $(z)\\\n\\\nE\n",
        "$x `y` \\ \\\\ \"@\" $@ \\@ $(z)\\\n\\\n",
    ),
    ("cat <<\"E\"\n{{0}}$x\nE\n", "@$x\n"),
    ("cat <<\\E\n{{0}}$x\nE\n", "@$x\n"),
    ("cat <<E'O'F\n{{0}}$x\nEOF\n", "@$x\n"),
    ("cat <<-'E'\n\t{{0}}$x\n\t\tb\n\tE\nprintf x", "@$x\nb\nx"),
    ("cat <<'END OF'\n{{0}}$x\nRECIPE_END_0\nEND OF\nprintf x", "@$x\nRECIPE_END_0\nx"),
    ("cat <<''\n{{0}}$x\n\nprintf x", "@$x\nx"),
    ("cat <<'E'\nno hole $x\nE\nprintf '<%s>' {{0}}", "no hole $x\n<@>"),
    ("cat <<A - <<'B' | cat\n{{0}}\nA\nb{{0}}$x\nB\nprintf '<%s>' {{0}}", "b@$x\n<@>"),
    ("cat <<A; cat <<'B'\n{{0}}$((1+1))\nA\nb{{0}}$x\nB\n", "@2\nb@$x\n"),
    ("printf '%s' \"$(cat <<E\n<{{0}}>\nE\n)\"", "<@>"),
    ("printf '%s' \"$(cat <<'E'\n<{{0}}>'$x\nE\n)\"", "<@>'$x"),
    ("printf '%s' \"$(cat <<'E'\n<{{0}}>\nE)\"", "<@>"),
    ("printf '%s' \"$(cat <<E\n) ' \" <{{0}}>\nE\n)\"", ") ' \" <@>"),
    ("cat <<E\n$(cat <<'F'\n<{{0}}$x>\nF\n)\nE\n", "<@$x>\n"),
    ("(cat <<E)\n{{0}}\nE\nprintf '<%s>' '{{0}}'", "@\n<@>"),
    ("cat <<E \"a\nb\" 2>/dev/null - \n<{{0}}>\nE\n", "<@>\n"),
    ("cat <<E # it's\n{{0}}\nE\n", "@\n"),
    ("while read -r l; do :; done <<E\nE\ncat <<'E'\n{{0}}\nE", "@\n"),
    ("cat <<{{1}}\n<{{0}}>\n{{1}}\nprintf x", "<@>\nx"),
    ("cat <<'{{1}}'\n<{{0}}$x>\n{{1}}\nprintf x", "<@$x>\nx"),
    ("cat <<E\nfoo\\\nE\n{{0}}\nE\nprintf x", "fooE\n@\nx"),
];

fn hostile_values() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "plain",
        "two words",
        " lead",
        "trail ",
        "\tlead",
        "trail\t",
        "\n",
        "\nlead",
        "trail\n\n",
        "a\nb",
        "'",
        "\"",
        "''",
        "\"\"",
        "it's \"q\"",
        "$(touch pwned)",
        "`touch pwned`",
        "';touch pwned;'",
        "\";touch pwned;\"",
        "\n touch pwned\n",
        "E\ntouch pwned",
        "E",
        "EOF\n",
        "a\nE\ntouch pwned\nE\n",
        "END OF\ntouch pwned",
        "RECIPE_END_0\ntouch pwned",
        "B\ntouch pwned\n",
        "\tE\ntouch pwned",
        "*",
        "?",
        "[a-z]*",
        "~",
        "~root",
        "!",
        "!!",
        "\\",
        "a\\",
        "\\\\",
        "\\n",
        "$",
        "$x",
        "${x}",
        "$$",
        "$'a'",
        "-n",
        "--help",
        "-",
        "--",
        "{a,b}",
        "{1..3}",
        "#",
        "# c",
        "a#",
        "&",
        "&& touch pwned",
        "| touch pwned",
        "; touch pwned",
        "> pwned",
        "<(x)",
        "(",
        ")",
        "))",
        "]]",
        "esac",
        "}",
        "}}",
        "a[$(touch pwned)]",
        "a[$(touch pwned)]=1",
        "=",
        "%s%n",
        "ü€😀",
        "\u{301}",
        "\u{a0}",
        "\r\n",
        "\x01\x7f",
        "|)",
        "x) touch pwned;;",
        "@P",
        "]",
    ];
    let mut values: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    values.push((1..=255).map(char::from).collect::<String>().into_bytes());
    values.push((1..=255).collect());
    values.push("'\"$(touch pwned)`\\ \n*".repeat(5_000).into_bytes());
    values
}

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

#[test]
fn every_value_arrives_whole_in_every_place() {
    let yard = Yard::new("shapes");
    for (number, (command, _)) in SHAPES.iter().enumerate() {
        let script = write(command);
        assert_eq!(script.arithmetic, [0usize; 0], "{command}");
        yard.script(number, &script.body);
    }
    let mut failures = Vec::new();
    for value in hostile_values() {
        let output = yard.run(&value);
        let mut outputs = output.stdout.split(|byte| *byte == 0);
        for (command, template) in SHAPES {
            let actual = outputs.next().unwrap_or_default();
            if actual != expected(template, &value) {
                let body = write(command).body;
                failures.push(format!(
                    "value {:?}\ncommand {command}\nscript {body}\nactual {:?}\n",
                    show(&value),
                    show(actual)
                ));
            }
        }
        if yard.files() != ["file"] {
            failures.push(format!("value {:?} left {:?}", show(&value), yard.files()));
            break;
        }
    }
    let count = failures.len();
    assert!(failures.is_empty(), "{count} failures:\n{}", failures[..count.min(12)].join("\n"));
}
