//! Steps as wholes: which ones remain, in which order, and what they are.

use super::{check, fits, plan, verdict};

fn recipe(steps: &[&str]) -> String {
    let lines: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    format!("name: r\ncontext: {{a: 1, b: 2}}\nsteps:\n{lines}")
}

fn steps(before: &[&str], after: &[&str], failed: &str, expected: &str) {
    check(&recipe(before), &recipe(after), failed, expected);
}

#[test]
fn half_of_four_or_more_steps_remain() {
    let ids = ["a", "b", "c", "d", "e"].map(|id| format!("id: {id}, command: ./x"));
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (had, kept, expected) in [
        (3, 1, "check_removed"),
        (4, 2, "check_removed"),
        (4, 1, "steps_lost"),
        (5, 2, "steps_lost"),
        (5, 5, ""),
    ] {
        steps(&all[..had], &all[..kept], "a", expected);
    }
}

#[test]
fn protected_steps_remain() {
    let kept = "id: k, command: ./x";
    for (lost, failed, expected) in [
        ("id: s, command: ./y", "k", "check_removed"),
        ("id: s, command: ./y", "s", "failed_step_lost"),
        ("id: s, command: ./y", "nested/s", "failed_step_lost"),
        ("id: s, command: git push", "k", "effect_lost"),
        ("id: s, command: ./y, effects: [deploy]", "k", "effect_lost"),
        ("id: s, command: ./y, idempotent: false", "k", "effect_lost"),
        ("id: s, prompt: a, effects: [deploy]", "k", "effect_lost"),
        ("id: s, prompt: a", "k", ""),
        ("id: s, command: pytest", "k", "check_lost"),
        ("id: s, command: pytest || true", "k", ""),
        ("id: s, command: pytest; git push", "k", "effect_lost"),
        ("id: s, command: pytest && git push", "s", "check_lost effect_lost failed_step_lost"),
    ] {
        steps(&[kept, lost], &[kept], failed, expected);
    }
}

#[test]
fn a_command_after_an_agent_is_its_check() {
    let agent = "id: k, prompt: a";
    for (lost, expected) in [
        ("id: s, command: ./y", "check_lost"),
        ("id: s, command: cat f", "check_lost"),
        ("id: s, command: echo f", ""),
        ("id: s, command: ./y; true", ""),
        ("id: s, command: ./y && git push", "effect_lost"),
    ] {
        steps(&[agent, lost], &[agent], "k", expected);
    }
}

#[test]
fn checks_stay_behind_what_they_check_and_before_what_they_guard() {
    let (agent, test, push, other) =
        ("id: a, prompt: a", "id: t, command: pytest", "id: p, command: git push", "id: o, command: cat f");
    for (before, after, expected) in [
        (vec![agent, test], vec![test, agent], "order_changed"),
        (vec![test, push], vec![push, test], "order_changed"),
        (vec![test, agent], vec![agent, test], ""),
        (vec![push, test], vec![test, push], ""),
        (vec![other, test], vec![test, other], ""),
        (vec![other, push], vec![push, other], "order_changed"),
        (vec![agent, push], vec![push, agent], ""),
        (vec![agent, other, test], vec![other, agent, test], ""),
        (vec![agent, test], vec!["id: n, command: ./n", agent, test], ""),
        (vec![agent, other, test], vec![other, test], ""),
    ] {
        steps(&before, &after, "o", expected);
    }
    let (agent_in, test_in) =
        ("id: a, prompt: a, parallel_group: g", "id: t, command: pytest, parallel_group: g");
    let test_elsewhere = "id: t, command: pytest, parallel_group: h";
    steps(&[agent, test], &[agent_in, test_in], "o", "order_changed");
    steps(&[agent_in, test_in], &[test, agent], "o", "");
    steps(&[agent_in, test_elsewhere], &[agent_in, test_in], "o", "order_changed");
    steps(&[agent, test_elsewhere], &[agent_in, test_elsewhere], "o", "");
}

