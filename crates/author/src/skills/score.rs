//! Scores skills. Score = Σ ln(1 + skills ÷ skills with the term) × weight, over distinct terms that the spec has.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    SkillFile,
    front_matter::{Skill, read},
};
use crate::{
    brief::{SelectedSkill, SkillTerm},
    digest::sha256,
    words::skills,
};

/// The least confidence of a selected skill.
const LEAST: f64 = 0.4;
/// The most skills that are selected.
const MOST: usize = 5;
/// From this number of skills on, terms in more than half of them do not count.
const MANY: usize = 4;

/// A skill with its score.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RankedSkill {
    #[serde(flatten)]
    pub skill: SelectedSkill,
    pub selected: bool,
    /// Why it was not selected.
    pub reason: Option<String>,
    #[serde(skip)]
    pub agent: Option<String>,
    #[serde(skip)]
    pub model: Option<String>,
}

/// The terms of a text: words of letters and digits, in lower case, without stop words.
fn terms(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_term = |word: &&str| word.len() > 1 && !skills().stop.has(word);
    words.filter(is_term).map(str::to_owned).collect()
}

/// The terms of a skill with their fields and weights: the highest weight counts.
fn weighted(skill: &Skill) -> BTreeMap<String, (&'static str, u32)> {
    let mut found = BTreeMap::new();
    let fields = [
        ("name", 3, skill.name.clone()),
        ("keywords", 2, skill.keywords.join(" ")),
        ("files", 2, skill.files.join(" ")),
        ("description", 1, skill.description.clone()),
    ];
    for (field, weight, text) in fields {
        for term in terms(&text) {
            found.entry(term).or_insert((field, weight));
        }
    }
    found
}

/// All skills with at least one term of the spec, the best first; and how many files have no usable front matter.
pub(crate) fn rank(files: &[SkillFile], spec: &str) -> (Vec<RankedSkill>, Vec<String>) {
    let mut unreadable = Vec::new();
    let mut all: Vec<(&SkillFile, Skill)> = Vec::new();
    for file in files {
        match read(file) {
            // the first skill with a name wins: those of the project come first
            Some(skill) if all.iter().any(|(_, known)| known.name == skill.name) => {}
            Some(skill) => all.push((file, skill)),
            None => unreadable.push(file.path.clone()),
        }
    }
    let tables: Vec<BTreeMap<String, (&'static str, u32)>> =
        all.iter().map(|(_, skill)| weighted(skill)).collect();
    let count = |term: &str| tables.iter().filter(|table| table.contains_key(term)).count();
    let spec_terms = terms(spec);
    let spec_words = format!(" {} ", normal(spec));
    let mut ranked: Vec<RankedSkill> = all
        .iter()
        .zip(&tables)
        .filter_map(|((file, skill), table)| {
            let counts = |term: &str| all.len() < MANY || count(term) * 2 <= all.len();
            let evidence: Vec<SkillTerm> = table
                .iter()
                .filter(|(term, _)| spec_terms.contains(*term) && counts(term))
                .map(|(term, (field, weight))| SkillTerm { term: term.clone(), field, weight: *weight })
                .collect();
            let has_name = spec_words.contains(&format!(" {} ", normal(&skill.name)));
            let weigh = |term: &SkillTerm| {
                (1.0 + all.len() as f64 / count(&term.term) as f64).ln() * f64::from(term.weight)
            };
            let score = rounded(evidence.iter().map(weigh).sum());
            (!evidence.is_empty()).then(|| made(file, skill, evidence, score, has_name))
        })
        .collect();
    ranked.sort_by(|one, other| {
        other.skill.score.total_cmp(&one.skill.score).then_with(|| one.skill.name.cmp(&other.skill.name))
    });
    let mut selected = 0;
    for skill in ranked.iter_mut().filter(|skill| skill.selected) {
        selected += 1;
        if selected > MOST {
            skill.selected = false;
            skill.reason = Some(format!("{MOST} skills fit better"));
        }
    }
    (ranked, unreadable)
}

/// Words with single blanks, in lower case.
fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Six decimals are enough, and the same on every machine.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn made(
    file: &SkillFile,
    skill: &Skill,
    evidence: Vec<SkillTerm>,
    score: f64,
    has_name: bool,
) -> RankedSkill {
    let confidence = rounded(1.0 - (-score / 4.0).exp());
    let reason = match () {
        () if confidence < LEAST => Some(format!("confidence below {LEAST}")),
        () if evidence.len() < 2 && !has_name => Some("only one term of it is in the spec".to_owned()),
        () => None,
    };
    RankedSkill {
        selected: reason.is_none(),
        reason,
        agent: skill.agent.clone(),
        model: skill.model.clone(),
        skill: SelectedSkill {
            name: skill.name.clone(),
            path: file.path.clone(),
            sha256: sha256(file.text.as_bytes()),
            score,
            confidence,
            evidence,
        },
    }
}
