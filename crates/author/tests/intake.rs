//! Questions and their answers, programs and skills: what a brief follows from besides the words of the spec.
#![expect(clippy::panic, reason = "a test that cannot continue panics")]

use author::{
    brief::{AnsweredBy, Check, Depth, EffectKind, Pattern, ToolRule},
    digest::sha256,
    intake::{
        Cause, Flags, GenerateSettings, Intake, Question, Reading, SpecError, SpecPlace, Stopped, read,
        spec_text,
    },
    project::ProjectFiles,
    skills::SkillFile,
};

/// A project without files.
struct Empty;

impl ProjectFiles for Empty {
    fn text(&self, _: &str) -> Option<String> {
        None
    }
    fn is_file(&self, _: &str) -> bool {
        false
    }
    fn is_folder(&self, _: &str) -> bool {
        false
    }
    fn is_program(&self, _: &str) -> bool {
        false
    }
}

fn intake(spec: &str) -> Intake<'_> {
    Intake {
        spec,
        sha256: sha256(spec.as_bytes()),
        place: SpecPlace::Beside { folder: "recipes".to_owned(), stem: None },
        files: &Empty,
        git: true,
        skills: &[],
        programs: &[],
        settings: GenerateSettings::default(),
        flags: Flags::default(),
        answers: Vec::new(),
        best_judgement: false,
    }
}

fn questions(intake: &Intake) -> Vec<Question> {
    match read(intake) {
        Err(Stopped::Questions(questions)) => questions,
        other => panic!("{other:?}"),
    }
}

fn ready(intake: &Intake) -> Reading {
    match read(intake) {
        Ok(reading) => reading,
        Err(stopped) => panic!("{stopped:?}"),
    }
}

const OPEN: &str = "# Export\n\nExport it.\n\n## Acceptance\n- `t x` prints TBD\n- all tests pass\n\n## Open questions\n- CSV or JSON?\n\n## Delivery\nDeploy it.\n";

#[test]
fn a31_questions_keep_their_numbers_when_others_are_answered() {
    let all = questions(&intake(OPEN));
    let seen: Vec<(usize, Cause)> = all.iter().map(|one| (one.number, one.cause)).collect();
    let causes =
        [Cause::OpenQuestion, Cause::OpenQuestion, Cause::NoTestCommand, Cause::EffectWithoutApproval];
    assert_eq!(seen, (1..=4).zip(causes).collect::<Vec<_>>());
    assert_eq!((all[0].text.as_str(), all[0].line), ("`t x` prints TBD", Some(6)));
    assert_eq!((all[1].text.as_str(), all[1].line), ("CSV or JSON?", Some(10)));
    let some =
        Intake { answers: vec![(1, "`7`".to_owned()), (3, "`make check`".to_owned())], ..intake(OPEN) };
    let rest: Vec<usize> = questions(&some).iter().map(|one| one.number).collect();
    assert_eq!(rest, [2, 4]);
}

#[test]
fn answers_of_the_user_fill_the_spec() {
    let answers = [(1, "`7`"), (2, "CSV"), (3, "`make check`"), (4, "no, it is a test system")];
    let answers = answers.map(|(number, text)| (number, text.to_owned())).to_vec();
    let brief = ready(&Intake { answers, ..intake(OPEN) }).brief;
    let Check::Command(check) = &brief.criteria[0].check else { panic!("{:?}", brief.criteria) };
    assert_eq!(check.command, "t x");
    let tests = Check::TestsPass { command: "make check".to_owned(), found_in: "answer".to_owned() };
    assert_eq!(brief.criteria[1].check, tests);
    assert_eq!((brief.delivery.effects.len(), brief.delivery.approval), (1, None));
    assert!(brief.clarifications.iter().all(|one| one.answered_by == AnsweredBy::User));
    assert_eq!(brief.clarifications.len(), 4);
    let unknown = Intake { answers: vec![(9, "x".to_owned())], ..intake(OPEN) };
    assert_eq!(read(&unknown), Err(Stopped::NoSuchQuestion(9, 4)));
}

#[test]
fn a32_best_judgement_answers_everything_and_says_so() {
    let brief = ready(&Intake { best_judgement: true, ..intake(OPEN) }).brief;
    assert_eq!(brief.clarifications.len(), 4);
    assert!(
        brief
            .clarifications
            .iter()
            .all(|one| one.answered_by == AnsweredBy::Generator && !one.answer.is_empty())
    );
    assert!(brief.delivery.approval.is_some(), "a person is asked before the deployment");
    assert_eq!(brief.criteria[1].check, Check::Person, "no test command is invented");
    // an answer of the user is never replaced
    let mixed = Intake { best_judgement: true, answers: vec![(2, "CSV".to_owned())], ..intake(OPEN) };
    let brief = ready(&mixed).brief;
    assert_eq!(brief.clarifications[1].answered_by, AnsweredBy::User);
}

