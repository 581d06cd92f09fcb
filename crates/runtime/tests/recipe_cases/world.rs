//! The world of a case: real commands, effects, fixtures and what stays.

use super::{Place, run, step};
use runtime::recipe_tests::CaseError;
use std::path::PathBuf;

#[test]
fn effects_need_a_stub_or_every_program_replaced() {
    for (step, why) in [
        ("command: 'touch did; git push'", "its command changes something outside"),
        ("command: touch did, effects: [deploy]", "`effects: [deploy]`"),
        ("command: touch did, idempotent: false", "`idempotent: false`"),
    ] {
        let recipe = format!("name: r\nsteps:\n- {{id: a, {step}}}\n");
        let refused = run(&recipe, "");
        assert!(
            matches!(&refused.errors[..], [CaseError::Effect { why: said, .. }] if said == why),
            "{step} {:?}",
            refused.errors
        );
        assert_eq!(refused.changed, Vec::<String>::new(), "{step}");
        assert_eq!(run(&recipe, "  stubs: {a: {stdout: ok}}\n").errors, [], "{step}");
    }
    let recipe = "name: r\nsteps:\n- {id: a, command: 'git push origin main && gh pr create --fill'}\n";
    let half = run(recipe, "  stubs: {a: {real: true}}\n  programs: {git: [{stdout: pushed}]}\n");
    assert!(
        matches!(&half.errors[..], [CaseError::RealProgram { missing, .. }] if missing == "`gh`"),
        "{:?}",
        half.errors
    );
    assert!(half.commands.is_empty());
    let whole = run(
        recipe,
        "  stubs: {a: {real: true}}\n  programs: {git: [{args: [push, \"**\"], stdout: pushed}], gh: [{args: [pr, create, \"**\"], stdout: \"pr/7\\n\"}]}\n",
    );
    assert_eq!(whole.errors, []);
    assert_eq!(step(&whole, "a")["output"], "pushedpr/7");
    assert_eq!(whole.commands, [vec!["git", "push", "origin", "main"], vec!["gh", "pr", "create", "--fill"]]);
    let other = run(recipe, "  stubs: {a: {real: true}}\n  programs: {git: [{args: [pull]}], gh: [{}]}\n");
    assert!(
        matches!(&other.errors[..], [CaseError::UnknownCall { argv }] if argv[1] == "push"),
        "{:?}",
        other.errors
    );
}

#[test]
fn bash_can_be_forbidden() {
    let recipe = "name: r\nsteps:\n- {id: a, command: touch did}\n";
    let run = run(recipe, "  bash: forbid\n");
    assert!(
        matches!(&run.errors[..], [CaseError::BashForbidden { path, .. }] if path == "a"),
        "{:?}",
        run.errors
    );
    assert_eq!(run.changed, Vec::<String>::new());
}

#[test]
fn real_commands_see_only_the_world_of_the_case() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'pwd; echo $HOME $TMPDIR; echo \"${MARK:-none} ${USER:-none}\"; echo x > made; cat given'}\n\
                  - {id: t, command: sleep 5, timeout: 0.2, continue_on_error: true}\n- {id: c, command: 'command -v claude || echo no agent'}\n";
    let run = run(recipe, "  env: {MARK: set}\n  files: {given: text}\n");
    assert_eq!(run.errors, []);
    let scratch = run.scratch.path().to_string_lossy().into_owned();
    let expected = format!("{scratch}/work\n{scratch}/home {scratch}/tmp\nset none\ntext");
    assert_eq!(step(&run, "a")["output"], expected);
    assert_eq!(run.changed, ["made"]);
    assert!(step(&run, "t")["error"].as_str().unwrap().contains("timed out after 0.2 s"));
    assert!(run.calls.iter().all(|call| call.stub.is_none()) && run.calls.len() == 3);
}

#[test]
fn a_fixture_is_copied_and_may_be_a_repository() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'git log --format=\"%an %aI %H\"; git status --short; rm gone; echo b > src/a; bash run.sh'}\n";
    let cases = "fixture: {dir: shop, git: true}\ncases:\n- {name: one, files: {more: m}, setup: 'echo s > by-setup'}\n- {name: two, setup: 'exit 4'}\n";
    let files = [("shop/src/a", "a"), ("shop/gone", "g"), ("shop/run.sh", "echo ran")];
    let place = Place::new(recipe, cases, &files);
    let (one, again) = (place.run(0), place.run(0));
    assert_eq!(one.errors, []);
    let output = step(&one, "a")["output"].as_str().unwrap();
    assert!(
        output.starts_with("Recipe Test 2026-01-01T00:00:00Z")
            || output.starts_with("Recipe Test 2026-01-01T00:00:00+00:00"),
        "{output}"
    );
    assert!(output.ends_with("?? by-setup\nran"), "{output}");
    assert_eq!(step(&again, "a")["output"], output, "the commit is the same each time");
    assert_eq!(one.changed, ["by-setup", "gone", "src/a"]);
    let two = place.run(1);
    assert!(matches!(&two.errors[..], [CaseError::Setup { why }] if why.contains('4')), "{:?}", two.errors);
    assert!(place.dir.path().join("shop/gone").exists());
}

#[test]
fn hooks_run_for_real() {
    let recipe = "name: r\nhooks: {pre_step: 'echo {{step_id}} >> hooks.txt'}\nsteps:\n- {id: a, prompt: p}\n- {id: b, command: 'true'}\n";
    let run = run(recipe, "  stubs: {a: {answer: x}, b: {exit: 0}}\n");
    assert_eq!(
        (run.errors.len(), run.changed.clone()),
        (0, vec!["hooks.txt".to_owned()]),
        "{:?}",
        run.errors
    );
    assert_eq!(std::fs::read_to_string(run.scratch.work().join("hooks.txt")).unwrap(), "a\nb\n");
}

#[test]
fn nothing_of_a_case_stays() {
    let place = Place::new(
        "name: r\nsteps:\n- {id: a, command: 'sleep 54321 & disown'}\n",
        "cases:\n- name: one\n",
        &[],
    );
    let before: Vec<PathBuf> =
        std::fs::read_dir(place.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    drop(place.run(0));
    let after: Vec<PathBuf> =
        std::fs::read_dir(place.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(before, after);
    let all = std::process::Command::new("pgrep").args(["-f", "^sleep 54321"]).output().unwrap();
    assert!(all.stdout.is_empty(), "{}", String::from_utf8_lossy(&all.stdout));
}
