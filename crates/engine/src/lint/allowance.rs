//! Comments that allow a finding: `# lint: allow CODE reason` above a step.

use recipe::{
    diagnostic::did_you_mean,
    field_places::FieldPlaces,
    plan::Plan,
    source::{FileId, Place, Span},
    yaml::{Node, NodeKind},
};

use super::{Finding, LintCode};

const MARK: &str = "lint:";

/// A comment that allows a finding.
pub(super) struct Allowance {
    place: Place,
    /// The rule, or the word that names none.
    code: Result<LintCode, String>,
    has_reason: bool,
    /// The bytes that it is about: a step, or everything outside the steps.
    about: About,
}

enum About {
    Span(Span),
    Line(usize),
    OutsideSteps(Vec<Span>),
}

impl Allowance {
    /// Whether it allows a finding. One without a reason allows nothing.
    pub(super) fn covers(&self, finding: &Finding, plan: &Plan) -> bool {
        let is_inside = |span: &Span| (span.start..span.end).contains(&finding.place.span.start);
        let is_about = match &self.about {
            About::Span(span) => is_inside(span),
            About::Line(line) => plan.sources.line_column(finding.place).line == *line,
            About::OutsideSteps(steps) => !steps.iter().any(is_inside),
        };
        self.has_reason && self.code == Ok(finding.code) && finding.place.file == self.place.file && is_about
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<Finding> {
        let (message, help) = match &self.code {
            Ok(code) if !self.has_reason => (
                format!("the comment allows `{}` without a reason", code.as_str()),
                "write the reason after the rule".to_owned(),
            ),
            Ok(_) => return None,
            Err(word) if word.is_empty() => {
                ("the comment names no rule".to_owned(), format!("write `# {MARK} allow RULE reason`"))
            }
            Err(word) => {
                let known = LintCode::ALL.iter().map(|code| code.as_str());
                let meant = did_you_mean(word, known).map(|meant| format!("did you mean `{meant}`?"));
                let help = meant.unwrap_or_else(|| format!("write `# {MARK} allow RULE reason`"));
                (format!("`{word}` is not a rule of `lint`"), help)
            }
        };
        let code = LintCode::BadAllowance;
        Some(Finding { code, level: code.level(), place: self.place, message, help, fix: None })
    }
}

/// All such comments in the files of a plan.
pub(super) fn find(plan: &Plan, places: &FieldPlaces) -> Vec<Allowance> {
    let files = plan.sources.iter().map(|(id, _)| id);
    files
        .filter_map(|id| Some((id, places.file(id)?)))
        .flat_map(|(id, root)| in_file(plan, id, root))
        .collect()
}

fn in_file(plan: &Plan, file: FileId, root: &Node) -> Vec<Allowance> {
    let text: &str = &plan.sources.file(file).text;
    if !text.contains(MARK) {
        return Vec::new();
    }
    let (mut texts, steps) = (Vec::new(), step_spans(root));
    scalar_spans(root, &mut texts);
    let first = root.place.span.start as usize;
    let (mut found, mut pending, mut start) = (Vec::new(), Vec::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim();
        let at = start + (line.len() - line.trim_start().len());
        let is_text = texts.iter().any(|span: &Span| span.range().contains(&at) && at > span.start as usize);
        match trimmed.strip_prefix('#').filter(|_| !is_text) {
            Some(comment) => pending.extend(read(comment).map(|read| (read, at..at + trimmed.len()))),
            None if trimmed.is_empty() => {}
            None => {
                for ((code, has_reason), range) in pending.drain(..) {
                    let step = steps.iter().find(|span| line_holds(start, line.len(), **span));
                    let about = match step {
                        Some(step) => About::Span(*step),
                        None if start <= first && first < start + line.len() => {
                            About::OutsideSteps(steps.clone())
                        }
                        None => About::Line(number + 1),
                    };
                    found.push(Allowance {
                        place: Place { file, span: Span::new(range) },
                        code,
                        has_reason,
                        about,
                    });
                }
            }
        }
        start += line.len();
    }
    found
}

/// Whether a step begins in a line.
fn line_holds(start: usize, length: usize, span: Span) -> bool {
    (start..start + length).contains(&(span.start as usize))
}

/// The rule of a comment, and whether it has a reason; `None` if the comment is another one.
fn read(comment: &str) -> Option<(Result<LintCode, String>, bool)> {
    let rest = comment.trim_start().strip_prefix(MARK)?.trim_start().strip_prefix("allow")?;
    let mut words = rest.split_whitespace();
    let word = words.next().unwrap_or_default().trim_end_matches([':', ',']);
    let has_reason = words.any(|word| word.chars().any(char::is_alphanumeric));
    Some((LintCode::named(word).ok_or_else(|| word.to_owned()), has_reason))
}

fn step_spans(root: &Node) -> Vec<Span> {
    match root.get("steps").map(|steps| &steps.value.kind) {
        Some(NodeKind::List(steps)) => steps.iter().map(|step| step.place.span).collect(),
        _ => Vec::new(),
    }
}

fn scalar_spans(node: &Node, spans: &mut Vec<Span>) {
    match &node.kind {
        NodeKind::Scalar(_) => spans.push(node.place.span),
        NodeKind::List(items) => items.iter().for_each(|item| scalar_spans(item, spans)),
        NodeKind::Map(entries) => entries.iter().for_each(|entry| scalar_spans(&entry.value, spans)),
    }
}