#[test]
fn nothing_new_keeps_a_protected_step_from_running() {
    let maybe = [
        ("id: k, command: ./x, condition: a", "dependency_added"),
        ("id: k, command: ./x, continue_on_error: true", "dependency_added"),
        ("id: k, command: ./x, when_tags: [z]", "dependency_added"),
        ("id: k, command: ./x", ""),
    ];
    for (needed, expected) in maybe {
        let (free, bound) = ("id: s, command: pytest", "id: s, command: pytest, depends_on: [k]");
        steps(&[needed, free], &[needed, bound], "k", expected);
        steps(&[needed, bound], &[needed, "id: s, command: pytest, depends_on: [k], timeout: 9"], "k", "");
        let (free, bound) = ("id: s, command: ./y", "id: s, command: ./y, depends_on: [k]");
        steps(&[needed, free], &[needed, bound], "k", "");
    }
    for (before, after, expected) in [
        ("command: pytest", "command: pytest, when_tags: [z]", "tag_added"),
        ("command: pytest, when_tags: [z]", "command: pytest, when_tags: [z], timeout: 9", ""),
        ("command: pytest, when_tags: [z]", "command: pytest", ""),
        ("command: ./y", "command: ./y, when_tags: [z]", ""),
    ] {
        changed(before, after, "k", expected);
    }
}

fn changed(before: &str, after: &str, failed: &str, expected: &str) {
    let other = "id: k, command: ./x, working_dir: known";
    let step = |text: &str| format!("id: s, {text}");
    steps(&[other, &step(before)], &[other, &step(after)], failed, expected);
}

#[test]
fn a_protected_step_looks_where_it_did() {
    for (before, after, failed, another) in [
        (
            "command: grep a f",
            "command: grep a f, working_dir: d",
            "expectation_changed",
            "expectation_changed",
        ),
        ("command: grep a f", "command: grep a f, working_dir: known", "", "expectation_changed"),
        ("command: grep a f", "command: grep a f, working_dir: known/", "", "expectation_changed"),
        ("command: pytest", "command: pytest, working_dir: d", "", "expectation_changed"),
        ("command: pytest, working_dir: d", "command: pytest, working_dir: d/", "", ""),
    ] {
        changed(before, after, "s", failed);
        changed(before, after, "k", another);
    }
    changed("command: ./y", "command: ./y, working_dir: d", "k", "");
    let (goes, check) = ("id: k, command: cd there/ && ./x", "id: s, command: grep b c");
    steps(&[goes, check], &[goes, "id: s, command: cd there; grep b c"], "s", "");
    steps(&[goes, check], &[goes, "id: s, command: cd here; grep b c"], "s", "expectation_changed");
}

#[test]
fn a_protected_step_has_the_variables_that_it_had() {
    let (changed_value, added) = ("expectation_changed", "switch_added");
    for (before, after, failed, another) in [
        ("command: pytest, env: {A: b}", "command: pytest, env: {A: b}, timeout: 9", "", ""),
        ("command: pytest, env: {A: b}", "command: pytest, env: {A: c}", changed_value, changed_value),
        ("command: pytest, env: {A: b}", "command: pytest", changed_value, changed_value),
        ("command: pytest", "command: pytest, env: {A: b}", "", added),
        ("command: pytest", "command: pytest, env: {SKIP_SLOW: b}", added, added),
        ("command: pytest", "command: pytest, env: {pytest_addopts: b}", added, added),
        ("command: ./y, env: {A: b}", "command: ./y, env: {A: c}", "", ""),
        ("command: ./y", "command: ./y, env: {SKIP: b}", added, ""),
    ] {
        changed(before, after, "s", failed);
        changed(before, after, "k", another);
    }
}

