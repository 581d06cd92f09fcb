//! What leaves the machine: a pull request once, only after everything passed, and never of a blocked track.

use crate::repository::{generated, order, repository, run, status};
use testkit::TestEnv;

const SPEC: &str = "# Print the version\n\n## Goal\n`./t --version` prints the version. Open a PR against `develop`.\n\n\
    ## Acceptance\n- `./t --version` prints `1.4.2`\n- all tests pass\n\n## Target files\n- `src/cli.sh`\n";

const TRACKS: &str = "# Two parts\n\n## Goal\nTwo parts of a program. Open a PR against `main`.\n\n\
    ## Tracks\n\n### Alpha\nChange `src/a.sh`.\n\n### Beta\nChange `src/b.sh`.\n\n\
    ## Acceptance\n- `bash src/a.sh` prints `alpha`\n- `bash src/b.sh` prints `beta`\n";

/// A `gh` that notes its calls, and a remote that takes pushes.
fn with_remote(env: TestEnv) -> TestEnv {
    let env = env.agent("gh", "echo \"$*\" >> \"$HOME/gh-calls\"; cat \"$HOME/url\"");
    env.write("~/url", "https://github.com/owner/project/pull/7\n");
    let remote = "git init -q --bare ~/remote.git && git remote add origin https://github.com/owner/project.git \
        && git remote set-url --push origin ~/remote.git";
    let made = env.shell(remote);
    assert_eq!(made.code, 0, "{}", made.all());
    env
}

fn gh_calls(env: &TestEnv) -> Vec<String> {
    let text = std::fs::read_to_string(env.home().join("gh-calls")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("pr create")).map(str::to_owned).collect()
}

#[test]
fn a49_a52_a_pull_request_is_opened_once_and_its_address_is_checked() {
    let env = with_remote(repository(SPEC));
    generated(&env);
    let recipe = "recipes/print-the-version.yaml";
    let writer = "echo 'echo 1.4.2' > src/cli.sh\n";

    let blocked = run(&env, recipe, "BLOCKED", writer);
    assert_eq!((blocked.code, gh_calls(&env).len()), (6, 0), "{}", blocked.all());
    let failed = run(&env, recipe, "", "echo 'echo 2' > src/cli.sh\n");
    assert_eq!((failed.code, gh_calls(&env).len()), (1, 0), "{}", failed.all());

    let shipped = run(&env, recipe, "", writer);
    assert_eq!(shipped.code, 0, "{}", shipped.all());
    assert_eq!(shipped.step("ship")["output"], "https://github.com/owner/project/pull/7");
    let calls = gh_calls(&env);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(
        calls[0].contains("--base develop") && calls[0].contains("--head feat/print-the-version"),
        "{calls:?}"
    );
    let branch = env.shell("git -C ~/remote.git show --stat --format= feat/print-the-version").stdout;
    assert!(branch.contains("src/cli.sh") && branch.contains("1 file changed"), "{branch}");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    assert_eq!(gh_calls(&env).len(), 1, "a resume ships nothing twice");

    env.shell("git checkout -q main; git branch -qD feat/print-the-version; git -C ~/remote.git branch -qD feat/print-the-version");
    env.write("~/url", "https://github.com/owner/other/pull/7\n");
    let other = run(&env, recipe, "", writer);
    assert_eq!((other.code, status(&other, "ship").as_str()), (1, "failed"), "{}", other.all());
}

#[test]
fn a47_tracks_have_their_own_loops_and_one_blocked_track_ships_nothing() {
    let env = with_remote(repository(TRACKS));
    env.write("src/a.sh", "echo a\n");
    env.write("src/b.sh", "echo b\n");
    env.shell("git add -A; git commit -qm parts");
    generated(&env);
    let recipe = "recipes/two-parts.yaml";
    let writer = "if grep -q '^- src/a.sh' \"$1\"; then echo 'echo alpha' > src/a.sh; else echo 'echo beta' > src/b.sh; fi\n";

    let well = run(&env, recipe, "", writer);
    assert_eq!(well.code, 0, "{}", well.all());
    assert_eq!(order(&env).matches("codex").count(), 4, "{}", order(&env));
    for track in ["alpha", "beta"] {
        assert_eq!(status(&well, &format!("track-{track}/final-review-2")), "completed");
    }
    assert_eq!(gh_calls(&env).len(), 1);

    env.shell("git checkout -q main; git branch -qD feat/two-parts");
    let blocked = run(&env, recipe, "BLOCKED", writer);
    assert_eq!(blocked.code, 6, "{}", blocked.all());
    assert!(blocked.stdout.contains("BLOCKED_NO_COMMIT"), "{}", blocked.stdout);
    assert_eq!(gh_calls(&env).len(), 1, "nothing more is shipped");
}
