//! How each program is started.

use super::*;

fn request(prompt: &str) -> Request {
    Request {
        prompt: prompt.to_owned(),
        system_prompt: None,
        model: None,
        cwd: "/project".into(),
        session: None,
        scratch: "/scratch".into(),
        user: User::Ordinary,
        tools: Tools::All,
        permissions: recipe::syntax::PermissionLevel::Full,
        more_args: Vec::new(),
    }
}

fn full(prompt: &str) -> Request {
    Request {
        system_prompt: Some("be kind".to_owned()),
        model: Some("m1".to_owned()),
        session: Some("s1".to_owned()),
        user: User::Root,
        tools: Tools::All,
        permissions: recipe::syntax::PermissionLevel::Full,
        more_args: Vec::new(),
        ..request(prompt)
    }
}

fn args(call: &Invocation) -> String {
    let args: Vec<&str> = call.args.iter().map(|arg| arg.to_str().unwrap()).collect();
    args.join(" ")
}

#[test]
fn plain_requests() {
    for (program, expected) in [
        (
            "claude",
            "-p --output-format stream-json --verbose --permission-mode bypassPermissions --add-dir /project",
        ),
        (
            "codex",
            "exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -o /scratch/answer.txt -",
        ),
        (
            "copilot",
            "--output-format json --allow-all-tools --allow-all-paths --allow-all-urls --no-ask-user --add-dir /project",
        ),
        ("gemini", "--output-format stream-json --yolo --skip-trust"),
        ("opencode", "run --format json --auto"),
        ("amplifier", "run --mode single --output-format json"),
    ] {
        let call = known(program).invocation(&request("do it"));
        assert_eq!(args(&call), expected);
        assert_eq!(call.stdin.as_deref(), Some("do it"), "{program}");
        assert!(call.files.is_empty());
    }
}

#[test]
fn full_requests() {
    for (program, expected) in [
        (
            "claude",
            "-p --output-format stream-json --verbose --permission-mode bypassPermissions --system-prompt be kind --add-dir /project --model m1 --resume s1",
        ),
        (
            "codex",
            "exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --model m1 -o /scratch/answer.txt resume s1 -",
        ),
        (
            "copilot",
            "--output-format json --allow-all-tools --allow-all-paths --allow-all-urls --no-ask-user --add-dir /project --model m1 --resume=s1",
        ),
        ("gemini", "--output-format stream-json --yolo --skip-trust --model m1 --resume s1"),
        ("opencode", "run --format json --auto --model m1 --session s1"),
        ("amplifier", "run --mode single --output-format json --model m1 --resume s1"),
    ] {
        let call = known(program).invocation(&full("do it"));
        assert_eq!(args(&call), expected);
        let stdin = call.stdin.unwrap();
        assert!(stdin.ends_with("do it"));
        assert_eq!(stdin.contains("be kind"), program != "claude");
    }
}

#[test]
fn copilot_with_the_tools_of_its_own_settings() {
    let call = known("copilot").invocation(&Request { tools: Tools::Configured, ..request("do it") });
    assert!(!args(&call).contains("--allow-all-tools"), "{}", args(&call));
}

#[test]
fn prompts_never_stand_in_the_arguments() {
    let huge = "secret ".repeat(200_000);
    for program in Program::known_names() {
        let mut request = full(&huge);
        request.system_prompt = Some("x".repeat(500_000));
        let call = known(program).invocation(&request);
        assert!(call.args.iter().all(|arg| arg.len() < ARGUMENT_LIMIT));
        assert!(!args(&call).contains("secret"));
        assert!(call.stdin.is_some_and(|stdin| stdin.contains(&huge)));
    }
}

#[test]
fn claude_as_root() {
    let sandbox = |request| {
        let call = known("claude").invocation(&request);
        call.env.contains(&("IS_SANDBOX".to_owned(), "1".to_owned()))
    };
    assert!(sandbox(full("x")));
    assert!(!sandbox(request("x")));
}

#[test]
fn launcher_form() {
    for (name, request, expected) in [
        ("claude", request("do it"), "claude -- -p do it --add-dir /project"),
        ("claude", full("do it"), "claude -- -p do it --system-prompt be kind --add-dir /project --model m1"),
        ("copilot", request("do it"), "copilot -- --allow-all-tools -p do it --add-dir /project"),
        (
            "copilot",
            Request { tools: Tools::Configured, ..request("do it") },
            "copilot -- -p do it --add-dir /project",
        ),
    ] {
        let call = launcher::invocation(name, &request);
        assert_eq!(args(&call), expected);
        assert_eq!((call.stdin, call.files), (None, Vec::new()));
    }
}

#[test]
fn launcher_with_long_texts() {
    let long = "word ".repeat(50_000);
    let call = launcher::invocation("claude", &request(&long));
    assert!(args(&call).contains("/scratch/prompt.md"));
    assert!(args(&call).ends_with("--add-dir /project --add-dir /scratch"));
    assert_eq!(call.files, [("/scratch/prompt.md".into(), long.clone())]);
    let mut both = request("short");
    both.system_prompt = Some(long);
    let call = launcher::invocation("claude", &both);
    assert!(call.args.iter().all(|arg| arg.len() < ARGUMENT_LIMIT));
    assert!(call.files[0].1.ends_with("short"));
}

#[test]
fn launcher_answers() {
    let read = |program: Option<&Program>, output: &str| {
        let mut reader = launcher::reader(program);
        reader.feed(output.as_bytes(), &mut Vec::new());
        line(&reader.finish(Ended::Exit(0), "", None))
    };
    assert_eq!(read(None, "text\n"), "text");
    assert_eq!(read(Some(&known("claude")), "text\n"), "text");
    assert_eq!(read(Some(&known("claude")), transcript!("claude-hello")), "Hello from the model.");
}

#[test]
fn descriptions_of_known_programs_can_be_read() {
    for (name, description) in &super::super::KNOWN {
        let program = description.as_deref().unwrap_or_else(|| panic!("{name} cannot be read"));
        assert_eq!((program.name.as_str(), program.check()), (*name, Ok(())));
        assert!(!program.events.is_empty(), "{name}");
    }
}

#[test]
fn names() {
    for (name, expected) in [
        ("claude", Some("claude")),
        ("/opt/bin/codex", Some("codex")),
        ("./gemini.sh", Some("gemini")),
        ("opencode.exe", Some("opencode")),
        ("amplifier", Some("amplifier")),
        ("claudette", None),
        ("Claude", None),
        ("", None),
        ("/", None),
        ("..", None),
    ] {
        let found = Program::named(name, &[]);
        assert_eq!(found.as_ref().map(Program::binary), expected, "{name}");
    }
    for name in Program::known_names() {
        assert_eq!(known(name).binary(), name);
    }
}

#[test]
fn footers() {
    let once = add_footer("do it\n");
    assert_eq!(once, format!("do it\n\n{FOOTER}"));
    assert_eq!(add_footer(&once), once);
    assert!(FOOTER.contains("Proceed autonomously. Do not ask questions."));
}

#[test]
fn the_last_message_file_is_the_answer() {
    let finish = |output: &str, file: &str| {
        let mut reader = known("codex").reader();
        reader.feed(output.as_bytes(), &mut Vec::new());
        let file = AgentText { text: file.to_owned(), cut: None };
        line(&reader.finish(Ended::Exit(0), "", Some(file)))
    };
    assert_eq!(finish(transcript!("codex-hello"), "from the file\n"), "from the file");
    assert_eq!(finish(transcript!("codex-hello"), ""), "Hello from the model.");
    assert_eq!(finish("", "from the file"), "from the file");
}