#[test]
fn agents_and_recipes_of_other_steps_stay() {
    for (before, after, failed, another) in [
        ("prompt: a, agent: x:y:z", "prompt: a, agent: x:y:w", "", "agent_changed"),
        ("prompt: a, agent_binary: claude", "prompt: a, agent_binary: codex", "", "agent_changed"),
        ("prompt: a, mode: x", "prompt: a, mode: y", "", "agent_changed"),
        ("prompt: a, agent_args: [-x]", "prompt: a, agent_args: [-y]", "", "arguments_changed"),
        ("prompt: a, agent_binary: [a, b]", "prompt: a, agent_binary: [b, a]", "", "agent_changed"),
        ("prompt: a, model: x", "prompt: a, model: y", "", "model_changed"),
        ("prompt: a, model: x", "prompt: a, model: x, timeout: 9", "", ""),
        ("recipe: x", "recipe: y", "", "recipe_changed"),
        ("recipe: x", "recipe: x, timeout: 9", "", ""),
        ("recipe: x, agent_binary: claude", "recipe: x, agent_binary: codex", "", "agent_changed"),
        ("recipe: x, model: a", "recipe: x, model: b", "", "model_changed"),
        ("recipe: '{{a}}'", "recipe: '{{b}}'", "", "recipe_changed"),
        ("command: ./y", "prompt: a", "kind_changed", "kind_changed"),
        ("prompt: a", "command: ./y", "kind_changed", "kind_changed"),
    ] {
        changed(before, after, "s", failed);
        changed(before, after, "k", another);
    }
}

#[test]
fn a_prompt_keeps_half_of_its_length() {
    let prompt = |words: &str| format!("prompt: '{words}'");
    for (before, after, failed, another) in [
        ("one two three four five", "One, TWO; three!", "", ""),
        ("one two three four five", "one two", "", "prompt_changed"),
        ("one two three four five", "one", "prompt_changed", "prompt_changed"),
        ("ab cd", "ef gh", "", ""),
        ("file.md snake_case", "file md snake case", "", ""),
    ] {
        changed(&prompt(before), &prompt(after), "s", failed);
        changed(&prompt(before), &prompt(after), "k", another);
    }
}

#[test]
fn values_that_checks_rely_on_stay() {
    let recipe =
        |head: &str, step: &str| format!("name: r\ncontext: {head}\nsteps:\n  - {{id: s, {step}}}\n");
    for (step, after, expected) in [
        ("command: 'grep {{x}} f'", "{x: 2, y: 1}", "expectation_changed"),
        ("command: 'grep {{x}} f'", "{x: 1, y: 2}", ""),
        ("command: pytest, condition: y", "{x: 1, y: 2}", "expectation_changed"),
        ("command: 'git push {{x}}'", "{x: 2, y: 1}", "expectation_changed"),
        ("command: './y {{x}}'", "{x: 2, y: 1}", ""),
        ("prompt: 'a {{x}}'", "{x: 2, y: 1}", ""),
    ] {
        check(&recipe("{x: 1, y: 1}", step), &recipe(after, step), "s", expected);
    }
}

#[test]
fn a_misspelled_word_of_the_failed_command_is_corrected() {
    let changed = "expectation_changed";
    for (old, new, expected) in [
        ("reprot.txt", "report.txt", ""),
        ("repport.txt", "report.txt", ""),
        ("raport.txt", "report.txt", ""),
        ("rort.txt", "report.txt", ""),
        ("rport.txt", "report.txt", ""),
        // too short, contained in the other, another number, another word, another place
        ("ot.txt", "out.txt", changed),
        ("repor.txt", "report.txt", changed),
        ("report.txt", "reports.txt", changed),
        ("report2.txt", "report1.txt", changed),
        ("summary.txt", "report.txt", changed),
        ("wrong/report.txt", "report.txt", changed),
    ] {
        for check in ["grep a", "test -s", "grep a <", "cat", "["] {
            let check = |name: &str| match check {
                "cat" => format!("id: s, command: 'cat {name} | grep a'"),
                "[" => format!("id: s, command: '[ -f {name} ]'"),
                other => format!("id: s, command: '{other} {name}'"),
            };
            let other = "id: k, prompt: Write a report.";
            let found = |failed| {
                let (before, after) = (recipe(&[other, &check(old)]), recipe(&[other, &check(new)]));
                verdict(&plan(&before, 9), &plan(&after, 9), failed)
            };
            assert_eq!(found("s"), if expected.is_empty() { "" } else { "ask" }, "{old} -> {new}");
            assert_eq!(found("k"), "ask", "{old} -> {new}: only the failed command is corrected");
        }
    }
    for (old, new, expected) in [
        ("grep --quite ready f", "grep --quiet ready f", ""),
        ("npm run tset", "npm run test", ""),
        ("test $n -ge 500", "test $n -ge 5", "ask"),
        ("test $n -gt 5", "test $n -lt 5", "ask"),
        ("grep ready f", "grep read f", "ask"),
        ("grep --quite redy rebort.txt | sotr", "grep --quiet ready report.txt | sort", "ask"),
        ("grep --quite a f", "grep --quiet a f > g", "ask"),
    ] {
        let step = |command: &str| recipe(&[&format!("id: s, command: {command:?}")]);
        assert_eq!(verdict(&plan(&step(old), 9), &plan(&step(new), 9), "s"), expected, "{old} -> {new}");
    }
}

