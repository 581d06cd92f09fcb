//! Programs that a configuration file describes.

use super::*;
use serde_json::{Value, json};

fn decode(config: Value) -> CustomProgram {
    serde_json::from_value(config).unwrap()
}

fn request() -> Request {
    Request {
        prompt: "do it".to_owned(),
        system_prompt: Some("be kind".to_owned()),
        model: Some("m1".to_owned()),
        cwd: "/project".into(),
        session: None,
        scratch: "/scratch".into(),
        user: User::Ordinary,
        tools: Tools::All,
        permissions: recipe::syntax::PermissionLevel::Full,
        more_args: Vec::new(),
    }
}

fn called(config: Value) -> (String, Invocation) {
    let program = decode(config);
    assert_eq!(program.check(), Ok(()));
    let call = program.invocation(&request());
    let args: Vec<&str> = call.args.iter().map(|arg| arg.to_str().unwrap()).collect();
    (args.join("|"), call)
}

#[test]
fn arguments() {
    for (config, expected) in [
        (json!({"name": "a"}), ""),
        (
            json!({"name": "a", "args": ["run", "{prompt}"], "prompt": "argument"}),
            "run|be kind\n\n---\n\ndo it",
        ),
        (json!({"name": "a", "args": ["--in={prompt_file}"], "prompt": "file"}), "--in=/scratch/prompt.md"),
        (
            json!({"name": "a", "args": ["{{}}", "{cwd}"], "model_args": ["-m", "{model}"]}),
            "{}|/project|-m|m1",
        ),
        (
            json!({"name": "a", "args": ["x", "{options}", "y"], "dir_args": ["-C", "{cwd}"]}),
            "x|-C|/project|y",
        ),
        (
            json!({"name": "a", "system_prompt_args": ["-s", "{system_prompt}"], "session_args": ["-r", "{session}"]}),
            "-s|be kind",
        ),
        (json!({"name": "a", "args": ["-o", "{answer_file}"], "answer": "file"}), "-o|/scratch/answer.txt"),
    ] {
        assert_eq!(called(config).0, expected);
    }
}

#[test]
fn prompts() {
    let joined = "be kind\n\n---\n\ndo it";
    let stdin = called(json!({"name": "a"})).1;
    assert_eq!(stdin.stdin.as_deref(), Some(joined));
    let own = called(json!({"name": "a", "args": ["{system_prompt}"]})).1;
    assert_eq!(own.stdin.as_deref(), Some("do it"));
    let file = called(json!({"name": "a", "args": ["{prompt_file}"], "prompt": "file"})).1;
    assert_eq!(file.files, [("/scratch/prompt.md".into(), joined.to_owned())]);
    assert_eq!(file.stdin, None);
    let env = called(json!({"name": "a", "env": {"K": "v"}})).1;
    assert_eq!(env.env, [("K".to_owned(), "v".to_owned())]);
}

#[test]
fn a_long_prompt_argument_becomes_a_file() {
    let program = decode(json!({"name": "a", "args": ["{prompt}"], "prompt": "argument"}));
    let mut request = request();
    request.prompt = "word ".repeat(50_000);
    let call = program.invocation(&request);
    assert!(call.args[0].to_str().unwrap().contains("/scratch/prompt.md"));
    assert!(call.files[0].1.contains(&request.prompt));
}

