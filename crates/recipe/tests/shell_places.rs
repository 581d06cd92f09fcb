//! Where in a command a value stands, for constructs that change what follows them: `let` shows whether a new command
//! begins, quotes show whether the construct has ended.

use recipe::shell::{
    Piece,
    Quoting::{self, *},
    misuses, scan,
};

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

fn check(cases: &[(&str, &[Quoting])]) {
    for (command, expected) in cases {
        assert_eq!(scan(&pieces(command)), *expected, "{command}");
    }
}

/// Every `@` is evaluated by bash.
fn check_evaluated(commands: &[&str]) {
    for command in commands {
        let places = scan(&pieces(command));
        assert!(places.iter().all(|place| *place == Arithmetic), "{command}: {places:?}");
    }
}

#[test]
fn a_new_command_begins() {
    check_evaluated(&[
        "echo a;let @; echo b&let @; echo c|let @; echo d&&let @; echo e||let @",
        "echo a |& let @",
        "(let @); (echo a) ; let @",
        "{ let @; }; let @",
        "if let @; then let @; elif let @; else let @; fi; let @",
        "while let @; do let @; done; until let @; do let @; done",
        "! let @; time let @; coproc let @; command let @; builtin let @",
        "for ((i=@; i<@; i++)); do let @; done",
        "function f { let @; }; f() { let @; }",
        "echo \"$(let @)\" `let @` <(let @) >(let @)",
        "let 'a=@' \"b=@\" c=@",
        "while if true; then true; fi do let @; done; if { true; } then let @; fi",
        "while case x in x) true; esac do let @; done; while case x in x) true;; esac do let @; done",
        "until while true; do break; done do let @; done; { { let @; } }",
        "a_b[@]=1; a1[@]=1; _[@]=1",
        "for ((;;)) { let @; }; for ((;;)) do let @; done; for((;;)) { let @; }",
        "!(let @); if !(let @); then let @; fi; echo +(a); let @",
        "echo a\nlet @; let&>f @; 2>f let @; {fd}>f let @",
    ]);
    check(&[
        ("'!' let @", &[Bare]),
        ("\"if\" let @", &[Bare]),
        ("echo function let @", &[Bare]),
        ("for x in let @; do let @; done", &[Bare, Arithmetic]),
        ("let 1\necho @; let x {a[1]}> @; '2'>f let @", &[Bare, Bare, Bare]),
        ("echo $(let @; echo @) ${x:-$(let @)}", &[Arithmetic, Bare, Arithmetic]),
        ("x=@ let @; x=(@ [@]=@) let @", &[Bare, Arithmetic, Bare, Arithmetic, Bare, Arithmetic]),
        ("a[@]=@; a[1+@]+=@; a[b]=@ let @", &[Arithmetic, Bare, Arithmetic, Bare, Bare, Arithmetic]),
        ("a=(let @); a=(x=1 let @); a+=(declare -i n=@)", &[Bare, Bare, Bare]),
    ]);
}

#[test]
fn reserved_words_count_only_where_a_command_begins() {
    check(&[
        ("x=1 [[ @ -eq 1 ]]; command [[ @ -eq 1 ]]; >f [[ @ -eq 1 ]]", &[Bare, Bare, Bare]),
        ("echo a if let @; coproc echo a if let @; coproc N echo { let @", &[Bare, Bare, Bare]),
        ("coproc { echo { let @; }; coproc ! echo { let @", &[Bare, Bare]),
    ]);
}

#[test]
fn only_parts_of_a_word_are_evaluated_with_it() {
    check(&[
        ("let x=$(cat @) y=@; declare -i n=$(cat @)", &[Bare, Arithmetic, Bare]),
        (
            "[[ $(cat @) -eq @ ]]; unset \"a[$(cat @)]\"; unset @[@]",
            &[Bare, Arithmetic, Bare, Bare, Arithmetic],
        ),
        ("$(( $(echo 1 # @\n) + $(echo @) ))", &[Comment, Arithmetic]),
        ("$(( $(echo 1 <<@\n) ))", &[Delimiter]),
        ("$(( $(echo 1; x=@) + $(echo @\n) ))", &[Bare, Arithmetic]),
        ("declare -A m; n=([@]=1); declare -i x; y=(@)", &[Arithmetic, Bare]),
    ]);
}