#[test]
fn producers_may_be_repaired_and_checks_may_not_be_satisfied() {
    let forged = "self_satisfied";
    let gate = "id: s, command: grep -q good out.txt";
    for (before, after, expected) in [
        ("echo bad > out.txt", "echo good > out.txt", ""),
        ("echo bad > out.txt", "printf good > ./out.txt", ""),
        ("echo bad > out.txt", "sed s/x/good/ t > out.txt", ""),
        ("echo bad > out.txt", "echo good | tee out.txt", ""),
        ("touch out.txt", "echo good > out.txt", ""),
        ("./gen > out.txt", "./gen -v > out.txt", ""),
        ("./gen > out.txt", "cat t | ./gen > out.txt", ""),
        ("./gen > out.txt", "echo good > out.txt", forged),
        ("./gen > out.txt", "./gen > out.txt; sed -i s/bad/good/ out.txt", forged),
        ("cp t out.txt", "echo good > out.txt", forged),
        ("./gen", "./gen; echo good > out.txt", forged),
        ("./gen", "./gen; echo $(echo good) > out.txt", forged),
        ("./gen", "./gen; W=good; echo $W > out.txt", forged),
        ("./gen", "./gen; echo {{a}} > out.txt", forged),
        ("./gen", "./gen; MY_W=good; echo $MY_W > out.txt", forged),
        ("./gen", "perl -pi -e s/bad/good/ out.txt", forged),
        ("./gen", "sed s/x/good/ t > out.txt", ""),
        ("./gen", "echo $(./gen) > out.txt", ""),
        ("./gen", "W=$(./gen); echo $W > out.txt", ""),
        ("./gen", "./gen > out.txt", ""),
        ("./gen", "./gen; cp t out.txt", ""),
        ("./gen", "./gen; rm -f out.txt", ""),
        ("echo bad > other.txt", "echo good > out.txt", forged),
        ("./gen", "cd . && echo good > out.txt", forged),
        ("./gen", "python3 -c \"open('out.txt', 'w').write('good')\"", forged),
    ] {
        let step = |text: &str| format!("id: k, command: {text:?}");
        steps(&[&step(before), gate], &[&step(after), gate], "s", expected);
    }
    steps(
        &["id: k, command: ./x", gate],
        &["id: n, command: echo good > out.txt", "id: k, command: ./x", gate],
        "s",
        forged,
    );
    for maker in ["id: k, command: ./gen, output: a", "id: a, command: ./gen"] {
        let writer = "id: n, command: 'echo {{a}} > out.txt'";
        steps(&[maker, gate], &[maker, writer, gate], "s", "");
    }
    let check = "id: s, command: diff want.txt got.txt";
    steps(&["id: k, command: ./x", check], &["id: k, command: ./x; cp want.txt got.txt", check], "s", forged);
}

