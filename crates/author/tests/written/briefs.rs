//! Briefs to write recipes from: one that is plain, and functions that change it.

use author::brief::*;

/// A brief with one command, one target, two reviewers and git.
pub(crate) fn plain() -> Brief {
    let text = "# Add a --json flag\n\n## Goal\nIt's {{fine}}.\n";
    Brief {
        name: "add-a-json-flag".to_owned(),
        title: "Add a --json flag".to_owned(),
        goal: "It's {{fine}}.".to_owned(),
        spec: SpecSource {
            path: "SPEC.md".to_owned(),
            sha256: recipe::digest::sha256(text.as_bytes()),
            text: text.to_owned(),
            is_file: true,
        },
        criteria: vec![criterion(1, prints("t --version", "1.4.2"))],
        targets: Targets {
            source: TargetSource::Block,
            paths: vec![target("src/cli.sh")],
            dropped: Vec::new(),
        },
        constraints: Constraints::default(),
        tracks: Vec::new(),
        items: None,
        fix_loop: None,
        tools: Tools {
            writer: tool("writer", "claude"),
            reviewers: vec![tool("reviewer-1", "codex"), tool("reviewer-2", "gemini")],
            planner: tool("planner", "claude"),
            same_program: None,
        },
        skills: Vec::new(),
        environment: Vec::new(),
        delivery: Delivery::default(),
        budget: Budget::default(),
        pattern: PatternChoice {
            name: Pattern::Pipeline,
            reason: "there is one stream of work".to_owned(),
            signals: Vec::new(),
            rejected: Vec::new(),
        },
        depth: Depth::Full,
        project: ProjectFacts {
            kind: ProjectKind::Unknown,
            git: true,
            test: Some(FoundCommand { command: "make test".to_owned(), found_in: "Makefile".to_owned() }),
            lint: None,
            types: None,
            build: None,
            format: None,
            programs: Vec::new(),
            rules: vec![FileDigest { path: "AGENTS.md".to_owned(), sha256: "0".repeat(64) }],
            read: Vec::new(),
        },
        clarifications: Vec::new(),
        notes: Notes::default(),
    }
}

pub(crate) fn criterion(number: usize, check: Check) -> Criterion {
    Criterion {
        number,
        text: format!("criterion {number} of `{{{{spec}}}}`"),
        line: number,
        check,
        track: None,
    }
}

pub(crate) fn command(command: &str, expectations: Vec<Expectation>) -> Check {
    Check::Command(CommandCheck { command: command.to_owned(), place: CheckPlace::Project, expectations })
}

pub(crate) fn prints(line: &str, text: &str) -> Check {
    command(line, vec![Expectation::Prints { text: text.to_owned() }])
}

pub(crate) fn target(path: &str) -> Target {
    let kind = match path {
        _ if path.ends_with('/') => TargetKind::Folder,
        _ if path.contains('*') => TargetKind::Glob,
        _ if path.ends_with(".md") => TargetKind::Document,
        _ => TargetKind::Code,
    };
    Target { path: path.to_owned(), kind, line: 1, reason: "named".to_owned() }
}

pub(crate) fn tool(role: &str, program: &str) -> ToolChoice {
    ToolChoice {
        role: role.to_owned(),
        program: program.to_owned(),
        model: None,
        rule: ToolRule::Default,
        reason: "the default".to_owned(),
        line: None,
    }
}

pub(crate) fn track(name: &str, after: &[&str], path: &str) -> Track {
    let order = |name: &&str| TrackOrder { track: (*name).to_owned(), reason: "the spec says so".to_owned() };
    Track {
        name: name.to_owned(),
        title: format!("Track {name}"),
        goal: format!("Do {name}."),
        line: 1,
        after: after.iter().map(order).collect(),
        targets: vec![target(path)],
    }
}

pub(crate) fn effect(kind: EffectKind, base: Option<&str>, command: Option<&str>) -> Effect {
    Effect {
        kind,
        base: base.map(str::to_owned),
        command: command.map(str::to_owned),
        text: "open a PR".to_owned(),
        line: Some(1),
    }
}

