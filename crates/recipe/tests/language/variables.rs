//! Variables: what defines them, where an undefined one is told, and which names collide.

use crate::shelf::{check_files, expect, expect_files, told, unit, with_field, with_step};

#[test]
fn these_define_a_variable() {
    for yaml in [
        "name: r\ncontext: {v: 1}\nsteps: [{id: s, command: \"{{v}}\"}]\n",
        "name: r\ncontext: {v: {a: [1]}}\nsteps: [{id: s, command: \"{{v.a[0]}} {{ v.a.length }}\"}]\n",
        "name: r\ncontext: {a.b: {c: [1]}}\nsteps: [{id: s, command: \"{{a.b.c}} {{a.b.c[0]}} {{a.b.length}}\"}]\n",
        "name: r\nsteps: [{id: v1.2, command: x, parse_json: true}, {id: b, command: \"{{v1.2.z[0]}} {{v1.2.x.y}}\", condition: v1.2.z}]\n",
        "name: r\ninputs: [{name: v}]\nsteps: [{id: s, command: \"{{v}}\"}]\n",
        "name: r\ncontext_validation: {v: nonempty}\nsteps: [{id: s, command: \"{{v}}\"}]\n",
        "name: r\nsteps: [{id: a, command: x, output: v}, {id: b, command: \"{{v}}\"}]\n",
        "name: r\nsteps: [{id: v, command: x}, {id: b, command: \"{{v}}\"}]\n",
        "name: r\nsteps: [{id: my-step, command: x}, {id: b, prompt: \"{{my-step}}\"}]\n",
        "name: r\nsteps: [{id: v, command: x}]\nhooks: {post_step: \"{{v}}\"}\n",
        "name: r\nsteps: [{id: v, command: x}]\noutput: {template: \"{{v}}\"}\n",
        "name: r\nsteps: [{id: v, command: x, continue_on_error: true}, {id: b, command: x, env: {A: \"{{v}}\"}}]\n",
    ] {
        expect(yaml, &[]);
    }
}

#[test]
fn these_do_not_define_a_variable() {
    for (yaml, expected) in [
        ("name: r\nsteps: [{id: s, command: \"{{v}}\"}]\n", "warning undefined-variable 2:27"),
        ("name: r\nsteps: [{id: s, command: \"{{s}}\"}]\n", "warning undefined-variable 2:27"),
        (
            "name: r\ncontext: {a.b: {c: 1}}\nsteps: [{id: s, command: \"{{a.b.nope}}\"}]\n",
            "warning undefined-variable 3:27",
        ),
        (
            "name: r\ncontext: {a.b: 1}\nsteps: [{id: s, command: \"{{a.x.c}}\"}]\n",
            "warning undefined-variable 3:27",
        ),
        (
            "name: r\nsteps: [{id: s, command: \"{{v}}\"}, {id: v, command: x}]\n",
            "warning undefined-variable 2:27",
        ),
        (
            "name: r\nsteps:\n  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: \"{{a}}\", parallel_group: g}\n",
            "warning undefined-variable 4:23",
        ),
        (
            "name: r\nsteps:\n  - {id: a, command: x, output: v}\n  - {id: b, command: \"{{a}}\"}\n",
            "warning undefined-variable 4:23",
        ),
        ("name: r\nsteps: [{id: s, prompt: \"a {{v}}\"}]\n", "warning undefined-variable 2:28"),
        (
            "name: r\nsteps: [{id: s, command: x, working_dir: \"{{v}}\"}]\n",
            "warning undefined-variable 2:43",
        ),
        ("name: r\nsteps: [{id: s, command: x, env: {A: \"{{v}}\"}}]\n", "warning undefined-variable 2:39"),
        (
            "name: r\nsteps: [{id: s, command: x}]\nhooks: {pre_step: \"{{v}}\"}\n",
            "warning undefined-variable 3:20",
        ),
        (
            "name: r\nsteps: [{id: s, command: x}]\noutput: {template: \"{{v}}\"}\n",
            "warning undefined-variable 3:21",
        ),
        ("name: r\nsteps: [{id: s, command: \"{{#if v}}a{{/if}}\"}]\n", "warning undefined-variable 2:27"),
        ("name: r\nsteps: [{id: s, command: \"{{step_id}}\"}]\n", "warning undefined-variable 2:27"),
    ] {
        expect(yaml, &[expected]);
    }
}

