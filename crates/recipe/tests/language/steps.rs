//! Steps: their type, what contradicts it, their ids, their dependencies and their groups.

use crate::shelf::{check_files, expect, expect_files, unit, unit_of, with_step};

const CHILD: (&str, &str) = ("child.yaml", "name: child\nsteps: [{id: c, command: echo}]\n");

#[test]
fn the_type_is_inferred() {
    for (fields, expected) in [
        ("command: x", "bash"),
        ("agent: ns:known\nprompt: p", "agent"),
        ("agent: known", "agent"),
        ("prompt: p", "agent"),
        ("recipe: child", "recipe"),
        ("recipe: child\ncontext: {env: staging}", "recipe"),
        ("command: x\nprompt: p", "bash"),
        ("type: bash\nprompt: p\ncommand: x", "bash"),
        ("type: agent\nprompt: p", "agent"),
        ("type: recipe\nrecipe: child", "recipe"),
    ] {
        let yaml = with_step(fields);
        let unit = unit_of(&[("r.yaml", &yaml), CHILD]);
        assert_eq!(unit.steps[0].kind.word(), expected, "{fields}");
    }
}

#[test]
fn a_step_must_have_something_to_do() {
    for fields in [
        "output: x",
        "command:",
        "command: \"\"",
        "command: '  '",
        "prompt: ~",
        "type: bash",
        "type: agent",
        "type: recipe",
        "condition: '1 == 1'\nname: Title",
    ] {
        expect(&with_step(fields), &["error nothing-to-do 3:9"]);
    }
}

#[test]
fn fields_that_contradict_the_type_are_errors() {
    for (fields, expected) in [
        ("type: bash\nprompt: p", "error contradiction 3:9"),
        ("type: bash\nagent: known", "error contradiction 5:12"),
        ("type: bash\ncommand: x\nagent: known", "error contradiction 6:12"),
        ("type: bash\ncommand: x\nrecipe: child", "error contradiction 6:13"),
        ("type: agent\ncommand: x", "error contradiction 5:14"),
        ("type: agent\nprompt: p\ncommand: x", "error contradiction 6:14"),
        ("type: agent\nprompt: p\nrecipe: child", "error contradiction 6:13"),
        ("type: recipe\ncommand: x", "error contradiction 5:14"),
        ("agent: known\ncommand: x", "error contradiction 5:14"),
        ("recipe: child\ncommand: x", "error contradiction 5:14"),
        ("recipe: child\nprompt: p", "error contradiction 5:13"),
        ("recipe: child\nagent: known", "error contradiction 5:12"),
        ("command: x\nfatal: true\ncontinue_on_error: true", "error contradiction 6:24"),
        ("command: x\nnonfatal: true\nfatal: true", "error contradiction 6:12"),
        ("command: x\nparse_json: false\nparse_json_required: true", "error contradiction 6:26"),
    ] {
        let yaml = with_step(fields);
        let checked = check_files(&[("r.yaml", &yaml), CHILD], &[]);
        let all = crate::shelf::told(&checked);
        assert!(all.contains(&expected.to_owned()), "{fields}: {all:?}");
        assert!(checked.plan.is_none());
    }
}

#[test]
fn a_contradictory_step_gets_no_other_report() {
    for (fields, expected) in [
        ("type: bash\ncommand: ' '\nprompt: p", vec!["error contradiction 3:9"]),
        ("type: agent\ncommand: x", vec!["error contradiction 3:9", "error contradiction 5:14"]),
        ("type: recipe\ncommand: x", vec!["error contradiction 3:9", "error contradiction 5:14"]),
        ("type: bash\ncommand: x\nagent: known\nmodel: m", vec!["error contradiction 6:12"]),
        ("type: bash\ncommand: x\nrecipe: child\nmodel: m", vec!["error contradiction 6:13"]),
    ] {
        expect_files(&[("r.yaml", &with_step(fields)), CHILD], &[], &expected);
    }
}

#[test]
fn fields_of_another_type_have_no_effect() {
    for (fields, expected) in [
        ("command: x\nprompt: p", "warning no-effect 5:13"),
        ("command: x\nmodel: haiku", "warning no-effect 5:12"),
        ("command: x\nagent_binary: codex", "warning no-effect 5:19"),
        ("command: x\ncontext: {a: 1}", "warning no-effect 5:14"),
        ("command: x\nrecovery_on_failure: true", "warning no-effect 5:26"),
        ("prompt: p\nsub_context: {a: 1}", "warning no-effect 5:18"),
        ("recipe: child\nexit_codes: {3: ok}", "warning no-effect 5:17"),
        ("recipe: child\nmax_env_value_bytes: 9", "warning no-effect 5:26"),
    ] {
        expect_files(&[("r.yaml", &with_step(fields)), CHILD], &[], &[expected]);
    }
}

