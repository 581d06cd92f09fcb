//! Steps that declare an effect: whatever their command is, a repair keeps everything that it does.

use super::{plan, verdict};

const DECLARATIONS: [&str; 2] = ["effects: [deploy]", "idempotent: false"];

fn recipe(command: &str, fields: &str, other: &str) -> String {
    format!(
        "name: r\ncontext: {{v: 1, w: 2}}\nsteps:\n  - {{id: a, command: echo a}}\n  - {{id: b, command: {other}}}\n  \
         - {{id: c, command: echo c}}\n  - {{id: ship, command: {command:?}, {fields}}}\n"
    )
}

/// Judges the new command of `ship`, with `b` mended, under each declaration.
fn judged(before: &str, after: &str, failed: &str) -> Vec<&'static str> {
    let judge = |fields: &&str| {
        let old = plan(&recipe(before, fields, "git frobnicate"), 9);
        let new =
            plan(&recipe(after, fields, if failed == "b" { "git status" } else { "git frobnicate" }), 9);
        verdict(&old, &new, failed)
    };
    DECLARATIONS.iter().map(judge).collect()
}

fn check_refused(failed: &str, before: &str, after: &[&str]) {
    let accepted: Vec<&&str> =
        after.iter().filter(|after| judged(before, after, failed).contains(&"")).collect();
    assert!(accepted.is_empty(), "{failed}: {before} -> {accepted:#?}");
}

fn check_accepted(failed: &str, before: &str, after: &[&str]) {
    for after in after {
        let found = judged(before, after, failed);
        assert!(!found.contains(&"refused"), "{failed}: {before} -> {after}: {found:?}");
    }
}

/// What does nothing, in many ways.
const NOTHING: [&str; 12] = [
    "true",
    ":",
    "exit 0",
    "echo skipped",
    "printf ''",
    "# nothing",
    "echo skipped; exit 0",
    "sleep 0",
    "python3 -c 'pass'",
    "test -d .",
    "ls",
    "/bin/true",
];

#[test]
fn no_declared_effect_becomes_nothing() {
    for before in [
        "echo deployed >> ledger",
        "printf x >> led",
        "date >> led",
        "echo \"deploying {{v}}\"",
        "echo dep",
        "cat >> ledger <<E\nv1\nE\n",
        "echo deploying\necho v1 >> ledger",
        "set -e\necho deploying\necho v1 >> ledger\necho done",
        "echo v > deployed.txt",
        "echo v | tee -a ledger",
        "touch deployed",
        "mkdir -p shipped",
        "cp dist/a shipped/a",
        "python3 -c \"open('ledger', 'a').write('x')\"",
        "./do-it.sh prod",
        "./deploy.sh",
        "git push origin main",
        "bash -c 'echo v >> ledger'",
        "ship() { echo v >> ledger; }; ship",
        "if [ -n \"$X\" ]; then echo v >> ledger; fi",
        "./notify.sh || true",
        "./first.sh; ./second.sh; echo done",
        "sleep 1",
        "(cd sub && echo v >> ledger)",
        "{ echo a; echo b; } >> ledger",
    ] {
        for failed in ["b", "ship"] {
            let same = |after: &&&str| before.starts_with("sleep") && after.starts_with("sleep");
            let rest: Vec<&str> = NOTHING.iter().filter(|after| !same(after)).copied().collect();
            let rest: Vec<&str> = match failed {
                // a text that was said wrongly may be said otherwise
                "ship" if !before.contains(">>") => {
                    rest.into_iter().filter(|after| !after.starts_with("echo")).collect()
                }
                _ => rest,
            };
            check_refused(failed, before, &rest);
        }
    }
}

