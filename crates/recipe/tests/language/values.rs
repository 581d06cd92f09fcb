//! YAML as recipes see it: spelling is kept, `<<` merges, duplicates are errors.

use recipe::plan::StepKind;

use crate::shelf::{expect, unit, with_field, with_step};

#[test]
fn scalars_keep_their_spelling_where_text_is_wanted() {
    for (written, expected) in [
        ("1.0", "1.0"),
        ("3.10", "3.10"),
        ("1e3", "1e3"),
        ("4517e12", "4517e12"),
        ("0x1F", "0x1F"),
        ("007", "007"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", "true"),
        ("2024-01-01", "2024-01-01"),
        ("1234567890123456789012345", "1234567890123456789012345"),
        ("\"1.0\"", "1.0"),
        ("'it''s'", "it's"),
    ] {
        let unit = unit(&with_field(&format!("version: {written}\nauthor: {written}\ntags: [{written}]")));
        let texts = [unit.version.as_str(), unit.author.as_str(), unit.tags[0].as_str()];
        assert_eq!(texts, [expected; 3], "{written}");
    }
}

#[test]
fn context_values_render_as_they_were_written() {
    for (written, expected) in [
        ("3.10", "3.10"),
        ("1.0", "1.0"),
        ("4517e12", "4517e12"),
        ("yes", "yes"),
        ("off", "off"),
        ("true", "true"),
        ("~", ""),
        ("", ""),
        ("1234567890123456789012345", "1234567890123456789012345"),
        ("[1, two]", "[1,\"two\"]"),
        ("\"a\\nb\"", "a\nb"),
    ] {
        let unit = unit(&with_field(&format!("context:\n  py: {written}")));
        assert_eq!(unit.context["py"].render(), expected, "{written}");
    }
}

#[test]
fn ids_and_commands_may_look_like_numbers() {
    let unit = unit("name: 1\nsteps:\n  - id: 01\n    command: true\n");
    assert_eq!((unit.name.as_str(), unit.steps[0].id.as_str()), ("1", "01"));
    let StepKind::Shell { command } = &unit.steps[0].kind else { panic!("a bash step") };
    assert_eq!(command.text(), "true");
}

#[test]
fn null_is_not_text() {
    let unit = unit(&with_step("command: x\nenv: {A: ~, B: null, C: \"null\", D: }\ndescription: ~"));
    let env: Vec<_> = unit.steps[0].env.iter().map(|(name, value)| (name.as_str(), value.text())).collect();
    assert_eq!(env, [("A", ""), ("B", ""), ("C", "null"), ("D", "")]);
    assert_eq!(unit.steps[0].description, None);
}

#[test]
fn duplicate_keys_are_errors_anywhere() {
    for (yaml, expected) in [
        ("name: r\nname: r\nsteps: [{id: s, command: x}]\n", "error duplicate-key 2:1"),
        ("name: r\nsteps: [{id: s, command: x, command: y}]\n", "error duplicate-key 2:29"),
        (
            "name: r\ncontext:\n  a: 1\n  b: 2\n  a: 3\nsteps: [{id: s, command: x}]\n",
            "error duplicate-key 5:3",
        ),
        ("name: r\ncontext: {m: {k: 1, k: 2}}\nsteps: [{id: s, command: x}]\n", "error duplicate-key 2:21"),
        ("name: r\nx-foreign: [{k: 1, k: 2}]\nsteps: [{id: s, command: x}]\n", "error duplicate-key 2:20"),
        ("name: r\ncontext: {a: 1, \"a\": 2}\nsteps: [{id: s, command: x}]\n", "error duplicate-key 2:17"),
        ("name: r\nsteps: [{id: s, command: x, env: {A: 1, A: 2}}]\n", "error duplicate-key 2:41"),
        (
            "name: r\nhooks: {pre_step: a, pre_step: b}\nsteps: [{id: s, command: x}]\n",
            "error duplicate-key 2:22",
        ),
    ] {
        let all: Vec<String> = crate::shelf::told(&crate::shelf::check_files(&[("r.yaml", yaml)], &[]))
            .into_iter()
            .filter(|told| !told.starts_with("warning unknown-field"))
            .collect();
        assert_eq!(all, [expected], "{yaml}");
    }
}

#[test]
fn an_unknown_tag_is_an_error() {
    let step = |field: &str| {
        format!("name: r\ncontext: {{skip: true}}\nsteps:\n  - id: s\n    command: x\n    {field}\n")
    };
    for (yaml, expected) in [
        (step("condition: !skip"), "error yaml-syntax 6:16"),
        (step("condition: ! skip"), "error yaml-syntax 6:16"),
        (step("condition: !(skip)"), "error yaml-syntax 6:16"),
        (step("condition: !!skip"), "error yaml-syntax 6:16"),
        (step("working_dir: !here ."), "error yaml-syntax 6:18"),
        (step("env: !x {A: b}"), "error yaml-syntax 6:10"),
        (step("reads: !x [a]"), "error yaml-syntax 6:12"),
        (
            "name: r\nsteps:\n  - id: s\n    command: ! grep -q ERROR log\n".to_owned(),
            "error yaml-syntax 4:14",
        ),
    ] {
        let checked = crate::shelf::check_files(&[("r.yaml", &yaml)], &[]);
        let told = crate::shelf::told(&checked);
        assert_eq!(told.first().map(String::as_str), Some(expected), "{yaml}");
        // all that is lost is marked
        let span = checked.diagnostics[0].place.unwrap().span;
        let marked = &yaml[span.start as usize..span.end as usize];
        assert!(marked.starts_with('!') && yaml.contains(&format!("{marked}\n")), "{marked}");
    }
    for field in [
        "condition: \"!skip\"",
        "working_dir: !!str .",
        "reads: !!seq [a]",
        "env: !!map {A: !!str 1}",
        "timeout: !!int 5",
    ] {
        let told = crate::shelf::told(&crate::shelf::check_files(&[("r.yaml", &step(field))], &[]));
        assert_eq!(told, Vec::<String>::new(), "{field}");
    }
}

#[test]
fn merge_keys_merge() {
    let unit = unit(
        "name: r\ncontext: &base\n  a: 1\n  b: 2\nsteps:\n  - &step\n    id: s\n    command: x\n    timeout: 5\n  - <<: *step\n    id: t\n    timeout: 6\n  - <<: [{command: y}, *step]\n    id: u\n",
    );
    let told: Vec<_> = unit.steps.iter().map(|step| (step.id.as_str(), step.timeout)).collect();
    assert_eq!(told, [("s", Some(5.0)), ("t", Some(6.0)), ("u", Some(5.0))]);
    let StepKind::Shell { command } = &unit.steps[2].kind else { panic!("a bash step") };
    assert_eq!(command.text(), "y", "the first of several maps wins");
}

#[test]
fn merged_context_has_no_literal_merge_key() {
    let yaml =
        "name: r\nx-defaults: &d {a: 1, b: 2}\ncontext:\n  <<: *d\n  b: 3\nsteps: [{id: s, command: x}]\n";
    expect(yaml, &["warning unknown-field 2:1"]);
    let unit = unit(yaml);
    assert_eq!(unit.context.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(unit.context["b"].render(), "3");
}

#[test]
fn broken_yaml_is_reported_with_its_place() {
    for (yaml, expected) in [
        ("", "error empty-file 1:1"),
        ("# only a comment\n", "error empty-file 1:1"),
        ("- a\n- b\n", "error wrong-type 1:1"),
        ("just text\n", "error wrong-type 1:1"),
        ("name: r\nsteps: [\n", "error yaml-syntax"),
        ("name: \"r\nsteps: []\n", "error yaml-syntax"),
        ("name: r\n\tsteps: []\n", "error yaml-syntax"),
        ("name: a: b\n", "error yaml-syntax"),
        ("name: r\nsteps: [{id: s, command: x}]\n---\nname: b\n", "error several-documents 3:1"),
        ("name: r\nsteps: [{id: s, command: *nowhere}]\n", "error yaml-syntax"),
    ] {
        let all = crate::shelf::told(&crate::shelf::check_files(&[("r.yaml", yaml)], &[]));
        assert!(all.len() == 1 && all[0].starts_with(expected), "{yaml:?} {all:?}");
    }
}
