//! Sub-recipes: the flow of values, the messages of failures, and the limits.

use serde_json::json;
use testkit::{Output, TestEnv};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn run(parent: &str, child: &str, arguments: &[&str]) -> Output {
    env().file("child.yaml", child).json(parent, arguments)
}

fn error(output: &Output, path: &str) -> String {
    output.step(path)["error"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_recipe_step_is_tried_again_for_json() {
    let child = "name: c\nsteps:\n  - id: q\n    command: |\n      echo x >> tries\n      test $(wc -l < tries) -gt 1 && echo '{\"k\":2}' || echo no\n";
    for (retry, attempts, code) in [
        ("{max_attempts: 3, delay: 0, on: [json]}", 2, 0),
        ("{max_attempts: 3, delay: 0}", 2, 0),
        ("{max_attempts: 3, delay: 0, on: [exit]}", 1, 1),
    ] {
        let env = env().file("c.yaml", child);
        let recipe = format!(
            "name: r\nsteps: [{{id: s, recipe: c, parse_json: true, parse_json_required: true, retry: {retry}}}]\n"
        );
        let output = env.json(&recipe, &[]);
        assert_eq!(
            (output.code, output.step("s")["attempts"].as_u64()),
            (code, Some(attempts)),
            "{retry} {}",
            output.all()
        );
    }
}

#[test]
fn a_tolerated_failed_recipe_has_no_value() {
    let child = "name: c\nsteps:\n  - {id: q, command: echo good}\n  - {id: b, command: exit 1}\n";
    let env = env().file("c.yaml", child);
    let output = env.json("name: r\nsteps: [{id: s, recipe: c, continue_on_error: true}]\n", &[]);
    assert_eq!(output.json()["context"]["s"], "", "{}", output.all());
    assert_eq!(output.step("s")["output"], "", "{}", output.all());
}

#[test]
fn a_path_below_a_recipe_reads_its_result_first() {
    let child = "name: child\ncontext: {pr_url: '', only: context}\nsteps:\n  - {id: open, command: \"echo '{\\\"pr_url\\\": \\\"https://example.com/7\\\"}'\"}\n";
    let parent = "name: p\nsteps:\n  - {id: r, recipe: child}\n  - {id: s, condition: r.pr_url, command: 'echo {{r.pr_url}} {{r.only}}'}\n";
    let output = run(parent, child, &[]);
    assert_eq!(output.value("s"), "https://example.com/7 context", "{}", output.all());
}

#[test]
fn a_sub_recipe_sees_its_defaults_the_caller_and_the_call() {
    let parent = "name: p\ncontext: {a: parent, b: parent}\nsteps:\n  - {id: s, recipe: child, context: {b: call, d: 'x {{a}}'}}\n";
    let child = "name: child\ncontext: {a: child, b: child, c: child, d: child}\nsteps:\n  - {id: say, command: 'echo {{a}} {{b}} {{c}} {{d}}'}\n";
    let output = run(parent, child, &[]);
    assert_eq!(output.value("s"), "parent call child x parent", "{}", output.all());
    assert_eq!(
        run(&parent.replace("context: {b", "sub_context: {b"), child, &[]).value("s"),
        "parent call child x parent"
    );
}

#[test]
fn call_arguments_keep_their_types() {
    let parent = "name: p\ncontext: {l: [1, 2], o: {k: v}, n: 1.10}\nsteps:\n  - {id: s, recipe: child, context: {x: '{{l}}', y: '{{o}}', z: '{{n}}', lit: [a, b], t: true, m: {deep: '{{n}}'}}}\n";
    let child = "name: child\nsteps:\n  - {id: say, command: 'echo {{x.length}} {{y.k}} {{z}} {{lit[1]}} {{t}} {{m.deep}}', condition: 't == true and len(x) == 2'}\n";
    assert_eq!(run(parent, child, &[]).value("s"), "2 v 1.10 b true 1.10");
}

#[test]
fn after_success_values_of_a_sub_recipe_flow_back_but_not_the_call_arguments() {
    let parent = "name: p\ncontext: {kept: parent, over: parent}\nsteps:\n  - {id: s, recipe: child, context: {over: call, mode: call, assigned: call}}\n  - {id: t, command: 'echo {{made}} {{over}} [{{mode}}] {{assigned}} {{kept}} [{{default}}]', output: out}\n";
    let child = "name: child\ncontext: {default: child}\nsteps:\n  - {id: a, command: echo new, output: made}\n  - {id: b, command: echo by-step, output: assigned}\n  - {id: c, command: echo changed, output: kept}\n";
    let output = run(parent, child, &[]);
    assert_eq!(output.value("out"), "new parent [] by-step changed [child]", "{}", output.all());
    assert_eq!(output.value("mode"), json!(null));
    assert_eq!(output.value("over"), "parent");
}

#[test]
fn the_result_text_and_its_members() {
    let child = "name: child\nsteps:\n  - {id: v, command: echo 1.2, output: version}\n  - {id: log, command: echo last}\n  - {id: not, command: echo skipped, condition: 'false'}\n";
    let parent = "name: p\nsteps:\n  - {id: build, recipe: child}\n  - {id: t, command: 'echo {{build}} {{build.version}} \"{{build.nothing}}\"', condition: \"build.version == 1.2 and build == 'last'\", output: out}\n";
    assert_eq!(run(parent, child, &[]).value("out"), "last 1.2 ");
    let with_template =
        format!("{child}output: {{template: 'v={{{{version}}}} {{{{#if log}}}}logged{{{{/if}}}}'}}\n");
    assert_eq!(run(parent, &with_template, &[]).step("build")["output"], "v=1.2 logged");
    let json = "name: child\nsteps: [{id: j, command: 'echo ''{\"n\": [1, 2]}'''}]\n";
    let parent = "name: p\nsteps:\n  - {id: b, recipe: child, parse_json: true, output: res}\n  - {id: t, command: 'echo {{res.n[1]}}', output: out}\n";
    assert_eq!(run(parent, json, &[]).value("out"), "2");
}

#[test]
fn the_recipe_has_a_result_text_of_its_own() {
    let recipe = "name: r\noutput: {format: text, template: 'built {{v}}'}\nsteps: [{id: s, command: echo 7, output: v}]\n";
    assert_eq!(env().json(recipe, &[]).json()["output"], "built 7");
    assert!(env().text(recipe, &[]).stdout.contains("built 7"));
}

#[test]
fn a_failure_is_reported_once_from_the_bottom_up() {
    let env = env()
        .file("child.yaml", "name: child\nsteps:\n  - {id: fine, command: echo produced, output: evidence}\n  - {id: deeper, recipe: grandchild}\n")
        .file("grandchild.yaml", "name: grandchild\nsteps:\n  - {id: boom, command: 'echo the reason >&2; exit 9'}\n");
    let output =
        env.json("name: p\nsteps:\n  - {id: top, recipe: child}\n  - {id: never, command: 'true'}\n", &[]);
    assert_eq!(output.code, 1);
    let told = error(&output, "top");
    for part in [
        "Sub-recipe 'child' failed",
        "deeper",
        "boom",
        "[error]",
        "the reason",
        "bash step failed",
        "exit code 9",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.matches("the reason").count(), 1, "{told}");
    assert!(error(&output, "top/deeper").contains("Sub-recipe 'grandchild' failed"));
    assert_eq!(output.json()["failure"]["step"], "top/deeper/boom");
    assert_eq!(output.step("top/fine")["output"], "produced");
    assert_eq!(output.value("evidence"), json!(null), "not merged");
    assert_eq!(output.step("never")["status"], "pending");
    assert!(output.stderr.contains("the reason"), "{}", output.all());
}

#[test]
fn a_tolerated_failure_in_a_sub_recipe_is_not_a_failure() {
    let child = "name: child\nsteps:\n  - {id: a, command: exit 1, continue_on_error: true}\n  - {id: b, command: echo fine}\n";
    assert_eq!(run("name: p\nsteps: [{id: s, recipe: child}]\n", child, &[]).value("s"), "fine");
    let child = "name: child\nsteps: [{id: a, command: exit 1}]\n";
    let parent = "name: p\nsteps:\n  - {id: s, recipe: child, continue_on_error: true}\n  - {id: t, command: echo on}\n";
    let output = run(parent, child, &[]);
    assert_eq!((output.code, output.value("t")), (0, json!("on")));
    assert_eq!(output.step("s")["status"], "failed");
}

#[test]
fn steps_are_counted_across_the_whole_tree() {
    let child = "name: child\nsteps:\n  - {id: a, command: echo a >> ../log}\n  - {id: skipped, command: 'true', condition: 'false'}\n  - {id: b, command: echo b >> ../log}\n";
    let parent = |most: u32| {
        format!(
            "name: p\nrecursion: {{max_total_steps: {most}}}\nsteps:\n  - {{id: one, recipe: child}}\n  - {{id: two, recipe: child}}\n  - {{id: three, command: 'true'}}\n"
        )
    };
    assert_eq!(run(&parent(5), child, &[]).code, 0, "recipe steps and skipped ones do not count");
    let output = run(&parent(4), child, &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(error(&output, "three").contains("Total step limit (4) exceeded"), "{}", output.all());
    assert_eq!(output.step("three")["attempts"], 0);
    let output = run(&parent(3), child, &[]);
    assert!(error(&output, "two").contains("Total step limit (3) exceeded"), "{}", output.all());
    assert_eq!(output.step("two/a")["status"], "completed");
    assert_eq!(output.step("two/b")["status"], "failed");
    let inner = child.replacen("name: child", "name: child\nrecursion: {max_total_steps: 1}", 1);
    let output = run(&parent(100), &inner, &[]);
    assert!(error(&output, "one").contains("Total step limit (1) exceeded"), "{}", output.all());
    let usual: String = (0..201).map(|at| format!("  - {{id: s{at}, command: 'true'}}\n")).collect();
    let output = env().json(&format!("name: r\nsteps:\n{usual}"), &["--quiet"]);
    assert!(
        output.stderr.contains("Total step limit (200) exceeded")
            || output.stdout.contains("Total step limit (200) exceeded"),
        "{}",
        output.stderr
    );
    assert_ne!(output.code, 0);
}

#[test]
fn depth_is_limited_and_reported() {
    let recursive = "name: child\ncontext: {n: 0}\nsteps:\n  - {id: count, command: 'echo $(( {{n}} + 1 ))', output: n}\n  - {id: again, recipe: child, condition: 'int(n) < 4'}\n";
    let output = run("name: p\nsteps: [{id: s, recipe: child}]\n", recursive, &[]);
    assert_eq!((output.code, output.value("n")), (0, json!("4")), "{}", output.all());
    let endless = recursive.replace(", condition: 'int(n) < 4'", "");
    let output = run("name: p\nsteps: [{id: s, recipe: child}]\n", &endless, &[]);
    assert_ne!(output.code, 0);
    let all = output.all();
    assert!(all.contains("Maximum recipe recursion depth (6) exceeded"), "{all}");
    let limited = "name: p\nrecursion: {max_depth: 2}\nsteps: [{id: s, recipe: child}]\n";
    let all = run(limited, recursive, &[]).all();
    assert!(all.contains("Maximum recipe recursion depth (2) exceeded"), "{all}");
}

#[test]
fn a_name_that_is_a_template_is_found_when_it_is_known() {
    let parent = "name: p\nsteps:\n  - {id: choose, command: echo child, output: which}\n  - {id: s, recipe: '{{which}}'}\n";
    assert_eq!(run(parent, "name: child\nsteps: [{id: a, command: echo found}]\n", &[]).value("s"), "found");
    let output = run(
        &parent.replace("echo child", "echo nowhere"),
        "name: child\nsteps: [{id: a, command: 'true'}]\n",
        &[],
    );
    assert_eq!(output.code, 1);
    assert!(
        error(&output, "s").contains("not found")
            && error(&output, "s").contains("Sub-recipe 'nowhere' failed"),
        "{}",
        output.all()
    );
    let output = run(parent, "name: child\nsteps: [{id: a, comand: 'true'}]\n", &[]);
    assert!(error(&output, "s").contains("comand"), "{}", output.all());
}

#[test]
fn the_needs_of_a_sub_recipe_are_checked_when_it_starts() {
    let child = "name: child\ninputs: [{name: need, required: true}]\ncontext_validation: {dir: path}\nsteps: [{id: a, command: 'true'}]\n";
    let parent = "name: p\nsteps:\n  - {id: first, command: echo done}\n  - {id: s, recipe: child, context: {dir: nowhere}}\n";
    let output = run(parent, child, &[]);
    assert_eq!((output.code, output.step("first")["status"].clone()), (1, json!("completed")));
    let told = error(&output, "s");
    for part in
        ["Sub-recipe 'child' failed", "=== PRE-FLIGHT VALIDATION FAILED for 'child' ===", "`need`", "`dir`"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let parent = parent.replace("dir: nowhere", "dir: ., need: x");
    assert_eq!(run(&parent, child, &[]).code, 0);
}

#[test]
fn sub_recipes_have_their_own_hooks_tags_and_directories() {
    let env = env().file("sub/x", "").file(
        "child.yaml",
        "name: child\nhooks: {post_step: 'echo child {{step_id}} >> \"$LOG\"'}\nsteps:\n  - {id: a, command: pwd}\n  - {id: t, command: 'true', when_tags: [t]}\n",
    );
    let log = env.path("log").to_string_lossy().into_owned();
    let env = env.env("LOG", &log);
    let parent = "name: p\nhooks: {pre_step: 'echo parent {{step_id}} {{step_type}} >> \"$LOG\"'}\nsteps:\n  - {id: s, recipe: child, working_dir: sub}\n  - {id: b, command: 'true'}\n";
    let output = env.json(parent, &["--exclude-tags", "t"]);
    assert_eq!(output.value("a"), env.path("sub").to_string_lossy().as_ref(), "{}", output.all());
    assert_eq!(std::fs::read_to_string(log).unwrap_or_default(), "parent s recipe\nchild a\nparent b bash\n");
    assert_eq!(output.step("s/t")["status"], "skipped");
}

#[test]
fn sub_recipes_in_a_group_run_together_and_apply_in_order() {
    let child = "name: child\ncontext: {me: none}\nsteps:\n  - {id: w, command: 'sleep 0.$(( 5 - {{n}} )); echo {{me}}', output: who}\n";
    let parent = "name: p\nsteps:\n  - {id: a, parallel_group: g, recipe: child, context: {me: first, n: 1}}\n  - {id: b, parallel_group: g, recipe: child, context: {me: second, n: 4}}\n  - {id: c, parallel_group: g, command: 'echo [{{who}}]'}\n  - {id: t, command: 'echo {{who}} {{a}} {{b}} {{c}}'}\n";
    assert_eq!(run(parent, child, &[]).value("t"), "second first second []");
}

#[test]
fn a_recipe_step_can_be_retried_and_can_time_out() {
    let child = "name: child\nsteps: [{id: a, command: 'echo x >> tries; test $(wc -l < tries) -ge 2'}]\n";
    let output = run("name: p\nsteps: [{id: s, recipe: child, retry: 3}]\n", child, &[]);
    assert_eq!((output.code, output.step("s")["attempts"].clone()), (0, json!(2)), "{}", output.all());
    let slow = "name: child\nsteps: [{id: a, command: sleep 20}]\n";
    let output = run("name: p\nsteps: [{id: s, recipe: child, timeout: 0.5}]\n", slow, &[]);
    assert!(error(&output, "s").contains("timed out after 0.5 s"), "{}", output.all());
    assert_eq!(output.code, 1);
}

#[test]
fn a_recipe_step_is_not_retried_for_a_permanent_failure() {
    let fails = |more: &str, last: &str| {
        format!(
            "name: child\ncontext: {{n: 1}}\n{more}steps:\n  - {{id: a, command: 'echo x >> tries; wc -l < tries'}}\n  - {{id: b, {last}}}\n"
        )
    };
    for (more, last, attempts) in [
        ("recursion: {max_total_steps: 1}\n", "command: 'true'", 1),
        ("recursion: {max_depth: 0}\n", "recipe: leaf", 1),
        ("", "condition: n.lower(), command: 'true'", 1),
        ("", "recipe: '{{n}}'", 1),
        ("", "recipe: outer", 1),
        // these may be different next time
        ("", "condition: a.join(a), command: 'true'", 3),
        ("", "recipe: 'no-{{a}}'", 3),
        ("", "command: 'true', working_dir: gone", 3),
        ("", "command: 'printf \"a\\0b\"'", 3),
        ("", "command: exit 1", 3),
    ] {
        let outer = "name: outer\nsteps: [{id: o, recipe: leaf, context: {n: 1}, condition: n.lower()}]\n";
        let env = env().file("leaf.yaml", "name: leaf\nsteps: [{id: l, command: 'true'}]\n");
        let env = env.file("outer.yaml", outer).file("child.yaml", fails(more, last));
        let output =
            env.json("name: p\nsteps: [{id: s, recipe: child, retry: {max_attempts: 3, delay: 0}}]\n", &[]);
        assert_eq!(output.step("s")["attempts"], attempts, "{last} {}", output.all());
        assert_eq!(output.code, 1, "{last} {}", output.all());
    }
}

#[test]
fn the_environment_of_a_recipe_step_reaches_its_steps() {
    let parent = "name: p\ncontext: {v: deep}\nsteps:\n  - {id: s, recipe: child, env: {A: '{{v}}', B: outer}, output: r}\n  - {id: t, command: 'echo \"[$A]\"', output: after}\n";
    let child = "name: child\nsteps:\n  - {id: x, env: {B: inner}, command: 'echo \"$A $B\"'}\n";
    let output = run(parent, child, &[]);
    assert_eq!((output.value("r"), output.value("after")), (json!("deep inner"), json!("[]")));
}

#[test]
fn a_dotted_path_reads_through_any_number_of_recipes() {
    let env = env();
    env.write(
        "d.yaml",
        "name: d\ncontext: {only: ON}\nsteps:\n- {id: k, command: echo K}\n- {id: l, command: echo L}\n",
    );
    env.write("c.yaml", "name: c\nsteps:\n- {id: d, recipe: d}\n- {id: last, command: echo C}\n");
    let over = "- {id: json, command: \"echo '{\\\"k\\\": 7}'\", output: d}\n- {id: again, command: 'echo {{d.k}}'}\n";
    let parent = format!(
        "name: p\nsteps:\n- {{id: s, recipe: c}}\n- {{id: t, condition: \"s.d.k == 'K'\", command: 'echo {{{{s}}}} {{{{s.d}}}} {{{{s.d.k}}}} {{{{s.d.only}}}} {{{{d.k}}}}'}}\n{over}"
    );
    let output = env.json(&parent, &[]);
    assert_eq!(output.value("t"), "C L K ON K", "{}", output.all());
    assert_eq!(output.value("again"), "7", "{}", output.all());
}

#[test]
fn the_environment_reaches_names_that_only_a_sub_recipe_declares() {
    let child = "name: child\ncontext: {w: dflt, my-n: 1}\ninputs: [{name: v, required: true}]\n\
                 steps: [{id: c, command: 'echo {{w}} {{my-n}} {{v}}'}]\n";
    let call = |more: &str| format!("name: r\nsteps: [{{id: s, recipe: child{more}}}]\n");
    let dynamic = "name: r\ncontext: {which: child}\nsteps: [{id: s, recipe: '{{which}}'}]\n";
    let earlier = "name: r\nsteps: [{id: w, command: echo out}, {id: s, recipe: child}]\n";
    for (parent, arguments, expected) in [
        (call("").as_str(), &[][..], "E 7 007"),
        (dynamic, &[], "E 7 007"),
        (&call(", context: {w: step}"), &[], "step 7 007"),
        (earlier, &[], "out 7 007"),
        ("name: r\ncontext: {w: mine}\nsteps: [{id: s, recipe: child, context: {v: x}}]\n", &[], "E 7 x"),
        (&call(""), &["--set", "w=S"], "S 7 007"),
    ] {
        let env = env().env("RECIPE_VAR_w", "E").env("RECIPE_VAR_my_n", "7").env("RECIPE_VAR_v", "007");
        let output = env.file("child.yaml", child).json(parent, arguments);
        assert_eq!(output.step("s")["output"], *expected, "{parent} {arguments:?} {}", output.all());
    }
}

#[test]
fn a_resume_keeps_environment_values_of_a_sub_recipe() {
    let child = "name: child\ncontext: {w: dflt, p: '', q: ''}\nsecrets: [p]\nsteps: [{id: c, command: 'test -e go && echo {{w}}'}]\n";
    let parent = "name: r\ncontext: {q: ''}\nsteps: [{id: s, recipe: child}]\n";
    let env = env().file("child.yaml", child).file("r.yaml", parent);
    let set = "RECIPE_VAR_w='E F' RECIPE_VAR_p=hidden RECIPE_VAR_q=own RECIPE_VAR_other=x";
    let failed = env.shell(&format!("{set} $RUNNER r.yaml --output-format json"));
    assert_eq!(failed.code, 1, "{}", failed.all());
    let again = failed.json()["evidence"]["repro_command"].as_str().unwrap_or_default().to_owned();
    let begins = "env RECIPE_VAR_p=\"${RECIPE_VAR_p:?}\" 'RECIPE_VAR_w=E F' recipe-runner-rs ";
    assert!(again.starts_with(begins) && again.contains("--set q=own"), "{again}");
    env.write("go", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!(output.json()["context"]["s"], "E F", "{}", output.all());
}
