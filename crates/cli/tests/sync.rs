//! `sync`: local recipes against a git remote. The remotes here are directories.

use testkit::TestEnv;

/// A world with a bare repository `remote.git` and local recipes in `local`.
fn env() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .file("source/same.yaml", "name: same\n")
        .file("source/modified.yaml", "name: theirs\n")
        .file("source/sub/new.yml", "name: new\n")
        .file("source/README.md", "x")
        .file("source/.github/workflows/ci.yml", "x")
        .file("local/same.yaml", "name: same\n")
        .file("local/modified.yaml", "name: ours\n")
        .file("local/deleted.yaml", "name: gone\n")
        .file("local/notes.txt", "x");
    let made = env.shell(
        "set -e; git init -q -b main source; cd source; git add -A
         git -c user.name=t -c user.email=t@example.org commit -qm one
         git checkout -qb other; echo 'name: ours' > modified.yaml
         git -c user.name=t -c user.email=t@example.org commit -qam two
         git checkout -q main; cd ..; git clone -q --bare source remote.git",
    );
    assert_eq!(made.code, 0, "{}", made.all());
    env
}

#[test]
fn differences_are_shown_and_nothing_is_changed() {
    let env = env();
    let before = env.shell("cd local && sha256sum * && ls -la --time-style=full-iso").stdout;
    let address = format!("file://{}", env.path("remote.git").display());
    for remote in ["remote.git", address.as_str()] {
        let output = env.run(["sync", remote, "--dir", "local"]);
        let expected = format!(
            "new       sub/new.yml\nmodified  modified.yaml\ndeleted   deleted.yaml\n\n\
             1 new, 1 modified, 1 deleted in {remote}; nothing was changed here\n"
        );
        assert_eq!(output.stdout, expected, "{}", output.all());
        assert_eq!((output.stderr.as_str(), output.code), ("", 0));
    }
    assert_eq!(env.shell("cd local && sha256sum * && ls -la --time-style=full-iso").stdout, before);
    assert_eq!(env.shell("ls -A \"$TMPDIR\"").stdout, "", "the private copy is removed");
}

#[test]
fn a_branch_and_a_directory_can_be_chosen() {
    let env = env();
    let output = env.run(["sync", "remote.git", "--branch", "other", "--dir", "local", "--format", "json"]);
    let json = output.json();
    assert_eq!(json["modified"], serde_json::json!([]), "{}", output.all());
    assert_eq!(json["new"], serde_json::json!(["sub/new.yml"]));
    assert_eq!(json["changed"], true);
    let below = env.run(["sync", "remote.git", "--path", "sub/", "--dir", "local", "--format", "json"]);
    assert_eq!(below.json()["new"], serde_json::json!(["new.yml"]));
}

#[test]
fn the_current_directory_is_compared_unless_another_is_named() {
    let env = env();
    let output = env.shell("cd local && $RUNNER sync ../remote.git");
    assert!(output.stdout.contains("modified  modified.yaml"), "{}", output.all());
    let same = env.shell("cd source && $RUNNER sync ../remote.git");
    assert_eq!(same.stdout, "up to date with ../remote.git: 3 recipe files\n", "{}", same.all());
}

#[test]
fn failures_of_git_are_reported() {
    let env = env();
    for (line, code, part) in [
        ("sync nowhere.git", 8, "`nowhere.git` cannot be fetched"),
        ("sync remote.git --branch none", 8, "branch `none` of `remote.git` cannot be fetched"),
        ("sync --upload-pack=x remote.git", 2, "unexpected argument"),
        ("sync remote.git --dir nowhere", 4, "cannot be read"),
        ("sync", 2, "REMOTE_URL"),
    ] {
        let output = env.run(line.split(' '));
        assert_eq!(output.code, code, "{line}\n{}", output.all());
        assert!(output.stderr.contains(part), "{line}: expected {part}\n{}", output.all());
    }
    let output = env.run(["sync", "nowhere.git", "--output-format", "json"]);
    assert_eq!((output.json()["exit_code"].as_u64(), output.code), (Some(8), 8), "{}", output.all());
    let output = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
        .env("PATH", "/nonexistent")
        .run(["sync", "remote.git"]);
    assert_eq!(output.code, 8);
    assert!(output.stderr.contains("`git` is not installed"), "{}", output.all());
}
