//! Every field that recipes and steps have, every way to misspell one, and what values they take.

use recipe::{
    plan::{JsonMode, StepKind},
    syntax::{self, shape::Field},
};

use crate::shelf::{check_files, expect, expect_files, told, unit, with_field, with_step};

#[test]
fn every_recipe_field_is_accepted() {
    for field in [
        "version: \"1.0\"",
        "version: 1.0",
        "description: what for",
        "description: ",
        "author: dev-team",
        "tags: [ci, build]",
        "tags: []",
        "context: {}",
        "context: {mode: release, n: 1, list: [1], map: {a: 1}, nothing: ~}",
        "recursion: {max_depth: 3, max_total_steps: 50}",
        "recursion: {}",
        "hooks: {pre_step: echo a, post_step: echo b, on_error: echo c}",
        "hooks: {pre_step: \"echo {{step_id}} {{step_type}} {{recipe_name}} {{run_id}}\"}",
        "hooks: {on_error: \"echo {{step_status}} {{step_error}}\"}",
        "context_validation: {a: nonempty, b: path, c: git_repo, d: optional}",
        "inputs: [{name: a}]",
        "inputs: [{name: a, description: b, required: true, default: 1, type: text}]",
        "output: {format: json, template: \"{{s}}\"}",
        "output: {format: html, template: \"{{s}}\"}",
        "output: {format: text}",
        "output: {template: done}",
        "default_step_timeout: 30",
        "context: {pw: x}\nsecrets: [pw]",
        "env: {required: [API_KEY, _B2], files: [.env.local]}",
        "budget: {usd: 1.5, tokens: 1000, agent_runs: 3, minutes: 10}",
    ] {
        expect(&with_field(field), &[]);
    }
}

#[test]
fn every_step_field_is_accepted() {
    for fields in [
        "command: echo",
        "type: bash\ncommand: echo",
        "command: echo\nname: Title\ndescription: what for",
        "command: echo\noutput: result",
        "command: echo\noutput: my-result.part",
        "command: echo\ncondition: \"1 == 1\"",
        "command: echo\nparse_json: true\nparse_json_required: true",
        "command: echo\njson_schema: {type: object}",
        "command: echo\nmode: fast",
        "command: echo\nworking_dir: sub/dir",
        "command: echo\ntimeout: 120",
        "command: echo\ntimeout: 0.5",
        "command: echo\ncontinue_on_error: true",
        "command: echo\nfatal: false",
        "command: echo\nnonfatal: true",
        "command: echo\nfatal: false\nnonfatal: true\ncontinue_on_error: true",
        "command: echo\nwhen_tags: [deploy, fast]",
        "command: echo\nparallel_group: checks",
        "command: echo\nretry: 3",
        "command: echo\nretry: {max_attempts: 3, delay: 1, backoff: fixed, max_delay: 9, on: [exit, timeout]}",
        "command: echo\nretry: {backoff: exponential, on: [rate_limit, json]}",
        "command: echo\nretry: {}",
        "command: echo\nretry: {delay: 0, max_delay: 0}",
        "command: echo\ntimeout: 1e12\nmax_env_value_bytes: 1e15",
        "command: echo\ndepends_on: []",
        "command: echo\nenv: {A_1: x, _b: 1, C: ~}",
        "command: echo\nmax_env_value_bytes: 4096",
        "command: echo\nidempotent: false\neffects: [push]",
        "command: echo\nreads: [in/*.txt]\nproduces: [out/**]",
        "command: echo\nexit_codes: {0: ok, 3: needs_human, 255: failed}",
        "type: bash\nprompt: ignored\ncommand: echo",
        "agent: ns:core:known\nprompt: Review",
        "prompt: Summarise",
        "type: agent\nprompt: Summarise",
        "prompt: x\nmodel: haiku\nauto_stage: false\nagent_binary: codex",
        "prompt: x\npermissions: read-only\nagent_args: [--a, b]\nagent_binary: [codex, claude]",
        "prompt: x\npermissions: {level: edit, required: false}",
        "prompt: x\nidle_timeout: 60\njson_retries: 2\nparse_json: true\nmode: auto",
        "prompt: \"in {{working_directory}}, {{NONINTERACTIVE}}\"",
    ] {
        expect(&with_step(fields), &[]);
    }
}

#[test]
fn every_field_of_a_recipe_step_is_accepted() {
    for fields in [
        "recipe: child",
        "type: recipe\nrecipe: child",
        "recipe: child\ncontext: {a: 1, b: \"{{s2}}\"}",
        "recipe: child\nsub_context: {a: 1}\nrecovery_on_failure: true",
    ] {
        let yaml = with_step(fields).replace("{{s2}}", "x");
        let child = "name: child\ncontext: {a: 0, b: 0}\nsteps: [{id: c, command: echo}]\n";
        expect_files(&[("r.yaml", &yaml), ("child.yaml", child)], &[], &[]);
    }
}

