//! The quoting that the scanner finds at each place, and that it stays fast. What bash makes of the
//! scripts is tried in the tests of the crate.

use super::{MisuseKind, Piece, Quoting, Quoting::*, assemble, misuses, scan};

/// Cuts a command at its `@`.
fn pieces(command: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (number, text) in command.split('@').enumerate() {
        if number > 0 {
            pieces.push(Piece::Hole(number - 1));
        }
        pieces.push(Piece::Text(text));
    }
    pieces
}

#[track_caller]
fn check(command: &str, expected: &[Quoting]) {
    assert_eq!(scan(&pieces(command)), expected, "{command}");
}

#[track_caller]
fn check_body(command: &str, expected: &str) {
    assert_eq!(assemble(&pieces(command), &|number| format!("V{number}")).body, expected, "{command}");
}

#[test]
fn quotes() {
    check("echo @ a@b", &[Bare, Bare]);
    check("echo \"@\" '@' $'@' $\"@\"", &[Double, Single, AnsiC, Double]);
    check("echo \"'@'\" '\"@\"' \\\"@ \\'@", &[Double, Single, Bare, Bare]);
    check("echo \"\\\"@\" $'\\'@' '\\'@", &[Double, AnsiC, Bare]);
    check("echo \"@", &[Double]);
    check("echo '@", &[Single]);
}

#[test]
fn substitutions() {
    check("echo \"$(echo @ '@')@\"", &[Bare, Single, Double]);
    check("echo \"`echo @ '@' \\\"@\\\"`@\"", &[Bare, Single, Double, Double]);
    check("`\\`echo '@' \\`'@'`@", &[Single, Single, Bare]);
    check("cat <(echo '@') @", &[Single, Bare]);
    check("$( (case a in a) '@';; esac) )'@'", &[Single, Single]);
    check("$((echo '@'); echo @)", &[Single, Bare]);
}

/// The look-ahead is bounded: text beyond it counts as arithmetic, which is stricter.
#[test]
fn the_look_ahead_is_bounded() {
    for (depth, expected) in [(10, Single), (200, Arithmetic)] {
        let command = format!("{}echo '@'{}", "$((:; ".repeat(depth), "); :)".repeat(depth));
        check(&command, &[expected]);
    }
}

#[test]
fn parameters() {
    check("${x:-@} ${x:-'@'} \"${x:-'@'}\"", &[Bare, Single, Double]);
    check("\"${x#'@'}\" \"${x/@/@}\"", &[Single, Bare, Bare]);
    check(
        "${x:@:@} ${a[@]} ${#a[@]} ${a[@]:-@}",
        &[Arithmetic, Arithmetic, Arithmetic, Arithmetic, Arithmetic, Bare],
    );
    check("${@} ${#@} ${!@} ${x@}", &[Name, Name, Name, Name]);
    check("declare -A m; ${m[@]} ${n[@]}", &[Bare, Arithmetic]);
}

#[test]
fn heredocs() {
    check("cat <<E\n@ '@'\nE\n'@'", &[Heredoc, Heredoc, Single]);
    check("cat <<'E'\n@\nE\n'@'", &[QuotedHeredoc, Single]);
    check("cat <<\\E <<-F\n@\nE\n@\n\tF\n@", &[QuotedHeredoc, Heredoc, Bare]);
    check("cat <<E\n$(echo '@')@\nE\n@", &[Single, Heredoc, Bare]);
    check("cat <<< @ '@'\n@", &[Bare, Single, Bare]);
    check("cat <<E; echo '@'\n@\nE", &[Single, Heredoc]);
    check("echo \"<<E\" # <<F\n'@'", &[Single]);
    check("cat <<E\n@", &[Heredoc]);
}

