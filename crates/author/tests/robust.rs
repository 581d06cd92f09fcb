//! Any text is read as a brief or as questions: reading never fails in another way, and it is repeatable.
#![expect(clippy::unwrap_used, reason = "a test that cannot continue panics")]

use std::fs;

use author::{
    digest::sha256,
    intake::{Flags, GenerateSettings, Intake, SpecPlace, read, spec_text},
    project::ProjectFiles,
};

/// A project without files.
struct Nothing;

impl ProjectFiles for Nothing {
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

/// Small random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

fn intake(spec: &str) -> Intake<'_> {
    Intake {
        spec,
        sha256: sha256(spec.as_bytes()),
        place: SpecPlace::File("SPEC.md".to_owned()),
        files: &Nothing,
        git: false,
        skills: &[],
        programs: &[],
        settings: GenerateSettings::default(),
        flags: Flags::default(),
        answers: Vec::new(),
        best_judgement: true,
    }
}

/// The words of the whole corpus, with marks and line breaks between them.
fn words() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/specs");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    let text: String = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let more = [
        "\n", "\n\n", "- ", "`", "**", "\"", "“", ":", ";", ",", ".", "?", "???", "\n## ", "\n# ", "1. ",
        "|", "é🎉", "\r\n", "\t", "(", ")", "→",
    ];
    text.split(' ').map(str::to_owned).chain(more.map(str::to_owned)).collect()
}

#[test]
fn any_text_is_read_and_in_the_same_way_twice() {
    let words = words();
    let mut random = Random(7);
    for round in 0..500 {
        let count = 1 + random.below(60);
        let text: Vec<&str> = (0..count).map(|_| words[random.below(words.len())].as_str()).collect();
        let text = text.join(if round % 3 == 0 { "" } else { " " });
        let Ok(spec) = spec_text(text.as_bytes()) else { continue };
        let first = read(&intake(&spec));
        assert_eq!(first, read(&intake(&spec)), "{spec}");
        let reading = first.unwrap_or_else(|stopped| panic_with(&spec, &format!("{stopped:?}")));
        assert!(!reading.brief.name.is_empty() && !reading.brief.criteria.is_empty(), "{spec}");
        // the writer takes every brief; a few are enough, for it does much more
        if round % 50 == 0 {
            author::write(&reading.brief);
        }
    }
}

fn panic_with(spec: &str, why: &str) -> ! {
    assert!(spec.is_empty() && why.is_empty(), "best judgement leaves a question open: {why}\n{spec}");
    unreachable!()
}
