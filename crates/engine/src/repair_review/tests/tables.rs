//! The meaning of single commands: what they check, their effects, and their status before a run.

use super::*;
use crate::repair_review::{
    checks::{self, CheckKind},
    program::Call,
};

/// The last command of a text.
fn call(text: &str) -> Call {
    follow(text).found.last().unwrap().call.clone()
}

#[test]
fn what_a_command_checks() {
    use CheckKind::*;
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
        assert_eq!(checks::kind(&call(text)), expected, "{text}");
    }
}

#[test]
fn what_a_command_does_outside() {
    for (text, expected) in [
        ("git push", Some("git push")),
        ("git pull", None),
        ("npm publish", Some("npm publish")),
        ("docker push image", Some("docker push")),
        ("docker build .", None),
        ("kubectl apply -f x", Some("kubectl apply")),
        ("kubectl get pods", None),
        ("terraform apply", Some("terraform apply")),
        ("aws s3 sync a b", Some("aws sync")),
        ("aws s3 ls", None),
        ("gh pr create", Some("gh pr create")),
        ("gh pr list", None),
        ("gh release upload v1 x", Some("gh release upload")),
        ("scp file host:dir", Some("scp")),
        ("scp a b", None),
        ("rsync -a host:dir here", None),
        ("rsync -a here host:dir", Some("rsync")),
        ("curl -X POST url", Some("curl send")),
        ("curl -X GET url", None),
        ("curl -o POST url", None),
        ("curl -XDELETE url", Some("curl send")),
        ("curl --data a=b url", Some("curl send")),
        ("curl -d x url", Some("curl send")),
        ("curl url", None),
        ("http POST url", Some("http send")),
        ("http GET url", None),
        ("curl POST url", None),
        ("wget --post-data=x url", Some("wget send")),
        ("sendmail me", Some("sendmail")),
    ] {
        assert_eq!(effects::effect(&call(text)).as_deref(), expected, "{text}");
    }
}

#[test]
fn what_a_test_of_constants_says() {
    use Status::*;
    for (text, expected) in [
        ("[ ]", Fail),
        ("[ -n x ]", Ok),
        ("[ -n '' ]", Fail),
        ("[ -z '' ]", Ok),
        ("[ -z x ]", Fail),
        ("[ 1 -eq 1 ]", Ok),
        ("[ a != a ]", Fail),
        ("[ 2 -gt 1 ]", Ok),
        ("[ 1 -gt 1 ]", Fail),
        ("[ 1 -ge 1 ]", Ok),
        ("[ 0 -ge 1 ]", Fail),
        ("[ 1 -lt 1 ]", Fail),
        ("[ 1 -lt 2 ]", Ok),
        ("[ 1 -le 1 ]", Ok),
        ("[ 2 -le 1 ]", Fail),
        ("[ a -gt 1 ]", Unknown),
        ("[ -f file ]", Unknown),
        ("[ \"$x\" = 1 ]", Unknown),
        ("[ \"${x}\" = '${x}' ]", Unknown),
        ("[ {{x}} = 1 ]", Unknown),
        ("exit $?", Exit(Some(true))),
        ("exit $x", Exit(None)),
        ("exit 1", Exit(Some(false))),
        ("perl -e 'print 1'", Ok),
        ("perl -e 'exit 1'", Unknown),
        ("cat", Ok),
        ("cat file", Unknown),
        ("cat /dev/null", Ok),
        ("grep '' file", Ok),
        ("grep x file", Unknown),
        ("cmp a a", Ok),
    ] {
        assert_eq!(follow(text).status, expected, "{text}");
    }
}

#[test]
fn which_files_a_command_writes() {
    for (text, expected) in [
        ("tee a b", vec!["a", "b"]),
        ("touch a", vec!["a"]),
        ("cp a b", vec!["b"]),
        ("sed -i s/a/b/ f", vec!["f"]),
        ("sed -i.bak s/a/b/ f", vec!["f"]),
        ("sed s/a/b/ f", vec![]),
        ("perl -pi -e s/a/b/ f", vec!["f"]),
        ("perl -pe s/a/b/ f", vec![]),
        ("dd if=a of=b", vec!["b"]),
        ("cat a", vec![]),
    ] {
        let written = call(text).writes();
        assert!(expected.iter().all(|file| written.iter().any(|name| name == file)), "{text}: {written:?}");
        assert_eq!(written.is_empty(), expected.is_empty(), "{text}: {written:?}");
    }
}

#[test]
fn words_keep_what_is_written() {
    for (text, expected) in [
        ("a \"b\\d\\\"e\\\nf\"", vec!["a", "b\\d\"ef"]),
        ("a ${x:-y z} b", vec!["a", "${x:-y z}", "b"]),
        ("a ${{{x}}} b", vec!["a", "${{{x}}}", "b"]),
        ("a $'b c' d", vec!["a", "b c", "d"]),
        ("a `b c` d", vec!["a", "`b c`", "d"]),
        ("a <(b c) d", vec!["a", "<(b c)", "d"]),
        ("a 12>b 1x>c", vec!["a", "b", "1x", "c"]),
        ("a '1'>b", vec!["a", "1", "b"]),
        ("a >b<c", vec!["a", "b", "c"]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}
