//! Puts everything together that a spec says, with the questions that it leaves open.

use crate::{
    brief::{
        AnsweredBy, Brief, Check, Constraints, Criterion, Delivery, Depth, FixLoop, Items, Notes, Pattern,
        PatternChoice, ProjectFacts, SpecSource, TargetSource, Targets, Tools, Track, Warning,
    },
    digest::sha256,
    intake::{
        Answered, Intake, SpecPlace,
        checks::{self, CheckFacts},
        conflicts, effects, heading,
        question::{Cause, Question},
    },
    name::name,
    project,
    reading::{
        acceptance, budget,
        constraints::constraints,
        criterion::ReadCriterion,
        delivery, environment, http,
        items::{fix_loop, items, many_artefacts},
        markers, misplaced,
        pattern::{self, PatternFacts},
        targets, tracks,
    },
    skills::{RankedSkill, rank},
    spec::{self, SectionKind, Spec},
    tools::{self, ToolFacts},
};

/// A brief that is complete if no question is open.
pub(super) struct Draft {
    pub(super) brief: Brief,
    pub(super) skills: Vec<RankedSkill>,
    /// Every question, answered or not, in the order in which they are numbered.
    pub(super) questions: Vec<Question>,
    /// Questions whose answer could not be used.
    unusable: Vec<String>,
}

impl Draft {
    /// Whether the answer to a question could not be used.
    pub(super) fn is_still_open(&self, question: &Question) -> bool {
        self.unusable.contains(&question.subject)
    }
}

/// Reads everything once, with these answers.
pub(super) fn assemble(intake: &Intake, original: &Spec, answered: &[Answered]) -> Draft {
    let mut questions = spec_questions(original);
    let text = filled(intake.spec, answered);
    let spec = misplaced::moved(spec::parse(&text), intake.files, intake.programs);
    let mut project = project::facts(intake.files, intake.git);
    project.test = project.test.or_else(|| checks::answered_test_command(answered));
    let goal = heading::goal(&spec, answered, &mut questions);
    let title = heading::title(&spec, &goal);
    let tracks = tracks::tracks(&spec, intake.files);
    let read = read_criteria(&spec, intake, &tracks, answered);
    let facts = CheckFacts {
        project: &project,
        start: http::start_command(&spec),
        port: http::port(&spec),
        answered,
    };
    let (criteria, of_checks) = checks::checks(&read, &facts);
    let constraints = constraints(&spec, intake.files);
    let targets = with_tracks(targets::targets(&spec, &read, intake.files), &tracks);
    let (targets, constraints, of_files) = conflicts::files(targets, constraints, answered);
    let criteria = proof_questions(criteria, &goal, &targets, &mut questions);
    questions.extend(of_checks.into_iter().chain(of_files));
    let (ranked, unreadable) = rank(intake.skills, intake.spec);
    let mut draft = Parts {
        intake,
        spec: &spec,
        project,
        criteria,
        constraints,
        targets,
        tracks,
        ranked,
        questions,
        answered,
    };
    add_programs(&mut draft.project, &draft.criteria, intake);
    let notes = notes(&draft, &read, unreadable);
    draft.finish(title, goal, notes)
}

/// The parts that the rest follows from.
struct Parts<'a> {
    intake: &'a Intake<'a>,
    spec: &'a Spec,
    project: ProjectFacts,
    criteria: Vec<Criterion>,
    constraints: Constraints,
    targets: Targets,
    tracks: Vec<Track>,
    ranked: Vec<RankedSkill>,
    questions: Vec<Question>,
    answered: &'a [Answered],
}