#[test]
fn a_declared_effect_is_not_hollowed_out() {
    for (before, after) in [
        (
            "echo deployed >> ledger",
            vec![
                "echo deployed >> ledger || true",
                "echo deployed >> ledger || :",
                "echo deployed >> ledger; true",
                "echo deployed >> ledger; exit 0",
                "echo deployed >> ledger &",
                "! echo deployed >> ledger",
                "# echo deployed >> ledger",
                "echo '# deployed >> ledger'",
                "echo deployed",
                "echo deployed > /dev/null",
                "echo deployed >> /dev/null",
                "echo deployed >&2",
                "echo deployed > /dev/stderr",
                "echo deployed >> /tmp/x",
                "echo deployed >> /tmp/ledger",
                "cd /tmp && echo deployed >> ledger",
                "echo skipped >> ledger",
                ": echo deployed >> ledger",
                "true >> ledger",
                ": >> ledger",
                "touch ledger",
                "exit 0; echo deployed >> ledger",
                "false && echo deployed >> ledger",
                "true || echo deployed >> ledger",
                "if false; then echo deployed >> ledger; fi",
                "[ -n \"$DEPLOY\" ] && echo deployed >> ledger || true",
                "if [ -n \"$DEPLOY\" ]; then echo deployed >> ledger; fi",
                "ship() { echo deployed >> ledger; }",
                "echo deployed >> ledger; rm ledger",
                "set -n; echo deployed >> ledger",
                "echo deployed >> ledger | cat",
                "cat <<E\necho deployed >> ledger\nE\n",
            ],
        ),
        (
            "echo deploying\necho v1 >> ledger",
            vec!["echo deploying", "echo deploying\necho v1", "echo v1 >> /dev/null"],
        ),
        (
            "set -e\necho deploying\necho v1 >> ledger\necho done",
            vec!["echo done", "set -e\necho deploying\necho done"],
        ),
        ("echo a >> one\necho b >> two", vec!["echo a >> one", "echo b >> two", "echo a b >> one"]),
        (
            "cat >> ledger <<E\nv1\nE\n",
            vec!["cat >> ledger <<E\nE\n", "cat >> /dev/null <<E\nv1\nE\n", "cat <<E\nv1\nE\n"],
        ),
        (
            "echo v > deployed.txt",
            vec!["echo v > /dev/null", "echo v", "> deployed.txt", "touch deployed.txt"],
        ),
        (
            "echo v | tee -a ledger",
            vec!["echo v", "echo v | cat", "echo v | tee /dev/null", "true | tee -a ledger"],
        ),
        (
            "touch deployed",
            vec!["touch /dev/null", "touch other", "touch deployed || true", "touch deployed; rm deployed"],
        ),
        ("echo dep", vec!["true", "echo dep || true", "echo skipped", "echo", "# echo dep"]),
        ("echo \"deploying {{v}}\"", vec!["true", "echo \"{{v}}\"", "echo skipping"]),
        ("./first.sh; ./second.sh", vec!["./second.sh", "./first.sh", "./first.sh; ./second.sh || true"]),
        ("set -e\n./first.sh\npython3 send.py", vec!["set -e\n./first.sh", "python3 send.py"]),
        ("pg_dump db > backup.sql", vec!["pg_dump db", "pg_dump db > /dev/null", "echo > backup.sql"]),
        ("cp dist/a /srv/a", vec!["cp dist/a /dev/null", "cp dist/a /tmp/a", "test -f dist/a"]),
        (
            "rsync -a dist/ h:/srv",
            vec!["rsync -an dist/ h:/srv", "rsync -a --dry-run dist/ h:/srv", "rsync -a dist/ /tmp/x"],
        ),
        (
            "./send prod",
            vec!["./send --dry-run prod", "./send staging", "! ./send prod", "DRY_RUN=1 ./send prod"],
        ),
        ("./tool --execute", vec!["./tool", "./tool --help"]),
    ] {
        check_refused("b", before, &after);
    }
}