#[test]
fn a_vague_spec_is_closed_by_criteria() {
    let vague = "make onboarding better";
    assert_eq!(questions(&intake(vague))[0].cause, Cause::NoCriterion);
    let answered = Intake { answers: vec![(1, "`t start` prints `hi`".to_owned())], ..intake(vague) };
    let brief = ready(&answered).brief;
    assert_eq!((brief.criteria.len(), brief.criteria[0].line), (1, 0));
    assert!(matches!(brief.criteria[0].check, Check::Command(_)));
    let judged = ready(&Intake { best_judgement: true, ..intake(vague) }).brief;
    assert_eq!(judged.criteria[0].check, Check::Person);
    // an answer that proves no behaviour leaves the question open
    let shape = Intake { answers: vec![(1, "`cargo clippy` passes".to_owned())], ..intake(vague) };
    assert_eq!(questions(&shape)[0].cause, Cause::NoCriterion);
    // an answer can lead to a new question, which comes last
    let tests = Intake { answers: vec![(1, "all tests pass".to_owned())], ..intake(vague) };
    let open = questions(&tests);
    assert_eq!((open.len(), open[0].number, open[0].cause), (1, 2, Cause::NoTestCommand));
}

#[test]
fn a33_flags_override_words_and_close_their_question() {
    let spec = "# X\n\nCodex implements it. Gemini implements it. Open a PR. Never open a PR.\n\
        Use the pipeline pattern. Use the graph pattern. A light review, a full review.\n\n## Acceptance\n- `t` prints `x`\n";
    assert_eq!(questions(&intake(spec)).len(), 4);
    let flags = Flags {
        name: Some("mine".to_owned()),
        pattern: Some(Pattern::Supervisor),
        depth: Some(Depth::Light),
        writer: Some("claude".to_owned()),
        reviewers: Some(vec!["codex".to_owned()]),
        pr: Some(true),
    };
    let brief = ready(&Intake { flags, ..intake(spec) }).brief;
    assert_eq!(
        (brief.name.as_str(), brief.pattern.name, brief.depth),
        ("mine", Pattern::Supervisor, Depth::Light)
    );
    assert_eq!((brief.tools.writer.program.as_str(), brief.tools.writer.rule), ("claude", ToolRule::Flag));
    assert_eq!(brief.tools.reviewers[0].program, "codex");
    assert_eq!(brief.delivery.effects[0].kind, EffectKind::Pr);
    assert!(brief.clarifications.is_empty());
    let no_pr = Flags { pr: Some(false), ..Flags::default() };
    let open = questions(&Intake { flags: no_pr, ..intake(spec) });
    assert_eq!(open.len(), 3, "{open:?}");
}

fn skill(name: &str, more: &str) -> SkillFile {
    let text = format!("---\nname: {name}\n{more}---\n# {name}\n");
    SkillFile { path: format!(".claude/skills/{name}/SKILL.md"), text }
}

#[test]
fn a38_spec_beats_skill_beats_configuration_beats_default() {
    let plain = "# Redo the parser\n\nChange the parser grammar.\n\n## Acceptance\n- `t` prints `x`\n";
    let hinted = format!("{plain}\nUse Gemini to implement.\n");
    let skills = [skill("parser", "description: grammar rules\nagent: codex\nmodel: m1\n")];
    let settings = GenerateSettings { writer: Some("copilot".to_owned()), ..GenerateSettings::default() };
    for (spec, skills, settings, program, rule) in [
        (plain, &[][..], GenerateSettings::default(), "claude", ToolRule::Default),
        (plain, &[], settings.clone(), "copilot", ToolRule::Configuration),
        (plain, &skills, settings.clone(), "codex", ToolRule::Skill),
        (plain, &skills, GenerateSettings::default(), "codex", ToolRule::Skill),
        (&hinted, &skills, settings.clone(), "gemini", ToolRule::Spec),
        (&hinted, &skills, GenerateSettings::default(), "gemini", ToolRule::Spec),
        (&hinted, &[], settings, "gemini", ToolRule::Spec),
        (&hinted, &[], GenerateSettings::default(), "gemini", ToolRule::Spec),
    ] {
        let brief = ready(&Intake { skills, settings, ..intake(spec) }).brief;
        let writer = &brief.tools.writer;
        assert_eq!((writer.program.as_str(), writer.rule), (program, rule), "{spec}");
        assert!(!writer.reason.is_empty());
        assert_eq!(writer.line.is_some(), rule == ToolRule::Spec);
        assert!(
            brief.tools.reviewers.iter().all(|choice| choice.program != program),
            "{:?}",
            brief.tools.reviewers
        );
        // the model of a skill belongs to its own program
        assert_eq!(
            writer.model.as_ref().map(|model| model.name.as_str()),
            (rule == ToolRule::Skill).then_some("m1")
        );
    }
}

