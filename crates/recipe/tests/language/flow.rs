//! Names between recipes, however far apart, and inside of declared maps.

use crate::shelf::{check_files, expect_files, told};

/// `main` runs `middle`, which runs `deep`: with these steps besides.
fn three(main: &str, middle: &str, deep: &str) -> [(String, String); 3] {
    let text = |name: &str, first: &str, steps: &str| {
        (format!("{name}.yaml"), format!("name: {name}\nsteps:\n{first}{steps}"))
    };
    [
        text("main", "  - {id: m, recipe: middle, context: {given: 1}}\n", main),
        text("middle", "  - {id: n, recipe: deep}\n", middle),
        text("deep", "  - {id: o, command: x $RECIPE_VAR_given, output: made}\n", deep),
    ]
}

fn expect(files: &[(String, String)], expected: &[&str]) {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    expect_files(&files, &[], expected);
}

#[test]
fn names_travel_over_two_levels() {
    let step = |command: &str| format!("  - {{id: last, command: 'x {command}'}}\n");
    let dynamic = "  - {id: any, recipe: '{{given}}'}\n";
    for (files, expected) in [
        // what a recipe far below makes comes back
        (three(&step("{{made}}"), "", ""), vec![]),
        (three(&step("{{maid}}"), "", ""), vec!["warning undefined-variable 4:28"]),
        // what is handed down arrives, and does not come back
        (three("", "", &step("{{given}}")), vec![]),
        (three(&step("{{given}}"), "", ""), vec!["warning undefined-variable 4:28"]),
        // whatever a recipe far below or above may define, only a run will tell
        (three(&step("{{maid}}"), "", dynamic), vec![]),
        (three(dynamic, "", &step("{{maid}}")), vec!["warning undefined-variable 4:24"]),
        (three("", dynamic, &step("{{maid}}")), vec![]),
        (three(&step("{{maid}}"), dynamic, ""), vec![]),
    ] {
        expect(&files, &expected);
    }
}

#[test]
fn a_sub_recipe_sees_names_defined_before_its_call() {
    let step = |id: &str, more: &str| format!("  - {{id: {id}, command: x{more}}}\n");
    let call = |more: &str| format!("  - {{id: call, recipe: child{more}}}\n");
    let group = ", parallel_group: g";
    for (steps, expected) in [
        ([step("a", ""), step("made", ""), call("")], vec![]),
        ([step("made", ""), step("b", ""), call("")], vec![]),
        ([call(""), step("made", ""), step("b", "")], vec!["warning undefined-variable child.yaml:3:25"]),
        (
            [step("a", ""), step("made", group), call(group)],
            vec!["warning undefined-variable child.yaml:3:25"],
        ),
        ([step("made", group), step("b", group), call("")], vec![]),
    ] {
        let main = format!("name: main\nsteps:\n{}", steps.concat());
        let child = "name: child\nsteps:\n  - {id: k, command: 'x {{made}}'}\n";
        expect_files(&[("main.yaml", &main), ("child.yaml", child)], &[], &expected);
    }
}