impl Parts<'_> {
    fn finish(mut self, title: String, goal: String, mut notes: Notes) -> Draft {
        let intake = self.intake;
        let items = items(self.spec, intake.files);
        let fix_loop = fix_loop(self.spec);
        let (named, named_depth) =
            conflicts::words(self.spec, &intake.flags, self.answered, &mut self.questions);
        let pattern = self.pattern(items.as_ref(), fix_loop.as_ref(), named);
        let depth = self.depth(pattern.name, named_depth);
        let tools = self.tools(depth, &mut notes);
        let delivery = self.delivery(&pattern);
        let name = intake.flags.name.clone().or_else(|| name(&title));
        let name = name.unwrap_or_else(|| fallback_name(intake.spec));
        let selected = self.ranked.iter().filter(|skill| skill.selected);
        let brief = Brief {
            spec: source(intake, &name),
            name,
            title,
            goal,
            criteria: self.criteria,
            targets: self.targets,
            constraints: self.constraints,
            tracks: self.tracks,
            items,
            fix_loop,
            tools,
            skills: selected.map(|skill| skill.skill.clone()).collect(),
            environment: environment::variables(self.spec),
            delivery,
            budget: budget::budget(self.spec),
            pattern,
            depth,
            project: self.project,
            clarifications: Vec::new(),
            notes,
        };
        let unusable = conflicts::unusable(self.answered);
        Draft { brief, skills: self.ranked, questions: self.questions, unusable }
    }

    fn pattern(
        &self,
        items: Option<&Items>,
        fix_loop: Option<&FixLoop>,
        named: Option<(Pattern, usize)>,
    ) -> PatternChoice {
        let texts: Vec<String> =
            items.iter().flat_map(|items| items.items.iter().map(|item| item.text.clone())).collect();
        pattern::choose(&PatternFacts {
            spec: self.spec,
            targets: &self.targets,
            items: &texts,
            tracks: self.tracks.len(),
            fix_loop: fix_loop.map(|found| (found.text.clone(), found.line)),
            artefacts: many_artefacts(self.spec),
            flag: self.intake.flags.pattern,
            named,
        })
    }

    fn delivery(&mut self, pattern: &PatternChoice) -> Delivery {
        let is_risky = pattern.name == Pattern::Supervisor;
        let risk = is_risky.then(|| format!("the pattern supervisor: {}", pattern.reason));
        let read = delivery::delivery(self.spec);
        let (delivery, asked) = effects::delivery(read, self.intake.flags.pr, risk.as_deref(), self.answered);
        self.questions.extend(asked);
        delivery
    }

    /// The programs, with the questions and warnings about them.
    fn tools(&mut self, depth: Depth, notes: &mut Notes) -> Tools {
        let intake = self.intake;
        let hints = conflicts::answered_hints(tools::hints(self.spec, intake.programs), self.answered);
        let is_known =
            |program: &str| intake.programs.is_empty() || intake.programs.iter().any(|name| name == program);
        let selected = || self.ranked.iter().filter(|skill| skill.selected);
        for skill in selected() {
            if let Some(agent) = skill.agent.as_deref().filter(|agent| !is_known(agent)) {
                let message =
                    format!("the skill `{}` names the unknown agent program `{agent}`", skill.skill.name);
                notes.warnings.push(Warning { code: "skill", message, line: None });
            }
        }
        let agent = |skill: &RankedSkill| skill.agent.clone().filter(|agent| is_known(agent));
        let by_agent = selected().find_map(|skill| Some((skill.skill.name.clone(), agent(skill)?)));
        let by_model =
            selected().find_map(|skill| Some((skill.skill.name.clone(), skill.model.clone()?, agent(skill))));
        let (tools, contradictions) = tools::choose(&ToolFacts {
            hints: &hints,
            flag_writer: intake.flags.writer.as_deref(),
            flag_reviewers: intake.flags.reviewers.as_deref(),
            skill_agent: by_agent,
            skill_model: by_model,
            config_writer: intake.settings.writer.as_deref(),
            config_reviewers: &intake.settings.reviewers,
            depth,
        });
        self.questions.extend(contradictions.iter().map(conflicts::tool_question));
        if let Some(program) = &tools.same_program {
            let message = format!("`{program}` writes and reviews: the reviews are not by another program");
            notes.warnings.push(Warning { code: "same-program", message, line: tools.writer.line });
        }
        tools
    }

    /// Flag, then the words of the spec, then the configuration, then whether only documents change.
    fn depth(&self, pattern: Pattern, named: Option<Depth>) -> Depth {
        let said = self.intake.flags.depth.or(named).or(self.intake.settings.depth);
        let usual = match pattern::is_documents(&self.targets) && pattern != Pattern::Supervisor {
            true => Depth::Light,
            false => Depth::Full,
        };
        said.unwrap_or(usual)
    }
}

/// The spec as it was read, and where it is or will be.
fn source(intake: &Intake, name: &str) -> SpecSource {
    let (path, is_file) = match &intake.place {
        SpecPlace::File(path) => (path.clone(), true),
        SpecPlace::Beside { folder, stem } => {
            (format!("{folder}/{}.spec.md", stem.as_deref().unwrap_or(name)), false)
        }
    };
    SpecSource { path, sha256: intake.sha256.clone(), text: intake.spec.to_owned(), is_file }
}

fn fallback_name(text: &str) -> String {
    format!("recipe-{}", sha256(text.as_bytes()).get(..8).unwrap_or_default())
}

/// The open questions of the spec.
fn spec_questions(spec: &Spec) -> Vec<Question> {
    let asked = markers::questions(spec).into_iter();
    asked
        .map(|question| Question {
            number: 0,
            text: question.text,
            line: Some(question.line),
            cause: Cause::OpenQuestion,
            judgement: "Choose the smallest change that meets the criteria and follows the conventions of this project."
                .to_owned(),
            subject: question.number.map(|number| number.to_string()).unwrap_or_default(),
            listed: question.number,
        })
        .collect()
}

/// The text with answers in the place of markers such as `TBD`, so that a criterion can be read.
fn filled(text: &str, answered: &[Answered]) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let of_spec = answered
        .iter()
        .filter(|one| one.question.cause == Cause::OpenQuestion && one.by != AnsweredBy::Generator);
    for one in of_spec {
        let Some(line) = one.question.line.and_then(|line| lines.get_mut(line - 1)) else { continue };
        for marker in ["TBD", "TBC", "TBA", "???"] {
            if line.contains(marker) {
                *line = line.replacen(marker, one.answer.replace('\n', " ").trim(), 1);
                break;
            }
        }
    }
    lines.join("\n")
}