#[test]
fn a_condition_ends_at_its_brackets() {
    check_evaluated(&[
        "[[ a ]]; let @",
        "[[ a ]]&&let @",
        "[[ a ]]|let @",
        "([[ a ]]); let @",
        "if [[ a < b ]]; then let @; fi",
        "if [[ a -lt b ]]; then ((n = @)); fi",
        "while [[ a ]]; do x[@]=1; done",
        "[[ a ]]; declare -i n=@",
        "[[ a =~ b ]]; let @",
        "[[ a =~ (b) ]]; let @",
        "[[ @ -lt 1 ]]; [[ @ -lt 1 ]]; let @",
    ]);
    check(&[
        ("[[ @ =~ @ ]] && [[ a =~ (@|\"@\") ]]; let @", &[Bare, Bare, Bare, Double, Arithmetic]),
        ("[[ ( @ -lt @ ) && ! @ == @ ]]; let @", &[Arithmetic, Arithmetic, Bare, Bare, Arithmetic]),
        ("[[ a < @ ]]; echo let @", &[Bare, Bare]),
        ("[[ a == ']]'; let @ ]]", &[Bare]),
        ("[[ x == @(a|@) ]]", &[Bare, Bare]),
        ("[[ x =~ (a<b) ]] && let @; [[ x =~ (a) && ( @ -eq 1 ) ]]", &[Arithmetic, Arithmetic]),
        ("[[ x =~ (a -eq @) ]]; [[ x == +(a -eq @) ]]", &[Bare, Bare]),
    ]);
}

#[test]
fn cases_go_from_pattern_to_pattern() {
    check_evaluated(&[
        "case x in a|b) let @ ;; c) ;; esac; let @",
        "case let in let) let @;; esac",
        "case x in a) case y in b) let @;; esac;; c) let @;; esac; let @",
    ]);
    check(&[
        ("case x in a) @;; b) '@';; esac; let @", &[Bare, Single, Arithmetic]),
        (
            "case x in a) let @;& @) let @;;& '@') let @;; esac; let @",
            &[Arithmetic, Bare, Arithmetic, Single, Arithmetic, Arithmetic],
        ),
        ("case @ in @) let @;; esac", &[Bare, Bare, Arithmetic]),
        ("\"$(case x in (esac) echo '@';; esac)\"; case x in a) :;;'b') '@';; esac", &[Single, Single]),
        ("case x in (@) let @;; esac", &[Bare, Arithmetic]),
        ("case x in a) echo; let @;; esac; echo let @", &[Arithmetic, Bare]),
    ]);
}

#[test]
fn redirections_are_not_arguments() {
    check_evaluated(&[
        "let a >f @; let a 2>&1 @; let a >&2 @; let a <&3 @; let a >|f @; let a >>f @; let a <>f @",
        "let a {fd}>f @; let a {fd} @; let a 3>f @; let a 3 @",
        "let a &>f @; let a &>>f @",
    ]);
    check(&[("let @ > @ 2> @ <<< @", &[Arithmetic, Bare, Bare, Bare])]);
}

