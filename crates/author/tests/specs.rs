//! A corpus of specs: what each is read as. `UPDATE_EXPECT=1` writes the expected texts again; read the diff.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot continue panics")]

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use author::{
    brief::{Brief, Check, CheckPlace, Expectation, OutputStream, Source},
    digest::sha256,
    intake::{Flags, GenerateSettings, Intake, Reading, SpecPlace, Stopped, read},
    project::ProjectFiles,
};

/// Files in memory.
struct Files(BTreeMap<&'static str, &'static str>);

impl ProjectFiles for Files {
    fn text(&self, path: &str) -> Option<String> {
        self.0.get(path).map(|text| (*text).to_owned())
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.0.keys().any(|file| file.starts_with(&format!("{path}/")))
    }

    fn is_program(&self, path: &str) -> bool {
        self.0.get(path).is_some_and(|text| text.starts_with("#!"))
    }
}

/// A project of a kind that a spec of the corpus names in the first line of its expected text.
fn project(kind: &str) -> Files {
    let files: &[(&str, &str)] = match kind {
        "cargo" => &[
            ("Cargo.toml", "[package]\nname = \"t\"\nversion = \"1.4.2\"\n"),
            ("src/main.rs", "fn main() {}\n"),
        ],
        "npm" => &[
            (
                "package.json",
                r#"{"name": "t", "version": "1.4.2", "bin": {"t": "./cli.js"}, "scripts": {"test": "node --test", "lint": "eslint ."}}"#,
            ),
            ("cli.js", "#!/usr/bin/env node\n"),
        ],
        "python" => &[(
            "pyproject.toml",
            "[project]\nname = \"t\"\n[project.scripts]\nt = \"t.cli:main\"\n[tool.pytest.ini_options]\n",
        )],
        "empty" => &[],
        other => panic!("no project `{other}`"),
    };
    Files(files.iter().copied().collect())
}

fn intake<'a>(spec: &'a str, files: &'a Files) -> Intake<'a> {
    Intake {
        spec,
        sha256: sha256(spec.as_bytes()),
        place: SpecPlace::File("SPEC.md".to_owned()),
        files,
        git: true,
        skills: &[],
        programs: &[],
        settings: GenerateSettings::default(),
        flags: Flags::default(),
        answers: Vec::new(),
        best_judgement: false,
    }
}

fn stream(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
        OutputStream::Both => "output",
    }
}

fn source(source: &Source) -> String {
    match source {
        Source::File { path, field } => format!("{path}#{}", field.as_deref().unwrap_or("all")),
        Source::Variable { name } => format!("${name}"),
        Source::Text { text } => format!("\"{text}\""),
    }
}

fn expectation(one: &Expectation) -> String {
    match one {
        Expectation::Prints { text } => format!("prints {text:?}"),
        Expectation::PrintsSource { source: from } => format!("prints {}", source(from)),
        Expectation::PrintsFirstOf { sources } => {
            format!("prints first of {}", sources.iter().map(source).collect::<Vec<_>>().join(", "))
        }
        Expectation::Json { keys } => format!("prints JSON with {keys:?}"),
        Expectation::Contains { text, stream: on } => format!("{} contains {text:?}", stream(*on)),
        Expectation::Lacks { text, stream: on } => format!("{} lacks {text:?}", stream(*on)),
        Expectation::Exit { code } => format!("exits {code}"),
        Expectation::Fails => "fails".to_owned(),
        Expectation::Within { seconds } => format!("within {seconds} s"),
    }
}

fn check(check: &Check) -> String {
    match check {
        Check::Command(check) => {
            let place = if check.place == CheckPlace::EmptyFolder { " in an empty folder" } else { "" };
            let expected: Vec<String> = check.expectations.iter().map(expectation).collect();
            format!("`{}`{place}: {}", check.command, expected.join("; "))
        }
        Check::Http { method, path, status, contains, start, port } => {
            format!("{method} {path} of `{start}` port {port:?}: {status:?} {contains:?}")
        }
        Check::FileMentions { path, texts } => format!("{path} mentions {texts:?}"),
        Check::FileLacks { path, texts } => format!("{path} lacks {texts:?}"),
        Check::FileExists { path, exists } => format!("{path} exists: {exists}"),
        Check::TestsPass { command, found_in } => format!("tests pass: `{command}` from {found_in}"),
        Check::Supporting { support, command, found_in } => {
            format!("{support:?}: `{command}` from {found_in}")
        }
        Check::CoveredByTests => "covered by tests".to_owned(),
        Check::Person => "a person".to_owned(),
    }
}

