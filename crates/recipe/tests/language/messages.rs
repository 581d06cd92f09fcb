//! What people read: each message says what happened, and its help what to do.

use crate::shelf::{check_files, with_field, with_step};

const CHILD: (&str, &str) = ("child.yaml", "name: child\nsteps: [{id: c, command: echo}]\n");

/// The only thing that is told about a recipe: its message, the words under the caret, and its help.
fn check(yaml: &str, message: &str, label: &str, help: &str) {
    let told = check_files(&[("r.yaml", yaml), CHILD], &[]).diagnostics;
    let found: Vec<[&str; 3]> = told
        .iter()
        .map(|told| [told.message.as_str(), told.label.as_str(), told.help.as_deref().unwrap_or_default()])
        .collect();
    assert_eq!(found, [[message, label, help]], "{yaml}");
}

#[test]
fn d5_a_time_that_cannot_be_read_says_how_to_write_it() {
    for (text, help) in [
        ("1h30", "the last number of `1h30` has no unit: write `1h30m` or `1h30s`"),
        ("2 seconds", "`seconds` is not a unit of time: use `ms`, `s`, `m`, `h` or `d`, as in `1h30m`"),
        (
            "soon",
            "`soon` is not a time: write seconds such as `90`, or units such as `90s`, `10m` and `1h30m`",
        ),
    ] {
        for field in ["timeout", "idle_timeout"] {
            let step = with_step(&format!("prompt: x\n{field}: {text}"));
            check(&step, &format!("`{text}` is not a time for `{field}`"), "not a time", help);
        }
    }
}

#[test]
fn values_of_another_kind() {
    let range = "write a number within the range";
    for (fields, message, label, help) in [
        ("timeout: -1", "`timeout` must not be negative", "out of range", range),
        ("timeout: 1e13", "`timeout` must be at most 1000000000000", "too large", range),
        (
            "max_env_value_bytes: 1.5",
            "`max_env_value_bytes` must be a whole number, 0 or more",
            "out of range",
            range,
        ),
        (
            "max_env_value_bytes: 1e16",
            "`max_env_value_bytes` must be at most 1000000000000000",
            "too large",
            range,
        ),
        (
            "parse_json: yes",
            "`parse_json` takes `true` or `false`, but this is text",
            "not `true` or `false`",
            "write `true` or `false` after `parse_json:`",
        ),
        (
            "parse_json: 'true'",
            "`parse_json` takes `true` or `false`, but this is text",
            "not `true` or `false`",
            "write it without quotes",
        ),
        (
            "output: [ -f x ]",
            "`output` takes text, but this is a list",
            "not text",
            "put quotes around text that starts with `[`",
        ),
        (
            "timeout: '5'",
            "`timeout` takes a time, but this is text",
            "not a time",
            "write a plain number without quotes",
        ),
        (
            "timeout: [5]",
            "`timeout` takes a time, but this is a list",
            "not a time",
            "write `timeout: 90`, or a time with units such as `10m`",
        ),
        (
            "output: {a: b}",
            "`output` takes text, but this is a map",
            "not text",
            "put quotes around text that starts with `{`",
        ),
        (
            "parse_json: [true]",
            "`parse_json` takes `true` or `false`, but this is a list",
            "not `true` or `false`",
            "write `true` or `false` after `parse_json:`",
        ),
        ("type: ''", "`type` is empty", "unknown word", "use one of `bash`, `agent`, `recipe`, `ask`"),
        (
            "type: bsh",
            "`bsh` is not a valid `type`",
            "did you mean `bash`?",
            "use one of `bash`, `agent`, `recipe`, `ask`",
        ),
    ] {
        check(&with_step(&format!("command: x\n{fields}")), message, label, help);
    }
}

#[test]
fn ids_that_cannot_be_names() {
    for (id, help) in [
        ("a/b", "an id has no `/` and no control characters"),
        (".", "`.` means a directory: write a word"),
        (&"😀".repeat(51), "an id has at most 200 bytes, and this one has 204"),
    ] {
        let yaml = format!("name: r\nsteps: [{{id: \"{id}\", command: x}}]\n");
        check(&yaml, "this id cannot be used as a name", "", help);
    }
}

#[test]
fn fields_that_do_not_exist() {
    for (fields, message, help) in [
        (
            "env: {required: [], A: b}",
            "unknown field `A` in an `env` map",
            "remove it, or check the spelling: the fields are `required`, `files`, `set`",
        ),
        (
            "recursion: {colour: 1}",
            "unknown field `colour` in a `recursion` map",
            "remove it, or check the spelling: the fields are `max_depth`, `max_total_steps`",
        ),
        (
            "inputs: [{name: a, colour: 1}]",
            "unknown field `colour` in an `inputs` entry",
            "remove it, or check the spelling: the fields are `name`, `description`, `required`, `default`, `type`, `choices`, `pattern`",
        ),
        (
            "owner: me",
            "unknown field `owner` in a recipe",
            "remove it, or check the spelling: `recipe-runner-rs schema` shows every field",
        ),
    ] {
        check(&with_field(fields), message, "has no effect", help);
    }
    check(
        &with_field("inputs: [{name: a, reqiured: true}]"),
        "unknown field `reqiured` in an `inputs` entry: did you mean `required`?",
        "not a known field",
        "write `required:`",
    );
    check(
        "name: r\nsteps: [{id: a, ask: 'ok?', fields: [{name: b, reqiured: true}]}]\n",
        "unknown field `reqiured` in a field of `ask`: did you mean `required`?",
        "not a known field",
        "write `required:`",
    );
    check(
        "name: r\nsteps: [{id: a, ask: 'ok?', fields: [{name: b, regex: x}]}]\n",
        "a field of `ask` has no field `regex`: did you mean `pattern`?",
        "would be ignored",
        "write `pattern: REGEX`",
    );
}

