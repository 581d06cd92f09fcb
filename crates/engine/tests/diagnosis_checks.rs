//! Which programs are known as checks, and which shapes of scripts leave the word to one.

use engine::{
    Outcome,
    failure::{Confidence, Facts, Producer, diagnose},
};

fn failed(command: &str) -> Facts {
    Facts { outcome: Some(Outcome::Exit(1)), command: command.to_owned(), ..Facts::default() }
}

fn told(facts: &Facts) -> String {
    let found = diagnose(facts);
    let confidence = match found.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    format!("{} {confidence}", found.class.as_str())
}

#[track_caller]
fn check_all<'a>(commands: impl IntoIterator<Item = &'a str>, expected: &str) {
    let wrong: Vec<String> = commands
        .into_iter()
        .map(|command| (command, told(&failed(command))))
        .filter(|(_, told)| told != expected)
        .map(|(command, told)| format!("{command} -> {told}"))
        .collect();
    assert!(wrong.is_empty(), "not {expected}: {wrong:#?}");
}

#[test]
fn test_runners_are_checks() {
    check_all(
        [
            "coverage run -m pytest",
            "coverage run --source app -m pytest -q",
            "coverage run --branch manage.py test",
            "coverage report --fail-under=80",
            "python -m coverage run -m unittest discover",
            "python manage.py test",
            "python3 manage.py test app --keepdb",
            "./manage.py test",
            "uv run manage.py test",
            "uv run python manage.py test",
            "python setup.py test",
            "docker compose run --rm web pytest",
            "docker compose -f ci.yml run --rm -e CI=1 web pytest -q",
            "docker compose exec -T web npm test",
            "docker-compose run web python manage.py test",
            "docker run --rm -v .:/src -w /src node:22 npm test",
            "docker exec app bash -lc 'cd /src && pytest'",
            "podman run --rm img cargo test",
            "sudo docker compose exec web bundle exec rspec",
            "kubectl exec deploy/web -- pytest",
            "kubectl -n ci exec pod -c app -- grep -q ok /tmp/x",
            "nix develop -c cargo test",
            "nix flake check",
            "nosetests",
            "stack test",
            "cabal test all",
            "zig build test",
            "zig test src/main.zig",
            "php artisan test",
            "php artisan test --parallel",
            "php vendor/bin/phpunit",
            "vendor/bin/pest",
            "node node_modules/.bin/jest",
            "node --test",
            "opa test .",
            "conftest test x",
            "conftest verify",
            "terraform test",
            "helm test app",
            "dbt test",
            "forge test -vv",
            "npx hardhat test",
            "dart test",
            "lein test",
            "rebar3 eunit",
            "rails test",
            "bin/rails test",
            "xcodebuild test -scheme App",
            "ng test --watch=false",
            "nx test app",
            "turbo run test",
            "composer test",
            "composer run test",
            "pdm run pytest",
            "pdm run test",
            "hatch run test",
            "pixi run test",
            "conda run -n ci pytest",
            "nyc mocha",
            "npx c8 mocha",
            "nyc check-coverage --lines 90",
            "cross-env CI=1 jest",
            "bunx vitest run",
            "uvx pytest",
            "cargo llvm-cov",
            "meson test -C build",
            "ninja -C build test",
            "dune runtest",
            "R CMD check .",
            "robot tests",
            "promtool test rules x.yml",
            "molecule test",
            "goss validate",
            "deno test",
            "bun test",
        ],
        "verification high",
    );
}

