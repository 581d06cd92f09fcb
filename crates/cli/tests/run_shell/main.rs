//! Shell steps: values in every place of a command, exported names, sizes, environment, directories.

mod sizes;

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

/// Text that breaks out of anything that is not quoted well.
const HOSTILE: &[&str] = &[
    "plain",
    "",
    "two  words",
    "it's",
    "\"; touch pwned; \"",
    "'; touch pwned; '",
    "$(touch pwned)",
    "`touch pwned`",
    "${x:-$(touch pwned)}",
    "line one\nline two",
    "END",
    "x\nEND\ntouch pwned\nEND",
    "* ? [a-z] ~ {a,b}",
    "-n -e --help",
    "back\\slash \\n \\",
    "a\tb\r",
    "!! !x",
    "# no comment",
    "&& touch pwned || touch pwned; touch pwned & touch pwned | cat > pwned",
    "$((1+1)) $HOME $0 $@",
    "ünï ☃ \u{1}\u{7f}",
    "trailing newline is kept\n",
];

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn finished(output: Output) -> Output {
    assert_eq!(output.code, 0, "{}", output.all());
    output
}

/// A recipe whose steps each hold one command.
fn recipe(context: &Json, commands: &[&str]) -> String {
    let steps: Vec<Json> = commands
        .iter()
        .enumerate()
        .map(|(at, command)| json!({"id": format!("s{at}"), "command": command}))
        .collect();
    json!({"name": "r", "context": context, "steps": steps}).to_string()
}

#[test]
fn a_value_means_itself_in_every_place() {
    // every place prints the value and then a full stop, so that newlines at the end count
    let places = [
        "printf %s. {{v}}",
        "printf %s. \"{{v}}\"",
        "printf %s. '{{v}}'",
        "printf %s. a{{v}}b | sed -z 's/^a//; s/b\\.$/./'",
        "x={{v}}; printf %s. \"$x\"",
        "x=$(printf %s. {{v}}); printf %s \"$x\"",
        "x=`printf %s. \"{{v}}\"`; printf %s \"$x\"",
        "printf %s. \"${nothing:-{{v}}}\"",
        "[[ {{v}} == \"$RECIPE_VAR_v\" ]] && printf %s. \"$RECIPE_VAR_v\"",
        "case {{v}} in \"$RECIPE_VAR_v\") printf %s. '{{v}}';; esac",
        "cat <<E_O_F | sed -z 's/\\n$/./'\n{{v}}\nE_O_F\n",
        "cat <<'END' | sed -z 's/\\n$/./'\n{{v}}\nEND\n",
        "cat <<-\"END\" | sed -z 's/\\n$/./'\n\t{{v}}\n\tEND\n",
        "cat <<\\END | sed -z 's/\\n$/./'\n{{v}}\nEND\n",
        "f() { printf %s. \"$1\"; }; f {{v}}",
        "printf %s. \"$V\" # {{v}} '",
        "printf %s. \"$RECIPE_VAR_v\"",
        "printf %s. {{ v }}",
        "a=({{v}} {{v}}); printf %s. \"${a[1]}\"",
        "printf %s. {{#if v}}{{v}}{{else}}''{{/if}}",
    ];
    for value in HOSTILE {
        let env = env().file("values.json", json!({"v": value}).to_string());
        let recipe = recipe(&json!({"v": "default"}), &places);
        let output = finished(env.json(&recipe, &["--context-file", "values.json"]));
        let json = output.json();
        for (at, place) in places.iter().enumerate() {
            let printed = &json["context"][format!("s{at}")];
            assert_eq!(printed, &json!(format!("{value}.")), "{value:?} in {place}");
        }
        assert!(!env.path("pwned").exists(), "{value:?}");
    }
}

#[test]
fn arithmetic_takes_only_whole_numbers() {
    for (value, expected) in [
        ("5", Some("10")),
        ("-3", Some("-6")),
        ("a[$(touch pwned)]", None),
        ("x", None),
        ("1.5", None),
        ("", None),
        ("1+1", None),
        ("PATH", None),
    ] {
        let env = env();
        let output = env.json(&recipe(&json!({"v": value}), &["echo $(( {{v}} * 2 ))"]), &[]);
        assert!(!env.path("pwned").exists());
        match expected {
            Some(expected) => assert_eq!(output.value("s0"), expected, "{}", output.all()),
            None => {
                assert_eq!(output.code, 1, "{value}");
                let error = output.step("s0")["error"].to_string();
                assert!(error.contains("bash step failed") && error.contains("whole number"), "{error}");
            }
        }
    }
}