#[test]
fn a_value_that_a_check_looks_at_is_not_made_up() {
    let (computes, says) = ("id: k, command: ./x, output: v", "id: k, command: echo 1, output: v");
    let gate = "id: s, command: '[ {{v}} = 1 ]'";
    for (before, after, gate, expected) in [
        (computes, says, gate, "self_satisfied"),
        (computes, says, "id: s, command: './y {{v}}'", "always_succeeds"),
        (says, "id: k, command: echo 2, output: v", gate, ""),
        (says, "id: n, command: echo 2, output: v", gate, "self_satisfied"),
        ("id: k, prompt: a, output: v", "id: n, prompt: a, output: v", gate, ""),
    ] {
        steps(&[before, gate], &[after, gate], "s", expected);
    }
}

#[test]
fn hooks_stay_as_they_are() {
    let recipe = |hooks: &str| {
        format!(
            "name: r\nhooks: {{{hooks}}}\nsteps:\n  - {{id: k, command: ./x}}\n  - {{id: s, command: grep a f}}\n"
        )
    };
    for (before, after, expected) in [
        ("", "pre_step: date", "hooks_changed"),
        ("", "pre_step: echo a > f", "self_satisfied"),
        ("", "post_step: ./x > f", "self_satisfied"),
        ("", "on_error: touch f", "self_satisfied"),
        ("", "pre_step: echo a > g", "hooks_changed"),
        ("pre_step: echo a > f", "pre_step: echo a > f; date", "hooks_changed"),
        ("pre_step: echo a > f", "pre_step: echo b > f", "self_satisfied"),
        ("post_step: ./x", "post_step: ./y", "hooks_changed"),
        ("post_step: ./x", "", "hooks_changed"),
        ("post_step: git push", "post_step: git push -v", "hooks_changed"),
        ("post_step: git push", "post_step: git push --dry-run", "effect_lost"),
        ("post_step: git push", "", "effect_lost"),
    ] {
        check(&recipe(before), &recipe(after), "s", expected);
    }
}

#[test]
fn nested_recipes_are_compared_too() {
    let text = recipe(&["id: k, recipe: x", "id: o, command: ./x"]);
    assert!(fits(verdict(&plan(&text, 9), &plan(&text, 9), "o"), ""));
    assert!(fits(verdict(&plan(&text, 9), &plan(&text, 8), "o"), ""));
    assert!(fits(verdict(&plan(&text, 8), &plan(&text, 9), "o"), "timeout_loosened"));
}

#[test]
fn a_default_counts_like_a_declaration() {
    let recipe = |seconds: u8| {
        format!("name: r\ndefault_step_timeout: {seconds}\nsteps:\n  - {{id: s, command: ./x}}\n")
    };
    check(&recipe(8), &recipe(9), "s", "timeout_loosened");
    check(&recipe(9), &recipe(8), "s", "");
}

#[test]
fn a_producer_gains_no_outside_effect_and_a_check_no_invented_value() {
    let recipe = |context: &str, producer: &str, check: &str| {
        format!(
            "name: r\ncontext: {context}\nsteps:\n  - {{id: p, output: made, {producer}}}\n  \
             - {{id: s, {check}}}\n  - {{id: use, command: 'echo {{{{made}}}}'}}\n"
        )
    };
    let check_with = "command: 'test {{expected}} = 1'";
    for (before, after) in [
        (
            recipe("{a: 1}", "command: cat ledger", "command: pytest"),
            recipe("{a: 1}", "command: 'cat ledger; git push origin main'", "command: pytest"),
        ),
        (
            recipe("{a: 1}", "command: cat ledger", check_with),
            recipe("{a: 1, expected: 1}", "command: cat ledger", check_with),
        ),
        (
            recipe("{a: 1}", "command: cat ledger", "command: rm -rf data, condition: a == 2"),
            recipe("{a: 1}", "command: cat ledger", "command: rm -rf data"),
        ),
    ] {
        check(&before, &after, "s", "something");
    }
}