#[test]
fn linters_and_validators_are_checks() {
    check_all(
        [
            "terraform fmt -check",
            "terraform fmt -check -recursive",
            "terraform -chdir=infra fmt -check",
            "tofu fmt -check",
            "tofu validate",
            "terraform validate",
            "terragrunt validate",
            "packer validate x.pkr.hcl",
            "npm audit",
            "npm audit --audit-level=high",
            "yarn audit",
            "pnpm audit",
            "pip check",
            "pip-audit",
            "composer validate",
            "cargo audit",
            "cargo machete",
            "go mod verify",
            "codespell",
            "cspell '**'",
            "clang-format --dry-run -Werror a.c",
            "shfmt -d .",
            "black --check .",
            "gofmt -l .",
            "deno fmt --check",
            "deno lint",
            "dart format --set-exit-if-changed .",
            "zig fmt --check src",
            "php-cs-fixer fix --dry-run",
            "vendor/bin/phpstan analyse",
            "vendor/bin/psalm",
            "php -l x.php",
            "bash -n run.sh",
            "node --check x.js",
            "python -m json.tool x.json",
            "python -m py_compile a.py",
            "nginx -t",
            "nginx -t -c nginx.conf",
            "apachectl configtest",
            "sshd -t",
            "caddy validate",
            "visudo -cf sudoers",
            "promtool check config p.yml",
            "docker compose config -q",
            "docker-compose config",
            "helm lint chart",
            "kubeconform x.yaml",
            "trivy fs .",
            "gitleaks detect",
            "pre-commit run --all-files",
            "buf lint",
            "spectral lint api.yaml",
            "check-jsonschema --schemafile s.json x.json",
            "ajv validate -s s.json -d x.json",
            "sqlfluff lint q.sql",
            "vue-tsc --noEmit",
            "svelte-check",
            "astro check",
            "ty check",
            "twine check dist/x",
            "poetry check",
            "manage.py makemigrations --check",
            "python manage.py check --deploy",
        ],
        "verification high",
    );
}

#[test]
fn comparisons_are_checks() {
    check_all(
        [
            "kubectl diff -f x.yaml",
            "yq -e .ok x.yaml",
            "yq --exit-status .ok x.yaml",
            "jq -e .ok x.json",
            "gpg --verify x.sig x",
            "gpgv x.sig",
            "cosign verify img",
            "openssl verify cert.pem",
            "b2sum -c sums",
            "sha384sum --check sums",
            "(( 1 > 2 ))",
            "(( n >= 3 ))",
            "((ok))",
            "expr 1 = 2",
            "expr \"$x\" : '[0-9]*$'",
            "zdiff a.gz b.gz",
            "ugrep -q x a",
            "git grep -q x",
            "git diff-index --quiet HEAD",
            "git merge-base --is-ancestor a b",
            "git ls-files --error-unmatch x",
            "git rev-parse --verify v1",
            "git verify-tag v1",
            "case \"$(cat s)\" in ok) ;; *) echo bad; exit 1;; esac",
            "case \"$x\" in ok) echo fine ;; *) exit 1 ;; esac",
        ],
        "verification high",
    );
}

#[test]
fn other_commands_are_none() {
    check_all(
        [
            "python manage.py migrate",
            "python gen.py test",
            "coverage html",
            "docker compose up -d",
            "docker compose run --rm web ./work",
            "docker compose run web",
            "docker run pytest",
            "docker exec app bash -c './work'",
            "docker exec app bash -c 'pytest; ./work'",
            "docker pull pytest",
            "kubectl exec pod -- ./work",
            "kubectl get pods",
            "stack run",
            "zig run x.zig",
            "php artisan migrate",
            "opa run",
            "terraform init",
            "terraform fmt",
            "terraform plan",
            "npm run audit-me",
            "clang-format -i a.c",
            "yq .ok x.yaml",
            "nginx",
            "nginx -s reload",
            "gpg --decrypt x",
            "expr 1 + 2",
            "(( i++ ))",
            "(( x = 0 ))",
            "(( x += 1 ))",
            "git fetch",
            "git rev-parse HEAD",
            "pip install x",
            "node server.js",
            "bash run.sh",
            "bash test",
            "conda run -n ci ./work",
        ],
        "unknown low",
    );
}