#[test]
fn arithmetic() {
    check("$((@)) $[@] ((@))", &[Arithmetic, Arithmetic, Bare]);
    check("((@)) && (( 1 << @ )); '@'", &[Arithmetic, Arithmetic, Single]);
    check("$(($(cat @) + @))", &[Bare, Arithmetic]);
    check("[[ @ -eq @ ]] && [[ @ == @ ]] && [ @ -eq @ ]", &[Arithmetic, Arithmetic, Bare, Bare, Bare, Bare]);
    check("a[@]=@ b=([@]=@ @)", &[Arithmetic, Bare, Arithmetic, Bare, Bare]);
    check("echo a[@]=@; declare -A m; m[@]=@", &[Bare, Bare, Bare, Bare]);
    check("let @ x=@; echo @", &[Arithmetic, Arithmetic, Bare]);
    check("declare -i n=@; n=@ m=@", &[Arithmetic, Arithmetic, Bare]);
    check("declare -i 'n=@'; declare 'm=@'", &[Arithmetic, Single]);
    check("unset 'a[@]' b@; printf 'a[@]'", &[Arithmetic, Bare, Single]);
}

#[test]
fn what_is_printed_into_arithmetic() {
    check("$(( $(echo @) + $(printf %d @; true) ))", &[Arithmetic, Arithmetic]);
    check("$(( $(echo $(echo @)) + `echo @` ))", &[Arithmetic, Arithmetic]);
    check("$(( $(echo @ | wc -w) + $(wc -l < @) + $(cat @) ))", &[Bare, Bare, Bare]);
    check("$(( $( (echo \"@\") ) + $(true && echo '@' || true) ))", &[Arithmetic, Arithmetic]);
    check("[[ $(echo @) -eq @ ]] && [[ $(echo @) == x ]]", &[Arithmetic, Arithmetic, Bare]);
    check("let x=$(echo @); declare -i n=$(echo @); n=$(echo @)", &[Arithmetic, Arithmetic, Arithmetic]);
    check("a[$(echo @)]=1 ${a[$(echo @)]} ${x:$(echo @)}", &[Arithmetic, Arithmetic, Arithmetic]);
    check("x=$(echo @); a=($(echo @)); echo $(echo @)", &[Bare, Bare, Bare]);
}

#[test]
fn places_that_are_easily_mistaken() {
    check(&"`echo '@'`; ".repeat(40), &[Single; 40]);
    check("let>f x=@; let 2>f x=@", &[Arithmetic, Arithmetic]);
    check("case x in a|@|'@') ;; (b|@) '@' ;; esac; '@'", &[Bare, Single, Bare, Single, Single]);
    check("declare -i a; a[0]=@; b[0]=@", &[Arithmetic, Bare]);
    check("echo \"a$\"@ \"$\" '@'", &[Bare, Single]);
    check("${a[b[@]]:-@} ${a[b[0]]:-'@'}", &[Arithmetic, Bare, Single]);
}

/// Checks the misuses of a command, written as `Code by eval`.
#[track_caller]
fn check_misuse(command: &str, expected: &[&str]) {
    let found: Vec<String> = misuses(&pieces(command))
        .into_iter()
        .map(|misuse| format!("{}: {:?} by {}", misuse.hole, misuse.kind, misuse.by))
        .collect();
    assert_eq!(found, expected, "{command}");
}

#[test]
fn values_that_are_taken_for_code() {
    for (command, by) in [
        ("eval @", "eval"),
        ("eval \"x=@\"", "eval"),
        ("builtin eval 'x @'", "eval"),
        ("if true; then eval a b @; fi", "eval"),
        ("bash -c @x", "bash"),
        ("bash -c \"echo '@'\"", "bash"),
        ("sh -ec 'echo @' x", "sh"),
        ("/bin/bash -euo pipefail -c 'echo @'", "/bin/bash"),
        ("A=1 bash -o errexit -c \"x @\"", "bash"),
        ("sudo timeout 5 bash -lc \"cd @\"", "bash"),
        ("docker exec box sh -c \"ls @\"", "sh"),
        ("find . | xargs -n1 sh -c 'echo @'", "sh"),
        ("x=$(bash -c 'echo @')", "bash"),
        ("trap 'rm -rf @' EXIT", "trap"),
        ("trap -- \"rm @\" INT TERM", "trap"),
    ] {
        check_misuse(command, &[&format!("0: {:?} by {by}", MisuseKind::Code)]);
    }
}