#[test]
fn members_of_a_map_that_nothing_replaces_must_exist() {
    let deep = "it has `host`, `ports`; use one of these, or declare `user` there";
    let plain = "  - {id: s, command: 'x";
    for (steps, given, expected) in [
        ("{{db.host}} {{db}} {{db.ports.http}} {{db.length}} {{db.host.length}}'}", "", None),
        ("{{db.user}}'}", "", Some(("`db.user`: `db` has no `user`", "renders as empty text", deep))),
        (
            "{{db.hsot}}'}",
            "",
            Some(("`db.hsot`: `db` has no `hsot`", "did you mean `host`?", "did you mean `db.host`?")),
        ),
        (
            "{{db.ports.ftp}}'}",
            "",
            Some((
                "`db.ports.ftp`: `db.ports` has no `ftp`",
                "renders as empty text",
                "it has `http`; use one of these, or declare `ftp` there",
            )),
        ),
        (
            "{{none.user}}'}",
            "",
            Some((
                "`none.user`: `none` has no `user`",
                "renders as empty text",
                "declare `user` under `none`, or pass it with `--set none.user=…`",
            )),
        ),
        // a value may be given for the map, or for what it lacks
        ("{{db.user}}'}", "db", None),
        ("{{db.user}}'}", "db.user", None),
        // what is no map is not looked into
        ("{{list[0]}} {{list.user}} {{text.user}} {{db[0]}}'}", "", None),
        // a step replaces the map, before or after
        ("{{db.user}}'}\n  - {id: t, command: x, output: db}", "", None),
        (
            "', condition: db.user}",
            "",
            Some((
                "`db.user`: `db` has no `user`",
                "has no value",
                "it has `host`, `ports`; use one of these, or declare `user` there",
            )),
        ),
        (
            "', condition: db.hsot}",
            "",
            Some(("`db.hsot`: `db` has no `hsot`", "did you mean `host`?", "did you mean `db.host`?")),
        ),
    ] {
        let yaml = format!(
            "name: r\ncontext: {{db: {{host: a, ports: {{http: 80}}}}, none: {{}}, list: [1], text: t}}\nsteps:\n{plain} {steps}\n"
        );
        let given: Vec<&str> = given.split_whitespace().collect();
        let found: Vec<(String, String, String)> = check_files(&[("r.yaml", &yaml)], &given)
            .diagnostics
            .into_iter()
            .map(|told| (told.message, told.label, told.help.unwrap_or_default()))
            .collect();
        let expected = expected.map(|(message, label, help)| {
            (format!("nothing defines {message}"), label.to_owned(), help.to_owned())
        });
        assert_eq!(found, Vec::from_iter(expected), "{yaml}");
    }
}

#[test]
fn hooks_and_prompts_know_names_of_their_own() {
    let yaml = "name: r\ncontext: {step_id: {a: 1}}\nhooks: {pre_step: 'x {{step_id.b}}'}\nsteps: [{id: s, command: x}]\n";
    expect_files(&[("r.yaml", yaml)], &[], &[]);
    let yaml =
        "name: r\nhooks: {pre_step: 'x {{working_directory}}'}\nsteps: [{id: s, prompt: '{{step_id}}'}]\n";
    let all = told(&check_files(&[("r.yaml", yaml)], &[]));
    assert_eq!(all, ["warning undefined-variable 2:22", "warning undefined-variable 3:26"]);
}

#[test]
fn an_unreadable_recipe_may_define_any_name() {
    for (field, expected) in [
        ("context: [a]", "error wrong-type 3:10"),
        ("extends: [a]", "error wrong-type 3:10"),
        ("inputs: []", "warning undefined-variable 2:27"),
    ] {
        let yaml = format!("name: r\nsteps: [{{id: s, command: '{{{{v}}}}'}}]\n{field}\n");
        expect_files(&[("r.yaml", &yaml)], &[], &[expected]);
    }
}

#[test]
fn files_with_the_same_text_are_distinguished() {
    let broken = "name: same\nsteps: [{id: c, comand: x}]\n";
    let main = "name: main\nsteps: [{id: a, recipe: one}, {id: b, recipe: two}]\n";
    expect_files(
        &[("main.yaml", main), ("one.yaml", broken), ("two.yaml", broken)],
        &[],
        &["error field-typo one.yaml:2:17", "error field-typo two.yaml:2:17"],
    );
}