#[test]
fn reviewers_of_the_configuration_and_a_reviewer_that_is_the_default_writer() {
    let spec = "# X\n\nChange it.\n\n## Acceptance\n- `t` prints `x`\n";
    let reviewers = vec!["claude".to_owned(), "opencode".to_owned(), "gemini".to_owned()];
    let settings = GenerateSettings { reviewers, depth: Some(Depth::Light), ..GenerateSettings::default() };
    let brief = ready(&Intake { settings, ..intake(spec) }).brief;
    let names: Vec<&str> = brief.tools.reviewers.iter().map(|choice| choice.program.as_str()).collect();
    assert_eq!(
        (names, brief.depth),
        (vec!["opencode"], Depth::Light),
        "not the writer, and one for depth light"
    );
    let hinted = format!("{spec}\nClaude reviews.\n");
    let tools = ready(&intake(&hinted)).brief.tools;
    assert_eq!((tools.writer.program.as_str(), tools.reviewers[0].program.as_str()), ("codex", "claude"));
}

#[test]
fn a36_skills_are_scored_by_the_formula() {
    let spec =
        "# Fix the parser\n\nThe grammar of the parser loses comments.\n\n## Acceptance\n- `t` prints `x`\n";
    let skills = [
        skill("parser", "description: how grammar files are edited\n"),
        skill("billing", "description: invoices and refunds\n"),
    ];
    let reading = ready(&Intake { skills: &skills, ..intake(spec) });
    assert_eq!(reading.skills.len(), 1, "billing has no term of the spec");
    let found = &reading.skills[0].skill;
    // parser: ln(1 + 2/1) × 3, grammar: ln(1 + 2/1) × 1
    let score = 3f64.ln() * 4.0;
    assert!((found.score - score).abs() < 1e-5, "{}", found.score);
    assert!((found.confidence - (1.0 - (-score / 4.0).exp())).abs() < 1e-5, "{}", found.confidence);
    let terms: Vec<(&str, &str, u32)> =
        found.evidence.iter().map(|term| (term.term.as_str(), term.field, term.weight)).collect();
    assert_eq!(terms, [("grammar", "description", 1), ("parser", "name", 3)]);
    assert!(reading.skills[0].selected);
    assert_eq!(reading.brief.skills.len(), 1);
}

#[test]
fn a36_common_words_and_single_terms_select_nothing() {
    let spec = "# Fix the parser\n\nUse the code of the parser.\n\n## Acceptance\n- `t` prints `x`\n";
    let one = [skill("helper", "description: use the code of a parser when you need to\n")];
    let reading = ready(&Intake { skills: &one, ..intake(spec) });
    assert!(!reading.skills[0].selected && reading.brief.skills.is_empty(), "{:?}", reading.skills);
    // from four skills on, a term in more than half of them does not count
    let four: Vec<SkillFile> = ["a1", "b1", "c1", "d1"]
        .iter()
        .map(|name| {
            skill(name, if *name == "d1" { "keywords: [parser]\n" } else { "keywords: [parser, comments]\n" })
        })
        .collect();
    assert!(ready(&Intake { skills: &four, ..intake(spec) }).skills.is_empty());
    let broken = [SkillFile { path: "skills/x/SKILL.md".to_owned(), text: "no front matter".to_owned() }];
    let reading = ready(&Intake { skills: &broken, ..intake(spec) });
    assert_eq!((reading.brief.notes.warnings[0].code, reading.skills.len()), ("skill", 0));
}

#[test]
fn at_most_five_skills_are_selected_and_ties_go_by_name() {
    let spec = "# Parser grammar\n\nChange alpha, beta and gamma.\n\n## Acceptance\n- `t` prints `x`\n";
    let names = ["s7", "s3", "s1", "s2", "s6", "s5", "s4"];
    // more skills without these terms, so that they count
    let others: Vec<String> = (0..9).map(|at| format!("other{at}")).collect();
    let mut skills: Vec<SkillFile> =
        names.iter().map(|name| skill(name, "keywords: [grammar, alpha, beta]\n")).collect();
    skills.extend(others.iter().map(|name| skill(name, "keywords: [unrelated]\n")));
    let reading = ready(&Intake { skills: &skills, ..intake(spec) });
    let selected: Vec<&str> = reading.brief.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(selected, ["s1", "s2", "s3", "s4", "s5"]);
    assert_eq!(reading.skills.iter().filter(|skill| !skill.selected).count(), 2);
}

#[test]
fn a27_bytes_that_are_no_spec() {
    for (bytes, error) in [
        (&b""[..], SpecError::Empty),
        (b" \n\t\n", SpecError::Empty),
        (b"\xef\xbb\xbf\n", SpecError::Empty),
        (b"---\n***\n", SpecError::Empty),
        (b"```\nonly code\n```\n", SpecError::Empty),
        (b"<!-- only a comment -->", SpecError::Empty),
        (b"a\0b", SpecError::Binary),
        (b"\xff\xfe\x41", SpecError::NotText),
        (&[b'a'; 256 * 1024 + 1], SpecError::TooLarge),
    ] {
        assert_eq!(spec_text(bytes), Err(error));
    }
    assert_eq!(spec_text(&[b'a'; 256 * 1024]).unwrap().len(), 256 * 1024);
    assert_eq!(spec_text("\u{feff}# Title".as_bytes()).unwrap(), "# Title");
}