#[test]
fn names_from_outside_define_a_variable() {
    let yaml = with_step("command: echo {{v}} {{a.b}}");
    expect_files(&[("r.yaml", &yaml)], &["v", "a.b"], &[]);
    expect_files(&[("r.yaml", &yaml)], &["v"], &["warning undefined-variable 4:25"]);
}

#[test]
fn members_of_a_group_are_seen_after_it() {
    expect(
        "name: r\nsteps:\n  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: x, parallel_group: g}\n  - {id: c, command: \"{{a}} {{b}}\"}\n",
        &[],
    );
}

#[test]
fn the_place_is_inside_the_text() {
    for (fields, expected) in [
        ("command: echo {{nope}}", "4:19"),
        ("command: \"echo {{nope}}\"", "4:20"),
        ("command: 'echo ''a'' {{nope}}'", "4:26"),
        ("command: \"\\u00e9\\t\\\"{{nope}}\\\"\"", "4:25"),
        ("command: |\n  echo a &&\n  echo {{nope}} &&\n  echo b", "6:12"),
        ("command: |-\n\n    deep {{nope}}", "6:14"),
        ("command: >\n  one\n  two {{nope}}\n  three", "6:11"),
        ("prompt: >-\n  one\n\n  two\n    more {{nope}}", "8:14"),
        ("prompt: ü {{nope}}", "4:15"),
        ("command: one\n  two {{nope}}", "5:11"),
    ] {
        expect(&with_step(fields), &[&format!("warning undefined-variable {expected}")]);
    }
}

#[test]
fn a_broken_template_is_reported_inside_the_text() {
    for (fields, expected) in [
        ("command: echo {{nope", "error template-syntax 4:19"),
        ("command: |\n  a\n  b {{#if x}} c", "error template-syntax 6:9"),
        ("prompt: \"a {{else}} b\"", "error template-syntax 4:16"),
        ("prompt: a {{/if}}", "error template-syntax 4:15"),
        ("command: a {{x | upper}}", "error template-syntax 4:16"),
        ("command: x\nworking_dir: \"{{a b}}\"", "error template-syntax 5:19"),
        ("command: x\nenv: {A: \"{{#each b}}\"}", "error template-syntax 5:15"),
    ] {
        expect(&with_step(fields), &[expected]);
    }
}

#[test]
fn names_in_comments_of_commands_read_nothing() {
    expect(&with_step("command: |\n  true # {{nowhere}}"), &[]);
    expect(
        &with_step("command: |\n  echo {{s}} # {{nowhere}} '{{never}}'\n"),
        &["warning undefined-variable 5:12"],
    );
    expect(&with_step("command: |\n  true # {{#if nowhere}}x{{/if}}"), &[]);
    expect(&with_step("command: |\n  echo a#{{nowhere}}"), &["warning undefined-variable 5:14"]);
}

#[test]
fn braces_that_are_not_templates_stay() {
    for command in
        ["docker ps --format '{{.Names}}'", "echo '{{}}'", "awk '{ print $1 }'", "echo ${a} {{\"a\": 1}}"]
    {
        expect(&with_step(&format!("command: |\n  {command}")), &[]);
    }
}

