//! Many mistakes at once: each is told, once, in its place.

use crate::shelf::{expect, expect_files};

#[test]
fn ten_mistakes_give_ten_messages() {
    expect(
        "\
name: ''
vresion: 1.0
context:
  a-b: 1
  a_b: 2
recursion: {max_depth: deep}
steps:
  - id: one
    comand: echo
  - id: two
    command: echo {{nope}}
    timeout: -5
  - id: two
    command: x
    condition: a is b
  - id: three
  - id: four
    recipe: nowhere
    depends_on: [five]
",
        &[
            "error empty-field 1:7",
            "error field-typo 2:1",
            "error name-collision 5:3",
            "error wrong-type 6:24",
            "error field-typo 9:5",
            "warning undefined-variable 11:19",
            "error out-of-range 12:14",
            "error duplicate-id 13:9",
            "error condition-syntax 15:18",
            "error nothing-to-do 16:9",
            "error unknown-recipe 18:13",
            "error unknown-step 19:18",
        ],
    );
}

#[test]
fn several_mistakes_in_one_step_are_all_reported() {
    let yaml = "\
name: r
steps:
  - id: a/b
    recipe: nowhere
    command: x
    context: {x: \"{{#if a\", y: \"{{else}}\"}
    env: {1A: \"{{/if}}\", B: \"{{#if}}\"}
    condition: lenn(x)
    retry: 0
    timeout: 0
    exit_codes: {300: ok, 301: ok}
    output: a b
";
    expect_files(
        &[("r.yaml", yaml)],
        &[],
        &[
            "error bad-id 3:9",
            "error unknown-recipe 4:13",
            "error contradiction 5:14",
            "error template-syntax 6:19",
            "error template-syntax 6:33",
            "error bad-name 7:11",
            "error template-syntax 7:16",
            "error template-syntax 7:30",
            "error unknown-function 8:16",
            "error out-of-range 9:12",
            "error out-of-range 10:14",
            "error out-of-range 11:18",
            "error out-of-range 11:27",
            "error bad-name 12:13",
        ],
    );
}

#[test]
fn several_mistakes_in_one_text_are_all_reported() {
    expect(
        "\
name: r
context: {a: 1}
steps:
  - id: one
    command: \"echo {{a b}} {{c d}} {{e f}}\"
  - id: two
    condition: \"foo(1) and bar(2) and a.baz()\"
    command: |
      echo {{a b}}
      echo {{#each a}} {{else
",
        &[
            "error template-syntax 5:20",
            "error template-syntax 5:28",
            "error template-syntax 5:36",
            "error unknown-function 7:17",
            "error unknown-function 7:28",
            "error unknown-method 7:41",
            "error template-syntax 9:12",
            "error template-syntax 10:12",
            "error template-syntax 10:24",
        ],
    );
}

#[test]
fn the_examples_of_every_kind_are_clean() {
    for yaml in [
        "name: hello-world\ndescription: minimal\nversion: \"1.0.0\"\ncontext:\n  greeting: \"Hello\"\nsteps:\n  - id: \"greet\"\n    command: \"echo '{{greeting}}'\"\n",
        "name: b\ncontext:\n  mode: release\nsteps:\n  - id: build\n    command: cargo build --{{mode}}\n  - id: test\n    command: cargo test --{{mode}}\n    output: results\n  - id: report\n    command: echo \"{{results}}\"\n",
        "name: w\ncontext: {target: main}\nsteps:\n  - id: diff\n    command: git diff {{target}}\n    output: summary\n  - id: review\n    agent: known\n    prompt: |\n      Review {{target}}:\n      {{summary}}\n    output: result\n    parse_json: true\n  - id: ok\n    condition: \"result.approved == true\"\n    command: echo ok\n  - id: bad\n    condition: \"result.approved != true\"\n    command: echo \"see {{result.comments}}\"\n",
        "name: g\nrecursion:\n  max_depth: 3\n  max_total_steps: 50\nhooks:\n  pre_step: echo \"[$(date -Iseconds)] Starting step\"\n  on_error: |\n    echo \"FAILED\"\n    curl -d '{\"step\": \"failed\"}' x\ncontext:\n  notify: true\nsteps:\n  - id: migrate\n    command: ./m.sh\n    when_tags: [database]\n  - id: tell\n    condition: \"notify == 'true'\"\n    command: echo done\n",
    ] {
        expect(yaml, &[]);
    }
}
