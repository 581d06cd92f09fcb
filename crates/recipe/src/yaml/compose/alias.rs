//! Aliases: each stands for the node of its anchor, which is shared and never copied.

use std::{ops::Range, rc::Rc};

use super::{Composer, Content, OpenCollection};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
    yaml::{
        align::align,
        maps::RawKey,
        quote::{quote, rest_of_line},
        scalar::{Scalar, TextStyle, Typing},
        shared::{MAX_DEPTH, SharedNode, Size, too_deep},
        written::line_number,
    },
};

impl Composer<'_> {
    pub(super) fn alias(&mut self, anchor: usize, range: Range<usize>) -> Result<(), Diagnostic> {
        let place = self.place(range.clone());
        let Some(target) = self.anchors.get(&anchor).cloned() else {
            let name = &self.text[range];
            self.diagnostics.push(
                Diagnostic::new(
                    Code::TooComplex,
                    place,
                    format!("the alias `{name}` is inside its own anchor"),
                )
                .label("expanding it would never end")
                .help("write the value out, or move the anchor to a node that does not contain the alias"),
            );
            self.substitute(place);
            return Ok(());
        };
        self.spend(target.size, place)?;
        if self.stack.len() + target.size.depth > MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.add(target, place);
        Ok(())
    }

    pub(super) fn unknown_alias(&mut self, name: &str, range: Range<usize>) -> Result<(), Diagnostic> {
        let place = self.place(range.clone());
        self.explained = Some(line_number(&self.lines, self.text, range.start));
        let written = rest_of_line(self.text, range.start);
        let help = match quote(written) {
            Some(quoted) => format!("define it earlier with `&{name}`, or quote the text: `{quoted}`"),
            None => format!("define it earlier with `&{name}`, or put quotes around the text"),
        };
        self.diagnostics.push(
            Diagnostic::new(
                Code::YamlSyntax,
                place,
                format!("`*{name}` is an alias, but no anchor `&{name}` comes before it"),
            )
            .label("unknown anchor")
            .help(help),
        );
        self.spend(Size::of_text(name), place)?;
        self.substitute(place);
        Ok(())
    }

    /// Takes the text at `place` as it is, so that parsing continues after a reported problem.
    fn substitute(&mut self, place: Place) {
        if let Some(OpenCollection {
            content: Content::Map { key: Some(key @ RawKey::Merge(_)), .. }, ..
        }) = self.stack.last_mut()
        {
            *key = RawKey::Unusable;
        }
        let node = self.written(place);
        self.add(node, place);
    }

    pub(super) fn written(&self, place: Place) -> Rc<SharedNode> {
        let range = place.span.range();
        let text = self.text[range.clone()].to_owned();
        let pieces = align(self.text, range, &text, TextStyle::Plain);
        SharedNode::scalar(Scalar { text, style: TextStyle::Plain, typing: Typing::Text, pieces }, place)
    }
}