/// The criteria of the spec and of answers.
fn read_criteria(
    spec: &Spec,
    intake: &Intake,
    tracks: &[Track],
    answered: &[Answered],
) -> Vec<ReadCriterion> {
    let mut read = acceptance::criteria_of(spec, intake.files);
    for one in &mut read {
        let named = one.track.as_deref().map(tracks::track_name);
        let in_list = spec.of(SectionKind::Tracks).any(|section| {
            section.track.is_none() && section.blocks.iter().any(|block| block.line == one.line)
        });
        let by_line =
            || tracks.iter().rev().find(|track| track.line <= one.line).map(|track| track.name.clone());
        let name = named.or_else(|| if in_list { by_line() } else { None });
        one.track = name.filter(|name| tracks.iter().any(|track| track.name == *name));
    }
    let causes = [Cause::NoCriterion, Cause::OnlyShapeCriteria];
    for one in answered.iter().filter(|one| causes.contains(&one.question.cause)) {
        let answer = spec::parse(&format!("# Answer\n\n## Acceptance\n\n{}\n", one.answer));
        let found = acceptance::criteria_of(&answer, intake.files);
        read.extend(found.into_iter().map(|criterion| ReadCriterion { line: 0, ..criterion }));
    }
    read
}

/// Targets of tracks are targets too.
fn with_tracks(mut targets: Targets, tracks: &[Track]) -> Targets {
    for target in tracks.iter().flat_map(|track| &track.targets) {
        if !targets.paths.iter().any(|known| known.path == target.path) {
            targets.paths.push(target.clone());
        }
    }
    if targets.source == TargetSource::Unstated && !targets.paths.is_empty() {
        targets.source = TargetSource::Prose;
    }
    targets
}

/// Whether a check proves a behaviour; documents are their own proof.
fn is_proof(check: &Check, targets: &Targets) -> bool {
    match check {
        Check::Supporting { .. } => false,
        Check::FileMentions { .. } | Check::FileLacks { .. } | Check::FileExists { .. } => {
            pattern::is_documents(targets)
        }
        _ => true,
    }
}

/// Asks for criteria where there are none, or none that proves a behaviour.
fn proof_questions(
    criteria: Vec<Criterion>,
    goal: &str,
    targets: &Targets,
    questions: &mut Vec<Question>,
) -> Vec<Criterion> {
    let of_spec: Vec<&Criterion> = criteria.iter().filter(|one| one.line > 0).collect();
    let (cause, text, line) = if of_spec.is_empty() {
        (
            Cause::NoCriterion,
            "Which behaviour shows that the work is done? The spec has no acceptance criterion.".to_owned(),
            None,
        )
    } else if !of_spec.iter().any(|one| is_proof(&one.check, targets)) {
        let text = format!("Which behaviour shows success? \"{}\" is no proof of one.", of_spec[0].text);
        (Cause::OnlyShapeCriteria, text, Some(of_spec[0].line))
    } else {
        return criteria;
    };
    let first = goal.lines().next().unwrap_or_default();
    let judgement = format!("A person decides whether the goal is reached: {first}");
    questions.push(Question {
        number: 0,
        text,
        line,
        cause,
        judgement,
        subject: "criterion".to_owned(),
        listed: None,
    });
    criteria
}

/// Programs at the root of the project that a command of the spec names.
fn add_programs(project: &mut ProjectFacts, criteria: &[Criterion], intake: &Intake) {
    for criterion in criteria {
        let command = match &criterion.check {
            Check::Command(check) => &check.command,
            Check::Http { start, .. } => start,
            _ => continue,
        };
        let name = command.split_whitespace().next().unwrap_or_default();
        if project.programs.iter().any(|program| program.name == name) {
            continue;
        }
        project.programs.extend(project::by_file(name, intake.files));
    }
}

fn notes(parts: &Parts, read: &[ReadCriterion], unreadable: Vec<String>) -> Notes {
    let mut notes = Notes::default();
    for one in read {
        if let Some(circumstance) = &one.circumstance {
            let message =
                format!("the gate does not set up \"{circumstance}\": it runs the command as it is");
            notes.warnings.push(Warning { code: "circumstance", message, line: Some(one.line) });
        }
    }
    for path in unreadable {
        let message = format!("`{path}` has no front matter with a name, so it cannot be selected");
        notes.warnings.push(Warning { code: "skill", message, line: None });
    }
    if parts.targets.source == TargetSource::Unstated {
        notes.assumptions.push(
            "The spec names no target files: every file may change that no constraint protects.".to_owned(),
        );
    }
    if parts.project.test.is_none() {
        notes
            .assumptions
            .push("No test command is known: the recipe runs no tests of the project.".to_owned());
    }
    if parts.intake.skills.is_empty() {
        notes.assumptions.push("There are no skills: none was selected.".to_owned());
    }
    notes
}