/// What a spec was read as, in lines.
fn summary(reading: &Reading) -> String {
    let brief = &reading.brief;
    let mut text =
        format!("name: {}\npattern: {:?}: {}\n", brief.name, brief.pattern.name, brief.pattern.reason);
    for one in &brief.criteria {
        let track = one.track.as_ref().map(|track| format!(" [{track}]")).unwrap_or_default();
        writeln!(text, "accept-{}{track} line {}: {}", one.number, one.line, check(&one.check)).unwrap();
    }
    for target in &brief.targets.paths {
        writeln!(text, "target: {} ({:?})", target.path, target.kind).unwrap();
    }
    for dropped in &brief.targets.dropped {
        writeln!(text, "dropped: {}: {}", dropped.text, dropped.reason).unwrap();
    }
    work(brief, &mut text);
    text
}

fn work(brief: &Brief, text: &mut String) {
    for (path, _) in &brief.constraints.unchanged {
        writeln!(text, "unchanged: {path}").unwrap();
    }
    if let Some(most) = brief.constraints.max_changed_files {
        writeln!(text, "at most {most} files").unwrap();
    }
    for track in &brief.tracks {
        let after: Vec<String> =
            track.after.iter().map(|order| format!("{} ({})", order.track, order.reason)).collect();
        let targets: Vec<&str> = track.targets.iter().map(|target| target.path.as_str()).collect();
        writeln!(text, "track: {} targets [{}] after [{}]", track.name, targets.join(", "), after.join(", "))
            .unwrap();
    }
    if let Some(items) = &brief.items {
        let names: Vec<&str> = items.items.iter().map(|item| item.text.as_str()).collect();
        writeln!(text, "items: {}{}", names.join(", "), if items.in_order { " in order" } else { "" })
            .unwrap();
    }
    if let Some(found) = &brief.fix_loop {
        writeln!(text, "loop: {:?} {}", found.command, found.text).unwrap();
    }
    let tools = &brief.tools;
    for choice in [&tools.writer].into_iter().chain(&tools.reviewers).chain([&tools.planner]) {
        let model = choice.model.as_ref().map(|model| format!(" model {}", model.name)).unwrap_or_default();
        writeln!(text, "{}: {}{model} by {:?}", choice.role, choice.program, choice.rule).unwrap();
    }
    for variable in &brief.environment {
        writeln!(text, "needs: {}{}", variable.name, if variable.is_secret { " (secret)" } else { "" })
            .unwrap();
    }
    for effect in &brief.delivery.effects {
        writeln!(text, "effect: {:?} base {:?} command {:?}", effect.kind, effect.base, effect.command)
            .unwrap();
    }
    if let Some(approval) = &brief.delivery.approval {
        writeln!(text, "approval: {}", approval.reason).unwrap();
    }
    if brief.budget != author::brief::Budget::default() {
        writeln!(text, "budget: {:?} minutes, {:?} USD", brief.budget.minutes, brief.budget.usd).unwrap();
    }
    writeln!(text, "depth: {:?}", brief.depth).unwrap();
    for one in &brief.clarifications {
        writeln!(text, "{}: {} -> {} by {:?}", one.number, one.question, one.answer, one.answered_by)
            .unwrap();
    }
    for warning in &brief.notes.warnings {
        writeln!(text, "warning: {}: {}", warning.code, warning.message).unwrap();
    }
}

fn read_as(spec: &str, kind: &str) -> String {
    let files = project(kind);
    match read(&intake(spec, &files)) {
        Ok(reading) => summary(&reading),
        Err(Stopped::Questions(questions)) => {
            let line = |one: &author::intake::Question| {
                format!("question {} line {:?} {:?}: {}\n", one.number, one.line, one.cause, one.text)
            };
            questions.iter().map(line).collect()
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a35_every_spec_of_the_corpus_is_read_as_expected() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/specs");
    let mut specs: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    specs.retain(|path| path.extension().is_some_and(|end| end == "md"));
    specs.sort();
    assert!(specs.len() >= 30, "{} specs", specs.len());
    let mut wrong = String::new();
    for path in specs {
        let expected_file = path.with_extension("txt");
        let expected = fs::read_to_string(&expected_file).unwrap_or_else(|_| "project: cargo\n".to_owned());
        let kind =
            expected.lines().next().and_then(|line| line.strip_prefix("project: ")).expect("a project");
        let found = format!("project: {kind}\n{}", read_as(&fs::read_to_string(&path).unwrap(), kind));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expected_file, &found).unwrap();
        } else if found != expected {
            writeln!(wrong, "--- {}\nexpected\n{expected}\nfound\n{found}", path.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