#[test]
fn declarations_decide_which_values_are_evaluated() {
    check(&[
        (
            "declare -a x=(@ [@]=@); declare -ia y=(@ [@]=@)",
            &[Bare, Arithmetic, Bare, Arithmetic, Arithmetic, Arithmetic],
        ),
        ("declare -A m=([@]=@ [a]=@)", &[Bare, Bare, Bare]),
        ("declare -i n; n+=@; n[@]+=@; m+=@", &[Arithmetic, Arithmetic, Arithmetic, Bare]),
        ("declare n=@; declare -i +x k=@", &[Bare, Arithmetic]),
        (
            "export -n x=@; local -i n=@; typeset -i k=@; readonly -i r=@",
            &[Bare, Arithmetic, Arithmetic, Arithmetic],
        ),
        ("unset a[@] 'b[@]'; read a[@]; printf -v 'a[@]' x", &[Arithmetic; 4]),
        ("test @ -eq @; [ -v a[@] ]", &[Bare, Bare, Arithmetic]),
        (
            "printf -v x %s @; declare -i n; printf -v n %d @ @; printf %s @",
            &[Bare, Arithmetic, Arithmetic, Bare],
        ),
        ("declare -i n; read n <<< @ < @; cat <<< @", &[Arithmetic, Bare, Bare]),
    ]);
}

#[test]
fn parameters_and_arithmetic_end_where_they_should() {
    check(&[
        (
            "echo \"${x:-\"@\"}\" \"${x:-'@'}\" \"${x:-`echo '@'`}\" \"${x:-$(echo '@')}\" \"${x:-\\}@}\" @",
            &[Double, Double, Single, Single, Double, Bare],
        ),
        ("echo ${x:-\"@\"} ${x:='@'} ${x:?@} ${x-'@'}", &[Double, Single, Bare, Single]),
        ("echo ${x=@} ${x?'@'} ${x+@} ${x:+'@'} @", &[Bare, Single, Bare, Single, Bare]),
        ("echo ${x%@} ${x%%'@'} ${x##@} ${x^@} ${x,,'@'}", &[Bare, Single, Bare, Bare, Single]),
        ("echo ${x//@/'@'} ${x/#@/@} '@'", &[Bare, Single, Bare, Bare, Single]),
        ("\"${x#${y}'@'}\" '@'", &[Single, Single]),
        (
            "echo ${x:@} ${x:1:@} ${x: -@} ${x[@]} ${x[@]%@} ${x[1]:@}",
            &[Arithmetic, Arithmetic, Arithmetic, Arithmetic, Arithmetic, Bare, Arithmetic],
        ),
        ("echo ${!x[@]} ${!p@*} ${x@Q}", &[Arithmetic, Name, Name]),
        ("echo ${x:-${y:-@}} ${x:-{@}} '@'", &[Bare, Bare, Single]),
        ("echo $((@ + (@) + a[@])) '@'", &[Arithmetic, Arithmetic, Arithmetic, Single]),
        ("echo $(( (1) )) '@'; echo $(((1)+@)) '@'", &[Single, Arithmetic, Single]),
        ("echo $[@ + [1] ] '@'", &[Arithmetic, Single]),
        ("((x = (@) )) ; '@'", &[Arithmetic, Single]),
        ("$((1+@", &[Arithmetic]),
        ("$((echo \"it's\" @); echo)", &[Bare]),
        ("$((echo \\\" @); echo)", &[Bare]),
        ("$((echo '\"' @); echo)", &[Bare]),
        ("\"$( ((1)); echo '@')\" \"$( ((1 + ((2)))); echo '@')\"", &[Single, Single]),
        ("a[b[0]+@]=1; a=([b[0]+@]=1)", &[Arithmetic, Arithmetic]),
        ("\"$(echo +(a) '@')\" \"$(echo +(a+(b)) '@')\"", &[Single, Single]),
        ("+(a|let @) x; '@'", &[Bare, Single]),
        ("\"$$(\" '@' \"$${\" '@' $$'a'", &[Single, Single]),
        ("echo $'\\'@' $\"@\" $@ $ '@' $_ $1 '@'", &[AnsiC, Double, Bare, Single, Single]),
        ("echo \"$'@'\" \"\\\"@\" \"a\\\\\" '@'", &[Double, Double, Single]),
        ("echo +(a|@) !(@) ?(@) *(@|'@')", &[Bare, Bare, Bare, Bare, Single]),
    ]);
}

