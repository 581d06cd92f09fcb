//! Tracks: independent parts of the work, and their order.

use engine::branch_name::slug;

use crate::{
    brief::{Target, Track, TrackOrder},
    project::ProjectFiles,
    reading::{delivery, targets::of_blocks},
    spec::{Block, BlockKind, Section, SectionKind, Spec, Token, TokenKind},
    words::work,
};

/// Reads the tracks; fewer than two are none.
pub(crate) fn tracks(spec: &Spec, files: &dyn ProjectFiles) -> Vec<Track> {
    let mut drafts = by_heading(spec);
    if drafts.is_empty() {
        drafts = spec.of(SectionKind::Tracks).flat_map(by_item).collect();
    }
    if drafts.len() < 2 {
        return Vec::new();
    }
    let names: Vec<(String, String)> = drafts.iter().map(|draft| (draft.label(), draft.name())).collect();
    let mut tracks: Vec<Track> = Vec::new();
    for draft in &drafts {
        let name = draft.name();
        let after = draft.after(&names).into_iter().filter(|order| order.track != name).collect();
        tracks.push(Track {
            targets: of_blocks(draft.blocks.iter(), files),
            title: draft.title.clone(),
            goal: draft.goal(),
            line: draft.line,
            after,
            name,
        });
    }
    order_by_files(&mut tracks);
    tracks
}

/// The name of the track with this heading.
pub(crate) fn track_name(heading: &str) -> String {
    let label = label_of(heading);
    slug(&label).unwrap_or_else(|| "track".to_owned())
}

struct TrackDraft {
    title: String,
    line: usize,
    blocks: Vec<Block>,
    /// The words that say what it waits for.
    order: Vec<Token>,
}

impl TrackDraft {
    fn label(&self) -> String {
        label_of(&self.title)
    }

    fn name(&self) -> String {
        track_name(&self.title)
    }

    fn goal(&self) -> String {
        let texts: Vec<String> =
            self.blocks.iter().map(delivery::work_of_block).filter(|text| !text.is_empty()).collect();
        if texts.is_empty() { self.title.clone() } else { texts.join("\n") }
    }

    /// The tracks after a word such as `after`.
    fn after(&self, names: &[(String, String)]) -> Vec<TrackOrder> {
        let lower: Vec<String> = self.order.iter().map(Token::lower).collect();
        let Some((at, count)) = work().tracks.after.find(&lower) else { return Vec::new() };
        let rest: Vec<String> =
            self.order[at + count..].iter().map(|token| token.text.to_lowercase()).collect();
        let end =
            rest.iter().position(|word| [")", ":", ";", "."].contains(&word.as_str())).unwrap_or(rest.len());
        let said = format!(" {} ", rest[..end].join(" "));
        let waits = names.iter().filter(|(label, _)| said.contains(&format!(" {} ", label.to_lowercase())));
        let words: Vec<&str> =
            self.order[at..].iter().take(count + end).map(|token| token.text.as_str()).collect();
        let reason = format!("the spec says \"{}\"", words.join(" "));
        waits.map(|(_, name)| TrackOrder { track: name.clone(), reason: reason.clone() }).collect()
    }
}

/// `Parser (after Model): …` → `Parser`.
fn label_of(title: &str) -> String {
    let title = title.split(['(', ':', '—', '–']).next().unwrap_or_default();
    let title = title.split(" - ").next().unwrap_or_default();
    let words: Vec<&str> = title.split_whitespace().collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let end = work().tracks.after.find(&lower).map_or(words.len(), |(at, _)| at.max(1));
    let start = usize::from(words.len() > 1 && crate::words::words().track_words.has(&lower[0]));
    words[start.min(end)..end].join(" ").trim_matches(|c: char| "`*_.,".contains(c)).to_owned()
}

/// Headings below `Tracks`, or headings such as `Track A`.
fn by_heading(spec: &Spec) -> Vec<TrackDraft> {
    let mut drafts: Vec<TrackDraft> = Vec::new();
    for section in spec.sections.iter() {
        let Some(title) = &section.track else { continue };
        let is_new = drafts.last().is_none_or(|last| last.title != *title);
        if is_new {
            let order = crate::spec::words_of(title, section.line);
            drafts.push(TrackDraft { title: title.clone(), line: section.line, blocks: Vec::new(), order });
        }
        let Some(draft) = drafts.last_mut() else { continue };
        let is_content = matches!(
            section.kind,
            SectionKind::Tracks | SectionKind::Goal | SectionKind::Targets | SectionKind::Prose
        );
        if is_content {
            draft.order.extend(section.blocks.iter().flat_map(|block| block.tokens.clone()));
            draft.blocks.extend(section.blocks.clone());
        }
    }
    drafts
}