#[test]
fn defaults_are_those_of_the_reference() {
    let unit = unit(&with_step("command: echo"));
    assert_eq!((unit.version.as_str(), unit.description.as_str(), unit.author.as_str()), ("1.0", "", ""));
    assert!(unit.tags.is_empty() && unit.context.is_empty() && unit.inputs.is_empty());
    assert_eq!((unit.limits.max_depth, unit.limits.max_total_steps), (None, None));
    let step = &unit.steps[0];
    assert_eq!((step.store.as_deref(), step.json), (Some("s"), JsonMode::Text));
    assert!(!step.continue_on_error && step.tags.is_empty() && step.idempotent && step.retry.is_none());
    assert!(step.timeout.is_none() && step.condition.is_none() && step.working_dir.is_none());
}

#[test]
fn agents_stage_by_default() {
    for (fields, expected) in [("prompt: x", true), ("prompt: x\nauto_stage: false", false)] {
        let unit = unit(&with_step(fields));
        let StepKind::Agent(agent) = &unit.steps[0].kind else { panic!("an agent step") };
        assert_eq!((agent.auto_stage, agent.json_retries), (expected, 1));
    }
}

#[test]
fn the_default_timeout_is_for_steps_without_their_own() {
    let unit = unit(
        "name: r\ndefault_step_timeout: 30\nsteps: [{id: a, command: x}, {id: b, command: x, timeout: 5}]\n",
    );
    assert_eq!((unit.steps[0].timeout, unit.steps[1].timeout), (Some(30.0), Some(5.0)));
}

#[test]
fn a_misspelt_field_is_an_error_everywhere() {
    let reference = syntax::reference();
    for (shape, prefix) in [
        ("recipe", ""),
        ("step", "    "),
        ("`recursion` map", "recursion:\n  "),
        ("`hooks` map", "hooks:\n  "),
        ("`inputs` entry", "inputs:\n  - "),
        ("`output` map", "output:\n  "),
        ("`env` map", "env:\n  "),
        ("`budget` map", "budget:\n  "),
        ("`retry` map", "    retry:\n      "),
    ] {
        assert!(reference.iter().any(|(name, _)| *name == shape), "{shape}");
        let fields = reference.iter().filter(|(name, _)| *name == shape).flat_map(|(_, fields)| *fields);
        let is_absent = |name: &str| !with_field("").contains(&format!("{name}:"));
        for Field { name, .. } in fields.filter(|field| field.name.len() >= 4 && is_absent(field.name)) {
            let slip = format!("{}{}", &name[..1], &name[2..]);
            let yaml = with_field(&format!("{prefix}{slip}: 1"));
            let column = prefix.lines().last().map_or(0, str::len) + 1;
            let place = format!("error field-typo {}:{column}", 5 + prefix.matches('\n').count());
            let all = told(&check_files(&[("r.yaml", &yaml)], &[]));
            assert!(all.contains(&place), "{yaml}\n{place} {all:?}");
        }
    }
}

#[test]
fn a_field_beside_a_similar_one_is_not_a_typo() {
    for (yaml, expected) in [
        ("name: r\nsteps:\n  - {id: s, command: x, comment: why}\n", "warning unknown-field 3:25"),
        ("name: r\nsteps:\n  - {id: s, comment: why, command: x}\n", "warning unknown-field 3:13"),
        ("name: r\nsteps:\n  - {id: s, command: x, output: o, outputs: [o]}\n", "warning unknown-field 3:36"),
        ("name: r\nnames: [s]\nsteps: [{id: s, command: x}]\n", "warning unknown-field 2:1"),
        ("name: r\nauthor: me\nauthors: [me]\nsteps: [{id: s, command: x}]\n", "warning unknown-field 3:1"),
        (
            "name: r\nhooks: {pre_step: x, pre_steps: x}\nsteps: [{id: s, command: x}]\n",
            "warning unknown-field 2:22",
        ),
        // a typo of one letter still counts
        ("name: r\nsteps:\n  - {id: s, command: x, comand: y}\n", "error field-typo 3:25"),
        ("name: r\nsteps:\n  - {id: s, command: x, timeout: 5, timout: 6}\n", "error field-typo 3:37"),
        ("name: r\nsteps:\n  - {id: s, command: x, Command: y}\n", "error field-typo 3:25"),
        // without it, or with nothing in it, the slip stays one
        ("name: r\nsteps:\n  - {id: s, comand: x, command: null}\n", "error field-typo 3:13"),
        ("name: r\nauthors: me\nsteps: [{id: s, command: x}]\n", "error field-typo 2:1"),
    ] {
        assert_eq!(told(&check_files(&[("r.yaml", yaml)], &[])), [expected], "{yaml}");
    }
}