#[test]
fn a_failed_declared_effect_is_mended_not_dropped() {
    for (before, after) in [
        (
            "echo v >> d/ledger",
            vec![
                "mkdir -p d",
                "echo v",
                "echo v >> /dev/null",
                "echo v >> /tmp/x",
                "echo v >> d/ledger || true",
            ],
        ),
        (
            "./send prod",
            vec![
                "chmod +x send",
                "./send prod || true",
                "touch sent",
                "ls send",
                "! ./send prod",
                "test -x send",
            ],
        ),
        (
            "set -e\n./first.sh\n./second.sh",
            vec!["set -e\n./first.sh", "set -e\n./first.sh\ntrue", "./second.sh"],
        ),
        ("./nosuch && echo v >> ledger", vec!["./nosuch", "echo v", "./other"]),
        ("./deploy.sh", vec!["./other.sh", "bash -n deploy.sh", "./deploy.sh --dry-run"]),
        ("cp a /srv/a", vec!["cp a /dev/null", "mkdir -p /srv"]),
    ] {
        check_refused("ship", before, &after);
    }
    for (before, after) in [
        (
            "echo v >> d/ledger",
            vec![
                "mkdir -p d && echo v >> d/ledger",
                "mkdir -p d; echo v >> d/ledger",
                "echo v >> ledger",
                "echo v >> e/ledger",
                "echo v >> \"d/ledger\"",
                "printf 'v\\n' >> ledger",
                "echo v | tee -a ledger",
                "set -e\nmkdir -p d\necho v >> d/ledger\n",
            ],
        ),
        (
            "./send prod",
            vec![
                "bash ./send prod",
                "chmod +x send && ./send prod",
                "./bin/send prod",
                "./send production",
                "./sned prod",
            ],
        ),
        (
            "./deploy.sh",
            vec!["bash ./deploy.sh", "./scripts/deploy.sh", "./deploy.sh --verbose", "sh deploy.sh prod"],
        ),
        ("python send.py", vec!["python3 send.py", "python3 scripts/send.py"]),
        ("python deploy.py", vec!["python3 deploy.py", "python3 tools/deploy.py"]),
        ("npm run deploy", vec!["npm run deploy:prod", "npm run deploy -- --verbose"]),
        ("make deploy-wbe", vec!["make deploy-web"]),
        ("git push orign main", vec!["git push origin main"]),
        ("set -e\n./first.sh\n./secnd.sh", vec!["set -e\n./first.sh\n./second.sh"]),
        ("cp a /srv/a", vec!["mkdir -p /srv && cp a /srv/a", "cp build/a /srv/a", "cp a srv/a"]),
        (
            "git frobnicate && echo v >> ledger",
            vec!["git commit -m x && echo v >> ledger", "./x && echo v >> ledger"],
        ),
        ("touch d/shipped", vec!["mkdir -p d && touch d/shipped", "touch shipped"]),
        ("./ship > logs/ship.log", vec!["./ship", "mkdir -p logs; ./ship > logs/ship.log"]),
        ("kubectl apply -f x", vec!["kubectl -n prod apply -f x"]),
    ] {
        check_accepted("ship", before, &after);
    }
}

#[test]
fn a_declared_effect_that_is_kept_is_no_regression() {
    for (before, after) in [
        (
            "echo deployed >> ledger",
            vec![
                "echo deployed >> ledger",
                "echo \"deployed\" >> ledger",
                "echo deployed >> ./ledger",
                "echo 'deployed' >> \"ledger\"",
                "echo deployed >>ledger",
                "mkdir -p x\necho deployed >> ledger",
                "set -e\necho deployed >> ledger",
                "set -euo pipefail; echo deployed >> ledger",
                "echo starting; echo deployed >> ledger",
                "echo deployed | tee -a ledger",
                "printf 'deployed\\n' >> ledger",
                "echo deployed >> \"$PWD/ledger\"",
            ],
        ),
        ("echo {{v}} >> ledger", vec!["echo {{w}} >> ledger", "echo \"{{v}}\" >> ledger"]),
        ("echo deploying\necho v1 >> ledger", vec!["echo v1 >> ledger", "echo shipping\necho v1 >> ledger"]),
        ("echo dep", vec!["echo 'dep'", "./deploy.sh", "echo dep >> ledger", "echo now; echo dep"]),
        ("touch deployed", vec!["touch ./deployed", "touch \"deployed\""]),
        (
            "./send prod",
            vec!["./send 'prod'", "bash ./send prod", "./send --verbose prod", "set -e; ./send prod"],
        ),
        ("true", vec![":", "echo x", "./x"]),
        ("git push origin main", vec!["git push -v origin main"]),
    ] {
        check_accepted("b", before, &after);
    }
}

#[test]
fn nothing_keeps_a_declared_effect_from_running() {
    let command = "echo deployed >> ledger";
    let old = plan(&recipe(command, "effects: [deploy]", "git frobnicate"), 9);
    for fields in [
        "effects: [deploy], condition: 'false'",
        "effects: [deploy], continue_on_error: true",
        "effects: [deploy], when_tags: [never]",
        "effects: [deploy], exit_codes: {1: ok}",
        "idempotent: true",
    ] {
        let new = plan(&recipe(command, fields, "git status"), 9);
        assert_ne!(verdict(&old, &new, "b"), "", "{fields}");
    }
    let gone = recipe(command, "effects: [deploy]", "git status");
    let gone = gone.lines().filter(|line| !line.contains("ship")).collect::<Vec<_>>().join("\n");
    assert_eq!(verdict(&old, &plan(&gone, 9), "b"), "refused");
}