#[test]
fn mistakes() {
    for (config, expected) in [
        (json!({"name": ""}), "the agent program's name `` is not usable"),
        (json!({"name": "a/b"}), "the agent program's name `a/b` is not usable"),
        (json!({"name": "a", "command": " "}), "the agent program `a` has an empty `command`"),
        (
            json!({"name": "a", "args": ["{promt}"]}),
            "the agent program `a` uses `{promt}` in `args`, which takes only `{prompt}`,",
        ),
        (json!({"name": "a", "args": ["-{options}"]}), "the agent program `a` uses `{options}` in `args`"),
        (
            json!({"name": "a", "model_args": ["{cwd}"]}),
            "the agent program `a` uses `{cwd}` in `model_args`, which takes only `{model}`:",
        ),
        (
            json!({"name": "a", "args": ["{model"]}),
            "the agent program `a` has an unbalanced brace in `args`: `{model`",
        ),
        (json!({"name": "a", "args": ["model}"]}), "the agent program `a` has an unbalanced brace in `args`"),
        (
            json!({"name": "a", "prompt": "argument"}),
            "the agent program `a` says `prompt: argument`, but no argument has `{prompt}`",
        ),
        (
            json!({"name": "a", "args": ["{prompt}"]}),
            "the agent program `a` has `{prompt}` in `args`, but does not say `prompt: argument`",
        ),
        (json!({"name": "a", "prompt": "file"}), "the agent program `a` says `prompt: file`"),
        (json!({"name": "a", "answer": "file"}), "the agent program `a` says `answer: file`"),
        (
            json!({"name": "a", "answer": {"json": "a..b"}}),
            "the agent program `a` has an empty name in the path `a..b`",
        ),
        (
            json!({"name": "a", "answer": {"events": {"match": {}, "path": "x"}}}),
            "the agent program `a` has an empty `match`",
        ),
        (
            json!({"name": "a", "events": [{"session": "id"}]}),
            "the agent program `a` has an event rule without `when`",
        ),
        (
            json!({"name": "a", "args": ["x{model_args}"]}),
            "the agent program `a` uses `{model_args}` in `args`",
        ),
    ] {
        let error = decode(config).check().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn unknown_fields_are_refused() {
    for config in [
        json!({"name": "a", "arguments": []}),
        json!({"name": "a", "answer": "stderr"}),
        json!({"name": "a", "answer": {"events": {"match": {"a": "b"}, "path": "x", "more": 1}}}),
        json!({"args": []}),
    ] {
        assert!(serde_json::from_value::<CustomProgram>(config.clone()).is_err(), "{config}");
    }
}

fn answer(config: Value, output: &str, exit: i32, stderr: &str) -> String {
    let program = Program::from(decode(config));
    let mut reader = program.reader();
    reader.feed(output.as_bytes(), &mut Vec::new());
    line(&reader.finish(Ended::Exit(exit), stderr, None))
}

#[test]
fn answers() {
    let nothing = "!the agent ends with exit code 0 and without a result";
    let json_path = json!({"name": "a", "answer": {"json": "result.text"}});
    let events = json!({"name": "a", "answer": {"events": {"match": {"type": "end"}, "path": "out.0"}}});
    for (config, output, expected) in [
        (json!({"name": "a"}), "text\n", "text"),
        (json!({"name": "a"}), "{\"type\":\"result\"}", "{\"type\":\"result\"}"),
        (json_path.clone(), "{\"result\":{\"text\":\"t\"}}", "t"),
        (json_path.clone(), "banner\n{\n\"result\": {\"text\": \"t\"}}\n", "t"),
        (json_path.clone(), "{\"result\":{\"text\":[1]}}", "[1]"),
        (json_path.clone(), "{\"result\":{\"text\":null}}", nothing),
        (json_path.clone(), "", nothing),
        (events.clone(), "{\"type\":\"x\"}\n{\"type\":\"end\",\"out\":[\"a\"]}\n{\"type\":\"y\"}\n", "a"),
        (events.clone(), "{\"type\":\"x\"}\n", nothing),
        (events.clone(), "{\"type\":\"end\",\"out\":[\"a\"]}\n{\"type\":\"end\",\"out\":[null]}\n", nothing),
    ] {
        assert_eq!(answer(config, output, 0, ""), expected, "{output}");
    }
    assert!(answer(json_path, "no json", 0, "").starts_with(nothing));
    assert!(answer(events, "no json", 0, "").starts_with(nothing));
}

#[test]
fn events_of_a_described_program() {
    let program = Program::from(decode(json!({"name": "a", "events": [
        {"when": {"kind": "hello"}, "session": "id", "model": "llm"},
        {"when": {"kind": "act"}, "tool": {"name": "what", "input": "on"}, "new_answer": true},
        {"when": {"kind": "say"}, "text": {"at": "words", "as": "part"}, "adds": {"output_tokens": "cost"}},
        {"when": {"kind": "bye"}, "ends": {}},
        {"when": {"kind": "sorry"}, "fails": {"at": ["why"], "status": "code"}},
    ]})));
    let read = |output: &str| {
        let mut reader = program.reader();
        let mut events = Vec::new();
        reader.feed(output.as_bytes(), &mut events);
        (reader.finish(Ended::Exit(0), "", None), events.len())
    };
    let (outcome, shown) = read(
        "{\"kind\":\"hello\",\"id\":\"s1\",\"llm\":\"m\"}\n{\"kind\":\"say\",\"words\":\"let me see\",\"cost\":2}\n\
         {\"kind\":\"act\",\"what\":\"bash\",\"on\":{\"command\":\"ls\"}}\n{\"kind\":\"say\",\"words\":\"do\",\"cost\":3}\n\
         {\"kind\":\"say\",\"words\":\"ne\"}\n{\"kind\":\"bye\"}\n",
    );
    assert_eq!(line(&outcome), "done");
    assert_eq!((outcome.usage.session.as_deref(), outcome.usage.output_tokens), (Some("s1"), Some(5)));
    assert_eq!(shown, 6, "a session, a model, a tool and three texts");
    let (failed, _) = read("{\"kind\":\"sorry\",\"why\":\"slow down\",\"code\":429}\n");
    assert_eq!(line(&failed), "!the agent is rate limited: slow down");
}

#[test]
fn configured_words() {
    let config = json!({"name": "a", "rate_limit": ["slow down", "E77"], "auth_failure": ["who are you"]});
    let kind = |output: &str, exit, stderr: &str| {
        let said = answer(config.clone(), output, exit, stderr);
        said.split(':').next().unwrap().to_owned()
    };
    assert_eq!(kind("", 1, "please slow down"), "!the agent is rate limited");
    assert_eq!(kind("", 1, "code E77"), "!the agent is rate limited");
    assert_eq!(kind("", 1, "code E777"), "!the agent ends with exit code 1");
    assert_eq!(kind("Who are you?", 1, ""), "!the agent cannot log in");
    assert_eq!(kind("slow down", 0, ""), "slow down");
}

#[test]
fn words_of_an_unknown_program() {
    for (output, stderr, expected) in [
        ("", "log: the service answered with a rate limit", "!the agent ends with exit code 3"),
        ("", "Error: 429 Too Many Requests", "!the agent is rate limited"),
        ("", "log: connection refused in the test", "!the agent ends with exit code 3"),
        ("", "connection refused", "!the agent cannot reach its model service"),
        ("I looked at 500 files\nError: 429 Too Many Requests", "", "!the agent ends with exit code 3"),
        ("I tested the rate limit; 429 is an error", "", "!the agent ends with exit code 3"),
        ("429 Too Many Requests\nis what the test wants", "", "!the agent ends with exit code 3"),
    ] {
        let said = answer(json!({"name": "a"}), output, 3, stderr);
        assert_eq!(said.split(':').next(), Some(expected), "{output:?} {stderr:?}");
    }
}

#[test]
fn configured_programs_come_first() {
    let custom =
        [decode(json!({"name": "claude", "command": "my-claude"})), decode(json!({"name": "aider"}))];
    let binary = |name: &str| Program::named(name, &custom).map(|program| program.binary().to_owned());
    assert_eq!(binary("claude").as_deref(), Some("my-claude"));
    assert_eq!(binary("/x/aider").as_deref(), Some("aider"));
    assert_eq!(binary("codex").as_deref(), Some("codex"));
    assert_eq!(binary("other"), None);
}