#[test]
fn d2_undefined_names_in_conditions_are_reported() {
    for (condition, column) in [
        ("maybe_given == 'yes'", 16),
        ("github.ref == 'main'", 16),
        ("not totally_unknown", 20),
        ("1 in [nowhere, 2]", 22),
        ("len(nowhere) > 1", 20),
        ("nowhere.strip() == 'a'", 16),
    ] {
        let expected = format!("warning undefined-variable 5:{column}");
        expect(&with_step(&format!("command: x\ncondition: {condition}")), &[&expected]);
        let given = condition.contains("github").then_some("github");
        let given =
            given.unwrap_or(if condition.contains("nowhere") { "nowhere" } else { "totally_unknown" });
        let given = if condition.contains("maybe") { "maybe_given" } else { given };
        let step = with_step(&format!("command: x\ncondition: {condition}"));
        expect_files(&[("r.yaml", &step)], &[given], &[]);
    }
    let declared = with_step("command: x\ncondition: x == none or y == null") + "context: {x: 1, y: ''}\n";
    expect(&declared, &[]);
    let map = with_step("command: x\ncondition: a.c == 1") + "context: {a: {b: 1}}\n";
    expect(&map, &["warning undefined-variable 5:16"]);
    for word in ["none", "None"] {
        let step = with_step(&format!("command: x\ncondition: done == {word}"));
        expect(&(step + "context: {done: 1, one: 2, None2: 3}\n"), &[]);
    }
    expect(
        &(with_step("command: x\ncondition: enviroment == 'a'") + "context: {environment: a}\n"),
        &["warning undefined-variable 5:16"],
    );
    expect(
        "name: r\nsteps:\n  - {id: a, command: x, condition: later}\n  - {id: later, command: x}\n",
        &["warning undefined-variable 3:36"],
    );
}

#[test]
fn d2_a_path_into_plain_text_says_how_to_get_structure() {
    let steps = |first: &str, second: &str| {
        format!("name: r\nsteps:\n  - {{id: a, command: x{first}}}\n  - {{id: b, {second}}}\n")
    };
    let reads = [
        ("command: 'echo {{a.b}}'", "4:28"),
        ("command: 'echo {{a[0]}}'", "4:28"),
        ("prompt: '{{a.b.c}}'", "4:22"),
        ("command: y, condition: a.b == 1", "4:36"),
        ("command: y, condition: 'a[0] == 1'", "4:37"),
    ];
    for (reads, place) in reads {
        expect(&steps("", reads), &[&format!("warning undefined-variable {place}")]);
        expect(&steps(", parse_json: true", reads), &[]);
        expect(&steps(", json_schema: {type: object}", reads), &[]);
        expect_files(&[("r.yaml", &steps("", reads))], &["a"], &[]);
    }
    for reads in
        ["command: 'echo {{a}} {{a.length}}'", "command: y, condition: len(a) > 1 and a.strip() == ''"]
    {
        expect(&steps("", reads), &[]);
    }
    expect(&steps(", for_each: [1]", "command: 'echo {{a[0]}} {{a[0].length}}'"), &[]);
    expect(&steps(", for_each: [1]", "command: 'echo {{a[0].b}}'"), &["warning undefined-variable 4:28"]);
    let checked = check_files(&[("r.yaml", &steps("", "command: 'echo {{a.b}}'"))], &[]);
    let help = checked.diagnostics[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("`parse_json: true` to step `a`"), "{help}");
}

#[test]
fn names_that_look_like_numbers_are_reported() {
    for word in ["1_000", "0x10", "5px", "1_0-3"] {
        let step = with_step(&format!("command: x\ncondition: n > {word}"));
        expect(&(step + "context: {n: 1}\n"), &["warning undefined-variable 5:20"]);
    }
    for (condition, context) in
        [("n > 1000 and n < 0.5", "n: 1"), ("n == 2fa", "n: 1, 2fa: 1"), ("n == '5px'", "n: 1")]
    {
        let step = with_step(&format!("command: x\ncondition: {condition}"));
        expect(&(step + &format!("context: {{{context}}}\n")), &[]);
    }
}

#[test]
fn an_id_never_overwrites_a_declared_name() {
    let yaml = "name: r\ncontext: {build: x}\nsteps:\n  - {id: build, command: x}\n";
    expect(yaml, &["warning id-not-stored 4:10"]);
    assert_eq!(unit(yaml).steps[0].store, None);
    expect(
        "name: r\ninputs: [{name: build}]\nsteps: [{id: build, command: x}]\n",
        &["warning id-not-stored 3:14"],
    );
    let explicit = "name: r\ncontext: {build: x}\nsteps:\n  - {id: build, command: x, output: build}\n";
    expect(explicit, &[]);
    assert_eq!(unit(explicit).steps[0].store.as_deref(), Some("build"));
    assert_eq!(unit(&with_step("command: x\noutput: v")).steps[0].store.as_deref(), Some("v"));
}