#[test]
fn tolerance_has_three_spellings() {
    for (fields, expected) in [
        ("continue_on_error: true", true),
        ("continue_on_error: false", false),
        ("fatal: false", true),
        ("fatal: true", false),
        ("nonfatal: true", true),
        ("nonfatal: false", false),
        ("name: x", false),
    ] {
        let unit = unit(&with_step(&format!("command: x\n{fields}")));
        assert_eq!(unit.steps[0].continue_on_error, expected, "{fields}");
    }
}

#[test]
fn json_is_wanted_or_required() {
    use recipe::plan::JsonMode::{Required, Text, Wanted};
    for (fields, expected) in [
        ("name: x", Text),
        ("parse_json: false", Text),
        ("parse_json: true", Wanted),
        ("parse_json: true\nparse_json_required: false", Wanted),
        ("parse_json: true\nparse_json_required: true", Required),
        ("parse_json_required: true", Required),
        ("json_schema: {type: object}", Wanted),
    ] {
        assert_eq!(unit(&with_step(&format!("command: x\n{fields}"))).steps[0].json, expected, "{fields}");
    }
}

#[test]
fn empty_texts_count_as_absent_where_nothing_is_required() {
    let unit = unit(&with_step("command: x\noutput: ''\nparallel_group: ''"));
    assert_eq!((unit.steps[0].store.as_deref(), unit.steps[0].group.as_ref()), (Some("s"), None));
    expect(&with_step("prompt: x\nagent: ''"), &[]);
}

#[test]
fn ids_are_unique_names() {
    for (steps, expected) in [
        ("  - {id: a, command: x}\n  - {id: a, command: x}\n", vec!["error duplicate-id 4:10"]),
        (
            "  - {id: a, command: x}\n  - {id: a, command: x}\n  - {id: a, command: x}\n",
            vec!["error duplicate-id 4:10", "error duplicate-id 5:10"],
        ),
        ("  - {id: 1, command: x}\n  - {id: \"1\", command: x}\n", vec!["error duplicate-id 4:10"]),
        ("  - {id: a/b, command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: .., command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: a b, command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: a!, command: x, output: o}\n", vec!["error bad-id 3:10"]),
        ("  - {id: 'a:b', command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: 'a[0]', command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: -a, command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: \"a\\tb\", command: x}\n", vec!["error bad-id 3:10"]),
        ("  - {id: step-01.a_b, command: x}\n", vec![]),
        (&format!("  - {{id: {}, command: x}}\n", "i".repeat(200)), vec![]),
        (&format!("  - {{id: {}, command: x}}\n", "i".repeat(201)), vec!["error bad-id 3:10"]),
        ("  - {id: A, command: x}\n  - {id: a, command: x}\n", vec!["warning alias-collision 4:10"]),
    ] {
        expect(&format!("name: r\nsteps:\n{steps}"), &expected);
    }
}

#[test]
fn dependencies_exist_and_come_earlier() {
    for (steps, expected) in [
        ("  - {id: a, command: x}\n  - {id: b, command: x, depends_on: [a]}\n", vec![]),
        (
            "  - {id: a, command: x}\n  - {id: b, command: x, depends_on: [c]}\n",
            vec!["error unknown-step 4:38"],
        ),
        (
            "  - {id: a, command: x, depends_on: [b]}\n  - {id: b, command: x}\n",
            vec!["error later-step 3:38"],
        ),
        ("  - {id: a, command: x, depends_on: [a]}\n", vec!["error later-step 3:38"]),
        (
            "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: x, parallel_group: g, depends_on: [a]}\n",
            vec!["error group-dependency 4:57"],
        ),
        (
            "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: x, parallel_group: h, depends_on: [a]}\n",
            vec![],
        ),
        ("  - {id: a, command: x, depends_on: a}\n", vec!["error wrong-type 3:37"]),
        (
            "  - {id: a, command: x, depends_on: [x, y]}\n",
            vec!["error unknown-step 3:38", "error unknown-step 3:41"],
        ),
    ] {
        expect(&format!("name: r\nsteps:\n{steps}"), &expected);
    }
}

#[test]
fn a_group_name_that_comes_again_is_a_new_group() {
    let steps = "  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: x}\n  - {id: c, command: x, parallel_group: g}\n";
    let yaml = format!("name: r\nsteps:\n{steps}");
    expect(&yaml, &["warning group-reopened 5:41"]);
    let unit = unit(&yaml);
    assert_ne!(unit.steps[0].group, unit.steps[2].group);
}

