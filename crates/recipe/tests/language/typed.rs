//! Names and tags from the command line, compared with what the recipe has.

use recipe::check::Given;

use crate::shelf::check_given;

/// What is reported about names and tags that were typed: message and help.
fn reported(text: &str, typed: &str, tags: &str) -> Vec<(String, String)> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let given = Given { names: words(typed), typed: words(typed), tags: words(tags), ..Given::default() };
    let reported = check_given(text, &given).diagnostics;
    let of_typing = reported.into_iter().filter(|reported| reported.place.is_none());
    of_typing.map(|reported| (reported.message, reported.help.unwrap_or_default())).collect()
}

/// The variable that a typed name is taken for, in a recipe with these lines.
fn expect_meant(lines: &str, typed: &str, meant: Option<&str>) {
    let text = format!("name: r\n{lines}\n");
    let root = typed.split('.').next().unwrap_or_default();
    let expected = meant.map(|meant| {
        (
            format!("the recipe has no variable `{root}`; did you mean `{meant}`?"),
            format!("give a value to `{meant}`, or declare `{root}` under `context:`"),
        )
    });
    assert_eq!(reported(&text, typed, ""), Vec::from_iter(expected), "{typed}\n{text}");
}

#[test]
fn names_similar_to_a_declared_one_are_reported() {
    let step = |fields: &str| format!("context: {{topic: 1}}\nsteps: [{{id: s, {fields}}}]");
    let plain = step("command: x");
    for (lines, typed, meant) in [
        (plain.as_str(), "topic", None),
        (&plain, "topic.part", None),
        (&plain, "topics", Some("topic")),
        (&plain, "topics.part", Some("topic")),
        (&plain, "other", None),
        ("inputs: [{name: topic}]\nsteps: [{id: s, command: x}]", "topics", Some("topic")),
        // declared, but not read
        ("context: {topic: 1, topics: 2}\nsteps: [{id: s, command: x}]", "topics", None),
        ("context: {topic: 1, topics.a: 2}\nsteps: [{id: s, command: x}]", "topics.a", None),
        ("context: {topic: 1, topics.a: 2}\nsteps: [{id: s, command: x}]", "topics.b", Some("topic")),
        (
            "context: {topic: 1}\ncontext_validation: {topics: nonempty}\nsteps: [{id: s, command: x}]",
            "topics",
            None,
        ),
        (&step("command: x, output: topics"), "topics", None),
        // read, but declared nowhere
        (&step("command: x, condition: topics"), "topics", None),
        (&step("command: x, condition: topicz"), "topics", Some("topic")),
        (&step("command: 'echo $TOPICS'"), "topics", None),
        (&step("command: 'echo $RECIPE_VAR_topics'"), "topics", None),
        (&step("prompt: about TOPICS"), "topics", None),
        (&step("prompt: about it"), "topics", Some("topic")),
        (
            "context: {topic: 1}\nhooks: {on_error: 'echo $TOPICS'}\nsteps: [{id: s, command: x}]",
            "topics",
            None,
        ),
        (
            "context: {topic: 1}\nhooks: {pre_step: 'echo'}\nsteps: [{id: s, command: x}]",
            "topics",
            Some("topic"),
        ),
        // what a nested recipe is given; which one that is only a run will tell
        (&step("recipe: '{{topic}}'"), "topics", None),
        (&step("recipe: r"), "topics", Some("topic")),
        (&step("recipe: r, context: {topics: 1}"), "topics", None),
        (&step("recipe: r, context: {topicz: 1}"), "topics", Some("topic")),
        // an unreadable recipe may have any names
        ("context: {topic: 1}\nsteps: none", "topics", None),
    ] {
        expect_meant(lines, typed, meant);
    }
}

#[test]
fn tags_that_no_step_has_are_reported() {
    let text = |tags: &str| format!("name: r\nsteps: [{{id: s, command: x, when_tags: [{tags}]}}]\n");
    for (tags, typed, help) in [
        ("fast", "fast", None),
        ("fast, slow", "slow fast", None),
        ("fast, big", "slow", Some("the tags are `big`, `fast`")),
        ("fast, big", "fats", Some("did you mean `fast`? The tags are `big`, `fast`")),
        ("", "fast", Some("no step has any tag: add `when_tags: […]` to some steps")),
    ] {
        let expected = help.map(|help| (format!("no step has the tag `{typed}`"), help.to_owned()));
        assert_eq!(reported(&text(tags), "", typed), Vec::from_iter(expected), "[{tags}] {typed}");
    }
}