#[test]
fn a_step_does_not_set_the_variables_of_the_context() {
    for (env, expected) in [
        ("RECIPE_VAR_v: x", &["error name-collision 5:31"][..]),
        ("RECIPE_VAR_a_b: x", &["error name-collision 5:31"]),
        ("RECIPE_VAR_m__k: x", &["error name-collision 5:31"]),
        ("RECIPE_VAR_made: x", &["error name-collision 5:31"]),
        ("RECIPE_VAR_given: x", &["error name-collision 5:31"]),
        ("V: x, RECIPE_VAR_other: x, RECIPE_VAR_w: x", &[]),
    ] {
        let yaml = format!(
            "name: r\ncontext: {{v: 1, a-b: 2, m: {{k: 1}}}}\nsteps:\n  - {{id: made, command: x}}\n  - {{id: a, command: x, env: {{{env}}}}}\n"
        );
        expect_files(&[("r.yaml", &yaml)], &["given"], expected);
    }
    let child = "name: child\ncontext: {w: 1}\nsteps: [{id: c, command: x, env: {RECIPE_VAR_v: 1}}]\n";
    let yaml = "name: r\ncontext: {v: 1}\nsteps: [{id: s, recipe: child, env: {RECIPE_VAR_w: 1}}]\n";
    expect_files(
        &[("r.yaml", yaml), ("child.yaml", child)],
        &[],
        &["error name-collision 3:38", "error name-collision child.yaml:3:35"],
    );
}

#[test]
fn names_that_become_the_same_variable_are_errors() {
    for (field, expected) in [
        ("context: {a-b: 1, a_b: 2}", "error name-collision 5:19"),
        ("context: {a.b: 1, a__b: 2}", "error name-collision 5:19"),
        ("context: {a: {b: 1}, a__b: 2}", "error name-collision 5:11"),
        ("context: {a: {b-c: 1, b_c: 2}}", "error name-collision 5:11"),
        ("context: {a: {b: {c: 1}}, a__b__c: 2}", "error name-collision 5:11"),
        ("inputs: [{name: a-b}]\ncontext: {a_b: 1}", "error name-collision 5:17"),
        ("context: {abc: 1, ABC: 2}", "warning alias-collision 5:19"),
        ("context: {s_: 1, s-: 2}", "error name-collision 5:18"),
    ] {
        expect(&with_field(field), &[expected]);
    }
    expect(
        "name: r\nsteps:\n  - {id: a, command: x, output: v-1}\n  - {id: b, command: x, output: v_1}\n",
        &["error name-collision 4:10"],
    );
    expect(
        "name: r\ncontext: {ab: 1}\nsteps:\n  - {id: s, command: x, output: AB}\n  - {id: t, command: x, output: ab}\n",
        &["warning alias-collision 4:10"],
    );
    expect(
        "name: r\ncontext: {my_step: 1}\nsteps:\n  - {id: my-step, command: x}\n",
        &["error name-collision 4:10"],
    );
    let yaml = with_field("context: {a_b: 1}");
    expect_files(&[("r.yaml", &yaml)], &["a-b"], &["error name-collision 5:11"]);
}

#[test]
fn names_that_only_look_alike_are_fine() {
    for field in [
        "context: {a_b: 1, ab: 2}",
        "context: {a: {b: 1}, c: {b: 2}}",
        "context: {path: 1, home: 2, bash_env: 3}",
        "context: {a: {b: 1}, a_b: 2}",
    ] {
        expect(&with_field(field), &[]);
    }
}

#[test]
fn strict_turns_warnings_into_errors() {
    let yaml = with_step("command: echo {{nope}}\nx-team: a");
    let checked = check_files(&[("r.yaml", &yaml)], &[]);
    assert!(checked.plan.is_some());
    let strict = checked.strict();
    assert!(strict.plan.is_none());
    assert_eq!(told(&strict), ["error undefined-variable 4:19", "error unknown-field 5:5"]);
    assert!(check_files(&[("r.yaml", &with_step("command: x"))], &[]).strict().plan.is_some());
}