#[test]
fn conditions_are_read_before_anything_runs() {
    for (condition, expected) in [
        ("a is None", "error condition-syntax 5:18"),
        ("status == 'ok' AND b", "error condition-syntax 5:31"),
        ("a ==", "error condition-syntax 5:20"),
        ("a-1 > 3", "error condition-syntax 5:16"),
        ("a-b > 3", "error condition-syntax 5:16"),
        ("lenn(a)", "error unknown-function 5:16"),
        ("a.trim()", "error unknown-method 5:18"),
        ("min(1)", "error wrong-arguments 5:16"),
        ("a.__class__", "error forbidden-name 5:18"),
        ("", "error condition-syntax 5:16"),
    ] {
        let yaml = with_step(&format!("command: x\ncondition: \"{condition}\""));
        let all = crate::shelf::told(&check_files(&[("r.yaml", &yaml)], &["a", "b", "status"]));
        let code = expected.rsplit_once(' ').map_or("", |(code, _)| code);
        assert!(all.len() == 1 && all[0].starts_with(code), "{condition}: {all:?}");
        assert!(all[0].contains(" 5:"), "{condition}: {all:?}");
    }
}

#[test]
fn d2_names_with_hyphens_are_names() {
    for condition in ["a-result == 'ok'", "not skip-it", "step-1 == 'x'"] {
        let yaml = with_step(&format!("command: x\ncondition: \"{condition}\""));
        let all = crate::shelf::told(&check_files(&[("r.yaml", &yaml)], &["a", "b"]));
        assert!(
            all.len() == 1 && all[0].starts_with("warning undefined-variable 5:"),
            "{condition}: {all:?}"
        );
        expect_files(&[("r.yaml", &yaml)], &["a-result", "skip-it", "step-1"], &[]);
    }
}

#[test]
fn agents_that_lead_nowhere_only_warn() {
    for agent in ["ns:core:unknown", "../../etc/passwd", "a:..:b", "a::b"] {
        expect(&with_step(&format!("agent: {agent}\nprompt: x")), &["warning unresolved-agent 4:12"]);
    }
}

#[test]
fn names_that_were_nearly_right_are_suggested() {
    for (yaml, expected) in [
        (with_step("comand: x"), "`command`"),
        (
            with_step("command: x\ndepends_on: [t]")
                .replace("[t]", "[stepp]")
                .replace("id: s\n", "id: step0\n"),
            "step0",
        ),
        (with_step("command: echo {{projct}}") + "context: {project: a}\n", "`project`"),
        (with_step("command: x\ncondition: lenn(s)"), "`len`"),
        (with_step("command: x\ncondition: s.lowr() == 'a'"), "`.lower()`"),
        (with_step("recipe: chidl"), "`child`"),
        (with_step("type: bsh\ncommand: x"), "`bash`"),
    ] {
        let checked = check_files(&[("r.yaml", &yaml), CHILD], &[]);
        let words: String =
            checked.diagnostics.iter().map(|d| format!("{} {} {:?}", d.message, d.label, d.help)).collect();
        assert!(words.contains(expected), "{yaml}\n{words}");
    }
}

#[test]
fn every_message_has_a_place_and_no_shouting() {
    expect_files(&[("r.yaml", &with_step("recipe: child")), CHILD], &[], &[]);
    let checked = check_files(&[("r.yaml", "name: ''\nsteps: [{id: a/b}, {comand: x}]\nfoo: 1\n")], &[]);
    for diagnostic in &checked.diagnostics {
        assert!(diagnostic.place.is_some());
        assert!(!diagnostic.message.starts_with(char::is_uppercase), "{}", diagnostic.message);
        assert!(!diagnostic.message.ends_with('.'), "{}", diagnostic.message);
    }
}

#[test]
fn d15_permissions_without_a_level_are_not_full_permissions() {
    for written in ["{}", "{required: false}", "{level: }"] {
        expect(&with_step(&format!("prompt: x\npermissions: {written}")), &["error missing-field 5:18"]);
    }
    expect(&with_step("prompt: x\npermissions: {level: nope}"), &["error unknown-word 5:26"]);
    expect("name: r\npermissions: {}\nsteps: [{id: a, prompt: x}]\n", &["error missing-field 2:14"]);
    expect(&with_step("prompt: x\nagent_binary: []"), &["error empty-field 5:19"]);
}

#[test]
fn d7_a_mode_that_looks_like_a_permission_is_an_error() {
    for mode in ["plan", "Plan", "PLAN", "read-only", "readonly", "ReadOnly", "read_only", "READ-ONLY"] {
        expect(&with_step(&format!("prompt: x\nmode: {mode}")), &["error unknown-word 5:11"]);
        let recipe = format!("name: r\nmode: {mode}\nsteps: [{{id: a, prompt: x}}]\n");
        expect(&recipe, &["error unknown-word 2:7"]);
    }
    for mode in ["auto", "planning", "interactive"] {
        expect(&with_step(&format!("prompt: x\nmode: {mode}")), &[]);
        let recipe = format!("name: r\nmode: {mode}\nsteps: [{{id: a, prompt: x}}]\n");
        expect(&recipe, &["warning unknown-field 2:1"]);
    }
}