#[test]
fn names_without_a_value() {
    let group = "name: r\nsteps:\n  - {id: a, command: x, parallel_group: g}\n  - {id: b, command: 'echo {{a}}', parallel_group: g}\n";
    let later = "name: r\nsteps:\n  - {id: a, command: 'echo {{b}}'}\n  - {id: b, command: x}\n";
    for (yaml, message, label, help) in [
        (
            group,
            "nothing defines `a` before this step",
            "renders as empty text",
            "it gets its value only when parallel group `g` has ended",
        ),
        (
            later,
            "nothing defines `b` before this step",
            "renders as empty text",
            "it gets its value only when step `b` has run",
        ),
        (
            &with_field("secrets: [a b]"),
            "nothing defines `a b`",
            "hides nothing",
            "declare it under `context:`, or pass it with `--set a b=…`",
        ),
        (
            &with_field("secrets: ['']"),
            "a name under `secrets` is empty",
            "",
            "write the name of a variable, or remove the item",
        ),
        (
            &with_field("context: {'': 1}"),
            "`` is not a name that templates can use",
            "",
            "names have letters, digits, `_`, `-` and `.`, and do not begin with `-`",
        ),
    ] {
        check(yaml, message, label, help);
    }
}

#[test]
fn steps_and_names_that_cannot_be() {
    for (fields, message, label, help) in [
        ("depends_on: [s]", "step `s` depends on itself", "this step", "remove it from `depends_on`"),
        (
            "depends_on: [s]\nparallel_group: g",
            "step `s` depends on itself",
            "this step",
            "remove it from `depends_on`",
        ),
        ("depends_on: [q]", "there is no step `q`", "no such step", "the steps are `s`"),
        (
            "agent: known",
            "step `s` is an agent step and cannot have `command`",
            "contradicts the type `agent`",
            "split it into two steps, or remove one of the fields",
        ),
        (
            "recipe: child",
            "step `s` is a recipe step and cannot have `command`",
            "contradicts the type `recipe`",
            "split it into two steps, or remove one of the fields",
        ),
        ("condition: s in ('a', 'b')", "unexpected `,`", "", "write a list in square brackets: `['a', 'b']`"),
    ] {
        check(&with_step(&format!("command: x\n{fields}")), message, label, help);
    }
    check(
        "name: r\nsteps:\n  - {id: a, command: x, depends_on: [b]}\n  - {id: b, command: x}\n",
        "step `b` does not come before this one",
        "comes later",
        "steps run in the order in which they are written: move it up",
    );
    check(
        &with_field("extends: ''"),
        "`extends` of the recipe is empty",
        "empty",
        "write something after `extends:`",
    );
    let blocks = "blocks are `{{#if name}}…{{else}}…{{/if}}`";
    let names = "a name has letters, digits, `_`, `-`, `.` and `[n]`; there are no filters or expressions";
    let foreign = "in a command, braces for another program are kept apart by quotes: `'{''{json .State}}'`";
    let long = "a ".repeat(40);
    for (text, message, help) in [
        ("{{a\\n  b}}", "`a   b` is not a name".to_owned(), names),
        (&format!("{{{{{long}}}}}"), format!("`{}…` is not a name", &long[..60]), names),
        ("{{json .State}}", "`json .State` is not a name".to_owned(), foreign),
        ("{{#each\\nx}}", "`{{#each x}}` is not a block that exists".to_owned(), blocks),
    ] {
        check(&with_step(&format!("command: \"{text}\"")), &message, "", help);
    }
}

#[test]
fn texts_in_conditions_are_not_templates() {
    for (condition, name) in [
        ("'{{a}}' == 'b'", "a"),
        ("not ('x' in ['{{ a.b }}'])", "a.b"),
        ("max(x, '{{#if a}}b{{/if}}') or x.replace('b', 'c')", "a"),
        ("x[y].startswith('{{a}} {{b}}')", "a"),
    ] {
        check(
            &(with_step(&format!("command: x\ncondition: \"{condition}\"")) + "context: {x: 1, y: 2}\n"),
            &format!("`{{{{{name}}}}}` is not filled in: text in a condition is not rendered"),
            "compared literally",
            &format!("write the name alone, without quotes and braces: `{name}`"),
        );
    }
    for condition in ["'{{' in x", "'{{a' in x", "'{a}' == x", "x['{{a}}'] == 'b'", "'{{.Names}}' in x"] {
        let yaml = with_step(&format!("command: x\ncondition: \"{condition}\""));
        assert_eq!(check_files(&[("r.yaml", &yaml)], &["x"]).diagnostics, [], "{condition}");
    }
}

#[test]
fn a_name_with_a_dot_that_is_also_a_member() {
    let yaml =
        "name: r\ncontext: {config: {port: 1}}\nsteps:\n  - {id: s, command: x, output: config.port}\n";
    check(
        yaml,
        "`config.port` is a name of its own, and also a member of `config`",
        "`config` has it already",
        "rename it, or remove it from `config`: templates cannot tell the two apart",
    );
    let free = yaml.replace("output: config.port", "output: config.host");
    let given = check_files(&[("r.yaml", &free)], &["config.port"]);
    assert_eq!(given.diagnostics, [], "a value that is given for a member is fine");
}