/// What is told about `used` behind a step `s` that runs `child`.
fn below(step: &str, child: &str, used: &str) -> Vec<String> {
    let main = format!(
        "name: main\ncontext: {{around: 1}}\nsteps:\n  - {{id: s, recipe: child{step}}}\n  - {{id: z, command: 'x {used}'}}\n"
    );
    let child = format!("name: child\n{child}\n");
    let deep = "name: deep\nsteps: [{id: k, command: echo K}]\n";
    let checked = check_files(&[("main.yaml", &main), ("child.yaml", &child), ("deep.yaml", deep)], &[]);
    checked.diagnostics.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn values_from_outside_may_have_any_members() {
    let main = "name: main\nsteps:\n  - {id: s, recipe: child}\n  - {id: z, command: 'x {{s.nope}}'}\n";
    let child = "name: child\nsteps: [{id: x, command: echo some words}]\n";
    for (given, told) in [(&[][..], 1), (&["s"], 0)] {
        let checked = check_files(&[("main.yaml", main), ("child.yaml", child)], given);
        assert_eq!(checked.diagnostics.len(), told, "{given:?}: {:?}", checked.diagnostics);
    }
}

#[test]
fn undefined_names_below_a_recipe_step_are_reported() {
    const PLAIN: &str = "context: {only: 1}\nsteps: [{id: x, command: echo some words}]";
    const DEEPER: &str = "steps: [{id: x, command: echo X}, {id: d, recipe: deep}]";
    const JSON: &str = "steps: [{id: x, command: cat out.json}]";
    let nope = "nothing defines `s.nope`: `s` has no `nope`";
    for (step, child, used, expected) in [
        ("", PLAIN, "{{s}} {{s.x}} {{s.only}} {{s.around}} {{s.length}} {{s.x.length}}", ""),
        ("", PLAIN, "{{s.nope}}", nope),
        ("", PLAIN, "{{s.nope.more}}", nope),
        (", output: o", PLAIN, "{{o.nope}}", "nothing defines `o.nope`: `o` has no `nope`"),
        ("", DEEPER, "{{s.d}} {{s.d.k}} {{s.k}}", ""),
        ("", DEEPER, "{{s.nope}}", nope),
        (", context: {nope: 1}", PLAIN, "{{s.nope}}", ""),
        ("", "output: {template: 'made {{x}}'}\nsteps: [{id: x, command: cat f}]", "{{s.nope}}", nope),
        ("", "context_validation: {nope: nonempty}\nsteps: [{id: x, command: echo X}]", "{{s.nope}}", ""),
        // a name that has a dot
        ("", "steps: [{id: nope.it, command: echo X}]", "{{s.nope.it}}", ""),
        // a value that may be JSON has unknown members
        ("", JSON, "{{s.nope}} {{s[0]}}", ""),
        ("", "output: {template: '{{x}}'}\nsteps: [{id: x, command: echo X}]", "{{s.nope}}", ""),
        ("", "output: {template: '[{{x}}]'}\nsteps: [{id: x, command: echo X}]", "{{s.nope}}", ""),
        ("", "steps: [{id: w, command: cat f}, {id: x, command: echo X}]", "{{s.nope}}", ""),
        ("", "steps: [{id: x, command: 'echo {{around}}'}]", "{{s.nope}}", ""),
        ("", "steps: [{id: x, command: 'echo [1]'}]", "{{s.nope}}", ""),
        ("", "steps: [{id: x, command: echo $X}]", "{{s.nope}}", ""),
        ("", "steps: [{id: x, prompt: say something}]", "{{s.nope}}", ""),
        (", parse_json: true", PLAIN, "{{s.nope}}", ""),
        (
            ", continue_on_error: true",
            "output: {template: 'made {{x}}'}\nsteps: [{id: x, command: cat f}]",
            "{{s.nope}}",
            "",
        ),
        (", recovery_on_failure: true", PLAIN, "{{s.nope}}", ""),
        // only a run will tell
        ("", "steps: [{id: x, recipe: '{{around}}'}]", "{{s.nope}}", ""),
        (", output: around", PLAIN, "{{around.nope}}", ""),
        // a value that comes back is not what the recipe step gives
        ("", PLAIN, "{{x.nope}}", ""),
    ] {
        let expected: Vec<&str> = [expected].into_iter().filter(|text| !text.is_empty()).collect();
        assert_eq!(below(step, child, used), expected, "{step} {child} {used}");
    }
}

#[test]
fn d2_a_condition_that_reads_missing_names_is_reported() {
    let told = |used: &str| {
        let main = format!(
            "name: main\nsteps:\n  - {{id: s, recipe: child}}\n  - {{id: z, command: x, condition: {used}}}\n"
        );
        let child = "name: child\nsteps: [{id: version, command: echo 1}]\n";
        check_files(&[("main.yaml", &main), ("child.yaml", child)], &[]).diagnostics.len()
    };
    assert_eq!((told("s.version"), told("s.other"), told("s.versoin")), (0, 1, 1));
}