/// One brief for each shape and each kind of check, with a name.
pub(crate) fn all() -> Vec<(&'static str, Brief)> {
    let changed = |change: &dyn Fn(&mut Brief)| {
        let mut brief = plain();
        change(&mut brief);
        brief
    };
    let of = |check: Check| changed(&|brief: &mut Brief| brief.criteria = vec![criterion(1, check.clone())]);
    let texts = |text: &str| text.to_owned();
    let stdout = OutputStream::Stdout;
    vec![
        ("plain", plain()),
        (
            "hostile",
            changed(&|brief| {
                brief.criteria =
                    vec![criterion(1, prints("t 'a b' --x", "it's $(x) `y` \"{{z}}\"\n\ttab\u{1b}"))];
                brief.title = "It's \"so\": {{x}} # no".to_owned();
            }),
        ),
        (
            "source",
            of(command(
                "t --version",
                vec![Expectation::PrintsSource {
                    source: Source::File { path: texts("package.json"), field: Some(texts("version")) },
                }],
            )),
        ),
        (
            "sources",
            of(command(
                "t --version",
                vec![Expectation::PrintsFirstOf {
                    sources: vec![
                        Source::File { path: texts("VERSION"), field: None },
                        Source::File { path: texts("Cargo.toml"), field: Some(texts("version")) },
                        Source::Variable { name: texts("APP_VERSION") },
                        Source::Text { text: texts("0.0.0") },
                    ],
                }],
            )),
        ),
        (
            "missing",
            of(Check::Command(CommandCheck {
                command: texts("./t x"),
                place: CheckPlace::EmptyFolder,
                expectations: vec![Expectation::Exit { code: 3 }],
            })),
        ),
        ("within", of(command("t sync", vec![Expectation::Within { seconds: 2.0 }]))),
        ("json", of(command("t list --json", vec![Expectation::Json { keys: vec![texts("items")] }]))),
        (
            "contains",
            of(command(
                "t list | head -n 3",
                vec![
                    Expectation::Contains { text: texts("--json"), stream: OutputStream::Both },
                    Expectation::Lacks { text: texts("panic"), stream: stdout },
                ],
            )),
        ),
        (
            "fails",
            of(command(
                "t nosuch",
                vec![
                    Expectation::Fails,
                    Expectation::Contains { text: texts("unknown"), stream: OutputStream::Stderr },
                ],
            )),
        ),
        (
            "http",
            of(Check::Http {
                method: texts("GET"),
                path: texts("/health"),
                status: Some(200),
                contains: vec![texts("ok")],
                start: texts("serve --port 8123"),
                port: Some(8123),
            }),
        ),
        (
            "mentions",
            changed(&|brief| {
                brief.criteria.push(criterion(
                    2,
                    Check::FileMentions { path: "docs/cli.md".to_owned(), texts: vec!["--json".to_owned()] },
                ))
            }),
        ),
        (
            "exists",
            changed(&|brief| {
                brief
                    .criteria
                    .push(criterion(2, Check::FileExists { path: "old.txt".to_owned(), exists: false }))
            }),
        ),
        (
            "tests",
            changed(&|brief| {
                brief.criteria.push(criterion(
                    2,
                    Check::TestsPass { command: "make test".to_owned(), found_in: "Makefile".to_owned() },
                ))
            }),
        ),
        (
            "covered",
            changed(&|brief| {
                brief.project.kind = ProjectKind::Cargo;
                brief.project.test = Some(FoundCommand {
                    command: "cargo test".to_owned(),
                    found_in: "Cargo.toml".to_owned(),
                });
                brief.project.programs = vec![ProjectProgram {
                    name: "t".to_owned(),
                    start: ProgramStart::Cargo { bin: "t".to_owned() },
                    found_in: "Cargo.toml".to_owned(),
                }];
                brief.criteria.push(criterion(2, Check::CoveredByTests));
            }),
        ),
        ("person", changed(&|brief| brief.criteria.push(criterion(2, Check::Person)))),
        (
            "light",
            changed(&|brief| {
                brief.depth = Depth::Light;
                brief.tools.reviewers.truncate(1);
                brief.targets.paths = vec![target("docs/")];
            }),
        ),
        (
            "constraints",
            changed(&|brief| {
                brief.constraints = Constraints {
                    unchanged: vec![("Cargo.toml".to_owned(), 1)],
                    max_changed_files: Some(5),
                    texts: vec!["do not touch `Cargo.toml`".to_owned()],
                };
                brief.targets.paths.push(target("app/[id]/*.ts"));
            }),
        ),
        (
            "only-codex",
            changed(&|brief| {
                brief.tools.writer.program = "codex".to_owned();
                brief.tools.reviewers = vec![tool("reviewer-1", "codex")];
                brief.tools.same_program = Some("codex".to_owned());
            }),
        ),
        (
            "pr",
            changed(&|brief| brief.delivery.effects = vec![effect(EffectKind::Pr, Some("develop"), None)]),
        ),
        (
            "deploy",
            changed(&|brief| {
                brief.delivery.effects = vec![
                    effect(EffectKind::Push, None, None),
                    effect(EffectKind::Deploy, None, Some("./deploy.sh")),
                ];
                brief.delivery.approval =
                    Some(Approval { reason: "the spec asks for it".to_owned(), line: Some(1) });
            }),
        ),
        (
            "environment",
            changed(&|brief| {
                brief.environment = vec![
                    Variable { name: "GITHUB_TOKEN".to_owned(), is_secret: true, line: 1 },
                    Variable { name: "REGION".to_owned(), is_secret: false, line: 2 },
                ]
            }),
        ),
        (
            "items",
            changed(&|brief| {
                brief.pattern.name = Pattern::Graph;
                brief.items = Some(Items {
                    task: "convert each".to_owned(),
                    line: 1,
                    in_order: false,
                    items: ["a.md", "b.md", "c.md"]
                        .map(|item| Item { text: item.to_owned(), is_path: true })
                        .to_vec(),
                });
                brief.targets.paths = ["a.md", "b.md", "c.md"].map(target).to_vec();
            }),
        ),
        (
            "tracks",
            changed(&|brief| {
                brief.pattern.name = Pattern::Graph;
                brief.tracks =
                    vec![track("a", &[], "a.sh"), track("b", &["a"], "b.sh"), track("c", &[], "c.sh")];
                brief.targets.paths = ["a.sh", "b.sh", "c.sh"].map(target).to_vec();
                brief.criteria.push(Criterion {
                    track: Some("a".to_owned()),
                    ..criterion(2, prints("a --version", "2"))
                });
                brief.delivery.effects = vec![effect(EffectKind::Pr, Some("main"), None)];
            }),
        ),
        (
            "overlapping-tracks",
            changed(&|brief| {
                brief.pattern.name = Pattern::Graph;
                let mut last = track("c", &["b"], "x");
                last.targets.clear();
                brief.tracks = vec![track("a", &[], "src/cli.sh"), track("b", &["a"], "src/cli.sh"), last];
            }),
        ),
        ("graph", changed(&|brief| brief.pattern.name = Pattern::Graph)),
        (
            "supervisor",
            changed(&|brief| {
                brief.pattern.name = Pattern::Supervisor;
                brief.delivery.effects = vec![effect(EffectKind::Pr, None, None)];
                brief.delivery.approval = Some(Approval { reason: "risk".to_owned(), line: None });
            }),
        ),
        ("no-git", changed(&|brief| brief.project.git = false)),
        (
            "unstated",
            changed(&|brief| {
                brief.targets =
                    Targets { source: TargetSource::Unstated, paths: Vec::new(), dropped: Vec::new() };
                brief.project.test = None;
                brief.budget = Budget { minutes: Some(30.0), usd: Some(5.0) };
            }),
        ),
    ]
}