#[test]
fn one_slip_gives_one_message() {
    for (yaml, expected) in [
        ("naem: r\nsteps: [{id: s, command: x}]\n", "error field-typo 1:1"),
        ("name: r\nstep:\n  - id: s\n    command: x\n", "error field-typo 2:1"),
        ("name: r\nsteps:\n  - id: s\n    comand: x\n", "error field-typo 4:5"),
        ("name: r\nsteps:\n  - id: s\n    Command: x\n", "error field-typo 4:5"),
        ("name: r\ncontex: {a: 1}\nsteps:\n  - id: s\n    command: echo {{a}}\n", "error field-typo 2:1"),
        (
            "name: r\nsteps:\n  - {id: a, command: x, ouput: v}\n  - {id: b, command: \"{{v}}\"}\n",
            "error field-typo 3:25",
        ),
        ("name: [r]\nsteps: [{id: s, command: x}]\n", "error wrong-type 1:7"),
        ("name: r\nsteps: none\n", "error wrong-type 2:8"),
        ("name: r\nsteps: [none]\n", "error wrong-type 2:9"),
        ("name: r\nsteps:\n  - id: s\n    command: [a, b]\n", "error wrong-type 4:14"),
        ("name: r\nsteps:\n  - id: {a: 1}\n    command: x\n", "error wrong-type 3:9"),
        ("name: r\nsteps:\n  - id: s\n    type: shell\n    command: x\n", "error unknown-word 4:11"),
    ] {
        expect(yaml, &[expected]);
    }
}

#[test]
fn other_spellings_of_long_names_are_slips_too() {
    for field in
        ["continue-on-error", "continueOnError", "ContinueOnError", "max-env-value-bytes", "maxEnvValueBytes"]
    {
        expect(&with_step(&format!("command: x\n{field}: 1")), &["error field-typo 5:5"]);
    }
}

#[test]
fn foreign_fields_only_warn() {
    for field in ["x-team: ops", "owner: me", "priority: 1", "labels: [a]", "skill: x", "parameters: {a: 1}"]
    {
        expect(&with_field(field), &["warning unknown-field 5:1"]);
        expect(&with_step(&format!("command: x\n{field}")), &["warning unknown-field 5:5"]);
    }
    expect(&with_field("hooks: {around: echo}"), &["warning unknown-field 5:9"]);
    expect(&with_field("recursion: {colour: 1}"), &["warning unknown-field 5:13"]);
}

#[test]
fn required_fields_must_be_there_and_say_something() {
    for (yaml, expected) in [
        ("steps: [{id: s, command: x}]\n", "error missing-field 1:1"),
        ("name:\nsteps: [{id: s, command: x}]\n", "error missing-field 1:1"),
        ("name: \"\"\nsteps: [{id: s, command: x}]\n", "error empty-field 1:7"),
        ("name: '  '\nsteps: [{id: s, command: x}]\n", "error empty-field 1:7"),
        ("name: r\n", "error no-steps 1:1"),
        ("name: r\nsteps: []\n", "error no-steps 2:8"),
        ("name: r\nsteps:\n", "error no-steps 2:1"),
        ("name: r\nsteps: ~\nauthor: me\n", "error no-steps 2:1"),
        ("version: 1\nname:\nsteps: [{id: s, command: x}]\n", "error missing-field 2:1"),
        ("name: r\nsteps:\n  - command: x\n    id:\n", "error missing-field 4:5"),
        ("name: r\nsteps:\n  - command: x\n", "error missing-field 3:5"),
        ("name: r\nsteps:\n  - id: \"\"\n    command: x\n", "error empty-field 3:9"),
        ("name: r\nsteps:\n  - id: s\n    command: x\n  -\n", "error wrong-type 5:4"),
    ] {
        expect(yaml, &[expected]);
    }
}