#[test]
fn shapes_that_end_with_the_failure_of_a_check() {
    let shapes = [
        "fail=0; CHECK || fail=1; exit $fail",
        "fail=0\nCHECK || fail=1\necho done\nexit \"$fail\"",
        "fail=0; ./a || true; CHECK || { echo bad; fail=1; }; exit ${fail}",
        "fail=0; CHECK || fail=$((fail+1)); exit $fail",
        "fail=0; CHECK || ((fail++)); exit $((fail > 0))",
        "fail=0; CHECK || ((fail++)); [ $fail -eq 0 ]",
        "fail=0; CHECK || fail=1; [ \"$fail\" -eq 0 ] || exit 1",
        "fail=0; CHECK || fail=1; if [ $fail -ne 0 ]; then echo bad; exit 1; fi",
        "fail=0; CHECK || fail=1; if (( fail )); then exit 1; fi",
        "failed=; CHECK || failed=true; [ \"$failed\" = true ] && exit 1; exit 0",
        "rc=0; CHECK || rc=$?; exit $rc",
        "fail=0; if ! CHECK; then echo bad; fail=1; fi; exit $fail",
        "fail=0; if CHECK; then echo ok; else fail=1; fi; exit $fail",
        "fail=0; for f in *.md; do CHECK \"$f\" || fail=1; done; exit $fail",
        "fail=0; for f in *.md; do if ! CHECK \"$f\"; then echo \"$f\"; fail=1; fi; done; exit $fail",
        "CHECK | tee log; exit ${PIPESTATUS[0]}",
        "CHECK 2>&1 | tee log\nexit \"${PIPESTATUS[0]}\"",
        "CHECK | tee log; rc=${PIPESTATUS[0]}; echo $rc; exit $rc",
        "CHECK | tee log; test ${PIPESTATUS[0]} -eq 0",
        "CHECK | tee log; [ \"${PIPESTATUS[0]}\" -eq 0 ] || exit 1",
        "CHECK | tee log; if [ ${PIPESTATUS[0]} -ne 0 ]; then exit 1; fi",
        "CHECK; status=$?; if [ $status -ne 0 ]; then exit $status; fi",
        "CHECK; status=$?; if [ $status -ne 0 ]; then echo bad; exit 1; fi; echo fine",
        "CHECK; status=$?; echo done; exit $status",
        "CHECK; status=$?; [ $status -eq 0 ] && echo ok; exit $status",
        "CHECK; rc=$?; [ $rc -eq 0 ] || exit $rc; echo fine",
        "CHECK\nif [ $? -ne 0 ]; then exit 1; fi",
        "CHECK; if [[ $? != 0 ]]; then echo bad; exit 1; fi; echo fine",
        "CHECK; [ $? -eq 0 ]",
        "CHECK; [ $? -eq 0 ] || exit 1",
        "CHECK; exit $?",
        "if CHECK; then exit 0; fi; exit 1",
        "if CHECK; then echo ok; exit 0; fi\necho bad >&2\nexit 1",
        "CHECK && exit 0; exit 1",
        "CHECK && exit 0; echo bad; false",
        "if CHECK; then exit 0; else exit 1; fi",
        "if ! CHECK; then echo bad; exit 1; fi",
        "if ! CHECK; then cat log || true; exit 1; fi; echo fine",
        "while true; do CHECK || exit 1; break; done",
        "while read -r f; do CHECK \"$f\" || exit 1; done < files",
        "i=0; while [ $i -lt 3 ]; do CHECK || exit 1; i=$((i+1)); done",
        "for i in 1 2 3; do CHECK && exit 0; sleep 1; done; exit 1",
        "for i in 1 2 3; do if CHECK; then exit 0; fi; sleep 1; done; echo gave up; exit 1",
        "CHECK && echo PASS || (echo FAIL && false)",
        "CHECK && echo PASS || (echo FAIL; exit 1)",
        "CHECK && echo ok || { echo bad; exit 1; }",
        "CHECK && echo ok || { echo bad && exit 1; }",
        "CHECK || (echo bad && exit 1)",
        "verify() { CHECK; }; verify",
        "verify() { CHECK || return 1; }; verify",
        "verify() {\n  local x=1\n  CHECK\n}\nverify \"$@\"",
        "verify() { if CHECK; then return 0; fi; return 1; }; verify",
        "function verify { CHECK; }; echo start; verify",
        "die() { echo \"$1\"; exit 1; }; verify() { CHECK || die no; }; verify",
    ];
    for program in ["pytest -q", "grep -q x a", "npm test"] {
        let scripts: Vec<String> = shapes.iter().map(|shape| shape.replace("CHECK", program)).collect();
        check_all(scripts.iter().map(String::as_str), "verification high");
    }
    // the same shapes around work and around what acts outside
    for program in ["./work", "git push origin main"] {
        let scripts: Vec<String> = shapes.iter().map(|shape| shape.replace("CHECK", program)).collect();
        check_all(scripts.iter().map(String::as_str), "unknown low");
        for script in &scripts {
            let after =
                Facts { producer: Producer::Product, stderr: "rejected".to_owned(), ..failed(script) };
            if program.starts_with("git") {
                assert_eq!(told(&after), "unknown low", "{script}");
            }
        }
    }
}