#[test]
fn values_that_are_taken_for_names() {
    for (command, by) in [
        ("read @", "read"),
        ("read -r -p prompt x @", "read"),
        ("while read -r @; do :; done", "read"),
        ("unset @", "unset"),
        ("unset -v \"@\"", "unset"),
        ("mapfile -t @ < file", "mapfile"),
        ("printf -v @ %s x", "printf"),
        ("test -v @", "test"),
        ("[ -v @ ]", "["),
        ("[[ -v @ ]]", "[[ -v"),
        ("declare @=1", "declare"),
        ("export \"@=x\"", "export"),
        ("export @", "export"),
        ("f() { local -r a@=1; }", "local"),
        ("readonly @", "readonly"),
    ] {
        check_misuse(command, &[&format!("0: {:?} by {by}", MisuseKind::Name)]);
    }
}

#[test]
fn ordinary_commands_are_left_alone() {
    for command in [
        "echo @; printf '%s' @; cat @ | grep -v @ > @",
        "bash @ @; bash -x script.sh @; bash -s -- @ < file; sh ./run.sh -c @",
        "bash -c 'echo \"$1\"' _ @; bash -c 'rm \"$RECIPE_VAR_x\"' @",
        "bash -e script.sh -c @; bash -c @; sh -ec \"@\" x; bash -c '@'",
        "echo bash -c @; printf 'sh -c %s' sh -c @",
        "git commit -m @; git log -c @; gcc -c @; python3 -c @; ssh host @",
        "read -r -p @ x; read -t @ x; read -d @ x; read -r x <<< @; read x < @",
        "mapfile -t lines < @; mapfile -d @ lines; readarray -t x <<< \"@\"",
        "unset 'a[@]'; printf -v x %s @; printf '%s' -v @; [ -n @ ]; test @ = @; [[ -n @ ]]",
        "export x=@ y=@; declare -r x=@; local x=\"@\"; declare -A m=([@]=@); readonly x='@'",
        "trap - EXIT; trap 'rm -f x' @; trap '' \"@\"",
        "# eval @\necho \"eval @\" 'bash -c @'; cat <<E\neval @\nE",
        "docker run -v @ image; docker exec box ls @; xargs -I{} cp {} @",
        "command -v @; type @; kill @; set -- @; shift; evaluate @; my-eval @",
        "for x in @; do :; done; case @ in @) ;; esac; @ arguments; x=@ @",
    ] {
        check_misuse(command, &[]);
    }
}

#[test]
fn comments() {
    check("# @ '\n@", &[Comment, Bare]);
    check("echo a#@ # @", &[Bare, Comment]);
    check("echo $# @ ${#x} @", &[Bare, Bare]);
    check("$(# it's @\n'@')", &[Comment, Single]);
}