#[test]
fn numbers_have_their_ranges() {
    for (fields, expected) in [
        ("command: x\ntimeout: 0", "error out-of-range 5:14"),
        ("command: x\ntimeout: -1", "error out-of-range 5:14"),
        ("command: x\ntimeout: .inf", "error wrong-type 5:14"),
        ("command: x\ntimeout: soon", "error wrong-type 5:14"),
        ("command: x\ntimeout: \"60\"", "error wrong-type 5:14"),
        ("command: x\nretry: 0", "error out-of-range 5:12"),
        ("command: x\nretry: -1", "error out-of-range 5:12"),
        ("command: x\nretry: 1.5", "error out-of-range 5:12"),
        ("command: x\nretry: yes", "error wrong-type 5:12"),
        ("command: x\nretry: [1]", "error wrong-type 5:12"),
        ("command: x\nretry: {max_attempts: 0}", "error out-of-range 5:27"),
        ("command: x\nretry: {delay: -1}", "error out-of-range 5:20"),
        ("command: x\nretry: {backoff: linear}", "error unknown-word 5:22"),
        ("command: x\nretry: {on: [exit, signal]}", "error unknown-word 5:24"),
        ("command: x\nretry: {on: exit}", "error wrong-type 5:17"),
        ("command: x\nexit_codes: {256: ok}", "error out-of-range 5:18"),
        ("command: x\nexit_codes: {many: ok}", "error out-of-range 5:18"),
        ("command: x\nexit_codes: {3: human}", "error unknown-word 5:21"),
        ("command: x\nmax_env_value_bytes: -1", "error out-of-range 5:26"),
        ("command: x\nparse_json: yes", "error wrong-type 5:17"),
        ("command: x\nparse_json: \"true\"", "error wrong-type 5:17"),
        ("command: x\ncontinue_on_error: 1", "error wrong-type 5:24"),
        ("command: x\nwhen_tags: deploy", "error wrong-type 5:16"),
        ("command: x\nenv: [A]", "error wrong-type 5:10"),
        ("command: x\nenv: {A: [1]}", "error wrong-type 5:14"),
        ("command: x\nenv: {1A: x}", "error bad-name 5:11"),
        ("command: x\nenv: {A-B: x}", "error bad-name 5:11"),
        ("command: x\noutput: my result", "error bad-name 5:13"),
        ("command: x\noutput: list[0]", "error bad-name 5:13"),
        ("command: x\noutput: -a", "warning bad-name 5:13"),
        ("command: x\nproduces: ['[a']", "error bad-pattern 5:16"),
        ("command: x\nproduces: ['a]/[b/c']", "error bad-pattern 5:16"),
        ("command: x\nreads: [ok, 'a/***']", "error bad-pattern 5:17"),
        ("command: x\nreads: ['']", "error bad-pattern 5:13"),
        ("command: x\noutput: \"{{x}}\"", "error bad-name 5:13"),
        ("prompt: x\nidle_timeout: 0", "error out-of-range 5:19"),
    ] {
        expect(&with_step(fields), &[expected]);
    }
}

#[test]
fn recipe_fields_take_their_types() {
    for (field, expected) in [
        ("context: [a]", "error wrong-type 5:10"),
        ("tags: ci", "error wrong-type 5:7"),
        ("tags: [a, ~]", "error wrong-type 5:11"),
        ("recursion: 3", "error wrong-type 5:12"),
        ("recursion: {max_depth: deep}", "error wrong-type 5:24"),
        ("recursion: {max_total_steps: -1}", "error out-of-range 5:30"),
        ("hooks: {pre_step: [a]}", "error wrong-type 5:19"),
        ("context_validation: {a: required}", "error unknown-word 5:25"),
        ("context_validation: [a]", "error wrong-type 5:21"),
        ("inputs: [{description: x}]", "error missing-field 5:10"),
        ("inputs: [{name: \"\"}]", "error empty-field 5:17"),
        ("inputs: [{name: a}, {name: a}]", "error duplicate-name 5:28"),
        ("inputs: [{name: a, required: maybe}]", "error wrong-type 5:30"),
        ("inputs: {a: b}", "error wrong-type 5:9"),
        ("inputs: [a]", "error wrong-type 5:10"),
        ("output: done", "error wrong-type 5:9"),
        ("output: {format: [text]}", "error wrong-type 5:18"),
        ("output: {template: \"{{#if a}}\"}", "error template-syntax 5:21"),
        ("default_step_timeout: 0", "error out-of-range 5:23"),
        ("default_step_timeout: long", "error wrong-type 5:23"),
        ("secrets: pw", "error wrong-type 5:10"),
        ("secrets: [pw]", "warning undefined-variable 5:11"),
        ("env: {required: [A B]}", "error bad-name 5:18"),
        ("env: {required: A}", "error wrong-type 5:17"),
        ("budget: {usd: -1}", "error out-of-range 5:15"),
        ("budget: {tokens: many}", "error wrong-type 5:18"),
        ("context: {two words: 1}", "warning bad-name 5:11"),
        ("context: {-a: 1}", "warning bad-name 5:11"),
        ("inputs: [{name: -a}]", "warning bad-name 5:17"),
        ("context: {\"a[0]\": 1}", "warning bad-name 5:11"),
    ] {
        expect(&with_field(field), &[expected]);
    }
}

#[test]
fn file_patterns_are_taken_as_they_are_written() {
    for pattern in ["a.txt", "out/*.txt", "**/*.txt", "a?c", "pages/[id].tsx", "a]b", "a b/{c,d}"] {
        expect(&with_step(&format!("command: x\nreads: ['{pattern}']\nproduces: ['{pattern}']")), &[]);
    }
}