/// Items of the section, or parts of its paragraph: `A; B after A; C`.
fn by_item(section: &Section) -> Vec<TrackDraft> {
    let is_list = section.blocks.iter().any(|block| matches!(block.kind, BlockKind::Item { depth: 0, .. }));
    let mut drafts: Vec<TrackDraft> = Vec::new();
    for block in &section.blocks {
        match block.kind {
            BlockKind::Item { depth: 0, .. } => drafts.push(from_tokens(&block.tokens, block)),
            BlockKind::Item { .. } => {
                if let Some(last) = drafts.last_mut() {
                    last.order.extend(block.tokens.clone());
                    last.blocks.push(block.clone());
                }
            }
            BlockKind::Paragraph if !is_list => {
                let parts = block.tokens.split(|token| token.is_mark(';') || token.is_mark('.'));
                drafts.extend(parts.filter(|part| !part.is_empty()).map(|part| from_tokens(part, block)));
            }
            BlockKind::Paragraph | BlockKind::Row => {}
        }
    }
    drafts
}

fn from_tokens(tokens: &[Token], block: &Block) -> TrackDraft {
    let colon = tokens.iter().position(|token| token.is_mark(':'));
    let head = &tokens[..colon.unwrap_or(tokens.len())];
    let text = |tokens: &[Token]| {
        let mut text = String::new();
        for token in tokens {
            let joins = token.kind == TokenKind::Mark && !token.is_mark('(');
            text.push_str(if text.is_empty() || joins || text.ends_with('(') { "" } else { " " });
            text.push_str(&token.text);
        }
        text
    };
    let title = match colon {
        Some(_) => text(head),
        // without a colon, the first words name it
        None => {
            let end = head
                .iter()
                .position(|token| token.kind == TokenKind::Mark || token.code().is_some())
                .unwrap_or(head.len());
            text(&head[..end.clamp(1, head.len().max(1)).min(head.len())])
        }
    };
    let mut own = block.clone();
    own.tokens = tokens.to_vec();
    own.text = crate::spec::joined(tokens);
    own.sentences = own_sentences(tokens, &own.text);
    TrackDraft {
        title,
        line: tokens.first().map_or(block.line, |token| token.line),
        blocks: vec![own],
        order: tokens.to_vec(),
    }
}

fn own_sentences(tokens: &[Token], text: &str) -> Vec<crate::spec::Sentence> {
    let line = tokens.first().map_or(1, |token| token.line);
    vec![crate::spec::Sentence { tokens: tokens.to_vec(), text: text.to_owned(), line }]
}

/// Tracks run at the same time only if their target files are known and disjoint.
fn order_by_files(tracks: &mut [Track]) {
    for later in 1..tracks.len() {
        for earlier in 0..later {
            if waits_for(tracks, later, &tracks[earlier].name.clone())
                || waits_for(tracks, earlier, &tracks[later].name.clone())
            {
                continue;
            }
            let Some(reason) = overlap(&tracks[earlier].targets, &tracks[later].targets) else { continue };
            let track = tracks[earlier].name.clone();
            tracks[later].after.push(TrackOrder { track, reason });
        }
    }
}

/// Whether a track waits for another one, directly or through others.
fn waits_for(tracks: &[Track], at: usize, name: &str) -> bool {
    let mut open: Vec<&str> = tracks[at].after.iter().map(|order| order.track.as_str()).collect();
    let mut seen: Vec<&str> = Vec::new();
    while let Some(next) = open.pop() {
        if next == name {
            return true;
        }
        if !seen.contains(&next) {
            seen.push(next);
            let of_next = tracks.iter().filter(|track| track.name == next);
            open.extend(of_next.flat_map(|track| track.after.iter().map(|order| order.track.as_str())));
        }
    }
    false
}

/// Why two tracks cannot run at the same time.
fn overlap(first: &[Target], second: &[Target]) -> Option<String> {
    if first.is_empty() || second.is_empty() {
        return Some("the spec does not say which files each of them changes".to_owned());
    }
    let meets = |one: &str, other: &str| {
        one == other || (one.ends_with('/') && other.starts_with(one)) || one.contains('*')
    };
    let both = first.iter().find(|one| {
        second.iter().any(|other| meets(&one.path, &other.path) || meets(&other.path, &one.path))
    });
    both.map(|target| format!("both change `{}`", target.path))
}