#[test]
fn shapes_in_which_something_else_may_have_failed() {
    check_all(
        [
            "fail=0; grep -q x a || fail=1; ./work || fail=1; exit $fail",
            "fail=0; pytest || fail=1; git push origin main || fail=1; exit $fail 2>&1",
            "pytest || fail=1; exit 1",
            "fail=0; pytest || other=1; ./work || fail=1; exit $fail",
            "pytest | ./work; exit ${PIPESTATUS[1]}",
            "./work | tee log; exit ${PIPESTATUS[0]}",
            "if [ -f a ]; then exit 0; fi; ./work",
            "[ -f a ] && exit 0; ./work; exit $?",
            "pytest; status=$?; ./work; exit $?",
            "verify() { pytest; }; verify; ./work",
            "while true; do [ -f a ] && break; ./work || exit 1; done",
        ],
        "unknown low",
    );
}

#[test]
fn where_nobody_else_would_have_been_silent_the_check_spoke() {
    let facts = |command: &str, stdout: &str, stderr: &str| Facts {
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        ..failed(command)
    };
    let (chained, listed) = ("npm test && npm publish", "set -e; npm test; npm publish");
    for (command, stdout, stderr, expected) in [
        (chained, "", "", "verification medium"),
        (listed, "", "", "verification medium"),
        (chained, "> app@1.0.0 test\n> jest", "", "verification medium"),
        ("npm ci && npm test && npm version patch && npm publish", "", "", "verification medium"),
        ("pytest -q && git push origin main", "..F", "", "verification medium"),
        ("set -e; cargo test; cargo publish", "", "", "verification medium"),
        ("set -e; pytest; cp a b", "", "", "verification medium"),
        ("make test && docker push img", "", "", "verification medium"),
        // what acts outside speaks, or may
        (chained, "", "npm ERR! code E500", "unknown low"),
        (chained, "", "boom", "unknown low"),
        (chained, "publishing to the registry", "", "unknown low"),
        (chained, "error: no", "", "unknown low"),
        ("npm test && npm publish --silent", "", "", "unknown low"),
        ("npm test && npm publish 2>/dev/null", "", "", "unknown low"),
        ("pytest && git push &>log", "", "", "unknown low"),
        ("pytest && ./deploy.sh", "", "", "unknown low"),
        ("pytest && curl -s -X POST https://x.test", "", "", "unknown low"),
        ("pytest && ./pack && git push", "", "", "unknown low"),
        ("test -f a && git push", "", "", "unknown low"),
        ("pytest && git push", "", "error: failed to push some refs to 'x'", "unknown low"),
        ("pytest && git push", " ! [rejected] main -> main", "", "unknown low"),
    ] {
        assert_eq!(told(&facts(command, stdout, stderr)), expected, "{command} {stdout} {stderr}");
    }
}
