//! The picture in the README shows today's output of the program.

use std::fs;

use crate::pages::root;

#[test]
fn the_picture_matches_the_terminal() {
    let env = crate::env();
    let (script, fresh) = (root().join("tools/picture.sh"), env.path("picture.svg"));
    let output = env.shell(&format!("{} \"$RUNNER\" {}", script.display(), fresh.display()));
    assert_eq!(output.code, 0, "{}", output.all());
    let shown = fs::read_to_string(root().join("docs/src/images/terminal.svg")).unwrap();
    let printed = fs::read_to_string(fresh).unwrap();
    assert_eq!(plain(&shown), plain(&printed), "make it again: tools/picture.sh");
}

/// The lines of a picture without what differs from run to run: times, durations and ids.
fn plain(picture: &str) -> Vec<String> {
    let lines = picture.lines().filter(|line| line.starts_with("<text"));
    lines.map(|line| line.split(' ').map(plain_word).collect::<Vec<_>>().join(" ")).collect()
}

fn plain_word(word: &str) -> String {
    let parts = word.split(['/', ',', ')']).map(|part| if is_run_id(part) { "RUN" } else { part });
    let mut plain = String::new();
    for c in parts.collect::<Vec<_>>().join("/").chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if c != '0' || !plain.ends_with('0') {
            plain.push(c);
        }
    }
    plain
}

/// `20261115-104702-4064hf2`, perhaps with the end of a tag.
fn is_run_id(word: &str) -> bool {
    let word = word.split('<').next().unwrap_or_default();
    word.split('-').count() == 3 && word.len() == 23 && word.starts_with("20")
}
