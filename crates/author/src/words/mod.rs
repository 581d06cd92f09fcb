//! The word lists, which are YAML files beside this one. They are parsed when they are first needed.

mod lists;

pub(crate) use lists::{
    CriteriaWords, PhraseList, SectionWords, SkillWords, TargetWords, ToolWords, WorkWords,
};

use std::sync::LazyLock;

use recipe::document::decode;

// a test holds that the files can be read
static SECTIONS: LazyLock<SectionWords> =
    LazyLock::new(|| decode(include_str!("sections.yaml")).unwrap_or_default());
static CRITERIA: LazyLock<CriteriaWords> =
    LazyLock::new(|| decode(include_str!("criteria.yaml")).unwrap_or_default());
static TARGETS: LazyLock<TargetWords> =
    LazyLock::new(|| decode(include_str!("targets.yaml")).unwrap_or_default());
static TOOLS: LazyLock<ToolWords> = LazyLock::new(|| decode(include_str!("tools.yaml")).unwrap_or_default());
static WORK: LazyLock<WorkWords> = LazyLock::new(|| decode(include_str!("work.yaml")).unwrap_or_default());
static SKILLS: LazyLock<SkillWords> =
    LazyLock::new(|| decode(include_str!("skills.yaml")).unwrap_or_default());

/// Names of sections.
pub(crate) fn words() -> &'static SectionWords {
    &SECTIONS
}

/// Words of criteria.
pub(crate) fn criteria() -> &'static CriteriaWords {
    &CRITERIA
}

/// Words around paths.
pub(crate) fn targets() -> &'static TargetWords {
    &TARGETS
}

/// Words about agent programs.
pub(crate) fn tools() -> &'static ToolWords {
    &TOOLS
}

/// Words about delivery, limits, items and patterns.
pub(crate) fn work() -> &'static WorkWords {
    &WORK
}

/// Words that select no skill.
pub(crate) fn skills() -> &'static SkillWords {
    &SKILLS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_lists_can_be_read() {
        decode::<SectionWords>(include_str!("sections.yaml")).unwrap();
        decode::<CriteriaWords>(include_str!("criteria.yaml")).unwrap();
        decode::<TargetWords>(include_str!("targets.yaml")).unwrap();
        decode::<ToolWords>(include_str!("tools.yaml")).unwrap();
        decode::<WorkWords>(include_str!("work.yaml")).unwrap();
        decode::<SkillWords>(include_str!("skills.yaml")).unwrap();
    }
}
