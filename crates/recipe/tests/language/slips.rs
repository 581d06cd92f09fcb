//! Slips that would make a step do less than its author thinks: values that nothing reads, misspelt keywords of a
//! schema, members that a value cannot have, and steps that undo nothing.

use crate::shelf::{check_files, with_step};

fn reports(files: &[(&str, &str)]) -> String {
    let found = check_files(files, &[]).diagnostics;
    let lines: Vec<String> =
        found.iter().map(|it| format!("{}: {} [{}]", it.code.as_str(), it.message, it.label)).collect();
    lines.join("\n")
}

fn top(steps: &str) -> String {
    format!("name: top\nsteps:\n{steps}")
}

#[test]
fn a_value_for_a_sub_recipe_that_nothing_reads_is_reported() {
    let with = |context: &str, sub: &str| {
        reports(&[
            ("r.yaml", &top(&format!("- {{id: n, recipe: sub, context: {{{context}}}}}\n"))),
            ("sub.yaml", sub),
        ])
    };
    let sub = "name: sub\ncontext: {target: staging}\nsteps:\n- {id: a, command: 'echo {{target}}'}\n";
    assert_eq!(
        with("targt: x", sub),
        "unknown-setting: recipe `sub` neither declares nor reads `targt` [did you mean `target`?]"
    );
    assert_eq!(
        with("colour: x", sub),
        "unknown-setting: recipe `sub` neither declares nor reads `colour` [nothing reads it]"
    );
    assert_eq!(with("target: x", sub), "");
    // read from the environment, from the file of all values, or after the step
    assert_eq!(with("colour: x", &sub.replace("{{target}}", "$RECIPE_VAR_colour")), "");
    assert_eq!(with("colour: x", &sub.replace("{{target}}", "$RECIPE_CONTEXT_FILE")), "");
    let after = "- {id: n, recipe: sub, context: {colour: x}}\n- {id: z, command: 'echo {{n.colour}}'}\n";
    assert_eq!(reports(&[("r.yaml", &top(after)), ("sub.yaml", sub)]), "");
}

#[test]
fn misspelt_keywords_of_a_schema_are_reported() {
    let schema =
        |schema: &str| reports(&[("r.yaml", &with_step(&format!("command: x\njson_schema: {schema}")))]);
    assert_eq!(
        schema("{requierd: [a], properties: {requierd: {minimun: 1}}}"),
        "unknown-field: `json_schema` has no keyword `requierd`: it checks nothing [did you mean `required`?]\n\
         unknown-field: `json_schema` has no keyword `minimun`: it checks nothing [did you mean `minimum`?]"
    );
    assert_eq!(schema("{required: [a], x-note: 1, enum: [{requierd: 1}], items: [{minimum: 1}]}"), "");
}

#[test]
fn a_member_that_a_closed_schema_rules_out_is_reported() {
    let read = |schema: &str, path: &str| {
        let steps = format!(
            "- {{id: a, command: x, json_schema: {schema}}}\n- {{id: b, condition: {path}, command: 'x'}}\n"
        );
        reports(&[("r.yaml", &top(&steps))])
    };
    let closed = "{additionalProperties: false, properties: {risk: {type: string}, in: \
        {additionalProperties: false, properties: {deep: {}}}}}";
    assert_eq!(
        read(closed, "a.rsk"),
        "undefined-variable: nothing defines `a.rsk`: `a` has no `rsk` [did you mean `risk`?]"
    );
    assert!(read(closed, "a.in.dep").contains("`a.in` has no `dep`"));
    for (schema, path) in [
        (closed, "a.risk"),
        (closed, "a.in.deep.more"),
        ("{properties: {risk: {}}}", "a.other"),
        (closed, "a"),
    ] {
        assert_eq!(read(schema, path), "", "{path}");
    }
}

#[test]
fn a_word_in_a_condition_may_lack_its_quotes() {
    let found =
        check_files(&[("r.yaml", &with_step("command: x\ncondition: \"'a' == low\""))], &[]).diagnostics;
    let help = found[0].help.as_deref().unwrap_or_default();
    assert!(help.starts_with("for text write `'low'`"), "{help}");
}

#[test]
fn an_environment_variable_may_be_secret() {
    let with = |secret: &str| {
        reports(&[(
            "r",
            &format!("name: r\nsecrets: [{secret}]\ncontext: {{TOKEN: x}}\nsteps: [{{id: s, command: x}}]\n"),
        )])
    };
    assert_eq!(with("DATABASE_URL"), "");
    assert!(with("TOKN").contains("did you mean `TOKEN`?"));
    assert!(with("database_url").contains("hides nothing"));
}

#[test]
fn only_cleanup_undoes_earlier_steps() {
    let with = |rollback: &str| {
        let steps = format!(
            "- {{id: a, command: x}}\n- {{id: back, command: x, {rollback}}}\n- {{id: z, command: x}}\n"
        );
        reports(&[("r.yaml", &top(&steps))])
    };
    assert_eq!(with("when: failed, undoes: [a]"), "");
    assert_eq!(with("when: always, undoes: []"), "");
    assert!(
        with("undoes: [a]").starts_with("contradiction: only a step with `when: failed` or `when: always`")
    );
    assert!(
        with("when: failed, undoes: [z]").starts_with("later-step: step `z` does not come before this one")
    );
    assert!(with("when: failed, undoes: [b]").starts_with("unknown-step: there is no step `b`"));
}