#[test]
fn every_value_is_exported() {
    let context = json!({
        "name_x": "text", "empty": "", "number": 5, "flag": true, "nothing": null, "list": [1, "b"],
        "worktree_setup": {"worktree_path": "/w", "deep": {"er": "x"}}, "a-b": "hyphen"
    });
    for (variable, expected) in [
        ("RECIPE_VAR_name_x", "text"),
        ("NAME_X", "text"),
        ("RECIPE_VAR_empty", ""),
        ("EMPTY", ""),
        ("NUMBER", "5"),
        ("FLAG", "true"),
        ("LIST", r#"[1,"b"]"#),
        ("RECIPE_VAR_list", r#"[1,"b"]"#),
        ("WORKTREE_SETUP", r#"{"worktree_path":"/w","deep":{"er":"x"}}"#),
        ("WORKTREE_SETUP_WORKTREE_PATH", "/w"),
        ("RECIPE_VAR_worktree_setup__worktree_path", "/w"),
        ("WORKTREE_SETUP_DEEP_ER", "x"),
        ("RECIPE_VAR_a_b", "hyphen"),
        ("A_B", "hyphen"),
    ] {
        // `printenv` sees only what is really exported, also if it is empty
        let word = format!("v='{}'; printenv \"${{v//-/}}\"", variable.replace("_", "-_"));
        let output = finished(env().json(&recipe(&context, &[&word]), &[]));
        assert_eq!(output.value("s0"), expected, "{variable}");
    }
}

#[test]
fn an_alias_never_sets_a_protected_name() {
    let names = [
        "path",
        "home",
        "shell",
        "user",
        "logname",
        "pwd",
        "oldpwd",
        "ifs",
        "env",
        "bash_env",
        "bash_x",
        "shellopts",
        "bashopts",
        "ps1",
        "ps4",
        "prompt_command",
        "ld_preload",
        "ld_library_path",
        "dyld_x",
        "glibc_tunables",
        "pythonpath",
        "pythonstartup",
        "node_options",
        "perl5opt",
        "rubyopt",
        "git_dir",
        "git_ssh_command",
        "term",
        "tmpdir",
        "lang",
        "lc_all",
        "editor",
        "visual",
        "display",
        "hostname",
        "mail",
        "recipe_context_file",
        "amplihack_session_depth",
        "recipe_runner_home",
    ];
    let env = env().file("evil", "touch pwned");
    let commands: Vec<String> = names
        .iter()
        .map(|name| {
            let upper = name.to_uppercase();
            format!("test \"$RECIPE_VAR_{name}\" = ./evil && printf %s \"${{{upper}-unset}}\"")
        })
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let values: Vec<String> = names.iter().map(|name| format!("--set={name}=./evil")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let output = finished(env.json(&recipe(&json!({}), &commands), &values));
    for (at, name) in names.iter().enumerate() {
        assert_ne!(output.value(&format!("s{at}")), "./evil", "{name}");
    }
    assert!(!env.path("pwned").exists());
}

#[test]
fn aliases_that_collide() {
    let top_wins = json!({"a": {"b": "nested"}, "a_b": "top"});
    // the two have different exact names, so only the alias is in question
    let output =
        finished(env().json(&recipe(&top_wins, &["echo $A_B $RECIPE_VAR_a__b $RECIPE_VAR_a_b"]), &[]));
    assert_eq!(output.value("s0"), "top nested top");
    let both = json!({"abc": "lower", "Abc": "mixed"});
    let output =
        finished(env().json(&recipe(&both, &["echo ${ABC-unset} $RECIPE_VAR_abc $RECIPE_VAR_Abc"]), &[]));
    assert_eq!(output.value("s0"), "unset lower mixed");
    assert!(output.stderr.contains("warning") && output.stderr.contains("ABC"), "{}", output.all());
    let exact = recipe(&json!({"a-b": 1, "a_b": 2}), &["true"]);
    assert_eq!(env().json(&exact, &[]).code, 2, "two names with one variable are an error");
}

#[test]
fn the_context_file_is_complete_and_private() {
    let context =
        json!({"text": "a\"b\n☃", "n": 12345678901234567890123u128.to_string(), "o": {"k": [1, null]}});
    let commands = [
        "echo first",
        "cat \"$RECIPE_CONTEXT_FILE\"",
        "test \"$RECIPE_CONTEXT_FILE\" = \"$AMPLIHACK_CONTEXT_FILE\" && stat -c %a \"$RECIPE_CONTEXT_FILE\"",
    ];
    let output = finished(env().json(&recipe(&context, &commands), &[]));
    let file: Json =
        serde_json::from_str(output.value("s1").as_str().unwrap_or_default()).unwrap_or_default();
    let mut expected = context.clone();
    expected["s0"] = json!("first");
    assert_eq!(file, expected, "{}", output.all());
    assert_eq!(output.value("s2"), "600");
    // members of a group each have their own, in any order of ending
    let group: String = (0..5)
        .map(|at| format!("  - {{id: p{at}, parallel_group: g, command: 'sleep 0.{at}; echo changed > \"$RECIPE_CONTEXT_FILE.{at}\"; grep -c hello \"$RECIPE_CONTEXT_FILE\"'}}\n"))
        .collect();
    let output = finished(env().json(&format!("name: r\ncontext: {{v: hello}}\nsteps:\n{group}"), &[]));
    for at in 0..5 {
        assert_eq!(output.value(&format!("p{at}")), "1");
    }
}

#[test]
fn nothing_that_a_step_starts_can_ask() {
    let commands = [
        "echo $CI $NONINTERACTIVE $DEBIAN_FRONTEND ${CLAUDECODE-unset} $KEPT",
        "cat; read x; echo read=$? x=[$x]",
        "echo $HOME $PATH",
        "ps -o args= -p $$ 2>/dev/null | head -1 || true; echo $0",
        "git config user.name x 2>/dev/null; echo $PAGER $GIT_PAGER $EDITOR $GIT_TERMINAL_PROMPT",
        "test -t 0 || echo no terminal",
    ];
    let env = env().env("CLAUDECODE", "1").env("KEPT", "kept");
    let home = env.home().to_string_lossy().into_owned();
    let output = finished(env.json(&recipe(&json!({}), &commands), &[]));
    assert_eq!(output.value("s0"), "true 1 noninteractive unset kept");
    assert_eq!(output.value("s1"), "read=1 x=[]");
    assert!(output.value("s2").as_str().is_some_and(|text| text.starts_with(&home)));
    assert_eq!(output.value("s4"), "cat cat true 0");
    assert_eq!(output.value("s5"), "no terminal");
}

#[test]
fn a_step_has_its_own_variables() {
    let recipe = "name: r\ncontext: {x: it's}\nsteps:\n  - {id: a, env: {MINE: 'value {{x}}', N: 1.10, X: over}, command: 'echo $MINE $N $X'}\n  - {id: b, command: 'echo ${MINE-unset}'}\n";
    let output = finished(env().json(recipe, &[]));
    assert_eq!((output.value("a"), output.value("b")), (json!("value it's 1.10 over"), json!("unset")));
}

#[test]
fn directories() {
    let env = env().file("base/sub dir/file", "").file("base/plain", "").file("~/inhome/file", "");
    let base = env.path("base").to_string_lossy().into_owned();
    let home = env.home().canonicalize().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    for (dir, expected) in [
        ("sub dir", Ok(format!("{base}/sub dir"))),
        ("{{d}}", Ok(format!("{base}/sub dir"))),
        (".", Ok(base.clone())),
        ("..", Ok(env.dir().to_string_lossy().into_owned())),
        (&base, Ok(base.clone())),
        ("~/inhome", Ok(format!("{home}/inhome"))),
        ("nowhere", Err("does not exist")),
        ("plain", Err("not a directory")),
    ] {
        let recipe = format!(
            "name: r\ncontext: {{d: sub dir}}\nsteps: [{{id: s, command: pwd -P, working_dir: {dir:?}}}]\n"
        );
        let output = env.json(&recipe, &["-C", "base"]);
        match expected {
            Ok(expected) => assert_eq!(output.value("s"), expected, "{dir}\n{}", output.all()),
            Err(part) => {
                assert_eq!(output.code, 1);
                let error = output.step("s")["error"].as_str().unwrap_or_default().to_owned();
                assert!(
                    error.contains("bash step failed") && error.contains(part) && error.contains(dir),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn a_missing_tool_is_named() {
    for command in [
        "no-such-tool --flag",
        "true && ./no-such-tool",
        "x=$(no-such-tool) || exit 127",
        "no-such-tool 2>/dev/null",
    ] {
        let output = env().json(&recipe(&json!({}), &[command]), &[]);
        let error = output.step("s0")["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains("no-such-tool") && error.contains("127"), "{command}: {error}");
    }
}

#[test]
fn much_output_costs_little() {
    let recipe =
        "name: r\nsteps: [{id: s, command: 'head -c 300000000 /dev/zero | tr \"\\0\" e >&2; exit 3'}]";
    let output = env().json(recipe, &[]);
    assert_eq!((output.code, output.step("s")["stderr"]["bytes"].as_u64()), (1, Some(300_000_000)));
    assert!(output.stdout.len().max(output.stderr.len()) < 100_000, "{}", output.all().len());
}