#[test]
fn heredocs_end_at_their_word() {
    check(&[
        ("cat <<A <<'B'\n@\nA\n@\nB\n@", &[Heredoc, QuotedHeredoc, Bare]),
        ("cat <<-A\n\t@\n\tA\n'@'", &[Heredoc, Single]),
        ("cat <<\"A\"\n@\nA\n'@'", &[QuotedHeredoc, Single]),
        ("cat <<A'B'\n@\nAB\n'@'", &[QuotedHeredoc, Single]),
        ("cat <<A\na\\\nA\n@\nA\n'@'", &[Heredoc, Single]),
        ("cat <<'A'\na\\\nA\n'@'", &[Single]),
        (
            "cat <<A\n$x ${x:-@} $((@)) `echo '@'` \\$@ \"@\"\nA\n@",
            &[Heredoc, Arithmetic, Single, Heredoc, Heredoc, Bare],
        ),
        ("x=$(cat <<A\n@\nA\n); '@'", &[Heredoc, Single]),
        ("x=\"$(cat <<A\n'@'\nA\n)\"; '@'", &[Heredoc, Single]),
        ("cat << A; let @\n@\nA\nlet @", &[Arithmetic, Heredoc, Arithmetic]),
        ("cat <<A | let @\n@\nA", &[Arithmetic, Heredoc]),
        ("cat <<A_1\n@\nA_1\n@", &[Heredoc, Bare]),
        ("(cat <<A\n@\nA\n) ; let @", &[Heredoc, Arithmetic]),
        ("cat <<E\nE)\n@\nE\n'@'", &[Heredoc, Single]),
        (
            "echo $(true); cat <<E\nE)\n@\nE\n'@'; echo $(cat <<E)\n@\nE\n'@'",
            &[Heredoc, Single, Heredoc, Single],
        ),
        ("$(cat <<E\nEx\n@\nE\n)'@'", &[Heredoc, Single]),
        ("$(cat <<E\n@\nE\\)\n)'@'", &[Heredoc, Single]),
        ("cat <<A <<''\nx\nA\n@\n\n'@'", &[QuotedHeredoc, Single]),
        ("echo a # '@'\n'@' #@", &[Comment, Single, Comment]),
        ("echo a\\\n#b '@'", &[Single]),
        ("echo <(:)# '@'", &[Single]),
    ]);
}

#[test]
fn commands_that_take_a_value_for_code_or_a_name() {
    for (command, expected) in [
        ("bash +o posix -c 'x @'", Some("bash")),
        ("bash -c 'x @' | cat @", Some("bash")),
        ("read -a @", Some("read")),
        ("read -n 3 @", Some("read")),
        ("declare -n @", Some("declare")),
        ("mapfile @", Some("mapfile")),
        ("mapfile -C \"x @\" a", Some("mapfile")),
        ("compgen -W \"a @\"", Some("compgen")),
        ("complete -C 'x @' y", Some("complete")),
        ("compgen -W a -- @", None),
        ("eval \"$(echo @)\"", Some("eval")),
        ("eval \"$(cat @)\"", None),
        ("declare -i x=1 y@=2", Some("declare")),
        ("'bash' '-c' \"x @\"", Some("bash")),
        ("bash -c -- \"x @\"", Some("bash")),
        ("declare -n r=@", Some("declare")),
        ("eval x; echo @", None),
        ("bash -c x; echo @", None),
        ("bash -c; echo 'x @'", None),
        ("bash -e script -c 'x @'", None),
        ("bash script -c 'x @'", None),
        ("bash --rcfile f -c 'x @'", Some("bash")),
        ("bash --init-file f -c 'x @'", Some("bash")),
        ("echo -v; [ @ = x ]", None),
        ("read -p; read @", Some("read")),
        ("read x; echo @", None),
    ] {
        let found: Vec<String> = misuses(&pieces(command)).into_iter().map(|misuse| misuse.by).collect();
        assert_eq!(found.first().map(String::as_str), expected, "{command}: {found:?}");
        assert!(found.len() < 2, "{command}: {found:?}");
    }
}
