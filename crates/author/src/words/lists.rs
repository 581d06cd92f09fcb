//! The shapes of the word lists.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::spec::SectionKind;

/// Phrases in lower case, each of one or more words.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct PhraseList(Vec<String>);

impl PhraseList {
    /// Whether the list has this word or phrase.
    pub(crate) fn has(&self, word: &str) -> bool {
        !word.is_empty() && self.0.iter().any(|known| known == word)
    }

    /// How many words of the longest phrase stand at the beginning.
    pub(crate) fn at(&self, words: &[String]) -> Option<usize> {
        let length = |phrase: &String| {
            let parts: Vec<&str> = phrase.split(' ').collect();
            let matches =
                words.len() >= parts.len() && parts.iter().zip(words).all(|(part, word)| part == word);
            matches.then_some(parts.len())
        };
        self.0.iter().filter_map(length).max()
    }

    /// The place and length of the first phrase.
    pub(crate) fn find(&self, words: &[String]) -> Option<(usize, usize)> {
        (0..words.len()).find_map(|at| self.at(&words[at..]).map(|count| (at, count)))
    }

    /// Whether a phrase of the list is among these words.
    pub(crate) fn is_in(&self, words: &[String]) -> bool {
        self.find(words).is_some()
    }
}

/// Declares word lists as they are in a YAML file.
macro_rules! lists {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
    };
    ($(#[$doc:meta])* $name:ident [$($field:ident),* $(,)?]) => {
        lists! { $(#[$doc])* $name { $($field: PhraseList),* } }
    };
}

lists! {
    /// `sections.yaml`.
    SectionWords { sections: IndexMap<SectionKind, PhraseList>, track_words: PhraseList }
}

lists! {
    /// `criteria.yaml`.
    CriteriaWords {
        auxiliaries: PhraseList,
        negations: PhraseList,
        cues: PhraseList,
        verbs: VerbWords,
        output: OutputWords,
        limits: LimitWords,
        circumstances: CircumstanceWords,
        http: HttpWords,
        sources: SourceWords,
        project: ProjectWords,
        commands: CommandWords,
    }
}

lists! {
    /// What commands and files do.
    VerbWords [prints, contains, exits, ends, passes, fails, documents, documented, exists, is_gone]
}
lists! {
    /// Words about the output of a command.
    OutputWords [nouns, runs, nothing, whole]
}
lists! {
    /// Words about time and exit codes.
    LimitWords [within, ms, s, min, between, nonzero]
}
lists! {
    /// Words about the circumstances of a check.
    CircumstanceWords [begins, missing, empty]
}
lists! {
    /// Words about servers.
    HttpWords [methods, verbs, starts]
}
lists! {
    /// Words about where a value comes from.
    SourceWords [otherwise, from, variables]
}
lists! {
    /// Words about the checks of a project.
    ProjectWords [tests, tests_pass, lint, types, build, format, clean, covered]
}
lists! {
    /// The first words of commands that check a project.
    CommandWords [test, lint, types, build, format]
}

lists! {
    /// `targets.yaml`.
    TargetWords {
        pairs: PhraseList,
        media_types: PhraseList,
        plain_names: PhraseList,
        endings: EndingWords,
        folders: PhraseList,
        test_folders: PhraseList,
        document_names: PhraseList,
        reading: PhraseList,
        reading_phrases: PhraseList,
        forbidding: PhraseList,
        keep_words: PhraseList,
        count_phrases: PhraseList,
        file_nouns: PhraseList,
    }
}

lists! {
    /// File name endings.
    EndingWords [code, document, other, ambiguous]
}

lists! {
    /// `tools.yaml`.
    ToolWords {
        programs: IndexMap<String, PhraseList>,
        order: Vec<String>,
        roles: RoleWords,
        leads: PhraseList,
        subjects: PhraseList,
        only: PhraseList,
        negations: PhraseList,
        model_words: PhraseList,
    }
}

lists! {
    /// The work that a program may do.
    RoleWords [writer, reviewer, planner]
}

lists! {
    /// `work.yaml`.
    WorkWords {
        delivery: DeliveryWords,
        approval: ApprovalWords,
        budget: BudgetWords,
        items: ItemWords,
        r#loop: LoopWords,
        patterns: PatternWords,
        depth: DepthWords,
        tracks: TrackWords,
        environment: EnvironmentWords,
        markers: PhraseList,
    }
}

lists! {
    /// Words about what leaves the machine.
    DeliveryWords {
        pr: PullRequestWords,
        push: PhraseList,
        deploy: PhraseList,
        publish: PhraseList,
        names_before: PhraseList,
        names_after: PhraseList,
        objects: ObjectWords,
        begins: PhraseList,
        base: PhraseList,
        negations: PhraseList,
        determiners: PhraseList,
        branches: PhraseList,
        commands: PhraseList,
    }
}
lists! {
    /// What the verbs of delivery are about.
    ObjectWords [push, deploy, publish]
}
lists! {
    /// Words about pull requests.
    PullRequestWords [verbs, nouns]
}
lists! {
    /// Words about approval.
    ApprovalWords [asks, none]
}
lists! {
    /// Words about limits of a run.
    BudgetWords [most, minutes, hours, usd]
}
lists! {
    /// Words about several items.
    ItemWords [each, orders, nouns]
}
lists! {
    /// Words about check, fix and check again.
    LoopWords [until, rerun, check, fix, artefacts, many]
}
lists! {
    /// Words about patterns.
    PatternWords { names: PatternNames, risk: PhraseList, denied: PhraseList }
}
lists! {
    /// The names of patterns.
    PatternNames [pipeline, graph, supervisor]
}
lists! {
    /// Words about depth.
    DepthWords [light, full]
}
lists! {
    /// Words about the order of tracks.
    TrackWords [after]
}
lists! {
    /// Words about variables of the environment.
    EnvironmentWords [cues, not_names]
}

lists! {
    /// `skills.yaml`.
    SkillWords [stop]
}