#[test]
fn bodies() {
    check_body("echo @ \"@\" '@' $'@'", r#"echo "${V0}" "${V1}" ''"${V2}"'' $''"${V3}"$''"#);
    check_body("\\@ \"\\@\" $@ \"$@\"", r#""${V0}" "\\${V1}" \$"${V2}" "\$${V3}""#);
    check_body("cat <<'A B'\n$x @\nA B\n", "cat <<RECIPE_END_0\n\\$x ${V0}\nRECIPE_END_0\n");
    check_body("cat <<'E'\n$x\nE\n", "cat <<'E'\n$x\nE\n");
    check_body("cat <<'E_1'\n@\nE_1\n", "cat <<E_1\n${V0}\nE_1\n");
    check_body("cat <<'E'\n@", "cat <<E\n${V0}");
    check_body("$((1-@))", "$((1- ${V0}))");
    check_body("wait -n @ @; wait -p x @", "wait -n -- \"${V0}\" \"${V1}\"; wait -p x \"${V2}\"");
    check_body("printf > @ @ @", "printf > \"${V0}\" -- \"${V1}\" \"${V2}\"");
    check_body("`echo \\$x \\\\$y @`", "`echo $x \\\\$y \"${V0}\"`");
}

#[test]
fn used_holes_are_listed() {
    let script = assemble(&pieces("# @\necho @ $((@)) <<@\n@"), &|number| format!("V{number}"));
    assert_eq!(script.used, [1, 2, 4]);
    assert_eq!(script.arithmetic, [2]);
    let [one, two, space] = [Piece::Hole(1), Piece::Hole(0), Piece::Text(" ")];
    let twice = |command| {
        let pieces = [Piece::Text(command), one, space, two, space, one];
        assemble(&pieces, &|number| format!("V{number}"))
    };
    assert_eq!(
        (twice("unset ").names, twice("echo ").used, twice("let ").arithmetic),
        (vec![0, 1], vec![0, 1], vec![0, 1])
    );
}

#[test]
fn a_hole_is_the_delimiter_of_a_heredoc() {
    for quote in ["", "'"] {
        let opening = format!("cat <<{quote}");
        let text = [Piece::Text(quote), Piece::Text("\n"), Piece::Hole(1), Piece::Text("\n")];
        let pieces = [&[Piece::Text(&opening), Piece::Hole(0)], text.as_slice(), &[Piece::Hole(0)]].concat();
        let kind = if quote.is_empty() { Heredoc } else { QuotedHeredoc };
        assert_eq!(scan(&pieces), [Delimiter, kind, Delimiter]);
    }
}

#[test]
fn commands_without_holes_stay_as_they_are() {
    for command in [
        "",
        "for f in *.rs; do echo \"$f\" | sed 's/\\(a\\)/\\1/'; done",
        "case \"$x\" in a|b) echo $((1<<2)) ;; (*) cat <<-E\n\t$x\n\tE\n;; esac",
        "[[ $x =~ ^([a-z]+)[[:space:]]$ ]] && echo ${BASH_REMATCH[1]} 2>&1 >/dev/null",
        "ü() { echo 'ü' \"$(date)\" # €\n}",
        "echo ${x%%\"}\"} ${y//\\//-} \"${z:-'}'}\" $'\\''",
    ] {
        check_body(command, command);
    }
}

#[test]
fn hostile_commands_are_scanned_fast() {
    for part in [
        "$(",
        "${",
        "$((",
        "((",
        "(",
        "(\n",
        "`",
        "\\`",
        "\"",
        "\"$(",
        "\"${x:-",
        "a[",
        "a=(",
        "@()",
        "[[ ",
        "case x in ",
        "<<A\n",
        "<<A ",
        "$(cat <<A\n",
        "cat <<'A'\n",
        "x@(",
        "{",
        "${a[",
        "'",
        "$'",
        "\\",
        "<(",
        "\n",
        "$((a)",
        "((a) ",
        "let x@ ",
        "[[ a -eq ",
        "unset a[$(",
        "declare \"a[$(",
        "eval \"$(",
        "coproc N ",
        "'a' ",
        "\\\n",
        "$\\\n",
        "$((\"$(",
        "<<E\\\n",
        "<<E\n\\\n",
        "(declare -A a;",
        "declare -i a;",
    ] {
        let text = part.replace('@', "x").repeat(100_000 / part.len());
        let started = std::time::Instant::now();
        let holes = scan(&[Piece::Text(&text), Piece::Hole(0), Piece::Text(&text), Piece::Hole(1)]);
        assert_eq!(holes.len(), 2);
        assert!(started.elapsed().as_secs() < 5, "{part}");
    }
}

#[test]
fn beyond_the_nesting_limit_only_numbers_pass() {
    check(&format!("{}@", "$(".repeat(100_000)), &[Arithmetic]);
    check(&format!("{}@", "$((".repeat(100)), &[Arithmetic]);
    // the command itself is open too
    check(&format!("{}'@'", "( ".repeat(1_999)), &[Single]);
    check(&format!("{}'@'", "( ".repeat(2_000)), &[Arithmetic]);
    // the word is as long as a name may be, and one longer
    for (spaces, expected) in [(4_992, Bare), (4_993, Arithmetic)] {
        check(&format!("unset a[1]='{}'@", " ".repeat(spaces)), &[expected]);
    }
    let texts = |count: usize| (0..count).map(|number| format!("cat <<E{number}\n$(")).collect::<String>();
    check(&format!("{}'@'", texts(24)), &[Single]);
    check(&format!("{}'@'", texts(25)), &[Arithmetic]);
}
