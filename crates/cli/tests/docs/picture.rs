//! The picture in the README is what the program shows in a terminal today: the live view, a failure, a resume.
//!
//! `UPDATE_DOCS=1` writes it again.

use std::fs;

use testkit::{Look, Screen};

use crate::pages::root;

const FILE: &str = "docs/src/images/terminal.svg";
const COLUMNS: usize = 88;
/// Fails until there are credentials.
const UPLOAD: &str = "test -e credentials || { echo 'upload: not logged in to the registry' >&2; exit 4; }\necho uploaded \"$1\"\n";

#[test]
fn the_picture_matches_the_terminal() {
    let fresh = picture(&scenes());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(FILE), &fresh).unwrap();
    }
    let shown = fs::read_to_string(root().join(FILE)).unwrap();
    let again = "write it again: UPDATE_DOCS=1 cargo test -p recipe-runner-rs --test docs";
    assert_eq!(plain(&shown), plain(&fresh), "{again}");
}

/// One moment of a terminal, with a heading and the command that was typed.
struct Scene {
    heading: &'static str,
    command: &'static str,
    screen: Screen,
}

fn scenes() -> [Scene; 3] {
    let env = crate::env()
        .env("NO_COLOR", "")
        .file("release.yaml", include_str!("picture.yaml"))
        .file("upload", UPLOAD);
    let scene = |heading, command, screen| Scene { heading, command, screen };
    let run = env.terminal(COLUMNS, 24, "$RUNNER release.yaml");
    let live = run.screen_with("1 of 6 done, 1s");
    env.write("scene", "");
    let failed = run.wait();
    env.write("credentials", "");
    let resumed = env.screen(COLUMNS, 24, "$RUNNER resume");
    [
        scene("while it runs", "recipe-runner-rs release.yaml", live),
        scene("when a step fails", "recipe-runner-rs release.yaml", failed),
        scene("when the cause is fixed", "touch credentials; recipe-runner-rs resume", resumed),
    ]
}

/// Height of a line of text.
const STEP: usize = 19;
const LEFT: usize = 18;
const WIDTH: usize = 780;

fn picture(scenes: &[Scene]) -> String {
    let (mut body, mut y) = (String::new(), 30);
    for scene in scenes {
        body.push_str(&text(LEFT, y, &piece(&format!("# {}", scene.heading), DIM)));
        let typed = format!("{}{}", piece("$ ", PROMPT), piece(scene.command, BOLD));
        body.push_str(&text(LEFT, y + STEP, &typed));
        y += 2 * STEP;
        for line in scene.screen.pieces() {
            let line: String = line.iter().map(|(text, look)| piece(text, *look)).collect();
            body.push_str(&text(LEFT, y, &line));
            y += STEP;
        }
        y += STEP;
    }
    let height = y - STEP;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n\
         <title>recipe-runner-rs in a terminal</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <style>text {{ white-space: pre }}</style>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"14\" fill=\"#c9d1d9\" xml:space=\"preserve\">\n{body}</g>\n</svg>\n"
    )
}

fn text(x: usize, y: usize, content: &str) -> String {
    match content.is_empty() {
        true => String::new(),
        false => format!("<text x=\"{x}\" y=\"{y}\">{content}</text>\n"),
    }
}

const DIM: Look = Look { is_bold: false, is_dim: true, colour: None };
const BOLD: Look = Look { is_bold: true, is_dim: false, colour: None };
const PROMPT: Look = Look { is_bold: false, is_dim: false, colour: Some(2) };

/// The sixteen colours.
const PALETTE: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681",
    "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc",
];

fn piece(text: &str, look: Look) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let colour = look.colour.map(|colour| PALETTE[usize::from(colour) % 16]);
    let colour = colour.or(look.is_dim.then_some("#8b949e"));
    let fill = colour.map(|colour| format!(" fill=\"{colour}\"")).unwrap_or_default();
    let weight = if look.is_bold { " font-weight=\"bold\"" } else { "" };
    match fill.is_empty() && weight.is_empty() {
        true => text,
        false => format!("<tspan{fill}{weight}>{text}</tspan>"),
    }
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
