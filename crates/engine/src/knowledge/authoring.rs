//! Words from which `lint` concludes what a step is for: the types of `authoring.yaml`, where they are explained.

use serde::Deserialize;

/// Everything in `authoring.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct AuthoringWords {
    pub(crate) fillers: Vec<String>,
    pub(crate) negations: Vec<String>,
    pub(crate) choices: Vec<String>,
    pub(crate) finished: Vec<String>,
    pub(crate) edits: EditWords,
    pub(crate) reviews: ReviewWords,
    pub(crate) checks: Vec<String>,
    pub(crate) dictation: Vec<String>,
    pub(crate) placeholders: Vec<String>,
    pub(crate) variables: Vec<String>,
    pub(crate) examples: Vec<String>,
    #[serde(flatten)]
    pub(crate) programs: ProgramWords,
    #[serde(flatten)]
    pub(crate) effects: EffectWords,
    #[serde(flatten)]
    pub(crate) secrets: CredentialShapes,
}

/// Clauses that ask an agent to change files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct EditWords {
    pub(crate) verbs: Vec<String>,
    pub(crate) making_verbs: Vec<String>,
    pub(crate) things: Vec<String>,
    pub(crate) object_ends: Vec<String>,
    pub(crate) answers: Vec<String>,
}

/// Steps that judge the work of another step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct ReviewWords {
    pub(crate) names: Vec<String>,
    pub(crate) verbs: Vec<String>,
}

/// What programs are used for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct ProgramWords {
    pub(crate) not_checks: Vec<String>,
    pub(crate) compilers: Vec<String>,
    pub(crate) searchers: Vec<String>,
    pub(crate) silent: Vec<String>,
    pub(crate) package_runners: Vec<String>,
    pub(crate) downloaders: Vec<String>,
    pub(crate) image_runners: Vec<String>,
}

/// Changes outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct EffectWords {
    pub(crate) agent_effects: std::collections::BTreeMap<String, Vec<String>>,
    pub(crate) effect_names: Vec<EffectName>,
    pub(crate) other_effect: String,
    pub(crate) approval: Vec<String>,
}

/// The word for an effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct EffectName {
    pub(crate) word: String,
    pub(crate) words: Vec<String>,
}

/// What credentials look like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct CredentialShapes {
    pub(crate) credentials: Vec<CredentialShape>,
    pub(crate) private_keys: Vec<String>,
}

/// The look of one kind of credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct CredentialShape {
    pub(crate) what: String,
    pub(crate) begins: Vec<String>,
    pub(crate) letters: usize,
}

/// Whether a list has a word.
pub(crate) fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

impl EffectWords {
    /// The word for an effect, such as `push` for `git push`.
    pub(crate) fn name_of(&self, effect: &str) -> &str {
        let words: Vec<&str> = effect.split([' ', ':', '-']).collect();
        let fits = |name: &&EffectName| name.words.iter().any(|word| words.contains(&word.as_str()));
        self.effect_names.iter().find(fits).map_or(&self.other_effect, |name| &name.word)
    }

    /// Whether a person should agree to an effect with this word.
    pub(crate) fn needs_approval(&self, word: &str) -> bool {
        has(&self.approval, word) || has(&self.approval, self.name_of(word))
    }
}
