//! What single command lines mean: their effects, dry runs and verdicts.

use super::*;

#[test]
fn commands_that_change_something_outside() {
    let effect = |text: &str| Knowledge::built_in().use_of(&words(text)).effect;
    for text in include_str!("effect_commands.txt").lines() {
        assert!(effect(text).is_some(), "{text}");
    }
    for text in [
        "npm run build",
        "npm install push",
        "npm test",
        "yarn",
        "pnpm install",
        "npm run build:release",
        "npm ci",
        "./build.sh",
        "./verify-deploy.sh",
        "./check-release.sh",
        "python3 build.py",
        "node index.js",
        "python3 -c 'deploy'",
        "python3 manage.py migrate",
        "docker compose up",
        "docker build .",
        "docker buildx build .",
        "heroku ps",
        "eb status",
        "fastlane test",
        "cargo build --release",
        "cargo run",
        "skaffold build",
        "gradle assembleRelease",
        "gradle bundleRelease",
        "gradle publishLocal",
        "mvn package",
        "dotnet publish",
        "grep push file",
        "grep -q deploy out.txt",
        "echo deploy",
        "cat release",
        "ls release",
        "mkdir release",
        "rm -rf release",
        "cp a release",
        "cd deploy",
        "test -f deploy",
        "kubectl get deploy",
        "git stash push",
        "git pull",
        "tar czf x.tgz release",
        "pr file",
        "./test",
        "cmake --build release",
        "gh api repos/x",
    ] {
        assert_eq!(effect(text), None, "{text}");
    }
    for (text, expected) in [
        ("git push", true),
        ("git pull", false),
        ("npm publish", true),
        ("docker push image", true),
        ("docker build .", false),
        ("kubectl apply -f x", true),
        ("kubectl get pods", false),
        ("terraform apply", true),
        ("aws s3 sync a b", true),
        ("aws s3 ls", false),
        ("gh pr create", true),
        ("gh pr list", false),
        ("gh release upload v1 x", true),
        ("scp file host:dir", true),
        ("scp a b", false),
        ("rsync -a host:dir here", false),
        ("rsync -a here host:dir", true),
        ("curl -X POST url", true),
        ("curl -X GET url", false),
        ("curl -o POST url", false),
        ("curl -XDELETE url", true),
        ("curl --data a=b url", true),
        ("curl -d x url", true),
        ("curl url", false),
        ("http POST url", true),
        ("http GET url", false),
        ("curl POST url", false),
        ("wget --post-data=x url", true),
        ("sendmail me", true),
    ] {
        assert_eq!(effect(text).is_some(), expected, "{text}");
    }
}

#[test]
fn an_option_makes_an_effect_harmless() {
    for (text, expected) in [
        ("rsync -an a h:b", Some("-an")),
        ("rsync -avzn a h:b", Some("-avzn")),
        ("rsync -a a h:b", None),
        ("rsync --list-only a h:b", Some("--list-only")),
        ("make -n deploy", Some("-n")),
        ("make --just-print deploy", Some("--just-print")),
        ("git push -fn", Some("-fn")),
        ("git push --no-verify", None),
        ("kubectl apply -n prod -f x", None),
        ("kubectl apply --dry-run=client -f x", Some("--dry-run=client")),
        ("kubectl apply --dry-run=none -f x", None),
        ("helm upgrade -n prod a b", None),
        ("ansible-playbook -C site.yml", Some("-C")),
        ("git -C dir push", None),
        ("goreleaser release --snapshot", Some("--snapshot")),
        ("npm publish --help", Some("--help")),
        ("npm run deploy", None),
    ] {
        assert_eq!(Knowledge::built_in().use_of(&words(text)).dry_run, expected, "{text}");
    }
}

#[test]
fn commands_whose_exit_code_is_a_verdict() {
    use CheckKind::*;
    let check = |text: &str| Knowledge::built_in().use_of(&words(text)).check;
    for (text, expected) in [
        ("make test", Some(Tests)),
        ("just e2e", Some(Tests)),
        ("task test:unit", Some(Tests)),
        ("make lint", Some(Lint)),
        ("make", Some(Build)),
        ("cargo test --all", Some(Tests)),
        ("cargo t", Some(Tests)),
        ("cargo nextest run", Some(Tests)),
        ("cargo clippy", Some(Lint)),
        ("cargo fmt --check", Some(Lint)),
        ("cargo fmt", None),
        ("cargo build", Some(Build)),
        ("cargo run", None),
        ("go test ./...", Some(Tests)),
        ("go vet ./...", Some(Lint)),
        ("go build", Some(Build)),
        ("go run .", None),
        ("npm test", Some(Tests)),
        ("npm run lint", Some(Lint)),
        ("gradle :app:test", Some(Tests)),
        ("gradle assemble", Some(Build)),
        ("cmake --build out", Some(Build)),
        ("cmake .", None),
        ("black --check .", Some(Lint)),
        ("black .", None),
        ("prettier --list-different .", Some(Lint)),
        ("gofmt -l .", Some(Lint)),
        ("terraform validate", Some(Lint)),
        ("terraform plan", None),
        ("jq -e .ok x.json", Some(Compare)),
        ("git diff --exit-code", Some(Compare)),
        ("git diff", None),
        ("git log --quiet", None),
        ("sha256sum -c sums", Some(Compare)),
        ("sha256sum file", None),
        ("pytest", Some(Tests)),
        ("python3 -m pytest tests", Some(Tests)),
        ("shellcheck x.sh", Some(Lint)),
        ("gcc x.c", Some(Build)),
        ("grep -q a b", Some(Compare)),
        ("./mine.sh", None),
    ] {
        assert_eq!(check(text), expected, "{text}");
    }
    for text in include_str!("check_commands.txt").lines() {
        assert!(check(text).is_some(), "{text}");
    }
    for text in [
        "./checkout.sh",
        "./setup-tests.sh",
        "./make-test-data.sh",
        "./test-data.sh",
        "python3 test_utils.py",
        "node test-server.js",
        "./build.sh",
        "./mine.sh",
        "source test.sh",
        ". ./check.sh",
        "./install-test-deps.sh",
        "python3 tests/fixtures.py",
        "./deploy.sh",
        "./latest.sh",
        "./contest.py",
        "python3 main.py",
        "node index.js",
        "bash run.sh",
        "./generate-checks.py",
        "./inspect.sh",
    ] {
        assert_eq!(check(text), None, "{text}");
    }
}
