//! A real repository with a small program, and scripted agents that write and review.

use testkit::{Output, TestEnv};

/// A spec with a command, the tests and one target.
pub(crate) const VERSION: &str = "# Print the version\n\n## Goal\n`./t --version` prints the version.\n\n\
    ## Acceptance\n- `./t --version` prints `1.4.2`\n- all tests pass\n\n## Target files\n- `src/cli.sh`\n";

/// Runs `~/writer` and says that the work is done.
const WRITER: &str =
    "echo claude >> \"$HOME/order\"\nbash \"$HOME/writer\" \"$CALL/prompt\" > /dev/null 2>&1\nresult done";

/// Takes the next line of `~/verdicts`; without one there is nothing to complain about.
const VERDICT: &str = r#"echo "$(basename "$0")" >> "$HOME/order"
verdict=$(head -n 1 "$HOME/verdicts" 2>/dev/null); sed -i 1d "$HOME/verdicts" 2>/dev/null
verdict=${verdict:-NO_ISSUES_FOUND}
case $verdict in
  GARBAGE) answer='It looks good to me.' ;;
  EDIT) echo changed >> src/cli.sh; answer='{"verdict":"NO_ISSUES_FOUND","findings":[]}' ;;
  NO_ISSUES_FOUND) answer='{"verdict":"NO_ISSUES_FOUND","findings":[]}' ;;
  *) answer="{\"verdict\":\"$verdict\",\"findings\":[{\"problem\":\"finding $(wc -l < "$HOME/order")\"}]}" ;;
esac
"#;

/// `codex` writes its last message into a file.
const CODEX: &str = r#"while [ $# -gt 0 ]; do case $1 in -o | --output-last-message) out=$2 ;; esac; shift; done
printf '%s\n' "$answer" > "$out""#;

/// `gemini` prints events.
const GEMINI: &str = r#"quoted=${answer//\\/\\\\}; quoted=${quoted//\"/\\\"}
printf '%s\n' '{"type":"init"}' "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"$quoted\"}" '{"type":"result","status":"success"}'"#;

/// A repository with this spec, a program `./t` that prints another version, and three agents.
pub(crate) fn repository(spec: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .env("IS_SANDBOX", "1")
        .file("~/.gitconfig", "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n")
        .file("SPEC.md", spec)
        .file("Makefile", "test:\n\tbash -n src/cli.sh\n")
        .file("t", "#!/bin/bash\nexec bash src/cli.sh \"$@\"\n")
        .file("src/cli.sh", "echo 1.0.0\n")
        .file("known.txt", "known\n")
        .file("~/writer", "echo 'echo 1.4.2' > src/cli.sh\n")
        .agent("claude", WRITER)
        .agent("codex", &format!("{VERDICT}{CODEX}"))
        .agent("gemini", &format!("{VERDICT}{GEMINI}"));
    let made = env.shell("chmod +x t && git init -q . && git add -A && git commit -qm base");
    assert_eq!(made.code, 0, "{}", made.all());
    env
}

/// Generates a recipe that must be ready.
pub(crate) fn generated(env: &TestEnv) {
    let output = env.run(["generate", "SPEC.md"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.calls(), 0, "an agent was started");
    let committed = env.shell("git add -A && git commit -qm recipe");
    assert_eq!(committed.code, 0, "{}", committed.all());
}

/// Runs a recipe from a clean repository, with these verdicts and this script of the writer.
pub(crate) fn run(env: &TestEnv, recipe: &str, verdicts: &str, writer: &str) -> Output {
    let reset = env.shell("git checkout -q main && git reset -q --hard && git clean -qfd");
    assert_eq!(reset.code, 0, "{}", reset.all());
    env.write("~/verdicts", verdicts.replace(' ', "\n"));
    env.write("~/writer", writer);
    env.write("~/order", "");
    env.run([recipe, "--output-format", "json"])
}

/// The agents that were called, in order.
pub(crate) fn order(env: &TestEnv) -> String {
    std::fs::read_to_string(env.home().join("order")).unwrap_or_default().trim().replace('\n', " ")
}

/// The status of a step.
pub(crate) fn status(output: &Output, path: &str) -> String {
    output.step(path)["status"].as_str().unwrap_or_default().to_owned()
}
